"""Return to the previous page (`next`) after sign-in or sign-up."""

from __future__ import annotations

from functools import cache
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

AUTH_PAGES = (
    "login",
    "sign-up",
    "logout",
    "socialaccount_signup",
    "socialaccount_login_cancelled",
    "account_reauthenticate",
    "mfa_authenticate",
    "mfa_reauthenticate",
    "mfa_reauthenticate_webauthn",
)
"""URL names of pages that redirect to `next`. Like the password-reset pages, they can never be `next` themselves."""
MAX_CHARACTERS = 2_000
"""Maximum length of a `next` that is passed along."""


def page_to_return_to(request: HttpRequest) -> str:
    """Return the `next` for a sign-in link on this page; empty for the default."""
    if is_auth_page(request.path) or request.method not in ("GET", "HEAD"):
        back = next_of(request)
    else:
        htmx: Any = getattr(request, "htmx", None)
        back = (htmx and htmx.current_url_abs_path) or request.get_full_path()
    return "" if is_auth_page(back) or back == reverse("home") or len(back) > MAX_CHARACTERS else back


def next_of(request: HttpRequest) -> str:
    """Return the unchecked `next` from a form or query; it is validated before redirecting."""
    return str(request.POST.get("next") or request.GET.get("next") or "")


def is_auth_page(address: str) -> bool:
    path = address.partition("?")[0].partition("#")[0]
    return path in _auth_paths() or path.startswith(reverse("password-reset"))


@cache
def _auth_paths() -> frozenset[str]:
    return frozenset(map(reverse, AUTH_PAGES))


def with_next(address: str, next_page: str) -> str:
    """Append `next` to the address of an AUTH_PAGE if `next` is a page on this site."""
    is_page = next_page.startswith("/") and not is_auth_page(next_page) and len(next_page) <= MAX_CHARACTERS
    if not is_page or not url_has_allowed_host_and_scheme(next_page, allowed_hosts=None):
        return address
    return f"{address}?{urlencode({'next': next_page})}"
