"""Form fields of suites."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.html import format_html, format_html_join

from suites.languages import LANGUAGES, tag_of


class LanguageInput(forms.TextInput):
    """A text field that the browser completes from the common languages."""

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> Any:
        options = format_html_join("", '<option value="{}">{}</option>', LANGUAGES.items())
        field = super().render(name, value, {**(attrs or {}), "list": "languages"}, renderer)
        return format_html('{}<datalist id="languages">{}</datalist>', field, options)


class LanguageField(forms.CharField):
    """A language by its name or tag, as a tag; "" where it is not stated."""

    widget = LanguageInput(attrs={"autocomplete": "off", "placeholder": "not stated"})

    def __init__(self, **kwargs: Any) -> None:
        about = "Of the sentences: a name or a BCP 47 tag, e.g. German or de. Empty: not stated."
        super().__init__(
            **{"required": False, "max_length": 60, "label": "Language", "help_text": about} | kwargs
        )

    def to_python(self, value: Any) -> str:
        text = super().to_python(value)
        tag = tag_of(text)
        if tag is None:
            raise ValidationError(
                f"“{text}” is not in the list. Use a language tag such as en, de or zh-Hans."
            )
        return tag
