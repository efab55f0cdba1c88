"""Concurrent requests: a frozen revision never changes, suites of one name get different addresses, and a
draft is read whole.
"""

from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError
from django.db import connection
from django.db.models import F

from lmgym.suites.formats import read_suite
from suites import drafts, selectors, services
from suites.models import FrozenRevision, Suite, SuiteRevision
from suites.selectors import document_of, findings_of
from tests.at_once import need_connections, together
from tests.factories import make_suite
from tests.lmgym.suites.documents import suite_bytes
from tests.people import make_people


@pytest.mark.django_db(transaction=True)
def test_freezing_and_uploading_at_once_never_lose_the_frozen_revision():
    need_connections()
    alice = make_people().alice
    new = read_suite(suite_bytes(items=4))
    for round_ in range(10):
        suite = make_suite(alice, name=f"race{round_}", frozen=False)
        frozen = []
        wrong = together(
            lambda suite=suite, frozen=frozen: frozen.append(services.freeze(suite, actor=alice).pk),
            lambda suite=suite: services.replace_draft(suite, new, actor=alice),
            lambda suite=suite: services.discard_draft(suite, actor=alice),
        )
        assert all(isinstance(error, ValidationError) for error in wrong), wrong
        for pk in frozen:
            assert SuiteRevision.objects.filter(pk=pk, state="frozen").exists()


@pytest.mark.django_db(transaction=True)
def test_suites_of_one_name_imported_at_once_get_different_addresses():
    need_connections()
    alice = make_people().alice
    document = read_suite(suite_bytes(name="same"))
    assert not together(*[lambda: services.import_suite(document, actor=alice)] * 16)
    assert Suite.objects.count() == 16


def test_a_draft_that_is_edited_between_its_row_and_its_sentences_is_read_again(people):
    suite = make_suite(people.alice, frozen=False)
    row = suite.draft
    ops = [
        {"op": "rename_condition", "name": row.condition_names[0], "to": "renamed"},
        {"op": "insert_condition", "at": 0, "name": "new"},
    ]
    assert not drafts.apply_edits(suite, row.edits, [{"id": "1", "ops": ops}], actor=people.alice).conflicts
    assert "renamed" not in row.condition_names
    findings_of(row)
    assert document_of(row) == document_of(Suite.objects.get(pk=suite.pk).draft)


def test_a_draft_that_never_stops_changing_is_locked_for_the_last_reading(people, monkeypatch):
    row = make_suite(people.alice, frozen=False).draft
    readings = []

    def read_and_change(revision):
        readings.append(connection.in_atomic_block and len(connection.savepoint_ids))
        SuiteRevision.objects.filter(pk=row.pk).update(edits=F("edits") + 1)
        return plain(revision)

    plain = selectors._read_document
    monkeypatch.setattr(selectors, "_read_document", read_and_change)
    assert document_of(row).sentences
    assert len(readings) == selectors.MAX_READS + 1
    assert readings[-1] > readings[0]


def test_a_draft_that_is_discarded_between_its_row_and_its_sentences_reads_as_nothing(people):
    suite = make_suite(people.alice)
    row = services.open_draft(suite, actor=people.alice)
    services.discard_draft(suite, actor=people.alice)
    assert document_of(row).sentences == ()
    findings_of(row)


def test_a_frozen_revision_cannot_be_deleted_by_hand(people):
    revision = make_suite(people.alice).latest_frozen
    with pytest.raises(FrozenRevision):
        revision.delete()
