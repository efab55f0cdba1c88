"""Serializers generated from the dataclasses of `lmgym`, for response bodies with the same fields.

Names, types and nullability come from the dataclass, help texts from the metadata of its fields (`meaning`
and `unit`, which docs/names.md lists) or from `Meta.extra_kwargs`. Set `Meta.ref_name` where the class name
is taken in openapi.json.
"""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework_dataclasses.serializers import DataclassSerializer


class RecordSerializer(DataclassSerializer[Any]):  # no docstring: the API description would repeat it
    @property
    def serializer_dataclass_field(self) -> type[DataclassSerializer[Any]]:
        return RecordSerializer

    def create_field(
        self, field_name: str, extra_kwargs: dict[str, Any]
    ) -> serializers.Field[Any, Any, Any, Any]:
        field = self.dataclass_definition.fields[field_name]
        described: dict[str, Any] = {
            "required": True
        }  # responses contain every field, even those with defaults
        if meaning := field.metadata.get("meaning"):
            unit = field.metadata.get("unit")
            described["help_text"] = meaning if unit in (None, "", meaning) else f"{meaning}; {unit}"
        return super().create_field(field_name, described | extra_kwargs)
