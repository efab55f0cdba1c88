"""A log is assigned to a corpus only if the text that it contains is that of the corpus."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmgym.lmchallenge import corpus
from lmgym.lmchallenge.errors import LogError
from lmgym.lmchallenge.logs.alignment import LogText, Match
from lmgym.lmchallenge.play.adaptive import AdaptivePlayer
from lmgym.lmchallenge.play.games import GameOptions
from lmgym.lmchallenge.play.loop import play
from tests.lmgym.lmchallenge.decoded import lines_of as decoded

CATS = "The cat sat.\n\nThe dog sat on the mat.\nNo!\nIs the cat on the mat?\n"


def lines_of(text: str) -> Iterator[corpus.Line]:
    return corpus.read(io.BytesIO(text.encode()), corpus.sniff(text.encode()))


def played(text: str, game: str = "wp", *, targets: bool = True) -> list[dict[str, Any]]:
    made = GameOptions(game, targets=targets).build(["the", "cat", "dog", "sat"])
    return [one.row for one in play(lines_of(text), made, AdaptivePlayer())]


def match(rows: list[dict[str, Any]], text: str) -> Match:
    found, logged = LogText(), decoded(rows)
    for number, line in logged:
        found.add(number, line)
    return found.match(lambda: lines_of(text), lambda at: logged[at][1], "my.log")


COMPARED = {
    ("wp", True): "tokens",
    ("ic", True): "tokens",
    ("tc", True): "texts",
    ("wp", False): "token lengths",
    ("ic", False): "token lengths",
    ("tc", False): "line lengths",
}
every_log = pytest.mark.parametrize(("game", "targets"), COMPARED)


@every_log
def test_a_log_is_of_the_text_that_was_played(game: str, targets: bool) -> None:
    found = match(played(CATS, game, targets=targets), CATS)
    assert found == Match(COMPARED[game, targets], 5, 5, 1, 5)


@every_log
@pytest.mark.parametrize(("first", "last"), [(1, 3), (3, 5), (5, 5)])
def test_a_part_of_the_lines_is_found_where_it_stands(
    game: str, targets: bool, first: int, last: int
) -> None:
    rows = played(CATS, game, targets=targets)[first - 1 : last]
    assert match(rows, CATS) == Match(COMPARED[game, targets], last - first + 1, 5, first, last)


@every_log
def test_lines_may_be_left_out_where_there_are_words(game: str, targets: bool) -> None:
    rows = played(CATS, game, targets=targets)[::2]
    if targets:
        found = match(rows, CATS)
        assert (found.lines, found.first, found.last) == (3, 1, 5)
        assert "3 of 5 lines, in the order of the corpus" in found.words
    else:
        with pytest.raises(LogError, match="line 2: the logged text does not match the corpus"):
            match(rows, CATS)


OTHER = CATS.replace("dog sat", "cow lay")


@pytest.mark.parametrize(
    ("game", "text", "says"),
    [
        ("wp", OTHER, "my.log, line 3: .* Token 2 is 'cow'; in line 3 of the corpus it is 'dog'"),
        ("ic", OTHER, "my.log, line 3: .* Token 2 is 'cow'; in line 3 of the corpus it is 'dog'"),
        ("tc", OTHER, "my.log, line 3: .* From character 5 on, it has 'cow lay on .*'; line 3 .* 'dog sat"),
        ("wp", CATS + "And more.\n", "line 6: .* The corpus ends at line 5"),
        ("wp", "The cat sat\n", r"line 1: .* Token 4 is missing; in line 1 of the corpus it is '\.'"),
        ("wp", "Is the cat on the mat?\nNo!\n", "line 2: .* The corpus ends at"),
    ],
)
def test_another_text_is_refused_where_it_first_differs(game: str, text: str, says: str) -> None:
    with pytest.raises(LogError, match=says) as caught:
        match(played(text, game), CATS)
    assert caught.value.hint.startswith("Choose the corpus that was played, or none.")


@pytest.mark.parametrize(
    ("game", "says"),
    [
        ("wp", "line 3: .* Token 2 is 4 characters long; in line 3 of the corpus it is 3 characters long"),
        ("tc", "line 3: .* Characters in the log: 24; in line 3 of the corpus: 23"),
    ],
)
def test_lengths_are_compared_where_there_are_no_words(game: str, says: str) -> None:
    with pytest.raises(LogError, match=says):
        match(played(CATS.replace("dog", "bear"), game, targets=False), CATS)
    same_lengths = played(CATS.replace("dog", "cow"), game, targets=False)
    assert "The log has no words; the lengths of all" in match(same_lengths, CATS).words


def test_words_that_are_cut_elsewhere_are_the_same_text_and_said_to_be() -> None:
    text = "Fine \N{THUMBS UP SIGN}\N{EMOJI MODIFIER FITZPATRICK TYPE-4}\nYes\n"
    rows = [{"wordPredictions": [{"target": "Fine"}, {"target": text[5:7]}]}, *played("Yes\n")]
    found = match(rows, text)
    assert (found.compared, found.recut) == ("tokens", 1)
    assert "Lines whose tokens in the log differ from those of the corpus: 1." in found.words


@given(st.lists(st.text(st.characters()), min_size=1, max_size=4))
def test_no_game_of_ours_is_refused(texts: list[str]) -> None:
    text = "".join(json.dumps({"text": one}) + "\n" for one in texts)
    for game, targets in COMPARED:
        found = match(played(text, game, targets=targets), text)
        assert (found.lines, found.of, found.recut) == (len(texts), len(texts), 0)


def test_of_many_equal_lines_the_first_that_differs_is_named() -> None:
    text = "a\n" * 2_000
    rows: list[dict[str, Any]] = [{"wordPredictions": [{"targetChars": 1}]}] * 1_000
    assert match([*rows, *rows], text).lines == 2_000
    with pytest.raises(LogError, match="line 1001"):
        match([*rows, {"wordPredictions": [{"targetChars": 2}]}], text)
