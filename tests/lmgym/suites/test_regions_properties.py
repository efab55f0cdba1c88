"""lmgym.suites.regions compared with a slow reference that stores the region of every character."""

from __future__ import annotations

import math
import random
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lmgym.suites.regions import JOIN_POLICIES, METRICS, Alignment, align, join, region_values
from tests.lmgym.models import tiny

WORDS = [
    "the", "keys", "cabinet", "don't", "U.S.", ",", ".", "?", ", and", "! No", "well-known", "a , b", "x ;y",
    "Mädchen", "Käse", "e\u0301", "a\u0308o\u0302", "n\u0303", "\u0301", "猫が", "食べた", "我们 喜欢",
    "नमस्ते", "दुनिया", "🙂", "👩‍👩‍👧", "🇳🇴 flag", "ﬁne", "Ⅷ", "İstanbul", "ß",
    "zqj", "\u200d", "\ufeff", "한국어",
]  # fmt: skip

contents = st.lists(
    st.one_of(
        st.just(""), st.sampled_from(WORDS), st.lists(st.sampled_from(WORDS), min_size=2).map(" ".join)
    ),
    max_size=7,
)
raw_contents = st.lists(st.text(alphabet=" \u00a0ab.,é猫🙂\u0301", max_size=6), max_size=6)
policies = st.sampled_from(JOIN_POLICIES)


def reference_join(parts: list[str], policy: str) -> tuple[str, list[int]]:
    """Build the sentence character by character, with the number of the region that each character belongs
    to.
    """
    text: list[str] = []
    owners: list[int] = []
    for number, part in enumerate(parts):
        kept: list[str] = []
        for position, character in enumerate(part):
            following = part[position:].lstrip(" ")
            glued = policy == "natural" and character == " " and following and following[0] in ".,;:!?"
            if not glued:
                kept.append(character)
        blank = bool(kept) and bool(text) and policy != "none"
        if policy == "natural" and "".join(kept).lstrip()[:1] in [*".,;:!?"]:
            blank = False
        for character in ([" "] if blank else []) + kept:
            text.append(character)
            owners.append(number)
    # A space belongs to the owner of the next other character; at the very end it keeps its own.
    for position in range(len(text) - 2, -1, -1):
        if text[position] == " " and any(later != " " for later in text[position:]):
            owners[position] = owners[position + 1]
    return "".join(text), owners


def reference_align(
    text: str, owners: list[int], offsets: list[tuple[int, int]], special: list[bool]
) -> tuple[list[int], list[bool]]:
    homes: list[int] = []
    straddles: list[bool] = []
    seen = 0
    for (start, end), is_special in zip(offsets, special, strict=True):
        if is_special or not owners:
            homes.append(-1)
            straddles.append(False)
            continue
        seen = max(seen, end)
        inked = [owners[at] for at in range(start, end) if text[at] != " "]
        if inked:
            homes.append(inked[0])
        elif start < end:
            homes.append(owners[start] if text[end:].strip(" ") == "" else owners[end - 1])
        else:
            homes.append(owners[min(seen, len(text) - 1)])
        straddles.append(len(set(inked)) > 1)
    return homes, straddles


def check(parts: list[str], policy: str, offsets: list[tuple[int, int]], special: list[bool]) -> Alignment:
    """Check all properties for any tokens over any sentence."""
    joined = join(parts, policy)
    text, owners = reference_join(parts, policy)
    assert joined.text == text
    assert "".join(text[span.start : span.end] for span in joined.spans) == text
    aligned = align(joined, offsets, special)
    assert (aligned.region, aligned.straddles) == reference_align(text, owners, offsets, special)
    inked = {owner for owner, character in zip(owners, text, strict=True) if character != " "}
    assert set(aligned.swallowed) == inked - set(aligned.region)
    # Conservation: every token in exactly one slot, and nothing lost or counted twice.
    assert len(aligned.region) == len(offsets)
    assert all(-1 <= home < len(parts) for home in aligned.region)
    bits: list[float | None] = [2.0 ** -(number % 20) + number for number in range(len(offsets))]
    for metric in METRICS:
        result = region_values(aligned, bits, len(parts), metric)
        assert result.total == pytest.approx(math.fsum(bits))  # type: ignore[arg-type]
        assert len(result.values) == len(parts)
        if metric == "sum":
            assert np.nansum(result.values) + result.special == pytest.approx(result.total)
            assert set(np.flatnonzero(np.isnan(result.values))) == set(aligned.swallowed)
    return aligned


@st.composite
def cuts(draw: Any, length: int) -> list[tuple[int, int]]:
    """Draw plausible token ranges: in order, some empty, some shared, some with gaps."""
    points = sorted(draw(st.lists(st.integers(0, length), max_size=12)))
    edges = [0, *points, length]
    ranges: list[tuple[int, int]] = []
    for start, end in pairwise(edges):
        ranges.extend([(start, end)] * draw(st.sampled_from([1, 1, 1, 2, 0])))
    return ranges


@given(st.data(), st.one_of(contents, raw_contents), policies)
def test_any_ranges_over_any_sentence(data: st.DataObject, parts: list[str], policy: str) -> None:
    length = len(join(parts, policy).text)
    offsets = data.draw(cuts(length))
    special = data.draw(st.lists(st.booleans(), min_size=len(offsets), max_size=len(offsets)))
    check(parts, policy, offsets, special)


@cache
def tokenizer(family: str, trimmed: bool) -> Any:
    return tiny.train(family, trim_offsets=trimmed)


KINDS = [(family, False) for family in tiny.FAMILIES] + [("byte-bpe", True)]


@pytest.mark.parametrize(("family", "trimmed"), KINDS)
@given(parts=contents, policy=policies)
@example(parts=["", "", "This", "is", "a"], policy="space")
@example(parts=["The keys", "", ", are", "", ""], policy="natural")
@example(parts=["walk", "ed", "", "home"], policy="none")
@example(parts=["猫が", "魚を", "🙂", "e", "\u0301"], policy="none")
def test_real_tokenizers(family: str, trimmed: bool, parts: list[str], policy: str) -> None:
    encoding = tokenizer(family, trimmed).encode(join(parts, policy).text, add_special_tokens=False)
    check(parts, policy, encoding.offsets, [False] * len(encoding.offsets))


@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_regions_of_whole_words_never_straddle_when_joined_by_blanks(family: str) -> None:
    generator = random.Random(7)
    words = [word for line in tiny.CORPUS for word in line.split()]
    for _ in range(40):
        parts = [
            " ".join(generator.choices(words, k=generator.randint(1, 3)))
            for _ in range(generator.randint(1, 6))
        ]
        encoding = tokenizer(family, False).encode(join(parts).text, add_special_tokens=False)
        aligned = align(join(parts), encoding.offsets, [False] * len(encoding.offsets))
        assert not any(aligned.straddles)
        assert aligned.swallowed == ()
        assert set(aligned.region) == set(range(len(parts)))
