"""The built-in adaptive player learns, forgets, and completes words that have begun."""

from __future__ import annotations

import math

import pytest

from lmgym.lmchallenge.errors import OptionError
from lmgym.lmchallenge.play.adaptive import AdaptivePlayer
from lmgym.lmchallenge.play.player import Request


def ask(player: AdaptivePlayer, context: str, candidates: list[str] | None = None) -> dict[str, float]:
    (reply,) = player.predict([Request(context, candidates)])
    return dict(reply)


def test_it_predicts_what_followed_and_forgets_it():
    player = AdaptivePlayer()
    assert ask(player, "the ") == {}
    player.train("the cat sat on the mat")
    player.train("the cat ran")
    assert next(iter(ask(player, "the "))) == "cat"
    assert next(iter(ask(player, "on the "))) == "mat"
    player.clear()
    assert ask(player, "the ") == {}


def test_inside_a_word_it_gives_the_rest():
    player = AdaptivePlayer()
    player.train("lacrosster, lacrosster! lap")
    found = ask(player, "la")
    assert set(found) >= {"crosster", "p"}
    assert next(iter(found)) == "crosster"
    assert {",", "!"} <= set(ask(player, "lacrosster"))


def test_chances_of_the_known_words_add_up_to_less_than_one():
    player = AdaptivePlayer()
    player.train("a b a c a b d")
    words = ["a", "b", "c", "d"]
    for context in ("", "a ", "a b ", "z "):
        total = sum(math.exp(score) for score in ask(player, context, words).values())
        assert 0.5 < total <= 1


def test_options_are_checked():
    for options in ({"order": 0}, {"order": 9}, {"predictions": 0}, {"unseen": 1.0}):
        with pytest.raises(OptionError):
            AdaptivePlayer(**options)
