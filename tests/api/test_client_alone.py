"""The API client on its own, without a site."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from lmgym.cli.pull import FORMATS
from lmgym.client.transport import place_in_words
from lmgym.text.problems import in_words
from tests.lmgym.conftest import ROOT


def test_the_folder_works_where_it_is_copied_to(tmp_path):
    """`-I -S` hides installed packages, so only the standard library is available."""
    shutil.copytree(ROOT / "lmgym" / "client", tmp_path / "lm_client")
    script = "import sys; sys.path.insert(0, '.'); from lm_client import Client; print(Client('http://a').transport.server)"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.stderr) == ("http://a\n", "")


@pytest.mark.parametrize(
    "where",
    [
        "$",
        "$.name",
        "?limit",
        "$.items[3].conditions[1].regions[0]",
        "$.predictions[2].formula",
        "line 17",
        "",
    ],
)
def test_a_place_is_said_in_the_same_words_as_by_the_library(where):
    assert place_in_words(where) == in_words(where)


def test_every_format_of_the_site_can_be_pulled():
    from gym.runs.api.downloads import FORMS, OTHER_PROGRAMS

    assert set(FORMATS) == {*FORMS, *OTHER_PROGRAMS}
