"""Readers of an unlisted suite who do not work on it never see the names of its people.

alice and bob get unique names, and all their other objects are given to staff. Then every address of the
table in tests/permissions is requested for the unlisted suite and its runs, and these pages and the pages
they link to are searched for the names.
"""

from __future__ import annotations

import re
from copy import deepcopy

import pytest
from django.urls import NoReverseMatch, reverse

from gym.accounts.models import User
from gym.collections.services import create_collection, publish_collection
from gym.jobs.testing import run_pending
from gym.runs.models import SuiteRun
from gym.runs.work.services import queue_run
from gym.runs.work.uploads import ModelChoice, ResultFile, plan_upload, save_upload
from gym.sharing.addresses import secret_slug
from models_registry.models import RegisteredModel
from suites import services as suites
from suites.models import Suite
from suites.permissions import may_know_owner
from suites.presenters import ANONYMOUS
from tests.factories import make_model, make_revision, make_suite
from tests.people import People, make_people
from tests.permissions.test_every_url import ROWS, make_world
from tests.security.test_nothing_private_leaks import PAGES, crawl, text_of

ALICE, BOB = "quetzal", "axolotl"
"""Part of all names of alice and bob: user name, display name, e-mail address."""


def _rename(user: User, account: str, first: str, last: str) -> None:
    User.objects.filter(pk=user.pk).update(
        username=account, email=f"{account}@example.org", first_name=first, last_name=last
    )
    user.refresh_from_db()


def make_blind(people: People) -> Suite:
    """Create alice's unlisted suite, which bob edits: two revisions, errata, runs by alice, bob and dora (a
    reviewer), uploaded runs, and a queued run.
    """
    for relation in User._meta.related_objects:
        if relation.on_delete is not None and not relation.many_to_many:
            which = {relation.field.name: people.alice}
            relation.related_model._base_manager.filter(**which).update(**{relation.field.name: people.staff})
    _rename(people.alice, "aquetzal", "Alicia", "Quetzal")
    _rename(people.bob, "baxolotl", "Roberta", "Axolotl")
    suite = make_suite(people.alice, name="blind", visibility="unlisted", collaborator=people.bob)
    suites.open_draft(suite, actor=people.bob)
    suites.freeze(suite, actor=people.bob, note="more items")
    revision = suite.latest_frozen
    assert revision is not None
    assert revision.number == 2
    suites.set_errata(revision, "Item 2 is odd.", actor=people.alice)
    suites.open_draft(suite, actor=people.alice)
    for person, name in ((people.alice, "first"), (people.bob, "second"), (people.dora, "third")):
        queue_run(revision, make_model(people.staff, slug=name), actor=person)
    run_pending()
    rows = "".join(f"elsewhere,blind,{item},True\n" for item in range(3))
    plan = plan_upload(
        ResultFile("o.csv", f"model,suite,item,correct\n{rows}".encode()),
        actor=people.alice,
        revision=revision,
    )
    save_upload(plan, ModelChoice(visibility="public"), actor=people.alice)
    queue_run(revision, make_model(people.staff, slug="fourth"), actor=people.alice)
    RegisteredModel.objects.filter(owner=people.alice).update(owner=people.staff)
    return suite


@pytest.fixture(scope="module")
def built(module_db) -> tuple[People, Suite]:
    people = make_people()
    make_world(people)
    return people, make_blind(people)


@pytest.fixture
def people(built, db) -> People:
    return deepcopy(built[0])


@pytest.fixture
def blind(built, db) -> Suite:
    return deepcopy(built[1])  # a test may change its copy


def addresses(suite: Suite, methods: set[str]) -> list[tuple[str, str]]:
    """Return (method, address) of every row of the table that names a suite or a run, for this suite and each
    of its runs."""
    keys = list(SuiteRun.objects.filter(revision__suite=suite).values_list("key", flat=True))
    found = []
    for method, name, arguments, _ in ROWS:
        try:
            address = reverse(name, args=arguments)
        except NoReverseMatch:  # the address needs the id of another object
            continue
        if method in methods and re.search(r"/suites/[^/]+/", address):
            for number in ("1", "2", "3"):
                ours = re.sub(r"/suites/[^/]+/", f"/suites/{suite.slug}/", address)
                found.append((method, re.sub(r"(/r|/revisions/)\d+", rf"\g<1>{number}", ours)))
        if method in methods and re.search(r"/runs/[^/]+/", address):
            found += [(method, re.sub(r"/runs/[^/]+/", f"/runs/{key}/", address)) for key in keys]
    return list(dict.fromkeys(found))


def more(suite: Suite) -> list[str]:
    """Return addresses of files and figures, of which the table has only one format each."""
    slug, key = suite.slug, SuiteRun.objects.filter(revision__suite=suite).earliest("pk").key
    forms = ("json", "json-trimmed", "json-early", "csv", "tsv", "blimp", "lm-eval", "inspect-ai", "bib")
    return [
        *PAGES,
        *(f"/api/v1/suites/{slug}/revisions/2/export/{form}/" for form in forms),
        *(
            f"/exports/suites/{slug}/r2/{form}"
            for form in ("bib", "blimp.jsonl", "lm-eval.zip", "inspect-ai.zip")
        ),
        *(f"/exports/{what}.csv?suite={slug}" for what in ("scores", "outcomes", "regions", "tokens")),
        *(f"/figures/suite-models.{form}?suite={slug}&r=2" for form in ("json", "csv", "svg")),
        f"/suites/{slug}/diff/1/2/",
        f"/suites/{slug}/r9/",
        f"/compare/?suite={slug}&model=first&model=second",
        f"/leaderboard/?suite={slug}",
        f"/runs/{key}/items/1/",
        f"/runs/{key}/download/json/",
        f"/exports/runs/{key}/evaluated.json",
        f"/figures/run-regions.svg?run={key}",
        "/api/v1/runs/?owner=aquetzal",
        "/api/v1/collections/",
    ]


def named(pages: dict[str, str], *words: str) -> list[str]:
    """Return the addresses whose response contains one of the words, unless the address contains it."""
    return [
        f"{address}: …{text[max(0, text.lower().find(word) - 100) :][:160]!r}…"
        for address, text in pages.items()
        for word in words
        if word in text.lower() and word not in address
    ]


@pytest.mark.crawl
@pytest.mark.parametrize("person", ["nobody", "charlie"])
def test_no_page_names_the_people_of_an_unlisted_suite_to_its_readers(client, people, blind, person):
    if person != "nobody":
        client.force_login(getattr(people, person))
    asked = [address for _, address in addresses(blind, {"GET"})]
    asked = list(dict.fromkeys(asked + more(blind)))
    # Only charlie follows links: he sees as much as the others.
    pages = crawl(client, asked, 700 if person == "charlie" else len(asked))
    assert set(asked) <= set(pages)
    assert ANONYMOUS in pages[f"/suites/{blind.slug}/"]
    assert f"{{{ANONYMOUS}}}" in pages[f"/exports/suites/{blind.slug}/r2/bib"]
    assert '"owner":null' in pages[f"/api/v1/suites/{blind.slug}/"]
    assert "item 2 is odd" in pages[f"/suites/{blind.slug}/r2/"].lower()
    run = SuiteRun.objects.get(owner=people.dora)
    assert "dora" not in pages[f"/runs/{run.key}/"]
    found = named(pages, ALICE, BOB)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("person", ["nobody", "charlie"])
def test_no_refusal_names_the_people_of_an_unlisted_suite(client, people, blind, person):
    if person != "nobody":
        client.force_login(getattr(people, person))
    asked = addresses(blind, {"POST", "PATCH", "PUT", "DELETE"})
    assert len(asked) > 20
    answers = {f"{method} {address}": text_of(client.generic(method, address)) for method, address in asked}
    found = named(answers, ALICE, BOB)
    assert not found, "\n".join(found)


def test_a_copy_of_an_unlisted_suite_does_not_name_its_owner(client, people, blind):
    client.force_login(people.charlie)
    copy = suites.copy_suite(
        blind.latest_frozen, actor=people.charlie, title="Seen again", visibility="public"
    )
    pages = crawl(client, [copy.get_absolute_url(), f"/api/v1/suites/{copy.slug}/"], 1)
    assert not named(pages, ALICE, BOB)


@pytest.mark.parametrize("person", ["alice", "bob", "staff"])
def test_those_who_work_on_it_and_staff_read_the_names(client, people, blind, person):
    client.force_login(getattr(people, person))
    run = SuiteRun.objects.get(owner=people.alice, source="computed", completed_at__isnull=False)
    uploaded = SuiteRun.objects.get(source="uploaded", revision__suite=blind)

    def text(address: str) -> str:
        response = client.get(address)
        assert response.status_code == 200, address
        return text_of(response)

    for address in (
        f"/suites/{blind.slug}/",
        f"/suites/{blind.slug}/people/",
        f"/exports/suites/{blind.slug}/r2/bib",
        f"/api/v1/suites/{blind.slug}/revisions/2/export/bib/",
        f"/runs/{run.key}/",
        f"/runs/{uploaded.key}/",
        *(["/runs/"] if person != "staff" else []),  # lists for staff leave out unlisted objects
    ):
        page = text(address)
        assert "Alicia Quetzal" in page, address
        assert ANONYMOUS not in page, address
    for address in (f"/api/v1/suites/{blind.slug}/", f"/api/v1/runs/{run.key}/"):
        assert '"owner":"aquetzal"' in text(address), address


def test_a_reader_sees_that_a_run_is_their_own(client, people, blind):
    run = SuiteRun.objects.get(owner=people.dora)
    client.force_login(people.dora)
    assert "by dora" in client.get(run.get_absolute_url()).content.decode()
    assert client.get(f"/api/v1/runs/{run.key}/").json()["owner"] == "dora"
    assert client.get(f"/api/v1/suites/{blind.slug}/").json()["owner"] is None


def test_a_suite_that_becomes_public_names_its_owner(client, people, blind):
    assert not may_know_owner(people.charlie, blind)
    suites.set_visibility(blind, "public", actor=people.alice)
    assert may_know_owner(people.nobody, blind)
    assert "Alicia Quetzal" in client.get(blind.get_absolute_url()).content.decode()


def test_a_published_collection_does_not_tell_the_address_of_a_suite_that_became_unlisted(client, people):
    kept = make_revision(people.alice, name="kept", visibility="public")
    gone = make_revision(people.alice, name="gone", visibility="public")
    collection = create_collection(
        actor=people.alice, slug="both", title="Both", description="", reference="", revisions=[kept, gone]
    )
    publish_collection(collection, actor=people.alice)
    hidden = {"visibility": "unlisted", "slug": secret_slug("gone")}
    type(gone.suite).objects.filter(pk=gone.suite_id).update(**hidden)  # as before such changes were refused
    gone.suite.refresh_from_db()
    gone.suite.collaborations.create(user=people.bob, role="view")
    slug = gone.suite.slug
    for person, there in (("charlie", False), ("bob", True), ("alice", True)):
        client.force_login(getattr(people, person))
        for address in ("/collections/both/", "/api/v1/collections/both/"):
            page = client.get(address).content.decode()
            assert "kept" in page
            assert (slug in page) is there, (person, address)
