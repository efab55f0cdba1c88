"""Large files are scored in parts, and nothing of it shows."""

from __future__ import annotations

import io
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from gym.propara import compat, parts
from gym.propara.blocks import Unusual
from gym.propara.errors import ProcessFailure
from gym.propara.quick import scores
from tests.propara.test_quick import mutated
from tests.propara.worlds import LIGHT, shipped

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """Four processes at work on files of a few thousand bytes, which are the shipped ones four times."""
    monkeypatch.setattr(parts, "SMALLEST", 1_000)
    monkeypatch.setattr(parts, "_LOOK", 3_000)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(4)), raising=False)


def repeated(text: str, times: int = 4) -> str:
    """The same processes again under other numbers."""
    return "".join(
        f"{round_}{line}\n" for round_ in range(1, times + 1) for line in text.splitlines() if line.strip()
    )


def written(folder: Path, answers: str | bytes, predictions: str | bytes) -> tuple[str, str]:
    paths = folder / "answers.tsv", folder / "predictions.tsv"
    for path, text in zip(paths, (answers, predictions), strict=True):
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(paths[0]), str(paths[1])


def in_parts(paths: tuple[str, str]) -> list[tuple] | None:
    try:
        return [tuple(one) for one in parts.scores_in_parts(*paths)]
    except (Unusual, ProcessFailure):
        return None


def in_one(paths: tuple[str, str]) -> list[tuple] | None:
    try:
        return [tuple(one) for one in scores(*(io.StringIO(Path(path).read_text()) for path in paths))]
    except (Unusual, ProcessFailure):
        return None


def number_of_parts(paths: tuple[str, str]) -> int:
    with open(paths[0], "rb") as gold, open(paths[1], "rb") as ours:
        return len(parts._spans(gold, ours, parts._wanted(gold)))


def test_parts_give_the_scores_of_the_whole_in_its_order(tmp_path):
    paths = written(tmp_path, repeated(shipped("answers")), repeated(shipped("hasty")))
    assert number_of_parts(paths) == 4
    found = in_parts(paths)
    assert found is not None
    assert found == in_one(paths)


@pytest.mark.parametrize("seed", range(60))
def test_spoilt_files_end_as_they_do_in_one_part(tmp_path, seed):
    rng = random.Random(seed)
    texts = [repeated(shipped("answers")), repeated(shipped("hasty"))]
    for k in range(2):
        if rng.random() < 0.7:
            texts[k] = mutated(texts[k], rng)
    paths = written(tmp_path, *texts)
    found = in_parts(paths)
    if found is not None:
        assert found == in_one(paths)


@pytest.mark.parametrize("seed", range(20))
def test_the_command_prints_the_same_about_spoilt_files(tmp_path, monkeypatch, seed):
    rng = random.Random(seed)
    predictions = mutated(repeated(shipped("hasty")), rng)
    answers, ours = written(tmp_path, repeated(shipped("answers")), predictions)
    printed = []
    for smallest in (1_000, 1 << 30):
        monkeypatch.setattr(parts, "SMALLEST", smallest)
        out, err = io.StringIO(), io.StringIO()
        code = compat.run(compat.Paths(ours, answers), out, err)
        printed.append((code, out.getvalue(), err.getvalue()))
    assert printed[0] == printed[1]


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_line_ends_of_other_systems_are_read_as_in_one_part(tmp_path, end):
    texts = [repeated(shipped(name)) for name in ("answers", "hasty")]
    plain = written(tmp_path, *texts)
    expected = in_one(plain)
    paths = written(tmp_path, *(text.replace("\n", end) for text in texts))
    assert in_parts(paths) in (None, expected)
    assert expected is not None


def test_a_process_that_comes_again_in_another_part_is_noticed(tmp_path):
    text = repeated(shipped("answers"))
    first = text[: text.index("\n1", text.index("\t")) + 1]
    number = text.split("\t")[0]
    again = "".join(line for line in text.splitlines(keepends=True) if line.startswith(f"{number}\t"))
    assert first.startswith(number)
    assert in_parts(written(tmp_path, text + again, text + again)) is None


def test_letters_of_several_bytes_are_not_cut(tmp_path):
    texts = [repeated(shipped(name)).replace("water", "wäſſer 水") for name in ("answers", "hasty")]
    paths = written(tmp_path, *texts)
    assert number_of_parts(paths) > 1
    assert in_parts(paths) == in_one(paths) is not None


def test_processes_in_another_order_are_left_to_the_careful_way(tmp_path):
    answers = repeated(shipped("answers"))
    half = answers.index("\n3") + 1
    assert in_parts(written(tmp_path, answers, answers[half:] + answers[:half])) is None


def test_no_process_is_left_behind(tmp_path, monkeypatch):
    fork, started = os.fork, []

    def noted() -> int:
        child = fork()
        started.append(child)
        return child

    monkeypatch.setattr(os, "fork", noted)
    answers = repeated(shipped("answers"))
    for predictions in (answers, "nothing\n" + answers):
        in_parts(written(tmp_path, answers, predictions))
    assert len(started) > 2
    for child in started:
        with pytest.raises(ChildProcessError):
            os.waitpid(child, os.WNOHANG)


_PEAK = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
"""A small program, since a process begins with the memory of the one that starts it."""


def test_memory_of_the_command_does_not_grow_with_the_files(tmp_path):
    """All of it, with the processes it starts: rows of 2,500 bytes a process are read, less than 400 are kept."""

    def peak(n: int) -> int:
        text = LIGHT.replace("light; rays", "light " * 100).replace("gas", "gas " * 50)
        content = "".join(text.replace("7\t", f"{process}\t") for process in range(1, n + 1))
        paths = written(tmp_path, content, content.replace("\tspace", "\tthe sea"))
        command = [sys.executable, "-m", "gym.propara", "evaluate", "-a", paths[0], "-p", paths[1]]
        done = subprocess.run(
            [sys.executable, "-c", _PEAK, *command], cwd=ROOT, capture_output=True, text=True, check=True
        )
        return int(done.stdout) * 1024

    assert peak(10_000) - peak(1_000) < 9_000 * 400
