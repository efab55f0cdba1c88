"""A suite and its counterpart with a modifier are paired by the names in their files, or by hand."""

from __future__ import annotations

import pytest
from django.urls import reverse

from gym.collections.services import create_collection, publish_collection
from gym.runs.read.model_profile import pairs_of
from tests.factories import make_model, make_revision
from tests.runs.boards import finished_run


@pytest.fixture
def model(people):
    return make_model(people.alice, slug="m")


def revisions(owner, *names):
    return [make_revision(owner, name=name, items=4) for name in names]


def run(model, found) -> None:
    for revision in found:
        finished_run(revision, model, [1, 1, 1, 0])


def pairs(client, model) -> list[tuple[str, str]]:
    shown = client.get(reverse("model-detail", args=[model.slug])).context["pairs"]
    return [(pair.plain.key, pair.modified.key) for pair in shown]


def test_beside_suites_of_the_same_names_everybody_keeps_their_pair(client, people, model):
    run(model, revisions(people.bob, "embed", "embed_mod"))
    run(model, revisions(people.alice, "embed", "embed_mod"))
    assert pairs(client, model) == [("embed", "embed_mod"), ("embed-2", "embed_mod-2")]
    page = client.get(reverse("model-detail", args=["m"])).content.decode()
    assert "Robustness to a modifier" in page


def test_a_model_that_ran_the_second_pair_alone_has_it(client, people, model):
    revisions(people.bob, "cleft", "cleft_modifier")
    run(model, revisions(people.alice, "cleft", "cleft_modifier"))
    assert pairs(client, model) == [("cleft-2", "cleft_modifier-2")]


def test_somebody_elses_suite_of_that_name_is_no_twin(client, people, model):
    run(model, revisions(people.alice, "embed") + revisions(people.bob, "embed_mod"))
    assert pairs(client, model) == []


def test_in_one_published_collection_they_are(client, people, model):
    found = (
        revisions(people.bob, "embed") + revisions(people.alice, "embed") + revisions(people.bob, "embed_mod")
    )
    run(model, found)
    assert pairs(client, model) == [("embed", "embed_mod")]
    made = create_collection(
        actor=people.alice, slug="paper", title="p", description="", reference="", revisions=found[1:]
    )
    assert pairs(client, model) == [("embed", "embed_mod")]
    publish_collection(made, actor=people.alice)
    assert pairs(client, model) == [("embed-2", "embed_mod")]


def test_imported_twice_each_goes_with_the_one_it_came_with(client, people, model):
    found = revisions(people.alice, "embed", "embed_mod", "embed", "embed_mod")
    run(model, found)
    assert pairs(client, model) == [("embed", "embed_mod"), ("embed-2", "embed_mod-2")]
    assert set(pairs_of(found[::-1])) == {(3, 2), (1, 0)}


def test_on_the_page_the_pair_is_chosen_by_hand(client, people, model):
    found = plain, *_ = revisions(people.alice, "plain", "embed", "embed_mod")
    run(model, found)
    assert pairs(client, model) == [("embed", "embed_mod")]
    client.force_login(people.alice)
    address = reverse("suite-edit", args=["embed_mod"])
    assert "plain (plain), by alice" in client.get(address).content.decode()
    given = {"title": "With", "language": "en", "visibility": "public", "without_modifier": plain.suite_id}
    assert client.post(address, given).status_code == 302
    assert pairs(client, model) == [("plain", "embed_mod")]
    assert client.post(address, given | {"without_modifier": ""}).status_code == 302
    assert pairs(client, model) == [("embed", "embed_mod")]


def test_over_the_api_too(client, people, model):
    found = revisions(people.alice, "long", "short")
    run(model, found)
    make_revision(people.bob, name="secret", visibility="private")
    client.force_login(people.alice)

    def patch(value):
        body = {"without_modifier": value}
        return client.patch("/api/v1/suites/long/", body, content_type="application/json")

    assert patch("short").json()["without_modifier"] == "short"
    assert pairs(client, model) == [("short", "long")]
    for name in ("secret", "nothing", "long"):
        refused = patch(name)
        assert refused.status_code == 400
        assert refused.json()["errors"][0]["where"] == "$.without_modifier"
    assert patch(None).json()["without_modifier"] is None
    assert pairs(client, model) == []


def test_a_hidden_twin_stays_hidden(client, people, model):
    plain, modified = revisions(people.alice, "short", "long")
    modified.suite.without_modifier = plain.suite
    modified.suite.save()
    type(plain.suite).objects.filter(pk=plain.suite_id).update(visibility="private")
    assert client.get("/api/v1/suites/long/").json()["without_modifier"] is None
    client.force_login(people.alice)
    assert client.get("/api/v1/suites/long/").json()["without_modifier"] == "short"
