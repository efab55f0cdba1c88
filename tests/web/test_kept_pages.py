"""Pages and API responses kept for visitors: never stale, never private (gym/visitor_pages.py)."""

from __future__ import annotations

from datetime import timedelta
from threading import Thread

import pytest
from django.db import connection, transaction
from django.db.models import F
from django.template import engines
from django.test.utils import CaptureQueriesContext
from django.urls import URLResolver, get_resolver, reverse
from django.utils import timezone

from gym.accounts.models import User
from gym.accounts.tokens import create_token
from gym.collections.services import create_collection, publish_collection
from gym.jobs.models import Job
from gym.page_cache import triggers
from gym.page_cache.reads import recorded, table_versions
from gym.page_cache.store import OVERHEAD_BYTES, Kept, Store, store
from gym.runs.models import SuiteRun
from models_registry.models import RegisteredModel
from suites.models import Prediction, Suite, Tag
from suites.services import set_tags, set_visibility
from tests.factories import make_model, make_revision, make_suite
from tests.runs.boards import finished_run
from tests.staff.rows import make

LIVE = {"range": "bytes=0-"}
"""Headers of a request that never gets a kept response."""


@pytest.fixture
def revision(people):
    return make_revision(people.alice, name="agreement", items=2)


@pytest.fixture
def run(people, revision):
    return finished_run(revision, make_model(people.alice), [1, 0])


# --- what raises the version of a table ---


def test_every_watched_table_has_its_triggers(db):
    expected = {
        (model._meta.db_table, name)
        for model in triggers.watched()
        for name, _ in triggers._triggers(connection, model)
    }
    assert triggers._existing(connection) == expected
    assert set(table_versions()) == {model._meta.db_table for model in triggers.watched()}


def test_a_change_of_any_shown_column_raises_the_version_of_its_table(run):
    rows = make(1)
    missed, wasted = [], []
    with connection.cursor() as cursor:
        for model in triggers.watched():
            table, pk = model._meta.db_table, model._meta.pk
            if model in rows or model._base_manager.exists():
                hidden = triggers.NOT_SHOWN.get(model._meta.label, set())
                for field in set(model._meta.local_concrete_fields) - {pk}:
                    before = table_versions()[table]
                    cursor.execute(f'UPDATE "{table}" SET "{field.column}" = "{field.column}"')
                    is_raised = table_versions()[table] != before
                    if field.name in hidden and is_raised:
                        wasted.append(f"{table}.{field.column}")
                    if field.name not in hidden and not is_raised:
                        missed.append(f"{table}.{field.column}")
    assert (missed, wasted) == ([], [])


def _through():
    return Suite.tags.through


WAYS = {
    "create": (Tag, lambda suite, tag: Tag.objects.create(name="new")),
    "save": (Tag, lambda suite, tag: tag.save()),
    "update": (Tag, lambda suite, tag: Tag.objects.update(name=F("name"))),
    "bulk_create": (Tag, lambda suite, tag: Tag.objects.bulk_create([Tag(name="x"), Tag(name="y")])),
    "ignoring conflicts": (
        Tag,
        lambda suite, tag: Tag.objects.bulk_create([Tag(name="x"), tag], ignore_conflicts=True),
    ),
    "bulk_update": (Tag, lambda suite, tag: Tag.objects.bulk_update([tag], ["name"])),
    "delete": (Tag, lambda suite, tag: tag.delete()),
    "raw delete": (Tag, lambda suite, tag: Tag.objects.exclude(suites=suite)._raw_delete("default")),
    "SQL": (Tag, lambda suite, tag: connection.cursor().execute("UPDATE suites_tag SET name = name")),
    "m2m add": (_through(), lambda suite, tag: suite.tags.add(tag)),
    "m2m set": (_through(), lambda suite, tag: suite.tags.set([tag])),
    "m2m clear": (_through(), lambda suite, tag: suite.tags.clear()),
    "cascade": (_through(), lambda suite, tag: Tag.objects.filter(suites=suite).delete()),
    "delete all": (Prediction, lambda suite, tag: Prediction.objects.all()._raw_delete("default")),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_change_a_table_raises_its_version(revision, way):
    suite, tag = revision.suite, Tag.objects.create(name="other")
    set_tags(suite, ["own"])
    model, change = WAYS[way]
    before = table_versions()[model._meta.db_table]
    change(suite, tag)
    assert table_versions()[model._meta.db_table] != before


def test_a_version_never_returns_but_with_its_content(client, revision):
    """Also the reason that a backup can be restored under running processes."""
    address = revision.suite.get_absolute_url()
    before, page = table_versions(), client.get(address).content
    with transaction.atomic():
        Suite.objects.update(title="Rolled back")
        during = table_versions()
        assert b"Rolled back" in client.get(address).content
        transaction.set_rollback(True)
    assert table_versions() == before
    assert client.get(address).content == page
    Suite.objects.update(title="Changed again")
    assert table_versions()["suites_suite"] not in (before["suites_suite"], during["suites_suite"])
    assert b"Changed again" in client.get(address).content


# --- no stale page ---


def test_no_page_is_stale_after_any_change(client, people, revision, run):
    suite, model = revision.suite, run.model
    paper = create_collection(
        actor=people.alice, slug="paper", title="Paper", description="", reference="", revisions=[revision]
    )
    addresses = [
        "/", "/suites/", suite.get_absolute_url(), model.get_absolute_url(), "/runs/", run.get_absolute_url(),
        "/leaderboard/", f"/leaderboard/?suite={suite.slug}", "/collections/", "/api/v1/runs/",
        f"/compare/?suite={suite.slug}&model={model.slug}&model=two",
    ]  # fmt: skip
    changes = {
        "rename a suite": lambda: Suite.objects.filter(pk=suite.pk).update(title="Renamed"),
        "rename an account": lambda: User.objects.filter(pk=people.alice.pk).update(first_name="Alicia"),
        "tag a suite": lambda: set_tags(suite, ["npi"]),
        "rename a model": lambda: RegisteredModel.objects.filter(pk=model.pk).update(name="Other"),
        "publish a collection": lambda: publish_collection(paper, actor=people.alice),
        "another result": lambda: finished_run(revision, make_model(people.alice, slug="two"), [1, 1]),
        "a job in the queue": lambda: SuiteRun.objects.create(
            revision=revision, model=model, owner=people.alice, policy={}, job=Job.objects.create(kind="run")
        ),
        "its cancellation": lambda: Job.objects.update(state="cancelled", finished=timezone.now()),
        "correct a rate": lambda: run.scores.update(rate=0.25),
        "another suite": lambda: make_suite(people.alice, name="second"),
        "unlist a suite": lambda: Suite.objects.filter(pk=suite.pk).update(visibility="unlisted"),
        "hide a suite": lambda: Suite.objects.filter(pk=suite.pk).update(visibility="private"),
        "publish it again": lambda: Suite.objects.filter(pk=suite.pk).update(visibility="public"),
        "hide a model": lambda: RegisteredModel.objects.filter(pk=model.pk).update(visibility="private"),
        "delete the runs": lambda: SuiteRun.objects.all().delete(),
    }
    stale = []
    for address in addresses:
        client.get(address)
    for what, change in changes.items():
        change()
        for address in addresses:
            kept, live = client.get(address), client.get(address, headers=LIVE)
            if (kept.status_code, kept.content) != (live.status_code, live.content):
                stale.append((what, address))
    assert stale == []
    assert len(store) >= len(addresses) / 2, "the pages were not kept"


def test_a_kept_page_needs_one_query_and_no_view(client, run):
    first = client.get("/runs/")
    with CaptureQueriesContext(connection) as queries:
        again = client.get("/runs/")
    assert len(queries) == 1
    assert again.content == first.content
    assert {name: again[name] for name in first.headers if name != "X-Request-ID"} == {
        name: first[name] for name in first.headers if name != "X-Request-ID"
    }
    assert client.get("/runs/", headers={"if-none-match": first["ETag"]}).status_code == 304
    assert client.get("/runs/", headers={"accept-encoding": "gzip"})["Content-Encoding"] == "gzip"


def test_addresses_hosts_and_forms_of_the_api_are_kept_apart(client, settings, run):
    settings.ALLOWED_HOSTS = ["testserver", "other.example.org"]
    pages = {client.get(f"/runs/?q={word}").content for word in ("uniform", "nothing")}
    assert len(pages) == 2
    links = [
        client.get("/api/v1/runs/?limit=1", headers={"host": host}).content
        for host in ("testserver", "other.example.org")
    ]
    assert links == [
        client.get("/api/v1/runs/?limit=1", headers={"host": host} | LIVE).content
        for host in ("testserver", "other.example.org")
    ]


def test_a_kept_time_lasts_until_its_words_change(db):
    template = engines["django"].from_string("{% when moment %}")
    lasting = []
    for age in (timedelta(seconds=20), timedelta(minutes=5, seconds=10), timedelta(days=40)):
        with recorded() as reads:
            template.render({"moment": timezone.now() - age})
        lasting.append(reads.seconds)
    assert lasting == [pytest.approx(40, abs=1), pytest.approx(50, abs=1), float("inf")]


def test_a_page_with_a_job_in_progress_is_not_kept(client, people, revision):
    job = Job.objects.create(kind="run")
    SuiteRun.objects.create(
        revision=revision, model=make_model(people.alice), owner=people.alice, policy={}, job=job
    )
    client.get("/runs/")
    assert len(store) == 0
    Job.objects.update(state="cancelled", finished=timezone.now())
    client.get("/runs/")
    assert len(store) == 1


def test_a_table_that_lost_its_triggers_is_not_trusted(client, run):
    triggers.remove("default", plan=["a migration"])
    client.get("/runs/")
    assert len(store) == 0
    triggers.install("default")
    client.get("/runs/")
    assert len(store) == 1


# --- nothing private ---


def test_what_has_a_secret_address_is_not_kept(client, people, run):
    """At every route that an unlisted suite or its run can be part of."""
    suite = run.revision.suite
    set_visibility(suite, "unlisted", actor=people.alice)
    suite.refresh_from_db()
    run.refresh_from_db()
    values = {
        "slug": suite.slug, "number": 1, "key": run.key, "item": "1", "a": 1, "b": 1, "form": "json",
        "what": "predictions", "table": "predictions",
    }  # fmt: skip
    answered = []
    for name, parameters in _routes(get_resolver()):
        if parameters <= values.keys() and parameters & {"slug", "key"}:
            address = reverse(name, kwargs={parameter: values[parameter] for parameter in parameters})
            if client.get(address).status_code == 200:
                answered.append(name)
    assert len(answered) > 15
    assert [key for key in store if suite.slug in str(key) or run.key in str(key)] == []


def _routes(resolver):
    for pattern in resolver.url_patterns:
        if isinstance(pattern, URLResolver):
            if pattern.app_name != "admin":
                yield from _routes(pattern)
        elif pattern.name:
            yield pattern.name, set(pattern.pattern.converters)


def test_accounts_tokens_and_fragments_get_their_own_response(client, people, run):
    client.get("/runs/")
    kept = len(store)
    _, token = create_token(actor=people.alice, name="t", scopes=["read"])
    bearer = {"authorization": f"Bearer {token}"}
    assert "Sign out" not in client.get("/runs/").content.decode()
    assert client.get("/api/v1/me/", headers=bearer).status_code == 200
    client.get("/api/v1/runs/", headers=bearer)
    client.get("/runs/", headers={"hx-request": "true"})
    client.get("/accounts/login/")  # has a CSRF token
    client.force_login(people.alice)
    assert "Sign out" in client.get("/runs/").content.decode()
    client.get("/")
    assert len(store) == kept


def test_kept_responses_of_the_api_count_against_the_limit(client, settings, run):
    settings.GYM_API_REQUESTS_PER_MINUTE = 3
    answers = [client.get("/api/v1/runs/").status_code for _ in range(4)]
    assert answers == [200, 200, 200, 429]


def test_memory_is_bounded(settings):
    settings.GYM_PAGE_CACHE_MB = 1
    full, size = Store(), 100_000 - OVERHEAD_BYTES
    for number in range(12):
        full.put(number, Kept(b"x" * size, (), None, {}, float("inf")))
        full.get(0)  # recently used
    full.put("large", Kept(b"x" * 500_000, (), None, {}, float("inf")))
    assert (len(full), full.size) == (10, 1_000_000)
    assert full.get(0) is not None
    assert full.get("large") is None


def test_an_address_of_any_length_takes_no_memory(client, db):
    assert client.get(f"/help/?{'a' * 3_000}").status_code == 200
    assert len(store) == 0


def test_a_reconnect_during_a_view_leaves_the_wrappers_of_the_new_connection(db):
    before, clock = list(connection.execute_wrappers), lambda execute, *more: execute(*more)
    with recorded():
        connection.execute_wrappers.append(clock)  # as gym.time_limits does
    try:
        assert connection.execute_wrappers == [*before, clock]
    finally:
        connection.execute_wrappers[:] = before


def test_one_thread_computes_again_what_others_wait_for():
    kept, answers = Store(), []
    kept.put("page", Kept(b"", (), None, {}, float("inf")))

    def ask() -> None:
        with kept.turn("page") as is_first:
            answers.append(is_first)

    with kept.turn("page") as is_first:
        assert is_first
        waiting = Thread(target=ask)
        waiting.start()
        waiting.join(0.05)
        assert answers == []
    waiting.join()
    assert answers == [False]
    ask()
    assert answers == [False, True]


def test_nobody_waits_for_a_response_that_was_not_kept():
    kept = Store()
    with kept.turn("page") as first, kept.turn("page") as second:
        assert (first, second) == (True, True)


def test_nothing_is_kept_without_memory(client, settings, run):
    settings.GYM_PAGE_CACHE_MB = 0
    assert client.get("/runs/")["Cache-Control"] == "no-cache"
    assert len(store) == 0
