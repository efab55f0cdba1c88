"""Files of a data set: its observations as a table, and its citation."""

from __future__ import annotations

from collections.abc import Iterator

from gym.accounts.models import AnyUser
from gym.people.models import HumanData
from gym.people.permissions import may_know_owner
from gym.people.results import exclusions_of
from gym.people.storage import load
from lmgym.people.exclusions import exclude
from lmgym.people.value_rows import value_rows
from lmgym.text.bibtex import bibtex
from lmgym.text.columns import Row
from suites.presenters import ANONYMOUS
from suites.selectors import document_of


def observation_rows(data: HumanData) -> Iterator[Row]:
    """Yield the rows of `HumanValue`, by participant, and each participant's in the order of the file."""
    observations, accuracy = load(data)
    used = exclude(observations, exclusions_of(data.exclusions), accuracy).kept
    return value_rows(observations, document_of(data.revision), used)


def citation(data: HumanData, address: str, user: AnyUser) -> str:
    """Return BibTeX for the data; without names if the reader may not know them."""
    if data.bibtex and may_know_owner(user, data):
        return data.bibtex
    authors = data.author.splitlines() or [data.owner.author_name]
    return bibtex(
        key=data.slug,
        title=data.title,
        authors=authors if may_know_owner(user, data) else [ANONYMOUS],
        year=data.created.year,
        address=address,
        note=f"Human data on LM Gym for {data.revision.suite.slug} r{data.revision.number}"
        + (f", sha256 of the file {digest}" if (digest := data.provenance.get("sha256")) else ""),
    )
