"""What the client is without a site."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from gym.client import ApiError
from gym.client.commands import run
from tests.conftest import ROOT


def test_the_folder_works_where_it_is_copied_to(tmp_path):
    shutil.copytree(ROOT / "gym" / "client", tmp_path / "lm_client")
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
