"""Recorded runs of LM Challenge 5.2 are reproduced: every log, statistic, selection, validation and
colouring."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from lmgym.lmchallenge.cli.main import main
from lmgym.lmchallenge.cli.streams import Streams
from tests.lmchallenge.worlds import upload
from tests.lmgym.conformance.test_lmchallenge import ROOT, close

V5, MINI = ROOT / "v5", ROOT / "mini"
pytestmark = [
    pytest.mark.published,
    pytest.mark.skipif(not ROOT.is_dir(), reason=f"no recorded runs at {ROOT} (set GYM_CONFORMANCE_DIR)"),
]
GREPS = {"alpha": "$alpha", "the": "~^the$", "emoji": "$emoji", "ing": "ing$"}
MODELS = {"char": "charmodel"}


def lmc(*argv: str | Path, stdin: bytes = b"") -> tuple[int, str]:
    """Run our command, and return (exit code, output)."""
    out = io.BytesIO()
    code = main([str(word) for word in argv], streams=Streams(io.BytesIO(stdin), out, io.StringIO()))
    return code, out.getvalue().decode()


@pytest.fixture(autouse=True)
def there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def logs() -> list[Path]:
    found = [*sorted(V5.glob("*.log")), *sorted(MINI.glob("v5.*.log"))]
    return [path.relative_to(ROOT) for path in found]


def played(log: Path) -> tuple[list[str], Path]:
    """Return the arguments and the corpus of a recorded game."""
    parts = log.name.removesuffix(".log").split(".")
    mini = parts[0] == "v5"
    where, model, game, *flags = (
        parts if not mini else parts[1:] if parts[1] == "users" else ["plain", *parts[1:]]
    )
    text = {
        (False, False): f"corpora/{where}.txt",
        (False, True): f"corpora/{where}.jsonl",
        (True, False): "mini/corpus.txt",
        (True, True): "mini/corpus_v5.jsonl",
    }[mini, where.startswith("users")]
    options = {
        "wc": ["-p"] if "p" in flags else [],
        "wr": ["-n", "6", "-p", "0.3", "mini/vocab.txt"]
        if mini
        else ["-n", "8", "-r", "7", "corpora/vocab.txt"],
    }.get(game, [])
    player = f"{sys.executable} -B models/{MODELS.get(model, model)}.py"
    return ["run", "--quiet", *(["-t"] if "t" in flags else []), player, game, *options], Path(text)


def same_but_for_ties(found: str, expected: str) -> bool:
    """Return True if two logs of wr differ only by ties. The order of a Python set decides which of equally
    near words are candidates, and whether a candidate is cut off and added again. The error scores of the
    first 8 and all scores of shared candidates must agree."""
    for mine, theirs in zip(
        *([json.loads(line) for line in text.splitlines()] for text in (found, expected)), strict=True
    ):
        results, recorded = mine.pop("results"), theirs.pop("results")
        scores, known = ({word: rest for word, *rest in one} for one in (results, recorded))
        errors, known_errors = ([error for _, error, _ in one] for one in (results, recorded))
        if mine != theirs or errors[:8] != known_errors[:8] or sorted(errors, reverse=True) != errors:
            return False
        if any(scores[word] != known[word] for word in scores.keys() & known.keys()):
            return False
        if not {mine["target"], mine["verbatim"]} <= scores.keys() & known.keys():
            return False
    return True


def test_there_are_recorded_files() -> None:
    assert len(logs()) == 39


def test_games_give_the_recorded_logs_byte_for_byte(subtests: pytest.Subtests) -> None:
    for log in logs():
        if ".grep_" in log.name:
            continue
        with subtests.test(log.name):
            argv, text = played(log)
            code, found = lmc(*argv, stdin=text.read_bytes())
            assert code == 0
            if ".wr" in log.name and log.parent.name == "v5":
                assert same_but_for_ties(found, log.read_text("utf-8"))
            else:
                assert found == log.read_text("utf-8")


def test_models_hear_what_the_reference_told_them(subtests: pytest.Subtests, tmp_path: Path) -> None:
    for recorded in sorted(MINI.glob("v5.*.transcript")):
        with subtests.test(recorded.name):
            argv, text = played(recorded.with_suffix(".log"))
            said = tmp_path / "said"
            assert lmc("run", "--transcript", said, *argv[1:], stdin=text.read_bytes())[0] == 0
            assert said.read_bytes() == recorded.read_bytes()


def test_statistics_are_the_recorded_ones(subtests: pytest.Subtests) -> None:
    for log in logs():
        for ending, options in (("stats.json", []), ("stats.H.json", ["-H"])):
            recorded = log.with_suffix(f".{ending}")
            if recorded.exists():
                with subtests.test(recorded.name):
                    code, found = lmc("stats", *options, log)
                    assert code == 0
                    assert close(json.loads(found), json.loads(recorded.read_text("utf-8")))
        if (recorded := log.with_suffix(".stats.csv")).exists():
            with subtests.test(recorded.name):
                _, found = lmc("stats", "-o", "csv", log)
                expected = recorded.read_bytes().decode()
                assert found.splitlines()[0] == expected.splitlines()[0]
                assert found.count("\r\n") == expected.count("\r\n") == 2
                assert [list(map(cell, row)) for row in csv.reader(io.StringIO(found))] == [
                    list(map(cell, row)) for row in csv.reader(io.StringIO(expected))
                ]


@pytest.mark.django_db
def test_statistics_of_uploaded_logs_are_the_recorded_ones(people: Any, subtests: pytest.Subtests) -> None:
    for log in sorted(MINI.glob("v5.*.log")):
        with subtests.test(log.name):
            game = upload(people.alice, log.read_text("utf-8"))
            expected = json.loads(log.with_suffix(".stats.json").read_text("utf-8"))
            assert close({**game.statistics["all"]["all"][0], "log": expected["log"]}, expected)
            assert f".{game.game}." in log.name


def cell(text: str) -> Any:
    try:
        return pytest.approx(float(text), abs=1e-9)
    except ValueError:
        return text


def test_selections_are_the_recorded_ones_byte_for_byte(subtests: pytest.Subtests) -> None:
    for name, pattern in GREPS.items():
        with subtests.test(name):
            expected = (V5 / f"plain.static.wc.grep_{name}.log").read_text("utf-8")
            assert lmc("grep", pattern, "v5/plain.static.wc.log") == (0, expected)


def test_logs_are_valid_where_the_reference_says_so(subtests: pytest.Subtests) -> None:
    for log in logs():
        if (recorded := log.with_suffix(".validate.rc")).exists():
            with subtests.test(log.name):
                assert lmc("validate", log)[0] == int(recorded.read_text())


def test_colours_are_the_recorded_ones(subtests: pytest.Subtests) -> None:
    for log, argv in (
        ("small.static-messy.wc.diff", ["diff", "v5/small.static.wc.log", "v5/small.messy.wc.log"]),
        ("small.static.wr.n8.pretty", ["pretty", "v5/small.static.wr.n8.log"]),
    ):
        with subtests.test(log):
            assert lmc(*argv) == (0, (V5 / f"{log}.ansi").read_text("utf-8"))
