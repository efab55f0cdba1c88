"""Factories of private objects of every kind, and invitations from alice to bob."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import reverse

from gym.sharing import invitations
from tests.agents.site import make_suite as make_tests
from tests.factories import make_model, make_suite
from tests.lmchallenge.worlds import make_corpus
from tests.propara.worlds import make_set
from tests.sharing.test_people import make_list

MAKERS = {
    "suite": lambda owner: make_suite(owner, visibility="private"),
    "agent-suite": lambda owner: make_tests(owner, visibility="private"),
    "propara": lambda owner: make_set(owner, visibility="private"),
    "lmc-corpus": lambda owner: make_corpus(owner, visibility="private"),
    "collection": make_list,
    "model": lambda owner: make_model(owner, visibility="private"),
}
API = {"suite": "api", "propara": "api-propara-set"}
EVERY_KIND = pytest.mark.parametrize("prefix", list(MAKERS))
TWO_KINDS = pytest.mark.parametrize("prefix", ["suite", "model"])
"""Enough where the same view or service handles every kind."""


def asked(people: Any, thing: Any, role: str = "edit", name: str = "bob") -> Any:
    return invitations.invite(thing, name, role, actor=people.alice)


def people_page(prefix: str, thing: Any) -> str:
    return reverse(f"{prefix}-people", args=[thing.slug])


def people_api(prefix: str, thing: Any) -> str:
    return reverse(f"{API.get(prefix, f'api-{prefix}')}-people", args=[thing.slug])


def status_of(client: Any, user: Any, address: str) -> int:
    client.force_login(user)
    return client.get(address).status_code
