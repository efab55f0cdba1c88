"""The tables made of runs."""

from __future__ import annotations

from gym.evaluations import services
from gym.evaluations.selectors import latest_done, matrix, visible_to
from gym.jobs.testing import run_pending
from suites import services as suites
from suites.formats import read_suite
from tests.factories import make_model, make_revision, suite_bytes


def test_the_matrix_shows_the_newest_frozen_revision_only(people):
    revision, model = make_revision(people.alice), make_model(people.alice)
    services.queue_run(revision, model, actor=people.alice)
    run_pending()
    table = matrix(people.nobody)
    assert table.cells[revision.suite_id][model.pk].rate == 0.0
    suites.replace_draft(revision.suite, read_suite(suite_bytes(items=4)), actor=people.alice)
    assert matrix(people.nobody).cells
    suites.freeze(revision.suite, actor=people.alice)
    assert matrix(people.nobody).cells == {}


def test_an_unlisted_suite_is_in_nobodys_lists_but_its_owners(people):
    revision, model = make_revision(people.alice, visibility="unlisted"), make_model(people.alice)
    services.queue_run(revision, model, actor=people.alice)
    run_pending()
    assert matrix(people.alice).cells
    assert not matrix(people.charlie).cells
    assert visible_to(people.nobody).count() == 1


def test_the_latest_of_two_runs_counts(people):
    revision, model = make_revision(people.alice), make_model(people.alice)
    runs = [services.queue_run(revision, model, actor=people.alice) for _ in range(2)]
    run_pending()
    assert [run.pk for run in latest_done(visible_to(people.nobody))] == [runs[1].pk]


def test_a_suite_score_is_the_mean_over_its_predictions(people):
    formulas = ("(2;%mismatch%) > (2;%match%)", "(2;%mismatch%) = (2;%match%)")
    revision, model = make_revision(people.alice, formulas=formulas), make_model(people.alice)
    services.queue_run(revision, model, actor=people.alice)
    run_pending()
    score = matrix(people.nobody).cells[revision.suite_id][model.pk]
    assert (score.rate, score.passed, score.judged, score.low) == (0.5, 3, 6, None)


def test_the_matrix_takes_the_same_number_of_queries_for_one_suite_as_for_five(
    people, django_assert_max_num_queries
):
    model = make_model(people.alice)
    for number in range(5):
        services.queue_run(make_revision(people.alice, name=f"s{number}"), model, actor=people.alice)
    run_pending()
    with django_assert_max_num_queries(6):
        matrix(people.nobody).rows()
