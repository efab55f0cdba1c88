"""Account deletion in the admin, single or in bulk, does the same as the account's own page."""

from __future__ import annotations

import pytest
from django.contrib.admin.models import LogEntry
from django.db.models import ProtectedError
from django.urls import reverse

from gym.accounts.models import User
from gym.jobs.testing import run_pending
from gym.pages.account_deletion import FORMER_MEMBER, former_member
from gym.runs.models import SuiteRun
from gym.runs.work import services
from suites.models import Suite
from tests.factories import make_model, make_revision, make_suite

LIST = "/admin/accounts/user/"


@pytest.fixture
def staff(client, people):
    client.force_login(people.staff)
    return client


def one(client, user, **data):
    return client.post(reverse("admin:accounts_user_delete", args=[user.pk]), data, follow=True)


def many(client, *users, **data):
    chosen = [user.pk for user in users]
    return client.post(LIST, {"action": "delete_selected", "_selected_action": chosen, **data}, follow=True)


WAYS = pytest.mark.parametrize("delete", [one, many])


@WAYS
def test_what_others_rely_on_stays_and_the_rest_goes(staff, people, delete):
    public = make_revision(people.alice, slug="public")
    run = services.queue_run(public, make_model(people.alice), actor=people.bob)
    run_pending()
    make_suite(people.alice, name="secret", visibility="private")
    delete(staff, people.alice, post="yes")
    assert not User.objects.filter(username="alice").exists()
    assert [(suite.pk, suite.owner.username) for suite in Suite.objects.all()] == [
        (public.suite.pk, FORMER_MEMBER)
    ]
    assert SuiteRun.objects.get(pk=run.pk).owner == people.bob
    assert LogEntry.objects.get().object_repr == "alice"


@WAYS
def test_the_page_asks_first_and_says_what_goes_and_what_stays(staff, people, delete):
    make_suite(people.alice, name="open")
    make_suite(people.alice, name="secret", visibility="private")
    page = delete(staff, people.alice).content.decode()
    assert "suites deleted: 1" in page
    assert "suites kept: 1" in page
    assert Suite.objects.filter(owner=people.alice).count() == 2


@WAYS
def test_the_only_administrator_stays(staff, people, delete):
    page = delete(staff, people.staff, post="yes").content.decode()
    assert "The only administrator cannot be deleted." in page
    assert User.objects.filter(pk=people.staff.pk).exists()


def test_not_all_administrators_go_at_once(staff, people):
    second = User.objects.create_superuser("second", password="x")
    page = many(staff, people.staff, second, people.alice, post="yes").content.decode()
    assert "The only administrator cannot be deleted." in page
    assert User.objects.filter(username__in=["staff", "second", "alice"]).count() == 3


@WAYS
def test_who_holds_what_others_left_stays(staff, delete):
    page = delete(staff, former_member(), post="yes").content.decode()
    assert "owns the objects of deleted accounts" in page
    assert User.objects.filter(username=FORMER_MEMBER).exists()


def test_several_go_together_or_none_does(staff, people, monkeypatch):
    """Another user starts to use an object of the second account between confirmation and deletion."""
    delete = User.delete

    def in_use(self, *args, **kwargs):
        if self.username == "bob":
            raise ProtectedError("in use", set())
        return delete(self, *args, **kwargs)

    monkeypatch.setattr(User, "delete", in_use)
    page = many(staff, people.alice, people.bob, post="yes").content.decode()
    assert "being changed" in page
    assert User.objects.filter(username__in=["alice", "bob"]).count() == 2
    assert not LogEntry.objects.exists()


def test_one_that_is_in_use_is_said_and_stays(staff, people, monkeypatch):
    def in_use(self, *args, **kwargs):
        raise ProtectedError("in use", set())

    monkeypatch.setattr(User, "delete", in_use)
    page = one(staff, people.alice, post="yes").content.decode()
    assert "being changed" in page
    assert User.objects.filter(pk=people.alice.pk).exists()
    assert not LogEntry.objects.exists()
