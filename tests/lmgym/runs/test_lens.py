"""Tokens in their regions, and tokens that are parts of one character."""

from __future__ import annotations

import pytest

from lmgym.runs.compute import SentenceResult
from lmgym.runs.lens import parts_of_characters, shown_sentence


@pytest.mark.parametrize(
    ("places", "parts"),
    [
        ([(0, 1), (0, 1), (0, 1), (1, 2)], ["1/3", "2/3", "3/3", ""]),
        ([(0, 1), (0, 1), (1, 2), (1, 2)], ["1/2", "2/2", "1/2", "2/2"]),
        ([(3, 5), (4, 5)], ["1/2", "2/2"]),  # the first token also has the space before the character
        (
            [(0, 1), (0, 2), (1, 2)],
            ["1/3", "2/3", "3/3"],
        ),  # the second ends one character and begins the next
        ([(0, 0), (0, 3), (3, 7), (7, 7), (7, 7)], [""] * 5),  # start and end tokens cover nothing
    ],
)
def test_neighbours_that_share_a_character_are_numbered(
    places: list[tuple[int, int]], parts: list[str]
) -> None:
    assert parts_of_characters(places) == parts


def test_every_token_stands_in_its_region_and_the_start_token_outside() -> None:
    tokens: list[list[object]] = [
        ["<s>", 0, 0, 0, None, -1, False],
        ["the", 1, 0, 3, 2.0, 0, False],
        [" cat", 2, 3, 7, 5.0, 1, False],
    ]
    result = SentenceResult(0, 1, "match", "the cat", [2.0, 5.0], 0.0, 7.0, tokens)
    shown = shown_sentence(result, ["det", "noun"], ["the", "cat"], {2})
    assert [token.token for token in shown.specials] == ["<s>"]
    assert [[token.text for token in region.tokens] for region in shown.regions] == [["the"], [" cat"]]
    assert [(region.region_number, region.region, region.critical) for region in shown.regions] == [
        (1, "det", False),
        (2, "noun", True),
    ]
