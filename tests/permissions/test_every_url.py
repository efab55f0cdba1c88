"""One table: every address of the site, asked by everybody. A new address without a row fails."""

from __future__ import annotations

import pytest
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from gym.accounts.tokens import create_token
from gym.evaluations import services
from gym.evaluations.models import ResultUpload
from gym.evaluations.uploads import GivenFile, ModelChoice, plan_upload, save_upload
from gym.jobs.testing import run_pending
from tests.factories import make_model, make_revision, make_suite

# Answers to (nobody, charlie the stranger, bob the collaborator, alice the owner, staff).
# "in" = sent to the sign-in page. Things of the "private" rows belong to alice, and bob collaborates on the suites.
OPEN = (200, 200, 200, 200, 200)
MEMBERS = ("in", 200, 200, 200, 200)
HIDDEN = (404, 404, 200, 200, 200)
EDITORS = ("in", 404, 200, 200, 200)
EDITORS_JSON = (401, 404, 200, 200, 200)  # endpoints that a page talks to say 401 themselves
EDITORS_ACT = ("in", 404, 302, 302, 302)

ROWS = [
    ("GET", "home", [], OPEN),
    ("GET", "about", [], OPEN),
    ("GET", "healthz", [], OPEN),
    ("GET", "queue", [], OPEN),
    ("GET", "login", [], (200, 302, 302, 302, 302)),
    ("POST", "logout", [], (302, 302, 302, 302, 302)),
    ("GET", "admin-sign-in", [], ("in", 403, 403, 403, "in")),
    ("GET", "sign-up", [], (200, 302, 302, 302, 302)),
    ("GET", "profile", [], MEMBERS),
    ("GET", "profile-edit", [], MEMBERS),
    ("GET", "password-change", [], MEMBERS),
    ("GET", "password-reset", [], OPEN),
    ("GET", "password-reset-sent", [], OPEN),
    ("GET", "password-reset-confirm", ["x", "y"], OPEN),
    ("GET", "account-delete", [], MEMBERS),
    ("GET", "token-list", [], MEMBERS),
    ("POST", "token-revoke", ["alices-token"], ("in", 404, 404, 302, 404)),
    ("GET", "suite-list", [], OPEN),
    ("GET", "suite-import", [], MEMBERS),
    ("GET", "suite-new", [], MEMBERS),
    ("GET", "suite-copy", ["private"], ("in", 404, 200, 200, 200)),
    ("GET", "suite-copy", ["public"], MEMBERS),
    ("GET", "suite-diff", ["private", 1, 1], HIDDEN),
    ("GET", "suite-diff", ["public", 1, 1], OPEN),
    ("GET", "suite-diff", ["public", 1, 9], (404, 404, 404, 404, 404)),
    ("POST", "suite-formula", [], (401, 400, 400, 400, 400)),
    ("GET", "suite-detail", ["private"], HIDDEN),
    ("GET", "suite-detail", ["public"], OPEN),
    ("GET", "suite-detail", ["unlisted"], OPEN),
    ("GET", "suite-edit", ["private"], EDITORS),
    ("GET", "suite-edit", ["public"], ("in", 403, 403, 200, 200)),
    ("GET", "suite-upload", ["private"], EDITORS),
    ("GET", "suite-upload", ["public"], ("in", 403, 403, 200, 200)),
    ("POST", "suite-freeze", ["private"], EDITORS_ACT),
    ("POST", "suite-freeze", ["public"], ("in", 403, 403, 302, 302)),
    ("POST", "suite-discard-draft", ["private"], EDITORS_ACT),
    ("GET", "suite-freeze", ["drafted"], EDITORS),
    ("GET", "suite-editor", ["drafted"], EDITORS),
    ("GET", "suite-editor", ["public"], ("in", 403, 403, 200, 200)),
    ("GET", "suite-edit-text", ["drafted"], EDITORS),
    ("GET", "suite-draft", ["drafted"], EDITORS_JSON),
    ("GET", "suite-draft", ["public"], (401, 403, 403, 200, 200)),
    ("PATCH", "suite-draft", ["drafted"], (401, 404, 400, 400, 400)),
    ("POST", "suite-lint", ["drafted"], EDITORS_JSON),
    ("POST", "suite-preview", ["drafted"], (401, 404, 400, 400, 400)),
    ("POST", "suite-preview", ["public"], (401, 403, 403, 400, 400)),
    ("POST", "suite-delete", ["private"], ("in", 404, 403, 302, 302)),
    ("GET", "suite-people", ["private"], EDITORS),
    ("GET", "suite-people", ["public"], ("in", 403, 403, 200, 200)),
    ("POST", "suite-collaborator-role", ["private", "bobs-role"], ("in", 404, 403, 302, 302)),
    ("POST", "suite-new-address", ["private"], EDITORS_ACT),
    ("POST", "suite-new-address", ["public"], ("in", 403, 403, 302, 302)),
    ("GET", "suite-revision", ["private", 1], HIDDEN),
    ("GET", "suite-items", ["private", 1], HIDDEN),
    ("GET", "suite-errata", ["private", 1], EDITORS),
    ("GET", "suite-download", ["private", 1, "json"], HIDDEN),
    ("GET", "suite-download", ["public", 1, "csv"], OPEN),
    ("GET", "suite-download", ["public", 1, "exe"], (404, 404, 404, 404, 404)),
    ("GET", "model-list", [], OPEN),
    ("GET", "model-register", [], MEMBERS),
    ("GET", "model-detail", ["public-model"], OPEN),
    ("GET", "model-detail", ["private-model"], (404, 404, 404, 200, 200)),
    ("GET", "model-edit", ["private-model"], ("in", 404, 404, 200, 200)),
    ("GET", "model-edit", ["public-model"], ("in", 403, 403, 200, 200)),
    ("GET", "model-status", ["private-model"], (404, 404, 404, 200, 200)),
    ("POST", "model-check", ["public-model"], ("in", 403, 403, 302, 302)),
    ("POST", "model-approve", ["public-model"], ("in", 403, 403, 403, 302)),
    ("GET", "matrix", [], OPEN),
    ("GET", "matrix-download", ["csv"], OPEN),
    ("GET", "run-list", [], OPEN),
    ("GET", "results-upload", [], MEMBERS),
    ("POST", "results-upload", [], ("in", 400, 400, 400, 400)),
    ("GET", "suite-results-upload", ["public", 1], MEMBERS),
    ("GET", "suite-results-upload", ["private", 1], ("in", 404, 200, 200, 200)),
    ("POST", "suite-results-upload", ["private", 1], ("in", 404, 400, 400, 400)),
    ("GET", "upload-report", ["upload"], ("in", 404, 404, 200, 200)),
    ("POST", "upload-delete", ["upload-bin"], ("in", 404, 404, 302, 302)),
    ("GET", "run-detail", ["uploaded-run"], OPEN),
    ("GET", "run-item", ["uploaded-run", 1], OPEN),
    ("GET", "run-chart", ["uploaded-run"], (404, 404, 404, 404, 404)),
    ("GET", "model-detail", ["elsewhere"], OPEN),
    ("POST", "model-check", ["elsewhere"], ("in", 403, 403, 302, 302)),
    ("POST", "run-start", [], ("in", 404, 404, 404, 404)),
    ("GET", "run-detail", ["public-run"], OPEN),
    ("GET", "run-detail", ["private-run"], HIDDEN),
    ("GET", "run-detail", ["secret-run"], (404, 404, 404, 200, 200)),
    ("GET", "run-progress", ["private-run"], (404, 404, 286, 286, 286)),
    ("GET", "run-item", ["private-run", 1], HIDDEN),
    ("GET", "run-chart", ["private-run"], HIDDEN),
    ("GET", "run-download", ["private-run", "json"], HIDDEN),
    ("POST", "run-cancel", ["public-run"], ("in", 403, 403, 302, 302)),
    ("POST", "run-cancel", ["private-run"], ("in", 404, 403, 302, 302)),
    ("POST", "run-retry", ["public-run"], ("in", 403, 403, 302, 302)),
    ("GET", "api-root", [], OPEN),
    ("GET", "api-suites", [], OPEN),
    ("GET", "api-suite", ["private"], HIDDEN),
    ("GET", "api-models", [], OPEN),
    ("GET", "api-model", ["private-model"], (404, 404, 404, 200, 200)),
    ("GET", "api-runs", [], OPEN),
    ("POST", "api-runs", [], (401, 400, 400, 400, 400)),
    ("GET", "api-run", ["private-run"], HIDDEN),
    ("GET", "api-run-results", ["private-run"], HIDDEN),
    # What takes something away comes last.
    ("POST", "run-delete", ["public-run"], ("in", 403, 403, 302, 302)),
    ("POST", "run-delete", ["private-run"], ("in", 404, 403, 302, 302)),
    ("POST", "suite-collaborator-remove", ["private", "bobs-role"], ("in", 404, 403, 302, 302)),
    ("POST", "suite-leave", ["private"], ("in", 404, 302, 403, 403)),
]
FORMS = (
    "api", "login", "results-upload", "suite-results-upload", "suite-import", "suite-edit", "suite-errata",
    "suite-upload", "suite-new", "suite-copy", "suite-freeze", "model-register", "model-edit", "admin-sign-in",
    "sign-up", "profile-edit", "password-", "account-delete", "token-list", "suite-people",
)  # fmt: skip
"""Addresses where posting is meant."""
PEOPLE = ("nobody", "charlie", "bob", "alice", "staff")


def upload(owner) -> ResultUpload:
    """Outcomes of a model of the owner's, on the public suite."""
    rows = "".join(f"elsewhere,public,{item},True\n" for item in range(3))
    plan = plan_upload(GivenFile("o.csv", f"model,suite,item,correct\n{rows}".encode()), actor=owner)
    return save_upload(plan, ModelChoice(visibility="public"), actor=owner)


@pytest.fixture
def world(people):
    """alice's public, unlisted and private suites and models, a draft, and finished runs of hers on them.

    Returns the addresses of things that have no plain one, by their name in the table."""
    revisions = {
        name: make_revision(people.alice, name=name, visibility=name, collaborator=collaborator)
        for name, collaborator in (("public", None), ("unlisted", None), ("private", people.bob))
    }
    make_suite(people.alice, name="drafted", visibility="private", collaborator=people.bob, frozen=False)
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
    addresses = {name: run.key for name, run in runs.items()}
    token, _ = create_token(actor=people.alice, name="hers", scopes=["read"])
    return addresses | {
        "unlisted": revisions["unlisted"].suite.slug,
        "upload": uploaded.key,
        "bobs-role": people.bob.collaborations.get(suite=revisions["private"].suite).pk,
        "alices-token": token.pk,
    }


@pytest.mark.parametrize("person", PEOPLE)
def test_everybody_gets_what_the_table_says(client, people, world, person):
    wrong = []
    for method, name, arguments, expected in ROWS:
        if person != "nobody":
            client.force_login(getattr(people, person))
        if name == "suite-delete":  # a suite without runs, so that deleting it can succeed
            suite = make_suite(
                people.alice, name="private-bin", visibility="private", collaborator=people.bob
            )
            arguments = [suite.slug]
        if name == "upload-delete":
            arguments = [upload(people.alice).key]
        address = reverse(name, args=[world.get(argument, argument) for argument in arguments])
        response = client.generic(method, address)
        answer = response.status_code
        if answer == 302 and response.url.startswith(reverse("login")):
            answer = "in"
        if answer != expected[PEOPLE.index(person)]:
            wrong.append(f"{method} {address} ({name}): {answer}, not {expected[PEOPLE.index(person)]}")
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
