"""A suite's page: its sentences, its predictions in words, findings, and results of models."""

from __future__ import annotations

import json
import re

import pytest
from django.urls import reverse
from django.utils.html import escape

from gym.jobs import states
from gym.jobs.context import JobContext
from gym.jobs.testing import run_pending
from gym.runs.work import services as runs
from lmgym.suites.formats import read_suite
from lmgym.suites.formulas import parse
from lmgym.suites.lint import lint
from suites import services
from suites.models import Suite
from suites.options import SuiteOptions
from suites.selectors import document_of
from tests.factories import make_model, make_revision, make_suite
from tests.lmgym.suites.documents import AGREEMENT, suite_bytes, suite_json

BOTH = f"({AGREEMENT}) & ((3;%mismatch%) > (3;%match%))"


def page_of(client, suite: Suite) -> str:
    """Return the HTML of a suite's page with every run of white space as one space."""
    return " ".join(client.get(suite.get_absolute_url()).content.decode().split())


def test_the_first_item_stands_there_with_regions_and_conditions(client, people):
    page = page_of(client, make_suite(people.alice))
    for text in ("The woman", "plays", "play", "Subject", "Verb", "Rest", "match", "mismatch", "3 items"):
        assert text in page
    assert "The boys" not in page


def test_predictions_stand_there_in_prose_with_their_chance(client, people):
    suite = make_suite(people.alice, formulas=(AGREEMENT, BOTH))
    page = page_of(client, suite)
    for formula in (AGREEMENT, BOTH):
        parsed = parse(formula)
        assert escape(parsed.describe({1: "Subject", 2: "Verb", 3: "Rest"})) in page
        assert escape(formula) in page
    chances = re.findall(r"Chance (.*?)</span>", page, re.DOTALL)
    assert ["50.0%" in chances[0], "25.0%" in chances[1]] == [True, True], chances


def test_names_and_descriptions_of_predictions_are_shown(client, people):
    document = suite_json()
    document["predictions"] = [
        {"type": "formula", "formula": AGREEMENT, "name": "Licensing", "description": "Verbs agree."}
    ]
    suite = services.import_suite(
        read_suite(json.dumps(document).encode()), SuiteOptions(visibility="public"), actor=people.alice
    )
    page = page_of(client, suite)
    assert "<h3>Licensing</h3>" in page
    assert "Verbs agree." in page


def test_a_suite_without_predictions_says_what_that_means(client, people):
    assert "No predictions: runs yield surprisals" in page_of(client, make_suite(people.alice, formulas=()))


def test_what_a_reviewer_would_notice_is_listed(client, people):
    document = suite_json()
    rows = document["items"][1]["conditions"]
    rows[1]["regions"] = rows[0]["regions"]  # both conditions have the same text
    suite = services.import_suite(
        read_suite(json.dumps(document).encode()), SuiteOptions(visibility="public"), actor=people.alice
    )
    findings = lint(document_of(suite.draft))
    page = page_of(client, suite)
    assert any(finding.severity in ("error", "warning") for finding in findings)
    for finding in findings:
        assert escape(finding.message) in page
        assert escape(finding.hint) in page
    assert "No problems found: no identical" not in page


def test_what_the_import_changed_is_listed(client, people):
    document = suite_json()
    document["items"][0]["conditions"][0]["regions"][0]["content"] = "  The woman "
    suite = services.import_suite(
        read_suite(json.dumps(document).encode()), SuiteOptions(visibility="public"), actor=people.alice
    )
    [notice] = suite.draft.notices
    assert escape(notice["message"]) in page_of(client, suite)


def test_the_page_shows_the_newest_frozen_revision_and_names_the_draft_to_editors(client, people):
    suite = make_suite(people.alice)
    services.replace_draft(suite, read_suite(suite_bytes(items=5)), actor=people.alice)
    stranger = page_of(client, suite)
    assert "3 items" in stranger
    assert "There is an unpublished draft" not in stranger
    client.force_login(people.alice)
    assert "There is an unpublished draft" in page_of(client, suite)
    draft = client.get(reverse("suite-revision", args=[suite.slug, 2])).content.decode()
    assert "5 items" in draft
    assert "This is draft r2." in draft


def test_results_come_with_interval_ties_chance_and_files(client, people):
    revision, model = make_revision(people.alice), make_model(people.alice)
    page, files = page_of(client, revision.suite), "Results of r1</h3>"
    assert "No model has run on this revision" in page
    assert files not in page
    runs.queue_run(revision, model, actor=people.alice)
    assert "No results on this revision yet" in page_of(client, revision.suite)
    run_pending()
    page = page_of(client, revision.suite)
    for text in (model.name, "0 / 3", "56.1%", "A tie counts as failed.", files):
        assert text in page


def test_runs_that_wait_or_run_are_named_with_progress_and_link_whichever_revision_they_are_on(
    client, people
):
    revision, model = make_revision(people.alice), make_model(people.alice, name="Flat")
    run = runs.queue_run(revision, model, actor=people.alice)
    services.replace_draft(revision.suite, read_suite(suite_bytes(items=5)), actor=people.alice)
    services.freeze(revision.suite, actor=people.alice)
    for state, done in (("queued", 0), ("running", 4)):
        if state == "running":
            job = states.claim_next("default", "w")
            JobContext(job).progress(done, total=6, unit="sentences")
        page = page_of(client, revision.suite)
        [section] = re.findall(r'<section[^>]*"under-way">.*?</section>', page, re.DOTALL)
        assert f'<a href="{run.get_absolute_url()}" id="active-{run.pk}">Flat</a> on r1' in section
        assert f">{state}<" in re.sub(r"<svg.*?</svg>", "", section, flags=re.DOTALL)
        assert f"{done} of 6" in section
    runs.cancel_run(run, actor=people.alice)
    states.end_attempt(states.fenced(job.pk, job.attempt), "")
    assert "Runs under way" not in page_of(client, revision.suite)
    old = client.get(reverse("suite-revision", args=[revision.suite.slug, 1])).content.decode()
    assert "Failed and cancelled runs" in old


def test_a_run_of_a_model_that_one_may_not_see_is_not_named(client, people):
    revision = make_revision(people.alice)
    runs.queue_run(
        revision, make_model(people.alice, name="Secret", visibility="private"), actor=people.alice
    )
    assert "Secret" not in page_of(client, revision.suite)
    client.force_login(people.alice)
    assert "Runs under way" in page_of(client, revision.suite)


def test_results_of_an_old_revision_stay_with_it(client, people):
    revision, model = make_revision(people.alice), make_model(people.alice)
    runs.queue_run(revision, model, actor=people.alice)
    run_pending()
    services.replace_draft(revision.suite, read_suite(suite_bytes(items=5)), actor=people.alice)
    services.freeze(revision.suite, actor=people.alice)
    assert "No model has run on this revision" in page_of(client, revision.suite)
    old = client.get(revision.get_absolute_url()).content.decode()
    assert "0 / 3" in old
    assert "A newer revision exists" in old


@pytest.mark.parametrize(
    ("who", "words", "missing"),
    [
        (
            None,
            ["Sign in</a> to run models"],
            ["Edit", "Upload new version", "Delete this suite", "/runs/start/"],
        ),
        ("charlie", ["/runs/start/"], [">Edit", "Upload new version", "Delete this suite"]),
        ("bob", ["/runs/start/", "Upload new version"], ["Delete this suite"]),
        ("alice", ["/runs/start/", "Upload new version", "Delete this suite"], []),
    ],
)
def test_everybody_is_offered_what_they_may_do(client, people, who, words, missing):
    suite = make_suite(people.alice, collaborator=people.bob)
    make_model(people.alice)
    if who:
        client.force_login(getattr(people, who))
    page = page_of(client, suite)
    for word in words:
        assert word in page, word
    for word in missing:
        assert word not in page, word


def test_the_items_page_has_every_sentence_in_order(client, people):
    suite = make_suite(people.alice, items=45)
    address = reverse("suite-items", args=[suite.slug, 1])
    first, second = (client.get(address, {"page": page}).content.decode() for page in "12")
    assert 'id="item-1"' in first
    assert 'id="item-40"' in first
    assert 'id="item-41"' not in first
    assert 'id="item-41"' in second
    assert "My old friend" in first


def test_an_unknown_revision_is_a_404(client, people):
    suite = make_suite(people.alice)
    for name in ("suite-revision", "suite-items"):
        assert client.get(reverse(name, args=[suite.slug, 9])).status_code == 404


def test_a_formula_that_cannot_be_read_is_shown_as_such(client, people):
    suite = make_suite(people.alice, frozen=False)
    suite.draft.predictions.update(formula="(2;%match%) > nonsense")
    page = page_of(client, suite)
    assert "This formula cannot be read" in page
    assert "(2;%match%) &gt; nonsense" in page


def test_the_page_of_a_large_suite_takes_as_many_queries_as_a_small_one(
    client, people, django_assert_max_num_queries
):
    suite = make_suite(people.alice, items=60, formulas=(AGREEMENT, BOTH))
    with django_assert_max_num_queries(10):
        client.get(suite.get_absolute_url())


def test_exports_for_other_programs_are_offered_where_they_are_possible_and_else_say_why(client, people):
    possible = make_suite(people.alice, name="pairs", items=2)
    page = client.get(possible.get_absolute_url()).content.decode()
    assert reverse("export-suite", args=["pairs", 1, "blimp.jsonl"]) in page
    not_possible = make_suite(people.alice, name="sums", items=2, formulas=("(1;%match%) + (2;%match%) > 3",))
    page = client.get(not_possible.get_absolute_url()).content.decode()
    assert reverse("export-suite", args=["sums", 1, "blimp.jsonl"]) not in page
    assert "BLiMP: not possible" in page
    assert "computes with several regions or numbers" in page
    for form in ("lm-eval.zip", "inspect-ai.zip"):
        assert reverse("export-suite", args=["sums", 1, form]) in page
    quotient = make_suite(people.alice, name="quotient", items=2, formulas=("(1;%match%) / (2;%match%) > 3",))
    page = client.get(quotient.get_absolute_url()).content.decode()
    assert reverse("export-suite", args=["quotient", 1, "lm-eval.zip"]) not in page
    assert "Tasks: not possible" in page
    assert "divides by zero or by something other than a number" in page
