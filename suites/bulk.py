"""Use cases on several suites at once: each is done by itself, and says what was done or why not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from django.core.exceptions import PermissionDenied, ValidationError

from gym.accounts.models import User
from suites import permissions, services
from suites.models import Suite

MAX_SUITES = 200
"""Of one request."""


@dataclass(frozen=True)
class BulkResult:
    """One line of a report about one suite. `address`: of what is spoken of."""

    suite: Suite
    kind: Literal["done", "there", "refused"]
    text: str
    address: str = ""

    def row(self) -> dict[str, str]:
        return {"suite": self.suite.slug, "kind": self.kind, "text": self.text, "address": self.address}


def freeze_each(suites: Iterable[Suite], note: str = "", *, actor: User) -> list[BulkResult]:
    """Freeze every draft. A suite without one is frozen already."""
    said: list[BulkResult] = []
    for suite in suites:
        try:
            revision = services.freeze(suite, actor=actor, note=note)
        except PermissionDenied:
            said.append(BulkResult(suite, "refused", "You may not edit this suite."))
        except services.NothingToFreeze:
            newest = suite.latest_frozen
            text = f"r{newest.number} is frozen already." if newest else "It has no revision."
            said.append(BulkResult(suite, "there" if newest else "refused", text))
        except ValidationError as error:
            said.append(BulkResult(suite, "refused", f"Not frozen: {' '.join(error.messages)}"))
        else:
            said.append(
                BulkResult(suite, "done", f"r{revision.number} is frozen.", revision.get_absolute_url())
            )
    return said


def tag_each(
    suites: Iterable[Suite], add: Sequence[str], remove: Sequence[str], *, actor: User
) -> list[BulkResult]:
    """Give every suite these tags and take others away; tags that are neither stay."""
    said: list[BulkResult] = []
    gone = set(services.tag_slugs(remove))
    for suite in suites:
        before = [tag.name for tag in suite.tags.all()]
        after = list(
            dict.fromkeys([*(name for name in before if name not in gone), *services.tag_slugs(add)])
        )
        if not permissions.can_edit(actor, suite):
            said.append(BulkResult(suite, "refused", "You may not edit this suite."))
        elif set(after) == set(before):
            said.append(BulkResult(suite, "there", "Its tags are as they were."))
        else:
            try:
                services.edit_card(suite, actor=actor, tags=after)
            except ValidationError as error:
                said.append(BulkResult(suite, "refused", " ".join(error.messages)))
                continue
            said.append(BulkResult(suite, "done", f"Tags: {', '.join(after) or 'none'}."))
    return said
