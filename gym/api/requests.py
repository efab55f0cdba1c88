"""Strict request parsing: bodies and query parameters; unknown fields are errors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.http import QueryDict
from rest_framework import serializers
from rest_framework.fields import empty

from gym.api.errors import FieldError, invalid
from lmgym.text.near_names import nearest_name

_TEXTS = (serializers.CharField, serializers.ChoiceField, serializers.DateTimeField, serializers.UUIDField)


class Body(serializers.Serializer[Any]):
    """A JSON object, or a form with files. Unknown fields are errors, and types in JSON are not converted: "3" is not a
    number.

    Declare fields as in any serializer; use `serializers.JSONField` for free-form documents.
    """

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping):
            field_errors: dict[str, Any] = {}
            for name in data:
                if name not in self.fields and not self._is_key(data, str(name)):
                    field_errors[str(name)] = [unknown(str(name), self.fields, "field")]
            if isinstance(data, QueryDict):
                field_errors |= self._sent_several_times(data)
            else:
                for name, field in self.fields.items():
                    if name in data and (problem := type_problem(field, data[name])):
                        field_errors[name] = problem
            if field_errors:
                raise serializers.ValidationError(field_errors)
        return super().to_internal_value(data)

    def _is_key(self, data: Any, name: str) -> bool:
        """Return True if this part of a form is a key of an object, as `columns.A` is the key A of `columns`."""
        field = self.fields.get(name.partition(".")[0])
        return isinstance(data, QueryDict) and "." in name and isinstance(field, Names)

    def _sent_several_times(self, data: QueryDict) -> dict[str, Any]:
        """Return errors for repeated parts of a form, of which only the last would be read."""
        return {
            name: [several(name, len(data.getlist(name)), isinstance(field, serializers.FileField))]
            for name, field in self.fields.items()
            if len(data.getlist(name)) > 1 and not isinstance(field, serializers.ListField)
        }


class Names(serializers.DictField):
    """An object with string values. In a form, each key is a separate part: `columns.A`."""

    child = serializers.CharField(allow_blank=True)

    def get_value(self, dictionary: Any) -> Any:
        if not isinstance(dictionary, QueryDict):
            return super().get_value(dictionary)
        start = f"{self.field_name}."
        entries = {
            name.removeprefix(start): value for name, value in dictionary.items() if name.startswith(start)
        }
        return entries or empty


class Query(serializers.Serializer[Any]):
    """Query parameters other than a list's filters. Values are converted; unknown names are errors, and so are repeated
    parameters that are not lists."""


class Several(Query):
    """Query with the ids of two or more objects; each `second` is compared with `first`."""

    first = serializers.SlugField(max_length=24, help_text="id of the baseline")
    second = serializers.ListField(
        child=serializers.SlugField(max_length=24),
        min_length=1,
        help_text="id of the object to compare with `first`; repeat the parameter for several objects",
    )


def type_problem(field: serializers.Field[Any, Any, Any, Any], value: Any) -> Any:
    """Return an error if REST framework would convert the value silently, or None if its JSON type is right."""
    if value is None or value is empty:
        return None
    if isinstance(field, serializers.ListField) and isinstance(value, list):
        problems = {
            place: problem
            for place, element in enumerate(value)
            if (problem := type_problem(field.child, element))
        }
        return problems or None
    if isinstance(field, serializers.BooleanField):
        return None if isinstance(value, bool) else ["This must be true or false."]
    if isinstance(field, serializers.IntegerField):
        whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        return None if whole and not isinstance(value, bool) else ["This must be a whole number."]
    if isinstance(field, serializers.FloatField):
        return (
            None
            if isinstance(value, int | float) and not isinstance(value, bool)
            else ["This must be a number."]
        )
    if isinstance(field, _TEXTS) and not isinstance(value, str):
        return ["This must be a string."]
    if isinstance(field, serializers.ChoiceField):
        return _choice_problem(field, value)
    return None


def _choice_problem(field: serializers.ChoiceField, value: Any) -> list[str] | None:
    choices = [str(choice) for choice in field.choices]
    if not isinstance(value, str) or value in choices or (value == "" and field.allow_blank):
        return None
    return [f"“{value[:60]}” is not a valid choice. Choose from: {', '.join(choices)}."]


def read(kind: type[serializers.Serializer[Any]], data: Any) -> dict[str, Any]:
    """Validate a body. Raises a 400 with JSON paths."""
    form = kind(data=data)
    form.is_valid(raise_exception=True)
    return dict(form.validated_data)


def read_query(
    kind: type[serializers.Serializer[Any]] | None, parameters: QueryDict, others: Iterable[str]
) -> dict[str, Any]:
    """Validate the query. `others`: parameters that filters and paging read."""
    fields = kind().fields if kind else {}
    known = {*fields, *others}
    wrong = [
        FieldError(f"?{name}", unknown(name, known, "parameter")) for name in parameters if name not in known
    ]
    lists = {name for name, field in fields.items() if isinstance(field, serializers.ListField)}
    wrong += [
        FieldError(f"?{name}", several(name, len(parameters.getlist(name)), files=False))
        for name in fields
        if name not in lists and len(parameters.getlist(name)) > 1
    ]
    if wrong:
        raise invalid(*wrong)
    if kind is None:
        return {}
    form = kind(
        data={
            name: parameters.getlist(name) if name in lists else parameters[name]
            for name in fields
            if name in parameters
        }
    )
    if not form.is_valid():
        raise invalid(
            *(
                FieldError(f"?{name}", str(message))
                for name, messages in form.errors.items()
                for message in messages
            )
        )
    return dict(form.validated_data)


def several(name: str, count: int, files: bool) -> str:
    if files:
        return f"{count} files were sent as “{name}”, which takes one. Send one file per request."
    return f"“{name}” was sent {count} times. Send it once."


def unknown(name: str, known: Iterable[str], what: str) -> str:
    near = nearest_name(name, known)
    hint = f"Did you mean “{near}”?" if near else f"Known: {', '.join(sorted(known)) or 'none'}."
    return f"There is no {what} “{name[:60]}”. {hint}"
