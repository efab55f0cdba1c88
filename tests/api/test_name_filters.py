"""A filter that names an object: a name that does not exist or is hidden is a 404, in every list."""

from __future__ import annotations

import json

import pytest
from django.urls import reverse

from gym.api.description import FILE
from gym.api.filters import NameFilter
from tests.api.test_long_filters import named_views
from tests.api.worlds import make_world
from tests.factories import make_suite
from tests.once import once_a_module

built, people, world = once_a_module(make_world)

NAMES = [
    (view, parameter)
    for view, kind in named_views()
    if getattr(kind, "filterset_class", None)
    for parameter, filter_ in kind.filterset_class.base_filters.items()
    if isinstance(filter_, NameFilter)
]
ALL = {
    ("api-runs", "suite"),
    ("api-runs", "model"),
    ("api-human-data-list", "suite"),
    ("api-lmc-games", "corpus"),
    ("api-propara-submissions", "answer_set"),
    ("api-agent-runs", "suite"),
    ("api-agent-runs", "server"),
}


@pytest.mark.parametrize(("view", "parameter"), NAMES)
def test_an_unknown_name_is_a_404_that_names_the_parameter(client, people, view, parameter):
    client.force_login(people.alice)
    answer = client.get(reverse(view), {parameter: "no-such-name"})
    assert answer.status_code == 404
    [error] = answer.json()["errors"]
    assert error["where"] == f"?{parameter}"
    assert "“no-such-name”, or you may not see it" in error["message"]


def test_every_filter_that_names_an_object_is_tried():
    assert set(NAMES) == ALL


@pytest.mark.parametrize(("parameter", "hidden"), [("suite", "private-suite"), ("model", "secret-model")])
def test_a_hidden_name_gets_the_same_response_as_an_unknown_one(client, people, world, parameter, hidden):
    client.force_login(people.charlie)
    unknown, secret = (client.get("/api/v1/runs/", {parameter: name}) for name in ("z" * len(hidden), hidden))
    assert secret.status_code == 404
    assert secret.content.decode() == unknown.content.decode().replace("z" * len(hidden), hidden)


def test_all_unknown_names_are_listed(client, people, world):
    answer = client.get("/api/v1/runs/", {"suite": "nothing", "model": "nobody"})
    assert [error["where"] for error in answer.json()["errors"]] == ["?suite", "?model"]


@pytest.mark.parametrize("parameter", ["suite", "model"])
def test_runs_of_an_unknown_name_are_not_changed_without_a_word(send, world, parameter):
    answer = send("post", "runs/many/", {"action": "delete", parameter: "no-such-name"})
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["where"] == f"$.{parameter}"


def test_the_schema_has_the_404_of_these_lists_alone():
    paths = json.loads(FILE.read_text(encoding="utf-8"))["paths"]
    assert {"404" in paths[reverse(view)]["get"]["responses"] for view, _ in ALL} == {True}
    assert "404" not in paths[reverse("api-suites")]["get"]["responses"]


def test_a_renamed_suite_is_named_in_the_hint(client, people):
    suite = make_suite(people.alice, name="before")
    suite.slug = "after"
    suite.save()
    [error] = client.get("/api/v1/runs/", {"suite": "before"}).json()["errors"]
    assert error["hint"] == "It is now called “after”."
