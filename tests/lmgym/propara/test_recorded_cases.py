"""Recorded output and exit codes of the reference. Skipped without the conformance folder."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import pytest

from lmgym.propara import evaluate
from lmgym.propara.errors import ProcessFailure
from lmgym.propara.terms import location_overlap, normalise_phrase, participant_overlap
from tests.lmgym.propara.recorded import data_of, lay_out, recorded, run

VALID = recorded("valid")
ERRORS = recorded("errors_and_edges")
CORRUPTED = recorded("random_invalid")
DEEP = "recursion_yyy"
"""The reference's stemmer exceeds Python's recursion limit in this case; ours has no such limit and scores the file."""
pytestmark = pytest.mark.usefixtures("conformance")


def test_there_are_recorded_cases(conformance):
    assert (len(VALID), len(ERRORS), len(CORRUPTED)) == (185, 117, 136)


def test_the_command_does_what_the_reference_did(subtests, tmp_path, monkeypatch):
    for number, case in enumerate([*VALID, *ERRORS, *CORRUPTED]):
        folder = tmp_path / str(number)
        folder.mkdir()
        monkeypatch.chdir(folder)
        with subtests.test(case["id"]):
            compare_with_the_command(case, folder)


def compare_with_the_command(case: dict[str, Any], folder: Path) -> None:
    lay_out(case, folder)
    given, expected = run(["evaluate", *case["args"]]), case["evaluator"]
    if case["id"] == DEEP:
        assert (given.code, expected["exit_code"]) == (0, 1)
        return
    if "--help" in case["args"]:
        assert given.code == 0
        return
    assert given.code == expected["exit_code"], given.err
    if expected["exit_code"] == 2 and not expected["stdout"]:
        said = [
            text.partition("error: ")[2]
            for text in (given.err.splitlines()[-1], expected["stderr_last_line"])
        ]
        assert said[0] == said[1]
    if expected["exit_code"] == 1:
        assert given.err.startswith("Error: ")
        assert len(given.err.splitlines()) == 1
    assert given.out == expected["stdout"]
    metrics = folder / "metrics.json"
    assert (metrics.read_text() if metrics.exists() else None) == expected["metrics_json"]
    diagnostics = folder / "diagnostics.txt"
    written = diagnostics.read_text() if diagnostics.exists() else None
    assert written == expected["diagnostics"]


def test_scores_are_the_references_bit_for_bit(subtests):
    for case in VALID:
        with subtests.test(case["id"]):
            compare_scores(case)


def compare_scores(case: dict[str, Any]) -> None:
    texts = {name: data_of(file).decode() for name, file in case["files"].items()}
    report = evaluate(texts["answers.tsv"], texts["predictions.tsv"], texts.get("sentences.tsv"))
    expected = case["full_precision"]
    assert {"precision": report.precision, "recall": report.recall, "f1": report.f1} == expected["overall"]
    assert (report.n_predictions, report.n_answers) == (expected["num_predictions"], expected["num_answers"])
    assert [
        {"process_id": one.process_id, **{name: score._asdict() for name, score in one.scores.items()}}
        for one in report.processes
    ] == expected["per_process"]


def test_the_explainer_says_what_the_reference_said(subtests, monkeypatch):
    for case in [*VALID, *ERRORS, *CORRUPTED]:
        with subtests.test(case["id"]):
            for name, expected in case["explainer"].items():
                monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data_of(case["files"][name]))))
                given = run(["explain"])
                shown = given.out.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
                assert (given.code, shown) == (expected["exit_code"], expected["stdout"]), name
                assert bool(given.err) == bool(given.code)


def test_normalisation_and_pair_scores(conformance):
    pairs = {"compare_locations": location_overlap, "compare_participants": participant_overlap}
    cases = recorded("normalisation")
    assert len(cases) == 6250
    for case in cases:
        if case["kind"] == "normalise":
            assert normalise_phrase(case["in"]) == case["out"], case
        elif case["score"] == "ZeroDivisionError":
            with pytest.raises(ProcessFailure, match="divides by zero"):
                pairs[case["kind"]](case["answer"], case["prediction"])
        else:
            assert pairs[case["kind"]](case["answer"], case["prediction"]) == case["score"], case
