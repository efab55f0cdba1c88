"""Notifications: content, recipients, no duplicates, and the number of unread ones."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from gym.accounts.forms import ProfileForm
from gym.jobs import batches, states
from gym.jobs.models import Batch, Job
from gym.jobs.testing import run_pending
from gym.notices import mail, services
from gym.notices.models import Notice
from gym.pages.account_deletion import delete_account
from gym.runs.work.services import cancel_run, queue_run, retry_run
from gym.sharing import invitations
from models_registry import services as models
from tests.agents import site as agents
from tests.factories import make_model, make_revision, make_suite
from tests.lmchallenge import worlds as lmchallenge


def told(user) -> list[str]:
    user.refresh_from_db()
    assert user.unread_notices == user.notices.filter(read=None).count()
    return [notice.text for notice in user.notices.all()]


@pytest.fixture
def runs(people):
    """Three runs by alice on one revision."""
    revision = make_revision(people.alice, name="agreement")
    return [
        queue_run(revision, make_model(people.alice, slug=f"m{n}", name=f"Model {n}"), actor=people.alice)
        for n in range(3)
    ]


def fail(run) -> None:
    states.claim(run.job_id, "w")
    states.end_attempt(Job.objects.filter(pk=run.job_id), "broken", permanent=True)


def test_runs_queued_together_make_one_notice_when_the_last_has_ended(people, runs):
    fail(runs[0])
    assert batches.announce() == 0
    assert told(people.alice) == []
    run_pending()
    assert (batches.announce(), batches.announce()) == (1, 0)
    assert told(people.alice) == ["2 runs on agreement r1 are done, 1 failed."]
    assert people.alice.notices.get().address == runs[0].revision.get_absolute_url()
    assert told(people.bob) == []


def test_a_run_that_is_tried_again_or_queued_later_is_told_of_by_itself_and_a_cancelled_one_is_not(
    people, runs
):
    fail(runs[0])
    for run in runs[1:]:
        cancel_run(run, actor=people.alice)
    batches.announce()
    assert told(people.alice) == ["Model 0 on agreement r1 failed."]
    runs[0].refresh_from_db()
    retry_run(runs[0], actor=people.alice)
    run_pending()
    Batch.objects.update(joined=timezone.now() - timedelta(minutes=2))
    queue_run(runs[0].revision, runs[1].model, actor=people.alice)
    assert Batch.objects.count() == 2
    batches.announce()
    assert told(people.alice)[0] == "Model 0 on agreement r1 is done."


def test_the_end_of_agent_runs_is_told_too(people):
    suite = agents.make_suite(people.alice)
    for slug in ("one", "two"):
        run = agents.make_run(suite, agents.make_server(people.alice, slug))
    run_pending()
    batches.announce()
    assert told(people.alice) == [f"2 agent runs on {run.suite} are done."]


def test_the_end_of_games_and_of_counting_a_log_is_told_too(people):
    corpus = lmchallenge.make_corpus(people.alice)
    lmchallenge.play(corpus, people.alice)
    batches.announce()
    assert told(people.alice) == ["adaptive wp on Cats is done."]
    for title in ("one", "two"):
        lmchallenge.upload(people.bob, lmchallenge.LOG, title=title)
    batches.announce()
    assert told(people.bob) == ["2 games are done."]
    assert people.bob.notices.get().address == "/games/"


def test_a_job_that_will_be_tried_once_more_after_its_workers_died_has_not_ended(people, runs):
    run_pending()
    Job.objects.filter(pk=runs[0].job_id).update(
        state="failed", error="died", deaths=3, max_attempts=3, lost_at=timezone.now()
    )
    assert batches.announce() == 0


def test_an_invitation_is_told_goes_when_withdrawn_and_is_read_when_answered(people):
    suite = make_suite(people.alice, name="agreement", visibility="private")
    offer = invitations.invite(suite, "bob", "edit", actor=people.alice)
    assert told(people.bob) == ["alice invites you to the suite agreement."]
    invitations.withdraw(suite, offer, actor=people.alice)
    assert told(people.bob) == []
    offer = invitations.invite(suite, "bob", "edit", actor=people.alice)
    invitations.accept(offer, actor=people.bob)
    told(people.bob)
    assert people.bob.unread_notices == 0
    invitations.offer_ownership(suite, suite.collaborations.get(), actor=people.alice)
    assert told(people.bob) == ["alice offers you the suite agreement."]


def test_the_owner_of_a_model_is_told_what_staff_decided_and_staff_is_not_told_of_its_own(people, register):
    waiting = register(people.charlie)
    models.refuse_model(waiting, "No licence.", actor=people.staff)
    assert told(people.charlie) == ["Your model M was not approved; its page says why."]
    models.approve_model(waiting, actor=people.staff)
    assert told(people.charlie) == ["Your model M was approved and is being checked."]
    models.approve_model(register(people.staff), actor=people.staff)
    assert told(people.staff) == []


@pytest.fixture
def register():
    def make(owner):
        return make_model(owner, slug=f"m-{owner.username}", name="M", status="unapproved")

    return make


def tell(user, text="News.", **more) -> None:
    services.notify(user, Notice.Kind.RUNS, text, "/runs/", **more)


def test_one_and_all_are_marked_as_read_and_nobody_elses(client, people):
    for user in (people.alice, people.alice, people.alice, people.bob):
        tell(user)
    client.force_login(people.alice)
    about = " ".join(client.get("/about/").content.decode().split())
    assert '3<span class="visually-hidden"> unread' in about
    one, two, _ = people.alice.notices.all()
    answer = client.post(f"/notifications/{one.pk}/read/", {"go": "1"})
    assert answer.headers["Location"] == "/runs/"
    client.post(f"/notifications/{one.pk}/read/")
    client.post(f"/notifications/{two.pk}/read/")
    told(people.alice)
    assert people.alice.unread_notices == 1
    client.post("/notifications/read/")
    told(people.alice)
    assert people.alice.unread_notices == 0
    assert '"visually-hidden"> unread' not in client.get("/about/").content.decode()
    told(people.bob)
    assert people.bob.unread_notices == 1


def test_old_ones_go_when_something_is_told_or_staff_tidies_and_all_go_with_the_account(people):
    for user in (people.alice, people.bob):
        tell(user, "old")
    Notice.objects.update(created=timezone.now() - services.KEPT - timedelta(hours=1))
    tell(people.alice, "new")
    assert told(people.alice) == ["new"]
    assert services.forget_old() == 1
    assert told(people.bob) == []
    delete_account(people.alice)
    assert not Notice.objects.exists()


def test_mail_is_sent_to_who_asked_for_it_and_repeats_no_titles(
    people, mailoutbox, monkeypatch, django_capture_on_commit_callbacks
):
    monkeypatch.setattr(mail, "in_background", lambda send, *arguments: send(*arguments))
    suite = make_suite(people.alice, name="cheap-pills", visibility="private")
    for wishes, n_mails in ((False, 0), (True, 1)):
        type(people.bob).objects.filter(pk=people.bob.pk).update(notices_by_mail=wishes)
        with django_capture_on_commit_callbacks(execute=True):
            offer = invitations.invite(suite, "bob", "view", actor=people.alice)
        assert len(mailoutbox) == n_mails
        invitations.withdraw(suite, offer, actor=people.alice)
    assert mailoutbox[0].to == ["bob@example.org"]
    assert "cheap-pills" not in mailoutbox[0].subject + mailoutbox[0].body


def test_the_profile_asks_for_an_address_and_says_where_no_mail_can_be_sent(people, settings):
    given = {"notices_by_mail": "on", "email": "", "password": "alice"}
    assert list(ProfileForm(given, instance=people.alice).errors) == ["notices_by_mail"]
    settings.EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
    form = ProfileForm(given | {"email": people.alice.email}, instance=people.alice)
    assert form.fields["notices_by_mail"].help_text == "This site has no mail server."
    assert form.is_valid()
    assert not form.save().notices_by_mail
