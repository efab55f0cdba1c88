"""Import human data: from an uploaded file to a data set."""

from __future__ import annotations

import pytest
from django.urls import reverse

from gym.jobs.testing import run_pending
from gym.people import services
from gym.people.models import FilePiece, HumanData, HumanDataImport
from gym.people.storage import load
from tests.human_data.experiments import PEOPLE, import_file, make_revision, results_file
from tests.people import make_people

pytestmark = pytest.mark.django_db


@pytest.fixture
def people():
    return make_people()


@pytest.fixture
def revision(people):
    return make_revision(people.alice)


def test_a_results_file_becomes_a_private_data_set(revision, people):
    data = import_file(revision, people.alice)
    assert (data.visibility, data.n_participants, data.n_items) == ("private", PEOPLE, 8)
    assert len(data.provenance["sha256"]) == 64
    assert data.result["n"] == data.n_observations


def test_participants_are_renamed_and_the_file_is_deleted(revision, people):
    data = import_file(revision, people.alice)
    observations, _ = load(data)
    assert set(observations.participants) == {f"P{k}" for k in range(1, PEOPLE + 1)}
    assert not FilePiece.objects.exists()
    assert bytes(HumanDataImport.objects.get().salt) == b""


def test_a_table_with_wrong_items_is_explained_and_nothing_is_saved(client, revision, people):
    client.force_login(people.alice)
    table = b"participant,item,condition,word,rt\n" + b"".join(
        b"s%d,%d,a,%d,300\n" % (who, item, word) for who in range(3) for item in (900, 901) for word in (1, 2)
    )
    row = services.upload(revision, table, "wrong.csv", actor=people.alice)
    services.answer(row, {}, actor=people.alice)
    run_pending("short")
    page = client.get(row.get_absolute_url())
    assert "900" in page.content.decode()
    assert not HumanData.objects.exists()


def test_the_page_shows_how_the_file_is_read_before_anything_is_saved(client, revision, people):
    client.force_login(people.alice)
    row = services.upload(revision, results_file(), "results.csv", actor=people.alice)
    page = client.get(row.get_absolute_url())
    assert page.status_code == 200
    reading = client.post(reverse("human-data-import-reading", args=[row.key]), row.answers)
    assert f"{PEOPLE} participants" in reading.content.decode()
    assert not HumanData.objects.exists()


def test_others_do_not_see_an_uploaded_file(client, revision, people):
    row = services.upload(revision, results_file(), "results.csv", actor=people.alice)
    client.force_login(people.charlie)
    assert client.get(row.get_absolute_url()).status_code == 404
