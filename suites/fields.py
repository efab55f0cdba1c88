"""Form fields for suites."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.html import format_html, format_html_join

from lmgym.suites.languages import LANGUAGES, tag_of
from lmgym.suites.regions import METRICS
from suites.models import JoinPolicy

METRIC_NAMES = {
    "sum": "sum of its tokens",
    "mean": "mean of its tokens",
    "median": "median of its tokens",
    "range": "range of its tokens (highest − lowest)",
    "max": "highest of its tokens",
    "min": "lowest of its tokens",
    "all": "all of these (default: sum)",
}


def metric_name(metric: str | list[str] | tuple[str, ...]) -> str:
    """Describe a suite's metric; of several metrics, the default comes first."""
    first, *others = METRICS if metric == "all" else [metric] if isinstance(metric, str) else metric
    return METRIC_NAMES[first] + (f" (a run may use {' or '.join(others)} instead)" if others else "")


def metric_field(unset: str = "") -> forms.ChoiceField:
    """Return a field for the metric. `unset`: label of the empty choice; without it, the sum is the default."""
    nothing = [("", unset)] if unset else []
    return forms.ChoiceField(
        choices=nothing + [(name, METRIC_NAMES[name]) for name in METRICS],
        required=False,
        label="Value of a region",
        help_text="Computed from the surprisals of its tokens; predictions compare these values.",
    )


def join_field(required: bool = False) -> forms.ChoiceField:
    """Return a field for the join policy, with one space as the default."""
    return forms.TypedChoiceField(
        choices=JoinPolicy.choices,
        initial=JoinPolicy.SPACE,
        empty_value=JoinPolicy.SPACE.value,
        required=required,
        label="How regions are joined",
        help_text="What is inserted between two regions when the sentence is joined for a model.",
    )


class LanguageInput(forms.TextInput):
    """Text input with completion from the common languages."""

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> Any:
        options = format_html_join("", '<option value="{}">{}</option>', LANGUAGES.items())
        field = super().render(name, value, {**(attrs or {}), "list": "languages"}, renderer)
        return format_html('{}<datalist id="languages">{}</datalist>', field, options)


class LanguageField(forms.CharField):
    """A language by name or tag, cleaned to a tag; "" if not stated."""

    widget = LanguageInput(attrs={"autocomplete": "off", "placeholder": "not stated"})

    def __init__(self, **kwargs: Any) -> None:
        about = "Language of the sentences: a name or BCP 47 tag, e.g. German or de. Empty: not stated."
        usual: dict[str, Any] = {"required": False, "max_length": 60, "label": "Language", "help_text": about}
        super().__init__(**usual | kwargs)

    def to_python(self, value: Any) -> str:
        text = super().to_python(value) or ""
        tag = tag_of(text)
        if tag is None:
            raise ValidationError(
                f"“{text}” is not in the list. Use a language tag such as en, de or zh-Hans."
            )
        return tag
