"""Our own files of a run, uploaded again: the same outcomes, or a refusal with the reason."""

from __future__ import annotations

import pytest
from django.urls import reverse

from gym.runs.work.uploads import ModelChoice, ResultFile, plan_upload, save_upload
from lmgym.runs.uploaded import fit_part, read_results
from lmgym.suites.formats import read_suite
from lmgym.text.bibtex import bibtex
from lmgym.text.csv_writer import csv_text
from lmgym.text.problems import FormatError
from suites.selectors import document_of
from tests.factories import make_model, make_revision
from tests.lmgym.suites.documents import AGREEMENT, suite_bytes
from tests.runs.boards import finished_run

OTHER = "(3;%match%) < (3;%mismatch%)"
HEADER = ("item_number", "condition_name", "region_number", "surprisal_bits")


def region_file(revision, *, without=()) -> bytes:
    """Return a file with some bits for every region; the regions of `without` have none."""
    rows = [
        (row.item, row.condition, number, None if (row.item, row.condition, number) in without else bits)
        for k, row in enumerate(document_of(revision).sentences)
        for number, bits in enumerate((3.0 + k % 4, 7.5 - k % 5, 2.25 + k % 3), start=1)
    ]
    return csv_text(HEADER, rows).encode()


def uploaded(revision, data, actor, name="regions.csv"):
    plan = plan_upload(ResultFile(name, data), actor=actor, revision=revision)
    [run] = save_upload(plan, ModelChoice(name=f"model of {name}"), actor=actor).runs.all()
    return run


def outcomes_of(run) -> list[list[int]]:
    return [row.outcomes for row in run.prediction_results.order_by("position")]


def evaluated(client, run):
    return client.get(reverse("export-evaluated", args=[run.key]))


def test_evaluated_json_with_a_missing_value_is_read_back(client, people):
    client.force_login(people.alice)
    revision = make_revision(people.alice, items=4, formulas=(AGREEMENT, OTHER))
    run = uploaded(revision, region_file(revision, without={(2, "match", 2)}), people.alice)
    again = uploaded(revision, evaluated(client, run).content, people.alice, "evaluated.json")
    assert outcomes_of(again) == outcomes_of(run)
    assert outcomes_of(run)[0][1] == 3


WHOLE = "(*;%match%) < (*;%mismatch%)"


def test_whole_sentences_with_a_region_without_value_are_refused_where_they_have_a_total(client, people):
    """Without a start token, the first region has no value although the sentence has one, so syntaxgym-core
    would compute NaN."""
    client.force_login(people.alice)
    revision = make_revision(people.alice, items=3, formulas=(WHOLE,))
    run = uploaded(revision, region_file(revision), people.alice)
    assert evaluated(client, run).status_code == 200
    for row in run.sentence_scores.all():
        row.surprisal -= row.regions[0]
        row.regions[0] = None
        row.save()
    assert evaluated(client, run).status_code == 409


def test_whole_sentences_without_a_total_are_refused_where_core_would_add_one_up(client, people):
    client.force_login(people.alice)
    revision = make_revision(people.alice, items=3, formulas=(WHOLE,))
    run = uploaded(revision, region_file(revision), people.alice)
    run.sentence_scores.update(surprisal=None)
    assert evaluated(client, run).status_code == 409


def test_a_whole_sentence_that_neither_has_is_no_obstacle(client, people):
    client.force_login(people.alice)
    revision = make_revision(people.alice, items=3, formulas=(WHOLE,))
    run = uploaded(revision, region_file(revision, without={(1, "match", 1)}), people.alice)
    again = uploaded(revision, evaluated(client, run).content, people.alice, "evaluated.json")
    assert outcomes_of(again) == outcomes_of(run)
    assert outcomes_of(run)[0][0] == 3


@pytest.mark.parametrize("names", [("main", "main"), ("Prediction 2", ""), ("main ", " other"), ("=x", "'y")])
def test_outcomes_of_predictions_of_any_name_are_read_back(client, people, names):
    predictions = [
        {"type": "formula", "formula": formula, "name": name}
        for formula, name in zip((AGREEMENT, OTHER), names, strict=True)
    ]
    revision = make_revision(people.alice, items=4, predictions=predictions)
    run = finished_run(revision, make_model(people.alice), [1, 0, 1, 1], [0, 0, 0, 1])
    response = client.get(reverse("export-table", args=["outcomes", "csv"]), {"run": run.key})
    again = uploaded(revision, b"".join(response.streaming_content), people.alice, "outcomes.csv")
    assert outcomes_of(again) == outcomes_of(run)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("prediction,item,held\nmain,1,1\n", "the suite has 2 predictions “main”"),
        ("prediction,prediction_number,item,held\nmain,3,1,1\n", "the suite has no prediction “main”"),
        ("prediction_number,item,held\n3,1,1\n", "the suite has no prediction with this number"),
        (
            "prediction,prediction_number,item,held\nmain,1,1,1\n,1,1,0\n",
            "item 1 of main is already in line 2",
        ),
    ],
)
def test_a_prediction_that_cannot_be_told_is_named(rows, said):
    predictions = [{"type": "formula", "formula": AGREEMENT, "name": "main"}] * 2
    document = read_suite(suite_bytes(items=1, predictions=predictions))
    [part] = read_results(rows.encode()).parts
    with pytest.raises(FormatError, match=said):
        fit_part(part, document)


def test_a_number_alone_says_which_prediction_it_is():
    document = read_suite(suite_bytes(items=2, formulas=(AGREEMENT, OTHER)))
    [part] = read_results(b"prediction_number,item,held\n2,1,1\n2,2,0\n").parts
    [found] = fit_part(part, document).result.predictions
    assert (found.position, found.outcomes) == (1, [1, 0])


def test_a_title_of_any_letters_is_cited_without_an_error_in_tex():
    entry = bibtex(
        key="k", title="a^n b^n {x} ~ 100%", authors=["A & B"], year=2026, address="http://h/", note=""
    )
    assert r"{a\textasciicircum{}n b\textasciicircum{}n x \textasciitilde{} 100\%}" in entry
