"""Long lists in messages are shortened and say how much is omitted."""

from __future__ import annotations

from lmgym.text import listing


def test_a_list_names_eight_and_says_how_many_more_there_are():
    assert listing("abcdefgh") == "a, b, c, d, e, f, g, h"
    assert listing("abcdefghi") == "a, b, c, d, e, f, g, h and 1 more"
