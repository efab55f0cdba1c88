"""Deleting a suite: only by its owner and staff, and never if a run refers to it, even a queued one."""

from __future__ import annotations

import pytest
from django.core.exceptions import PermissionDenied, ValidationError
from django.urls import reverse

from gym.jobs.testing import run_pending
from gym.runs.work import services as runs
from suites import services
from suites.models import Prediction, Sentence, Suite, SuiteRevision
from tests.factories import make_model, make_suite


def delete(client, user, suite):
    client.force_login(user)
    return client.post(reverse("suite-delete", args=[suite.slug]), follow=True)


@pytest.mark.parametrize("frozen", [False, True])
def test_its_owner_deletes_a_suite_with_everything_in_it(client, people, frozen):
    other = make_suite(people.alice, name="other")
    suite = make_suite(people.alice, name="mine", frozen=frozen, collaborator=people.bob)
    response = delete(client, people.alice, suite)
    assert response.redirect_chain == [("/suites/", 302)]
    assert "mine was deleted." in response.content.decode()
    assert list(Suite.objects.all()) == [other]
    for rows in (SuiteRevision.objects.all(), Sentence.objects.all(), Prediction.objects.all()):
        assert rows.exists()
    assert Sentence.objects.count() == 6


def test_a_suite_that_was_run_stays_whole(client, people):
    suite = make_suite(people.alice)
    run = runs.queue_run(suite.latest_frozen, make_model(people.alice), actor=people.charlie)
    run_pending()
    response = delete(client, people.alice, suite)
    assert response.redirect_chain == [(suite.get_absolute_url(), 302)]
    assert "This suite has runs" in response.content.decode()
    run.refresh_from_db()
    assert (suite.revisions.count(), run.sentence_scores.count()) == (1, 6)
    with pytest.raises(ValidationError, match="Make it private instead"):
        services.delete_suite(suite, actor=people.staff)


def test_a_run_that_only_waits_keeps_its_suite_too(people):
    suite = make_suite(people.alice)
    runs.queue_run(suite.latest_frozen, make_model(people.alice), actor=people.charlie)
    with pytest.raises(ValidationError):
        services.delete_suite(suite, actor=people.alice)
    assert suite.latest_frozen.sentences.count() == 6


def test_collaborators_and_strangers_delete_nothing(client, people):
    suite = make_suite(people.alice, collaborator=people.bob)
    for person in (people.bob, people.charlie):
        assert delete(client, person, suite).status_code == 403
        with pytest.raises(PermissionDenied):
            services.delete_suite(suite, actor=person)
    private = make_suite(people.alice, name="hidden", visibility="private")
    assert delete(client, people.charlie, private).status_code == 404
    assert Suite.objects.count() == 2


def test_looking_at_the_address_deletes_nothing(client, people):
    suite = make_suite(people.alice)
    client.force_login(people.alice)
    assert client.get(reverse("suite-delete", args=[suite.slug])).status_code == 405
    assert Suite.objects.count() == 1


def test_the_address_of_a_private_suite_is_free_again_and_that_of_a_public_one_stays_taken(client, people):
    delete(client, people.alice, make_suite(people.alice, name="mine", visibility="private"))
    delete(client, people.alice, make_suite(people.alice, name="cited"))
    assert make_suite(people.bob, name="mine").slug == "mine"
    assert make_suite(people.bob, name="cited").slug == "cited-2"
