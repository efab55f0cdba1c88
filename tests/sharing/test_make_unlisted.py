"""Unlisted objects are for everybody with the link. The address cannot be guessed, and former addresses do
not lead strangers to it."""

from __future__ import annotations

import re

import pytest

from gym.lmchallenge import playing
from gym.lmchallenge import services as corpora
from gym.propara import services as sets
from gym.propara.services import About
from gym.sharing.addresses import new_secret_address, plain
from tests.lmchallenge.worlds import make_corpus, play
from tests.propara.worlds import hand_in, make_set

SECRET = re.compile(r"-[0-9a-f]{20}$")


class Corpora:
    page, api, below_page, below_api = (
        "/games/corpora/",
        "/api/v1/lmc/corpora/",
        "/games/",
        "/api/v1/lmc/games/",
    )
    lists = ("/games/", "/api/v1/lmc/corpora/", "/api/v1/lmc/games/")
    title = "Light"

    @staticmethod
    def make(people, visibility="public"):
        thing = make_corpus(people.alice, slug="light", visibility=visibility)
        thing.collaborations.create(user=people.bob, role="edit")
        return thing

    @staticmethod
    def below(thing, who):
        return play(thing, who)

    @staticmethod
    def edit(thing, visibility, people):
        corpora.edit_corpus(thing, actor=people.alice, visibility=visibility)

    @staticmethod
    def hide_below(row, who):
        playing.edit_game(row, actor=who, visibility="unlisted")


class Sets:
    page, api = "/propara/", "/api/v1/propara/answer-sets/"
    below_page, below_api = "/propara/submissions/", "/api/v1/propara/submissions/"
    lists = ("/propara/", "/propara/compare/", "/api/v1/propara/answer-sets/", "/api/v1/propara/submissions/")
    title = "Light"

    @staticmethod
    def make(people, visibility="public"):
        thing = make_set(people.alice, slug="light", visibility=visibility)
        thing.collaborations.create(user=people.bob, role="edit")
        return thing

    @staticmethod
    def below(thing, who):
        return hand_in(thing.latest, who, visibility="public")

    @staticmethod
    def edit(thing, visibility, people):
        sets.edit_answer_set(thing, actor=people.alice, visibility=visibility)

    @staticmethod
    def hide_below(row, who):
        sets.edit_submission(row, About(row.system, visibility="unlisted"), actor=who)


@pytest.fixture(params=[Corpora, Sets], ids=["corpus", "answer set"])
def kind(request):
    return request.param


def status(client, who, address) -> int:
    client.logout()
    if who:
        client.force_login(who)
    return client.get(address).status_code


def test_made_unlisted_it_has_a_secret_address_from_the_start(client, people, kind):
    thing = kind.make(people, "unlisted")
    assert SECRET.search(thing.slug)
    assert plain(thing.slug) == "light"
    for place in (kind.page, kind.api):
        assert status(client, people.charlie, f"{place}light/") == 404
        for who in (people.charlie, people.bob, None):
            assert status(client, who, f"{place}{thing.slug}/") == 200


def test_made_unlisted_later_its_old_address_leads_its_people_alone(client, people, kind):
    thing = kind.make(people)
    kind.edit(thing, "unlisted", people)
    assert SECRET.search(thing.slug)
    for place in (kind.page, kind.api):
        for who in (people.charlie, None):
            client.logout()
            if who:
                client.force_login(who)
            answer = client.get(f"{place}light/")
            assert answer.status_code == 410
            assert thing.slug not in answer.content.decode() + str(answer.headers)
            assert status(client, who, f"{place}{thing.slug}/") == 200
        for who in (people.alice, people.bob, people.staff):
            client.force_login(who)
            assert client.get(f"{place}light/").url == f"{place}{thing.slug}/"


def test_public_again_it_has_its_address_back_and_the_secret_one_is_dead(client, people, kind):
    thing = kind.make(people)
    kind.edit(thing, "unlisted", people)
    secret = thing.slug
    kind.edit(thing, "public", people)
    assert thing.slug == "light"
    for place in (kind.page, kind.api):
        assert status(client, people.charlie, f"{place}{secret}/") == 404
        assert status(client, people.charlie, f"{place}light/") == 200


def test_private_it_keeps_its_plain_address_for_its_people(client, people, kind):
    thing = kind.make(people, "unlisted")
    secret = thing.slug
    kind.edit(thing, "private", people)
    assert thing.slug == "light"
    assert [status(client, people.charlie, f"{kind.page}{slug}/") for slug in (secret, "light")] == [404, 404]
    assert status(client, people.bob, f"{kind.page}light/") == 200


def test_no_other_thing_gets_an_address_that_was_public(people, kind):
    kind.edit(kind.make(people), "unlisted", people)
    assert kind.make(people).slug == "light-2"


def test_what_hangs_below_gets_other_addresses(client, people, kind):
    thing = kind.make(people)
    row = kind.below(thing, people.charlie)
    old = row.key
    kind.edit(thing, "unlisted", people)
    row.refresh_from_db()
    for place in (kind.below_page, kind.below_api):
        assert [status(client, who, f"{place}{old}/") for who in (people.charlie, None)] == [404, 404]
        assert status(client, people.charlie, f"{place}{row.key}/") == 200
    client.force_login(people.bob)
    assert client.get(f"{kind.below_page}{old}/").url == f"{kind.below_page}{row.key}/"
    assert client.get(f"{kind.below_api}{old}/").status_code == 200


def test_lists_never_show_it(client, people, kind):
    thing = kind.make(people)
    row = kind.below(thing, people.charlie)
    kind.edit(thing, "unlisted", people)
    row.refresh_from_db()
    for who in (people.charlie, None):
        client.logout()
        if who:
            client.force_login(who)
        for address in kind.lists:
            said = client.get(address).content.decode()
            assert thing.slug not in said, address
            assert row.key not in said, address


def test_a_new_secret_address_ends_the_one_of_before(client, people, kind):
    thing = kind.make(people, "unlisted")
    before = thing.slug
    new_secret_address(thing, "light", actor=people.bob)
    assert thing.slug != before
    assert [status(client, people.charlie, f"{kind.page}{slug}/") for slug in (before, thing.slug)] == [
        404,
        200,
    ]


def test_a_result_that_becomes_unlisted_leaves_its_address_too(client, people, kind):
    row = kind.below(kind.make(people), people.alice)
    old = row.key
    kind.hide_below(row, people.alice)
    assert row.key != old
    for place in (kind.below_page, kind.below_api):
        assert status(client, people.charlie, f"{place}{old}/") == 404
        assert status(client, people.charlie, f"{place}{row.key}/") == 200
    client.force_login(people.alice)
    assert client.get(f"{kind.below_page}{old}/").url == f"{kind.below_page}{row.key}/"
