"""Permissions of every address of the site for every user, in one table. An address without a row fails. The
rows are in sections/."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from django.conf import settings
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from gym.accounts.tokens import create_token
from gym.jobs.testing import run_pending
from gym.runs.models import ResultUpload
from gym.runs.work import services
from gym.runs.work.uploads import ModelChoice, ResultFile, plan_upload, save_upload
from suites.models import Suite
from tests.factories import make_model, make_revision, make_suite
from tests.people import People, make_people
from tests.permissions import sections

SECTIONS = [
    importlib.import_module(f"{sections.__name__}.{found.name}")
    for found in pkgutil.iter_modules(sections.__path__)
]
ROWS = [row for section in SECTIONS for row in section.ROWS] + [
    row for section in SECTIONS for row in getattr(section, "LAST", [])
]
METHODS = ("GET", "POST")  # form pages treat other methods like GET
API = "/api/v1/"  # its operations are checked by tests/api/test_every_operation.py
UNNAMED = {r"api/v1/^[\s\S]*/$"}  # the API's response to unknown addresses


def upload(owner) -> ResultUpload:
    """Upload outcomes of a model that `owner` owns on the public suite, and return the upload."""
    rows = "".join(f"elsewhere,public,{item},True\n" for item in range(3))
    plan = plan_upload(ResultFile("o.csv", f"model,suite,item,correct\n{rows}".encode()), actor=owner)
    return save_upload(plan, ModelChoice(visibility="public"), actor=owner)


def share(suite: Suite, people) -> None:
    for user, role in ((people.bob, "edit"), (people.dora, "view")):
        suite.collaborations.create(user=user, role=role)


def make_world(people: People) -> dict[str, Any]:
    """Create alice's public, unlisted and private suites and models, a draft, and her finished runs on them.

    Returns the values of the argument names in the table."""
    revisions = {
        name: make_revision(people.alice, name=name, visibility=name)
        for name in ("public", "unlisted", "private")
    }
    share(revisions["private"].suite, people)
    share(make_suite(people.alice, name="drafted", visibility="private", frozen=False), people)
    open_model = make_model(people.alice, slug="public-model")
    secret_model = make_model(people.alice, slug="private-model", visibility="private")
    queue = services.queue_run
    runs = {
        "public-run": queue(revisions["public"], open_model, actor=people.alice),
        "private-run": queue(revisions["private"], open_model, actor=people.alice),
        "secret-run": queue(revisions["public"], secret_model, actor=people.alice),
        "loose-run": queue(
            make_revision(people.alice, name="loose", visibility="public"), open_model, actor=people.alice
        ),
    }
    run_pending()
    uploaded = upload(people.alice)
    runs["uploaded-run"] = uploaded.runs.get()
    token, _ = create_token(actor=people.alice, name="hers", scopes=["read"])
    world = {name: run.key for name, run in runs.items()} | {
        "unlisted": revisions["unlisted"].suite.slug,
        "upload": uploaded.key,
        "bobs-role": revisions["private"].suite.collaborations.get(user=people.bob).pk,
        "alices-token": token.pk,
    }
    for section in SECTIONS:
        if hasattr(section, "add_objects"):
            section.add_objects(people, world)
    return world


@pytest.fixture(scope="module")
def built(module_db) -> tuple[People, dict[str, Any]]:
    people = make_people()
    return people, make_world(people)


@pytest.fixture
def people(built, db) -> People:
    return deepcopy(built[0])  # a test may change its copy


@pytest.fixture
def world(built, db) -> dict[str, Any]:
    return dict(built[1])


def _things_to_throw_away(name: str, people) -> list[str] | None:
    """Return the arguments of a row that deletes its object, with a new object for every user; None for other
    rows."""
    if name == "suite-delete":  # a suite without runs, so that deleting it can succeed
        suite = make_suite(people.alice, name="private-bin", visibility="private")
        share(suite, people)
        return [suite.slug]
    if name == "upload-delete":
        return [upload(people.alice).key]
    return None


@pytest.mark.crawl
@pytest.mark.parametrize("person", sections.PEOPLE)
def test_everybody_gets_what_the_table_says(client, people, world, person):
    client.raise_request_exception = False  # a 500 counts as a wrong status; its traceback is in the log
    wrong = []
    signed_in = False
    for method, name, arguments, answers in ROWS:
        expected = answers[sections.PEOPLE.index(person)]
        if person != "nobody" and not signed_in:
            client.force_login(getattr(people, person))
        given = _things_to_throw_away(name, people) or [
            world.get(argument, argument) for argument in arguments
        ]
        address = reverse(name, args=given)
        response = client.generic(method, address)
        signed_in = settings.SESSION_COOKIE_NAME not in response.cookies  # signing out sends this cookie
        answer = response.status_code
        if answer == 302 and response.url.startswith(reverse("login")):
            answer = "in"
        if answer != expected:
            wrong.append(f"{method} {address} ({name}): {answer}, not {expected}")
    assert not wrong, "\n".join(wrong)


def test_every_address_has_a_row():
    names = {name for _, name, _, _ in ROWS}
    assert {pattern.name for _, pattern in patterns(get_resolver()) if pattern.name} - names == set()


def test_every_address_has_a_name():
    assert {address for address, pattern in patterns(get_resolver()) if not pattern.name} == UNNAMED


def test_every_method_that_a_page_takes_has_a_row(client, people, world):
    """A method without a row is refused with 405, even for staff."""
    client.force_login(people.staff)
    rows = {(method, name) for method, name, _, _ in ROWS}
    taken = []
    for name, arguments in {name: arguments for _, name, arguments, _ in ROWS}.items():
        address = reverse(name, args=[world.get(argument, argument) for argument in arguments])
        if not address.startswith(API):
            free = [method for method in METHODS if (method, name) not in rows]
            taken += [f"{method} {name}" for method in free if _takes(client, method, address)]
    assert not taken, "\n".join(taken)


def _takes(client, method: str, address: str) -> bool:
    return client.generic(method, address).status_code != 405


def patterns(resolver: URLResolver, before: str = "") -> Iterator[tuple[str, URLPattern]]:
    """Yield every address with its pattern, except those of the admin (test_every_admin_url.py)."""
    for pattern in resolver.url_patterns:
        address = f"{before}{pattern.pattern}"
        if isinstance(pattern, URLPattern):
            yield address, pattern
        elif pattern.app_name != "admin":
            yield from patterns(pattern, address)
