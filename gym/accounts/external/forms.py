"""The form that a person from another service fills in once: their user name."""

from __future__ import annotations

from typing import Any

from allauth.socialaccount.forms import SignupForm


class ChooseName(SignupForm):  # type: ignore[misc]  # allauth is untyped
    """The user name of a new account. The e-mail address comes from the service, or not at all."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        del self.fields["email"]
        name = self.fields["username"]
        name.label = "Username"
        name.help_text = "Shown with your suites and runs. Letters, digits and @ . + - _"
        name.widget.attrs.pop("placeholder", None)
