"""A signed-in user's home page: their objects, objects shared with them, and help for new users."""

from __future__ import annotations

import pytest
from django.urls import reverse

from gym.accounts.models import User
from gym.jobs.testing import run_pending
from gym.runs.work import services
from tests.factories import make_model, make_revision, make_suite
from tests.human_data.experiments import import_file
from tests.human_data.experiments import make_revision as make_people_revision

STARTS = [reverse("suite-new"), reverse("suite-import"), reverse("suite-list")]


@pytest.fixture
def alice(client, people) -> User:
    client.force_login(people.alice)
    return people.alice


def test_a_new_account_is_offered_new_suite_import_and_explore(client, people, alice):
    make_model(people.bob, slug="visible")
    page = client.get("/").content.decode()
    assert "Welcome, alice" in page
    main = page[page.index("<main") :]
    assert all(f'href="{address}"' in main for address in STARTS)


def test_on_a_site_without_models_a_new_account_is_offered_to_register_one(client, alice):
    page = client.get("/").content.decode()
    main = page[page.index("<main") :]
    assert f'href="{reverse("model-register")}"' in main
    assert f'href="{reverse("suite-list")}"' not in main


def test_a_visitor_of_an_empty_site_is_asked_to_sign_in(client, db):
    page = client.get("/").content.decode()
    assert "This site has no suites yet: sign in" in page
    assert "Choose a suite" not in page


def test_home_shows_what_is_mine_or_shared_with_me_and_only_that(client, people, alice):
    mine = make_revision(alice, name="mine", visibility="private")
    make_suite(people.bob, name="shared", visibility="private", collaborator=alice)
    make_suite(people.bob, name="foreign")
    model = make_model(alice, slug="my-model")
    run = services.queue_run(mine, model, actor=alice)
    run_pending()
    page = client.get("/").content.decode()
    for shown in (
        *STARTS, mine.suite.get_absolute_url(), "/suites/shared/", "/models/my-model/", f"/runs/{run.key}/"
    ):  # fmt: skip
        assert shown in page
    assert "foreign" not in page


def test_home_lists_my_human_data(client, people, alice):
    data = import_file(make_people_revision(people.bob), alice)
    page = client.get("/").content.decode()
    assert data.get_absolute_url() in page
    client.force_login(people.bob)
    assert data.get_absolute_url() not in client.get("/").content.decode()


def test_a_long_home_page_takes_as_many_queries_as_a_short_one(client, alice, django_assert_max_num_queries):
    revision, model = make_revision(alice), make_model(alice)
    for number in range(21):
        make_suite(alice, name=f"suite{number}", frozen=False)
        make_model(alice, slug=f"model{number}")
        services.queue_run(revision, model, actor=alice)
    with django_assert_max_num_queries(10):
        page = client.get("/").content.decode()
    assert "20 most recently changed" in page
    assert "the first 20" in page
    assert "the newest 20" in page


def test_the_front_page_of_somebody_signed_out_has_no_list_of_ones_own(client, db):
    page = client.get("/").content.decode()
    assert "Targeted tests for language models" in page
    assert "You have no" not in page
