"""allauth's pages for second factors: 404 unless the site offers them, and with the site's limits on tries."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from allauth.account.internal.stagekit import unstash_login
from allauth.account.views import reauthenticate as password_again
from allauth.mfa.base import views as base
from allauth.mfa.recovery_codes import views as recovery_codes
from allauth.mfa.totp import views as totp
from allauth.mfa.webauthn import views as webauthn
from django.http import Http404, HttpRequest, HttpResponse

from gym.accounts import second_factor, throttle
from gym.accounts.external import kinds

View = Callable[..., HttpResponse]


def offered(view: View) -> View:
    """Respond with 404 unless GYM_REQUIRE_2FA offers second factors."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not second_factor.is_offered():
            raise Http404
        return view(request, *args, **kwargs)

    return guarded


def counted(view: View, account: Callable[[HttpRequest], object]) -> View:
    """Count wrong codes and passwords against the account; 429 when there were too many."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        limit, subject = throttle.own_password(), account(request)
        if request.method != "POST" or subject is None:
            return view(request, *args, **kwargs)
        try:
            limit.take(subject)
        except throttle.TooManyTries as error:
            return throttle.refusal(request, error)
        response = view(request, *args, **kwargs)
        if response.status_code == 302:
            limit.give_back(subject)
        return response

    return guarded


def _signing_in(request: HttpRequest) -> object:
    login = unstash_login(request, peek=True)
    return login.user.pk if login and login.user else None


def _signed_in(request: HttpRequest) -> object:
    return request.user.pk


def _reauthenticate(request: HttpRequest) -> HttpResponse:
    if not (second_factor.is_offered() or kinds.any_on()):
        raise Http404
    response: HttpResponse = password_again(request)
    return response


class Overview(base.IndexView):  # type: ignore[misc]  # allauth is untyped
    def get_context_data(self, **more: Any) -> dict[str, Any]:
        """Add `missing`: what to do, for an account that must set up a second factor."""
        missing = second_factor.MISSING if second_factor.is_missing(self.request.user) else ""
        context: dict[str, Any] = super().get_context_data(**more)
        return context | {"missing": missing}


index = offered(Overview.as_view())
authenticate = offered(counted(base.authenticate, _signing_in))
code_again = offered(counted(base.reauthenticate, _signed_in))
passkey_again = offered(webauthn.reauthenticate_webauthn)
reauthenticate = counted(_reauthenticate, _signed_in)
totp_activate = offered(counted(totp.activate_totp, _signed_in))
totp_deactivate = offered(totp.deactivate_totp)
codes = offered(recovery_codes.view_recovery_codes)
codes_generate = offered(recovery_codes.generate_recovery_codes)
codes_download = offered(recovery_codes.download_recovery_codes)
passkeys = offered(webauthn.list_webauthn)
passkey_add = offered(webauthn.add_webauthn)
passkey_edit = offered(webauthn.edit_webauthn)
passkey_remove = offered(webauthn.remove_webauthn)
