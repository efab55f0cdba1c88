"""Forms of registered models. The configuration is asked for in fields, and checked by the backend's JSON schema."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from models_registry.models import RegisteredModel
from models_registry.services import config_problems

KINDS = [
    ("hub", "Causal language model from the Hugging Face hub"),
    ("directory", "Causal language model from a folder in the model directory"),
    ("masked-hub", "Masked language model from the Hugging Face hub"),
    ("masked-directory", "Masked language model from a folder in the model directory"),
    ("ngram", "n-gram model from a file in the model directory"),
    ("uniform", "Uniform baseline"),
]
METHODS = [
    (
        "within_word_l2r",
        "within_word_l2r: the later tokens of its own word are masked too (Kauf & Ivanova 2023)",
    ),
    ("original", "original: the token alone is masked (Salazar et al. 2020)"),
]
CARD = ["description", "authorship", "licence", "corpus", "perplexity", "url", "bibtex"]
CARD_WIDGETS = {
    "description": forms.Textarea(attrs={"rows": 3}),
    "bibtex": forms.Textarea(attrs={"rows": 4, "spellcheck": "false"}),
}


class RegisterForm(forms.ModelForm):
    kind = forms.ChoiceField(choices=KINDS, initial="hub", label="Where it comes from")
    repo = forms.CharField(
        required=False, label="Hub id", help_text="organisation/name, e.g. openai-community/gpt2"
    )
    revision = forms.CharField(
        required=False,
        label="Hub revision",
        help_text="Branch, tag or commit. The check pins it to a commit.",
    )
    path = forms.CharField(
        required=False, label="Folder or file", help_text="Its name below the model directory of this site."
    )
    method = forms.ChoiceField(
        choices=METHODS,
        required=False,
        label="Pseudo-log-likelihood",
        help_text="Each token is masked and read off, given the words on both sides. These bits are not comparable "
        "with the surprisals of left-to-right models; runs and exports say so.",
    )
    vocabulary_size = forms.IntegerField(required=False, min_value=2, help_text="For the uniform baseline.")
    url = forms.URLField(required=False, label="Home page", assume_scheme="https")
    tag_names = forms.CharField(required=False, label="Tags", help_text="Separated by commas.")

    class Meta:
        model = RegisteredModel
        fields = ["name", "slug", "visibility", *CARD]
        widgets = CARD_WIDGETS

    field_order = [
        "kind",
        "repo",
        "revision",
        "path",
        "method",
        "vocabulary_size",
        "name",
        "slug",
        "visibility",
    ]
    NEEDED = {
        "hub": "repo",
        "directory": "path",
        "masked-hub": "repo",
        "masked-directory": "path",
        "ngram": "path",
        "uniform": "vocabulary_size",
    }

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        kind = cleaned.get("kind", "")
        needed = self.NEEDED.get(kind)
        if needed and not cleaned.get(needed):
            self.add_error(needed, "This is needed for this kind of model.")
            return cleaned
        backend, config = self._config(kind, cleaned)
        problems = config_problems(backend, config) if backend else []
        if problems:
            raise ValidationError(problems)
        cleaned["backend"], cleaned["config"] = backend, config
        cleaned["tags"] = [part.strip() for part in cleaned.get("tag_names", "").split(",") if part.strip()]
        return cleaned

    @staticmethod
    def _config(kind: str, given: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        masked, source = kind.startswith("masked-"), kind.removeprefix("masked-")
        backend = "masked" if masked else "causal"
        method = {"method": given.get("method") or METHODS[0][0]} if masked else {}
        if source == "hub":
            config = {"source": "hub", "repo": given["repo"].strip(), **method}
            if given.get("revision"):
                config["revision"] = given["revision"].strip()
            return backend, config
        if source == "directory":
            return backend, {"source": "directory", "path": given["path"].strip(), **method}
        if kind == "ngram":
            return "ngram", {"path": given["path"].strip()}
        if kind == "uniform":
            return "uniform", {"vocabulary_size": given["vocabulary_size"], "unit": "word"}
        return "", {}

    def card(self) -> dict[str, Any]:
        return {name: self.cleaned_data[name] for name in [*CARD, "visibility", "tags"]}


class CardForm(forms.ModelForm):
    """What a model's people may say about it; what it is stays as registered."""

    url = forms.URLField(required=False, label="Home page", assume_scheme="https")

    class Meta:
        model = RegisteredModel
        fields = ["name", "visibility", *CARD]
        widgets = CARD_WIDGETS
