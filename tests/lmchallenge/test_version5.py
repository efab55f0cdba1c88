"""Games, logs and statistics of LM Challenge 5 on the command line, and error messages."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path

import pytest

from tests.lmchallenge.test_cli import CORPUS, PROGRAM, call, rows

USERS = "".join(
    json.dumps({key: user, "text": text}) + "\n"
    for key, user, text in [
        ("user", "a", "the cat"),
        ("user", "a", ""),
        ("user", "a", "sat"),
        ("user", "b", "on"),
        ("userId", "c", "mat"),
    ]
)


def row(**given: object) -> str:
    return json.dumps(
        {"user": None, "message": 0, "token": 0, "character": 0, "target": "the", **given}
    ) + "\n"  # fmt: skip


@pytest.fixture
def words(tmp_path: Path) -> str:
    path = tmp_path / "words"
    path.write_text("the\ncat\nhat\n\nsat\nmat\non\nan\n")
    return str(path)


@pytest.fixture
def wc(tmp_path: Path) -> Path:
    path = tmp_path / "wc.log"
    path.write_bytes(call("run", PROGRAM, "wc", stdin=CORPUS)[1])
    return path


def test_each_token_is_a_line_and_each_typed_prefix_a_list(wc: Path):
    found = rows(wc.read_bytes())
    assert [(one["message"], one["token"], one["character"], one["target"]) for one in found] == [
        (0, 0, 0, "the"), (0, 1, 4, "cat"), (0, 2, 8, "sat"), (2, 0, 0, "on"), (2, 1, 3, "the"), (2, 2, 7, "mat"),
    ]  # fmt: skip
    assert [len(one["completions"]) for one in found] == [3, 3, 3, 2, 3, 3]
    assert found[0]["completions"][0][0] == "the"


def test_json_corpora_are_noticed_and_messages_are_counted_for_each_user():
    found = rows(call("run", PROGRAM, "we", stdin=USERS)[1])
    assert [(one["user"], one["message"], one["target"]) for one in found] == [
        ("a", 0, "the"), ("a", 0, "cat"), ("a", 2, "sat"), ("b", 0, "on"), ("c", 0, "mat"),
    ]  # fmt: skip
    assert len(rows(call("run", "-f", "text", PROGRAM, "we", stdin=USERS)[1])) > 10


def test_characters_are_all_asked_for_blanks_included():
    found = rows(call("run", PROGRAM, "ce", stdin="a b\n")[1])
    assert [one["target"] for one in found] == ["a", " ", "b"]


def test_seed_0_of_wr_is_a_seed_and_results_stand_by_error_score(words: str):
    argv = ("run", PROGRAM, "wr", "-r", "0", "-p", "0.4", "-n", "4", words)
    first = call(*argv, stdin=CORPUS)[1]
    assert first == call(*argv, stdin=CORPUS)[1]
    for one in rows(first):
        errors = [error for _, error, _ in one["results"]]
        assert errors == sorted(errors, reverse=True)
        assert {one["target"], one["verbatim"]} <= {word for word, *_ in one["results"]}


@pytest.mark.parametrize("train", [[], ["-t"]])
def test_a_run_can_go_on_after_a_break(train: list[str], words: str):
    for game in (["wc"], ["wr", "-n", "4", words]):
        whole = call("run", *train, PROGRAM, *game, stdin=USERS)[1]
        rest = call("run", *train, "--skip", "2", PROGRAM, *game, stdin=USERS)[1]
        assert rest
        assert whole.endswith(rest)


@pytest.mark.parametrize(
    ("option", "words"),
    [("-W", "always contain the words"), ("--readings=corrected", "only to version 4 games")],
)
def test_options_of_version_4_are_refused(option: str, words: str):
    code, _, err = call("run", option, PROGRAM, "wc", stdin=CORPUS)
    assert code == 2
    assert words in err


def test_a_log_is_not_gone_on_with(wc: Path):
    code, _, err = call("run", "--log", str(wc), PROGRAM, "wc", stdin=CORPUS)
    assert code == 2
    assert "--skip" in err


def test_a_run_can_write_into_a_file(tmp_path: Path, wc: Path):
    log = tmp_path / "new.log"
    assert call("run", "--log", str(log), PROGRAM, "wc", stdin=CORPUS)[0] == 0
    assert log.read_bytes() == wc.read_bytes()


def test_statistics_are_a_line_for_each_log_packed_or_not(tmp_path: Path, wc: Path):
    packed = tmp_path / "wc.log.gz"
    packed.write_bytes(gzip.compress(wc.read_bytes()))
    first, second = rows(call("stats", str(wc), str(packed))[1])
    assert first.pop("log") == str(wc)
    assert second.pop("log") == str(packed)
    assert first == second
    assert rows(call("stats", stdin=wc.read_bytes())[1])[0]["log"] == "-"
    assert first["prediction"]["hit3"] == pytest.approx(4 / 6)
    assert first["skipped"] == 0


def test_what_is_not_selected_is_skipped(tmp_path: Path, wc: Path):
    code, selected, _ = call("grep", "^.at$", str(wc))
    assert code == 0
    assert [one["select"] for one in rows(selected)] == [False, True, True, False, False, True]
    (found,) = rows(call("stats", "-H", stdin=selected)[1])
    assert (found["tokens"], found["skipped"]) == (3, 3)
    again = call("grep", "-k", "token", "-a", "^c", "a", stdin=selected)[1]
    assert [one["target"] for one in rows(again)] == ["cat"]
    assert len(rows(call("grep", "-k", "message", "^mat$", str(wc))[1])) == 3
    assert b"\x1b[34mthe" in call("pretty", stdin=selected)[1]


@pytest.mark.parametrize(
    ("pattern", "words"), [("(", "not a regular expression"), ("$nothing", "$alphaemoji")]
)
def test_a_pattern_that_is_none_is_refused(wc: Path, pattern: str, words: str):
    code, _, err = call("grep", pattern, str(wc))
    assert code == 2
    assert words in err


def test_a_rate_of_nothing_is_null(wc: Path):
    nothing = call("grep", "nothing", str(wc))[1]
    (found,) = rows(call("stats", stdin=nothing)[1])
    assert found["characters_per_token"] is found["messages_per_user"] is None
    assert found["skipped"] == 1


def test_one_candidate_is_first_and_no_model_score_is_no_mixture():
    alone = row(verbatim="the", results=[["the", -0.1, -1.0]])
    assert rows(call("stats", stdin=alone)[1])[0]["reranking"]["accuracy"] == 1
    unknown = row(verbatim="teh", results=[["teh", -0.1, None], ["the", -4.6, None]])
    assert rows(call("stats", stdin=unknown)[1])[0]["reranking"]["accuracy"] == 0


def test_words_that_come_first_are_told_by_all_candidates_where_that_is_asked():
    log = row(verbatim="teh", results=[["teh", -0.1, -9.0], ["the", -4.6, -9.0], ["tie", -4.6, None]])
    assert b"\x1b[33m" in call("pretty", "--readings", "corrected", stdin=log)[1]


def test_validation_names_each_line_and_place(tmp_path: Path):
    log = tmp_path / "bad.log"
    log.write_text(row(completions=[["a", "a"]]) + row(logp="x") + row(logp=-1))
    code, _, err = call("validate", str(log))
    assert code == 1
    assert "line 1, completions[0]: a text is repeated" in err
    assert "line 2, logp: 'x' is not of type" in err
    assert "line 3" not in err


def test_validation_says_once_what_is_wrong_alike_in_many_lines(tmp_path: Path):
    log = tmp_path / "bad.log"
    log.write_text(row(logp=1) + row(logp="x") * 3 + row(logp="y"))
    code, _, err = call("validate", str(log))
    first, second = err.splitlines()
    assert (code, "line 2, logp: 'x'" in first, "line 5, logp: 'y'" in second) == (1, True, True)
    assert "It occurs 3 times, last in line 4." in first
    log.write_text(row(logp="x") + "{")
    code, _, err = call("validate", str(log))
    assert (code, "line 1, logp" in err, "line 2: this is not JSON" in err) == (2, True, True)


@pytest.mark.parametrize("argv", [["validate"], ["grep", "x"], ["diff", "{}"]])
def test_a_log_of_version_4_is_refused_by_its_name(tmp_path: Path, argv: list[str]):
    log = tmp_path / "four.log"
    log.write_bytes(call("run", PROGRAM, "wp", stdin=CORPUS)[1])
    code, _, err = call(*(word.format(log) for word in argv), str(log))
    assert code == 2
    assert f"{log}, line 1: this is a log of LM Challenge 4 (game wp)" in err
    assert len(err.splitlines()) == 1


def scored(*scores: float | None) -> str:
    """Return a log of a `we` game with one token per message and these scores."""
    return "".join(row(message=at, logp=score) for at, score in enumerate(scores))


def compared(tmp_path: Path, first: str, second: str, *options: str) -> tuple[dict, str]:
    """Return the comparison of two logs by `compare`, and its notes on standard error."""
    paths = [tmp_path / "first.log", tmp_path / "second.log"]
    for path, log in zip(paths, (first, second), strict=True):
        path.write_text(log)
    _, out, err = call("compare", *map(str, paths), *options)
    return rows(out)[0]["comparisons"][0], err


def test_a_model_does_not_look_better_for_leaving_hard_tokens_without_a_score(tmp_path: Path):
    hard = [-0.5, -6.0] * 30
    easy = [-0.5, None] * 30
    for metric in ("entropy.mean", "entropy.bits"):
        found, err = compared(tmp_path, scored(*hard), scored(*easy), "-m", metric)
        assert found["first_value"] > found["second_value"], "each log keeps its own figure"
        assert (found["difference"], found["verdict"]) == (0, "no significant difference")
        assert "Tokens that both score, which alone count in the difference: 30 of 60." in found["note"]
        assert found["note"] in err
    found, err = compared(tmp_path, scored(*hard), scored(*easy), "-m", "entropy.hit")
    assert (found["difference"], found["note"], err) == (-0.5, "", "")
    assert compared(tmp_path, scored(*hard), scored(*hard))[0]["note"] == ""
    apart = compared(tmp_path, scored(-1, None, -1), scored(None, -1, None))[0]
    assert (apart["difference"], apart["verdict"]) == (None, "cannot be tested: no value")


def test_games_that_corrected_different_typing_errors_say_so(tmp_path: Path):
    words = tmp_path / "words"
    words.write_text("the\ncat\nhat\nsat\nmat\non\nan\nat\n")

    @cache
    def log(game: str, chance: str) -> str:
        return call("run", PROGRAM, game, "-p", chance, str(words), stdin=CORPUS * 9)[1].decode()

    say = "The two games have different typing errors, which explain part of the difference."
    for first, second in (("ic", "ic"), ("wr", "wr"), ("ic", "wr")):
        found, err = compared(tmp_path, log(first, "0.1"), log(second, "0.4"), "-f", "all")
        assert found["note"].startswith(say)
        assert say in err
        found, err = compared(tmp_path, log(first, "0.4"), log(second, "0.4"), "-f", "all")
        assert (found["note"], err) == ("", "")
    hidden = call("run", "-W", PROGRAM, "ic", "-p", "0.4", str(words), stdin=CORPUS * 9)[1].decode()
    assert compared(tmp_path, log("ic", "0.1"), hidden)[0]["note"], "it says which words were typed right"
    assert compared(tmp_path, log("ic", "0.4"), hidden)[0]["note"] == ""
    bits = compared(tmp_path, log("ic", "0.1"), log("ic", "0.4"), "-m", "bits", "-f", "all")[0]
    assert bits["note"] == "", "bits do not depend on what was typed"


def test_logs_of_other_texts_or_games_are_not_compared(tmp_path: Path, wc: Path):
    other = tmp_path / "other.log"
    other.write_bytes(call("run", PROGRAM, "we", stdin=CORPUS)[1])
    assert "of the same game on the same text" in call("diff", str(wc), str(other))[2]
    other.write_bytes(call("run", PROGRAM, "wc", stdin="the dog sat\n\non the mat\n")[1])
    assert "target is 'cat'" in call("diff", str(wc), str(other))[2]
    assert call("diff", str(wc), str(wc))[0] == 0


@pytest.mark.parametrize(
    ("log", "words"),
    [
        (row(logp=-1) + "{", "line 2: this is not JSON"),
        (row(logp=-1) + row(logp="x"), "line 2: Expected `float | null`"),
        (row(logp=-1) + row(results=[["the", -1]]), "Line 2 of the log: ['the', -1.0]"),
        (row(logp=-1, user=1.5), "user is 1.5"),
    ],
)
def test_what_cannot_be_counted_is_refused_with_its_line(log: str, words: str):
    code, _, err = call("stats", stdin=log)
    assert code == 2
    assert words in err


@pytest.mark.parametrize(
    "options", [["-f", "all"], ["-p", "user"], ["--more"], ["-a", '{"alpha":1,"oov_penalty":0}']]
)
def test_options_for_logs_of_version_4_are_refused(wc: Path, options: list[str]):
    code, _, err = call("stats", *options, str(wc))
    assert code == 2
    assert "not available for logs of version 5" in err


def test_logs_of_both_versions_are_counted_apart(tmp_path: Path, wc: Path):
    wp = tmp_path / "wp.log"
    wp.write_bytes(call("run", PROGRAM, "wp", stdin=CORPUS)[1])
    assert "version 4" in call("stats", str(wc), str(wp))[2]
    assert "version 4" in call("stats", "-H", str(wp))[2]
