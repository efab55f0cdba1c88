"""The number of queries of a page does not grow with the site (benchmarks/web/pages.py does the same at full size)."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import URLResolver, get_resolver, reverse
from django.urls.converters import IntConverter, UUIDConverter

from benchmarks.web.objects import NOT_MEASURED
from benchmarks.web.world import World, fill
from suites.models import Suite
from suites.services import set_tags
from tests.factories import make_model, make_revision
from tests.runs.boards import finished_run

MOST = 10  # including session and user


@pytest.fixture
def small(db) -> World:
    return fill(n_suites=6, n_models=4, items=3)


@pytest.mark.parametrize("query", ["", "q=suite&tag=circuit-0&language=en"])
def test_a_searched_suite_list_answers_within_ten_queries_whatever_the_policies_of_its_runs(
    client, people, query
):
    for name in ("suite-one", "suite-two"):
        revision = make_revision(people.alice, name=name, items=2)
        set_tags(revision.suite, ["circuit-0"])
        finished_run(revision, make_model(people.alice, slug=name), [1, 0], policy={"bos": "never"})
    Suite.objects.update(language="en")
    client.force_login(people.alice)
    page = client.get(f"/suites/?{query}")
    assert page.content.decode().count('scope="row"') == 2
    assert {scores.best.policy for scores in page.context["scores"].values()} == {"bos=never"}
    assert _queries(client, f"/suites/?{query}") <= MOST


@pytest.mark.crawl
def test_every_list_and_detail_page_answers_within_ten_queries_however_many_rows(client, small):
    from gym.runs.models import PredictionResult, SuiteRun

    client.force_login(small.owner)
    before = {name: _queries(client, address) for name, address in small.addresses().items()}
    assert {name: n for name, n in before.items() if n > MOST} == {}
    for number in range(8):
        make_model(small.owner, slug=f"further-{number}")
    done = SuiteRun.objects.get(key=small.run)
    for model in small.owner.models.filter(slug__startswith="further"):
        copy = SuiteRun.objects.create(
            revision=done.revision, model=model, owner=small.owner, policy=done.policy,
            completed_at=done.completed_at, provenance=done.provenance, region_summary=done.region_summary,
        )  # fmt: skip
        for result in done.prediction_results.all():
            PredictionResult.objects.create(
                run=copy, prediction=result.prediction, position=0, n=3, passed=1, ties=0,
                not_evaluable=0, items=result.items, outcomes=result.outcomes, margins=result.margins,
            )  # fmt: skip
    Suite.objects.bulk_create(
        Suite(slug=f"further_{n}", title=f"F {n}", owner=small.owner, visibility="public") for n in range(20)
    )
    after = {name: _queries_now(client, address) for name, address in small.addresses().items()}
    assert {name: (before[name], n) for name, n in after.items() if n > before[name]} == {}


def test_every_list_and_detail_route_is_measured_or_says_why_not(client, small, people):
    """All other routes accept only changes, and respond to GET with 405."""
    measured = {label.split(" ")[0] for label in small.addresses()}
    assert measured & set(NOT_MEASURED) == set()
    client.force_login(people.staff)
    routes = dict(_routes(get_resolver()))
    assert (measured | set(NOT_MEASURED)) - set(routes) == set(), "no such route"
    left = {name: address for name, address in routes.items() if name not in measured | set(NOT_MEASURED)}
    answers = {name: client.get(address).status_code for name, address in left.items()}
    assert {name: code for name, code in answers.items() if code != 405} == {}


def test_the_front_page_shows_so_many_rows_and_no_more(client, people, monkeypatch):
    models = [make_model(people.alice, slug=f"model-{number}") for number in range(3)]
    for number in range(4):
        revision = make_revision(people.alice, name=f"suite-{number}", items=2)
        for model in models:
            finished_run(revision, model, [1, 0])
    monkeypatch.setattr("gym.pages.site_pages.MOST_SUITES", 3)
    monkeypatch.setattr("gym.pages.site_pages.MOST_MODELS", 2)
    text = " ".join(client.get("/").content.decode().split())
    assert "3 of 4 suites, 2 of 3 models" in text
    assert text.count('scope="row"') == 3 + 1  # and the row of means


EXAMPLES = {IntConverter: 1, UUIDConverter: UUID(int=1)}


def _routes(resolver: URLResolver) -> Iterator[tuple[str, str]]:
    """Yield the name and an address of every route outside Django's admin."""
    for pattern in resolver.url_patterns:
        if isinstance(pattern, URLResolver):
            if pattern.app_name != "admin":
                yield from _routes(pattern)
        elif pattern.name:
            kinds = pattern.pattern.converters
            yield (
                pattern.name,
                reverse(
                    pattern.name, kwargs={name: EXAMPLES.get(type(kind), "x") for name, kind in kinds.items()}
                ),
            )


def _queries(client, address: str) -> int:
    client.get(address)
    return _queries_now(client, address)


def _queries_now(client, address: str) -> int:
    with CaptureQueriesContext(connection) as asked:
        assert client.get(address).status_code == 200, address
    return len(asked)
