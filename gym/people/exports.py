"""Files of a data set: its observations as a table, and its citation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gym.accounts.models import AnyUser
from gym.people.models import HumanData
from gym.people.permissions import may_know_owner
from gym.people.results import exclusions_of
from gym.people.storage import load
from lmgym.people.exclusions import exclude
from lmgym.text.bibtex import bibtex
from lmgym.text.columns import Row, described
from suites.presenters import ANONYMOUS

AT_ONCE = 20_000


@dataclass(frozen=True)
class HumanValue:
    """A row of the table of observations. Participants are numbered at random."""

    participant: str | None = described("number of the participant; empty: mean over participants")
    item: int = described("number of the item in its suite; -1: mean over all items")
    condition: str = described("name of the condition")
    region_number: int | None = described("number of the region in its sentence, from 1; empty: the sentence")
    region: str | None = described("name of the region")
    word_number: int | None = described(
        "number of the word in its sentence, from 1; empty: region or sentence"
    )
    value: float = described("the measure", "ms, points or share")
    n_participants: int = described("participants that the value is a mean of", "participants")
    trial: int | None = described("place of the trial in the session, from 1; empty: unknown", "trials")
    used: bool = described("false: dropped by the exclusions")


def observation_rows(data: HumanData) -> Iterator[Row]:
    """Yield the rows of `HumanValue`, by participant, and each participant's in the order of the file."""
    observations, accuracy = load(data)
    used = exclude(observations, exclusions_of(data.exclusions), accuracy).kept
    people = (*observations.participants, None)  # -1: a mean
    names, conditions = (None, *data.revision.region_names), observations.conditions
    for start in range(0, len(observations), AT_ONCE):
        part = np.s_[start : start + AT_ONCE]
        for who, item, condition, region, word, value, n, trial, kept in zip(
            observations.participant[part].tolist(),
            observations.item[part].tolist(),
            observations.condition[part].tolist(),
            observations.region[part].tolist(),
            observations.word[part].tolist(),
            observations.value[part].tolist(),
            observations.n_participants[part].tolist(),
            observations.trial[part].tolist(),
            used[part].tolist(),
            strict=True,
        ):
            yield (
                people[who], item, conditions[condition], region or None, names[region], word or None, value, n,
                trial or None, kept,
            )  # fmt: skip


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
