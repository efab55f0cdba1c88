"""A long log counted in parts is the log counted as a whole."""

from __future__ import annotations

import gzip
import io
import json
import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gym.lmchallenge import cli_stats, parts
from gym.lmchallenge.blocks import typed_json
from gym.lmchallenge.cli import Streams, main
from gym.lmchallenge.quick import Quick

WORD = {"wordPredictions": [{"rank": 2, "score": -1.5, "target": "the"}, {"target": "."}, {"target": "ü"}]}
TEXT = {"textCompletions": [{"target": "no w"}, {"rank": 0, "score": -1.5, "target": "ay"}, {"target": "é!"}]}
HIDDEN = {"textCompletions": [{"targetChars": 4}, {"rank": 0, "score": -1.5, "targetChars": 0}]}
ABOUT = st.fixed_dictionaries(
    {},
    optional={"userId": st.sampled_from(["a", "b", None, 1]), "trainingChars": st.none() | st.integers(0, 9)},
)

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")


@pytest.fixture(autouse=True)
def small_parts_and_four_cores(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(parts, "SMALLEST", 200)
    monkeypatch.setattr(cli_stats, "SHORT", 100)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(4)), raising=False)


def written(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def whole(path, keep="alphaemoji"):
    quick = Quick(keep)
    with open(path, "rb") as stream:
        quick.take(enumerate(stream, 1), path, typed_json)
    return quick.statistics(), quick.notices


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from([WORD, TEXT, HIDDEN]), st.lists(ABOUT, min_size=20, max_size=60), st.integers(0, 3))
def test_the_sums_of_the_parts_are_those_of_the_whole(tmp_path, entries, about, rank):
    rows = [entries | one for one in about]
    if entries is WORD:
        rows[-1] = {"wordPredictions": [{"rank": rank, "score": None, "target": "late"}]}
    path = written(tmp_path / "log", rows)
    found = parts.counted(path, "alphaemoji")
    assert found is not None
    assert (found.statistics(), found.notices) == whole(path)


def test_a_small_log_is_one_part(tmp_path):
    assert parts.counted(written(tmp_path / "log", [WORD]), "all") is None


@pytest.mark.parametrize(
    "line",
    [b"{\n", b"\xff\n", b'{"textCompletions": []}\n', b'{"wordPredictions": [{"target": 1}]}\n', b"\n"],
)
@pytest.mark.parametrize("at", [0, 20, 39])
def test_what_is_odd_in_any_part_is_left_to_a_careful_reader(tmp_path, line, at, capfdbinary):
    path = tmp_path / "log"
    lines = [json.dumps(WORD).encode() + b"\n"] * 40
    lines[at] = line
    path.write_bytes(b"".join(lines))
    assert line == b"\n" or parts.counted(str(path), "all") is None
    code = main(["stats", str(path)])
    out, err = capfdbinary.readouterr()
    if line == b"\n":
        assert json.loads(out)[0]["lines"] == 39
    else:
        assert code == 1
        other = at == 0 and b"textCompletions" in line  # then it is the next line that is of another game
        assert f"line {2 if other else at + 1}".encode() in err


def test_a_line_that_is_still_being_written_is_counted_whole(tmp_path, monkeypatch):
    path = tmp_path / "log"
    data = (json.dumps(WORD) + "\n").encode() * 40
    path.write_bytes(data[:-20])
    spans = parts._spans

    def written_meanwhile(stream):
        found = spans(stream)
        path.write_bytes(data)
        return found

    monkeypatch.setattr(parts, "_spans", written_meanwhile)
    found = parts.counted(str(path), "all")
    assert found is not None
    assert found.statistics() == whole(str(path), "all")[0]


def test_a_part_that_dies_is_counted_by_the_whole(tmp_path, monkeypatch):
    path = written(tmp_path / "log", [WORD] * 40)
    parent, count = os.getpid(), parts._count
    monkeypatch.setattr(
        parts, "_count", lambda *given: count(*given) if os.getpid() == parent else os.kill(os.getpid(), 9)
    )
    assert parts.counted(path, "all") is None


def test_no_process_is_left_behind(tmp_path, monkeypatch):
    children: list[int] = []
    fork = os.fork

    def noted() -> int:
        child = fork()
        if child:
            children.append(child)
        return child

    monkeypatch.setattr(os, "fork", noted)
    path = tmp_path / "log"
    path.write_text("{\n" + (json.dumps(WORD) + "\n") * 40)
    assert parts.counted(str(path), "all") is None
    assert children
    for child in children:
        with pytest.raises(ChildProcessError):
            os.waitpid(child, os.WNOHANG)


def test_the_command_line_says_the_same_of_a_log_that_is_packed_or_read_by_lines(tmp_path, capfdbinary):
    path = written(tmp_path / "log", [WORD | {"userId": "a"}] * 40)
    packed = tmp_path / "log.gz"
    packed.write_bytes(gzip.compress((tmp_path / "log").read_bytes()))
    main(["stats", path])
    expected = json.loads(capfdbinary.readouterr()[0])
    for words in (["stats", str(packed)], ["stats", "-n", "40", path], ["stats", "-p", "user", path]):
        main(words)
        assert json.loads(capfdbinary.readouterr()[0]) == expected
    assert expected == whole(path)[0]


@pytest.mark.parametrize("at", range(0, 40, 3))
def test_the_highest_of_training_chars_may_come_before_or_after_a_nan(tmp_path, at):
    rows = [WORD | {"trainingChars": float("nan") if number == at else number} for number in range(40)]
    path = written(tmp_path / "log", rows)
    found = parts.counted(path, "all")
    expected = whole(path, "all")
    assert repr((found.statistics(), found.notices) if found else expected) == repr(expected)


def test_a_file_named_like_standard_input_is_not_counted_in_its_place(tmp_path, monkeypatch, capfdbinary):
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "-", [WORD] * 40)
    data = b"".join(json.dumps(TEXT).encode() + b"\n" for _ in range(40))
    assert main(["stats"], streams=Streams(source=io.BytesIO(data))) == 0
    assert "kpc" in json.loads(capfdbinary.readouterr()[0])[0]
