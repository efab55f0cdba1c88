"""A failed write leaves the former file as it was."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from lmgym.text.replacing import replace_file, replacing_files


def no_space(*args: object, **more: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_file_is_replaced_and_keeps_its_mode_and_its_link(tmp_path: Path) -> None:
    path, link = tmp_path / "rates.csv", tmp_path / "link.csv"
    path.write_bytes(b"old")
    path.chmod(0o640)
    link.symlink_to(path)
    replace_file(link, b"new")
    assert (path.read_bytes(), path.stat().st_mode & 0o777, link.is_symlink()) == (b"new", 0o640, True)
    assert sorted(os.listdir(tmp_path)) == ["link.csv", "rates.csv"]


@pytest.mark.parametrize("step", ["write_bytes", "replace"])
def test_a_failed_write_names_the_file_and_leaves_it(tmp_path: Path, monkeypatch, step: str) -> None:
    path = tmp_path / "rates.csv"
    path.write_bytes(b"old")
    with monkeypatch.context() as full:
        full.setattr(Path if step == "write_bytes" else os, step, no_space)
        with pytest.raises(OSError, match=r"No space left on device: '.*rates\.csv'"):
            replace_file(path, b"new")
    assert (path.read_bytes(), os.listdir(tmp_path)) == (b"old", ["rates.csv"])


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    replace_file(pipe, b"new")
    reader.join(10)
    assert read == [b"new"]
    assert pipe.is_fifo()


def fill(folder: Path, text: str, then: Callable[[], None] = lambda: None) -> None:
    with replacing_files(folder) as part:
        (part / "rates.csv").write_text(text)
        then()


def test_the_files_of_a_folder_are_replaced_together_or_not_at_all(tmp_path: Path) -> None:
    folder = tmp_path / "study"
    fill(folder, "old")
    with pytest.raises(OSError, match=r"No space left on device: '.*study'"):
        fill(folder, "new", no_space)
    assert ((folder / "rates.csv").read_text(), os.listdir(folder)) == ("old", ["rates.csv"])
    fill(folder, "new")
    assert ((folder / "rates.csv").read_text(), os.listdir(folder)) == ("new", ["rates.csv"])
