"""JSON endpoints of pages: 401 instead of a sign-in page, 400 and a reason for what cannot be read."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponseNotAllowed, JsonResponse
from django.http.response import HttpResponseBase

from gym.bounded import Limits, Refused, load
from suites.formats.text import CONTROL, SURROGATE

LIMITS = Limits(values=1_000_000)
View = Callable[..., HttpResponseBase]


class BadRequest(ValueError):
    """The body is not what this address takes; the message says why."""


def json_view(*methods: str) -> Callable[[View], View]:
    """A view for signed-in people that answers JSON."""

    def decorate(view: View) -> View:
        @wraps(view)
        def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if request.method not in methods:
                return HttpResponseNotAllowed(methods)
            if not request.user.is_authenticated:
                return JsonResponse({"message": "You are signed out. Sign in and try again."}, status=401)
            try:
                return view(request, *args, **kwargs)
            except BadRequest as error:
                return JsonResponse({"message": str(error)}, status=400)
            except PermissionDenied as error:
                return JsonResponse({"message": f"This is not open to you: {error}."}, status=403)
            except Http404:
                return JsonResponse({"message": "There is nothing here, or not for you."}, status=404)

        return answer

    return decorate


def body_of(request: HttpRequest) -> dict[str, Any]:
    """The request's JSON object, its texts free of control characters. Raises BadRequest."""
    try:
        given = _clean(load(request.body or b"{}", LIMITS))
    except RequestDataTooBig as error:
        raise BadRequest("This is too much at once. Paste or send it in parts.") from error
    except Refused as error:
        raise BadRequest(str(error)) from error
    except (ValueError, RecursionError) as error:
        raise BadRequest("The request is not JSON.") from error
    if not isinstance(given, dict):
        raise BadRequest("The request must be a JSON object.")
    return given


def _clean(value: Any) -> Any:
    """NUL and half characters cannot be stored, and nobody means them."""
    if isinstance(value, str):
        return SURROGATE.sub("", CONTROL.sub("", value))
    if isinstance(value, list):
        return [_clean(one) for one in value]
    if isinstance(value, dict):
        return {_clean(key): _clean(one) for key, one in value.items()}
    return value


def number_of(value: object, default: int, low: int, high: int) -> int:
    """A whole number from a query string, brought between two bounds."""
    try:
        return max(low, min(high, int(str(value))))
    except ValueError:
        return default
