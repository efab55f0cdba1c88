"""A migration renames stored statistics."""

from __future__ import annotations

import importlib

import pytest
from django.apps import apps

from gym.lmchallenge.models import Game
from tests.lmchallenge.worlds import USERS, make_corpus, play

pytestmark = pytest.mark.django_db
migration = importlib.import_module("gym.lmchallenge.migrations.0006_low_and_high")


def old(value):
    """Return statistics in their former format."""
    if isinstance(value, list):
        return [old(one) for one in value]
    if not isinstance(value, dict):
        return value
    names = {"from_characters": "from", "to_characters": "to"}
    result = {names.get(name, name): old(one) for name, one in value.items() if name not in ("low", "high")}
    if "low" in value:
        result["interval"] = None if value["low"] is None else [value["low"], value["high"]]
    return result


@pytest.mark.parametrize("kind", ["wp", "tc", "ic"])
def test_limits_of_intervals_are_renamed(people, kind):
    game = play(make_corpus(people.alice, USERS), people.alice, kind)
    stored = game.statistics
    before = {}
    for keep, counted in stored.items():
        before[keep] = {**counted, "more": {**old(counted["more"]), "course": {}, "by_position": {}}}
        if "intervals" in counted:
            before[keep]["intervals"] = {
                name: None if limits["low"] is None else [limits["low"], limits["high"]]
                for name, limits in counted["intervals"].items()
            }
    Game.objects.filter(pk=game.pk).update(statistics=before)
    migration.rename(apps, None)
    game.refresh_from_db()
    assert game.statistics == stored
