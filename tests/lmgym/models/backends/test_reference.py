"""Servers compared with a reference of the same weights: differences per token, and the note about them."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmgym.models.backends import Backend
from lmgym.models.backends.openai import load
from lmgym.models.backends.reference import ReferenceComparison, compare_with_reference, plain_name
from lmgym.models.backends.start_tokens import sentences
from lmgym.models.engine import ScoringFailure, ScoringPolicy, TokenScores
from tests.lmgym.models.backends.completion_server import completion_server


def backend(there, **config) -> Backend:
    config = {"base_url": there.url, "model": "tiny", **config}
    return load(config, model_dir=Path("x"), hub_allowed=False, external_access=there.external_access())


class Reference:
    """A model that gives each token of a text `bits`, after a start token that it records."""

    def __init__(self, model: Backend, change=lambda scores: scores) -> None:
        self.facts = model.facts
        self.starts: list[str] = []
        self._model, self._change = model, change

    def score(self, texts, policy, needed=None):
        self.starts.append(policy.bos)
        return [self._change(scores) for scores in self._model.score(texts, ScoringPolicy())]


def plus(bits: float):
    def change(scores: TokenScores) -> TokenScores:
        values = [None if value is None else value + bits for value in scores.bits]
        values[-1] = None if values[-1] is None else values[-1] + bits
        return TokenScores(scores.tokens, scores.ids, scores.offsets, values, scores.special)

    return change


def compared(change=lambda scores: scores, **how) -> ReferenceComparison:
    with completion_server(**how) as there:
        model = backend(there)
        return compare_with_reference(model, Reference(model, change))


def test_equal_values_agree():
    found = compared()
    assert (found.sentences, found.other_tokens, found.agree) == (20, 0, True)
    assert (found.mean_difference, found.largest_difference) == (0, 0)
    assert found.note("local").startswith("The values agree with the reference local")


def test_mean_and_largest_difference_are_absolute_bits_per_token():
    found = compared(plus(-0.1))
    assert found.mean_difference == pytest.approx(0.1 * (1 + found.sentences / found.tokens))
    assert found.largest_difference == pytest.approx(0.2)
    assert found.agree


def test_values_beyond_the_tolerance_of_half_types_are_a_warning():
    found = compared(plus(0.2))
    assert not found.agree
    assert "Warning: the values do not agree with the reference local within 0.25 bits" in found.note("local")
    assert "0.4 bits at most" in found.note("local")


def test_sentences_with_other_tokens_are_left_out_and_a_warning():
    first, second = sentences()[:2]

    def other(scores: TokenScores) -> TokenScores | ScoringFailure:
        if scores.offsets[-1][1] == len(first):
            return ScoringFailure("too long")
        if scores.offsets[-1][1] == len(second):
            return TokenScores(["x"], [1], [(0, len(second))], [1.0], [False])
        return scores

    with completion_server() as there:
        model = backend(there)
        found = compare_with_reference(model, Reference(model, other), texts=sentences()[:3])
    assert (found.sentences, found.other_tokens, found.agree) == (1, 2, False)
    assert "Sentences with different tokens: 2." in found.note("local")


def test_no_sentence_with_the_same_tokens_is_a_warning_without_numbers():
    found = compared(lambda scores: ScoringFailure("no"))
    assert (found.mean_difference, found.agree) == (None, False)
    assert "Warning: the values could not be compared" in found.note("local")


@pytest.mark.parametrize(
    ("how", "config", "expected"),
    [
        ({}, {}, "never"),
        ({}, {"bos_token": "<s>"}, "<s>"),
        ({"adds_bos": True}, {}, "<s>"),
        ({"adds_bos": True, "leaves_out": True, "counts": True}, {}, "auto"),
    ],
)
def test_the_reference_reads_texts_after_the_start_token_of_the_server(how, config, expected):
    with completion_server(**how) as there:
        model = backend(there, **config)
        reference = Reference(model)
        compare_with_reference(model, reference)
    assert reference.starts == [expected]


@pytest.mark.parametrize("name", ["Org/Model-1B", "model-1b", "models/Model-1B.gguf", "Model-1B.GGUF"])
def test_names_of_the_same_model_are_equal(name):
    assert plain_name(name) == "model-1b"
