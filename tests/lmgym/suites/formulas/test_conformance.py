"""Agreement with syntaxgym-core 0.8a1 and with the published suites.

The recorded answers and the suites are not part of this repository. GYM_CONFORMANCE_DIR names their folder,
by default ../shared/conformance next to the repository.
"""

from __future__ import annotations

import gzip
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from lmgym.suites.formulas import parse
from tests.lmgym.conftest import ROOT

FOLDER = Path(os.environ.get("GYM_CONFORMANCE_DIR", ROOT / "../shared/conformance"))
RECORDED = FOLDER / "formulas" / "core_random.jsonl.gz"
SUITES = FOLDER / "suites"
OTHER_READING = re.compile(r"other programs read (.*)\.$")

needs_records = pytest.mark.skipif(
    not RECORDED.is_file(), reason="recorded answers of syntaxgym-core are absent: set GYM_CONFORMANCE_DIR"
)
needs_suites = pytest.mark.skipif(
    not SUITES.is_dir(), reason="published suites are absent: set GYM_CONFORMANCE_DIR"
)


def records() -> list[dict[str, Any]]:
    with gzip.open(RECORDED, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def values(record: dict[str, Any]) -> dict[tuple[str, Any], float]:
    return {
        (condition, int(region)): bits
        for condition, regions in record["surprisals"].items()
        for region, bits in regions.items()
    }


def mixes(formula: str) -> bool:
    """Return whether & and | occur at the same bracket level, without using the parser under test."""
    levels: list[set[str]] = [set()]
    for character in re.sub(r"\([0-9*]+;%[^%]*%\)", "R", formula):
        if character in "([":
            levels.append(set())
        elif character in ")]":
            levels.pop()
        elif character in "&|":
            levels[-1].add(character)
            if len(levels[-1]) > 1:
                return True
    return False


@needs_records
def test_every_recorded_answer_is_ours_or_that_of_the_reading_that_the_warning_names() -> None:
    disagreeing = []
    for record in records():
        formula = parse(record["formula"])
        others = [found[1] for text in formula.warnings if (found := OTHER_READING.search(text))]
        if (
            parse(others[-1] if others else record["formula"]).evaluate(values(record))
            is not record["result"]
        ):
            disagreeing.append((record["formula"], others))
    assert disagreeing == []


@needs_records
def test_the_default_reading_agrees_wherever_nothing_is_ambiguous() -> None:
    unmixed = [record for record in records() if not mixes(record["formula"])]
    assert len(unmixed) > 100
    for record in unmixed:
        formula = parse(record["formula"])
        assert formula.evaluate(values(record)) is record["result"]
        assert formula.ast == parse(formula.canonical()).ast


@needs_records
def test_exactly_the_ambiguous_formulas_carry_the_warning() -> None:
    for record in records():
        warned = any("side by side" in warning for warning in parse(record["formula"]).warnings)
        assert warned == mixes(record["formula"]), record["formula"]


@needs_suites
def test_every_published_prediction_reads_without_warning_and_names_only_what_is_there() -> None:
    count = 0
    for path in sorted(SUITES.glob("*.json")):
        suite = json.loads(path.read_text(encoding="utf-8"))
        regions = {int(number): name for number, name in suite["region_meta"].items()}
        conditions = [condition["condition_name"] for condition in suite["items"][0]["conditions"]]
        for prediction in suite["predictions"]:
            formula = parse(prediction["formula"])
            assert formula.warnings == ()
            assert formula.check(regions, conditions) == []
            assert "region " not in formula.describe(regions)
            count += 1
    assert count >= 17


@needs_suites
def test_every_alternative_prediction_in_the_comments_reads_without_warning() -> None:
    count = 0
    for path in sorted(SUITES.glob("*.json")):
        comment = json.loads(path.read_text(encoding="utf-8"))["meta"].get("comment") or ""
        for found in comment.split("#Prediction")[1:]:
            # prose follows the formula: take references, signs, brackets and the 0 it is compared with
            formula = re.match(r"(?:\([0-9]+;%[^%]*%\)|[][()<>=&+\s0-])+", found)
            assert formula is not None, found
            assert parse(formula.group()).warnings == ()
            count += 1
    assert count >= 10
