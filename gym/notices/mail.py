"""Notifications by e-mail, for users who opted in. An e-mail names the kind of event but no titles, since
other people wrote those. Like all e-mail, it is sent from a thread."""

from __future__ import annotations

from django.conf import settings
from django.core.mail import send_mail
from django.db import transaction
from django.urls import reverse

from gym.accounts.mail import in_background
from gym.accounts.models import User
from gym.notices.models import Notice

SUBJECTS = {
    Notice.Kind.SHARED: "You have a new invitation",
    Notice.Kind.RUNS: "Your runs have ended",
    Notice.Kind.MODEL: "News about your model",
    Notice.Kind.ACCOUNT: "News about your account",
}


def send_after_commit(user: int, kind: str) -> None:
    if not User.objects.filter(pk=user, notices_by_mail=True, is_active=True).exclude(email="").exists():
        return
    transaction.on_commit(lambda: in_background(send, user, kind))


def send(user: int, kind: str) -> None:
    """E-mail the account about a new notification, if it still wants such e-mail, is active and has an
    address."""
    account = User.objects.filter(pk=user, notices_by_mail=True, is_active=True).exclude(email="").first()
    if account is None:
        return
    send_mail(
        SUBJECTS[Notice.Kind(kind)],
        f"To read the notification, sign in to LM Gym as {account.username} and open {_page()}\n\n"
        "You receive this e-mail because you enabled notifications by e-mail. Switch them off under Profile › Name "
        "and e-mail.\n",
        None,
        [account.email],
    )


def _page() -> str:
    """Return the URL of the notifications page. Without a request, the origin is known only if it is configured."""
    origin = next((url for url in settings.CSRF_TRUSTED_ORIGINS if "*" not in url), "")
    return f"{origin}{reverse('notifications')}" if origin else "the Notifications page"
