"""OpenAPI parts that all operations share: errors, headers, examples, scopes."""

from __future__ import annotations

from typing import Any

from drf_spectacular.extensions import OpenApiSerializerExtension
from drf_spectacular.openapi import AutoSchema
from rest_framework.permissions import SAFE_METHODS, IsAuthenticated

from gym.accounts.models import Scope
from gym.api.errors import NOT_FOUND, PROBLEM
from gym.api.filters import NameFilter
from gym.api.idempotency import HEADER, PATTERN
from gym.api.samples import sample

ADDRESSED = ("/suites/{slug}/", "/compare/{slug}/", "/lmc/corpora/{slug}/", "/propara/answer-sets/{slug}/")
ERRORS = {
    400: "The request is invalid; `errors` lists the invalid fields.",
    401: "The token is missing, wrong, expired or revoked.",
    403: "This account or this token may not do that.",
    404: NOT_FOUND,
    406: "None of the media types in Accept is available.",
    409: "The object's state does not allow this, the format cannot represent it, another request changed it at the "
    "same time, or a request with the same Idempotency-Key is in progress.",
    410: "The object was deleted (`was` describes it) or is no longer public.",
    412: "If-Match names an outdated state of the draft.",
    413: "The request is too large.",
    415: "This media type of the body is not supported.",
    422: "The Idempotency-Key belongs to another request, or the model could not be used.",
    428: "If-Match is missing.",
    429: "Too many requests, jobs or sentences; wait for Retry-After seconds.",
    503: "Too many large downloads are open (with Retry-After), or the query takes too long.",
}
PROBLEM_SCHEMA = {
    "type": "object",
    "description": "An error (RFC 9457). Programs use `code`; `detail` is for people.",
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
                        "description": "JSON path into the body, ?name of a parameter, name of a header, or place in "
                        "an uploaded file.",
                    },
                    "message": {"type": "string"},
                    "hint": {"type": "string"},
                },
            },
        },
    },
}


class GymSchema(AutoSchema):
    """Schema that adds errors, headers, preconditions and sample path parameters to each operation."""

    def get_auth(self) -> list[dict[str, Any]]:
        reading = self.method in SAFE_METHODS
        private = IsAuthenticated in self.view.permission_classes
        return [{"token": []}, *([{}] if reading and not private else [])]

    def _is_list_view(self, serializer: Any = None) -> bool:
        """Return True for `@operation(many=True)`, except for its CSV and NDJSON tables, which have a raw schema."""
        described = self._operation()
        raw = isinstance(serializer, dict) and "type" in serializer
        return described is not None and described.many and not raw

    def get_operation(self, *args: Any, **kwargs: Any) -> dict[str, Any] | None:
        operation = super().get_operation(*args, **kwargs)
        if operation is None:
            return None
        scope = Scope.READ if self.method in SAFE_METHODS else getattr(self.view, "token_scope", Scope.WRITE)
        description = operation.get("description")
        operation["description"] = (
            f"{description}\n\nScope: `{scope}`." if description else f"Scope: `{scope}`."
        )
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

    def _operation(self) -> Any:
        method = getattr(self.view, self.method.lower(), None)
        return getattr(method, "operation", None)

    def _shared_parameters(self) -> list[dict[str, Any]]:
        parameters = []
        if self.method == "POST":
            text = (
                "1 to 200 printable ASCII characters without spaces. Within 24 hours, repeating a request with its "
                "key returns the first response and has no further effect."
            )
            parameters.append(_header(HEADER, text, pattern=PATTERN))
        described = self._operation()
        if described is not None and 412 in described.also:
            parameters.append(_header("If-Match", "ETag that the draft must have; * accepts any."))
        return parameters

    def _statuses(self) -> list[int]:
        statuses = {400, 401, 403, 406, 409, 429, 503}
        if "{" in self.path:
            statuses.add(404)
        if any(part in self.path for part in ADDRESSED):
            statuses |= {307, 410}  # old addresses redirect
        if self.method == "POST":
            statuses |= {
                413,
                415,
                422,
            }  # an Idempotency-Key is compared with the body even if the operation has none
        described = self._operation()
        if described is not None:
            filterset = getattr(self.view, "filterset_class", None) if described.many else None
            filters = filterset.base_filters.values() if filterset else ()
            if described.query is not None or any(isinstance(one, NameFilter) for one in filters):
                statuses.add(404)  # a parameter may name a missing object
            statuses |= {status for status in described.also if status in ERRORS}
            if described.body is not None:
                statuses |= {404, 413, 415}
        return sorted(statuses)

    def _headers(self, status: str) -> dict[str, Any]:
        headers = {}
        if self.path.endswith("/draft/") and status != "204":
            headers["ETag"] = _text("Version of the draft, for If-Match.")
        if status == "201":
            headers["Location"] = _text("Address of the created resource.")
        if status == "202":
            headers["Location"] = _text("Address to poll.")
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
    response: dict[str, Any] = {"description": description, "content": {PROBLEM: content}}
    if status in {409, 429, 503}:
        response["headers"] = {"Retry-After": _text("Seconds to wait; absent if waiting does not help.")}
    return response


def shared_components(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Postprocessing hook: add sample bodies, shared error responses and the security scheme."""
    components = result.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    for operation in (operation for methods in result["paths"].values() for operation in methods.values()):
        for body in (operation.get("requestBody", {}), *operation["responses"].values()):
            for content in body.get("content", {}).values():
                content["example"] = sample(content["schema"], schemas)
    components["responses"] = {str(status): _error(status, text) for status, text in ERRORS.items()}
    components["responses"]["307"] = {
        "description": "The resource has moved to a different address.",
        "headers": {"Location": _text("The same path at the current address.")},
    }
    schemas["Problem"] = PROBLEM_SCHEMA
    components["securitySchemes"] = {
        "token": {
            "type": "http",
            "scheme": "bearer",
            "description": "A token from your profile page, with one or more of the scopes read, write and run.",
        }
    }
    return result


class StrictBodies(OpenApiSerializerExtension):
    """Extension that forbids additional fields in bodies and omits descriptions inherited from a base
    class."""

    target_class = "gym.api.requests.Body"
    match_subclasses = True

    def map_serializer(self, auto_schema: Any, direction: str) -> dict[str, Any]:
        schema = auto_schema._map_serializer(self.target, direction, bypass_extensions=True)
        if not vars(type(self.target)).get("__doc__"):
            schema.pop("description", None)
        return {**schema, "additionalProperties": False}
