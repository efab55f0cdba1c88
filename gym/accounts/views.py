"""Pages of accounts: sign in and up, profile, passwords, tokens, leaving."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import quote

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login, update_session_auth_hash
from django.contrib.auth import views as auth
from django.contrib.auth.decorators import login_required
from django.contrib.auth.forms import PasswordChangeForm
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from gym.accounts import mail, throttle, tokens
from gym.accounts.forms import ProfileForm, ResetForm, SignUpForm, TokenForm
from gym.accounts.login_redirect import asked_for, is_auth_page, leading_to
from gym.accounts.models import ApiToken, User
from gym.accounts.requests import SignedInRequest
from gym.accounts.throttle import TooManyTries, client_address

View = Callable[..., HttpResponse]
form_page = require_http_methods(["GET", "HEAD", "POST"])


def throttled(view: View) -> View:
    """TooManyTries inside becomes a 429 that says when to come back."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except TooManyTries as error:
            return throttle.refusal(request, error)

    return guarded


SIGNED_OUT = "gym_signed_out"
"""Cookie for the next page: whose drafts the browser deletes (static/js/signing-out.js)."""


class SignOut(auth.LogoutView):
    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        person = request.user
        response = super().post(request, *args, **kwargs)
        if person.is_authenticated:
            forget_in_browser(response, person.get_username())
        return response


def forget_in_browser(response: HttpResponseBase, username: str) -> None:
    """Nothing of this person is to stay in the storage of the browser, which others may use next."""
    secure = settings.SESSION_COOKIE_SECURE
    response.set_cookie(SIGNED_OUT, quote(username), max_age=3600, secure=secure, samesite="Lax")


class SignIn(auth.LoginView):
    """Every try costs one from the address and one from the account, whether or not there is such an account."""

    redirect_authenticated_user = True

    def get_redirect_url(self) -> str:  # type: ignore[override]  # takes the request from Django 6 on
        """`next`, on this site only, and never this page again."""
        address: str = super().get_redirect_url()
        return "" if is_auth_page(address) else address

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        self.taken = (
            (throttle.sign_in_by_address(), client_address(request)),
            (throttle.sign_in_by_account(), throttle.who_tries(request, request.POST.get("username", ""))),
        )
        try:
            throttle.take_all(*self.taken)
        except TooManyTries as error:
            return throttle.refusal(request, error)
        return super().post(request, *args, **kwargs)

    def form_valid(self, form: Any) -> HttpResponse:
        throttle.give_back_all(*self.taken)
        response = super().form_valid(form)
        throttle.remember_device(self.request, response, form.get_user().get_username())
        return response


@never_cache
def admin_sign_in(request: HttpRequest) -> HttpResponse:
    """The administration has no sign-in of its own, so that the site's limits hold there too."""
    if request.user.is_authenticated and not request.user.is_staff:
        raise PermissionDenied("only staff administers the site")
    return redirect_to_login(request.GET.get("next") or reverse("admin:index"))


@sensitive_post_parameters()
@never_cache
@form_page
@throttled
def sign_up(request: HttpRequest) -> HttpResponse:
    """Context: form, next. 403 with a page that says so when GYM_SIGN_UP is off. A new account goes on to where
    somebody was going, as one that signs in does."""
    onwards = SignIn(request=request).get_success_url()
    if request.user.is_authenticated:
        return redirect(onwards)
    if not settings.GYM_SIGN_UP:
        return render(request, "accounts/sign_up_closed.html", status=403)
    form = SignUpForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        throttle.sign_up_by_address().take(client_address(request))
        try:
            with transaction.atomic():
                user = form.save()
        except IntegrityError:  # somebody took the name since the form looked
            form.add_error("username", "This name is taken.")
        else:
            login(request, user)
            messages.success(request, f"Welcome, {user.username}.")
            return redirect(onwards)
    context = {"form": form, "next": asked_for(request)}
    return render(request, "accounts/sign_up.html", context, status=form_status(request))


@form_page
@throttled
def password_reset(request: HttpRequest) -> HttpResponse:
    """Ask for a link. The answer is the same whether or not an account has the address. Context: form, next."""
    onwards = asked_for(request)
    form = ResetForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        email = form.cleaned_data["email"]
        throttle.take_all(
            (throttle.reset_by_address(), client_address(request)),
            (throttle.reset_by_email(), throttle.account_key(email)),
        )
        mail.in_background(mail.send_reset, email, mail.own_host(request), request.is_secure(), onwards)
        return redirect(leading_to(reverse("password-reset-sent"), onwards))
    context = {"form": form, "next": onwards}
    return render(request, "accounts/password_reset.html", context, status=form_status(request))


@require_safe
def password_reset_sent(request: HttpRequest) -> HttpResponse:
    return render(request, "accounts/password_reset_sent.html")


class PasswordResetConfirm(auth.PasswordResetConfirmView):
    """Context: form, validlink. The link in the mail has `next`, which leads on from signing in."""

    template_name = "accounts/password_reset_confirm.html"

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        response = super().dispatch(request, *args, **kwargs)
        if request.method == "GET" and isinstance(
            response, HttpResponseRedirect
        ):  # the token goes into the session
            return redirect(leading_to(response.url, asked_for(request)))
        return response

    def get_success_url(self) -> str:
        return leading_to(reverse("login"), asked_for(self.request))

    def form_valid(self, form: Any) -> HttpResponse:
        """Of several requests with one link the first changes the password; for the others the link is used up."""
        with transaction.atomic():
            account = User.objects.select_for_update().filter(pk=form.user.pk).first()
            token = self.request.session.get(auth.INTERNAL_RESET_SESSION_TOKEN, "")
            if account is None or not self.token_generator.check_token(account, token):
                self.validlink = False
                return self.render_to_response(self.get_context_data(), status=409)
            form.user = account
            response = super().form_valid(form)
        messages.success(self.request, "Your password is changed. Sign in with the new one.")
        return response


@login_required
@sensitive_post_parameters("password")
@form_page
@throttled
def profile_edit(request: SignedInRequest) -> HttpResponse:
    """Context: form."""
    user = request.user
    old = user.email
    form = ProfileForm(request.POST or None, instance=User.objects.get(pk=user.pk))
    if request.method == "POST" and with_password(request, form, "password"):
        saved = form.save()
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
    """Context: form. Other sessions of the account end; this one goes on."""
    form = PasswordChangeForm(request.user, request.POST or None)
    if request.method == "POST" and with_password(request, form, "old_password"):
        form.save()
        update_session_auth_hash(request, form.user)
        messages.success(request, "Your password is changed. You are signed out everywhere else.")
        return redirect("profile")
    return render(request, "accounts/password_change.html", {"form": form}, status=form_status(request))


@login_required
@never_cache
@form_page
def token_list(request: SignedInRequest) -> HttpResponse:
    """Context: tokens, form, created, plain. `plain` is shown by the answer to the POST and kept nowhere."""
    form = TokenForm(request.POST or None)
    created, plain = None, ""
    if request.method == "POST" and form.is_valid():
        given = form.cleaned_data
        try:
            created, plain = tokens.create_token(
                actor=request.user, name=given["name"], scopes=given["scopes"], expires=form.expires
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
    messages.success(request, f"{token.name} is revoked. It no longer works.")
    return redirect("token-list")


def with_password(request: HttpRequest, form: Any, field: str) -> bool:
    """Is the form valid? A wrong password in `field` costs a try, for somebody may sit at a stranger's screen."""
    limit, subject = throttle.own_password(), request.user.pk
    limit.take(subject)
    valid = form.is_valid()
    if field not in form.errors:
        limit.give_back(subject)
    return bool(valid)


def form_status(request: HttpRequest) -> int:
    return 400 if request.method == "POST" else 200
