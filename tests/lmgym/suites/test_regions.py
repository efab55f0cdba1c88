"""lmgym.suites.regions on explicit cases: joins, mistakes of published tools, metrics."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest

from lmgym.models.engine import policy
from lmgym.suites import regions
from lmgym.suites.regions import AlignmentError, Span, align, join, region_values


def spans_of(*contents: str, policy: str = "space") -> list[str]:
    joined = join(contents, policy)
    return [joined.text[span.start : span.end] for span in joined.spans]


class TestJoin:
    def test_space_puts_one_blank_between_regions_and_gives_it_to_the_later_one(self) -> None:
        assert join(["The", "keys", "are"]) == (
            "The keys are",
            (Span(0, 3), Span(3, 8), Span(8, 12)),
        )

    @pytest.mark.parametrize(
        ("contents", "text"),
        [
            (["", "This", "is"], "This is"),
            (["", "", "This", "is"], "This is"),
            (["This", "", "is"], "This is"),
            (["This", "", "", "is", ""], "This is"),
            (["", ""], ""),
            ([], ""),
        ],
    )
    def test_empty_regions_bring_no_blank(self, contents: list[str], text: str) -> None:
        joined = join(contents)
        assert joined.text == text
        assert len(joined.spans) == len(contents)
        assert all(
            (span.start == span.end) == (content == "")
            for span, content in zip(joined.spans, contents, strict=True)
        )

    @pytest.mark.parametrize("mark", list(".,;:!?"))
    def test_natural_leaves_no_blank_before_punctuation(self, mark: str) -> None:
        assert join(["He left", f"{mark} she said"], "natural").text == f"He left{mark} she said"
        assert join([f"He left {mark} she", "said"], "natural").text == f"He left{mark} she said"
        assert join(["He left", f"{mark} she said"], "space").text == f"He left {mark} she said"

    @pytest.mark.parametrize("space", ["\u00a0", "\u202f", "\u2009", "\u3000"])
    def test_spaces_that_do_not_break_are_text_and_stay(self, space: str) -> None:
        inside = f"oui{space}; non{space}!"
        assert all(join([inside], one).text == inside for one in regions.JOIN_POLICIES)
        assert join(["oui", f"{space}; non"], "natural").text == f"oui{space}; non"
        assert join(["oui", f"{space}; non"], "space").text == f"oui {space}; non"

    def test_natural_keeps_other_blanks(self) -> None:
        assert spans_of("He", "( left )", "- and", policy="natural") == ["He", " ( left )", " - and"]
        assert join(["", ", so"], "natural").text == ", so"

    def test_none_joins_directly(self) -> None:
        assert spans_of("猫が", "魚を", "", "食べた", policy="none") == ["猫が", "魚を", "", "食べた"]

    def test_unknown_policy(self) -> None:
        with pytest.raises(ValueError, match="space, natural, none"):
            join(["a"], "tabs")

    def test_the_policy_record_uses_the_same_words(self) -> None:
        assert policy.JOIN_POLICIES == regions.JOIN_POLICIES
        assert policy.METRICS == regions.METRICS


class TestAlign:
    @pytest.mark.parametrize(
        "offsets",
        [
            pytest.param([(0, 4), (4, 7), (7, 9), (9, 15)], id="blank inside the token"),
            pytest.param([(0, 4), (5, 7), (8, 9), (10, 15)], id="blank trimmed"),
        ],
    )
    def test_empty_first_region_does_not_shift_tokens(self, offsets: list[tuple[int, int]]) -> None:
        joined = join(["", "This", "is", "a", "house"])
        assert align(joined, offsets, [False] * 4).region == [1, 2, 3, 4]

    def test_consecutive_empty_regions_in_the_middle_and_at_the_end(self) -> None:
        joined = join(["A", "", "", "dog", "", ""])
        assert align(joined, [(0, 1), (1, 5)], [False] * 2).region == [0, 3]

    def test_special_tokens_are_in_no_region_whatever_their_offsets(self) -> None:
        joined = join(["A", "dog"])
        aligned = align(joined, [(0, 0), (0, 1), (1, 5), (99, 7)], [True, False, False, True])
        assert aligned.region == [-1, 0, 1, -1]
        assert aligned.straddles == [False] * 4

    def test_a_token_over_an_edge_belongs_to_where_it_begins_and_is_flagged(self) -> None:
        joined = join(["walk", "ed", "home"], "none")
        aligned = align(joined, [(0, 3), (3, 6), (6, 10)], [False] * 3)
        assert aligned == ([0, 0, 2], [False, True, False], (1,))

    def test_a_leading_blank_is_no_straddle(self) -> None:
        aligned = align(join(["A", "dog"]), [(0, 2), (1, 5)], [False, False])
        assert aligned.region == [0, 1]
        assert aligned.straddles == [False, False]

    def test_byte_tokens_of_one_character(self) -> None:
        joined = join(["a", "🙂", "b"])
        offsets = [(0, 1), (1, 3), (2, 3), (2, 3), (3, 5)]
        assert align(joined, offsets, [False] * 5).region == [0, 1, 1, 1, 2]

    @pytest.mark.parametrize("blank", [(1, 2), (1, 1), (2, 2)])
    def test_a_blank_alone_belongs_to_the_region_after_it(self, blank: tuple[int, int]) -> None:
        joined = join(["A", "dog", "ran"])
        assert align(joined, [(0, 1), blank, (2, 5), (5, 9)], [False] * 4).region == [0, 1, 1, 2]

    def test_an_empty_range_at_the_start_belongs_to_the_first_region_with_text(self) -> None:
        assert align(join(["", "dog"]), [(0, 0), (0, 3)], [False] * 2).region == [1, 1]

    def test_empty_ranges_of_whole_words_count_where_they_begin(self) -> None:
        # tokenizers#1517: words of the vocabulary get a range that ends where it begins
        joined = join(["The ferry", "leaves"])
        assert align(joined, [(0, 0), (3, 3), (9, 12), (12, 16)], [False] * 4).region == [0, 0, 1, 1]

    def test_an_empty_range_never_goes_back(self) -> None:
        joined = join(["A", "dog", "ran"])
        assert align(joined, [(0, 1), (1, 5), (0, 0), (6, 9)], [False] * 4).region == [0, 1, 2, 2]

    def test_blanks_after_the_last_text_stay_in_the_last_region(self) -> None:
        joined = join(["A", "dog "])
        assert align(joined, [(0, 1), (1, 5), (5, 6), (6, 6)], [False] * 4).region == [0, 1, 1, 1]

    @pytest.mark.parametrize("offset", [(3, 5), (4, 5)])
    def test_a_token_of_a_space_that_does_not_break_counts_for_the_region_that_holds_it(
        self, offset: tuple[int, int]
    ) -> None:
        joined = join(["oui", "\u00a0", "; non"])
        aligned = align(joined, [(0, 3), offset, (5, 7), (7, 11)], [False] * 4)
        assert aligned == ([0, 1, 2, 2], [False] * 4, ())
        assert region_values(aligned, [1.0, 2.0, 4.0, 8.0], 3).values.tolist() == [1.0, 2.0, 12.0]

    def test_a_region_of_a_space_that_the_tokenizer_dropped_has_no_value(self) -> None:
        aligned = align(join(["oui", "\u00a0", "; non"]), [(0, 3), (5, 7), (7, 11)], [False] * 3)
        assert aligned.swallowed == (1,)
        assert math.isnan(region_values(aligned, [1.0, 4.0, 8.0], 3).values[1])

    def test_without_any_text_a_token_has_no_region(self) -> None:
        assert align(join(["", ""]), [(0, 0)], [False]).region == [-1]

    def test_text_that_the_tokenizer_dropped_is_reported(self) -> None:
        assert align(join(["A", "\u200b", "dog"]), [(0, 1), (4, 7)], [False] * 2).swallowed == (1,)

    @pytest.mark.parametrize("offset", [(0, 6), (-1, 2), (3, 2), (9, 9)])
    def test_offsets_outside_the_text(self, offset: tuple[int, int]) -> None:
        with pytest.raises(AlignmentError, match="token 0 has the offsets"):
            align(join(["A", "dog"]), [offset], [False])

    def test_columns_of_unequal_length(self) -> None:
        with pytest.raises(AlignmentError, match="1 offsets but 0 special flags"):
            align(join(["A"]), [(0, 1)], [])
        assert issubclass(AlignmentError, ValueError)


class TestRegionValues:
    joined = join(["The", "keys", "", "are"])
    aligned = align(joined, [(0, 0), (0, 3), (3, 6), (6, 8), (8, 12), (12, 12)], [True, *[False] * 4, True])
    bits = [None, 1.0, 2.0, 5.0, 4.0, 8.0]

    @pytest.mark.parametrize(
        ("metric", "expected"),
        [
            ("sum", [1.0, 7.0, 0.0, 4.0]),
            ("mean", [1.0, 3.5, math.nan, 4.0]),
            ("median", [1.0, 3.5, math.nan, 4.0]),
            ("range", [0.0, 3.0, math.nan, 0.0]),
            ("max", [1.0, 5.0, math.nan, 4.0]),
            ("min", [1.0, 2.0, math.nan, 4.0]),
        ],
    )
    def test_metrics(self, metric: str, expected: list[float]) -> None:
        result = region_values(self.aligned, self.bits, 4, metric)
        np.testing.assert_array_equal(result.values, np.array(expected))
        assert result.special == 8.0
        assert result.total == 20.0

    @pytest.mark.parametrize("missing", [None, math.nan])
    @pytest.mark.parametrize("metric", regions.METRICS)
    def test_an_unscored_token_makes_its_region_and_the_total_unknown(
        self, metric: str, missing: float | None
    ) -> None:
        result = region_values(self.aligned, [None, missing, 2.0, 5.0, 4.0, 8.0], 4, metric)
        assert math.isnan(result.values[0])
        assert not math.isnan(result.values[1])
        assert math.isnan(result.total)
        assert result.special == 8.0

    def test_a_swallowed_region_has_no_value_and_never_zero(self) -> None:
        aligned = align(join(["walk", "ed"], "none"), [(0, 6)], [False])
        result = region_values(aligned, [3.0], 2)
        np.testing.assert_array_equal(result.values, [3.0, math.nan])
        assert result.total == 3.0

    def test_bad_input(self) -> None:
        with pytest.raises(ValueError, match="unknown metric 'all'"):
            region_values(self.aligned, self.bits, 4, "all")
        with pytest.raises(AlignmentError, match="6 aligned tokens but 1 values"):
            region_values(self.aligned, [1.0], 4)
        with pytest.raises(AlignmentError, match="there are 2 regions"):
            region_values(self.aligned, self.bits, 2)


def test_the_module_is_pure() -> None:
    code = (
        "import sys, lmgym.suites.regions;"
        "print([m for m in ('django', 'torch', 'transformers') if m in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"
