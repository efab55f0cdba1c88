"""Private objects contain unique words. Every address of the site is requested by users who may not see these
objects, and no response may contain the words.

The addresses are those of the table in tests/permissions (also with private objects as arguments), every
figure, export and comparison that names private objects, and the pages that these pages link to.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections import Counter, deque
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest
from django.urls import resolve, reverse

from gym.agents.models import AgentSuite
from gym.collections.services import create_collection, publish_collection
from gym.jobs.testing import run_pending
from gym.pages.figure_views import KINDS
from gym.propara.services import About, submit
from gym.runs.work.score_requests import queue_scores
from gym.runs.work.services import queue_run
from lmgym.charts.figure import FORMS
from lmgym.models.engine import ScoringPolicy
from lmgym.suites.formats import read_suite
from suites import services as suites
from suites.models import Suite
from tests.agents import site as agents
from tests.factories import make_model, make_revision
from tests.lmgym.suites.documents import suite_json
from tests.people import People, make_people
from tests.permissions.test_every_url import ROWS, make_world
from tests.propara.worlds import LIGHT, make_set, make_version

SECRET = "quetzalcoatl"
"""Occurs in the names and texts of private objects. Their addresses contain "hid-" instead, which a page may
repeat."""
MODEL = "quetzalmodel"
"""Occurs in the name of a private model, which collaborators on the private suite may not see either."""
DRAFT = "axolotl"
"""Occurs in the draft of a public suite that also has a frozen revision."""
AGENT_CASE = "agent: echo\ninteractions: [{text: hello, response: {text: {keywords: SECRET}}}]\n".replace(
    "SECRET", SECRET
)


def plant(people: People) -> dict[str, Any]:
    """Create alice's private objects, each with SECRET or MODEL in its texts, and related to public objects
    in every way.
    """
    alice = people.alice
    open_model = make_model(alice, slug="open-model")
    hidden_model = make_model(
        alice, slug="hid-model", name=MODEL, visibility="private", description=MODEL, tags=[f"group:{MODEL}"]
    )
    open_revision = make_revision(alice, name="meadow", visibility="public")
    _plant_draft(alice, open_revision.suite)
    hidden = make_revision(alice, name=f"hid {SECRET}", visibility="private")
    Suite.objects.filter(pk=hidden.suite_id).update(
        slug="hid-suite", description=SECRET, comment=SECRET, reference=SECRET
    )
    hidden.suite.refresh_from_db()
    suites.set_tags(hidden.suite, [SECRET])
    for person in (people.bob, people.dora):
        hidden.suite.collaborations.create(user=person, role="view")
    runs = [
        queue_run(revision, model, actor=alice)
        for revision in (open_revision, hidden)
        for model in (open_model, hidden_model)
    ]
    queue_scores([f"The {SECRET}."], hidden_model, ScoringPolicy(), actor=alice)
    run_pending()
    queue_run(hidden, hidden_model, actor=alice)  # stays in the queue
    _plant_collections(people, open_revision, hidden)
    version = make_version(alice, slug="open-set")
    make_set(alice, slug="hid-set", title=SECRET, description=SECRET, visibility="private")
    hand_in = submit(
        version, LIGHT.encode(), f"{SECRET}.tsv", About(SECRET, visibility="private"), actor=alice
    )
    _plant_agents(people)
    return {
        "run": runs[0].key,
        "hidden": [run.key for run in runs[1:]],
        "submissions": [hand_in.key],
    }


@pytest.fixture(scope="module")
def built(module_db) -> tuple[People, list[str]]:
    """The people, and all addresses from which the tests start."""
    people = make_people()
    world = make_world(people)
    return people, addresses(plant(people), world)


@pytest.fixture
def people(built, db) -> People:
    return built[0]


@pytest.fixture
def start(built, db) -> list[str]:
    return built[1]


def _plant_draft(alice, suite) -> None:
    """Put DRAFT into every text of a draft: its cells, names of regions and conditions, predictions and
    name."""
    formula = f"(2;%{DRAFT}%) > (2;%match%)"
    document = suite_json(name=DRAFT, formulas=(formula,), items=7)
    document["region_meta"]["3"] = DRAFT
    document["predictions"][0]["name"] = DRAFT
    for item in document["items"]:
        item["conditions"][1]["condition_name"] = DRAFT
        item["conditions"][0]["regions"][0]["content"] = f"The {DRAFT}"
    suites.replace_draft(suite, read_suite(json.dumps(document).encode()), actor=alice)


def _plant_collections(people, open_revision, hidden) -> None:
    def make(slug, title, revisions):
        return create_collection(
            actor=people.alice,
            slug=slug,
            title=title,
            description=title,
            reference="",
            revisions=revisions,
        )

    make("hid-collection", SECRET, [open_revision])
    withdrawn = make_revision(people.alice, name=f"hid withdrawn {SECRET}", visibility="public")
    published = make("published", "published", [open_revision, withdrawn])
    publish_collection(published, actor=people.alice)
    Suite.objects.filter(pk=withdrawn.suite_id).update(slug="hid-withdrawn", visibility="private")


def _plant_agents(people) -> None:
    secret_server = agents.make_server(
        people.alice, "hid-agent", name=MODEL, visibility="private", description=MODEL
    )
    open_server = agents.make_server(people.alice, "meadow-agent")
    open_tests = agents.make_suite(people.alice, "meadow-tests", judge=secret_server.model)
    hidden_tests = agents.make_suite(
        people.alice, "hid-tests", {SECRET: AGENT_CASE}, description=SECRET, visibility="private"
    )
    AgentSuite.objects.filter(pk=hidden_tests.pk).update(title=SECRET)
    agents.make_run(open_tests, open_server)
    agents.make_run(open_tests, secret_server)
    agents.make_run(hidden_tests, open_server)


PAGES = """
/ /about/ /queue/ /suites/ /models/ /propara/ /agents/ /runs/ /leaderboard/ /compare/ /collections/ /api/v1/
/api/v1/models/ /api/v1/suites/ /api/v1/runs/ /api/v1/leaderboard/ /api/v1/propara/submissions/
/suites/meadow/ /suites/hid-suite/ /models/hid-model/ /models/open-model/ /agents/meadow-tests/ /agents/hid-tests/
/agents/servers/hid-agent/
/agents/runs/ /agents/runs/?server=hid-agent /agents/runs/?suite=hid-tests
/collections/hid-collection/ /collections/published/
/propara/open-set/ /propara/hid-set/ /suites/meadow/r1/ /suites/meadow/r1/items/ /suites/meadow/diff/1/1/
/suites/meadow/r1/download/json/ /api/v1/suites/meadow/ /api/v1/suites/meadow/lint/
/api/v1/suites/meadow/lint/?revision=1 /api/v1/suites/meadow/revisions/1/
/api/v1/suites/meadow/revisions/1/export/json/
/api/v1/suites/meadow/diff/1/1/ /suites/meadow/r2/ /suites/meadow/r2/items/ /suites/meadow/r2/json/
/suites/meadow/diff/1/2/ /suites/meadow/copy/ /exports/suites/meadow/r2/bib /exports/suites/meadow/r2/blimp.jsonl
/suites/meadow/r2/json-early/ /runs/upload/meadow/r2/
/suites/meadow/editor/ /suites/meadow/freeze/ /suites/meadow/r2/errata/ /figures/suite-models.json?suite=meadow&r=2
/api/v1/suites/meadow/lint/?revision=2 /api/v1/suites/meadow/revisions/2/ /api/v1/suites/meadow/draft/
/api/v1/suites/meadow/draft/cells/ /api/v1/suites/meadow/diff/2/1/
/api/v1/suites/meadow/revisions/2/export/tsv/ /api/v1/suites/?q=axolotl /suites/?sort=-items
/api/v1/suites/meadow/revisions/2/export/blimp/ /api/v1/agent-servers/ /api/v1/agent-servers/hid-agent/
/api/v1/agent-servers/meadow-agent/ /api/v1/agent-servers/meadow-speaker/ /api/v1/agent-suites/
/api/v1/agent-suites/meadow-tests/
/api/v1/agent-suites/hid-tests/
/api/v1/agent-suites/meadow-tests/cases/ /api/v1/agent-suites/hid-tests/cases/ /api/v1/agent-suites/hid-tests/export/
/api/v1/agent-runs/ /api/v1/agent-runs/?server=hid-agent /api/v1/agent-runs/?suite=hid-tests /api/v1/collections/
/api/v1/collections/published/ /api/v1/collections/hid-collection/ /api/v1/collections/published/files/zip/
/api/v1/collections/published/files/bib/ /api/v1/collections/published/files/json/ /api/v1/exports/scores/csv/
/api/v1/exports/scores/csv/?all=1 /api/v1/exports/regions/csv/?suite=hid-suite
/figures/model-tags.csv?of=hid-model /figures/leaderboard-heat.json
/figures/suite-models.csv?suite=meadow&r=1
/figures/suite-models.csv?suite=meadow&r=2 /api/v1/suites/meadow/preview/
/api/v1/suites/hid-suite/lint/ /api/v1/models/hid-model/ /api/v1/suites/hid-suite/
/exports/suites/meadow/r1/bib /exports/suites/meadow/r1/blimp.jsonl /leaderboard/?suite=hid-suite,meadow
/leaderboard/?model=hid-model /leaderboard/?group=1 /leaderboard/?sort=suite:hid-suite
/compare/?model=hid-model&model=open-model /compare/?suite=hid-suite&model=open-model
/compare/?suite=meadow&model=hid-model&model=open-model /compare/?suite=meadow&model=open-model&r=1&r=2
/compare/?suite=meadow&model=hid-model&model=open-model&item=1 /models/?q=quetzal /suites/?q=quetzal
/runs/?q=quetzal /runs/?suite=hid-suite /runs/?model=hid-model /api/v1/suites/?q=quetzal /api/v1/models/?q=quetzal
/api/v1/runs/?suite=hid-suite /api/v1/runs/?model=hid-model /suites/compare/ /collections/published/download/zip/
/collections/published/download/csv/ /collections/published/download/bib/ /collections/hid-collection/download/zip/
""".split()  # noqa: SIM905


def addresses(planted: dict[str, Any], world: dict[str, Any]) -> list[str]:
    table = [
        reverse(name, args=[world.get(argument, argument) for argument in arguments])
        for method, name, arguments, _ in ROWS
        if method == "GET"
    ]
    exports = [
        f"/exports/{what}.{form}{query}"
        for what in ("scores", "outcomes", "regions", "tokens")
        for form in ("csv", "parquet")
        for query in (
            "",
            "?all=1",
            "?suite=hid-suite",
            "?model=hid-model",
            "?suite=meadow",
            "?suite=meadow&all=1",
        )
    ]
    hidden = [
        address
        for key in planted["hidden"]
        for address in (
            f"/runs/{key}/",
            f"/runs/{key}/items/1/",
            f"/runs/{key}/download/json/",
            f"/exports/scores.csv?run={key}",
            f"/exports/runs/{key}/evaluated.json",
            f"/figures/run-regions.csv?run={key}",
            f"/figures/run-margins.json?run={key}",
            f"/api/v1/runs/{key}/",
            f"/api/v1/runs/{key}/results/",
        )
    ]
    figures = [
        f"/figures/{kind}.{form}?{query}"
        for kind in KINDS
        for form in FORMS
        if form in {"svg", "json"}  # csv has the table of json
        for query in (
            "",
            "of=open-model",
            "of=hid-model",
            "suite=meadow&r=1",
            "suite=hid-suite&r=1",
            f"run={planted['run']}",
        )
    ]
    boards = [f"/leaderboard/download/{form}/" for form in ("csv", "tsv", "json", "md", "tex", "html")]
    submissions = [
        f"{before}/propara/submissions/{key}/{after}"
        for key in planted["submissions"]
        for before, after in (("", ""), ("", "download/file/"), ("/api/v1", ""), ("/api/v1", "report/"))
    ]
    return [*PAGES, *table, *exports, *hidden, *figures, *boards, *submissions]


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.found += [value for name, value in attrs if name in {"href", "src", "hx-get"} and value]


def text_of(response) -> str:
    """Return the whole text of a response, including archives and compressed tables."""
    data = response.getvalue()
    if data[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return "\n".join(
                name + archive.read(name).decode(errors="replace") for name in archive.namelist()
            )
    if data[:4] == b"PAR1":
        import pyarrow.parquet

        return str(pyarrow.parquet.read_table(io.BytesIO(data)).to_pylist())
    return data.decode(errors="replace")


def crawl(client, start: list[str], most: int) -> dict[str, str]:
    """Return the response of each address, and of up to three more addresses per route that the pages link
    to, with and without a query."""
    found: dict[str, str] = {}
    known = set(start)
    alike: Counter[str] = Counter()
    todo = deque(start)
    while todo and len(found) < most:
        address = todo.popleft()
        if address in found:
            continue
        response = client.get(address)
        assert response.status_code < 500, address
        found[address] = text_of(response) + str(dict(response.headers))
        if response.status_code != 200 or "html" not in response.headers.get("Content-Type", ""):
            continue
        links = _Links()
        links.feed(found[address])
        for link in links.found:
            parts = urlsplit(urljoin(f"http://testserver{address}", link))
            if parts.netloc != "testserver" or parts.path.startswith(("/static/", "/accounts/", "/admin/")):
                continue
            further = f"{parts.path}{'?' if parts.query else ''}{parts.query}"
            route = resolve(parts.path).view_name + "?" * bool(parts.query)
            if further not in known and alike[route] < 3:
                known.add(further)
                alike[route] += 1
                todo.append(further)
    return found


def leaks(pages: dict[str, str], *words: str) -> list[str]:
    """Return the places where a word occurs. A page may repeat the words of its own address."""
    found = []
    for address, text in pages.items():
        for word in words:
            place = text.lower().find(word)
            if place >= 0 and word not in address.lower() and "quetzal" not in address:
                found.append(f"{address}: …{text[max(0, place - 120) : place + 40]!r}…")
    return found


@pytest.mark.crawl
@pytest.mark.parametrize("person", ["nobody", "charlie"])
def test_a_stranger_finds_no_word_of_private_things(client, people, start, person):
    if person != "nobody":
        client.force_login(getattr(people, person))
    pages = crawl(client, start, 2500)
    found = leaks(
        pages, SECRET, MODEL, DRAFT, "hid-suite", "hid-model", "hid-agent", "hid-tests", "hid-set", "hid-coll"
    )
    assert not found, "\n".join(found)


@pytest.mark.crawl
def test_who_shares_a_private_suite_finds_no_word_of_its_owners_private_model(client, people, start):
    client.force_login(people.bob)
    pages = crawl(client, start, 2500)
    assert SECRET in pages["/suites/hid-suite/"]
    found = leaks(pages, MODEL, DRAFT)
    assert not found, "\n".join(found)


@pytest.mark.crawl
def test_the_owner_finds_them(client, people):
    """The owner sees the words, so the tests above search in the right places."""
    client.force_login(people.alice)
    pages = crawl(client, [*PAGES, "/exports/scores.csv", "/leaderboard/download/csv/"], 150)
    for address in ("/suites/", "/models/", "/propara/open-set/", "/agents/", "/collections/"):
        assert SECRET in pages[address] or MODEL in pages[address], address
    for address in ("/suites/meadow/r2/", "/api/v1/suites/meadow/revisions/2/", "/suites/meadow/diff/1/2/"):
        assert DRAFT in pages[address], address
    assert "hid-model" in pages["/exports/scores.csv"]
    assert MODEL in pages["/leaderboard/download/csv/"]
