"""Two changes with the same ETag at the same moment, on PostgreSQL: one is made, the other is told."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
import uuid
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier

import pytest

from tests.process.live import LiveSite
from tests.services.conftest import POSTGRES, execute, need

pytestmark = [pytest.mark.service, pytest.mark.process, pytest.mark.xdist_group("process")]
ROUNDS = 8
CARDS = {
    "suites/binding/": "licence",
    "models/demo-gpt2/": "licence",
    "collections/kept/": "description",
    "agent-suites/manners/": "description",
    "propara/answer-sets/answers/": "description",
    "propara/submissions/{submissions[0]}/": "description",
    "lmc/corpora/cats/": "description",
    "lmc/games/{games[0]}/": "description",
}
"""Field of a card by its address; braces stand for what the site has (`LiveSite.things`)."""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    need(POSTGRES)
    name = f"twice{uuid.uuid4().hex[:12]}"
    execute(f"CREATE DATABASE {name}")
    url = POSTGRES.rsplit("/", 1)[0] + f"/{name}"
    site = LiveSite(tmp_path_factory.mktemp("twice"), url, GYM_API_REQUESTS_PER_MINUTE="0")
    yield site
    site.close()
    execute(f"DROP DATABASE {name} WITH (FORCE)")


def ask(site: LiveSite, address: str, body: object = None, **headers: str) -> tuple[int, str, dict]:
    """(status, ETag, JSON)"""
    token = f"Bearer {site.things['tokens']['alice']}"
    request = urllib.request.Request(
        f"{site.url}/api/v1/{address}",
        data=None if body is None else json.dumps(body).encode(),
        method="GET" if body is None else "PATCH",
        headers={"Authorization": token, "Content-Type": "application/json", **headers},
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.headers["ETag"], json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, error.headers.get("ETag", ""), json.load(error)


@pytest.mark.parametrize("address", CARDS)
def test_of_two_changes_with_one_etag_one_is_made_and_the_other_is_a_412(site, address):
    field, start = CARDS[address], Barrier(2)
    address = address.format(**site.things)

    def change(tag: str, text: str) -> int:
        start.wait()
        return ask(site, address, {field: text}, **{"If-Match": tag})[0]

    for number in range(ROUNDS):
        _, tag, _ = ask(site, address)
        texts = [f"{number} by one", f"{number} by the other"]
        with ThreadPoolExecutor(2) as both:
            statuses = list(both.map(partial(change, tag), texts))
        assert sorted(statuses) == [200, 412], number
        assert ask(site, address)[2][field] == texts[statuses.index(200)]
