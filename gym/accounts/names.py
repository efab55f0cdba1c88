"""Rules for user names, wherever an account comes from."""

from __future__ import annotations

from confusable_homoglyphs import confusables
from django.core.exceptions import ValidationError

from gym.accounts.backends import ACCOUNTS, DEMO_USER
from gym.accounts.throttle import account_key

RESERVED = frozenset(
    {
        DEMO_USER,
        *ACCOUNTS,
        "staff",
        "system",
        "anonymous",
        "root",
        "administrator",
        "moderator",
        "support",
        "help",
    }
    | {"gym", "lmgym", "lm-gym", "lm_gym", "security", "webmaster", "postmaster", "owner", "superuser"}
)


def check_name(username: str) -> None:
    """Raise ValidationError if new accounts may not have this user name."""
    if account_key(username) in RESERVED:
        raise ValidationError("This name is not available.", code="reserved")
    if confusables.is_dangerous(username):
        raise ValidationError(
            "The name mixes look-alike letters from several scripts. Use letters from one script.",
            code="mixed",
        )
