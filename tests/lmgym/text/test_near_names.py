"""“Did you mean …?” finds typing errors, with bounded effort for any input."""

from __future__ import annotations

import pytest

from lmgym.text.near_names import MOST_CANDIDATES, nearest_name

CONDITIONS = ["match_sing", "match_plural", "mismatch_sing", "mismatch_plural"]


@pytest.mark.parametrize(
    ("written", "meant"),
    [("mismach_sing", "mismatch_sing"), ("match-plural", "match_plural"), ("filler", ""), ("", "")],
)
def test_the_nearest_name_is_found_where_one_is_alike(written, meant):
    assert nearest_name(written, CONDITIONS) == meant


def test_long_names_are_compared_by_their_first_characters_and_given_whole():
    assert nearest_name("x" * 39 + "y" + "a" * 5_000, ["x" * 40 + "b" * 5_000]) == "x" * 40 + "b" * 5_000


def test_names_beyond_the_bound_are_not_compared():
    others = (f"{number:04d}" * 8 for number in range(MOST_CANDIDATES))
    assert nearest_name("gap", [*others, "gap"]) == ""
