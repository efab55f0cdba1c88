"""Texts by users are shown as text on every page, never as markup."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from tests.factories import make_suite
from tests.permissions.test_every_url import ROWS
from tests.security.hostile import BREAKS_OUT, MARK, POLYGLOT, SAFE, create_objects, plant

SHOWN = {
    "queue", "suite-list", "suite-edit", "suite-detail", "suite-revision", "suite-items", "model-list",
    "model-detail", "model-edit", "model-correct", "leaderboard", "run-list", "run-detail", "run-item", "suite-upload",
    "suite-people", "propara-list", "propara-set", "agent-home", "agent-suite", "agent-server", "collection-list",
    "collection-detail",
}  # fmt: skip
"""Pages that show the string; a page that stopped showing it would test nothing."""
MORE = [
    ("suite-revision", ["public", 2]),
    ("suite-items", ["public", 2]),
    ("model-detail", ["broken-model"]),
    ("model-detail", ["unchecked-model"]),
    ("model-status", ["broken-model"]),
    ("model-status", ["unchecked-model"]),
    ("run-detail", ["failed-run"]),
    ("run-detail", ["queued-run"]),
    ("run-detail", ["running-run"]),
    ("run-progress", ["failed-run"]),
    ("run-progress", ["queued-run"]),
    ("run-item", ["public-run", 1]),
    ("run-item", ["public-run", 3]),
]


class Active(HTMLParser):
    """Parser that collects elements and attributes that could run code, or that no page of the site has."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag, attrs):
        names = [name for name, _ in attrs]
        values = dict(attrs)
        runs = tag == "script" and not values.get("src") and values.get("type") != "application/json"
        if tag in {"img", "iframe", "object", "embed", "base"} or runs:
            self.found.append(self.get_starttag_text())
        if any(name.startswith("on") or not re.fullmatch(r"[a-zA-Z_:][-\w:.]*", name) for name in names):
            self.found.append(self.get_starttag_text())
        for name in ("href", "src", "action", "hx-get", "hx-post", "xlink:href"):
            if not re.match(r"(https?:|/|#|\?|data:image/|$)", values.get(name) or ""):
                self.found.append(self.get_starttag_text())


def assert_harmless(html: str, where: str) -> None:
    for piece in BREAKS_OUT:
        at = html.find(piece)
        assert at < 0, f"{where}: …{html[max(0, at - 80) : at + 80]}…"
    parser = Active()
    parser.feed(html)
    assert not parser.found, f"{where}: {parser.found[:3]}"
    assert f"{SAFE.split('{{')[0]}14" not in html, f"{where}: it was read as a template"


@pytest.mark.crawl
def test_no_page_of_the_site_lets_it_out(client, people):
    world = plant(people)
    create_objects(people, world)
    client.force_login(people.staff)
    pages = [(name, arguments) for method, name, arguments, _ in ROWS if method == "GET"] + MORE
    shown = set()
    for name, arguments in pages:
        address = reverse(name, args=[world.get(argument, argument) for argument in arguments])
        for query in ("", "?only=failed&sort=title") if name in ("run-detail", "suite-list") else ("",):
            response = client.get(address + query)
            if response["Content-Type"].startswith(("text/html", "image/svg+xml")):
                html = response.content.decode()
                assert_harmless(html, address)
                if MARK in html:
                    shown.add(name)
            else:
                data = ("application/json", "application/problem+json")
                kept = "attachment" in response.get("Content-Disposition", "")
                assert kept or response["Content-Type"] in data, address
    assert shown >= SHOWN


def test_neither_front_page_nor_home_of_its_owner_lets_it_out(client, people):
    plant(people)
    for page in ("front page", "home"):
        if page == "home":
            client.force_login(people.alice)
        html = client.get("/").content.decode()
        assert_harmless(html, page)
        assert MARK in html, page


def test_the_string_is_there_escaped(client, people):
    plant(people)
    client.force_login(people.staff)
    page = client.get("/suites/public/").content.decode()
    assert f"<h1>{SAFE}</h1>" in page
    assert page.count(SAFE) > 10


def test_the_chart_file_escapes_names(client, people):
    run = plant(people)["public-run"]
    response = client.get(reverse("run-chart", args=[run]))
    assert response["Content-Disposition"].startswith("attachment")
    assert_harmless(response.content.decode(), "chart")
    assert MARK in response.content.decode()


def test_the_net_catches_what_it_should():
    for bad in (
        POLYGLOT,
        "<a href='javascript:x'>",
        "<p onclick=x>",
        "<script>1</script>",
        '<b title=""x\'>',
    ):
        with pytest.raises(AssertionError):
            assert_harmless(f"<p>{bad}</p>", "")
    assert_harmless(f"<p title='{SAFE}'>{SAFE}</p>", "")


def test_queries_come_back_as_text(client, people):
    plant(people)
    for address in ("/suites/", "/leaderboard/", "/runs/", "/accounts/login/", "/models/", "/no/such/page"):
        for name in ("q", "tag", "sort", "next", "page", "only", "language"):
            assert_harmless(client.get(address, {name: POLYGLOT}).content.decode(), f"{address}?{name}")
    assert MARK in client.get("/suites/", {"q": POLYGLOT}).content.decode()


@pytest.mark.parametrize(
    ("address", "fields"),
    [
        ("/suites/import/", ("text", "title", "tags", "visibility", "join_policy")),
        ("/suites/mine/edit/", ("title", "tag_names", "language", "licence", "visibility", "reference", "comment")),
        ("/models/register/", ("kind", "repo", "revision", "path", "vocabulary_size", "name", "slug", "url", "bibtex")),
        ("/accounts/login/", ("username", "password", "next")),
    ],
)  # fmt: skip
def test_a_refused_form_shows_what_was_typed_as_text(client, people, address, fields):
    make_suite(people.alice, name="mine")
    if "login" not in address:
        client.force_login(people.alice)
    response = client.post(address, dict.fromkeys(fields, POLYGLOT))
    assert MARK in response.content.decode()
    assert_harmless(response.content.decode(), address)


def test_problems_of_an_uploaded_file_quote_it_as_text(client, people):
    client.force_login(people.alice)
    bad = {
        "table.csv": f'item,condition,"{POLYGLOT.replace(chr(34), chr(34) * 2)}"\nx{POLYGLOT},b,c\n',
        f"{POLYGLOT}.json": f'{{"meta": {{"name": "x", "metric": "{MARK}<script>alert(1)"}}}}',
        "formula.json": '{"meta": {"name": "x"}, "predictions": ["'
        + MARK
        + '<script>alert(1)"], "items": []}',
    }
    for name, text in bad.items():
        response = client.post("/suites/import/", {"file": SimpleUploadedFile(name, text.encode())})
        assert response.status_code == 400
        assert_harmless(response.content.decode(), name)


def test_messages_are_text(client, people):
    suite = make_suite(people.alice, frozen=False)
    type(suite).objects.filter(pk=suite.pk).update(title=POLYGLOT)
    client.force_login(people.alice)
    page = client.post(reverse("suite-delete", args=[suite.slug]), follow=True).content.decode()
    assert f"{SAFE} was deleted." in page
    assert_harmless(page, "message")
