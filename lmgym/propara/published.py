"""Sizes of the official ProPara splits, and published results on the test split.

The data set is not part of LM Gym.
"""

from __future__ import annotations

from typing import NamedTuple


class Split(NamedTuple):
    """Size of an official split. `participants` is the sum over processes."""

    name: str
    processes: int
    participants: int
    sentences: int


SPLITS = (Split("train", 391, 1_500, 2_639), Split("dev", 43, 175, 290), Split("test", 54, 236, 373))


def split_of(n_processes: int, n_participants: int, n_steps: int) -> str:
    """Return the name of the official split with this size, or an empty string."""
    return next((split.name for split in SPLITS if split[1:] == (n_processes, n_participants, n_steps)), "")


class Published(NamedTuple):
    """Precision, recall and F1 (0 to 1) of a system on the official test split, as published."""

    system: str
    precision: float
    recall: float
    f1: float


TABLE = "as tabulated by Rajaby Faghihi and Kordjamshidi 2021 (NAACL, arXiv:2104.07635), document level"
TABLE_LINK = "https://arxiv.org/abs/2104.07635"
PUBLISHED = (
    Published("TSLM", 0.684, 0.689, 0.686),
    Published("DYNAPRO", 0.752, 0.580, 0.655),
    Published("NCET", 0.671, 0.585, 0.625),
    Published("KG-MRC", 0.645, 0.507, 0.568),
    Published("XPAD", 0.705, 0.453, 0.552),
    Published("ProStruct", 0.743, 0.430, 0.545),
    Published("ProGlobal", 0.467, 0.524, 0.494),
    Published("EntNet", 0.502, 0.335, 0.402),
    Published("QRN", 0.555, 0.313, 0.400),
    Published("ProLocal", 0.774, 0.229, 0.353),
)
