"""Form parts for the note at a former public address, which others may have cited."""

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
        help_text="Shown there to everybody, e.g. the reason for the withdrawal and the new location. Optional.",
    )


class NoteForm(forms.Form):
    """Field for the note in a deletion form."""

    former_address_note = note_field()


def note_in(data: Any) -> str:
    """Return the note from a deletion form. Raises ValidationError if it is too long."""
    form = NoteForm(data)
    if not form.is_valid():
        raise forms.ValidationError(form.errors["former_address_note"].as_data())
    return str(form.cleaned_data["former_address_note"])


class AddressedForm(forms.ModelForm):  # type: ignore[type-arg]  # Django 5.2 cannot subscript it at run time
    """Edit form of an `Addressed` row, with the note at the public address that it left or is about to leave."""

    former_address_note = note_field()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        is_public = self.instance.visibility == Visibility.PUBLIC
        leaves = is_public and self.data.get("visibility", Visibility.PUBLIC) != Visibility.PUBLIC
        old_address = None if is_public or not self.instance.pk else self.instance.former_addresses.first()
        if old_address is not None:
            self.fields["former_address_note"].initial = old_address.note
        elif not leaves:
            del self.fields["former_address_note"]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if cleaned.get("visibility") == Visibility.PUBLIC and "former_address_note" in self.fields:
            del (
                self.fields["former_address_note"],
                cleaned["former_address_note"],
            )  # public again at its old address
        return cleaned
