"""API errors as problem+json (RFC 9457).

Views let the exceptions of services propagate. Each app registers its own exception classes once:

    @problem_for(FormatError)
    def unreadable(error: FormatError) -> ApiProblem: ...
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
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
NOT_FOUND = "Not found, or you may not see it."
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


@dataclass(frozen=True)
class FieldError:
    """One error in a request. `where`: a JSON path into the body ($.policy.metric), ?name of a query parameter, the
    name of a header, or a position in an uploaded file (line 17)."""

    where: str
    message: str
    hint: str = ""

    def as_dict(self) -> dict[str, str]:
        return {"where": self.where, "message": self.message, "hint": self.hint}


@dataclass
class ApiProblem(Exception):
    """An error response. Programs rely on `code`, which does not change; `detail` is for people. `more`: extra keys of
    the body."""

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
        """Return a Django response, for middleware and error pages."""
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
    """Return a 400 with these errors; `detail` defaults to a summary of them."""
    return ApiProblem(400, detail or _summary(field_errors), "invalid", field_errors)


def _summary(field_errors: Sequence[FieldError]) -> str:
    if len(field_errors) == 1:
        return f"{field_errors[0].where}: {field_errors[0].message}"
    return f"This request has {len(field_errors)} errors." if field_errors else "This request is not valid."


def not_there(missing: Iterable[tuple[str, str]], hints: Mapping[str, str] | None = None) -> ApiProblem:
    """Return a 404 for names in the query that do not exist or are hidden. `missing`: pairs of parameter and name;
    `hints`: by parameter."""
    errors = [
        FieldError(
            f"?{parameter}",
            f"There is no {parameter.replace('_', ' ')} “{name[:60]}”, or you may not see it.",
            (hints or {}).get(parameter, ""),
        )
        for parameter, name in missing
    ]
    return ApiProblem(404, " ".join(field_error.message for field_error in errors[:3]), "not-found", errors)


Known = TypeVar("Known", bound=Exception)
_problems: dict[type[Exception], Callable[[Any], ApiProblem]] = {}


def problem_for(
    kind: type[Known],
) -> Callable[[Callable[[Known], ApiProblem]], Callable[[Known], ApiProblem]]:
    """Register a function that converts exceptions of this class and its subclasses to a problem."""

    def register(function: Callable[[Known], ApiProblem]) -> Callable[[Known], ApiProblem]:
        _problems[kind] = function
        return function

    return register


def handle(error: Exception, context: dict[str, Any]) -> Response | None:
    """Handle exceptions for REST framework. Return None for unknown ones, which are then re-raised and logged."""
    if isinstance(error, ApiProblem):
        return error.response()
    for kind in type(error).__mro__:
        if kind in _problems:
            return _problems[kind](error).response()
    return None


# --- exceptions of Django and REST framework ---


@problem_for(exceptions.APIException)
def _rest(error: exceptions.APIException) -> ApiProblem:
    headers = {}
    if header := getattr(error, "auth_header", None):
        headers["WWW-Authenticate"] = header
    if (wait := getattr(error, "wait", None)) is not None:
        headers["Retry-After"] = str(max(1, int(wait)))
    return ApiProblem(error.status_code, str(error.detail), str(error.get_codes()), headers=headers)


@problem_for(exceptions.ParseError)
def _unreadable(error: exceptions.ParseError) -> ApiProblem:
    return invalid(FieldError("$", str(error.detail)))


@problem_for(exceptions.ValidationError)
def _rest_invalid(error: exceptions.ValidationError) -> ApiProblem:
    return invalid(*flatten(error.detail))


@problem_for(ValidationError)
def _invalid(error: ValidationError) -> ApiProblem:
    """Return a 400 with the messages of a service's ValidationError. The API names fields as the models do."""
    if hasattr(error, "error_dict"):
        return invalid(
            *(
                FieldError("$" if name == NON_FIELD_ERRORS else f"$.{name}", message)
                for name, messages in error.message_dict.items()
                for message in messages
            )
        )
    return invalid(*(FieldError("$", message) for message in error.messages))


@problem_for(PermissionDenied)
def _denied(error: PermissionDenied) -> ApiProblem:
    return ApiProblem(403, f"Permission denied: {error}." if str(error) else "Permission denied.")


@problem_for(Http404)
def _missing(error: Http404) -> ApiProblem:
    return ApiProblem(404, NOT_FOUND)


@problem_for(ObjectDoesNotExist)
def _gone(error: ObjectDoesNotExist) -> ApiProblem:
    """Return a 404 for a row that was deleted between read and lock."""
    return ApiProblem(404, NOT_FOUND)


@problem_for(SuspiciousOperation)
def _suspicious(error: SuspiciousOperation) -> ApiProblem:
    """Return a 400 for a suspicious request, for example a form with too many fields or files."""
    return invalid(FieldError("$", f"{str(error).rstrip('.')}."))


@problem_for(RequestDataTooBig)
def _too_big(error: RequestDataTooBig) -> ApiProblem:
    return ApiProblem(
        413, "The body of the request is too large. Send the data in several requests.", "too-large"
    )


@problem_for(IntegrityError)
def _raced(error: IntegrityError) -> ApiProblem:
    return ApiProblem(409, MESSAGE, "conflict")


@problem_for(Conflict)
def _conflict(error: Conflict) -> ApiProblem:
    return ApiProblem(409, str(error), "conflict")


def flatten(detail: Any, path: str = "$") -> list[FieldError]:
    """Flatten REST framework's nested messages into a list with JSON paths."""
    if isinstance(detail, dict):
        return [
            field_error
            for name, inner in detail.items()
            for field_error in flatten(inner, path if name == "non_field_errors" else _step(path, name))
        ]
    if isinstance(detail, list):
        field_errors: list[FieldError] = []
        for place, inner in enumerate(detail):
            if isinstance(inner, dict | list):
                field_errors += flatten(inner, f"{path}[{place}]")
            else:
                field_errors.append(FieldError(path, str(inner)))
        return field_errors
    return [FieldError(path, str(detail))]


def _step(path: str, name: object) -> str:
    if isinstance(name, int):
        return f"{path}[{name}]"
    return f"{path}.{name}" if _PLAIN.match(str(name)) else f"{path}['{name}']"
