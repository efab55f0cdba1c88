"""Where somebody was going who signs in or up first."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

AUTH_PAGES = ("login", "sign-up", "logout")
"""Pages, beside those of a forgotten password, that lead on to where somebody was going, and are never that place."""
LONGEST = 2_000
"""Characters of an address that is carried along."""


def page_to_return_to(request: HttpRequest) -> str:
    """What a link "Sign in" on this page should lead back to; empty: nothing in particular."""
    if is_auth_page(request.path) or request.method not in ("GET", "HEAD"):
        back = asked_for(request)
    else:
        htmx: Any = getattr(request, "htmx", None)
        back = (htmx and htmx.current_url_abs_path) or request.get_full_path()
    return "" if is_auth_page(back) or back == reverse("home") or len(back) > LONGEST else back


def asked_for(request: HttpRequest) -> str:
    """The `next` of a form or an address. Whether it is safe is asked when somebody is sent there."""
    return str(request.POST.get("next") or request.GET.get("next") or "")


def is_auth_page(address: str) -> bool:
    path = address.partition("?")[0].partition("#")[0]
    return path in {reverse(name) for name in AUTH_PAGES} or path.startswith(reverse("password-reset"))


def leading_to(address: str, onwards: str) -> str:
    """A door's address that carries along where somebody was going, if that is a page of a site."""
    here = onwards.startswith("/") and not is_auth_page(onwards) and len(onwards) <= LONGEST
    if not here or not url_has_allowed_host_and_scheme(onwards, allowed_hosts=None):
        return address
    return f"{address}?{urlencode({'next': onwards})}"
