"""Collaborators on objects other than suites: what viewers and editors may do, and what only the owner may
do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from gym.agents import services as conversations
from gym.agents.selectors import servers_usable_by
from gym.collections import services as collections
from gym.lmchallenge import services as lmchallenge
from gym.lmchallenge.selectors import games_for, listed_games
from gym.propara import services as propara
from gym.secrets import sealed
from gym.sharing.selectors import tables
from models_registry import services as models
from models_registry.selectors import runnable_by, uploadable_by
from tests.agents.site import GOOD, make_server
from tests.agents.site import make_suite as make_tests
from tests.factories import make_model, make_revision
from tests.lmchallenge.worlds import make_corpus, play
from tests.propara.worlds import make_set


@dataclass(frozen=True)
class Kind:
    """A kind of object: functions by which alice creates a private one, and changes, publishes or deletes
    it."""

    prefix: str
    make: Callable[[Any], Any]
    edit: Callable[..., Any]
    publish: Callable[..., Any]
    end: Callable[..., Any] | None
    fields: dict[str, Any] = field(default_factory=dict)


def save_tests(suite, *, actor, **changes):
    for name, value in changes.items():
        setattr(suite, name, value)
    conversations.save_suite(suite, actor=actor)


def make_list(owner):
    about = {"slug": "set", "title": "set", "description": "", "reference": ""}
    return collections.create_collection(actor=owner, revisions=[make_revision(owner)], **about)


def change_list(collection, *, actor, title):
    about = {"title": title, "description": "", "reference": ""}
    collections.change_collection(collection, actor=actor, revisions=None, **about)


KINDS = {
    "agent_suite": Kind(
        "agent-suite",
        lambda owner: make_tests(owner, "manners", {"hello": GOOD}, visibility="private"),
        lambda thing, actor: save_tests(thing, actor=actor, title="Changed"),
        lambda thing, actor: save_tests(thing, actor=actor, visibility="public"),
        conversations.delete_suite,
    ),
    "answer_set": Kind(
        "propara",
        lambda owner: make_set(owner, visibility="private"),
        lambda thing, actor: propara.edit_answer_set(thing, actor=actor, title="Changed"),
        lambda thing, actor: propara.edit_answer_set(thing, actor=actor, visibility="public"),
        propara.delete_answer_set,
    ),
    "corpus": Kind(
        "lmc-corpus",
        lambda owner: make_corpus(owner, "The cat sat.\n", visibility="private"),
        lambda thing, actor: lmchallenge.edit_corpus(thing, actor=actor, title="Changed"),
        lambda thing, actor: lmchallenge.edit_corpus(thing, actor=actor, visibility="unlisted"),
        lmchallenge.delete_corpus,
    ),
    "collection": Kind(
        "collection",
        make_list,
        lambda thing, actor: change_list(thing, actor=actor, title="Changed"),
        collections.publish_collection,
        collections.delete_collection,
    ),
    "model": Kind(
        "model",
        lambda owner: make_model(owner, visibility="private"),
        lambda thing, actor: models.edit_card(thing, actor=actor, name="Changed"),
        lambda thing, actor: models.edit_card(thing, actor=actor, visibility="public"),
        None,
    ),
}


@pytest.fixture(params=list(KINDS))
def kind(request) -> Kind:
    return KINDS[request.param]


@pytest.fixture
def thing(kind, people):
    """alice's object, which bob may edit and dora view."""
    made = kind.make(people.alice)
    made.collaborations.create(user=people.bob, role="edit")
    made.collaborations.create(user=people.dora, role="view")
    return made


def again(thing):
    return type(thing).objects.get(pk=thing.pk)


def status_of(client, user, thing) -> int:
    client.force_login(user)
    return client.get(thing.get_absolute_url()).status_code


def test_an_editor_changes_it_and_a_viewer_does_not(people, kind, thing):
    with pytest.raises(PermissionDenied):
        kind.edit(again(thing), actor=people.dora)
    kind.edit(again(thing), actor=people.bob)
    assert str(again(thing)) == "Changed"


def test_no_collaborator_says_who_sees_it_or_ends_it(people, kind, thing):
    for person in (people.bob, people.dora):
        for deed in filter(None, (kind.publish, kind.end)):
            with pytest.raises(PermissionDenied):
                deed(again(thing), actor=person)
    kind.publish(again(thing), actor=people.alice)


def test_an_editors_form_has_no_visibility_and_saves(client, people, kind, thing):
    client.force_login(people.bob)
    page = client.get(reverse(f"{kind.prefix}-edit", args=[thing.slug]))
    assert page.status_code == 200
    assert 'name="visibility"' not in page.content.decode()


def test_somebody_leaves(client, people, kind, thing):
    client.force_login(people.dora)
    client.post(reverse(f"{kind.prefix}-leave", args=[thing.slug]))
    assert status_of(client, people.dora, thing) == 404


def test_the_api_lists_changes_and_removes(client, people, kind, thing):
    base = {"propara": "api-propara-set"}.get(kind.prefix, f"api-{kind.prefix}")
    client.force_login(people.alice)
    address = reverse(f"{base}-people", args=[thing.slug])
    assert client.get(address).json()["results"] == [
        {"username": "bob", "role": "edit", "accepted": True},
        {"username": "dora", "role": "view", "accepted": True},
    ]
    person = reverse(f"{base}-person", args=[thing.slug, "dora"])
    assert client.patch(person, {"role": "edit"}, content_type="application/json").json()["role"] == "edit"
    assert client.delete(person).status_code == 204
    assert not thing.collaborations.filter(user=people.dora).exists()


def test_the_profile_lists_it_and_an_account_that_goes_leaves_it(client, people, thing):
    client.force_login(people.bob)
    assert thing.get_absolute_url() in client.get(reverse("home")).content.decode()
    assert thing.get_absolute_url() in client.get(reverse("account-delete")).content.decode()


def test_what_has_collaborators_stays_when_its_owner_goes(people, thing):
    from gym.pages.account_deletion import delete_account, former_member

    delete_account(people.alice)
    assert again(thing).owner == former_member()
    assert thing.collaborations.count() == 2


def test_a_deleted_thing_leaves_no_role_behind(people, kind, thing):
    if kind.end is None:
        thing.delete()
    else:
        kind.end(again(thing), actor=people.alice)
    assert not any(table.objects.exists() for table in tables())


def test_the_database_keeps_one_role_per_person(people, thing):
    with pytest.raises(IntegrityError), transaction.atomic():
        thing.collaborations.create(user=people.bob, role="view")


# --- what is special about some of them ---


@pytest.fixture
def tests_with_secrets(people):
    suite = make_tests(people.alice, "manners", {"hello": GOOD}, visibility="private")
    suite.variables = sealed({}, {"API_KEY": "s3cret"})
    suite.save()
    suite.collaborations.create(user=people.bob, role="edit")
    return suite


def test_an_editor_neither_sees_nor_changes_nor_sends_secrets(client, people, tests_with_secrets):
    suite = tests_with_secrets
    client.force_login(people.bob)
    for name in ("agent-suite", "agent-suite-edit"):
        assert "API_KEY" not in client.get(reverse(name, args=[suite.slug])).content.decode()
    assert client.get(reverse("api-agent-suite", args=[suite.slug])).json()["variables"] is None
    with pytest.raises(PermissionDenied):
        conversations.save_suite(suite, actor=people.bob, variables={"API_KEY": "mine"})
    server = make_server(people.bob, "bobs")
    with pytest.raises(PermissionDenied, match="secrets"):
        conversations.queue_run(suite, server, actor=people.bob)


def test_saving_the_settings_keeps_the_secrets_and_the_judge(client, people, tests_with_secrets):
    suite = tests_with_secrets
    suite.judge = make_model(people.alice, slug="judge", visibility="private")
    suite.save()
    client.force_login(people.bob)
    given = {"title": "Changed", "slug": suite.slug, "judge_agent": "", "judge_votes": 1, "description": ""}
    assert client.post(reverse("agent-suite-edit", args=[suite.slug]), given).status_code == 302
    saved = again(suite)
    assert (saved.title, list(saved.variables), saved.judge) == ("Changed", ["API_KEY"], suite.judge)


def test_an_agent_with_secrets_works_for_its_owner_alone(people):
    server = make_server(people.alice, "keyed", visibility="private")
    server.model.collaborations.create(user=people.bob, role="edit")
    assert servers_usable_by(people.bob).filter(pk=server.pk).exists()
    server.secrets = sealed({}, {"Authorization": "Bearer x"})
    server.save()
    assert not servers_usable_by(people.bob).filter(pk=server.pk).exists()
    with pytest.raises(PermissionDenied):
        conversations.change_server(
            server, actor=people.bob, url="http://bob.example.org", chat_model="", secret_headers={}
        )


def test_a_viewer_runs_a_private_model_and_only_an_editor_uploads_to_a_card(people):
    model = make_model(people.alice, slug="hosted", visibility="private")
    card = models.register_uploaded_model(actor=people.alice, name="Elsewhere", visibility="private")
    for thing in (model, card):
        thing.collaborations.create(user=people.bob, role="edit")
        thing.collaborations.create(user=people.dora, role="view")
    assert model in runnable_by(people.dora)
    assert card in uploadable_by(people.bob)
    assert card not in uploadable_by(people.dora)


def test_games_on_a_shared_corpus_are_seen_by_its_people(people):
    corpus = make_corpus(people.alice, "The cat sat.\n", visibility="private")
    game = play(corpus, people.alice)
    game.visibility = "public"
    game.save()
    assert game not in games_for(people.dora)
    corpus.collaborations.create(user=people.dora, role="view")
    assert game in games_for(people.dora)
    assert game in listed_games(people.dora)
    assert game not in games_for(people.charlie)


def test_an_editor_takes_out_of_a_collection_only_what_he_sees(people):
    hidden = make_revision(people.alice, name="hidden", visibility="private")
    shown = make_revision(people.alice, name="shown")
    about = {"title": "set", "description": "", "reference": ""}
    collection = collections.create_collection(
        actor=people.alice, slug="set", revisions=[hidden, shown], **about
    )
    collection.collaborations.create(user=people.bob, role="edit")
    assert collections.revisions_of(collection, people.bob) == [shown]
    collections.change_collection(collection, actor=people.bob, revisions=[], **about)
    assert collections.revisions_of(collection, people.alice) == [hidden]


HOMES = {
    "agent-suite": "agent-home",
    "propara": "propara-list",
    "lmc-corpus": "lmc-list",
    "collection": "collection-list",
    "model": "model-list",
}


def test_a_collaborators_list_takes_as_many_queries_as_the_owners(client, people, kind, thing):
    counts = {}
    for name in ("alice", "dora"):
        client.force_login(getattr(people, name))
        with CaptureQueriesContext(connection) as queries:
            page = client.get(reverse(HOMES[kind.prefix])).content.decode()
        assert thing.get_absolute_url() in page
        counts[name] = len(queries)
    assert counts["alice"] == counts["dora"]
