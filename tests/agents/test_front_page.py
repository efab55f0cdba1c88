"""The front page explains agent tests and shows the actions of signed-in users and visitors."""

from __future__ import annotations

from html import unescape

import pytest

from tests.agents.site import make_case, make_run, make_server, make_suite

pytestmark = pytest.mark.django_db


def test_visitors_see_an_example_and_where_to_sign_in(client):
    page = client.get("/agents/").content.decode()
    assert "Who did Yellow Submarine?" in page
    assert "Sign in to write and run tests" in page
    assert "/accounts/login/?next=" in page
    assert "/agents/new/" not in page, "no button that only leads to a sign-in"


def test_the_example_passes_with_the_embedded_agents_and_their_judge(client, people):
    page = client.get("/agents/").content.decode()
    text = unescape(page.partition('<pre class="wrap">')[2].partition("</pre>")[0])
    server = make_server(people.alice)
    run = make_run(make_suite(people.alice, cases={"example": text}, judge=server.model), server)
    assert [(row.outcome, row.passed) for row in run.case_runs.all()] == [("pass", 3)]


def test_members_see_what_they_can_do(client, people):
    client.force_login(people.alice)
    page = client.get("/agents/").content.decode()
    assert "Register a server" in page
    assert "/agents/new/" in page


def test_members_run_a_suite_from_the_front_page_unless_it_sends_secrets_of_somebody_else(client, people):
    suite = make_suite(people.alice, visibility="public")
    run = f"{suite.get_absolute_url()}#run-form"
    assert run not in client.get("/agents/").content.decode()
    client.force_login(people.charlie)
    assert run in client.get("/agents/").content.decode()
    suite.variables = {"KEY": "secret"}
    suite.save()
    assert run not in client.get("/agents/").content.decode()


@pytest.mark.parametrize("last", ["edit/", "form/"])
def test_a_text_that_came_back_unsaved_is_guarded(client, people, last):
    client.force_login(people.alice)
    suite = make_suite(people.alice)
    address = f"/agents/{suite.slug}/cases/{make_case(suite).pk}/{last}"
    assert 'data-unsaved=""' in client.get(address).content.decode()
    assert 'data-unsaved="yes"' in client.post(address, {"name": "", "text": "agent: "}).content.decode()


def test_the_figures_of_a_run_lead_to_how_they_are_computed(client, people):
    from tests.agents.site import FLAKY, make_run, make_server

    run = make_run(make_suite(people.alice, cases={"flaky": FLAKY}), make_server(people.alice))
    page = client.get(run.get_absolute_url()).content.decode()
    about = client.get("/about/").content.decode()
    for place in ("pass-at-k", "agent-rules"):
        assert f"#{place}" in page
        assert f'id="{place}"' in about
