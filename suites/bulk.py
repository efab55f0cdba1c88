"""Bulk actions on suites. Each suite is handled separately and yields a BulkResult: done, unchanged or refused."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from django.core.exceptions import PermissionDenied, ValidationError

from gym.accounts.models import User
from gym.sharing import invitations
from gym.sharing.models import Visibility
from suites import permissions, services
from suites.models import Suite

MAX_SUITES = 200
"""Maximum number of suites in one request."""


@dataclass(frozen=True)
class BulkResult:
    """Outcome of a bulk action on one suite: a line of the report. `address`: link to the result, if any."""

    suite: Suite
    kind: Literal["done", "there", "refused"]
    text: str
    address: str = ""

    def row(self) -> dict[str, str]:
        return {"suite": self.suite.slug, "kind": self.kind, "text": self.text, "address": self.address}


def freeze_each(suites: Iterable[Suite], note: str = "", *, actor: User) -> list[BulkResult]:
    """Freeze every draft. Suites without a draft are reported as already frozen."""
    results: list[BulkResult] = []
    for suite in suites:
        try:
            revision = services.freeze(suite, actor=actor, note=note)
        except PermissionDenied:
            results.append(BulkResult(suite, "refused", "You may not edit this suite."))
        except services.NothingToFreeze:
            newest = suite.latest_frozen
            text = f"r{newest.number} is already frozen." if newest else "It has no revision."
            results.append(BulkResult(suite, "there" if newest else "refused", text))
        except ValidationError as error:
            results.append(BulkResult(suite, "refused", f"Not frozen: {' '.join(error.messages)}"))
        else:
            results.append(
                BulkResult(suite, "done", f"r{revision.number} is frozen.", revision.get_absolute_url())
            )
    return results


def publish_each(suites: Iterable[Suite], *, actor: User) -> list[BulkResult]:
    """Make every suite public."""
    results: list[BulkResult] = []
    for suite in suites:
        if suite.visibility == Visibility.PUBLIC:
            results.append(BulkResult(suite, "there", "It is public already."))
            continue
        before = suite.slug
        try:
            services.set_visibility(suite, Visibility.PUBLIC, actor=actor)
        except PermissionDenied:
            results.append(BulkResult(suite, "refused", "You may not edit this suite."))
        else:
            moved = f" Its address is now {suite.get_absolute_url()}." if suite.slug != before else ""
            results.append(BulkResult(suite, "done", f"It is public now.{moved}"))
    return results


def share_each(suites: Iterable[Suite], username: str, role: str, *, actor: User) -> list[BulkResult]:
    """Invite an account to every suite. At most one e-mail is sent."""
    results: list[BulkResult] = []
    is_first = True
    for suite in suites:
        try:
            invitation = invitations.invite(suite, username, role, actor=actor, by_mail=is_first)
        except PermissionDenied:
            results.append(BulkResult(suite, "refused", "Only its owner and staff may share it."))
        except ValidationError as error:
            results.append(BulkResult(suite, "refused", " ".join(error.messages)))
        else:
            is_first = False
            results.append(BulkResult(suite, "done", f"{invitation.user.display_name} is invited."))
    return results


def tag_each(
    suites: Iterable[Suite], add: Sequence[str], remove: Sequence[str], *, actor: User
) -> list[BulkResult]:
    """Add and remove tags on every suite; other tags are kept."""
    results: list[BulkResult] = []
    removed = set(services.tag_slugs(remove))
    for suite in suites:
        before = [tag.name for tag in suite.tags.all()]
        after = list(
            dict.fromkeys([*(name for name in before if name not in removed), *services.tag_slugs(add)])
        )
        if not permissions.can_edit(actor, suite):
            results.append(BulkResult(suite, "refused", "You may not edit this suite."))
        elif set(after) == set(before):
            results.append(BulkResult(suite, "there", "Its tags are unchanged."))
        else:
            try:
                services.edit_card(suite, actor=actor, tags=after)
            except ValidationError as error:
                results.append(BulkResult(suite, "refused", " ".join(error.messages)))
                continue
            results.append(BulkResult(suite, "done", f"Tags: {', '.join(after) or 'none'}."))
    return results
