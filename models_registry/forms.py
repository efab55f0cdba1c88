"""Forms for registered models. The fields of the configuration are generated from the JSON schemas of the backends.

Each source of models (`Source`) is a backend with one branch of its schema. Properties become fields: titles become
labels, descriptions become help texts, enumerations become choices, and `writeOnly` properties become password fields
that never show a value. Properties that several sources define identically share a field.
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
from gym.addresses import SHORT_NAME_HELP, ShortNameField
from lmgym.models.backends import BACKENDS
from lmgym.models.backends.checkpoints import MAX_TEXT
from lmgym.models.backends.downloads import reads_files
from models_registry.models import RegisteredModel
from models_registry.selectors import references_for, refused_of
from models_registry.services import config_problems

Choices = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Source:
    """A source of models: one entry of the form's Source list."""

    key: str
    label: str
    backend: str
    schema: dict[str, Any]
    fixed: dict[str, Any] = field(default_factory=dict)
    """Properties whose values follow from the choice of this source."""

    @property
    def properties(self) -> dict[str, dict[str, Any]]:
        """Properties to fill in, with their schemas."""
        return {name: kind for name, kind in self.schema["properties"].items() if name not in self.fixed}


def sources() -> Iterator[Source]:
    """Yield every source of hosted models."""
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
class ConfigField:
    """A form field for the property `name` of the sources `for_sources` (keys)."""

    field: forms.Field
    schema: dict[str, Any]
    name: str
    for_sources: list[str]
    is_main: bool
    """True if the field is always shown; the others are in a collapsed section."""


def fields_of(sources_: Sequence[Source], taken: Sequence[str], choices: Choices) -> dict[str, ConfigField]:
    """Build the fields for these sources, by field name. A property name that is `taken`, or has a different schema in
    an earlier source, is prefixed with the source. `choices`: values of properties that depend on this site."""
    fields: dict[str, ConfigField] = {}
    for source in sources_:
        for prop, schema in source.properties.items():
            name = prop
            if name in taken or (name in fields and fields[name].schema != schema):
                name = f"{source.key}-{prop}"
            if name in fields:
                fields[name].for_sources.append(source.key)
                continue
            main = prop in source.schema["required"] or bool(schema.get("writeOnly") or schema.get("x-main"))
            form_field_ = form_field(prop, schema, choices.get(prop))
            fields[name] = ConfigField(form_field_, schema, prop, [source.key], main)
    return fields


def form_field(name: str, schema: dict[str, Any], choices: Sequence[str] | None = None) -> forms.Field:
    """Build the form field of a property. Whether it is required depends on the source and is checked with the schema,
    so the field itself is optional."""
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
    if schema.get("type") == "number":
        return forms.FloatField(min_value=schema.get("minimum"), max_value=schema.get("maximum"), **more)
    if schema.get("writeOnly"):
        return secret_field(more["label"], more["help_text"], schema.get("maxLength"))
    return forms.CharField(max_length=schema.get("maxLength"), **more)


def secret_field(label: str, help_text: str, max_length: int | None) -> forms.CharField:
    """Return a write-only field, whose value is never rendered, not even after an error."""
    widget = forms.PasswordInput(render_value=False, attrs={"autocomplete": "off", "spellcheck": "false"})
    return forms.CharField(
        required=False, label=label, help_text=help_text, max_length=max_length, widget=widget
    )


def config_of(
    source: Source, cleaned: Mapping[str, Any], fields: Mapping[str, ConfigField]
) -> dict[str, Any]:
    """Build the configuration from cleaned data. Empty and default values are left out, except for choices
    that are always shown."""
    config = dict(source.fixed)
    for name, field_ in fields.items():
        if source.key not in field_.for_sources:
            continue
        value, default = cleaned.get(name), field_.schema.get("default")
        if field_.is_main and "enum" in field_.schema:
            value = value or default
        elif value == default:
            continue
        if value in (None, ""):
            continue
        config[field_.name] = value
    return config


CARD = ["description", "authorship", "licence", "corpus", "perplexity", "url", "bibtex"]


class TagNames(forms.CharField):
    """Field for comma-separated tags, which are cleaned to a list."""

    def __init__(self) -> None:
        super().__init__(
            required=False,
            label="Tags",
            help_text="Separated by commas. Two kinds are special: group:NAME marks your models as seeds or "
            "checkpoints of one model, which the leaderboard can show in one row; step:2000 is the training step of a "
            "checkpoint, for learning curves.",
        )

    def prepare_value(self, value: Any) -> Any:
        return ", ".join(map(str, value)) if isinstance(value, list) else value

    def clean(self, value: Any) -> list[str]:
        parts = (part.strip() for part in super().clean(value).split(","))
        return list(dict.fromkeys(filter(None, parts)))


class SourceForm(forms.Form):
    """Form for the source and configuration of a model."""

    kind = forms.ChoiceField(initial="hub", label="Source")

    def __init__(self, *args: Any, owner: User, model: RegisteredModel | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._owner = owner
        commands = sorted(settings.GYM_LMZOO_COMMANDS)
        offered = [source for source in sources() if source.backend != "lmzoo" or commands]
        self._sources: dict[str, Source] = {source.key: source for source in offered}
        choices = {
            "command": commands,
            "reference": list(references_for(owner).order_by("slug").values_list("slug", flat=True)),
        }
        self._config_fields = fields_of(offered, list(self.fields), choices)
        kind = self.fields["kind"]
        assert isinstance(kind, forms.ChoiceField)
        kind.choices = [(source.key, source.label) for source in offered]
        self.fields |= {name: field_.field for name, field_ in self._config_fields.items()}
        if model is not None:
            self._begin_with(model)

    def _begin_with(self, model: RegisteredModel) -> None:
        for source in self._sources.values():
            if source.backend == model.backend and source.fixed.items() <= model.config.items():
                self.initial["kind"] = source.key
                self.initial.update(
                    {
                        name: model.config[field_.name]
                        for name, field_ in self._config_fields.items()
                        if source.key in field_.for_sources and field_.name in model.config
                    }
                )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        source = self._sources.get(cleaned.get("kind", ""))
        if source is None:
            return cleaned
        missing = False
        for name, field_ in self._config_fields.items():
            needed = source.key in field_.for_sources and field_.name in source.schema["required"]
            if needed and not cleaned.get(name):
                missing = True
                if name not in self.errors:
                    self.add_error(name, "Required for this kind of model.")
        if missing:
            return cleaned
        config = config_of(source, cleaned, self._config_fields)
        problems = config_problems(source.backend, config)
        if problems:
            raise ValidationError(problems)
        cleaned["source"] = {"backend": source.backend, "config": config}
        return cleaned

    def source(self) -> dict[str, Any]:
        """Return keyword arguments for the services: backend and configuration, secrets included."""
        source: dict[str, Any] = self.cleaned_data["source"]
        return source

    def reads_files(self) -> bool:
        """Return True if this source reads models from files, so that a valid form is reviewed first."""
        return reads_files(self.source()["backend"])

    def fields_to_resubmit(self) -> Iterator[BoundField]:
        """Yield the fields to post again after the review: all except fields that only other sources have."""
        source = self.cleaned_data["kind"]
        for name in self.fields:
            if name not in self._config_fields or source in self._config_fields[name].for_sources:
                yield self[name]

    def main_fields(self) -> Iterator[tuple[str, BoundField]]:
        """Yield (keys of its sources, field) for each field that is always shown."""
        return self._bound(main=True)

    def more_fields(self) -> Iterator[tuple[str, BoundField]]:
        """Yield (keys of its sources, field) for each field in the collapsed section."""
        return self._bound(main=False)

    def kinds_with_more(self) -> str:
        return " ".join(sorted({key for kinds, _ in self.more_fields() for key in kinds.split()}))

    def more_has_errors(self) -> bool:
        return any(bound.errors for _, bound in self.more_fields())

    def _bound(self, *, main: bool) -> Iterator[tuple[str, BoundField]]:
        for name, field_ in self._config_fields.items():
            if field_.is_main == main:
                yield " ".join(field_.for_sources), self[name]


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
        """Return the card as keyword arguments for the services."""
        card = {name: self.cleaned_data[name] for name in self.Meta.fields if name in self.fields}
        return card | {"tags": self.cleaned_data["tag_names"]}


class RegisterForm(SourceForm, _CardFields):
    revisions = forms.CharField(
        required=False,
        label="Checkpoints",
        help_text="Instead of one revision: branches or tags, separated by commas, such as step1000, step2000. "
        "step* stands for all that begin with step, step{10000..140000..10000} for a range in steps of 10000. Each "
        "becomes a model, in a group named after the short name.",
        max_length=MAX_TEXT,
    )

    class Meta(_CardFields.Meta):
        fields = ["slug", *_CardFields.Meta.fields]
        field_classes = {"slug": ShortNameField}
        help_texts = {"slug": f"{SHORT_NAME_HELP} Commands use it, too; for example gpt2-medium."}

    @property
    def series_kinds(self) -> str:
        """Space-separated keys of the sources from which several checkpoints can be registered at once."""
        return " ".join(key for key, source in self._sources.items() if source.fixed.get("source") == "hub")

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if cleaned.get("kind") not in self.series_kinds.split():
            cleaned["revisions"] = ""
        return cleaned

    def clean_slug(self) -> str:
        """Accept the slug of a refused model of the same owner; the new model replaces it."""
        slug: str = self.cleaned_data["slug"]
        self.instance = refused_of(self._owner).filter(slug=slug).first() or self.instance
        return slug


class CardForm(_CardFields):
    """Form for a model's card and for new values of its secrets. Backend and configuration are not changed."""

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
                "A value is stored. Leave empty to keep it." if stored else "No value is stored."
            ) + " Values are encrypted and never shown again."
            self.fields[f"secret-{name}"] = secret_field(f"New {title}", help_text, schema.get("maxLength"))
            if stored:
                self.fields[f"forget-{name}"] = forms.BooleanField(
                    required=False, label=f"Delete the stored {title}"
                )

    def secrets(self) -> dict[str, str | None]:
        """Return changes to secrets by name: "" keeps a secret, None deletes it; see gym.secrets.sealed."""
        changes: dict[str, str | None] = {}
        for name in self._secret_names:
            new = self.cleaned_data.get(f"secret-{name}", "")
            changes[name] = new or (None if self.cleaned_data.get(f"forget-{name}") else "")
        return changes
