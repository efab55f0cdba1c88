"""E-mail about accounts and refused models. `in_background` sends it from a thread, so that response times do not
reveal whether an account exists."""

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

from gym.accounts.login_redirect import with_next
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
    """Return True if a mail server is configured; without one, mail is printed on the console."""
    return Email.backend != settings.EMAIL_BACKEND


def own_host(request: HttpRequest) -> str:
    """Return the host for links in mail. Clients can forge the port of Host, so it is kept only if the site listens on
    it or a trusted origin uses it."""
    host = request.get_host()
    name, port = split_domain_port(host)
    trusted = f"{request.scheme}://{host}" in settings.CSRF_TRUSTED_ORIGINS
    return host if not port or port == request.get_port() or trusted else name


def send_reset(email: str, domain: str, https: bool, next_page: str = "") -> None:
    """Send a reset link for every active account that has this address and a password, if any. `next_page`: page to
    open after signing in."""
    form = PasswordResetForm({"email": email})
    if form.is_valid():
        form.save(
            domain_override=domain,
            use_https=https,
            subject_template_name="accounts/mail/reset_subject.txt",
            email_template_name="accounts/mail/reset.txt",
            extra_email_context={"query": with_next("", next_page)},
        )


def send_moved(old: str, username: str) -> None:
    """Notify the account's old address that the address was changed."""
    send_mail(
        "The e-mail address of your account was changed",
        f"The LM Gym account {username} no longer has this e-mail address. If you did not change it, write to the "
        "administrators of the site.\n",
        None,
        [old],
    )


def send_changed(address: str, username: str, change: str) -> None:
    """Notify an account's owner of a change to how it is signed in to."""
    send_mail(
        "A change to your account",
        f"The LM Gym account {username} {change}. If you did not change this, write to the administrators of the "
        "site.\n",
        None,
        [address],
    )


def send_invitation(address: str, link: str, domain: str, days: int, inviter: str) -> None:
    """Invite somebody to create an account."""
    send_mail(
        f"An invitation to {domain}",
        f"{inviter} invites you to LM Gym on {domain}, where linguists and NLP researchers write targeted tests for "
        f"language models. Create your account within {days} days:\n\n{link}\n\nThe link works once. If you do not "
        "want an account, ignore this message.\n",
        None,
        [address],
    )


def send_refused(address: str, name: str, slug: str, reason: str) -> None:
    """Notify the owner that staff refused their model."""
    send_mail(
        f"Your model {' '.join(name.split())} was not approved",
        f"The administrators of the site did not approve the model {name} ({slug}). Their reason:\n\n{reason}\n",
        None,
        [address],
    )
