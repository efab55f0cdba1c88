"""Every error of the API as problem+json (RFC 9457), made in this one place.

A view raises what the services raise. A room that has errors of its own says once what they answer:

    @answers(FormatError)
    def unreadable(error: FormatError) -> ApiProblem: ...
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, TypeVar

from django.core.exceptions import (
    NON_FIELD_ERRORS,
    ObjectDoesNotExist,
    PermissionDenied,
    RequestDataTooBig,
    SuspiciousOperation,
    ValidationError,
)
from django.db import IntegrityError
from django.http import Http404, JsonResponse
from rest_framework import exceptions
from rest_framework.response import Response

from gym.conflicts import MESSAGE, Conflict

PROBLEM = "application/problem+json"
MAX_FIELD_ERRORS = 100
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


@dataclass(frozen=True)
class FieldError:
    """One thing that is wrong. `where`: a JSON path into the body ($.policy.metric), ?name of a query parameter,
    the name of a header, or a place in an uploaded file (line 17)."""

    where: str
    message: str
    hint: str = ""

    def as_dict(self) -> dict[str, str]:
        return {"where": self.where, "message": self.message, "hint": self.hint}


@dataclass
class ApiProblem(Exception):
    """An answer that is an error. `code` is for programs and does not change; `detail` is for people and may."""

    status: int
    detail: str
    code: str = ""
    field_errors: Sequence[FieldError] = field(default_factory=tuple)
    headers: dict[str, str] = field(default_factory=dict)
    more: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.detail

    def response(self) -> Response:
        return Response(self.body(), status=self.status, headers=self.headers, content_type=PROBLEM)

    def plain_response(self) -> JsonResponse:
        """For who answers before a view of the API does, or after it broke."""
        return JsonResponse(self.body(), status=self.status, headers=self.headers, content_type=PROBLEM)

    def body(self) -> dict[str, Any]:
        title = HTTPStatus(self.status).phrase
        return {
            "type": "about:blank",
            "title": title,
            "status": self.status,
            "code": self.code or title.lower().replace(" ", "-"),
            "detail": self.detail,
            "errors": [field_error.as_dict() for field_error in self.field_errors[:MAX_FIELD_ERRORS]],
            **self.more,
        }


def invalid(*field_errors: FieldError, detail: str = "") -> ApiProblem:
    """400: the request says something that cannot be."""
    return ApiProblem(400, detail or _summary(field_errors), "invalid", field_errors)


def _summary(field_errors: Sequence[FieldError]) -> str:
    if len(field_errors) == 1:
        return f"{field_errors[0].where}: {field_errors[0].message}"
    return (
        f"{len(field_errors)} things are wrong with this request."
        if field_errors
        else "This request is not valid."
    )


Known = TypeVar("Known", bound=Exception)
_answers: dict[type[Exception], Callable[[Any], ApiProblem]] = {}


def answers(kind: type[Known]) -> Callable[[Callable[[Known], ApiProblem]], Callable[[Known], ApiProblem]]:
    """Register what an exception of this class (or a subclass without an own entry) answers."""

    def register(function: Callable[[Known], ApiProblem]) -> Callable[[Known], ApiProblem]:
        _answers[kind] = function
        return function

    return register


def handle(error: Exception, context: dict[str, Any]) -> Response | None:
    """REST framework's exception handler. None lets an error of ours pass, so that it is logged as one."""
    if isinstance(error, ApiProblem):
        return error.response()
    for kind in type(error).__mro__:
        if kind in _answers:
            return _answers[kind](error).response()
    return None


# --- what Django and REST framework raise ---


@answers(exceptions.APIException)
def _rest(error: exceptions.APIException) -> ApiProblem:
    headers = {}
    if header := getattr(error, "auth_header", None):
        headers["WWW-Authenticate"] = header
    if (wait := getattr(error, "wait", None)) is not None:
        headers["Retry-After"] = str(max(1, int(wait)))
    return ApiProblem(error.status_code, str(error.detail), str(error.get_codes()), headers=headers)


@answers(exceptions.ParseError)
def _unreadable(error: exceptions.ParseError) -> ApiProblem:
    return invalid(FieldError("$", str(error.detail)))


@answers(exceptions.ValidationError)
def _rest_invalid(error: exceptions.ValidationError) -> ApiProblem:
    return invalid(*flatten(error.detail))


@answers(ValidationError)
def _invalid(error: ValidationError) -> ApiProblem:
    """The services' word. Fields of models are named as they are in the API."""
    if hasattr(error, "error_dict"):
        return invalid(
            *(
                FieldError("$" if name == NON_FIELD_ERRORS else f"$.{name}", message)
                for name, messages in error.message_dict.items()
                for message in messages
            )
        )
    return invalid(*(FieldError("$", message) for message in error.messages))


@answers(PermissionDenied)
def _denied(error: PermissionDenied) -> ApiProblem:
    return ApiProblem(403, f"This is not open to you: {error}." if str(error) else "This is not open to you.")


@answers(Http404)
def _missing(error: Http404) -> ApiProblem:
    return ApiProblem(404, "There is nothing here, or not for you.")


@answers(ObjectDoesNotExist)
def _gone(error: ObjectDoesNotExist) -> ApiProblem:
    """Somebody deleted it between our look and our lock."""
    return ApiProblem(404, "There is nothing here, or not for you.")


@answers(SuspiciousOperation)
def _suspicious(error: SuspiciousOperation) -> ApiProblem:
    """A form with too many fields or files, and the like."""
    return invalid(FieldError("$", f"{str(error).rstrip('.')}."))


@answers(RequestDataTooBig)
def _too_big(error: RequestDataTooBig) -> ApiProblem:
    return ApiProblem(413, "This is too much at once. Send it in parts.", "too-large")


@answers(IntegrityError)
def _raced(error: IntegrityError) -> ApiProblem:
    return ApiProblem(409, MESSAGE, "raced")


@answers(Conflict)
def _conflict(error: Conflict) -> ApiProblem:
    return ApiProblem(409, str(error), "raced")


def flatten(detail: Any, path: str = "$") -> list[FieldError]:
    """REST framework's nested messages as a list with JSON paths."""
    if isinstance(detail, dict):
        return [
            field_error
            for name, inner in detail.items()
            for field_error in flatten(inner, path if name == "non_field_errors" else _step(path, name))
        ]
    if isinstance(detail, list):
        found: list[FieldError] = []
        for place, inner in enumerate(detail):
            if isinstance(inner, dict | list):
                found += flatten(inner, f"{path}[{place}]")
            else:
                found.append(FieldError(path, str(inner)))
        return found
    return [FieldError(path, str(detail))]


def _step(path: str, name: object) -> str:
    if isinstance(name, int):
        return f"{path}[{name}]"
    return f"{path}.{name}" if _PLAIN.match(str(name)) else f"{path}['{name}']"
