"""Pages for accounts: sign-in, sign-up, profile, passwords, tokens."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import quote

from allauth.account.utils import perform_login
from allauth.socialaccount.helpers import complete_social_login
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login, update_session_auth_hash
from django.contrib.auth import views as auth
from django.contrib.auth.decorators import login_required
from django.contrib.auth.forms import PasswordChangeForm
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import IntegrityError, transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from gym.accounts import hub_token, invitations, mail, throttle, tokens
from gym.accounts.confirmed import forget_former_addresses
from gym.accounts.external import kinds, proxy
from gym.accounts.external.outside import LdapProvider, ProxyProvider, login_of
from gym.accounts.forms import (
    HubTokenForm,
    InvitedForm,
    ProfileForm,
    ResetForm,
    SignInForm,
    SignUpForm,
    TokenForm,
)
from gym.accounts.login_redirect import is_auth_page, next_of, with_next
from gym.accounts.models import ApiToken, User
from gym.accounts.requests import SignedInRequest
from gym.accounts.throttle import TooManyTries, client_address

View = Callable[..., HttpResponse]
form_page = require_http_methods(["GET", "HEAD", "POST"])


def throttled(view: View) -> View:
    """Turn TooManyTries into a 429 with Retry-After."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except TooManyTries as error:
            return throttle.refusal(request, error)

    return guarded


SIGNED_OUT = "gym_signed_out"
"""Cookie with the name of the user whose local drafts the next page deletes (static/js/signing-out.js)."""


class SignOut(auth.LogoutView):
    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        user = request.user
        response = super().post(request, *args, **kwargs)
        if user.is_authenticated:
            forget_in_browser(response, user.get_username())
        return response


def forget_in_browser(response: HttpResponseBase, username: str) -> None:
    """Make the next page delete this user's data from the browser's storage, since others may use the browser."""
    secure = settings.SESSION_COOKIE_SECURE
    response.set_cookie(SIGNED_OUT, quote(username), max_age=3600, secure=secure, samesite="Lax")


class SignIn(auth.LoginView):
    """Sign-in. Each failed try counts against the address, and against the account (or the browser, if it has signed in
    to the account before), whether or not the account exists."""

    redirect_authenticated_user = True
    authentication_form = SignInForm

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Sign in whoever the proxy names, unless `password` asks for the form."""
        person = None if "password" in request.GET else proxy.person(request)
        if person is None:
            return super().get(request, *args, **kwargs)
        request.session[proxy.SESSION_KEY] = person.name
        login = login_of(request, ProxyProvider, person, self.get_success_url())
        return complete_social_login(request, login)  # type: ignore[no-any-return]

    def get_context_data(self, **more: Any) -> dict[str, Any]:
        return super().get_context_data(**more) | {"services": kinds.redirecting()}

    def get_redirect_url(self) -> str:  # type: ignore[override]  # takes the request from Django 6 on
        """Return `next` if it is a page on this site and not an AUTH_PAGE."""
        address: str = super().get_redirect_url()
        return "" if is_auth_page(address) else address

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        self.buckets = (
            (throttle.sign_in_by_address(), client_address(request)),
            (
                throttle.sign_in_by_account(),
                throttle.throttle_subject(request, request.POST.get("username", "")),
            ),
        )
        try:
            throttle.take_all(*self.buckets)
        except TooManyTries as error:
            return throttle.refusal(request, error)
        return super().post(request, *args, **kwargs)

    def form_valid(self, form: Any) -> HttpResponse:
        """Go on to the second factor, if the account has one, and then to `next`."""
        throttle.give_back_all(*self.buckets)
        if form.person is None:
            response = perform_login(self.request, form.get_user(), redirect_url=self.get_success_url())
        else:
            login = login_of(self.request, LdapProvider, form.person, self.get_success_url())
            response = complete_social_login(self.request, login)
        if form.person is None:  # names of the directory are not names of accounts
            throttle.remember_device(self.request, response, form.cleaned_data["username"])
        return response  # type: ignore[no-any-return]


@never_cache
def admin_sign_in(request: HttpRequest) -> HttpResponse:
    """Redirect the admin's sign-in to the site's, so that the throttles apply there, too."""
    if request.user.is_authenticated and not request.user.is_staff:
        raise PermissionDenied("only staff may use the administration pages")
    return redirect_to_login(request.GET.get("next") or reverse("admin:index"))


@sensitive_post_parameters()
@never_cache
@form_page
@throttled
def sign_up(request: HttpRequest) -> HttpResponse:
    """Sign up, sign in to the new account and redirect to `next`; 403 if GYM_SIGN_UP is off. Context: form, next."""
    next_page = SignIn(request=request).get_success_url()
    if request.user.is_authenticated:
        return redirect(next_page)
    if not settings.GYM_SIGN_UP:
        return render(request, "accounts/sign_up_closed.html", status=403)
    form = SignUpForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        throttle.sign_up_by_address().take(client_address(request))
        user = form.save(commit=False)  # hashes the password before SQLite's write lock is taken
        try:
            with transaction.atomic():
                user.save()
        except IntegrityError:  # taken after the form was validated
            form.add_error("username", "This name is taken.")
        else:
            login(request, user)
            messages.success(request, f"Welcome, {user.username}.")
            return redirect(next_page)
    context = {"form": form, "next": next_of(request)}
    return render(request, "accounts/sign_up.html", context, status=form_status(request))


@sensitive_post_parameters()
@never_cache
@form_page
@throttled
def invitation(request: HttpRequest, token: str) -> HttpResponse:
    """Create an account with the link of an invitation, also where sign-up is closed. Context: form, invitation,
    services (kinds of sign-in that can be used instead of a password)."""
    invited = invitations.find(token)
    if invited is None or request.user.is_authenticated:
        status = 404 if invited is None else 409
        return render(request, "accounts/invitation_void.html", {"invitation": invited}, status=status)
    form = InvitedForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        throttle.sign_up_by_address().take(client_address(request))
        user = form.save(commit=False)
        try:
            with transaction.atomic():
                user.save()
                invitations.accept(invited, user)
        except IntegrityError:  # taken after the form was validated
            form.add_error("username", "This name is taken.")
        else:
            login(request, user)
            messages.success(request, f"Welcome, {user.username}.")
            return redirect("home")
    invitations.enter_session(request, token)
    context = {"form": form, "invitation": invited, "services": kinds.redirecting()}
    return render(request, "accounts/invitation.html", context, status=form_status(request))


@form_page
@throttled
def password_reset(request: HttpRequest) -> HttpResponse:
    """Request a reset link. The response does not reveal whether an account has the address. Context: form, next."""
    next_page = next_of(request)
    form = ResetForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        email = form.cleaned_data["email"]
        throttle.take_all(
            (throttle.reset_by_address(), client_address(request)),
            (throttle.reset_by_email(), throttle.account_key(email)),
        )
        mail.in_background(mail.send_reset, email, mail.own_host(request), request.is_secure(), next_page)
        return redirect(with_next(reverse("password-reset-sent"), next_page))
    context = {"form": form, "next": next_page}
    return render(request, "accounts/password_reset.html", context, status=form_status(request))


@require_safe
def password_reset_sent(request: HttpRequest) -> HttpResponse:
    return render(request, "accounts/password_reset_sent.html")


class PasswordResetConfirm(auth.PasswordResetConfirmView):
    """Set a new password with a mailed link. Context: form, validlink. The link in the mail may carry a `next` to open
    after signing in."""

    template_name = "accounts/password_reset_confirm.html"

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        response = super().dispatch(request, *args, **kwargs)
        if request.method == "GET" and isinstance(
            response, HttpResponseRedirect
        ):  # the token goes into the session
            return redirect(with_next(response.url, next_of(request)))
        return response

    def get_success_url(self) -> str:
        return with_next(reverse("login"), next_of(self.request))

    def form_valid(self, form: Any) -> HttpResponse:
        """Change the password once per link; concurrent requests with the same link get 409."""
        with transaction.atomic():
            account = User.objects.select_for_update().filter(pk=form.user.pk).first()
            token = self.request.session.get(auth.INTERNAL_RESET_SESSION_TOKEN, "")
            if account is None or not self.token_generator.check_token(account, token):
                self.validlink = False
                return self.render_to_response(self.get_context_data(), status=409)
            form.user = account
            response = super().form_valid(form)
        messages.success(self.request, "Your password has been changed. Sign in with the new one.")
        return response


@login_required
@sensitive_post_parameters("password")
@form_page
@throttled
def profile_edit(request: SignedInRequest) -> HttpResponse:
    """Change the name, the e-mail address (with the password), and whether notifications are mailed. Context: form."""
    user = request.user
    old = user.email
    form = ProfileForm(request.POST or None, instance=User.objects.get(pk=user.pk))
    if request.method == "POST" and with_password(request, form, "password"):
        saved = form.save()
        forget_former_addresses(saved)
        if old and saved.email != old:
            mail.in_background(mail.send_moved, old, saved.username)
        messages.success(request, "Saved.")
        return redirect("profile")
    return render(request, "accounts/profile_edit.html", {"form": form}, status=form_status(request))


@login_required
@sensitive_post_parameters()
@form_page
@throttled
def password_change(request: SignedInRequest) -> HttpResponse:
    """Change the password and end all the account's other sessions; 404 for accounts without one, which sign in through
    another service. Context: form."""
    if not request.user.has_usable_password():
        raise Http404("this account has no password")
    form = PasswordChangeForm(request.user, request.POST or None)
    if request.method == "POST" and with_password(request, form, "old_password"):
        form.save()
        update_session_auth_hash(request, form.user)
        messages.success(request, "Your password has been changed. You are signed out everywhere else.")
        return redirect("profile")
    return render(request, "accounts/password_change.html", {"form": form}, status=form_status(request))


@login_required
@never_cache
@form_page
def token_list(request: SignedInRequest) -> HttpResponse:
    """List and create tokens. Context: tokens, form, created, plain (the secret string, shown only after creation)."""
    form = TokenForm(request.POST or None)
    created, plain = None, ""
    if request.method == "POST" and form.is_valid():
        cleaned = form.cleaned_data
        try:
            created, plain = tokens.create_token(
                actor=request.user, name=cleaned["name"], scopes=cleaned["scopes"], expires=form.expires
            )
            form = TokenForm()
        except ValidationError as error:
            form.add_error(None, error)
    context = {
        "tokens": request.user.api_tokens.all()[:200],
        "form": form,
        "created": created,
        "plain": plain,
    }
    status = 201 if created else form_status(request)
    return render(request, "accounts/tokens.html", context, status=status)


@login_required
@require_POST
def token_revoke(request: SignedInRequest, pk: int) -> HttpResponse:
    token = get_object_or_404(ApiToken, pk=pk, user=request.user)
    tokens.revoke_token(token, actor=request.user)
    messages.success(request, f"The token {token.name} was revoked.")
    return redirect("token-list")


@login_required
@sensitive_post_parameters("token")
@never_cache
@form_page
def hub_token_edit(request: SignedInRequest) -> HttpResponse:
    """Add or replace the member's Hub token. Context: form, is_stored."""
    form = HubTokenForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            hub_token.store_token(form.cleaned_data["token"], actor=request.user)
        except ValidationError as error:
            form.add_error(None, error)
        else:
            messages.success(request, "Your Hugging Face token is stored. It is used only for your models.")
            return redirect("hub-token")
    context = {"form": form, "is_stored": hub_token.has_token(request.user)}
    return render(request, "accounts/hub_token.html", context, status=form_status(request))


@login_required
@require_POST
def hub_token_delete(request: SignedInRequest) -> HttpResponse:
    hub_token.delete_token(actor=request.user)
    messages.success(request, "Your Hugging Face token was deleted.")
    return redirect("hub-token")


def with_password(request: HttpRequest, form: Any, field: str) -> bool:
    """Validate a form with the current password in `field`. Wrong passwords are throttled, because a stranger
    may be using an unlocked computer."""
    limit, subject = throttle.own_password(), request.user.pk
    limit.take(subject)
    valid = form.is_valid()
    if field not in form.errors:
        limit.give_back(subject)
    return bool(valid)


def form_status(request: HttpRequest) -> int:
    return 400 if request.method == "POST" else 200
