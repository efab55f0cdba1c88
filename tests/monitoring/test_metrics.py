"""/metrics: who may read it, and what it counts."""

from __future__ import annotations

import ipaddress
import urllib.request
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from gym.jobs.models import Job, WorkerHeartbeat
from gym.jobs.testing import run_pending
from gym.runs.work.services import queue_run
from tests.factories import make_model, make_revision
from tests.process.live import LiveSite

TOKEN = "a-token-of-its-own"


@pytest.fixture
def token(settings):
    settings.GYM_METRICS_TOKEN = TOKEN


def scrape(client) -> dict[tuple[str, ...], float]:
    """Return values by (name, *labels sorted by their names)."""
    answer = client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    assert answer.status_code == 200
    return parsed(answer.content.decode())


def parsed(text: str) -> dict[tuple[str, ...], float]:
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


@pytest.mark.usefixtures("db", "token")
@pytest.mark.parametrize(
    "headers",
    [{}, {"Authorization": "Bearer wrong"}, {"Authorization": TOKEN}, {"Authorization": "Bearer ü"}],
)
def test_without_the_token_the_address_does_not_exist(client, headers):
    assert client.get("/metrics", headers=headers).status_code == 404


@pytest.mark.usefixtures("db")
@pytest.mark.parametrize(
    ("peer", "status"), [("10.1.9.9", 200), ("::ffff:10.1.9.9", 200), ("fd00::7", 200), ("10.2.0.1", 404)]
)
def test_allowed_addresses_need_no_token(client, settings, peer, status):
    settings.GYM_METRICS_ALLOW = [ipaddress.ip_network("10.1.0.0/16"), ipaddress.ip_network("fd00::7")]
    assert client.get("/metrics", REMOTE_ADDR=peer).status_code == status


@pytest.mark.usefixtures("db")
def test_behind_a_proxy_the_forwarded_address_counts(client, settings):
    settings.GYM_BEHIND_PROXY = True
    settings.GYM_METRICS_ALLOW = [ipaddress.ip_network("127.0.0.1")]
    assert client.get("/metrics", headers={"X-Forwarded-For": "203.0.113.7"}).status_code == 404
    assert client.get("/metrics").status_code == 200


@pytest.mark.usefixtures("db", "token")
def test_a_scrape_needs_neither_the_sites_host_name_nor_tls(client, settings):
    settings.ALLOWED_HOSTS = ["gym.example.org"]
    settings.SECURE_SSL_REDIRECT = True
    headers = {"Authorization": f"Bearer {TOKEN}", "Host": "10.0.0.5:8000"}
    assert client.get("/metrics", headers=headers).status_code == 200


@pytest.mark.usefixtures("db", "token")
def test_requests_are_counted_by_view_and_class_of_status(client):
    before = scrape(client)
    client.get("/about/")
    client.get("/suites/no-such-suite/")
    after = scrape(client)
    for key in [("2xx", "about"), ("4xx", "suite-detail")]:
        name = ("gym_request_seconds_count", *key)
        assert after[name] - before.get(name, 0) == 1
        assert after[("gym_request_seconds_sum", *key)] > 0


@pytest.mark.usefixtures("token")
def test_jobs_are_counted_by_queue_and_state_with_the_age_of_the_oldest(client, people):
    now = timezone.now()
    Job.objects.create(kind="x", queue="short", not_before=now - timedelta(seconds=90))
    Job.objects.create(kind="x", queue="short", state="failed", error="no", finished=now)
    values = scrape(client)
    assert values[("gym_jobs", "short", "queued")] == values[("gym_jobs", "short", "failed")] == 1
    assert values[("gym_jobs", "default", "queued")] == 0
    assert 90 <= values[("gym_job_oldest_seconds", "short")] < 100
    assert values[("gym_queue_workers", "short")] == 0


@pytest.mark.usefixtures("db", "token")
def test_a_worker_shows_the_age_of_its_heartbeat(client):
    seen = timezone.now() - timedelta(seconds=40)
    WorkerHeartbeat.objects.create(id="w", host="box", pid=7, queues=["short"], last_seen=seen)
    assert 40 <= scrape(client)[("gym_worker_heartbeat_seconds", "box", "7")] < 50


@pytest.mark.usefixtures("token")
def test_sentences_of_runs_are_counted_by_where_their_scores_came_from(client, people):
    revision = make_revision(people.alice, name="first")
    model = make_model(people.alice)
    for suite in (revision, make_revision(people.alice, name="second")):
        run = queue_run(suite, model, actor=people.alice)
        run_pending()
    run.refresh_from_db()
    values = scrape(client)
    assert run.n_cached == run.n_unique
    assert values[("gym_run_sentences", "cache")] == values[("gym_run_sentences", "model")] == run.n_unique


@pytest.mark.usefixtures("db", "token")
def test_a_scrape_says_that_the_database_does_not_answer(client, monkeypatch):
    from django.db import OperationalError

    def broken(*arguments: object) -> None:
        raise OperationalError

    assert scrape(client)[("gym_database_up",)] == 1
    with connection.execute_wrapper(broken):
        values = scrape(client)
    assert values[("gym_database_up",)] == 0
    assert values[("gym_disk_free_bytes", "data")] > 0


@pytest.mark.process
def test_every_web_process_shows_the_requests_of_all(tmp_path):
    site = LiveSite(tmp_path, web_processes=3, GYM_METRICS_TOKEN=TOKEN)
    n_requests = 30
    try:
        for _ in range(n_requests):
            urllib.request.urlopen(f"{site.url}/about/").close()
        request = urllib.request.Request(f"{site.url}/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
        for _ in range(10):
            with urllib.request.urlopen(request) as answer:
                values = parsed(answer.read().decode())
            assert values[("gym_request_seconds_count", "2xx", "about")] == n_requests
    finally:
        site.close()
