from django import forms

from gym.staff.cleaning import MAX_DAYS, MIN_DAYS, USUAL_DAYS
from gym.staff.services import OLD


class AgeForm(forms.Form):
    """How old something is that is to be looked at."""

    days = forms.IntegerField(
        min_value=MIN_DAYS, max_value=MAX_DAYS, initial=USUAL_DAYS, label="Ended more than so many days ago"
    )


class CleanUpForm(AgeForm):
    """What to delete, said by somebody who has seen what it is."""

    what = forms.MultipleChoiceField(
        choices=[(name, name) for name in OLD],
        label="Delete",
        error_messages={"required": "Choose what goes."},
    )
    confirm = forms.BooleanField(error_messages={"required": "Tick that you have looked at what goes."})
