"""What was unlisted before addresses were secret gets a secret one by the migration."""

from __future__ import annotations

import importlib

import pytest
from django.apps import apps

from gym.sharing.addresses import plain
from tests.lmchallenge.site.worlds import make_corpus, play
from tests.propara.site.worlds import hand_in, make_set

ROOMS = {
    "gym.lmchallenge.migrations.0004_secret_addresses": (make_corpus, play, "/games/corpora/light/"),
    "gym.propara.migrations.0005_secret_addresses": (
        make_set, lambda thing, who: hand_in(thing.latest, who, visibility="public"), "/propara/light/",
    ),
}  # fmt: skip


@pytest.mark.parametrize("migration", ROOMS)
def test_the_address_made_of_the_title_ends(client, people, migration):
    make, below, page = ROOMS[migration]
    thing = make(people.alice, slug="light")
    row = below(thing, people.alice)
    public = make(people.alice, slug="open")
    type(thing).objects.filter(pk=thing.pk).update(visibility="unlisted")
    old = row.key
    assert client.get(page).status_code == 200
    importlib.import_module(migration).renew(apps, None)
    for one in (thing, row, public):
        one.refresh_from_db()
    assert (plain(thing.slug), public.slug) == ("light", "open")
    assert thing.slug != "light"
    assert client.get(page).status_code == 404
    assert client.get(thing.get_absolute_url()).status_code == 200
    client.force_login(people.alice)
    assert row.key != old
    address = row.get_absolute_url()
    assert client.get(address.replace(row.key, old)).url == address
