"""Every run with a model process ends with a result or a reason, never with a hang or with shifted
replies."""

from __future__ import annotations

import contextlib
import io
import sys
import time
from pathlib import Path

import pytest

from lmgym.lmchallenge import corpus
from lmgym.lmchallenge.errors import CorpusError, OptionError, PlayerError
from lmgym.lmchallenge.play.games import GameOptions
from lmgym.lmchallenge.play.loop import play
from lmgym.lmchallenge.play.player import Request
from lmgym.lmchallenge.play.players import command_line, configured
from lmgym.lmchallenge.play.process import SETTLE, Command, ProcessPlayer, on_the_wire

SHOWING = ("honest", "banner", "scored-banner", "extra", "extra-crash", "extra-hang")
PROGRAM = str(Path(__file__).with_name("models.py"))
TEXT = ["the cat sat", "on the mat", "the mat", "sat"]


def command(mode: str, **limits: float) -> Command:
    return Command((sys.executable, "-B", PROGRAM, mode), **{"reply_timeout": 2.0, "settle": 0.02, **limits})


def run(mode: str, lines: list[str] = TEXT, *, train: bool = True, **limits: float):
    rows = []
    player = ProcessPlayer(command(mode, **limits))
    error = None
    try:
        found = (corpus.Line(number, text) for number, text in enumerate(lines, 1))
        rows.extend(
            line.row
            for line in play(
                found, GameOptions("wp", predictions=mode in SHOWING).build(), player, train=train
            )
        )
        player.close()
    except PlayerError as failure:
        error = failure
    finally:
        player.kill()
    return rows, error, player


def test_a_well_behaved_model_plays_to_the_end():
    rows, error, _ = run("echo")
    assert error is None
    assert [len(row["wordPredictions"]) for row in rows] == [3, 3, 2, 1]
    assert rows[0]["wordPredictions"][0] == {"target": "the", "rank": 1, "score": 0.0}


def test_a_crash_keeps_the_lines_before_it_and_says_what_the_model_said():
    rows, error, _ = run("crash")
    assert len(rows) == 1
    assert "exit code 7" in str(error)
    assert "out of memory" in str(error)
    assert "Line 2" in str(error)


def test_a_model_that_hangs_is_given_up():
    began = time.monotonic()
    rows, error, _ = run("hang", reply_timeout=0.5)
    assert len(rows) == 1
    assert "no reply within 0.5 s" in str(error)
    assert time.monotonic() - began < 5


def test_a_model_that_is_brisk_now_and_slow_then_is_heard_all_the_same():
    rows, error, _ = run("moody")
    assert error is None
    assert rows == run("echo")[0]


def test_waiting_for_a_slow_model_leaves_the_processor_to_others():
    requests = [Request("the")] * 50
    with ProcessPlayer(command("steady")) as player:
        player.predict(requests[:1])
        began, used = time.monotonic(), time.process_time()
        player.predict(requests)
        assert time.process_time() - used < (time.monotonic() - began) / 3


def test_a_slow_start_has_its_own_patience():
    assert run("slow-start", reply_timeout=0.3, start_timeout=10)[1] is None
    assert "no first reply" in str(run("slow-start", start_timeout=0.2)[1])


def test_a_line_too_many_after_training_is_found_even_when_it_is_late():
    rows, error, _ = run("late-train")
    assert "unrequested output" in str(error)
    assert len(rows) == 1


@pytest.mark.parametrize("mode", ["banner", "scored-banner", "extra", "extra-crash", "extra-hang"])
def test_no_reply_of_another_question_is_kept_whenever_the_line_too_many_comes(mode):
    """The modes print a line during a slow start, or an extra line after an answer, and then exit, crash or
    hang before any checkpoint."""
    rows, error, _ = run(mode, ["the cat sat on the mat"] * 12, train=False, reply_timeout=0.5)
    assert error is not None
    assert [shifted(row) for row in rows] == [False] * len(rows)
    assert len(rows) < 12
    if mode == "banner":
        assert "first line that the model wrote is not a reply" in str(error)
    if mode == "extra":
        assert "unrequested output" in str(error)
        assert "Left out: lines 2 to" in str(error)


@pytest.mark.parametrize("train", [False, True])
def test_a_banner_is_no_reply_to_the_one_question_of_a_first_line(train):
    """The first reply includes the start-up time, so it does not show how long a reply takes."""
    rows, error, _ = run("scored-banner", ["sat"] * 4, train=train, settle=SETTLE)
    assert error is not None
    assert rows == []


def shifted(row) -> bool:
    """Return True if a reply in the row belongs to another request."""
    starts = [0, 4, 8, 12, 15, 19]
    return [entry["predictions"][0][0] for entry in row["wordPredictions"]] != [f"ctx{at}" for at in starts]


def test_a_long_game_has_checkpoints_and_keeps_the_lines_before_them(monkeypatch):
    monkeypatch.setattr("lmgym.lmchallenge.play.process.CHECK_EVERY", 0.0)
    monkeypatch.setattr("lmgym.lmchallenge.play.process.PAUSE_SHARE", 0)
    rows, error, _ = run("extra", ["the cat sat on the mat"] * 12, train=False)
    assert len(rows) == 1  # the tenth answer belongs to the second line
    assert not shifted(rows[0])
    assert "Left out: line 2," in str(error)


def test_an_honest_model_waits_for_no_more_than_its_first_reply():
    began = time.monotonic()
    rows, error, _ = run("honest", ["the cat sat on the mat"] * 12, train=False, settle=0.3)
    assert error is None
    assert [shifted(row) for row in rows] == [False] * 12
    assert time.monotonic() - began < 12 * 6 * 0.006 + 2 * 0.3 + 0.5


def test_lines_before_a_bad_line_of_the_corpus_are_looked_at_before_they_are_kept():
    def lines():
        yield from (corpus.Line(number, "the cat sat on the mat") for number in range(1, 9))
        raise CorpusError("line 9 is bad")

    for mode, kept in (("honest", 8), ("extra", 1)):
        rows = []
        with ProcessPlayer(command(mode)) as player, contextlib.suppress(CorpusError, PlayerError):
            rows.extend(play(lines(), GameOptions("wp", predictions=True).build(), player))
        assert len(rows) == kept


def test_a_model_that_leaves_a_child_behind_has_ended(monkeypatch):
    monkeypatch.setattr("lmgym.lmchallenge.play.process.EXIT_GRACE", 0.1)
    began = time.monotonic()
    _, error, _ = run("leaves", reply_timeout=15)
    assert "exit code 4" in str(error)
    assert time.monotonic() - began < 8


def test_much_on_standard_error_blocks_nobody_and_its_end_is_kept():
    rows, error, player = run("stderr")
    assert error is None
    assert len(rows) == 4
    assert player.stderr.endswith("loading weights\n")


def test_long_commands_and_long_replies_pass():
    with ProcessPlayer(command("huge")) as player:
        (reply,) = player.predict([Request("y" * 500_000)])
        assert len(reply[0][0]) == 300_000


def test_a_model_that_does_not_end_is_ended():
    _, error, player = run("deaf", stop_timeout=0.3)
    assert "did not end" in str(error)
    assert player._process.poll() is not None


def test_a_program_that_is_not_there_is_named():
    with pytest.raises(PlayerError, match="could not be started"):
        ProcessPlayer(Command(("/nowhere/model",)))


def test_nothing_in_a_text_can_end_a_command_and_offsets_stay():
    text = "a\tb\nc\rd\ud800e\u2028f"
    wire = on_the_wire(text)
    assert wire == "a b c d\ufffde\u2028f"
    assert len(wire) == len(text)
    said = io.BytesIO()
    with ProcessPlayer(command("echo"), transcript=said) as player:
        (reply,) = player.predict([Request(text, ["x\ty", "z"])])
        player.train(text)
    assert [word for word, _ in reply] == ["x\ty", "z"]
    assert said.getvalue().splitlines()[0] == f"> predict\t{wire}\tx y\tz".encode()


def test_words_alike_on_the_wire_both_get_the_score():
    with ProcessPlayer(command("echo")) as player:
        (reply,) = player.predict([Request("", ["a\tb", "x", "a b"])])
    assert dict(reply).keys() == {"a\tb", "a b", "x"}
    assert dict(reply)["a\tb"] == dict(reply)["a b"]


def test_odd_replies_are_counted():
    with ProcessPlayer(command("echo")) as player:
        player.predict([Request("a", ["x", "x", "y"])])
        assert player.protocol_warnings.as_dict() == {}


def test_commands_are_split_without_a_shell():
    assert command_line("python 'my model.py' $HOME | cat", {}) == (
        "python",
        "my model.py",
        "$HOME",
        "|",
        "cat",
    )
    options = {"positional": ["a b", "c"], "n": 10, "-x": "two words"}
    assert command_line("m", options) == ("m", "a", "b", "c", "--n", "10", "-x", "two words")
    with pytest.raises(OptionError, match="cannot be read"):
        command_line("m 'open", {})


def test_players_of_the_settings_are_checked():
    found = configured('{"toy": {"argv": ["m", "x"], "reply_timeout": 3, "env": {"A": "1"}}}')
    assert found["toy"] == Command(("m", "x"), reply_timeout=3, env={"A": "1"})
    assert configured("") == {}
    for text in ("{", "[]", '{"a": {}}', '{"a": {"argv": "m"}}', '{"a": {"argv": ["m"], "shell": true}}'):
        with pytest.raises(OptionError):
            configured(text)
