"""Needed tokens, and the whitespace correction."""

from __future__ import annotations

import copy
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lmgym.models.backends import load_backend
from lmgym.models.backends.causal import CausalBackend
from lmgym.models.engine import ScoringPolicy, TokenScores
from lmgym.models.engine.plan import needed_tokens
from lmgym.models.engine.scores import ERROR_BITS, TokenError
from lmgym.models.engine.whitespace import blank_sets, corrected_scores, word_ends
from lmgym.suites.regions import join
from tests.lmgym.models import tiny

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
def test_needed_tokens_are_computed_and_all_others_are_flagged(backend: CausalBackend, data: Any) -> None:
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
            skipped = bool(one.not_computed) and one.not_computed[at]
            assert skipped == (not flag and at > 0)
            assert (bit is None) == (skipped or full is None)
            assert bit is None or bit == pytest.approx(full, abs=TOLERANCE)


def test_a_first_token_without_a_start_token_is_unscored_and_not_flagged(backend: CausalBackend) -> None:
    (one,) = scores(backend, ["The keys"], ScoringPolicy(bos="never"), [[(0, 3)]])
    assert one.bits[0] is None
    assert not one.not_computed[0]
    assert one.not_computed[-1]


def test_the_flags_survive_json_and_are_left_out_when_there_are_none(backend: CausalBackend) -> None:
    (part,) = scores(backend, ["The keys"], ScoringPolicy(), [[(0, 3)]])
    (full,) = scores(backend, ["The keys"], ScoringPolicy())
    assert TokenScores.from_dict(part.to_dict()) == part
    assert "not_computed" not in full.to_dict()
    assert "boundary_bits" not in full.to_dict()


def exact_terms(backend: CausalBackend, folder: Path, text: str) -> tuple[list[float], list[float]]:
    """Return per token, in float64, -log2 P(the next token begins with a space, or the text ends), and -log2
    P(neither)."""
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


def test_needed_tokens_are_corrected_as_with_all_tokens(backend: CausalBackend) -> None:
    for parts in SUITE:
        joined = join(parts)
        policy = ScoringPolicy(whitespace="trailing")
        (whole,) = scores(backend, [joined.text], policy)
        for span in joined.spans:
            (part,) = scores(backend, [joined.text], policy, [[(span.start, span.end)]])
            known = corrected_scores(joined.text, whole).bits
            for bit, full, waits in zip(
                corrected_scores(joined.text, part).bits,
                known,
                part.not_computed or [False] * len(part),
                strict=True,
            ):
                assert (bit is None) == (waits or full is None)
                assert bit is None or bit == pytest.approx(full, abs=TOLERANCE)


def test_corrections_telescope_to_the_sentence(backend: CausalBackend) -> None:
    for parts in SUITE:
        joined = join(parts)
        (raw,) = scores(backend, [joined.text], ScoringPolicy(whitespace="trailing"))
        one = corrected_scores(joined.text, raw)
        assert one.boundary_bits is None
        assert raw.boundary_bits is not None
        first, last = raw.boundary_bits[0], raw.boundary_bits[-1]
        assert first is not None
        assert last is not None
        known = math.fsum(bit for bit in raw.bits if bit is not None)
        assert math.fsum(bit for bit in one.bits if bit is not None) == pytest.approx(known - first + last)


def test_the_end_token_does_not_pay_for_the_end_of_the_last_word(backend: CausalBackend) -> None:
    (raw,) = scores(backend, ["The keys"], ScoringPolicy(eos=True, whitespace="trailing"))
    one = corrected_scores("The keys", raw)
    assert raw.boundary_bits is not None
    assert one.bits[-1] == pytest.approx(raw.bits[-1] - raw.boundary_bits[-2])
    assert one.bits[-2] == pytest.approx(raw.bits[-2] + raw.boundary_bits[-2])


def test_only_words_that_end_move_bits() -> None:
    text = "walked, ed"
    one = TokenScores(
        ["<s>", "walk", "ed", ",", " ed"],
        [0, 1, 2, 3, 4],
        [(0, 0), (0, 4), (4, 6), (6, 7), (7, 10)],
        [None, 1.0, 1.0, 1.0, 1.0],
        [True, False, False, False, False],
        boundary_bits=[0.125, 0.25, 0.375, 0.5, 0.75],
    )
    assert corrected_scores(text, one).bits == [None, 0.875, 1.0, 1.5, 1.25]
    raw = TokenScores(["a"], [1], [(0, 1)], [1.0], [False])
    assert corrected_scores("a", raw).bits == [None]


@pytest.mark.parametrize(
    ("text", "offsets", "ends"),
    [
        ("a b", [(0, 1), (1, 3)], [True, True]),  # the space belongs to the token
        ("a b", [(0, 1), (2, 3)], [True, True]),  # the tokenizer omits the space
        ("a b", [(0, 1), (1, 2), (2, 3)], [True, False, True]),  # the space is a separate token
        ("a\u00a0b", [(0, 1), (1, 3)], [False, True]),  # a no-break space is text
        ("é b", [(0, 1), (0, 1), (1, 3)], [False, True, True]),  # two tokens for one character
        ("ab ", [(0, 1), (1, 3)], [False, True]),
    ],
)
def test_where_words_end(text: str, offsets: list[tuple[int, int]], ends: list[bool]) -> None:
    assert word_ends(text, offsets, [False] * len(offsets)) == ends


def test_vocabularies_of_several_kinds() -> None:
    byte = blank_sets(["Ġa", "a", "</s>", "<s>", None], ends=[2], special=[2, 3])
    assert byte == [(1.0, 0.0), (0.0, 1.0), (1.0, 0.0), (0.0, 0.0), (0.0, 0.0)]
    fallback = blank_sets(["<0x0A>", "<0x20>", "<0x41>", "▁a"], ends=[], special=[])
    assert fallback == [(1.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 0.0)]
    pieces = blank_sets(["a", "##a"], ends=[], special=[], continuing="##")
    assert pieces == [(1.0, 1.0), (0.0, 0.0)]


def test_words_with_the_correction_add_up_to_at_most_one() -> None:
    """Probabilities of all words of one or two tokens over a tiny vocabulary, after one context. Without the
    correction, they can add up to more than 1.
    """
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
    assert TokenError(ERROR_BITS["float32"]).of_margin(1, 1) == ERROR_BITS["float32"]
    assert TokenError(1.0).of_margin(100, 100) == pytest.approx(20.0)
    assert ERROR_BITS["bfloat16"] > ERROR_BITS["float32"]
    assert math.isfinite(np.sum(list(ERROR_BITS.values())))
