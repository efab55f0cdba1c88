"""What the staff page shows and does, through the API."""

from __future__ import annotations

import pytest
from django.utils import timezone

from gym.jobs.models import Job, WorkerHeartbeat
from gym.jobs.services import enqueue, request_cancel
from gym.jobs.testing import run_pending


@pytest.fixture
def staff(client, people):
    client.force_login(people.staff)
    return client


def rows(client, address):
    answer = client.get(f"/api/v1/{address}")
    assert answer.status_code == 200, answer.content
    return answer.json()["results"]


def test_workers_are_listed_with_what_they_hold_and_their_last_error(staff):
    memory = {"held": [{"name": "gpt2", "bytes": 5, "seconds": 1.0}]}
    WorkerHeartbeat.objects.create(
        id="w",
        host="gpu1",
        pid=7,
        queues=["default"],
        device="cuda:0",
        last_error="lost it",
        memory=memory,
        process_bytes=7_000,
    )
    WorkerHeartbeat.objects.create(id="x", host="gpu2", pid=8)
    first, second = rows(staff, "staff/workers/")
    assert (first["host"], first["device"], first["keeps_loaded"]) == ("gpu1", "cuda:0", ["gpt2"])
    assert (first["process_bytes"], first["last_error"], first["jobs"]) == (7_000, "lost it", [])
    assert (second["keeps_loaded"], second["process_bytes"]) == ([], None)


def test_failures_are_grouped(staff):
    for number in range(3):
        Job.objects.create(kind="suite_run", state="failed", error=f"GPU {number}", finished=timezone.now())
    [group] = rows(staff, "staff/failures/")
    assert (group["count"], group["message"]) == (3, "GPU 2")
    assert Job.objects.filter(pk=group["job"]).exists()


def test_who_uses_how_much(staff, people):
    enqueue("tidy_storage", {}, owner=people.alice)
    [use] = rows(staff, "staff/users/")
    assert (use["username"], use["jobs"], use["sentences"], use["runs"]) == ("alice", 1, 0, 0)
    assert use["max_sentences"] == 500_000


def test_what_is_kept_is_said_and_tidied_up(staff, people):
    kept = staff.get("/api/v1/staff/storage/").json()
    rows = {"cached", "budget", "over", "runs", "run_sentences", "spent_chunks", "estimated"}
    assert rows | {"database", "tables", "folders"} == set(kept)
    assert kept["database"] > 0
    first, second = (staff.post("/api/v1/staff/tidy/") for _ in range(2))
    assert (first.status_code, first.json()["kind"]) == (202, "tidy_storage")
    assert second.json()["id"] == first.json()["id"]  # one is under way already
    assert first["Location"].endswith(f"/api/v1/jobs/{first.json()['id']}/")
    assert [job.state for job in run_pending()] == ["done"]


def test_the_doctor_is_asked_and_answers(staff):
    assert staff.get("/api/v1/staff/doctor/").json() == {"job": None, "checks": []}
    asked = staff.post("/api/v1/staff/doctor/")
    assert (asked.status_code, asked["Location"][-21:]) == (202, "/api/v1/staff/doctor/")
    run_pending()
    found = staff.get("/api/v1/staff/doctor/").json()
    assert found["job"]["state"] == "done"
    assert {check["level"] for check in found["checks"]} <= {"ok", "note", "BAD"}
    assert len(found["checks"]) > 3


@pytest.mark.parametrize("who", ["alice", "staff"])
def test_its_owner_and_staff_try_a_job_again(client, people, who):
    job = enqueue("tidy_storage", {}, owner=people.alice)
    address = f"/api/v1/jobs/{job.pk}/retry/"
    client.force_login(getattr(people, who))
    assert client.post(address).status_code == 409
    request_cancel(job, actor=people.alice)
    again = client.post(address)
    assert (again.status_code, again.json()["state"], again.json()["position"]) == (200, "queued", 1)
    assert who in Job.objects.get().log
    client.force_login(people.charlie)
    assert client.post(address).status_code == 404


def test_trying_again_counts_among_the_active_jobs(client, people, settings):
    settings.GYM_MAX_ACTIVE_JOBS_PER_USER = 1
    job = enqueue("tidy_storage", {}, owner=people.alice)
    request_cancel(job, actor=people.alice)
    enqueue("tidy_storage", {}, owner=people.alice)
    client.force_login(people.alice)
    assert client.post(f"/api/v1/jobs/{job.pk}/retry/").status_code == 429
