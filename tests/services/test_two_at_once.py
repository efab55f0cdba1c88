"""Two concurrent changes of one card, on PostgreSQL: both are kept."""

from __future__ import annotations

import json
import urllib.request
import uuid
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from tests.process.live import LiveSite
from tests.services.conftest import POSTGRES, execute, need

pytestmark = [pytest.mark.service, pytest.mark.process]
ROUNDS = 8
CARDS = {
    "suites/binding/": ("licence", "reference"),
    "models/demo-gpt2/": ("licence", "corpus"),
    "collections/kept/": ("description", "reference"),
    "agent-suites/manners/": ("description", "title"),
    "propara/answer-sets/answers/": ("description", "licence"),
    "propara/submissions/{submissions[0]}/": ("description", "paper"),
    "lmc/corpora/cats/": ("description", "licence"),
    "lmc/games/{games[0]}/": ("description", "title"),
}
"""Two fields of each card, by its address; values in braces come from `LiveSite.things`."""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    need(POSTGRES)
    name = f"twice{uuid.uuid4().hex[:12]}"
    execute(f"CREATE DATABASE {name}")
    url = POSTGRES.rsplit("/", 1)[0] + f"/{name}"
    site = LiveSite(tmp_path_factory.mktemp("twice"), url, web_processes=2, GYM_API_REQUESTS_PER_MINUTE="0")
    yield site
    site.close()
    execute(f"DROP DATABASE {name} WITH (FORCE)")


def ask(site: LiveSite, address: str, body: dict[str, str] | None = None) -> dict:
    token = f"Bearer {site.things['tokens']['alice']}"
    request = urllib.request.Request(
        f"{site.url}/api/v1/{address}",
        data=None if body is None else json.dumps(body).encode(),
        method="GET" if body is None else "PATCH",
        headers={"Authorization": token, "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


@pytest.mark.parametrize("address", CARDS)
def test_of_two_changes_of_different_fields_both_stay(site, address):
    fields, start = CARDS[address], Barrier(2)
    address = address.format(**site.things)

    def change(body: dict[str, str]) -> None:
        start.wait()
        ask(site, address, body)

    for number in range(ROUNDS):
        sent = {field: f"{number} {field}" for field in fields}
        with ThreadPoolExecutor(2) as both:
            list(both.map(change, ({field: text} for field, text in sent.items())))
        found = ask(site, address)
        assert {field: found[field] for field in fields} == sent, number
