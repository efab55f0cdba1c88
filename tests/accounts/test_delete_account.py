"""Account deletion does what its page announces."""

from __future__ import annotations

import pytest
from django.urls import reverse

from gym.accounts.models import ApiToken, User
from gym.accounts.tokens import create_token
from gym.jobs.models import Job
from gym.jobs.testing import run_pending
from gym.pages.account_deletion import FORMER_MEMBER
from gym.people.models import HumanData
from gym.people.services import set_visibility
from gym.runs.models import SuiteRun
from gym.runs.work import services
from gym.secrets import sealed
from models_registry.models import RegisteredModel
from suites.models import Suite, SuiteCollaborator
from tests.factories import make_model, make_revision, make_suite
from tests.human_data import experiments

DELETE = "/accounts/delete/"


@pytest.fixture
def alice(client, people) -> User:
    client.force_login(people.alice)
    return people.alice


def delete(client):
    return client.post(DELETE, {"password": "alice"})


def owner(suite: Suite) -> str:
    return Suite.objects.select_related("owner").get(pk=suite.pk).owner.username


def test_it_takes_the_password(client, alice):
    for password in ("", "wrong"):
        assert client.post(DELETE, {"password": password}).status_code == 400
    assert client.get(DELETE).status_code == 200
    assert User.objects.filter(pk=alice.pk).exists()


def test_the_account_is_gone_and_so_are_its_sessions_and_tokens(client, alice):
    _, plain = create_token(actor=alice, name="ci", scopes=["read"])
    assert delete(client).url == "/"
    assert not User.objects.filter(username="alice").exists()
    assert not ApiToken.objects.exists()
    assert "_auth_user_id" not in client.session
    assert client.get("/api/v1/", headers={"authorization": f"Bearer {plain}"}).status_code == 401


@pytest.mark.parametrize("visibility", ["private", "unlisted"])
def test_a_suite_that_nobody_else_relies_on_goes_with_its_runs(client, alice, visibility):
    revision = make_revision(alice, visibility=visibility)
    services.queue_run(revision, make_model(alice), actor=alice)
    run_pending()
    delete(client)
    assert not Suite.objects.exists()
    assert not SuiteRun.objects.exists()


def test_a_private_suite_with_somebody_elses_results_stays(client, people, alice):
    revision = make_revision(alice, visibility="public")
    run = services.queue_run(revision, make_model(people.bob), actor=people.bob)
    run_pending()
    Suite.objects.update(visibility="private")
    delete(client)
    assert owner(revision.suite) == FORMER_MEMBER
    assert SuiteRun.objects.get(pk=run.pk).owner == people.bob


def test_a_suite_with_collaborators_stays_and_they_keep_their_roles(client, people, alice):
    suite = make_suite(alice, visibility="private", collaborator=people.bob)
    delete(client)
    assert owner(suite) == FORMER_MEMBER
    assert SuiteCollaborator.objects.get().user == people.bob
    client.force_login(people.bob)
    assert client.get(f"/suites/{suite.slug}/edit/").status_code == 200


def test_a_public_suite_stays_with_my_results_but_not_my_name(client, people, alice):
    alice.first_name = "Alicia"
    alice.save()
    revision = make_revision(alice)
    run = services.queue_run(revision, make_model(alice), actor=alice)
    run_pending()
    delete(client)
    assert owner(revision.suite) == FORMER_MEMBER
    assert SuiteRun.objects.get(pk=run.pk).owner is None
    for address in (revision.get_absolute_url(), run.get_absolute_url(), "/runs/", "/api/v1/suites/"):
        page = client.get(address)
        assert page.status_code == 200
        assert "Alicia" not in page.content.decode()


def test_a_private_model_goes_and_a_public_or_used_one_stays(client, people, alice):
    make_model(alice, slug="secret", visibility="private")
    make_model(alice, slug="open")
    used = make_model(alice, slug="used")
    public = make_revision(people.bob)
    services.queue_run(public, used, actor=people.bob)
    services.queue_run(public, RegisteredModel.objects.get(slug="secret"), actor=alice)
    run_pending()
    RegisteredModel.objects.filter(slug="used").update(visibility="private")
    delete(client)
    left = {model.slug: model.owner.username for model in RegisteredModel.objects.all()}
    assert left == {"open": FORMER_MEMBER, "used": FORMER_MEMBER}
    assert SuiteRun.objects.get().model == used


def test_a_model_that_stays_keeps_no_key_of_its_owner(client, alice):
    model = make_model(alice, slug="open")
    RegisteredModel.objects.filter(pk=model.pk).update(secrets=sealed({}, {"api_key": "sk-alices"}))
    assert b"without its secrets" in client.get(reverse("account-delete")).content
    delete(client)
    assert RegisteredModel.objects.get().secrets == {}


def test_suites_of_others_stay_as_they_are(client, people, alice):
    suite = make_suite(people.bob, visibility="private", collaborator=alice)
    delete(client)
    assert owner(suite) == "bob"
    assert not SuiteCollaborator.objects.exists()


def test_jobs_that_wait_are_cancelled_and_say_nothing_about_what_is_gone(client, alice):
    services.queue_run(make_revision(alice, visibility="private"), make_model(alice), actor=alice)
    delete(client)
    job = Job.objects.get()
    assert (job.state, job.title, job.owner) == ("cancelled", "a deleted run", None)
    assert run_pending() == []


def test_the_page_says_beforehand_what_happens(client, people, alice):
    make_suite(alice, name="mine", visibility="private")
    make_suite(alice, name="ours", visibility="private", collaborator=people.bob)
    make_suite(people.bob, name="theirs", visibility="private", collaborator=alice)
    make_model(alice, slug="open-one")
    page = client.get(DELETE).content.decode()
    deleted, kept = page.split("Kept, and shown as owned by")
    assert "/suites/mine/" in deleted
    assert "/suites/theirs/" in deleted  # alice stops collaborating on it
    assert "/suites/ours/" in kept
    assert "/models/open-one/" in kept
    assert "/suites/mine/" not in kept


def test_the_page_takes_as_many_queries_for_many_things_as_for_few(
    client, people, alice, django_assert_max_num_queries
):
    revision, model = make_revision(alice), make_model(alice)
    for number in range(10):
        make_suite(alice, name=f"mine{number}", visibility="private", frozen=False)
        services.queue_run(revision, model, actor=alice)
    with django_assert_max_num_queries(26):
        assert client.get(DELETE).status_code == 200


def test_nobody_can_be_the_former_member(client, alice):
    make_suite(alice)
    delete(client)
    heir = User.objects.get(username=FORMER_MEMBER)
    assert (heir.is_active, heir.has_usable_password()) == (False, False)
    assert heir.email == ""


def test_the_only_administrator_stays(client, people):
    client.force_login(people.staff)
    response = client.post(DELETE, {"password": "staff"})
    assert response.status_code == 400
    assert "only administrator" in response.content.decode()
    User.objects.create_superuser("root2", password="x")
    assert client.post(DELETE, {"password": "staff"}).status_code == 302


def test_everything_happens_or_nothing(client, alice, monkeypatch):
    suite = make_suite(alice, visibility="private")

    def broken():
        raise RuntimeError("power cut")

    monkeypatch.setattr("gym.pages.account_deletion.former_member", broken)
    with pytest.raises(RuntimeError):
        delete(client)
    assert Suite.objects.filter(pk=suite.pk, owner=alice).exists()


def test_private_human_data_go_and_public_ones_stay_with_their_suite(client, alice):
    revision = experiments.make_revision(alice)
    private, public = (experiments.import_file(revision, alice) for _ in range(2))
    set_visibility(public, "public", actor=alice, confirmed=True)
    page = client.get(DELETE).content.decode()
    assert private.get_absolute_url() in page
    delete(client)
    assert [(data.pk, data.owner.username) for data in HumanData.objects.all()] == [
        (public.pk, FORMER_MEMBER)
    ]
    assert owner(revision.suite) == FORMER_MEMBER


def test_a_private_suite_stays_while_others_have_human_data_of_it(client, alice, people):
    revision = experiments.make_revision(alice, visibility="private")
    revision.suite.collaborations.create(user=people.bob, role="view")
    theirs = experiments.import_file(revision, people.bob)
    revision.suite.collaborations.all().delete()
    delete(client)
    assert HumanData.objects.get().pk == theirs.pk
    assert owner(revision.suite) == FORMER_MEMBER
