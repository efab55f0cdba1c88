"""The page *Download your data*: one zip of everything that an account owns, for its owner alone."""

from __future__ import annotations

import io
import json
import zipfile
from datetime import timedelta

import pytest
from django.utils import timezone

from gym import stored_files
from gym.jobs import batches, runner, states
from gym.jobs.models import Job
from gym.jobs.reaper import reap_expired
from gym.jobs.testing import run_pending
from gym.notices.models import Notice
from gym.pages import account_downloads
from gym.pages.account_deletion import delete_account
from gym.pages.account_downloads import delete_export, export_of, request_export
from gym.pages.models import AccountExport, ExportPiece
from tests.factories import make_revision

pytestmark = pytest.mark.django_db
PAGE, FILE = "/accounts/export/", "/accounts/export/file/"


def names_in(response) -> list[str]:
    with zipfile.ZipFile(io.BytesIO(response.getvalue())) as archive:
        return archive.namelist()


def claim() -> Job:
    job = states.claim_next("short", "a worker")
    assert job is not None
    return job


def test_the_page_creates_the_zip_and_offers_it_to_its_owner(client, people):
    make_revision(people.alice, name="owls")
    client.force_login(people.alice)
    assert client.get(FILE).url == PAGE
    assert "Create the zip" in client.get(PAGE).content.decode()
    assert client.post(PAGE).url == PAGE
    assert f'hx-get="{PAGE}"' in client.get(PAGE).content.decode()
    run_pending()
    response = client.get(FILE)
    day = timezone.now().strftime("%Y-%m-%d")
    assert response["Content-Disposition"] == f'attachment; filename="lm-gym-data-{day}.zip"'
    assert int(response["Content-Length"]) == len(response.getvalue())
    assert "suites/owls-r1.json" in names_in(client.get(FILE))
    page = " ".join(client.get(PAGE).content.decode().split())
    assert f"Download lm-gym-data-{day}.zip" in page
    client.force_login(people.bob)
    assert client.get(FILE).url == PAGE


def test_it_has_the_files_of_the_command(client, people):
    make_revision(people.alice)
    file = io.BytesIO()
    account_downloads.export_account(people.alice, file)
    request_export(actor=people.alice)
    run_pending()
    client.force_login(people.alice)
    with zipfile.ZipFile(file) as archive:
        assert names_in(client.get(FILE)) == archive.namelist()


def test_one_zip_at_a_time_and_the_next_replaces_it(people):
    first = request_export(actor=people.alice)
    assert request_export(actor=people.alice) == first
    run_pending()
    second = request_export(actor=people.alice)
    assert second != first
    assert AccountExport.objects.get() == second
    assert not ExportPiece.objects.exists()


def test_too_many_jobs_are_refused_with_a_message(client, people, settings):
    settings.GYM_MAX_ACTIVE_JOBS_PER_USER = 1
    Job.objects.create(kind="x", owner=people.alice)
    client.force_login(people.alice)
    page = client.post(PAGE, follow=True).content.decode()
    assert "the limit is 1" in page
    assert not AccountExport.objects.exists()


def test_the_owner_is_notified_although_other_jobs_go_on(people):
    request_export(actor=people.alice)
    run_pending()
    Job.objects.create(kind="x", owner=people.alice)
    batches.announce()
    (notice,) = Notice.objects.filter(user=people.alice)
    assert (notice.text, notice.address) == ("Your data is ready to download.", PAGE)


def test_a_worker_that_lost_its_lease_adds_nothing_to_the_zip_of_the_next(people, monkeypatch):
    make_revision(people.alice)
    request_export(actor=people.alice)
    lost = claim()
    Job.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    assert reap_expired() == 1
    Job.objects.update(not_before=timezone.now())
    assert runner.run(claim(), heartbeat=False) == "done"
    pieces = list(ExportPiece.objects.values_list("pk", flat=True))
    assert runner.run(lost, heartbeat=False) is None
    assert list(ExportPiece.objects.values_list("pk", flat=True)) == pieces


def test_pieces_of_an_interrupted_attempt_are_replaced(people, monkeypatch):
    monkeypatch.setattr(stored_files, "PIECE", 100)
    export = request_export(actor=people.alice)
    export.pieces.create(position=0, data=b"old")
    export.pieces.create(position=10**6, data=b"old")
    run_pending()
    export.refresh_from_db()
    with zipfile.ZipFile(io.BytesIO(b"".join(stored_files.pieces_of(export)))) as archive:
        assert json.loads(archive.read("account.json"))["username"] == "alice"
        assert archive.testzip() is None
        assert len(archive.namelist()) == export.n_files
    assert export.pieces.count() == -(-export.size // 100)


def test_a_zip_larger_than_what_the_site_keeps_is_refused(people, settings):
    settings.GYM_KEPT_ZIPS_MB = 0
    request_export(actor=people.alice)
    (job,) = run_pending()
    assert (job.state, job.tries) == ("failed", 1)
    assert "this site keeps at most 0 MB" in job.error
    assert not ExportPiece.objects.exists()


def test_the_owner_can_delete_it_at_any_time(client, people):
    request_export(actor=people.alice)
    client.force_login(people.alice)
    client.post(PAGE, {"delete": "1"})
    assert Job.objects.get().state == "cancelled"
    request_export(actor=people.alice)
    run_pending()
    delete_export(actor=people.alice)
    assert export_of(people.alice) is None
    assert not ExportPiece.objects.exists()


def test_it_goes_with_the_account_whose_deletion_offers_it_first(client, people):
    client.force_login(people.alice)
    assert PAGE in client.get("/accounts/delete/").content.decode()
    request_export(actor=people.alice)
    run_pending()
    assert FILE in client.get("/accounts/delete/").content.decode()
    delete_account(people.alice)
    assert not ExportPiece.objects.exists()
