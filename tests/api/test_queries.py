"""A list needs as many queries with many rows as with few, and at most ten."""

from __future__ import annotations

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test.utils import CaptureQueriesContext

from gym.agents import services as conversations
from gym.agents.models import AgentRun, AgentServer, AgentSuite
from gym.jobs.testing import run_pending
from gym.runs.work.services import queue_run
from suites import services
from tests.agents import site as agents
from tests.factories import make_model, make_suite

LISTS = (
    "suites/",
    "suites/?q=suite&sort=-items",
    "models/",
    "backends/",
    "runs/",
    "runs/?state=done&sort=created",
    "leaderboard/",
    "collections/",
    "agent-servers/",
    "agent-suites/",
    "agent-runs/",
    "agent-suites/t0/cases/",
    "uploads/",
    "suites/s0/people/",
    "suites/s0/draft/cells/",
    "runs/RUN/results/predictions/",
    "runs/RUN/results/items/",
    "runs/RUN/results/regions/",
    "runs/RUN/results/tokens/",
)
DETAILS = (
    "suites/s0/",
    "suites/s0/draft/",
    "suites/s0/revisions/1/",
    "suites/s0/lint/",
    "suites/s0/diff/1/2/",
    "models/m0/",
    "runs/RUN/",
    "runs/RUN/results/",
    "me/",
    "compare/?model=m0,m0-0",
    "compare/s0/?model=m0,m0-0",
    "compare/s0/items/?model=m0,m0-0",
    "collections/c0/",
    "agent-servers/a0/",
    "agent-suites/t0/",
    "agent-suites/t0/cases/CASE/",
    "agent-runs/AGENTRUN/",
    "agent-compare/?first=AGENTRUN&second=OTHERRUN",
)
MOST = 10


def grow(client, people, start: int, n: int, items: int) -> None:
    for number in range(start, start + n):
        agents.make_server(people.alice, f"a{number}", ready=False)
        agents.make_suite(people.alice, f"t{number}", {"hello": agents.GOOD, f"case{number}": agents.GOOD})
    run_pending()
    for number in range(start, start + n):
        server = AgentServer.objects.get(model__slug=f"a{number}")
        conversations.queue_run(AgentSuite.objects.get(slug="t0"), server, actor=people.alice)
        suite = make_suite(people.alice, name=f"s{number}", items=items, collaborator=people.bob)
        services.set_tags(suite, ["all", f"tag{number}"])
        collection = {
            "slug": f"c{number}",
            "title": "C",
            "suites": [{"suite": f"s{one}"} for one in range(number + 1)],
        }
        made = client.post("/api/v1/collections/", collection, content_type="application/json")
        assert made.status_code == 201
        services.open_draft(suite, actor=people.alice)
        make_model(people.alice, slug=f"m{number}")
        for other in range(min(number + 1, 2)):
            model = make_model(people.alice, slug=f"m{number}-{other}")
            queue_run(suite.latest_frozen, model, actor=people.alice)
        rows = "".join(f"up{number},s{number},{item},True\n" for item in range(items))
        file = SimpleUploadedFile("o.csv", f"model,suite,item,correct\n{rows}".encode())
        assert client.post("/api/v1/uploads/", {"file": file}).status_code == 201
    run_pending()


def _named(address: str, names: dict[str, str]) -> str:
    for name, value in names.items():
        address = address.replace(name, value)
    return address


def counted(client, address: str) -> tuple[int, int]:
    """Return the number of rows of a list and the number of queries."""
    with CaptureQueriesContext(connection) as queries:
        response = client.get(f"/api/v1/{address}")
    assert response.status_code == 200, response.content
    return len(response.json().get("results", [1])), len(queries)


def test_lists_and_details_take_few_queries_whatever_their_length(client, people):
    client.force_login(people.alice)
    grow(client, people, 0, 2, items=2)
    run = client.get("/api/v1/runs/?suite=s0&source=computed").json()["results"][0]["id"]
    agent_run, other_run = AgentRun.objects.order_by("pk")[:2]
    case = agent_run.suite.cases.get(name="hello")
    names = {"AGENTRUN": agent_run.key, "OTHERRUN": other_run.key, "RUN": run, "CASE": str(case.pk)}
    addresses = [_named(address, names) for address in (*LISTS, *DETAILS)]
    few = {address: counted(client, address) for address in addresses}
    grow(client, people, 2, 2, items=2)
    for address in addresses:
        rows, queries = counted(client, address)
        assert queries <= MOST, (address, rows, queries)
        assert queries <= few[address][1], (address, few[address], rows, queries)
    assert counted(client, "runs/")[0] > few["runs/"][0] > 1


@pytest.mark.parametrize("n", [1, 60])
def test_a_long_suite_takes_as_many_queries_as_a_short_one(client, people, n):
    client.force_login(people.alice)
    suite = make_suite(people.alice, name="long", items=n)
    run = queue_run(suite.latest_frozen, make_model(people.alice), actor=people.alice)
    run_pending()
    for kind in ("items", "regions", "tokens"):
        rows, queries = counted(client, f"runs/{run.key}/results/{kind}/")
        assert (rows, queries <= 7) == (min(50, n if kind == "items" else 2 * n), True), (kind, queries)
