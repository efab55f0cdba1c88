"""Scores that `lmgym.evaluate(cache=…)` keeps between calls."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import lmgym
from lmgym.errors import InvalidArgument
from lmgym.models.backends.uniform import UniformBackend
from lmgym.models.engine import ScoringFailure, ScoringPolicy
from lmgym.runs.score_store import FileStore
from tests.lmgym.suites.documents import suite_json
from tests.lmgym.test_evaluate import Words


class Counting(UniformBackend):
    """A uniform model that counts the sentences it scores."""

    def __init__(self) -> None:
        super().__init__(vocabulary_size=8)
        self.asked = 0

    def score(self, texts, policy):
        self.asked += len(texts)
        return super().score(texts, policy)


@pytest.fixture
def model() -> Counting:
    return Counting()


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "new folder" / "scores.sqlite3"


def test_a_second_call_gives_the_same_tokens_without_the_model(model, cache):
    first = lmgym.evaluate(suite_json(), model, cache=cache)
    asked = model.asked
    again = lmgym.evaluate(suite_json(), model, cache=cache)
    assert asked > 0
    assert model.asked == asked
    pd.testing.assert_frame_equal(first.tokens(), again.tokens())


def test_only_a_changed_sentence_is_scored_again(model, cache):
    lmgym.evaluate(suite_json(), model, cache=cache)
    asked, changed = model.asked, suite_json()
    changed["items"][0]["conditions"][0]["regions"][0]["content"] = "Unheard words"
    lmgym.evaluate(changed, model, cache=cache)
    assert model.asked == asked + 1


def test_another_policy_has_scores_of_its_own(model, cache):
    lmgym.evaluate(suite_json(), model, cache=cache)
    asked = model.asked
    lmgym.evaluate(suite_json(), model, policy={"eos": True}, cache=cache)
    assert model.asked == 2 * asked


def test_a_model_of_ones_own_code_is_always_asked(cache):
    words = Words()
    for _ in range(2):
        lmgym.evaluate(suite_json(), words, cache=cache)
    assert len(words.calls) == 2
    assert not cache.exists()


def test_a_failure_that_may_pass_is_not_kept(model, cache):
    store = FileStore(cache, model.facts, ScoringPolicy())
    store.write({"a": ScoringFailure("server away", transient=True), "b": ScoringFailure("too long")})
    assert store.read(["a", "b"]) == {"b": ScoringFailure("too long")}


def test_a_file_that_is_no_cache_is_refused_and_left_alone(model, tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("mine " * 100)
    with pytest.raises(InvalidArgument, match=r"score cache .*notes\.txt cannot be used"):
        lmgym.evaluate(suite_json(), model, cache=path)
    assert path.read_text() == "mine " * 100
