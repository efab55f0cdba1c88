"""Two requests at the same moment: a frozen revision survives them all."""

from __future__ import annotations

import threading

import pytest
from django.core.exceptions import ValidationError
from django.db import connection, connections

from suites import services
from suites.formats import read_suite
from suites.models import FrozenRevision, Suite, SuiteRevision
from tests.factories import make_suite, suite_bytes
from tests.people import make_people


def together(*actions) -> list[Exception]:
    """Run the actions in threads that start at once; returns what went wrong."""
    gate, wrong = threading.Barrier(len(actions)), []

    def act(action):
        gate.wait()
        try:
            action()
        except Exception as error:
            wrong.append(error)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=act, args=(action,)) for action in actions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return wrong


@pytest.mark.django_db(transaction=True)
def test_freezing_and_uploading_at_once_never_lose_the_frozen_revision():
    if connection.vendor == "sqlite" and connection.is_in_memory_db():
        pytest.skip("SQLite in memory has one connection; the test runs on PostgreSQL")
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
    if connection.vendor == "sqlite" and connection.is_in_memory_db():
        pytest.skip("SQLite in memory has one connection; the test runs on PostgreSQL")
    alice = make_people().alice
    document = read_suite(suite_bytes(name="same"))
    assert not together(*[lambda: services.import_suite(document, actor=alice)] * 4)
    assert Suite.objects.count() == 4


def test_a_frozen_revision_cannot_be_deleted_by_hand(people):
    revision = make_suite(people.alice).latest_frozen
    with pytest.raises(FrozenRevision):
        revision.delete()
