"""What pages say about taking results away and citing them."""

from __future__ import annotations

from django.utils import timezone

from gym.results.citing import bibtex
from suites.models import SuiteRevision

EXPORT_TABLES = (
    ("scores", "Pass rates"),
    ("outcomes", "Outcomes and margins"),
    ("regions", "Bits by region"),
    ("tokens", "Bits by token"),
)
"""Names of the tables in /exports/, and what they are called."""


def citation(revision: SuiteRevision, address: str) -> str:
    """BibTeX of a revision at its permanent address."""
    when = revision.frozen_at or timezone.now()
    return bibtex(
        key=f"{revision.suite.slug}-r{revision.number}",
        title=f"{revision.suite.title}, revision {revision.number}",
        author=revision.suite.owner.display_name,
        year=when.year,
        address=address,
        note=f"Test suite on LM Gym, frozen {when:%Y-%m-%d}, sha256 {revision.sha256}",
    )
