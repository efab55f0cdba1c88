"""LM Zoo containers: commands are listed by name and run without a shell; tokens are aligned by the rules of
the spec.
"""

from __future__ import annotations

import sys
import time
import zlib
from pathlib import Path

import pytest

from lmgym.models.backends import BackendError, ExternalAccess, load_backend, probe
from lmgym.models.backends.lmzoo import CommandFailed, read_surprisals, run_command
from lmgym.models.engine import ScoringFailure, ScoringPolicy, TokenScores

CONTAINER = str(Path(__file__).with_name("lmzoo_container.py"))
TEXT = "The keys are on the table ."


def backend(ways: str = "plain", **config):
    commands = {"toy": [sys.executable, CONTAINER, ways]}
    return load_backend(
        "lmzoo",
        {"command": "toy", **config},
        model_dir=Path("x"),
        hub_allowed=False,
        external_access=ExternalAccess(commands=commands),
    )


def bits_by_hand(tokens: list[str]) -> list[float | None]:
    prefixes = [" ".join(tokens[: k + 1]) for k in range(len(tokens))]
    return [None, *(round(1 + zlib.crc32(prefix.encode()) % 1000 / 100, 4) for prefix in prefixes[1:])]


def test_a_sentence_is_scored_and_laid_on_its_words():
    loaded = backend()
    [found] = loaded.score([TEXT], ScoringPolicy())
    words = ["the", "keys", "are", "on", "the", "table", "."]
    assert found.tokens == words
    assert found.bits == bits_by_hand(words)
    assert [TEXT[start:end].lower() for start, end in found.offsets] == words
    assert (loaded.facts.vocabulary_size, loaded.facts.revision, loaded.facts.bos) == (9, "7", None)


def test_it_passes_the_check():
    assert probe(backend("bos,eos"))["first_token_scored"] is True
    assert probe(backend())["first_token_scored"] is False


def test_start_and_end_tokens_belong_to_no_region_and_the_end_counts_only_when_asked_for():
    loaded = backend("bos,eos")
    words = ["<s>", "the", "keys", "are", "on", "the", "table", ".", "</s>"]
    [plain] = loaded.score([TEXT], ScoringPolicy())
    [ended] = loaded.score([TEXT], ScoringPolicy(eos=True))
    assert (plain.tokens, plain.special[0], plain.special[-1]) == (words[:-1], True, False)
    assert (ended.tokens, ended.special[-1], ended.offsets[-1]) == (words, True, (len(TEXT), len(TEXT)))
    assert ended.bits == bits_by_hand(words)
    assert (loaded.facts.bos, loaded.facts.eos) == ("<s>", "</s>")


@pytest.mark.parametrize(
    ("ways", "policy"),
    [
        ("plain", ScoringPolicy(bos="always")),
        ("bos", ScoringPolicy(bos="never")),
        ("bos", ScoringPolicy(eos=True)),
        ("bos", ScoringPolicy(whitespace="trailing")),
    ],
)
def test_a_policy_the_container_cannot_follow_is_refused(ways, policy):
    with pytest.raises(BackendError):
        backend(ways).score([TEXT], policy)


def test_unknown_and_left_out_words_find_their_place():
    for ways in ("oov", "hidden-oov"):
        [found] = backend(ways).score(["The gnus are on the rug ."], ScoringPolicy())
        assert isinstance(found, TokenScores), found
        assert found.offsets[1] == (4, 8)
    [found] = backend("drops").score([TEXT], ScoringPolicy())
    assert found.tokens[-1] == "table"


def test_many_texts_come_back_in_order_and_empty_ones_are_not_sent():
    texts = [f"Sentence {number} ." for number in range(30)] * 2 + ["", "  ", TEXT]
    found = backend().score(texts, ScoringPolicy())
    assert [len(result) for result in found] == [3] * 60 + [0, 0, 7]
    assert [result.tokens[1:2] for result in found[:30]] == [[str(number)] for number in range(30)]


@pytest.mark.parametrize(
    ("ways", "text", "says"),
    [
        ("wrong-words", "the wrong keys .", "does not match"),
        ("not-a-number", "the wrong keys .", "surprisal of token 2"),
        ("plain", "two\nlines", "line break"),
        ("plain", "two\u2028lines", "line break"),
    ],
)
def test_what_cannot_be_scored_fails_alone(ways, text, says):
    found = backend(ways).score([TEXT, text, TEXT], ScoringPolicy())
    assert isinstance(found[1], ScoringFailure)
    assert says in found[1].reason
    assert isinstance(found[0], TokenScores)
    assert found[0] == found[2]


@pytest.mark.parametrize(
    ("ways", "says"),
    [
        ("fails", r"exit status 3\. Its error output: Traceback: out of memory"),
        ("no-spec", "does not support the command spec"),
        ("bad-spec", "spec of this container cannot be used"),
        ("no-surprisals", "does not support the command get_surprisals"),
        ("disagrees", "tokenize returns"),
        ("bad-header", "line 1 must be"),
        ("one-off", "line 2 refers to sentence 2 of 1"),
    ],
)
def test_a_container_that_cannot_be_used_says_why(ways, says):
    with pytest.raises(BackendError, match=says):
        backend(ways)


def test_a_container_without_tokenize_will_do():
    assert backend("no-tokenize").facts.architecture == "LM Zoo: toy"


def test_a_command_that_hangs_is_ended_with_all_it_started():
    begun = time.monotonic()
    with pytest.raises(BackendError, match="took longer than 1 s"):
        backend("hangs", seconds=1)
    assert time.monotonic() - begun < 20


def test_a_command_that_never_stops_writing_is_ended():
    with pytest.raises(CommandFailed, match="more than 1,000,000 bytes"):
        run_command([sys.executable, CONTAINER, "floods"], "get_surprisals", "x\n", 30, 1_000_000)


def test_no_shell_reads_what_is_given(tmp_path):
    canary = tmp_path / "canary"
    [found] = backend().score([f"x ; touch {canary} $(touch {canary}) `touch {canary}` ."], ScoringPolicy())
    assert isinstance(found, TokenScores)
    assert not canary.exists()
    with pytest.raises(BackendError, match="command"):
        backend(command=f"toy; touch {canary}")


def test_the_container_sees_none_of_the_sites_secrets(monkeypatch):
    monkeypatch.setenv("GYM_SECRET_KEY", "hush")
    script = "import os, sys; sys.stderr.write(' '.join(os.environ)); sys.exit(4)"
    with pytest.raises(CommandFailed) as failed:
        run_command([sys.executable, "-c", script], "x", "y", 10)
    assert "GYM" not in str(failed.value)
    assert "hush" not in str(failed.value)


def test_a_command_that_nobody_listed_is_not_there():
    with pytest.raises(BackendError, match="GYM_LMZOO_COMMANDS"):
        load_backend("lmzoo", {"command": "toy"}, model_dir=Path("x"), hub_allowed=False)
    with pytest.raises(CommandFailed, match="cannot be started"):
        run_command(["/no/such/program"], "spec", None, 5)


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ("1\t1\ta", "line 2 must have two ids"),
        ("x\t1\ta\t1", "line 2 must have two ids"),
        ("1\t2\ta\t1", "out of order"),
        ("0\t1\ta\t1", "sentence 0 of 1"),
        ("1\t1\ta\tmuch", "line 2 must have two ids"),
    ],
)
def test_a_wrong_line_is_named(rows, says):
    with pytest.raises(BackendError, match=says):
        read_surprisals(f"sentence_id\ttoken_id\ttoken\tsurprisal\n{rows}\n", 1)
