"""E-mail about accounts. It is sent beside the answer, so that how long the answer takes says nothing."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.auth.forms import PasswordResetForm
from django.core.mail import send_mail
from django.db import connections
from django.http import HttpRequest
from django.http.request import split_domain_port

from gym.accounts.login_redirect import leading_to
from gym.env import Email

logger = logging.getLogger(__name__)


def in_background(send: Callable[..., None], *arguments: Any) -> None:
    threading.Thread(target=_guarded, args=(send, *arguments), name="mail", daemon=True).start()


def _guarded(send: Callable[..., None], *arguments: Any) -> None:
    try:
        send(*arguments)
    except Exception:
        logger.exception("An e-mail could not be sent")
    finally:
        connections.close_all()


def has_server() -> bool:
    """Without one, mail is printed on the console."""
    return Email.backend != settings.EMAIL_BACKEND


def own_host(request: HttpRequest) -> str:
    """The site's address in links, without a port that a visitor made up: only the port where the site listens is kept,
    and that of an origin that the site trusts."""
    host = request.get_host()
    name, port = split_domain_port(host)
    trusted = f"{request.scheme}://{host}" in settings.CSRF_TRUSTED_ORIGINS
    return host if not port or port == request.get_port() or trusted else name


def send_reset(email: str, domain: str, https: bool, onwards: str = "") -> None:
    """A link for every active account with this address; nothing when there is none. `onwards` is where somebody was
    going."""
    form = PasswordResetForm({"email": email})
    if form.is_valid():
        form.save(
            domain_override=domain,
            use_https=https,
            subject_template_name="accounts/mail/reset_subject.txt",
            email_template_name="accounts/mail/reset.txt",
            extra_email_context={"query": leading_to("", onwards)},
        )


def send_moved(old: str, username: str) -> None:
    """Tell the old address that it is no longer the account's."""
    send_mail(
        "The e-mail address of your account was changed",
        f"The LM Gym account {username} no longer has this e-mail address. If that was not you, write to the "
        "people who run the site.\n",
        None,
        [old],
    )


def send_refused(address: str, name: str, slug: str, reason: str) -> None:
    """Tell somebody that staff does not let their model be loaded."""
    send_mail(
        f"Your model {' '.join(name.split())} was not approved",
        f"The people who run the site do not let the model {name} ({slug}) be loaded. They say:\n\n{reason}\n",
        None,
        [address],
    )
