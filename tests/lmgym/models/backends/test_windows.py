"""Texts longer than the model's context are scored in windows that overlap, if the policy says so."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lmgym.errors import BackendError
from lmgym.evaluation import score
from lmgym.models.backends import ModelFacts
from lmgym.models.backends.base import refusal
from lmgym.models.backends.causal import CausalBackend, from_memory
from lmgym.models.engine import ScoringFailure, ScoringPolicy, TokenScores
from lmgym.models.engine.windows import windows
from lmgym.runs import score_store
from tests.lmgym.models import tiny

CONTEXT = 12
LONG = " ".join(tiny.CORPUS[:2]) + " The boy that the girl likes left."
SHORT = "The keys"
TOLERANCE = 5e-4


@pytest.fixture(scope="module")
def parts() -> tuple[Any, Any, CausalBackend]:
    tokenizer = tiny.fast(tiny.train("byte-bpe"))
    model = tiny.gpt2(len(tokenizer), context=CONTEXT)
    return model, tokenizer, from_memory(model, tokenizer)


def scored(backend: CausalBackend, text: str, policy: ScoringPolicy, needed: Any = None) -> TokenScores:
    found = backend.score([text], policy, needed)[0]
    assert isinstance(found, TokenScores)
    return found


def by_hand(model: Any, body: list[int], start: list[int], overlap: int) -> list[float | None]:
    """Compute surprisals with plain transformers, window by window."""
    size = CONTEXT - len(start)
    bits: list[float | None] = []
    begin = 0
    while len(bits) < len(body):
        window = start + body[begin : begin + size]
        logs = model(torch.tensor([window])).logits[0].log_softmax(-1) / -math.log(2)
        for at in range(len(bits) - begin + len(start), len(window)):
            bits.append(logs[at - 1, window[at]].item() if at else None)
        begin += size - overlap
    return bits


@given(st.integers(0, 200), st.integers(1, 40), st.data())
def test_every_token_is_scored_once_after_the_stated_overlap(length: int, size: int, data: Any) -> None:
    overlap = data.draw(st.integers(0, size - 1))
    cut = windows(length, size, overlap)
    assert [at for window in cut for at in range(window.fresh, window.end)] == list(range(length))
    assert all(window.end - window.begin <= size for window in cut)
    assert cut[0].begin == 0
    assert all(window.fresh - window.begin == overlap for window in cut[1:])


@pytest.mark.parametrize("bos", ["always", "never"])
@pytest.mark.parametrize("overlap", [1, 4, CONTEXT - 2])
def test_values_are_those_of_plain_transformers_window_by_window(parts: Any, bos: str, overlap: int) -> None:
    model, tokenizer, backend = parts
    body = tokenizer(LONG, add_special_tokens=False)["input_ids"]
    assert len(body) > 3 * CONTEXT
    start = [tokenizer.bos_token_id] if bos == "always" else []
    found = scored(backend, LONG, ScoringPolicy(bos=bos, eos=True, overlap=overlap))
    assert found.ids == [*start, *body, tokenizer.eos_token_id]
    expected = [None] * len(start) + by_hand(model, found.ids[len(start) :], start, overlap)
    assert [bits is None for bits in found.bits] == [True] + [False] * (len(found) - 1)
    assert found.bits[1:] == pytest.approx(expected[1:], abs=TOLERANCE)


def test_the_first_window_and_short_texts_have_their_usual_values(parts: Any) -> None:
    *_, backend = parts
    found = scored(backend, LONG, ScoringPolicy(overlap=3))
    end = found.offsets[CONTEXT - 1][1]
    usual = scored(backend, LONG[:end], ScoringPolicy())
    assert usual.ids == found.ids[:CONTEXT]
    assert found.bits[1:CONTEXT] == pytest.approx(usual.bits[1:], abs=TOLERANCE)
    assert scored(backend, SHORT, ScoringPolicy(overlap=3)) == scored(backend, SHORT, ScoringPolicy())


def test_without_the_policy_a_longer_text_is_refused(parts: Any) -> None:
    *_, backend = parts
    (failure,) = backend.score([LONG], ScoringPolicy())
    assert isinstance(failure, ScoringFailure)
    assert "the model reads at most 12" in failure.reason


def test_needed_tokens_have_the_same_values_in_windows(parts: Any) -> None:
    *_, backend = parts
    policy = ScoringPolicy(overlap=4, whitespace="trailing")
    whole = scored(backend, LONG, policy)
    span = (LONG.index("and nobody"), LONG.index("The boy"))
    part = scored(backend, LONG, policy, [[span]])
    kept = [at for at, (start, end) in enumerate(part.offsets) if start < span[1] and end > span[0]]
    assert [at for at, bits in enumerate(part.bits) if bits is not None] == kept
    assert whole.boundary_bits is not None
    assert part.boundary_bits is not None
    for at in kept:
        assert part.bits[at] == pytest.approx(whole.bits[at], abs=TOLERANCE)
        for place in (at - 1, at):
            assert part.boundary_bits[place] == pytest.approx(whole.boundary_bits[place], abs=TOLERANCE)


def test_whitespace_after_a_token_comes_from_the_window_of_the_token(parts: Any) -> None:
    model, tokenizer, backend = parts
    found = scored(backend, LONG, ScoringPolicy(overlap=4, whitespace="trailing"))
    assert found.boundary_bits is not None
    assert None not in found.boundary_bits
    blank = [
        number
        for token, number in tokenizer.get_vocab().items()
        if token.startswith(("Ġ", "Ċ", "ĉ", "č")) or number == tokenizer.eos_token_id
    ]
    at, begin = (
        CONTEXT + 3,
        1 + (CONTEXT - 1) - 4,
    )  # in the second window, which begins 4 tokens before the end
    window = [tokenizer.bos_token_id, *found.ids[begin : at + 1]]
    logs = model(torch.tensor([window])).logits[0, -1].log_softmax(-1)
    assert found.boundary_bits[at] == pytest.approx(
        logs[blank].logsumexp(0).item() / -math.log(2), abs=TOLERANCE
    )


def test_an_overlap_that_leaves_no_room_is_refused_in_words(parts: Any) -> None:
    *_, backend = parts
    with pytest.raises(BackendError, match=r"An overlap of 11 tokens leaves no room .* at most 10"):
        backend.score([LONG], ScoringPolicy(overlap=11))
    with pytest.raises(BackendError, match="Without a start token, an overlap of 0"):
        backend.score([LONG], ScoringPolicy(overlap=0, bos="never"))
    for bad in (-1, 1.5, True, "4"):
        with pytest.raises(ValueError, match="choose a number of tokens"):
            ScoringPolicy.from_dict({"overlap": bad})


@pytest.mark.parametrize("kind", ["masked", "openai", "lmzoo"])
def test_other_kinds_of_models_refuse_windows(kind: str) -> None:
    assert "omit the overlap" in refusal(kind, ScoringPolicy(overlap=4))
    assert refusal("causal", ScoringPolicy(overlap=4)) == ""


def test_the_library_scores_long_texts(parts: Any) -> None:
    model, tokenizer, _ = parts
    frame = score(LONG, (model, tokenizer), policy={"overlap": 4})
    assert set(frame["failure"]) == {""}
    assert frame["surprisal"].notna().sum() == len(frame) - 1


def test_a_policy_without_windows_is_stored_and_cached_as_before() -> None:
    facts = ModelFacts(1, 1, "", CONTEXT, "<s>", None, "float32", "cpu", "", "0" * 64)
    assert "overlap" not in ScoringPolicy().to_dict()
    assert ScoringPolicy.from_dict(ScoringPolicy(overlap=4).to_dict()) == ScoringPolicy(overlap=4)
    keys = {score_store.scorer_key(facts, ScoringPolicy(overlap=overlap)) for overlap in (None, 0, 4)}
    assert len(keys) == 3
    recorded = "69b95bc077d7b1f333ead48857e31e375222366da60447ca85346d8835189b6d"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(score_store, "ENGINE_VERSION", "4")
        assert score_store.scorer_key(facts, ScoringPolicy()) == recorded
