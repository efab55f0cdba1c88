"""If output files cannot be written, or are one and the same file, the command behaves like the reference,
but without a traceback.

The expected output was compared with the reference's, byte for byte.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.lmgym.conftest import ROOT
from tests.lmgym.propara.worlds import LIGHT, shipped

pytestmark = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a.tsv").write_text(shipped("answers"))
    (tmp_path / "p.tsv").write_text(shipped("hasty"))
    (tmp_path / "light.tsv").write_text(LIGHT)
    (tmp_path / "blank.tsv").write_text(LIGHT + "\n")
    large = "".join(f"{k}{row}" for k in range(1, 13) for row in shipped("answers").splitlines(keepends=True))
    (tmp_path / "large.tsv").write_text(large)
    (tmp_path / "large-blank.tsv").write_text(large + "\n")
    return tmp_path


def shell(folder: Path, line: str) -> tuple[int, str, str]:
    """Run `evaluate` with the rest of a shell command line."""
    command = f"{shlex.quote(sys.executable)} -m lmgym propara evaluate {line}"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("option", ["-o", "-d"])
def test_a_full_disk_is_one_line_after_the_report(folder, option):
    code, out, err = shell(folder, f"-p light.tsv -a light.tsv {option} /dev/full")
    assert (code, err) == (2, "Error: Cannot write /dev/full: No space left on device.\n")
    assert "Overall F1        1.000" in out


def test_a_full_disk_in_the_middle_of_the_diagnostics_ends_it_there(folder):
    code, out, err = shell(folder, "-p large.tsv -a large.tsv -d /dev/full -o m.json")
    assert (code, out) == (2, "Writing diagnostics to file /dev/full\n")
    assert err == "Error: Cannot write /dev/full: No space left on device.\n"
    assert not (folder / "m.json").exists()


@pytest.mark.parametrize("target", ["/dev/null", "d.txt", "/dev/stdout | cat"])
def test_diagnostics_go_where_nothing_can_be_taken_back(folder, target):
    assert shell(folder, f"-p p.tsv -a a.tsv -d {target}")[0] == 0
    code, out, _ = shell(folder, f"-p large-blank.tsv -a large.tsv -d {target}")
    assert code == 2
    assert "Corrupted action file large-blank.tsv on line" in out
    assert "prediction_summary" not in out


def test_messages_come_before_diagnostics_on_the_same_pipe(folder):
    out = shell(folder, "-p blank.tsv -a light.tsv -d /dev/stdout | cat")[1]
    assert out.splitlines()[0] == "Writing diagnostics to file /dev/stdout"
    assert out.splitlines()[1].startswith("Corrupted action file blank.tsv on line 9")
    assert out.splitlines()[2].startswith("Diagnostics of evaluation")


def test_diagnostics_over_an_input_find_it_empty(folder):
    code, out, _ = shell(folder, "-p p.tsv -a a.tsv -d p.tsv")
    assert (code, out.splitlines()[-1]) == (2, "Corrupted or empty action file p.tsv (no lines to iterate)")


def test_results_and_diagnostics_in_one_file_overwrite_each_other_as_there(folder):
    """Diagnostics that fit into the buffer are written last, over the results; longer ones leave a hole after
    the results.
    """
    assert shell(folder, "-p light.tsv -a light.tsv -o same -d same")[0] == 0
    small = (folder / "same").read_bytes()
    assert small.startswith(b"Diagnostics of evaluation")
    assert b"\0" not in small
    assert shell(folder, "-p large.tsv -a large.tsv -o same -d same")[0] == 0
    large = (folder / "same").read_bytes()
    assert large.startswith(b'{"precision": 1.0, "recall": 1.0, "f1": 1.0}\0')


def test_names_of_files_need_not_be_text(folder):
    name = os.fsencode(folder) + b"/p\xff.tsv"
    Path(os.fsdecode(name)).write_text(shipped("hasty"))
    odd = "$'p\\xff.tsv'"
    assert shell(folder, f"-p {odd} -a a.tsv")[0] == 0
    code, _, err = shell(folder, f"-p {odd} -a a.tsv -d d.txt")
    assert (code, err.count("\n"), err.startswith("Error: ")) == (2, 1, True)


def test_standard_output_may_be_closed_or_full(folder):
    assert shell(folder, "-p p.tsv -a a.tsv >&-")[0] == 0
    code, _, err = shell(folder, "-p p.tsv -a a.tsv > /dev/full")
    assert (code, err) == (2, "Error: Cannot write to standard output: No space left on device.\n")
    assert shell(folder, "-p blank.tsv -a light.tsv >&-")[0] == 2


def test_pipes_are_read_once(folder):
    for more in ("", " -d d.txt"):
        code, out, _ = shell(folder, f"-p <(cat p.tsv) -a a.tsv{more}")
        assert (code, "Overall F1        0.644" in out) == (0, True)
