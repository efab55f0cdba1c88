"""The OpenAPI description: what spectacular finds, and what holds for every operation."""

from __future__ import annotations

from typing import Any

from drf_spectacular.extensions import OpenApiSerializerExtension
from drf_spectacular.openapi import AutoSchema
from rest_framework.permissions import SAFE_METHODS, IsAuthenticated

from gym.accounts.models import Scope
from gym.api.errors import PROBLEM
from gym.api.idempotency import HEADER, PATTERN
from gym.api.samples import sample

ADDRESSED = ("/suites/{slug}/", "/compare/{slug}/", "/lmc/corpora/{slug}/", "/propara/answer-sets/{slug}/")
ERRORS = {
    400: "Something in the request is wrong; `errors` says where.",
    401: "The token is missing, wrong, expired or revoked.",
    403: "This account or this token may not do that.",
    404: "There is nothing here, or not for you.",
    406: "None of the media types in Accept can be had.",
    409: "It does not fit the present state, this format cannot say it, somebody changed it at the same moment, or the "
    "same request is being answered.",
    410: "It was there and is deleted (`was` says what it was), or is not public any more.",
    412: "If-Match names an older state of the draft.",
    413: "Too much at once.",
    415: "The body is of a kind that is not read here.",
    422: "The Idempotency-Key was sent with another request, or the model could not be used.",
    428: "If-Match is missing.",
    429: "Too many requests, jobs or sentences; Retry-After says for how long.",
    503: "The site sends too many downloads at once, with Retry-After; or the database takes too long over this.",
}
PROBLEM_SCHEMA = {
    "type": "object",
    "description": "An error (RFC 9457). `code` is for programs, `detail` for people.",
    "required": ["type", "title", "status", "code", "detail", "errors"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "code": {"type": "string"},
        "detail": {"type": "string"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["where", "message", "hint"],
                "properties": {
                    "where": {
                        "type": "string",
                        "description": "JSON path into the body, ?name of a parameter, name of a header, or a place "
                        "in an uploaded file.",
                    },
                    "message": {"type": "string"},
                    "hint": {"type": "string"},
                },
            },
        },
    },
}


class GymSchema(AutoSchema):
    """Adds what all operations share: errors, headers, preconditions, samples of path parameters."""

    def get_auth(self) -> list[dict[str, Any]]:
        reading = self.method in SAFE_METHODS
        private = IsAuthenticated in self.view.permission_classes
        return [{"token": []}, *([{}] if reading and not private else [])]

    def _is_list_view(self, serializer: Any = None) -> bool:
        """A list is what `@operation(many=True)` says; a table beside it (a schema by itself) is none."""
        known = self._known()
        raw = isinstance(serializer, dict) and "type" in serializer
        return known is not None and known.many and not raw

    def get_operation(self, *args: Any, **kwargs: Any) -> dict[str, Any] | None:
        operation = super().get_operation(*args, **kwargs)
        if operation is None:
            return None
        scope = Scope.READ if self.method in SAFE_METHODS else getattr(self.view, "token_scope", Scope.WRITE)
        said = operation.get("description")
        operation["description"] = f"{said}\n\nScope: `{scope}`." if said else f"Scope: `{scope}`."
        for parameter in operation.get("parameters", []):
            if parameter["in"] == "path":
                parameter["example"] = sample(parameter["schema"], {}, parameter["name"])
        parameters = self._shared_parameters()
        if parameters:
            operation["parameters"] = [*operation.get("parameters", []), *parameters]
        for status in self._statuses():
            operation["responses"].setdefault(str(status), _response(status))
        for status, response in operation["responses"].items():
            if status[0] == "2" and (headers := self._headers(status)):
                response["headers"] = {**response.get("headers", {}), **headers}
        return operation

    def _known(self) -> Any:
        method = getattr(self.view, self.method.lower(), None)
        return getattr(method, "operation", None)

    def _shared_parameters(self) -> list[dict[str, Any]]:
        found = []
        if self.method == "POST":
            text = "Any text of your own; the same request sent again with it is not done again."
            found.append(_header(HEADER, text, pattern=PATTERN))
        known = self._known()
        if known is not None and 412 in known.also:
            found.append(_header("If-Match", "Do it only while the ETag of the draft is this one."))
        return found

    def _statuses(self) -> list[int]:
        found = {400, 401, 403, 406, 409, 429, 503}
        if "{" in self.path:
            found.add(404)
        if any(part in self.path for part in ADDRESSED):
            found |= {307, 410}  # gym.sharing.redirects
        if self.method == "POST":
            found |= {413, 415, 422}  # an Idempotency-Key is compared with the body, also where none is taken
        known = self._known()
        if known is not None:
            if known.query is not None:  # it may name what is not there
                found.add(404)
            found |= {status for status in known.also if status in ERRORS}
            if known.takes is not None:
                found |= {404, 413, 415}
        return sorted(found)

    def _headers(self, status: str) -> dict[str, Any]:
        headers = {}
        if self.path.endswith("/draft/") and status != "204":
            headers["ETag"] = _text("Version of the draft, for If-Match.")
        if status == "201":
            headers["Location"] = _text("Address of what was made.")
        if status == "202":
            headers["Location"] = _text("Where to ask again.")
            headers["Retry-After"] = _text("Seconds to wait before asking again.")
        return headers


def _text(description: str) -> dict[str, Any]:
    return {"description": description, "schema": {"type": "string"}}


def _header(name: str, description: str, *, required: bool = False, **schema: Any) -> dict[str, Any]:
    return {
        "name": name,
        "in": "header",
        "required": required,
        "description": description,
        "schema": {"type": "string", **schema},
    }


def _response(status: int) -> dict[str, Any]:
    return {"$ref": f"#/components/responses/{status}"}


def _error(status: int, description: str) -> dict[str, Any]:
    wrong = [{"where": "$.title", "message": "This field is required.", "hint": ""}] if status == 400 else []
    title = description.partition(";")[0].rstrip(".")
    example = {
        "type": "about:blank",
        "title": title,
        "status": status,
        "code": "invalid" if status == 400 else title.lower(),
        "detail": description,
        "errors": wrong,
    }
    content = {"schema": {"$ref": "#/components/schemas/Problem"}, "example": example}
    found: dict[str, Any] = {"description": description, "content": {PROBLEM: content}}
    if status in {409, 429, 503}:
        found["headers"] = {"Retry-After": _text("Seconds to wait; missing when waiting does not help.")}
    return found


def shared_components(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Postprocessing hook: samples of bodies, and the responses and the security scheme that operations refer to."""
    components = result.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    for operation in (operation for methods in result["paths"].values() for operation in methods.values()):
        for body in (operation.get("requestBody", {}), *operation["responses"].values()):
            for content in body.get("content", {}).values():
                content["example"] = sample(content["schema"], schemas)
    components["responses"] = {str(status): _error(status, text) for status, text in ERRORS.items()}
    components["responses"]["307"] = {
        "description": "This suite has another address now.",
        "headers": {"Location": _text("The same below the address of now.")},
    }
    schemas["Problem"] = PROBLEM_SCHEMA
    components["securitySchemes"] = {
        "token": {
            "type": "http",
            "scheme": "bearer",
            "description": "A token of your profile page, with the scopes read, write, run.",
        }
    }
    return result


class StrictBodies(OpenApiSerializerExtension):
    """Bodies have no other fields than those described."""

    target_class = "gym.api.requests.Body"
    match_subclasses = True

    def map_serializer(self, auto_schema: Any, direction: str) -> dict[str, Any]:
        schema = auto_schema._map_serializer(self.target, direction, bypass_extensions=True)
        return {**schema, "additionalProperties": False}
