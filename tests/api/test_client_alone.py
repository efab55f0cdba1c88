"""What the client is without a site."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from lmgym.client import ApiError
from lmgym.client.cli import FORMATS
from lmgym.client.commands import run
from lmgym.client.values import Run
from tests.lmgym.conftest import ROOT


def test_the_folder_works_where_it_is_copied_to(tmp_path):
    shutil.copytree(ROOT / "lmgym" / "client", tmp_path / "lm_client")
    words = [
        sys.executable,
        "-I",
        "-c",
        "import sys; sys.path.insert(0, '.'); import lm_client.__main__",
        "--help",
    ]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert "--server" in done.stdout


@pytest.mark.parametrize(("least", "status"), [(0.0, 1), (0.8, 1), (None, 0)])
def test_a_gate_that_tests_nothing_does_not_open(capsys, least, status):
    """A suite without predictions has nothing that could be below the rate."""
    from argparse import Namespace
    from types import SimpleNamespace

    done = Run("key", "bare", 1, "m", "done", (), 0, 0, "", {})
    client = SimpleNamespace(
        start_run=lambda *args, **more: done,
        wait=lambda *args, **more: done,
        transport=SimpleNamespace(server="http://here"),
    )
    given = Namespace(suite="bare", policy=[], model=["m"], timeout=1.0, json=False, fail_under=least)
    assert run(client, given) == status
    assert "no predictions: nothing was tested" in capsys.readouterr().out


def test_every_format_of_the_site_can_be_asked_for():
    from gym.runs.api.downloads import FORMS, OTHER_PROGRAMS

    assert set(FORMATS) == {*FORMS, *OTHER_PROGRAMS}


def test_into_a_suite_that_is_not_there_says_how_to_make_it(tmp_path):
    from argparse import Namespace

    class Empty:
        def suite(self, slug):
            raise ApiError(404, {})

    path = tmp_path / "suite.json"
    path.write_text("{}")
    given = Namespace(suite=str(path), into="work", policy=[], model=["m"])
    with pytest.raises(ValueError, match=r"no suite work .*`import FILE --freeze`"):
        run(Empty(), given)
