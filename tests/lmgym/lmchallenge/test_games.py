"""The games with scripted players: ranks, ties, the greedy typist, the error model, users and training."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmgym.lmchallenge import corpus
from lmgym.lmchallenge.errors import OptionError
from lmgym.lmchallenge.play import typing_errors
from lmgym.lmchallenge.play.games import GameOptions
from lmgym.lmchallenge.play.loop import play
from lmgym.lmchallenge.tokens import EMOJI, FILTERS, tokens


class Scripted:
    """Player that answers with a function and records all calls."""

    def __init__(self, answer, together: int = 1) -> None:
        self.answer, self.together, self.told = answer, together, []

    def predict(self, requests):
        self.told.extend(f"? {context}" for context, _ in requests)
        return [self.answer(*request) for request in requests]

    def train(self, text):
        self.told.append(f"+ {text}")

    def clear(self):
        self.told.append("clear")

    def check(self): ...

    def close(self): ...


def lines(*rows):
    found = [{"text": row} if isinstance(row, str) else dict(row) for row in rows]
    return [corpus.Line(number, row.pop("text"), row) for number, row in enumerate(found, 1)]


def entries(game, text, answer):
    (played,) = play(lines(text), game.build(["hat", "cat", "bat", "at"]), Scripted(answer))
    return played.row[next(iter(played.row))]


def test_ties_count_against_the_model_and_order_does_not_matter():
    replies = [("b", 1.0), ("a", 1.0), ("a", 5.0), ("c", 1.0), ("d", 0.5)]
    (found,) = entries(GameOptions("wp"), "a", lambda *_: replies)
    assert found == {"target": "a", "rank": 4, "score": 1.0}


def test_a_miss_has_neither_rank_nor_score():
    assert entries(GameOptions("wp"), "A", lambda *_: [("a", 1.0)]) == [{"target": "A"}]


def test_the_typist_takes_the_longest_of_the_first_n_as_returned():
    answers = {"": [("", 9.0), ("x", 8.0), ("t", 1.0), ("the cat", 0.0)], "t": [("h", 1.0), ("he", 0.0)]}
    found = entries(GameOptions("tc", select_from=3), "the", lambda context, _: answers.get(context, []))
    assert found == [{"target": "t", "rank": 2, "score": 1.0}, {"target": "he", "rank": 1, "score": 0.0}]
    corrected = entries(
        GameOptions("tc", readings="corrected"), "the", lambda context, _: answers.get(context, [])
    )
    assert [entry["rank"] for entry in corrected] == [3, 2]


def test_without_targets_a_log_says_lengths_only():
    answer = lambda context, given: [(word, -1.0) for word in given or ["cat"]]  # noqa: E731
    assert entries(GameOptions("wp", targets=False, predictions=True), "cat", answer) == [
        {"targetChars": 3, "rank": 1, "score": -1.0}
    ]
    (found,) = entries(GameOptions("ic", targets=False, num_candidates=2), "cat", answer)
    assert set(found) == {"score", "targetChars", "verbatimMatch", "candidates"}
    assert all(len(candidate) == 2 for candidate in found["candidates"])


@given(
    st.text(max_size=12), st.text(max_size=12), st.integers(-2, 5), st.lists(st.text(max_size=4), max_size=8)
)
def test_candidates_hold_the_word_and_what_was_typed(target, typed, n, words):
    found = typing_errors.candidates(typing_errors.Vocabulary(words), typed, target, n)
    assert {target, typed} <= set(found)
    assert len(found) == len(set(found)) <= max(n, 0) + 2


def test_errors_are_drawn_as_pythons_generator_draws_them():
    model = typing_errors.ErrorModel(0.5, "xyz")
    rand, other = random.Random(7), random.Random(7)
    expected = "".join(other.choice("xyz") if other.random() < 0.5 else char for char in "hello world")
    assert model.corrupt("hello world", rand) == expected
    for bad in ({"p": 0.0}, {"p": 1.0}, {"chars": ""}):
        with pytest.raises(OptionError):
            typing_errors.ErrorModel(**bad)


USERS = (
    {"userId": "a", "timestamp": 1, "text": "one"},
    {"userId": "a", "timestamp": 2, "text": "two two"},
    {"userId": "a", "timestamp": 2, "text": "three"},
    {"userId": "a", "text": "four"},
    {"userId": "a", "text": "five"},
    {"userId": "b", "timestamp": None, "text": "six"},
    {"userId": "b", "timestamp": None, "text": "seven"},
    {"userId": "a", "timestamp": 9, "text": "", "lang": "en"},
)


def test_training_follows_users_and_timestamps():
    player = Scripted(lambda *_: [])
    played = list(play(lines(*USERS), GameOptions("wp").build(), player, train=True))
    assert player.told == [
        *(
            "clear",
            "? ",
            "+ one",
            "? ",
            "? two ",
            "? ",
            "+ two two",
            "+ three",
            "? ",
            "+ four",
            "? ",
            "+ five",
        ),
        *("clear", "? ", "? ", "+ six", "+ seven", "clear", "+ "),
    ]
    assert [line.row["trainingChars"] for line in played] == [0, 3, 3, 13, 17, 0, 0, 0]
    assert played[-1].row == {
        "userId": "a", "timestamp": 9, "lang": "en", "trainingChars": 0, "wordPredictions": []
    }  # fmt: skip
    corrected = play(lines(*USERS), GameOptions("wp").build(), player, train=True, readings="corrected")
    assert [line.row["trainingChars"] for line in corrected] == [0, 3, 3, 15, 19, 0, 0, 0]


class Learner(Scripted):
    """Player that predicts the words it was trained on."""

    def __init__(self, together: int = 1) -> None:
        super().__init__(None, together)
        self.known: list[str] = []

    def predict(self, requests):
        return [
            [(word, float(self.known.count(word))) for word in dict.fromkeys(self.known)] for _ in requests
        ]

    def train(self, text):
        self.known.extend(text.split())

    def clear(self):
        self.known = []


CORPUS = [
    {"userId": f"u{number // 7}", "timestamp": number // 2, "text": f"w{number % 3} cat w{number % 4} hat"}
    for number in range(24)
]


@pytest.mark.parametrize("game", ["wp", "tc", "ic"])
@pytest.mark.parametrize(
    ("train", "readings"), [(False, "reference"), (True, "reference"), (True, "corrected")]
)
@pytest.mark.parametrize("skip", [1, 5, 6, 7, 8, 13, 24])
def test_going_on_after_a_break_gives_what_was_to_come(game, train, readings, skip):
    options = GameOptions(game, num_candidates=3, p_anykey=0.4)
    words = ["cat", "hat", "w1"]
    how = {"train": train, "readings": readings}
    whole = list(play(lines(*CORPUS), options.build(words), Learner(), **how))
    rest = list(play(lines(*CORPUS), options.build(words), Learner(), **how, skip=skip))
    assert rest == whole[skip:]


@pytest.mark.parametrize("game", ["wp", "tc", "ic"])
@pytest.mark.parametrize("train", [False, True])
def test_playing_side_by_side_changes_nothing(game, train):
    options = GameOptions(game, num_candidates=3, p_anykey=0.4)
    alone = list(play(lines(*CORPUS), options.build(["cat", "hat"]), Learner(), train=train))
    beside = list(play(lines(*CORPUS), options.build(["cat", "hat"]), Learner(together=5), train=train))
    assert alone == beside


# -- tokens -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I can't :-) 3.14", ["I", "can't", ":-)", "3", ".", "14"]),
        ("don’t a.b@c -- —", ["don", "’", "t", "a", ".", "b@c", "--", "—"]),
        ("👍🏽 ❤️ 🇬🇧🇫🇷", ["👍", "🏽", "❤", "🇬🇧🇫🇷"]),
        ("!💩 💩! 🥹🥹", ["!💩", "💩", "!", "🥹🥹"]),
        ("cafe\u0301 今天天气", ["cafe", "今天天气"]),
        ("", []),
    ],
)
def test_tokens(text, expected):
    assert [token for _, token in tokens(text)] == expected


def test_the_emoji_are_frozen():
    assert len(EMOJI) == 1087
    assert {"💩", "❤", "🏽", "©"} <= EMOJI
    assert EMOJI.isdisjoint("0#*🥹🇬")


@given(st.text())
def test_tokens_are_slices_of_the_line(text):
    for start, token in tokens(text):
        assert text[start : start + len(token)] == token


def test_filters():
    passes = {
        name: [t for t in ("cat", "can't", "@HOME", "💩", "3", "a b", "!?") if keep(t)]
        for name, keep in FILTERS.items()
    }
    assert passes == {
        "all": ["cat", "can't", "@HOME", "💩", "3", "a b", "!?"],
        "nospace": ["cat", "can't", "@HOME", "💩", "3", "!?"],
        "nomarker": ["cat", "can't", "💩", "3", "a b", "!?"],
        "alpha": ["cat", "can't", "a b"],
        "alphaonly": ["cat"],
        "alphaemoji": ["cat", "can't", "💩", "a b"],
        "emoji": ["💩"],
    }


def test_a_log_row_is_json_with_sorted_keys():
    from lmgym.lmchallenge.logs.log_rows import line_of

    row = {"wordPredictions": [{"target": "é", "score": float("nan")}], "a": 1}
    assert line_of(row) == '{"a": 1, "wordPredictions": [{"score": NaN, "target": "\\u00e9"}]}\n'
    assert json.loads(line_of(row))["a"] == 1


def test_emoji_that_the_list_spells_with_blanks_are_one_token():
    def found(text: str) -> list[str]:
        return [token for _, token in tokens(text)]

    assert found("👍 🏽 ok") == ["👍 🏽", "ok"]
    assert found("I 🇨 🇦 🇹") == ["I", "🇨 🇦", "🇹"]
    assert found("x🇧 🇫🇷") == ["x", "🇧 🇫", "🇷"]
    assert found("☝ 🏻, 👏 👏") == ["☝ 🏻", ",", "👏", "👏"]
    assert found("👍🏽") == ["👍", "🏽"]
    passes = {
        text: [name for name in ("emoji", "alphaemoji") if FILTERS[name](text)] for text in ("🇨 🇦", "🇨")
    }
    assert passes == {"🇨 🇦": ["emoji", "alphaemoji"], "🇨": []}


@pytest.mark.parametrize("game", ["wp", "ic"])
def test_a_long_line_is_asked_piece_by_piece_with_the_same_result(game, monkeypatch):
    text = " ".join(f"w{number % 7}" for number in range(150))
    sizes = []

    class Sized(Scripted):
        def predict(self, requests):
            sizes.append(len(requests))
            return super().predict(requests)

    def log() -> list[object]:
        player = Sized(lambda context, words: [(word, -len(context)) for word in words or ["w1", "w2"]])
        words = [f"w{number}" for number in range(7)]
        return [played.row for played in play(lines(text), GameOptions(game, seed=3).build(words), player)]

    in_pieces = log()
    assert sizes == [64, 64, 22]
    monkeypatch.setattr("lmgym.lmchallenge.play.games.PIECE", 1000)
    assert log() == in_pieces


def test_a_user_who_is_no_number_is_one_user():
    player = Scripted(lambda *_: [])
    rows = list(corpus.read([b'{"userId": NaN, "text": "a"}\n'] * 2, "json"))
    list(play(rows, GameOptions("wp").build(), player, train=True))
    assert player.told.count("clear") == 1
