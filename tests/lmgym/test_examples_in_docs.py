"""Examples on pages of docs/ that no test of their subject runs: Python, test cases of agents, files to upload."""

from __future__ import annotations

import pytest

from lmgym.agents.case_reader import parse_case
from lmgym.runs.uploaded import read_results
from lmgym.suites.formulas import parse
from lmgym.suites.intake import ParseOptions, parse_upload
from tests.lmgym.conftest import ROOT
from tests.lmgym.test_blocks_in_docs import block, blocks


def execute(page: str, heading: str, names: dict[str, object]) -> dict[str, object]:
    exec(compile(block(page, heading, "python"), page, "exec"), names)
    return names


def test_formulas_in_python() -> None:
    names = execute("formulas.md", "In Python", {})
    formula = names["formula"]
    assert formula == parse(block("formulas.md", "Prediction formulas").strip())
    assert formula.evaluate({("mismatch", 2): 9.5, ("match", 2): 4.25})  # type: ignore[attr-defined]
    assert formula.describe({2: "Verb"}) == "surprisal at Verb is higher in mismatch than in match"  # type: ignore[attr-defined]


def test_an_ngram_model_is_trained_and_saved(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corpus.txt").write_text("the cat sleeps\nthe cats sleep\n" * 2, encoding="utf-8")
    execute("demo.md", "The n-gram backend", {})
    assert (tmp_path / "var/models/mine/model.ngram").stat().st_size > 0


def test_predictions_about_processes_are_scored() -> None:
    data = ROOT / "gym" / "propara" / "data"
    texts = {"answers_text": "answers.tsv", "predictions_text": "hasty.tsv"}
    files = {name: (data / file).read_text(encoding="utf-8") for name, file in texts.items()}
    report = execute("propara.md", "Score a file", dict(files))["report"]
    assert 0 < report.f1 < 1  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "text", [pytest.param(one.text, id=one.heading) for one in blocks() if one.language == "hocon"]
)
def test_a_test_case_of_an_agent_is_read_without_a_problem(text) -> None:
    if text.startswith("response"):
        text = f"agent: a\ninteractions: [ {{ text: hello\n{text} }} ]"
    case, problems = parse_case(text)
    assert case is not None
    assert [problem.message for problem in problems if problem.severity == "error"] == []


@pytest.mark.parametrize(
    ("heading", "language"),
    [
        ("Evaluated suite (JSON)", "json"),
        ("Surprisals by region (CSV)", ""),
        ("Surprisals by token (CSV)", ""),
        ("LM Zoo (TSV and spec.json)", ""),
        ("Outcomes only (CSV)", ""),
    ],
)
def test_a_file_of_results_is_read(heading, language) -> None:
    uploaded = read_results(block("uploading-results.md", heading, language).encode())
    assert len(uploaded.parts) == 1


def test_a_blank_is_filled_by_the_right_text() -> None:
    table = block("suite-format.md", "The right one of several texts").encode()
    roles = {"A": "text", "B": "condition_text", "C": "condition_text", "D": "answer"}
    suite = parse_upload(table, "items.csv", ParseOptions(columns=roles)).document
    texts = {sentence.condition: sentence.text for sentence in suite.sentences}
    assert texts == {
        "good": "The owl missed the box because the box was small.",
        "bad": "The owl missed the box because the owl was small.",
    }
