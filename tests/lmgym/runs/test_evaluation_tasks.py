"""Tasks for lm-evaluation-harness and inspect_ai. Their Python runs here without the programs;
tests/runs/test_real_programs.py runs the programs."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

import pytest

from lmgym.runs.evaluation_tasks import evaluation_tasks, inspect_files, lm_eval_files
from lmgym.runs.other_programs import Refused
from lmgym.suites.formats import read_suite
from tests.lmgym.runs.test_compute import document, run
from tests.lmgym.suites.documents import suite_json

ROOT = Path(__file__).parents[3]
SUITES = Path(os.environ.get("GYM_CONFORMANCE_DIR", ROOT / "../shared/conformance")) / "suites"
BITS = {"play": 9.0, "plays": 2.0, "runs": 0.25, "run": 0.5, "sing": 3.0, "sings": 3.0, "The": 0.125}
PAIR = "(2;%match%) < (2;%mismatch%)"


def results(doc, bits=BITS):
    """Return acc and margin of every item by task, as the exported Python computes them from these bits of words."""
    files = lm_eval_files(doc, "ours", 1, "space", "")
    names: dict[str, object] = {}
    exec(files["gym_ours/outcomes.py"], names)
    computed = {}
    for path, text in files.items():
        if path.endswith(".jsonl"):
            task = Path(path).stem
            rows = [json.loads(line) for line in text.splitlines()]
            computed[task] = [names[task](row, [scored(text, bits) for text in row["texts"]]) for row in rows]
    return computed


def scored(text, bits):
    return -math.log(2) * sum(bits.get(word, 1.0) for word in text.split()), False


@pytest.mark.parametrize(
    "formula",
    [
        PAIR,
        "(*;%match%) >= (*;%mismatch%)",
        "(2;%match%) = (2;%mismatch%) | ~(1;%match%) < 2",
        "[(2;%match%) + (3;%match%) < 9] & [(2;%mismatch%) - (2;%match%) > -0.5 * (1;%match%)]",
        "(2;%match%) != (2;%mismatch%) / 2",
        "abs((2;%match%) - -(2;%mismatch%)) > max((1;%match%), 3) - min(sum((3;%match%), 1), 2)",
        "mean((1;%match%), (2;%match%), (3;%match%)) <= (2;%mismatch%)",
        "~[~[(2;%match%) < 3] & (3;%match%) > 1]",
    ],
)
def test_outcomes_and_margins_equal_ours(formula):
    doc = document(formulas=(formula,))
    [ours] = run(doc, BITS).predictions
    rows = results(doc)["gym_ours"]
    assert [row["margin"] for row in rows] == pytest.approx(ours.margins)
    assert [row["acc"] for row in rows] == [float(code == 1) for code in ours.outcomes]


@pytest.mark.parametrize(
    ("formula", "passes"),
    [
        ("(1;%match%) < (1;%mismatch%)", 0.0),
        ("(1;%match%) <= (1;%mismatch%)", 1.0),
        ("~[(1;%match%) > (1;%mismatch%)]", 1.0),
        ("(1;%match%) != (1;%mismatch%)", 0.0),
    ],
)
def test_equal_texts_are_equal_exactly(formula, passes):
    doc = document(formulas=(formula,))
    bits = {"The": 0.1, "woman": 0.7}
    [ours] = run(doc, bits).predictions
    assert [row["acc"] for row in results(doc, bits)["gym_ours"]] == [passes] * ours.n
    assert ours.passed == passes * ours.n


def test_an_empty_region_has_0_bits():
    data = suite_json(formulas=("(2;%match%) < (2;%mismatch%)",))
    for condition in data["items"][0]["conditions"]:
        condition["regions"][1]["content"] = "" if condition["condition_name"] == "match" else "play"
    assert results(read_suite(json.dumps(data).encode()))["gym_ours"][0] == {"acc": 1.0, "margin": 9.0}


def test_a_conjunction_is_a_task_and_one_for_each_part():
    doc = document(formulas=(f"[{PAIR}] & [(3;%match%) = (3;%mismatch%)]", PAIR))
    chosen = evaluation_tasks(doc, "two-fold")
    assert [(task.name, task.formula, task.is_part) for task in chosen.tasks] == [
        ("gym_two_fold_1", "((2;%match%) < (2;%mismatch%)) & ((3;%match%) = (3;%mismatch%))", False),
        ("gym_two_fold_1_part1", PAIR, True),
        ("gym_two_fold_1_part2", "(3;%match%) = (3;%mismatch%)", True),
        ("gym_two_fold_2", PAIR, False),
    ]
    files = lm_eval_files(doc, "two-fold", 1, "space", "")
    assert "task:\n  - gym_two_fold_1\n  - gym_two_fold_2\n" in files["gym_two_fold/gym_two_fold.yaml"]
    assert "tag: gym_two_fold_parts\n" in files["gym_two_fold/gym_two_fold_1_part1.yaml"]


def test_predictions_that_cannot_be_expressed_are_named_with_the_reason():
    doc = document(formulas=(PAIR, "(2;%match%) / (1;%match%) < 3", "3 > 2"))
    chosen = evaluation_tasks(doc, "ours")
    assert [task.name for task in chosen.tasks] == ["gym_ours_1"]
    quotient, constant = chosen.left_out
    assert quotient.startswith("Prediction 2 ((2;%match%) / (1;%match%) < 3) divides by zero or by something")
    assert constant == "Prediction 3 (3 > 2) refers to no region."
    for files in (lm_eval_files(doc, "ours", 1, "space", ""), inspect_files(doc, "ours", 1, "space", "")):
        assert quotient in files["gym_ours/README.md"]


def test_a_suite_with_another_metric_keeps_only_whole_sentences():
    data = suite_json(formulas=(PAIR, "(*;%match%) < (*;%mismatch%)"))
    data["meta"]["metric"] = "mean"
    chosen = evaluation_tasks(read_suite(json.dumps(data).encode()), "ours")
    assert [task.name for task in chosen.tasks] == ["gym_ours_2"]
    assert "metric mean" in chosen.left_out[0]


def test_a_suite_without_an_expressible_prediction_is_refused():
    with pytest.raises(Refused, match="no predictions"):
        evaluation_tasks(document(formulas=()), "ours")
    with pytest.raises(Refused, match="refers to no region"):
        evaluation_tasks(document(formulas=("1 > 0",)), "ours")


def test_the_file_for_inspect_is_python_whatever_the_names_of_conditions():
    data = json.dumps(suite_json(formulas=(PAIR,))).replace("match", 'a\\" + é')
    files = inspect_files(read_suite(data.encode()), "ours", 1, "space", "")
    compile(files["gym_ours/gym_ours.py"], "gym_ours.py", "exec")


@pytest.mark.skipif(not SUITES.is_dir(), reason="published suites are absent: set GYM_CONFORMANCE_DIR")
def test_every_prediction_of_the_published_suites_is_exported():
    chosen = []
    for path in sorted(SUITES.glob("*.json")):
        suite = read_suite(path.read_bytes(), path.name)
        chosen.append(evaluation_tasks(suite, path.stem))
        assert not chosen[-1].left_out
    tasks = [task for one in chosen for task in one.tasks]
    assert (len(chosen), sum(not task.is_part for task in tasks), sum(task.is_part for task in tasks)) == (
        17,
        19,
        32,
    )
