"""The site's rules for allauth: names, messages and mail, and what becomes of people from other services."""

from __future__ import annotations

import logging
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialLogin
from django.conf import settings
from django.contrib import messages
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import url_has_allowed_host_and_scheme

from gym.accounts import invitations, mail, second_factor
from gym.accounts.confirmed import has_confirmed_address
from gym.accounts.external import groups, kinds
from gym.accounts.login_redirect import is_auth_page
from gym.accounts.models import User
from gym.accounts.names import check_name
from gym.accounts.throttle import client_address
from gym.accounts.tokens import revoke_tokens
from gym.conflicts import Conflict

logger = logging.getLogger(__name__)

LONGEST_NAME = 150
"""Characters of the columns of names."""

MESSAGES = {
    "socialaccount/messages/account_connected.txt": "Connected. You can now sign in this way, too.",
    "socialaccount/messages/account_connected_updated.txt": "This is already connected to your account.",
    "socialaccount/messages/account_connected_other.txt": "This is already connected to another account here.",
    "mfa/messages/totp_activated.txt": "Your authenticator app is set up.",
    "mfa/messages/totp_deactivated.txt": "Your authenticator app was removed.",
    "mfa/messages/webauthn_added.txt": "The passkey was added.",
    "mfa/messages/webauthn_removed.txt": "The passkey was removed.",
    "mfa/messages/recovery_codes_generated.txt": "You have new recovery codes. Keep them safe.",
}
"""Our texts for allauth's messages on pages; messages without one are not shown."""

CHANGES = {
    "socialaccount/email/account_connected": "can now be signed in to with another service",
    "socialaccount/email/account_disconnected": "can no longer be signed in to with another service",
    "mfa/email/totp_activated": "now needs a code of an authenticator app at sign-in",
    "mfa/email/totp_deactivated": "no longer needs a code of an authenticator app at sign-in",
    "mfa/email/webauthn_added": "has a new passkey",
    "mfa/email/webauthn_removed": "has one passkey less",
    "mfa/email/recovery_codes_generated": "has new recovery codes",
}
"""Our texts for the mails of allauth."""


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # allauth is untyped
    """Rules for all accounts."""

    def clean_username(self, username: str, shallow: bool = False) -> str:
        cleaned: str = super().clean_username(username, shallow)
        check_name(cleaned)
        return cleaned

    def is_safe_url(self, url: str) -> bool:
        """Return True for pages of this site that may follow a sign-in."""
        hosts, https = {self.request.get_host()}, self.request.is_secure()
        is_here = url_has_allowed_host_and_scheme(url, allowed_hosts=hosts, require_https=https)
        return is_here and not is_auth_page(url)

    def get_client_ip(self, request: HttpRequest) -> str:
        return client_address(request)

    def add_message(
        self,
        request: HttpRequest,
        level: int,
        message_template: str | None = None,
        message_context: dict[str, Any] | None = None,
        extra_tags: str = "",
        message: str | None = None,
    ) -> None:
        if text := message or MESSAGES.get(message_template or ""):
            bad = level >= messages.ERROR
            messages.add_message(request, level if bad else messages.SUCCESS, text, extra_tags=extra_tags)

    def send_notification_mail(
        self, template_prefix: str, user: User, context: Any = None, email: str | None = None
    ) -> None:
        if user.email and template_prefix in CHANGES:
            mail.in_background(mail.send_changed, user.email, user.username, CHANGES[template_prefix])

    def respond_user_inactive(self, request: HttpRequest, user: User) -> HttpResponse:
        return refusal(request, "inactive")

    def is_reauthentication_required(self, *, app: str, **more: Any) -> bool:
        """Require the password, or a second factor, before changes to how an account is signed in to. An account with
        neither has nothing to ask for: it came from another service."""
        return bool(self.get_reauthentication_methods(self.request.user))


class ExternalAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]  # allauth is untyped
    """Rules for people from other services."""

    def list_apps(
        self, request: HttpRequest, provider: str | None = None, client_id: str | None = None
    ) -> list[SocialApp]:
        """Return the services of the settings. Rows of the database are not used."""
        return [
            app
            for app in _apps()
            if provider in (None, app.provider, app.provider_id) and client_id in (None, app.client_id)
        ]

    def populate_user(self, request: HttpRequest, sociallogin: SocialLogin, data: dict[str, Any]) -> User:
        """Suggest a name, and keep an address only if the service has confirmed it."""
        confirmed = [address for address in sociallogin.email_addresses if address.verified][:1]
        sociallogin.email_addresses = confirmed
        name = str(data.get("username") or "").partition("@")[0]
        email = confirmed[0].email if confirmed else ""
        user: User = super().populate_user(request, sociallogin, data | {"username": name, "email": email})
        for name in ("username", "first_name", "last_name"):
            setattr(user, name, getattr(user, name)[:LONGEST_NAME])
        return user

    def authenticate_by_email(self, sociallogin: SocialLogin) -> tuple[User, str] | None:
        """Return the one account that the confirmed address belongs to, if GYM_LINK_BY_EMAIL is on. Accounts of staff
        are connected by hand only."""
        email = sociallogin.user.email
        accounts = list(_accounts_with(email)[:2]) if email and settings.GYM_LINK_BY_EMAIL else []
        if len(accounts) != 1 or not accounts[0].is_active or accounts[0].is_staff:
            return None
        return accounts[0], email

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Refuse people who are in no permitted group, and those whose address belongs to an account that is not
        theirs yet; give the others the rights of their groups."""
        account = sociallogin.account
        if not groups.may_sign_in(account):
            raise ImmediateHttpResponse(refusal(request, "groups", account.provider))
        if sociallogin.state.get("process") == "connect":
            return
        if sociallogin.is_existing:
            if account.pk is None:  # found by its address
                self._adopt(sociallogin.user)
            if sociallogin.user.is_active:
                groups.apply_groups(sociallogin.user, account)
        elif sociallogin.user.email and _accounts_with(sociallogin.user.email).exists():
            raise ImmediateHttpResponse(refusal(request, "address", account.provider))

    def _adopt(self, user: User) -> None:
        """Shut out whoever may have entered another person's address in an account: tokens, connected services, second
        factors and the password go, and with a new password hash all sessions."""
        if has_confirmed_address(user):
            return
        with transaction.atomic():
            revoke_tokens(user)
            SocialAccount.objects.filter(user=user).delete()
            second_factor.reset(user)
            user.set_unusable_password()
            user.save(update_fields=["password"])

    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        kind = sociallogin.account.provider
        if kinds.takes_new_people(kind) or invitations.of_session(request):
            return True
        raise ImmediateHttpResponse(refusal(request, "closed", kind))

    def save_user(self, request: HttpRequest, sociallogin: SocialLogin, form: Any = None) -> User:
        """Create the account under the chosen name. Raises Conflict if the name or the person got an account in the
        meantime."""
        user: User = sociallogin.user
        user.username = form.cleaned_data["username"]
        user.set_unusable_password()
        try:
            with transaction.atomic():
                sociallogin.save(request)
                groups.apply_groups(user, sociallogin.account)
                if invitation := invitations.of_session(request):
                    invitations.accept(invitation, user)
                    invitations.leave_session(request)
        except IntegrityError as error:
            raise Conflict("This name was taken just now. Sign in again and choose another one.") from error
        return user

    def on_authentication_error(
        self,
        request: HttpRequest,
        provider: Any,
        error: Any = None,
        exception: Exception | None = None,
        extra_context: dict[str, Any] | None = None,
    ) -> None:
        logger.warning("Sign-in with %s failed: %s", provider, exception or error)


def _apps() -> list[SocialApp]:
    servers = {
        "oidc": (settings.GYM_OIDC_ISSUER, settings.GYM_OIDC_CLIENT_ID, settings.GYM_OIDC_CLIENT_SECRET),
        "orcid": (settings.GYM_ORCID_ISSUER, settings.GYM_ORCID_CLIENT_ID, settings.GYM_ORCID_CLIENT_SECRET),
    }
    apps = [
        SocialApp(
            provider="openid_connect",
            provider_id=kind,
            name=kinds.label_of(kind),
            client_id=client_id,
            secret=secret,
            settings={"server_url": issuer, "issuer": issuer}
            | ({"scope": ["openid"]} if kind == "orcid" else {}),
        )
        for kind, (issuer, client_id, secret) in servers.items()
        if kinds.is_on(kind)
    ]
    if kinds.is_on("github"):
        secret = settings.GYM_GITHUB_CLIENT_SECRET
        apps.append(
            SocialApp(
                provider="github", name="GitHub", client_id=settings.GYM_GITHUB_CLIENT_ID, secret=secret
            )
        )
    return apps


def _accounts_with(email: str) -> QuerySet[User]:
    return User.objects.filter(email__iexact=email).order_by("pk")


REFUSALS = {
    "inactive": (403, "This account is disabled", "Ask the administrators of the site if you need it again."),
    "groups": (
        403,
        "This site is not open to you",
        "{service} knows you, but you are in none of the groups that may sign in here. Ask the administrators of the "
        "site.",
    ),
    "closed": (
        403,
        "No account yet",
        "No account here is connected to {service}, and sign-up is closed. If you have an account, sign in to it first "
        "and connect {service} under Profile › Ways to sign in. Otherwise ask the administrators for an invitation.",
    ),
    "address": (
        409,
        "You may already have an account",
        "An account here has the e-mail address that {service} gave for you. Sign in to it with your password, then "
        "connect {service} under Profile › Ways to sign in.",
    ),
}


def refusal(request: HttpRequest, reason: str, kind: str = "") -> HttpResponse:
    """Render the page that explains why sign-in was refused."""
    status, title, text = REFUSALS[reason]
    context = {"title": title, "text": text.format(service=kinds.label_of(kind))}
    return render(request, "accounts/refused.html", context, status=status)
