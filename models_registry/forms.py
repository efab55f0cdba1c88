"""Forms of registered models, whose fields of a configuration are made from the JSON schemas of the backends.

Each way to register a model (`Source`) is a backend with one branch of its schema. Its properties become fields: titles
are labels, descriptions help texts, enumerations choices, `writeOnly` properties password fields that never show a
value. Properties that several sources define alike share a field.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.forms.boundfield import BoundField

from gym.accounts.models import User
from lmgym.models.backends import BACKENDS
from lmgym.models.backends.downloads import reads_files
from models_registry.models import RegisteredModel
from models_registry.selectors import refused_of
from models_registry.services import config_problems

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


CARD = ["description", "authorship", "licence", "corpus", "perplexity", "url", "bibtex"]


class TagNames(forms.CharField):
    """Tags, separated by commas, as a list."""

    def __init__(self) -> None:
        super().__init__(
            required=False,
            label="Tags",
            help_text="Separated by commas. Two kinds mean something: models of yours with the same group:NAME are "
            "seeds or checkpoints of one model, a row of the leaderboard if asked for; step:2000 says after how many "
            "steps of training a checkpoint was taken, which draws its learning curve.",
        )

    def prepare_value(self, value: Any) -> Any:
        return ", ".join(map(str, value)) if isinstance(value, list) else value

    def clean(self, value: Any) -> list[str]:
        parts = (part.strip() for part in super().clean(value).split(","))
        return list(dict.fromkeys(filter(None, parts)))


class SourceForm(forms.Form):
    """Where a model comes from."""

    kind = forms.ChoiceField(initial="hub", label="Where it comes from")

    def __init__(self, *args: Any, model: RegisteredModel | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        commands = sorted(settings.GYM_LMZOO_COMMANDS)
        offered = [source for source in sources() if source.backend != "lmzoo" or commands]
        self._sources: dict[str, Source] = {source.key: source for source in offered}
        self._asked = fields_of(offered, list(self.fields), {"command": commands})
        kind = self.fields["kind"]
        assert isinstance(kind, forms.ChoiceField)
        kind.choices = [(source.key, source.label) for source in offered]
        self.fields |= {name: asked.field for name, asked in self._asked.items()}
        if model is not None:
            self._begin_with(model)

    def _begin_with(self, model: RegisteredModel) -> None:
        for source in self._sources.values():
            if source.backend == model.backend and source.fixed.items() <= model.config.items():
                self.initial["kind"] = source.key
                self.initial.update(
                    {
                        name: model.config[asked.name]
                        for name, asked in self._asked.items()
                        if source.key in asked.for_sources and asked.name in model.config
                    }
                )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        source = self._sources.get(cleaned.get("kind", ""))
        if source is None:
            return cleaned
        missing = False
        for name, asked in self._asked.items():
            needed = source.key in asked.for_sources and asked.name in source.schema["required"]
            if needed and not cleaned.get(name):
                missing = True
                if name not in self.errors:
                    self.add_error(name, "This is needed for this kind of model.")
        if missing:
            return cleaned
        whole = config_of(source, cleaned, self._asked)
        problems = config_problems(source.backend, whole)
        if problems:
            raise ValidationError(problems)
        cleaned["source"] = {"backend": source.backend, "config": whole}
        return cleaned

    def source(self) -> dict[str, Any]:
        """What the services take: backend and configuration, secrets included."""
        found: dict[str, Any] = self.cleaned_data["source"]
        return found

    def reads_files(self) -> bool:
        """Whether models of the chosen source lie in files, so that a valid form is reviewed first."""
        return reads_files(self.source()["backend"])

    def given(self) -> Iterator[BoundField]:
        """Every field but those of other sources: what a review hands on."""
        source = self.cleaned_data["kind"]
        for name in self.fields:
            if name not in self._asked or source in self._asked[name].for_sources:
                yield self[name]

    def main_fields(self) -> Iterator[tuple[str, BoundField]]:
        """(keys of the kinds that ask for it, field), for the template."""
        return self._bound(main=True)

    def more_fields(self) -> Iterator[tuple[str, BoundField]]:
        """The same of the fields that are folded away."""
        return self._bound(main=False)

    def kinds_with_more(self) -> str:
        return " ".join(sorted({key for kinds, _ in self.more_fields() for key in kinds.split()}))

    def more_has_errors(self) -> bool:
        return any(bound.errors for _, bound in self.more_fields())

    def _bound(self, *, main: bool) -> Iterator[tuple[str, BoundField]]:
        for name, asked in self._asked.items():
            if asked.is_main == main:
                yield " ".join(asked.for_sources), self[name]


class _CardFields(forms.ModelForm):  # type: ignore[type-arg]  # Django 5.2 cannot subscript it at run time
    instance: RegisteredModel
    url = forms.URLField(required=False, label="Home page", assume_scheme="https")
    tag_names = TagNames()

    class Meta:
        model = RegisteredModel
        fields = ["name", "visibility", *CARD]
        widgets = {
            "description": forms.Textarea(attrs={"rows": 3}),
            "bibtex": forms.Textarea(attrs={"rows": 4, "spellcheck": "false"}),
        }

    def card(self) -> dict[str, Any]:
        """What the services take."""
        card = {name: self.cleaned_data[name] for name in self.Meta.fields if name in self.fields}
        return card | {"tags": self.cleaned_data["tag_names"]}


class RegisterForm(SourceForm, _CardFields):
    class Meta(_CardFields.Meta):
        fields = ["slug", *_CardFields.Meta.fields]

    def __init__(self, *args: Any, owner: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._owner = owner

    def clean_slug(self) -> str:
        """The address of one's own refused model is free, so that model is not in the way."""
        slug: str = self.cleaned_data["slug"]
        self.instance = refused_of(self._owner).filter(slug=slug).first() or self.instance
        return slug


class CardForm(_CardFields):
    """What a model's people may say about it; what it is stays as registered. Secrets can be replaced."""

    def __init__(self, *args: Any, may_manage: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial["tag_names"] = self.instance.tags
        self.order_fields(["name", "visibility", "tag_names"])
        spec = BACKENDS.get(self.instance.backend)
        self._secret_names = spec.secret_names if spec and may_manage else ()
        if not may_manage:
            del self.fields["visibility"]
        for name in self._secret_names:
            assert spec is not None
            schema = spec.schema["properties"][name]
            title = schema.get("title", name)
            stored = name in self.instance.secrets
            help_text = (
                "One is stored. Leave this empty to keep it." if stored else "None is stored."
            ) + " It is encrypted and never shown again."
            self.fields[f"secret-{name}"] = secret_field(f"New {title}", help_text, schema.get("maxLength"))
            if stored:
                self.fields[f"forget-{name}"] = forms.BooleanField(
                    required=False, label=f"Forget the stored {title}"
                )

    def secrets(self) -> dict[str, str | None]:
        """What was given: "" keeps, None forgets; see gym.secrets.sealed."""
        given: dict[str, str | None] = {}
        for name in self._secret_names:
            new = self.cleaned_data.get(f"secret-{name}", "")
            given[name] = new or (None if self.cleaned_data.get(f"forget-{name}") else "")
        return given
