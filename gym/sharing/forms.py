"""What forms of things with addresses share."""

from __future__ import annotations

from typing import Any

from django import forms

from gym.sharing.addresses import NOTE
from gym.sharing.models import Visibility


def note_field() -> forms.CharField:
    return forms.CharField(
        required=False,
        max_length=NOTE,
        label="Note at the former public address",
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="Everybody reads it there. Say why, and where to look now. Optional.",
    )


class NoteForm(forms.Form):
    """The note that goes with a deletion."""

    former_address_note = note_field()


def note_in(data: Any) -> str:
    """The note that was sent with a deletion; ValidationError for one that is too long."""
    form = NoteForm(data)
    if not form.is_valid():
        raise forms.ValidationError(form.errors["former_address_note"].as_data())
    return str(form.cleaned_data["former_address_note"])


class AddressedForm(forms.ModelForm):  # type: ignore[type-arg]  # Django 5.2 cannot subscript it at run time
    """Of a thing with an address: a note for the public address that it left, or leaves with this change."""

    former_address_note = note_field()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        is_public = self.instance.visibility == Visibility.PUBLIC
        leaves = is_public and self.data.get("visibility", Visibility.PUBLIC) != Visibility.PUBLIC
        former = None if is_public or not self.instance.pk else self.instance.former_addresses.first()
        if former is not None:
            self.fields["former_address_note"].initial = former.note
        elif not leaves:
            del self.fields["former_address_note"]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if cleaned.get("visibility") == Visibility.PUBLIC and "former_address_note" in self.fields:
            del self.fields["former_address_note"], cleaned["former_address_note"]  # it is back where it was
        return cleaned
