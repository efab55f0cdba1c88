"""Form fields for choosing models, labelled by name, slug and owner."""

from __future__ import annotations

from typing import Any

from django import forms

from models_registry.models import RegisteredModel
from models_registry.names import named_with_owner

SEARCHED = {"data-search": "models"}
"""Attributes that give a select a search box if it has many options (static/js/filter.js)."""


def choose_models(field: Any, models: Any) -> None:
    """Offer these models in a ModelForm's field."""
    field.queryset = models
    field.label_from_instance = named_with_owner
    field.widget.attrs |= SEARCHED


class RegisteredModelField(forms.ModelChoiceField):  # type: ignore[type-arg]  # Django 5.2 cannot subscript it at run time
    def __init__(self, **more: Any) -> None:
        super().__init__(RegisteredModel.objects.none(), **{"to_field_name": "slug", "label": "Model"} | more)
        self.widget.attrs |= SEARCHED

    def label_from_instance(self, obj: Any) -> str:
        return named_with_owner(obj)


class SomeModelsField(forms.ModelMultipleChoiceField):  # type: ignore[type-arg]  # Django 5.2 cannot subscript it at run time
    """Choice of any number of models by tick boxes."""

    widget = forms.CheckboxSelectMultiple

    def __init__(self, **more: Any) -> None:
        super().__init__(RegisteredModel.objects.none(), **{"to_field_name": "slug"} | more)

    def label_from_instance(self, obj: Any) -> str:
        return named_with_owner(obj)
