"""Suites of published stimuli, for the human data that were published with them."""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path

import pytest

from lmgym.suites.formats.documents import SentenceDoc, SuiteDocument
from tests.lmgym.conftest import CONFORMANCE

HUMAN = CONFORMANCE.parent / "human"
needs_human_files = pytest.mark.skipif(
    not HUMAN.is_dir(), reason="published human data are absent: set GYM_CONFORMANCE_DIR"
)


def suite(
    sentences: list[SentenceDoc], name: str = "", regions: tuple[str, ...] = ("Sentence",)
) -> SuiteDocument:
    conditions = tuple(dict.fromkeys(sentence.condition for sentence in sentences))
    return SuiteDocument(name, "sum", {}, regions, conditions, tuple(sentences))


def read(path: Path, delimiter: str = ",") -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(
            csv.DictReader(file, delimiter=delimiter, quoting=csv.QUOTE_NONE if delimiter == "\t" else 0)
        )


def garden_paths() -> SuiteDocument:
    """The unambiguous sentences of the garden paths of SAP, in one region."""
    rows = [row for row in read(HUMAN / "sap/items_ClassicGP.csv") if row["item"].strip()]
    return suite(
        [SentenceDoc(int(r["item"]), r["condition"], (r["unambiguous"].strip(),)) for r in rows],
        "garden-paths",
    )


def stories() -> SuiteDocument:
    """Each story is an item with one condition and one region."""
    words: dict[int, list[str]] = defaultdict(list)
    for row in read(HUMAN / "naturalstories/all_stories.tok", "\t"):
        words[int(row["item"])].append(row["word"])
    return suite([SentenceDoc(item, "story", (" ".join(text),)) for item, text in words.items()], "stories")
