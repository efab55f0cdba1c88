"""Form for a collection's texts and chosen revisions."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from gym.addresses import SHORT_NAME_HELP, ShortNameField
from gym.collections.models import Collection
from gym.collections.picker import Picker
from gym.collections.services import RESERVED_SLUGS


class CollectionForm(forms.ModelForm):  # type: ignore[type-arg]  # Django 5.2 cannot subscript it at run time
    """Form for a collection's texts and revisions. `may_be_empty`: allow saving with no suite ticked, because the
    collection keeps entries that this user cannot see."""

    instance: Collection

    class Meta:
        model = Collection
        fields = ["title", "slug", "description", "reference"]
        field_classes = {"slug": ShortNameField}
        help_texts = {"slug": f"{SHORT_NAME_HELP} Cannot be changed later."}
        widgets = {
            "description": forms.Textarea(attrs={"rows": 4}),
            "reference": forms.Textarea(attrs={"rows": 2}),
        }

    def __init__(self, *args: Any, picker: Picker, may_be_empty: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.picker, self.may_be_empty = picker, may_be_empty
        if self.instance.pk:
            del self.fields["slug"]

    def clean_slug(self) -> str:
        slug = str(self.cleaned_data["slug"])
        if slug in RESERVED_SLUGS:
            raise ValidationError("This name is reserved.")
        return slug

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if n := self.picker.n_missing:
            self.add_error(None, f"{n} ticked suite{'s are' if n > 1 else ' is'} no longer available to you.")
        elif not self.picker.chosen and not self.may_be_empty:
            self.add_error(None, "Tick at least one suite below.")
        return cleaned
