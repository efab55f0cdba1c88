from django import forms

from gym.sharing.models import Role


class CollaboratorForm(forms.Form):
    username = forms.CharField(
        max_length=150,
        label="User name",
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none"}),
    )
    role = forms.ChoiceField(choices=Role.choices, initial=Role.EDIT)
