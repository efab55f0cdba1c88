"""Form fields made from the JSON schemas of the backends: one generator for all of them.

Each way to register a model (`Source`) is a backend with one branch of its schema. Its properties become fields: titles
are labels, descriptions help texts, enumerations choices, `writeOnly` properties password fields that never show a
value. Properties that several sources define alike share a field.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django import forms

from models_registry.backends import BACKENDS

Choices = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Source:
    """One entry of the list "Where it comes from"."""

    key: str
    label: str
    backend: str
    schema: dict[str, Any]
    fixed: dict[str, Any] = field(default_factory=dict)
    """Properties that the choice of the source already says."""

    @property
    def asked(self) -> dict[str, dict[str, Any]]:
        """Properties that are asked for, with their schemas."""
        return {name: kind for name, kind in self.schema["properties"].items() if name not in self.fixed}


def sources() -> Iterator[Source]:
    """Every way to register a model that is hosted here."""
    for spec in BACKENDS.values():
        branches = spec.schema.get("oneOf")
        if not branches:
            yield Source(spec.kind, spec.label, spec.kind, spec.schema)
            continue
        for branch in branches:
            where = branch["properties"]["source"]["const"]
            key = where if spec.kind == "causal" else f"{spec.kind}-{where}"
            yield Source(key, branch["title"], spec.kind, branch, {"source": where})


@dataclass
class AskedField:
    """A field, and the sources that ask for it (`for_sources`, by key) under the property `name`."""

    field: forms.Field
    schema: dict[str, Any]
    name: str
    for_sources: list[str]
    is_main: bool
    """Whether it is always in view; the others are folded away until somebody looks for them."""


def fields_of(found: Sequence[Source], taken: Sequence[str], choices: Choices) -> dict[str, AskedField]:
    """Field names and fields for these sources. A name that is `taken`, or means something else for an earlier
    source, gets the source before it. `choices` are for properties whose values only this site knows."""
    fields: dict[str, AskedField] = {}
    for source in found:
        for prop, schema in source.asked.items():
            name = prop
            if name in taken or (name in fields and fields[name].schema != schema):
                name = f"{source.key}-{prop}"
            if name in fields:
                fields[name].for_sources.append(source.key)
                continue
            main = prop in source.schema["required"] or bool(schema.get("writeOnly") or schema.get("x-main"))
            made = form_field(prop, schema, choices.get(prop))
            fields[name] = AskedField(made, schema, prop, [source.key], main)
    return fields


def form_field(name: str, schema: dict[str, Any], choices: Sequence[str] | None = None) -> forms.Field:
    """A form field for one property. None is required: that depends on the source and is checked with the schema."""
    more: dict[str, Any] = {
        "required": False,
        "label": schema.get("title") or name.replace("_", " ").capitalize(),
        "help_text": schema.get("description", ""),
        "initial": schema.get("default"),
    }
    options = schema.get("enum") or choices
    if options is not None:
        empty = [] if "default" in schema else [("", "–")]
        return forms.ChoiceField(
            choices=[*empty, *((str(option), str(option)) for option in options)], **more
        )
    if schema.get("type") == "boolean":
        return forms.BooleanField(**more)
    if schema.get("type") == "integer":
        return forms.IntegerField(min_value=schema.get("minimum"), max_value=schema.get("maximum"), **more)
    if schema.get("writeOnly"):
        return secret_field(more["label"], more["help_text"], schema.get("maxLength"))
    return forms.CharField(max_length=schema.get("maxLength"), **more)


def secret_field(label: str, help_text: str, max_length: int | None) -> forms.CharField:
    """A field that takes a secret and never shows one, not even the one just typed."""
    widget = forms.PasswordInput(render_value=False, attrs={"autocomplete": "off", "spellcheck": "false"})
    return forms.CharField(
        required=False, label=label, help_text=help_text, max_length=max_length, widget=widget
    )


def config_of(source: Source, given: Mapping[str, Any], names: Mapping[str, AskedField]) -> dict[str, Any]:
    """The configuration that cleaned form data describe. What is empty or as by default is left out, but for the
    choices that are always in view: those are written down."""
    config = dict(source.fixed)
    for name, asked in names.items():
        if source.key not in asked.for_sources:
            continue
        value, default = given.get(name), asked.schema.get("default")
        if asked.is_main and "enum" in asked.schema:
            value = value or default
        elif value == default:
            continue
        if value in (None, ""):
            continue
        config[asked.name] = value
    return config
