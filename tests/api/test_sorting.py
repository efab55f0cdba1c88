"""Filters and sort orders of lists."""

from __future__ import annotations

import pytest
from django.utils import timezone

from gym.jobs.models import Job
from gym.runs.models import SuiteRun
from gym.runs.work.services import queue_run
from tests.api.worlds import make_world
from tests.factories import make_model
from tests.once import once_a_module

built, people, world = once_a_module(make_world)


@pytest.mark.parametrize("address", ["runs/", "propara-submissions"])
@pytest.mark.parametrize(
    ("number", "status"), [("1", 200), ("1.5", 400), ("0", 400), ("one", 400), ("", 400)]
)
def test_a_number_of_a_revision_is_whole(client, world, address, number, status):
    name = {"runs/": "revision", "propara-submissions": "version"}[address]
    address = {"propara-submissions": "propara/submissions/"}.get(address, address)
    answer = client.get(f"/api/v1/{address}", {name: number})
    assert answer.status_code == status
    if status == 400:
        assert answer.json()["errors"][0]["where"] == f"?{name}"


@pytest.mark.parametrize(("sign", "sort"), [("", "model"), ("-", "suite"), ("", "state"), ("-", "created")])
def test_runs_are_sorted(client, people, world, sort, sign):
    client.force_login(people.alice)
    for state in ("cancelled", "failed"):
        run = queue_run(world.revisions["public"], world.open_model, actor=people.alice)
        Job.objects.filter(pk=run.job_id).update(state=state, error="x", finished=timezone.now())
    lost = queue_run(world.revisions["public"], world.open_model, actor=people.alice)
    SuiteRun.objects.filter(pk=lost.pk).update(job=None)
    found, address = [], f"/api/v1/runs/?sort={sign}{sort}&limit=2"
    while address:
        page = client.get(address).json()
        found += page["results"]
        address = page["next"]
    assert len(found) == len({run["id"] for run in found}) == 7
    values = [run[sort] for run in found]
    assert values == sorted(values, reverse=bool(sign))
    assert len(set(values)) > 1


def test_models_are_sorted(client, people, world):
    client.force_login(people.alice)
    make_model(people.alice, slug="waits", status="unapproved")
    values = [row["status"] for row in client.get("/api/v1/models/?sort=-status").json()["results"]]
    assert len(values) == 3
    assert values == sorted(values, reverse=True)
    assert len(set(values)) == 2


def test_uploads_are_filtered_and_sorted(client, people, world):
    from gym.runs.models import ResultUpload

    client.force_login(people.alice)
    for kind in ("tokens", "outcomes", "regions"):
        ResultUpload.objects.create(owner=people.alice, kind=kind, files=[])
    kinds = [row["kind"] for row in client.get("/api/v1/uploads/?sort=kind").json()["results"]]
    assert kinds == ["outcomes", "regions", "tokens"]
    assert [row["kind"] for row in client.get("/api/v1/uploads/?kind=regions").json()["results"]] == [
        "regions"
    ]
    assert client.get("/api/v1/uploads/?kind=nonsense").status_code == 400
