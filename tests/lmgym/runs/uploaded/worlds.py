"""The suite that the files in tests/lmgym/golden/uploaded are about: 3 items × (match, mismatch) × 3 regions."""

from __future__ import annotations

from pathlib import Path

from lmgym.suites.formats import SuiteDocument, read_suite
from tests.lmgym.suites.documents import suite_bytes

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "uploaded"


def golden(name: str) -> bytes:
    return (GOLDEN / name).read_bytes()


def document(**options: object) -> SuiteDocument:
    return read_suite(suite_bytes(**options))


def outcomes_of_seeds(n: int, suites: tuple[str, ...] = ("agreement",)) -> bytes:
    """Return outcomes of `n` seeds like the published files, with items counted from 0. Every third item of a
    seed fails."""
    rows = [
        f"lstm-{seed},{suite},{item},{(seed + item) % 3 > 0}"
        for seed in range(n)
        for suite in suites
        for item in range(3)
    ]
    return "\n".join(["model,suite,item,correct", *rows, ""]).encode()
