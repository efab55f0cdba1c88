"""Notifications by e-mail, for those who asked for them. A mail says what kind of thing happened and no title, which
would be other people's words. Like all mail it leaves from a thread beside the work, and nobody waits for it."""

from __future__ import annotations

from django.conf import settings
from django.core.mail import send_mail
from django.db import transaction
from django.urls import reverse

from gym.accounts.mail import in_background
from gym.accounts.models import User
from gym.notices.models import Notice

SUBJECTS = {
    Notice.Kind.SHARED: "You are invited to work on something",
    Notice.Kind.RUNS: "Your runs have ended",
    Notice.Kind.MODEL: "News about your model",
}


def send_after_commit(user: int, kind: str) -> None:
    if not User.objects.filter(pk=user, notices_by_mail=True, is_active=True).exclude(email="").exists():
        return
    transaction.on_commit(lambda: in_background(send, user, kind))


def send(user: int, kind: str) -> None:
    """To the address that the account has now."""
    account = User.objects.filter(pk=user, notices_by_mail=True, is_active=True).exclude(email="").first()
    if account is None:
        return
    send_mail(
        SUBJECTS[Notice.Kind(kind)],
        f"Sign in to LM Gym as {account.username} to read it: {_page()}\n\n"
        "You get this because your profile says so; Profile › Name and e-mail switches it off.\n",
        None,
        [account.email],
    )


def _page() -> str:
    """Nobody asks for a page here, so only a site that knows its own address can name it."""
    origin = next((one for one in settings.CSRF_TRUSTED_ORIGINS if "*" not in one), "")
    return f"{origin}{reverse('notifications')}" if origin else "the page Notifications"
