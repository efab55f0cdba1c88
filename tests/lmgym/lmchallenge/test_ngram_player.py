"""The n-gram player's numbers equal sums of the model's probabilities, word by word."""

from __future__ import annotations

import math
import random

import pytest

from lmgym.lmchallenge.play.backend_players import NgramPlayer
from lmgym.lmchallenge.play.player import Request
from lmgym.models.backends.ngram import NgramBackend
from lmgym.models.backends.ngram_model import BOS, EOS, UNK, train_ngram

WORDS = ["cat", "cats", "car", "can", "sat", "sad", "on", "only", "the", "them", "then", "mat", "."]
CONTEXTS = [
    "",
    "the ",
    "the ca",
    "c",
    "the cat sat on",
    "them sat, the ",
    "xyzzy the s",
    "the cat sat on the mat.",
]


@pytest.fixture(scope="module", params=[1, 2, 3])
def player(request: pytest.FixtureRequest) -> NgramPlayer:
    rand = random.Random(4)
    lines = [" ".join(rand.choices(WORDS, range(1, 14), k=rand.randrange(2, 8))) for _ in range(300)]
    model = train_ngram(lines, order=request.param, min_count=1)
    return NgramPlayer(NgramBackend(model, fingerprint="test"), predictions=1000)


def chance(player: NgramPlayer, before: list[str], word: str) -> float:
    """Return P(word | all words before it, including the start); the model uses as many as its order
    allows."""
    model = player.model
    history = [BOS, *model.ids(before)][-(model.order - 1) :] if model.order > 1 else []
    (number,) = model.ids([word])
    return float(model.probabilities([number], [history])[0])


def words_of(text: str) -> list[str]:
    """Split a text into words, full stops and commas."""
    return text.replace(".", " . ").replace(",", " , ").split()


def by_hand(player: NgramPlayer, context: str, candidate: str) -> float | None:
    """Return the share of the candidate's first word among all words that the last word of the context may
    still become, times the probabilities of the following words; None if a word is unknown."""
    before = words_of(context)
    begun = before.pop() if context and not context.endswith(" ") else ""
    first, *others = words_of(begun + candidate) or [""]
    known = set(player.model.words)
    if not {first, *others} <= known:
        return None
    room = 1.0
    if begun:
        ordinary = [word for at, word in enumerate(player.model.words) if at not in (UNK, BOS, EOS)]
        room = sum(chance(player, before, word) for word in ordinary if word.startswith(begun))
        room += chance(player, before, "never-seen")
    total = chance(player, before, first) / room
    for word in others:
        before = [*before, first]
        total *= chance(player, before, word)
        first = word
    return math.log(total)


@pytest.mark.parametrize("context", CONTEXTS)
def test_candidates_are_worth_their_share_of_what_may_still_come(player, context):
    candidates = [*WORDS, "t", "ts", "r", "n", "n sat", "nknown", "the mat", "ly", ""]
    (reply,) = player.predict([Request(context, candidates)])
    found = dict(reply)
    for candidate in candidates:
        if not candidate:
            continue
        expected = by_hand(player, context, candidate)
        if expected is None:
            assert candidate not in found
        else:
            assert found[candidate] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("context", ["", "the ", "the cat "])
def test_between_words_all_predictions_and_what_is_none_add_up_to_one(player, context):
    (reply,) = player.predict([Request(context)])
    before = words_of(context)
    model = player.model
    history = [BOS, *model.ids(before)][-(model.order - 1) :] if model.order > 1 else []
    others = sum(model.probabilities([UNK, EOS], [history] * 2))
    assert sum(math.exp(score) for _, score in reply) + others == pytest.approx(1, abs=1e-9)
    for text, score in reply:
        assert math.exp(score) == pytest.approx(chance(player, before, text), abs=1e-12)


def test_inside_a_word_predictions_are_the_best_way_on(player):
    (reply,) = player.predict([Request("the ca")])
    found = dict(reply)
    for rest in ("t", "ts", "r", "n"):
        assert found[rest] == pytest.approx(by_hand(player, "the ca", rest), abs=1e-9)
