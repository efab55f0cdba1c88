"""Groups of other services: who may sign in, who is staff, and which groups of the site they lead to."""

from __future__ import annotations

from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.contrib.auth.models import Group

from gym.accounts.external.kinds import KINDS
from gym.accounts.models import User


def groups_of(account: SocialAccount) -> set[str] | None:
    """Return the groups that the service reported at this sign-in; None if it knows no groups."""
    if account.provider not in KINDS or not KINDS[account.provider].has_groups:
        return None
    return {str(group) for group in account.extra_data.get("groups", [])}


def may_sign_in(account: SocialAccount) -> bool:
    """Return True unless GYM_SIGN_IN_GROUPS is set and the person is in none of these groups."""
    groups, allowed = groups_of(account), set(settings.GYM_SIGN_IN_GROUPS)
    return groups is None or not allowed or bool(groups & allowed)


def apply_groups(user: User, account: SocialAccount) -> None:
    """Give the account the rights of its groups, and take those of groups it has left. Superusers stay staff, and
    groups that GYM_GROUP_MAP does not name stay as they are."""
    groups = groups_of(account)
    if groups is None:
        return
    if settings.GYM_STAFF_GROUPS and not user.is_superuser:
        is_staff = bool(groups & set(settings.GYM_STAFF_GROUPS))
        if is_staff != user.is_staff:
            user.is_staff = is_staff
            user.save(update_fields=["is_staff"])
    if settings.GYM_GROUP_MAP:
        mapped = {name: Group.objects.get_or_create(name=name)[0] for name in settings.GYM_GROUP_MAP.values()}
        names = {name for outside, name in settings.GYM_GROUP_MAP.items() if outside in groups}
        user.groups.remove(*(group for name, group in mapped.items() if name not in names))
        user.groups.add(*(mapped[name] for name in names))
