"""Idempotency-Key: after a successful POST, repetitions within a day (`KEEP`) return its response and do nothing.

The key is claimed in its own transaction. The work and the stored response then share one transaction, except in views
that wait for a worker. So a process that dies in between leaves only the claim, which expires after two minutes
(`BUSY`).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.db import IntegrityError, transaction
from django.http.response import HttpResponseBase
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.encoders import JSONEncoder

from gym.api.errors import ApiProblem, FieldError, invalid
from gym.api.models import KEEP, SentRequest

HEADER = "Idempotency-Key"
PATTERN = r"^[\x21-\x7e]{1,200}$"
KEPT_HEADERS = ("Location", "Retry-After", "ETag")


def run_once(
    request: Request, act: Callable[[], HttpResponseBase], *, atomic: bool = True
) -> HttpResponseBase:
    """Run `act`, or return the stored response for this key. `atomic=False`: for views that wait for a worker."""
    key = request.headers.get(HEADER)
    if key is None:
        return act()
    if not re.match(PATTERN, key):
        raise invalid(FieldError(HEADER, "A key has 1 to 200 printable ASCII characters and no spaces."))
    digest = digest_of(request)
    claim = _claim(request.user, key, digest)
    if claim.status is not None:
        return Response(
            claim.answer, status=claim.status, headers={**claim.headers, "Idempotency-Replayed": "true"}
        )
    try:
        with transaction.atomic() if atomic else nullcontext():
            response = act()
            if response.status_code < 300:
                _keep(claim, response)
            elif atomic:
                transaction.set_rollback(True)
    except BaseException:
        claim.delete()
        raise
    if response.status_code >= 300:
        claim.delete()
    return response


def _claim(user: Any, key: str, digest: str) -> SentRequest:
    """Return a new claim, or one with a stored response. Raises 409 while the first request runs, and 422 if the key
    belongs to a different request."""
    drop_old()
    for _ in range(3):
        try:
            with transaction.atomic():
                return SentRequest.objects.create(user=user, key=key, digest=digest)
        except IntegrityError:
            known = SentRequest.objects.filter(user=user, key=key).first()
        if known is None:
            continue
        if known.is_over:
            SentRequest.objects.filter(pk=known.pk, created=known.created).delete()
            continue
        if known.digest != digest:
            field_error = FieldError(
                HEADER,
                "This key was already used for a different request.",
                "Use a new key for each request.",
            )
            raise ApiProblem(422, field_error.message, "key-reused", [field_error])
        if known.status is None:
            break
        return known
    raise ApiProblem(
        409,
        "A request with this key is in progress. Try again in a moment.",
        "busy",
        headers={"Retry-After": "1"},
    )


def _keep(claim: SentRequest, response: HttpResponseBase) -> None:
    assert isinstance(response, Response)  # only GET operations return files
    claim.status = response.status_code
    claim.headers = {name: response[name] for name in KEPT_HEADERS if response.has_header(name)}
    claim.answer = json.loads(json.dumps(response.data, cls=JSONEncoder))
    claim.save()


def digest_of(request: Request) -> str:
    """Hash the method, address and body. Forms are hashed by their parts, since boundaries differ each time."""
    data = request.data
    if hasattr(data, "lists"):
        body: Any = [[name, [_part(value) for value in values]] for name, values in sorted(data.lists())]
    else:
        body = data
    parts = [request.method, request.get_full_path(), body]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _part(value: Any) -> Any:
    if not isinstance(value, UploadedFile):
        return value
    digest = hashlib.sha256()
    for chunk in value.chunks():
        digest.update(chunk)
    value.seek(0)
    return [value.name, digest.hexdigest()]


def drop_old() -> int:
    """Delete responses older than KEEP; return how many."""
    return SentRequest.objects.filter(created__lt=timezone.now() - KEEP).delete()[0]
