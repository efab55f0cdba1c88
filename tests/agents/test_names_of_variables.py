"""Only the owner can find out the names of a suite's variables."""

from __future__ import annotations

import pytest

from gym.agents import services
from gym.agents.models import AgentCase
from gym.sharing.models import Role
from tests.agents.site import GOOD, make_suite
from tests.page_text import text_of

pytestmark = pytest.mark.django_db
CASE = 'agent: echo\ninteractions: [{text: ${%s}, sly_data: {k: ${?%s}}, response: {text: {keywords: "x"}}}]'


@pytest.fixture
def suite(people):
    made = make_suite(people.alice, variables={"HERE": "hush-hush"}, cases={"hello": GOOD})
    made.collaborations.create(user=people.bob, role=Role.EDIT)
    return made


def text(name: str) -> str:
    return CASE % (name, name)


def check(client, suite, name):
    place = f"{suite.get_absolute_url()}cases/check/"
    return text_of(client.post(place, {"name": "", "text": text(name)}))


def plain(answer, name):
    return str(answer).replace(name, "NAME")


def test_an_editor_is_answered_the_same_for_every_name(people, suite, client):
    client.force_login(people.bob)
    told = {plain(check(client, suite, name), name) for name in ("HERE", "GONE")}
    assert len(told) == 1
    assert "has to be a variable of the suite" in told.pop()
    place = f"{suite.get_absolute_url()}cases/new/"
    pages = [client.post(place, {"name": "", "text": text(name)}) for name in ("HERE", "GONE")]
    assert len({page.status_code for page in pages}) == 1


def test_an_editor_saves_and_imports_a_case_with_any_name(people, suite, client):
    client.force_login(people.bob)
    for name in ("HERE", "GONE"):
        services.save_case(AgentCase(suite=suite, name=name, text=text(name)), actor=people.bob)
        services.import_cases(suite, {f"{name}2": text(name)}, actor=people.bob)
    told = set()
    for case in suite.cases.exclude(name="hello"):
        name = case.name.removesuffix("2")
        answer = client.get(f"/api/v1/agent-suites/{suite.slug}/cases/{case.pk}/").json()
        told.add(plain(answer["findings"], name))
        page = client.get(case.get_absolute_url()).content.decode()
        assert "There is no value" not in page
    assert len(told) == 1


def test_its_owner_is_told_which_variable_is_missing(people, suite, client):
    client.force_login(people.alice)
    assert "problem-error" not in check(client, suite, "HERE")
    wrong = check(client, suite, "GONE")
    assert "problem-error" in wrong
    assert "${GONE} has no value." in wrong
