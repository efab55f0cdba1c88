"""What pages say about taking results away and citing them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils import timezone

from gym.lib.bibtex import bibtex
from suites.models import SuiteRevision
from suites.permissions import may_know_owner
from suites.presenters import ANONYMOUS, author_name

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser

    from gym.accounts.models import User

EXPORT_TABLES = (
    ("scores", "Pass rates"),
    ("predictions", "Pass rates by prediction"),
    ("outcomes", "Outcomes and margins"),
    ("regions", "Bits by region"),
    ("tokens", "Bits by token"),
)
"""Names of the tables in /exports/, and what they are called."""


def citation(revision: SuiteRevision, address: str, user: User | AnonymousUser) -> str:
    """BibTeX of a revision at its permanent address, for this reader."""
    suite = revision.suite
    when = revision.frozen_at or timezone.now()
    return bibtex(
        key=f"{suite.slug}-r{revision.number}",
        title=f"{suite.title}, revision {revision.number}",
        author=author_name(suite, user)
        or (suite.owner.author_name if may_know_owner(user, suite) else ANONYMOUS),
        year=when.year,
        address=address,
        note=f"Test suite on LM Gym, frozen {when:%Y-%m-%d}, sha256 {revision.sha256}",
    )
