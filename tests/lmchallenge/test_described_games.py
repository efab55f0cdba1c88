"""Games in the REST API match the API description, whatever their options."""

from __future__ import annotations

import json

import pytest
from django.urls import reverse
from jsonschema import Draft202012Validator

from gym.api.description import FILE
from tests.lmchallenge.worlds import LOG, make_corpus, play, upload


@pytest.mark.parametrize("game", ["uploaded", "wp", "tc", "ic"])
def test_a_game_is_as_described(client, people, game):
    made = upload(people.bob, LOG) if game == "uploaded" else play(make_corpus(people.bob), people.bob, game)
    client.force_login(people.bob)
    answer = client.get(reverse("api-lmc-game", args=[made.key])).json()
    description = json.loads(FILE.read_text(encoding="utf-8"))
    schema = {**description, "$ref": "#/components/schemas/GameDetail"}
    assert [error.message for error in Draft202012Validator(schema).iter_errors(answer)] == []
    if game == "uploaded":
        assert (answer["train"], answer["select_from"], answer["next_word_only"]) == (None, None, None)
