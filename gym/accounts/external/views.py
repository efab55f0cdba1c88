"""Pages for sign-in through other services. allauth runs the exchange with the service; these views start it, receive
its answer, and list what is connected to an account."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from allauth.account.adapter import get_adapter as account_adapter
from allauth.account.decorators import reauthentication_required
from allauth.account.utils import get_next_redirect_url
from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.models import SocialAccount
from allauth.socialaccount.providers.github.views import GitHubOAuth2Adapter
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView
from allauth.socialaccount.views import SignupView
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from requests import RequestException

from gym.accounts import throttle
from gym.accounts.external import connections, kinds
from gym.accounts.external.oidc import OidcAdapter
from gym.accounts.requests import SignedInRequest

View = Callable[..., HttpResponse]


def if_any_is_on(view: View) -> View:
    """Respond with 404 while no kind of sign-in is configured."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not kinds.any_on():
            raise Http404
        return view(request, *args, **kwargs)

    return guarded


def if_it_is_on(view: View) -> View:
    """Respond with 404 unless the view's `kind` is configured, and one that sends people to another page."""

    @wraps(view)
    def guarded(request: HttpRequest, **kwargs: Any) -> HttpResponse:
        kind = kwargs.get("kind") or kwargs.get("provider_id") or "github"
        if not (kinds.is_on(kind) and kinds.KINDS[kind].by_redirect):
            raise Http404
        return view(request, **kwargs)

    return guarded


def _connects(request: HttpRequest) -> bool:
    return request.user.is_authenticated and "connect" in request.POST


@if_it_is_on
@reauthentication_required(enabled=_connects, app="allauth.socialaccount")  # type: ignore[untyped-decorator]
@require_POST
def start(request: HttpRequest, kind: str) -> HttpResponse:
    """Send a person to a service, to sign in or, with `connect`, to add it to their account. Context: kind, address.

    The page redirects by itself: a redirect in answer to the form would be refused by the site's own `form-action`."""
    process = "connect" if _connects(request) else "login"
    try:
        provider = get_adapter(request).get_provider(request, kind)
        answer = provider.redirect(request, process, get_next_redirect_url(request))
    except (RequestException, OAuth2Error) as error:
        get_adapter(request).on_authentication_error(request, kind, exception=error)
        context = {"kind": kinds.KINDS[kind]}
        return render(request, "accounts/service_unreachable.html", context, status=503)
    context = {"kind": kinds.KINDS[kind], "address": answer.url}
    return render(request, "accounts/leaving.html", context)


@if_it_is_on
@never_cache
@require_safe
def oidc_callback(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Receive the answer of an OpenID Connect issuer."""
    answer: HttpResponse = OAuth2CallbackView.adapter_view(OidcAdapter(request, provider_id))(request)
    return answer


@if_it_is_on
@never_cache
@require_safe
def github_callback(request: HttpRequest) -> HttpResponse:
    """Receive the answer of GitHub."""
    answer: HttpResponse = OAuth2CallbackView.adapter_view(GitHubOAuth2Adapter)(request)
    return answer


@if_any_is_on
@require_safe
def cancelled(request: HttpRequest) -> HttpResponse:
    """Return to the sign-in page after sign-in was cancelled at the service."""
    messages.info(request, "You cancelled signing in.")
    return redirect("login")


@if_any_is_on
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def sign_up(request: HttpRequest) -> HttpResponse:
    """Choose the user name of a new account for a person from another service. Context: form, account, label."""
    if request.method == "POST":
        try:
            throttle.sign_up_by_address().take(throttle.client_address(request))
        except throttle.TooManyTries as error:
            return throttle.refusal(request, error)
    answer: HttpResponse = ChooseNamePage.as_view()(request)
    return answer


class ChooseNamePage(SignupView):  # type: ignore[misc]  # allauth is untyped
    def get_context_data(self, **more: object) -> dict[str, object]:
        context: dict[str, object] = super().get_context_data(**more)
        return context | {"label": kinds.label_of(self.sociallogin.account.provider)}

    def form_invalid(self, form: object) -> HttpResponse:
        answer: HttpResponse = super().form_invalid(form)
        answer.status_code = 400
        return answer


@if_any_is_on
@login_required
@require_safe
def connection_list(request: SignedInRequest) -> HttpResponse:
    """List the services that an account is signed in to with. Context: connections (connections.Connection),
    addable (kinds that are not connected), has_password."""
    rows = connections.connections_of(request.user)
    connected = {row.account.provider for row in rows}
    context = {
        "connections": rows,
        "addable": [kind for kind in kinds.redirecting() if kind.id not in connected],
        "has_password": request.user.has_usable_password(),
    }
    return render(request, "accounts/connections.html", context)


@if_any_is_on
@login_required
@reauthentication_required(app="allauth.socialaccount")  # type: ignore[untyped-decorator]
@require_POST
def disconnect(request: SignedInRequest, pk: int) -> HttpResponse:
    account = get_object_or_404(SocialAccount, pk=pk, user=request.user)
    try:
        connections.disconnect(account, actor=request.user)
    except ValidationError as error:
        messages.error(request, error.messages[0])
    else:
        prefix = "socialaccount/email/account_disconnected"
        account_adapter(request).send_notification_mail(prefix, request.user)
        messages.success(request, f"{kinds.label_of(account.provider)} is no longer connected.")
    return redirect("socialaccount_connections")
