"""Freezing a revision."""

from __future__ import annotations

import pytest
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.urls import reverse

from lmgym.suites.formats import read_suite
from suites import services
from suites.models import FrozenRevision, SuiteRevision
from suites.selectors import document_of
from tests.factories import make_suite
from tests.lmgym.suites.documents import suite_bytes


def test_a_frozen_revision_has_the_hash_of_its_content(people):
    suite = make_suite(people.alice)
    revision = suite.latest_frozen
    assert revision.sha256 == document_of(revision).sha256()
    assert revision.frozen_at is not None


def test_nothing_of_a_frozen_revision_can_be_saved(people):
    revision = make_suite(people.alice).latest_frozen
    sentence, prediction = revision.sentences.first(), revision.predictions.first()
    for row in (revision, sentence, prediction):
        with pytest.raises(FrozenRevision):
            row.save()
    for row in (sentence, prediction):
        with pytest.raises(FrozenRevision):
            row.delete()


def test_a_new_version_becomes_the_next_draft_and_leaves_the_frozen_one(people):
    suite = make_suite(people.alice)
    before = document_of(suite.latest_frozen)
    draft = services.replace_draft(suite, read_suite(suite_bytes(items=5)), actor=people.alice)
    assert (draft.number, draft.state) == (2, "draft")
    assert document_of(suite.latest_frozen) == before
    again = services.replace_draft(suite, read_suite(suite_bytes(items=4)), actor=people.alice)
    assert again.number == 2
    assert suite.revisions.count() == 2


def test_there_is_never_a_second_draft(people):
    suite = make_suite(people.alice, frozen=False)
    with pytest.raises(IntegrityError), transaction.atomic():
        SuiteRevision.objects.create(suite=suite, number=7, name="x", metric="sum")


def test_an_opened_draft_is_a_copy_of_the_newest_frozen_revision(people):
    suite = make_suite(people.alice)
    draft = services.open_draft(suite, actor=people.alice)
    assert document_of(draft) == document_of(suite.latest_frozen)
    assert services.open_draft(suite, actor=people.alice).pk == draft.pk


def test_freezing_without_a_draft_says_so(client, people):
    suite = make_suite(people.alice)
    client.force_login(people.alice)
    response = client.post(reverse("suite-freeze", args=[suite.slug]), follow=True)
    assert "There is no draft to freeze" in response.content.decode()


def test_a_collaborator_may_freeze_and_a_stranger_may_not(people):
    suite = make_suite(people.alice, frozen=False, collaborator=people.bob)
    with pytest.raises(PermissionDenied):
        services.freeze(suite, actor=people.charlie)
    assert services.freeze(suite, actor=people.bob, note="ok").note == "ok"


def test_discarding_the_only_revision_is_refused(client, people):
    suite = make_suite(people.alice, frozen=False)
    client.force_login(people.alice)
    response = client.post(reverse("suite-discard-draft", args=[suite.slug]), follow=True)
    assert "only revision" in response.content.decode()
    assert suite.revisions.count() == 1
