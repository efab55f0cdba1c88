"""Import human data: from an uploaded file to a data set."""

from __future__ import annotations

import gzip
from collections import defaultdict

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from django.utils import timezone

from gym.jobs.models import Job
from gym.jobs.testing import run_pending
from gym.people import services
from gym.people.exports import observation_rows
from gym.people.models import ColumnPiece, FilePiece, HumanData, HumanDataImport
from gym.people.quotas import HUMAN_DATA
from gym.people.storage import load
from suites.models import Suite
from tests.human_data.experiments import PEOPLE, import_file, make_revision, results_file
from tests.lmgym.people import worlds
from tests.once import once_a_module

built, people, revision = once_a_module(lambda people: make_revision(people.alice))


def test_a_results_file_becomes_a_private_data_set(revision, people):
    data = import_file(revision, people.alice)
    assert (data.visibility, data.n_participants, data.n_items) == ("private", PEOPLE, 8)
    assert len(data.provenance["sha256"]) == 64
    assert data.result["n"] == data.n_observations


def test_participants_are_renamed_and_the_file_is_deleted(revision, people):
    data = import_file(revision, people.alice)
    observations, _ = load(data)
    assert set(observations.participants) == {f"P{k}" for k in range(1, PEOPLE + 1)}
    order = dict.fromkeys(row[0] for row in observation_rows(data))
    assert list(order) == [f"P{k}" for k in range(1, PEOPLE + 1)]  # not that of the sessions
    assert not FilePiece.objects.exists()
    assert bytes(HumanDataImport.objects.get().salt) == b""


def rows_by_participant(data):
    """Rows of each participant without the name, which is random in each import."""
    rows = defaultdict(list)
    for who, *values in observation_rows(data):
        rows[who].append(values)
    return sorted(rows.values())


def test_a_downloaded_data_set_can_be_imported_again(client, revision, people):
    first = import_file(revision, people.alice)
    client.force_login(people.alice)
    response = client.get(reverse("human-data-download", args=[first.slug, "csv"]))
    second = import_file(revision, people.alice, b"".join(response.streaming_content), "observations.csv")
    assert second.as_measure() == first.as_measure()
    assert rows_by_participant(second) == rows_by_participant(first)


def rows_by_word():
    """Rows of two participants who read every word of the suite: participant, item, condition, number, word, ms."""
    return [
        [who, sentence.item, sentence.condition, number, word, 300 + number]
        for who in ("p1", "p2")
        for sentence in worlds.suite().sentences
        for number, word in enumerate(sentence.text.split(), start=1)
    ]


def test_a_bad_table_is_explained_and_nothing_is_saved(client, revision, people):
    client.force_login(people.alice)
    rows = rows_by_word()
    lines = [
        "participant,item,condition,word_number,word,rt",
        *(",".join(map(str, row)) for row in (*rows, [*rows[0][:5], 999])),
    ]
    row = services.upload(revision, "\n".join(lines).encode(), "bad.csv", actor=people.alice)
    services.answer(row, {"columns.A": "participant"}, actor=people.alice)
    run_pending("short")
    assert "line 162 repeats line 2" in client.get(row.get_absolute_url()).content.decode()
    assert not HumanData.objects.exists()
    assert not ColumnPiece.objects.exists()


def test_the_page_shows_how_the_file_is_read_before_anything_is_saved(client, revision, people):
    client.force_login(people.alice)
    row = services.upload(revision, results_file(), "results.csv", actor=people.alice)
    page = client.get(row.get_absolute_url())
    assert page.status_code == 200
    reading = client.post(reverse("human-data-import-reading", args=[row.key]), row.answers)
    assert f" values of self-paced reading time from {PEOPLE} participants, " in reading.content.decode()
    assert not HumanData.objects.exists()


def test_others_do_not_see_an_uploaded_file(client, revision, people):
    row = services.upload(revision, results_file(), "results.csv", actor=people.alice)
    client.force_login(people.charlie)
    assert client.get(row.get_absolute_url()).status_code == 404


def test_an_import_that_breaks_off_leaves_nothing_and_can_be_repeated(revision, people, monkeypatch):
    row = services.upload(revision, results_file(), "results.csv", actor=people.alice)
    services.answer(row, {}, actor=people.alice)

    def break_off(*_):
        raise OSError("the machine went down")

    with monkeypatch.context() as broken:
        broken.setattr(services, "write_pieces", break_off)
        run_pending("short", limit=1)
    assert not HumanData.objects.exists()
    Job.objects.update(not_before=timezone.now())
    run_pending("short")
    assert HumanData.objects.get().n_participants == PEOPLE


def test_publication_needs_confirmation_and_a_public_suite(client, revision, people):
    data = import_file(revision, people.alice)
    address = reverse("human-data-visibility", args=[data.slug])
    client.force_login(people.alice)
    assert client.post(address, {"consent": "on"}).status_code == 400
    Suite.objects.update(visibility="unlisted")
    confirmed = {"consent": "on", "anonymity": "on"}
    assert "Make the suite public first" in client.post(address, confirmed).content.decode()
    Suite.objects.update(visibility="public")
    for _ in range(2):  # a form that is sent twice does not withdraw the data
        client.post(address, confirmed)
        data.refresh_from_db()
        assert data.visibility == "public"
    assert data.confirmed_at is not None
    client.post(address, {"visibility": "private"})
    data.refresh_from_db()
    assert data.visibility == "private"


def test_the_quota_does_not_count_the_file_and_its_data_set_at_once(revision, people, settings):
    data = import_file(revision, people.alice)
    imported = HUMAN_DATA.amount_of(people.alice).bytes
    data.delete()
    HumanDataImport.objects.all().delete()
    settings.GYM_QUOTA_HUMAN_DATA = (0, max(imported, len(results_file())) + 500)
    assert import_file(revision, people.alice).n_participants == PEOPLE


@pytest.mark.parametrize("way", ["page", "api"])
def test_owners_keep_control_of_data_whose_suite_was_hidden_from_them(client, revision, people, way):
    data = import_file(revision, people.charlie)
    Suite.objects.update(visibility="private")
    client.force_login(people.charlie)
    assert client.get(data.get_absolute_url()).status_code == 404
    api = f"/api/v1/human-data/{data.slug}/"
    assert client.get(api).status_code == 404
    file, delete = (
        (
            reverse("human-data-download", args=[data.slug, "csv"]),
            reverse("human-data-delete", args=[data.slug]),
        )
        if way == "page"
        else (f"{api}observations/csv/", api)
    )
    assert client.get(file).status_code == 200
    listed = client.get(reverse("human-data-list"))
    assert "Your data of hidden suites" in listed.content.decode()
    client.force_login(people.bob)
    assert client.get(file).status_code == 404
    client.force_login(people.charlie)
    deleted = client.post(delete) if way == "page" else client.delete(delete)
    assert deleted.status_code == (302 if way == "page" else 204)
    assert not HumanData.objects.exists()


def test_the_api_names_open_questions_and_imports_with_answers(client, revision, people):
    client.force_login(people.alice)
    rows = results_file() + results_file().replace(b",b,", b",control,")
    file = SimpleUploadedFile("results.csv", rows)
    refused = client.post("/api/v1/human-data/", {"file": file, "suite": revision.suite.slug})
    assert refused.status_code == 400
    assert "conditions.control" in refused.json()["asks"]
    assert not HumanDataImport.objects.exists()
    file.seek(0)
    answers = {"answers.conditions.control": "-", "answers.doubled": "first"}
    answer = client.post("/api/v1/human-data/", {"file": file, "suite": revision.suite.slug, **answers})
    assert answer.status_code == 202, answer.json()
    run_pending("short")
    done = client.get(answer["Location"]).json()
    assert done["state"] == "done"
    assert client.get(f"/api/v1/human-data/{done['human_data']}/").json()["n_participants"] == PEOPLE


def test_who_reads_data_of_an_unlisted_suite_sees_no_authors(client, people):
    data = import_file(make_revision(people.alice, visibility="unlisted"), people.alice)
    data.collaborations.create(user=people.charlie, role="view")
    HumanData.objects.update(author="Alicia Quetzal", bibtex="@misc{q, author = {Quetzal}}")
    address = f"/api/v1/human-data/{data.slug}/"
    for person, is_named in ((people.alice, True), (people.charlie, False)):
        client.force_login(person)
        answers = (client.get(address), client.get(reverse("human-data-download", args=[data.slug, "bib"])))
        assert [b"Quetzal" in answer.content for answer in answers] == [is_named, is_named]


def test_small_groups_and_the_files_name_stay_with_those_who_edit(client, revision, people):
    lines = [f"{','.join(map(str, row))},{80 + int(row[0][1:])}" for row in rows_by_word()]
    file = "\n".join(["participant,item,condition,word_number,word,rt,age", *lines]).encode()
    data = import_file(revision, people.alice, file, "amy.csv", **{"columns.G": "demographic"})
    services.set_visibility(data, "public", actor=people.alice, confirmed=True)
    assert "fewer than 5 people" in str(data.provenance["notices"])
    assert "82" not in str(data.provenance["notices"])
    client.force_login(people.charlie)
    answer = client.get(f"/api/v1/human-data/{data.slug}/").json()
    assert set(answer["provenance"]) == {"reader", "sha256", "left_out"}
    assert "fewer than 5 people" not in client.get(data.get_absolute_url()).content.decode()
    client.force_login(people.alice)
    assert client.get(f"/api/v1/human-data/{data.slug}/").json()["provenance"] == data.provenance


def test_a_compressed_file_is_read_by_the_job_unless_it_is_tiny(client, revision, people, monkeypatch):
    packed = gzip.compress(results_file())
    assert services.is_live(packed)
    monkeypatch.setattr(services, "LIVE_BYTES", len(packed) * 2)
    row = services.upload(revision, packed, "results.csv.gz", actor=people.alice)
    assert row.is_busy
    run_pending("short")
    client.force_login(people.alice)
    assert "This file is large" in client.get(row.get_absolute_url()).content.decode()
    reading = client.post(reverse("human-data-import-reading", args=[row.key]), {})
    assert "HX-Refresh" in reading.headers
