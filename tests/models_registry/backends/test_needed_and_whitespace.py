"""Needed tokens first, the rest later; and the two terms of the whitespace correction."""

from __future__ import annotations

import copy
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from models_registry.backends import load_backend
from models_registry.backends.causal import CausalBackend
from models_registry.engine import ScoringPolicy, TokenScores, region_terms
from models_registry.engine.bounds import ERROR_BITS, margin_bound
from models_registry.engine.needs import needed_tokens
from models_registry.engine.whitespace import blank_sets
from suites.regions import align, join, region_values
from tests.models_registry import tiny

TOLERANCE = 5e-4
SUITE = [
    ["The keys", "to the cabinet", "are", "on the table", "."],
    ["The keys", "to the cabinet", "is", "on the table", "."],
    ["The horse", "", "fell", ", and", "nobody saw it."],
]


@pytest.fixture(scope="module")
def backend(tiny_models: Path) -> CausalBackend:
    config = {"source": "directory", "path": "byte-bpe"}
    loaded = load_backend("causal", config, model_dir=tiny_models, hub_allowed=False)
    assert isinstance(loaded, CausalBackend)
    return loaded


def scores(backend: CausalBackend, texts: list[str], policy: ScoringPolicy, needed: Any = None) -> list[Any]:
    found = backend.score(texts, policy, needed)
    assert all(isinstance(one, TokenScores) for one in found)
    return list(found)


@settings(max_examples=25)
@given(data=st.data())
def test_needed_tokens_are_computed_and_all_others_are_pending(backend: CausalBackend, data: Any) -> None:
    texts = [join(parts).text for parts in SUITE] + [join(SUITE[0]).text]
    spans = [
        data.draw(st.lists(st.tuples(st.integers(0, len(text)), st.integers(0, len(text))), max_size=2))
        for text in texts
    ]
    policy = ScoringPolicy(eos=data.draw(st.booleans()))
    whole = scores(backend, texts, policy)
    first = scores(backend, texts, policy, spans)
    for text, own, one, all_of_it in zip(texts, spans, first, whole, strict=True):
        together = [*own, *(other for t, s in zip(texts, spans, strict=True) if t == text for other in s)]
        flags = needed_tokens(one.offsets, together)
        for at, (bit, full, flag) in enumerate(zip(one.bits, all_of_it.bits, flags, strict=True)):
            pending = bool(one.pending) and one.pending[at]
            assert pending == (not flag and at > 0)
            assert (bit is None) == (pending or full is None)
            assert bit is None or bit == pytest.approx(full, abs=TOLERANCE)
    rest = scores(backend, texts, policy, [one.pending_spans() for one in first])
    for one, later, all_of_it in zip(first, rest, whole, strict=True):
        filled = one.filled(later)
        assert filled.complete
        assert filled.bits[1:] == pytest.approx(all_of_it.bits[1:], abs=TOLERANCE)


def test_a_first_token_without_a_start_token_is_unscored_and_not_pending(backend: CausalBackend) -> None:
    (one,) = scores(backend, ["The keys"], ScoringPolicy(bos="never"), [[(0, 3)]])
    assert one.bits[0] is None
    assert not one.pending[0]
    assert one.pending[-1]


def test_pending_survives_json_and_is_left_out_when_there_is_none(backend: CausalBackend) -> None:
    (part,) = scores(backend, ["The keys"], ScoringPolicy(), [[(0, 3)]])
    (full,) = scores(backend, ["The keys"], ScoringPolicy())
    assert TokenScores.from_dict(part.to_dict()) == part
    assert "pending" not in full.to_dict()
    assert "boundary_bits" not in full.to_dict()
    with pytest.raises(ValueError, match="different texts"):
        part.filled(scores(backend, ["The horse"], ScoringPolicy())[0])


def exact_terms(backend: CausalBackend, folder: Path, text: str) -> tuple[list[float], list[float]]:
    """Per token, in float64: -log2 of the mass of tokens that begin with a blank (or end), and of all others."""
    from transformers import GPT2LMHeadModel

    model = GPT2LMHeadModel.from_pretrained(folder).double().eval()
    tokenizer = backend._tokenizer
    ids = [1, *tokenizer(text, add_special_tokens=False)["input_ids"]]
    with torch.no_grad():
        chances = torch.softmax(model(torch.tensor([ids])).logits[0], dim=-1)
    blank, other = torch.zeros(len(ids), dtype=torch.double), torch.zeros(len(ids), dtype=torch.double)
    for token, number in tokenizer.get_vocab().items():
        if token == "</s>" or tokenizer.convert_tokens_to_string([token]).startswith((" ", "\t", "\n", "\r")):
            blank += chances[:, number]
        elif token not in ("<s>", "<unk>"):
            other += chances[:, number]
    return (-torch.log2(blank)).tolist(), (-torch.log2(other)).tolist()


def test_boundary_bits_equal_their_float64_values(backend: CausalBackend, tiny_models: Path) -> None:
    policy = ScoringPolicy(whitespace="trailing")
    for parts in SUITE:
        text = join(parts).text
        (one,) = scores(backend, [text], policy)
        (raw,) = scores(backend, [text], ScoringPolicy())
        assert raw.boundary_bits is None
        assert one.bits[1:] == pytest.approx(raw.bits[1:], abs=TOLERANCE)
        blank, other = exact_terms(backend, tiny_models / "byte-bpe", text)
        assert one.boundary_bits == pytest.approx([other[0], *blank[1:]], abs=TOLERANCE)
        assert TokenScores.from_dict(one.to_dict()) == one


def test_needed_regions_bring_their_two_terms(backend: CausalBackend) -> None:
    joined = join(SUITE[0])
    policy = ScoringPolicy(whitespace="trailing")
    (whole,) = scores(backend, [joined.text], policy)
    span = joined.spans[2]
    (part,) = scores(backend, [joined.text], policy, [[(span.start, span.end)]])
    spans = [(each.start, each.end) for each in joined.spans]
    assert region_terms(joined.text, spans, part)[2] == pytest.approx(
        region_terms(joined.text, spans, whole)[2], abs=TOLERANCE
    )


def test_corrections_telescope_to_the_sentence(backend: CausalBackend) -> None:
    joined = join(SUITE[1])
    (one,) = scores(backend, [joined.text], ScoringPolicy(whitespace="trailing"))
    values = region_values(align(joined, one.offsets, one.special), one.bits, 5)
    terms = region_terms(joined.text, [(span.start, span.end) for span in joined.spans], one)
    assert one.boundary_bits is not None
    for left, right in pairwise(terms):
        assert left.after == right.before
    corrected = sum(
        value - (term.before or 0.0) + (term.after or 0.0)
        for value, term in zip(values.values, terms, strict=True)
    )
    first, last = one.boundary_bits[0], one.boundary_bits[-1]
    assert first is not None
    assert last is not None
    assert corrected == pytest.approx(values.total - first + last)


def test_regions_without_a_word_end_have_no_term() -> None:
    text, spans = "walked, ed", [(0, 6), (6, 7), (7, 7), (7, 10)]
    one = TokenScores(
        ["<s>", "walk", "ed", ",", " ed"],
        [0, 1, 2, 3, 4],
        [(0, 0), (0, 4), (4, 6), (6, 7), (7, 10)],
        [None, 1.0, 1.0, 1.0, 1.0],
        [True, False, False, False, False],
        boundary_bits=[0.1, 0.2, 0.3, 0.4, 0.5],
    )
    assert region_terms(text, spans, one) == [(0.1, 0.0), (0.0, 0.4), (0.0, 0.0), (0.4, 0.5)]
    raw = TokenScores(["a"], [1], [(0, 1)], [1.0], [False])
    assert region_terms("a", [(0, 1)], raw) == [(None, None)]


def test_vocabularies_of_several_kinds() -> None:
    byte = blank_sets(["Ġa", "a", "</s>", "<s>", None], ends=[2], special=[2, 3])
    assert byte == [(1.0, 0.0), (0.0, 1.0), (1.0, 0.0), (0.0, 0.0), (0.0, 0.0)]
    fallback = blank_sets(["<0x0A>", "<0x20>", "<0x41>", "▁a"], ends=[], special=[])
    assert fallback == [(1.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 0.0)]
    pieces = blank_sets(["a", "##a"], ends=[], special=[], continuing="##")
    assert pieces == [(1.0, 1.0), (0.0, 0.0)]


def test_words_with_the_correction_add_up_to_at_most_one() -> None:
    """All words of one or two tokens over a tiny vocabulary, after one context: raw sums may pass 1."""
    model = copy.deepcopy(tiny.gpt2(8)).double()
    blank, inner = [3, 4], [5, 6, 7]  # 2 ends the text
    with torch.no_grad():

        def after(ids: list[int]) -> torch.Tensor:
            return torch.softmax(model(torch.tensor([ids])).logits[0, -1], dim=-1)

        context = [1, 5]
        ends = [*blank, 2]
        total = 0.0
        for head in blank:
            start = after(context)[head]
            total += float(start * after([*context, head])[ends].sum())
            for tail in inner:
                two = start * after([*context, head])[tail]
                total += float(two * after([*context, head, tail])[ends].sum())
        assert total / float(after(context)[ends].sum()) <= 1.0 + 1e-9


def test_error_bounds_grow_slower_than_the_number_of_tokens() -> None:
    assert margin_bound(ERROR_BITS["float32"], 1) == ERROR_BITS["float32"]
    assert margin_bound(1.0, 100) == pytest.approx(20.0)
    assert ERROR_BITS["bfloat16"] > ERROR_BITS["float32"]
    assert math.isfinite(np.sum(list(ERROR_BITS.values())))
