"""Forms of registered models. The fields of a configuration come from the backends' JSON schemas (schema_forms.py)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.forms.boundfield import BoundField

from models_registry.backends import BACKENDS
from models_registry.models import RegisteredModel
from models_registry.schema_forms import Source, config_of, fields_of, secret_field, sources
from models_registry.selectors import refused_of
from models_registry.services import config_problems, split_secrets

if TYPE_CHECKING:
    from gym.accounts.models import User

CARD = ["description", "authorship", "licence", "corpus", "perplexity", "url", "bibtex"]
CARD_WIDGETS = {
    "description": forms.Textarea(attrs={"rows": 3}),
    "bibtex": forms.Textarea(attrs={"rows": 4, "spellcheck": "false"}),
}


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
    """Where a model comes from. Cleaned data have `backend`, `config` and `secrets`."""

    kind = forms.ChoiceField(initial="hub", label="Where it comes from")

    def __init__(self, *args: Any, model: RegisteredModel | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        commands = sorted(settings.GYM_LMZOO_COMMANDS)
        offered = [source for source in sources() if source.backend != "lmzoo" or commands]
        self._sources: dict[str, Source] = {source.key: source for source in offered}
        self._asked = fields_of(offered, list(self.fields), {"command": commands})
        self.fields["kind"].choices = [(source.key, source.label) for source in offered]
        self.fields |= {name: asked.field for name, asked in self._asked.items()}
        if model is not None:
            self._begin_with(model)

    def _begin_with(self, model: RegisteredModel) -> None:
        for source in self._sources.values():
            if source.backend == model.backend and source.fixed.items() <= model.config.items():
                self.initial["kind"] = source.key
                self.initial |= {
                    name: model.config[asked.name]
                    for name, asked in self._asked.items()
                    if source.key in asked.for_sources and asked.name in model.config
                }

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
        config, secrets = split_secrets(source.backend, whole)
        cleaned |= {"backend": source.backend, "config": config, "secrets": secrets}
        return cleaned

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


class RegisterForm(SourceForm, forms.ModelForm):
    url = forms.URLField(required=False, label="Home page", assume_scheme="https")
    tag_names = TagNames()

    class Meta:
        model = RegisteredModel
        fields = ["name", "slug", "visibility", *CARD]
        widgets = CARD_WIDGETS

    def __init__(self, *args: Any, owner: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._owner = owner

    def clean_slug(self) -> str:
        """The address of one's own refused model is free, so that model is not in the way."""
        slug: str = self.cleaned_data["slug"]
        self.instance = refused_of(self._owner).filter(slug=slug).first() or self.instance
        return slug

    def card(self) -> dict[str, Any]:
        given = self.cleaned_data
        return {name: given[name] for name in [*CARD, "visibility"]} | {"tags": given["tag_names"]}


class CardForm(forms.ModelForm):
    """What a model's people may say about it; what it is stays as registered. Secrets can be replaced."""

    url = forms.URLField(required=False, label="Home page", assume_scheme="https")
    tag_names = TagNames()

    class Meta:
        model = RegisteredModel
        fields = ["name", "visibility", *CARD]
        widgets = CARD_WIDGETS

    def __init__(self, *args: Any, may_manage: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial["tag_names"] = self.instance.tags
        self.order_fields(["name", "visibility", "tag_names"])
        spec = BACKENDS.get(self.instance.backend)
        self._secret_names = spec.secret_names if spec and may_manage else ()
        if not may_manage:
            del self.fields["visibility"]
        for name in self._secret_names:
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

    def card(self) -> dict[str, Any]:
        card = {name: self.cleaned_data[name] for name in self.Meta.fields if name in self.fields}
        return card | {"tags": self.cleaned_data["tag_names"]}

    def secrets(self) -> dict[str, str | None]:
        """What was given: "" keeps, None forgets; see gym.secrets.sealed."""
        given: dict[str, str | None] = {}
        for name in self._secret_names:
            new = self.cleaned_data.get(f"secret-{name}", "")
            given[name] = new or (None if self.cleaned_data.get(f"forget-{name}") else "")
        return given
