"""A file with more runs than a page waits for is imported by a job."""

from __future__ import annotations

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from gym.jobs.models import Job
from gym.jobs.testing import run_pending
from gym.runs.models import ResultUpload, SuiteRun, UploadInput
from gym.runs.pages import upload_views
from gym.runs.work import uploads
from gym.runs.work.uploads import ModelChoice, ResultFile, delete_upload, plan_upload, save_upload
from models_registry.models import RegisteredModel
from tests.factories import make_revision
from tests.lmgym.runs.uploaded.worlds import outcomes_of_seeds

STEP, N = 5, 12


@pytest.fixture(autouse=True)
def _small_limits(monkeypatch):
    """Lower the limits, so that a file of a few steps counts as large."""
    monkeypatch.setattr(uploads, "STEP", STEP)
    monkeypatch.setattr(uploads, "AT_ONCE", 10)
    monkeypatch.setattr(upload_views, "PER_PAGE", 4)


@pytest.fixture
def revision(people):
    return make_revision(people.alice)


def file() -> SimpleUploadedFile:
    return SimpleUploadedFile("seeds.csv", outcomes_of_seeds(N))


def queued(actor, revision=None) -> ResultUpload:
    plan = plan_upload(ResultFile("seeds.csv", outcomes_of_seeds(N)), actor=actor, revision=revision)
    return save_upload(plan, ModelChoice(visibility="public"), actor=actor)


def test_the_page_queues_it_and_says_how_far_it_is(client, people, revision):
    client.force_login(people.bob)
    form = {"file": file(), "visibility": "public", "kind": "auto", "unit": "bits"}
    address = client.post(reverse("results-upload"), form).url
    page = client.get(address).content.decode()
    assert SuiteRun.objects.count() == 0
    assert f"Its {N} runs are created as soon as" in page
    assert 'hx-trigger="every 2s"' in page
    [job] = run_pending()
    assert (job.state, job.done, job.total, job.owner) == ("done", N, N, people.bob)
    assert {(run.owner, run.source) for run in SuiteRun.objects.all()} == {(people.bob, "uploaded")}
    assert SuiteRun.objects.values("model").distinct().count() == N
    assert not UploadInput.objects.exists()
    page = client.get(address).content.decode()
    assert f"{N} runs" in page
    assert page.count("lstm-") == 4
    assert "?page=3" in page
    assert "every 2s" not in page
    assert "data-reload" in client.get(address, headers={"HX-Request": "true"}).content.decode()


def test_checking_a_large_file_shows_the_first_runs(client, people, revision):
    client.force_login(people.bob)
    form = {"file": file(), "visibility": "public", "kind": "auto", "unit": "bits", "check": "1"}
    page = client.post(reverse("results-upload"), form).content.decode()
    assert f"{N} runs" in page
    assert "Only the first 4" in page
    assert not ResultUpload.objects.exists()


def test_what_is_refused_for_one_reason_is_said_once(client, people, revision):
    make_revision(people.alice, name="longer", items=5)
    rows = outcomes_of_seeds(9, suites=("agreement", "longer"))
    client.force_login(people.bob)
    form = {
        "file": SimpleUploadedFile("seeds.csv", rows),
        "visibility": "public",
        "kind": "auto",
        "unit": "bits",
    }
    address = client.post(reverse("results-upload"), form).url
    for page in (
        client.get(address),
        client.post(
            reverse("results-upload"), form | {"file": SimpleUploadedFile("seeds.csv", rows), "check": "1"}
        ),
    ):
        text = page.content.decode()
        assert text.count("items without an outcome: 4, 5") == 1
        assert "lstm-0, lstm-1, lstm-2, lstm-3 and 5 more" in text


def test_the_api_says_how_far_it_is(client, people, revision):
    client.force_login(people.bob)
    answer = client.post("/api/v1/uploads/", {"file": file()})
    said = answer.json()
    assert (answer.status_code, said["state"], said["runs"]) == (201, "queued", [])
    assert said["progress"]["total"] == N
    run_pending()
    said = client.get(f"/api/v1/uploads/{said['id']}/").json()
    assert (said["state"], len(said["runs"]), said["progress"]["done"]) == ("done", N, N)


def test_a_file_of_fewer_runs_is_kept_at_once(client, people, revision):
    client.force_login(people.bob)
    few = SimpleUploadedFile("seeds.csv", outcomes_of_seeds(2))
    said = client.post("/api/v1/uploads/", {"file": few}).json()
    assert (said["state"], len(said["runs"]), said["progress"]) == ("done", 2, None)
    assert not Job.objects.exists()


def test_what_stopped_half_way_goes_on_with_the_rest(client, people, revision):
    upload = queued(people.bob)
    people.bob.max_runs = STEP
    people.bob.save()
    [job] = run_pending()
    assert (job.state, job.done, job.total) == ("failed", STEP, N)
    assert f"the limit is {STEP}" in job.error
    client.force_login(people.bob)
    page = " ".join(client.get(upload.get_absolute_url()).content.decode().split())
    assert f"Stopped after {STEP} of {N} runs" in page
    people.bob.max_runs = None
    people.bob.save()
    client.post(reverse("upload-retry", args=[upload.key]))
    [job] = run_pending()
    assert (job.state, job.done) == ("done", N)
    assert upload.runs.count() == upload.runs.values("model").distinct().count() == N


def test_the_runs_belong_to_the_revision_that_the_file_met(people, revision):
    upload = queued(people.bob)
    newer = make_revision(people.bob)  # bob's own suite of the same name
    run_pending()
    assert upload.runs.filter(revision=revision).count() == N
    assert not newer.runs.exists()


def test_taken_back_it_makes_no_more_runs(people, revision):
    upload = queued(people.bob)
    delete_upload(upload, actor=people.bob)
    assert run_pending() == []
    assert (SuiteRun.objects.count(), Job.objects.get().state) == (0, "cancelled")
    assert not UploadInput.objects.exists()


def test_whoever_lost_the_suite_meanwhile_gets_no_runs(people, revision):
    queued(people.bob)
    revision.suite.visibility = "private"
    revision.suite.save()
    [job] = run_pending()
    assert job.state == "failed"
    assert "may no longer use the suite agreement" in job.error
    assert SuiteRun.objects.count() == 0
    assert RegisteredModel.objects.count() == N


def test_nobody_else_goes_on_with_it(client, people, revision):
    upload = queued(people.bob)
    client.force_login(people.charlie)
    assert client.post(reverse("upload-retry", args=[upload.key])).status_code == 404
