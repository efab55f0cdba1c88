"""One table: every address of the site, asked by everybody. An address without a row fails. The rows are in rooms/."""

from __future__ import annotations

import importlib
import pkgutil

import pytest
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from gym.accounts.tokens import create_token
from gym.evaluations import services
from gym.evaluations.models import ResultUpload
from gym.evaluations.uploads import GivenFile, ModelChoice, plan_upload, save_upload
from gym.jobs.testing import run_pending
from suites.models import Suite, SuiteCollaborator
from tests.factories import make_model, make_revision, make_suite
from tests.permissions import rooms

ROOMS = [
    importlib.import_module(f"{rooms.__name__}.{found.name}")
    for found in pkgutil.iter_modules(rooms.__path__)
]
ROWS = [row for room in ROOMS for row in room.ROWS] + [
    row for room in ROOMS for row in getattr(room, "LAST", [])
]
FORMS = tuple(name for room in ROOMS for name in getattr(room, "FORMS", ()))


def upload(owner) -> ResultUpload:
    """Outcomes of a model of the owner's, on the public suite."""
    rows = "".join(f"elsewhere,public,{item},True\n" for item in range(3))
    plan = plan_upload(GivenFile("o.csv", f"model,suite,item,correct\n{rows}".encode()), actor=owner)
    return save_upload(plan, ModelChoice(visibility="public"), actor=owner)


def share(suite: Suite, people) -> None:
    for user, role in ((people.bob, SuiteCollaborator.Role.EDIT), (people.dora, SuiteCollaborator.Role.VIEW)):
        SuiteCollaborator.objects.create(suite=suite, user=user, role=role)


@pytest.fixture
def world(people):
    """alice's public, unlisted and private suites and models, a draft, and finished runs of hers on them.

    Returns the addresses of things that have no plain one, by their name in the table."""
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
    }
    run_pending()
    uploaded = upload(people.alice)
    runs["uploaded-run"] = uploaded.runs.get()
    token, _ = create_token(actor=people.alice, name="hers", scopes=["read"])
    world = {name: run.key for name, run in runs.items()} | {
        "unlisted": revisions["unlisted"].suite.slug,
        "upload": uploaded.key,
        "bobs-role": people.bob.collaborations.get(suite=revisions["private"].suite).pk,
        "alices-token": token.pk,
    }
    for room in ROOMS:
        if hasattr(room, "furnish"):
            room.furnish(people, world)
    return world


def _things_to_throw_away(name: str, people) -> list[str] | None:
    """What a row takes away must be there for everybody anew."""
    if name == "suite-delete":  # a suite without runs, so that deleting it can succeed
        suite = make_suite(people.alice, name="private-bin", visibility="private")
        share(suite, people)
        return [suite.slug]
    if name == "upload-delete":
        return [upload(people.alice).key]
    return None


@pytest.mark.parametrize("person", rooms.PEOPLE)
def test_everybody_gets_what_the_table_says(client, people, world, person):
    wrong = []
    for method, name, arguments, answers in ROWS:
        expected = answers[rooms.PEOPLE.index(person)]
        if person != "nobody":
            client.force_login(getattr(people, person))
        given = _things_to_throw_away(name, people) or [
            world.get(argument, argument) for argument in arguments
        ]
        address = reverse(name, args=given)
        response = client.generic(method, address)
        answer = response.status_code
        if answer == 302 and response.url.startswith(reverse("login")):
            answer = "in"
        if answer != expected:
            wrong.append(f"{method} {address} ({name}): {answer}, not {expected}")
        client.logout()
    assert not wrong, "\n".join(wrong)


def test_every_address_has_a_row():
    names = {name for _, name, _, _ in ROWS}
    assert _named(get_resolver()) - names == set()


def test_the_admin_is_for_staff(client, people):
    for person, expected in (("charlie", 302), ("staff", 200)):
        client.force_login(getattr(people, person))
        assert client.get(reverse("admin:index")).status_code == expected


def test_reading_pages_never_changes_anything_by_post(client, people, world):
    client.force_login(people.staff)
    for method, name, arguments, _ in ROWS:
        if method == "GET" and not name.startswith(FORMS):
            address = reverse(name, args=[world.get(argument, argument) for argument in arguments])
            assert client.post(address).status_code in {405, 404}, address


def _named(resolver: URLResolver) -> set[str]:
    found: set[str] = set()
    for pattern in resolver.url_patterns:
        if isinstance(pattern, URLResolver):
            if pattern.app_name != "admin":
                found |= _named(pattern)
        elif isinstance(pattern, URLPattern) and pattern.name:
            found.add(pattern.name)
    return found
