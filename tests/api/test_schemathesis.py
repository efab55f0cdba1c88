"""Valid and invalid requests generated from the API description lead to no 5xx and no undocumented response.

This is a short form of benchmarks/attacks/schema.py: each role requests a third of the addresses, twice each."""

from __future__ import annotations

import json
import re

import pytest

from benchmarks.attacks.schema import ROLES, attack_here, configuration
from gym.api.description import FILE
from tests.process.ask import prepare_schema

PATHS = json.loads(FILE.read_text(encoding="utf-8"))["paths"]
TIMES = 2


@pytest.mark.crawl
@pytest.mark.parametrize("role", ROLES)
def test_no_request_finds_an_answer_that_is_not_described(db, role):
    mine = sorted(PATHS)[ROLES.index(role) :: len(ROLES)]
    asked = sum(len(PATHS[path]) for path in mine)
    config = configuration(role, prepare_schema(), times=TIMES, phases=["fuzzing"])
    found = attack_here(config, only=f"^({'|'.join(map(re.escape, mine))})$")
    assert not found.failures, str(found)
    assert len(found.operations) == asked
    assert found.cases.total() >= asked * TIMES * 0.9
