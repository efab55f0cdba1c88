"""Every upload limit fits into the largest request that the web server and the documented proxy accept."""

from __future__ import annotations

import re

import pytest

from gym.jobs.web_server import MAX_BODY, MAX_HEADER
from gym.lmchallenge.game_views import MAX_UPLOAD
from gym.lmchallenge.services import MAX_BYTES as CORPUS
from gym.people.services import MAX_BYTES as HUMAN_DATA
from lmgym.agents.archives import MAX_TOTAL
from lmgym.propara.uploads import MAX_BYTES as PROPARA
from lmgym.runs.uploaded import MAX_BYTES as RESULTS
from lmgym.suites.formats import MAX_BYTES as SUITE
from tests.test_house import ROOT

FORM = 1_000_000
PROXY = (ROOT / "docs" / "nginx.conf").read_text(encoding="utf-8")


@pytest.mark.parametrize("files", [MAX_UPLOAD, CORPUS, HUMAN_DATA, MAX_TOTAL, RESULTS + SUITE, 2 * PROPARA])
def test_every_upload_fits_into_a_request(files):
    assert files + FORM < MAX_BODY


def test_the_documented_proxy_takes_as_much():
    megabytes = re.search(r"client_max_body_size (\d+)m;", PROXY)
    assert megabytes
    assert int(megabytes[1]) * 1_000_000 == MAX_BODY
    buffers = re.search(r"large_client_header_buffers (\d+) (\d+)k;", PROXY)
    assert buffers
    assert int(buffers[2]) * 1024 <= MAX_HEADER
