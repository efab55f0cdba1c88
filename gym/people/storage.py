"""Observations as compressed columns in pieces of a few MB, so that a million of them load in a second."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gym.people.models import HumanData
from lmgym.people.observations import COLUMNS, Observations

PIECE = 4_000_000


def write_pieces(rows: Any, data: bytes) -> None:
    """Store bytes as the pieces of an object. `rows`: its related manager."""
    kind = rows.model
    for position, start in enumerate(range(0, len(data), PIECE)):
        kind.objects.create(of=rows.instance, position=position, data=data[start : start + PIECE])


def read_pieces(rows: Any) -> bytes:
    return b"".join(bytes(data) for data in rows.order_by("position").values_list("data", flat=True))


def packed(observations: Observations, accuracy: NDArray[np.float64]) -> bytes:
    """Compress the columns, and the participants' accuracies."""
    file = io.BytesIO()
    columns = {name: getattr(observations, name) for name in COLUMNS}
    np.savez_compressed(file, accuracy=accuracy, **columns)
    return file.getvalue()


def load(data: HumanData) -> tuple[Observations, NDArray[np.float64]]:
    """Load the observations of a data set, before exclusions, with participants' accuracies (NaN = unknown)."""
    with np.load(io.BytesIO(read_pieces(data.pieces)), allow_pickle=False) as arrays:
        columns = {name: arrays[name] for name in COLUMNS}
        accuracy = arrays["accuracy"]
    observations = Observations(
        measure=data.as_measure(),
        participants=participant_names(data.n_participants),
        conditions=tuple(data.revision.condition_names),
        **columns,
    )
    return observations, accuracy


def participant_names(number: int) -> tuple[str, ...]:
    """Name participants P1, P2, …"""
    return tuple(f"P{place}" for place in range(1, number + 1))


def anonymous(
    observations: Observations, accuracy: NDArray[np.float64]
) -> tuple[Observations, NDArray[np.float64]]:
    """Rename participants to P1, P2, … in the order of their salted keys, which is random, and leave out those without
    observations. Rows are sorted by the new names, because files are in the order of the sessions."""
    if observations.are_means:
        return observations, accuracy
    present = np.unique(observations.participant)
    order = sorted(present.tolist(), key=lambda place: observations.participants[place])
    number_of = np.zeros(len(observations.participants), np.int32)
    number_of[order] = np.arange(len(order), dtype=np.int32)
    known = accuracy[order] if len(accuracy) else np.full(len(order), np.nan)
    renamed = replace(
        observations,
        participants=participant_names(len(order)),
        participant=number_of[observations.participant].astype(np.int32),
    )
    return renamed.take(np.argsort(renamed.participant, kind="stable")), known
