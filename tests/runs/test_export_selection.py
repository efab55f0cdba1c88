"""Contents of a table of many runs: of several suites and models, of a tag, of a collection."""

from __future__ import annotations

import io

import pandas as pd
import pytest

from gym.collections.services import create_collection
from tests.factories import make_model, make_suite
from tests.once import once_a_module
from tests.runs.boards import finished_run

PAGE, API = "/exports/predictions.csv", "/api/v1/exports/predictions/csv/"


def make_board(people):
    """alice's three suites, one of them tagged, with runs of two models."""
    models = [make_model(people.alice, slug=slug) for slug in ("small", "large")]
    suites = [make_suite(people.alice, name=name) for name in ("one", "two", "three")]
    for suite in suites:
        for model in models:
            finished_run(suite.latest_frozen, model, [1, 1, 0])
    suites[0].tags.create(name="agreement")
    return suites


built, people, board = once_a_module(make_board)


def pairs(client, address: str) -> set[tuple[str, str]]:
    response = client.get(address)
    assert response.status_code == 200, response.content
    rows = pd.read_csv(io.BytesIO(b"".join(response.streaming_content)))
    return set(zip(rows["suite"], rows["model"], strict=True))


@pytest.mark.parametrize("place", [PAGE, API])
def test_several_suites_and_models_a_tag_and_all(client, people, board, place):
    client.force_login(people.alice)
    assert pairs(client, f"{place}?suite=one,two&model=small") == {("one", "small"), ("two", "small")}
    assert pairs(client, f"{place}?tag=agreement") == {("one", "small"), ("one", "large")}
    assert len(pairs(client, place)) == 6


@pytest.mark.parametrize("place", [PAGE, API])
@pytest.mark.parametrize(
    "query", ["suite=one,tow", "model=small,tiny", "suite=one&tag=nothing", "tag=nothing"]
)
def test_a_name_without_results_is_not_left_out_in_silence(client, people, board, place, query):
    client.force_login(people.alice)
    response = client.get(f"{place}?{query}")
    assert response.status_code == 404
    if place == API and query != "tag=nothing":
        said = response.json()["detail"]
        assert ("tow" in said) or ("tiny" in said) or ("one" in said)


def test_a_collection_is_its_revisions_and_for_those_who_may_see_it(client, people, board):
    create_collection(
        actor=people.alice, slug="kept", title="Kept", description="", reference="",
        revisions=[suite.latest_frozen for suite in board[:2]],
    )  # fmt: skip
    client.force_login(people.alice)
    assert pairs(client, f"{API}?collection=kept&model=large") == {("one", "large"), ("two", "large")}
    assert client.get(f"{API}?collection=kept&suite=three").status_code == 404
    client.force_login(people.charlie)
    answer = client.get(f"{API}?collection=kept")
    assert (answer.status_code, "kept" in answer.json()["detail"]) == (404, True)
