"""Forms for sign-up, profile, passwords and tokens."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.contrib.auth.forms import AuthenticationForm, UserCreationForm
from django.core.exceptions import ValidationError
from django.utils import timezone

from gym.accounts.external import directory
from gym.accounts.external.outside import Person
from gym.accounts.mail import has_server
from gym.accounts.models import Scope, User
from gym.accounts.names import check_name

logger = logging.getLogger(__name__)
EMAIL_HELP = "Used to reset a forgotten password. Other users do not see it."


class SignUpForm(UserCreationForm):  # type: ignore[type-arg]  # Django 5.2 cannot subscript it at run time
    class Meta:
        model = User
        fields = ["username", "email"]
        labels = {"email": "E-mail address"}
        help_texts = {
            "username": "Shown with your suites and runs. Letters, digits and @ . + - _",
            "email": f"Optional. {EMAIL_HELP}",
        }

    def clean_username(self) -> str:
        username: str = super().clean_username() or ""  # None if the name is taken
        check_name(username)
        return username


class InvitedForm(SignUpForm):
    """Sign-up with an invitation, which has the e-mail address."""

    class Meta(SignUpForm.Meta):
        fields = ["username"]


class SignInForm(AuthenticationForm):
    """Name and password of an account, or else of the directory (`person`)."""

    person: Person | None = None

    def clean(self) -> dict[str, Any]:
        try:
            return super().clean()
        except ValidationError as error:
            if error.code != "invalid_login" or not directory.is_on():
                raise
            self.person = self._person_of_directory()
            if self.person is None:
                raise
            return self.cleaned_data

    def _person_of_directory(self) -> Person | None:
        assert self.request is not None
        name, password = self.cleaned_data["username"], self.cleaned_data["password"]
        try:
            return directory.person(self.request, name, password)
        except directory.Unreachable as error:
            logger.warning("The LDAP directory cannot be used: %s", error)
            raise ValidationError(
                "The directory does not answer. Try again later; accounts with a password of this site still work.",
                code="directory",
            ) from error


class CurrentPassword(forms.Form):
    """Confirmation of an irreversible action: the password, or the user name of an account without one."""

    password = forms.CharField(
        label="Your password",
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user
        if not user.has_usable_password():
            self.fields["password"] = forms.CharField(
                label=f"Enter your user name ({user.username}) to confirm"
            )

    def clean_password(self) -> str:
        password: str = self.cleaned_data["password"]
        if not self.user.has_usable_password():
            if password != self.user.username:
                raise ValidationError("This is not your user name.", code="wrong")
        elif not self.user.check_password(password):
            raise ValidationError("Wrong password.", code="wrong")
        return password


class ProfileForm(forms.ModelForm):  # type: ignore[type-arg]  # Django 5.2 cannot subscript it at run time
    instance: User
    password = forms.CharField(
        required=False,
        label="Your password",
        strip=False,
        help_text="Needed only to change the e-mail address.",
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )

    class Meta:
        model = User
        fields = ["first_name", "last_name", "email", "notices_by_mail"]
        labels = {"email": "E-mail address", "notices_by_mail": "Also send notifications by e-mail"}
        help_texts = {
            "first_name": "Your name is shown with your user name in brackets. Citations show the name alone.",
            "email": EMAIL_HELP,
            "notices_by_mail": "Sent when your runs end, you are invited, or staff decide on your model.",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.order_fields(["first_name", "last_name", "email", "password", "notices_by_mail"])
        if not self.instance.has_usable_password():
            del self.fields["password"]
        if not has_server():
            by_mail = self.fields["notices_by_mail"]
            by_mail.disabled = True
            by_mail.help_text = "This site has no mail server."

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if "email" in self.changed_data and "email" in cleaned:
            stored = User.objects.get(pk=self.instance.pk)
            if "password" in self.fields and not stored.check_password(cleaned.get("password") or ""):
                self.add_error("password", "Enter your password to change the e-mail address.")
        wants_mail = cleaned.get("notices_by_mail") and not self.fields["notices_by_mail"].disabled
        if wants_mail and not cleaned.get("email") and "email" not in self.errors:
            self.add_error("notices_by_mail", "Enter an e-mail address, or switch this off.")
        return cleaned


class ResetForm(forms.Form):
    email = forms.EmailField(
        label="E-mail address",
        max_length=254,
        widget=forms.EmailInput(attrs={"autocomplete": "email"}),
    )


class HubTokenForm(forms.Form):
    token = forms.CharField(
        max_length=200,
        label="Token",
        help_text="Create a token with read access at huggingface.co, under Settings › Access Tokens.",
        widget=forms.PasswordInput(render_value=False, attrs={"autocomplete": "off", "spellcheck": "false"}),
    )


LIFETIMES = [("30", "in 30 days"), ("90", "in 90 days"), ("365", "in a year"), ("", "never")]


class TokenForm(forms.Form):
    name = forms.CharField(max_length=100, label="What is it for?", help_text="e.g. CI of the parser project")
    scopes = forms.MultipleChoiceField(
        choices=Scope.choices,
        initial=[Scope.READ, Scope.RUN],
        label="Permissions",
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one permission."},
    )
    days = forms.ChoiceField(choices=LIFETIMES, initial="90", required=False, label="Expires")

    @property
    def expires(self) -> datetime | None:
        days = self.cleaned_data["days"]
        return timezone.now() + timedelta(days=int(days)) if days else None
