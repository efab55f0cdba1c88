"""Suites through the API."""

from __future__ import annotations

import pytest

from suites import services
from suites.models import Suite
from tests.factories import make_suite


def slugs(page) -> list[str]:
    return [suite["slug"] for suite in page["results"]]


@pytest.fixture
def three(people):
    """Three public suites of 2, 5 and 3 items."""
    suites = [
        make_suite(people.alice, name="agreement", items=2),
        make_suite(people.alice, name="binding", items=5),
        make_suite(people.bob, name="islands", items=3),
    ]
    for suite, tags in zip(
        suites, (["agreement", "number"], ["binding"], ["filler-gap", "number"]), strict=True
    ):
        services.set_tags(suite, tags)
    Suite.objects.filter(slug="islands").update(
        description="wh-extraction", reference="Ross 1967", language="de"
    )


def test_the_api_filters_and_sorts(get, three):
    assert slugs(get("suites/", tag="number", sort="-items")) == ["islands", "agreement"]
    assert slugs(get("suites/", language="DE")) == ["islands"]


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ({"sort": "password"}, "valid choice"),
        ({"q": "\0"}, "Null characters"),
        ({"tagg": "number"}, "Did you mean “tag”?"),
        ({"limit": "0"}, "from 1 to 500"),
        ({"limit": "many"}, "from 1 to 500"),
        ({"cursor": "WyJ0aXRsZSJd"}, "not valid"),
    ],
)
def test_a_wrong_parameter_is_a_400_that_names_it(client, db, query, says):
    response = client.get("/api/v1/suites/", query)
    assert response.status_code == 400
    assert response["Content-Type"] == "application/problem+json"
    [trouble] = response.json()["errors"]
    assert trouble["where"] == f"?{next(iter(query))}"
    assert says in trouble["message"]


def test_a_long_list_takes_as_many_queries_as_a_short_one(client, three, django_assert_max_num_queries):
    client.get("/api/v1/suites/")  # creates the rate-limit entry
    with django_assert_max_num_queries(4):  # one for the rate limit
        assert len(client.get("/api/v1/suites/").json()["results"]) == 3
