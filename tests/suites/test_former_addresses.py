"""Former public addresses redirect people who may see the suite, and explain to others what happened."""

from __future__ import annotations

import pytest
from django.urls import reverse

from gym.accounts.tokens import create_token
from suites import services
from suites.models import FormerAddress
from tests.factories import make_suite

GONE = "This suite is no longer public"


@pytest.fixture
def suite(people):
    made = make_suite(people.alice, name="cited", collaborator=people.bob)
    made.collaborations.create(user=people.dora, role="view")
    return made


def hide(suite, people, visibility="unlisted"):
    services.set_visibility(suite, visibility, actor=people.alice)
    return suite


PAGES = [
    "/suites/cited/", "/suites/cited/r1/", "/suites/cited/r1/items/", "/suites/cited/r1/json/",
    "/suites/cited/diff/1/1/", "/exports/suites/cited/r1/bib",
]  # fmt: skip
API = [
    "/api/v1/suites/cited/", "/api/v1/suites/cited/revisions/1/", "/api/v1/suites/cited/revisions/1/export/csv/",
    "/api/v1/compare/cited/?model=a,b",
]  # fmt: skip


@pytest.mark.parametrize(
    ("address", "visibility", "who"),
    [
        *((address, "unlisted", "charlie") for address in PAGES + API),
        *((address, "unlisted", None) for address in (PAGES[0], API[0])),
        *((address, "private", who) for address in (PAGES[0], API[0]) for who in ("charlie", None)),
    ],
)
def test_strangers_read_that_it_is_not_public_any_more_and_nothing_else(
    client, people, suite, address, visibility, who
):
    hide(suite, people, visibility)
    if who:
        client.force_login(getattr(people, who))
    response = client.get(address)
    assert response.status_code == 410
    if address in API:
        assert response["Content-Type"] == "application/problem+json"
        assert (response.json()["status"], response.json()["code"]) == (410, "no-longer-public")
    said = response.content.decode() + str(response.headers)
    assert GONE in said
    assert visibility == "private" or suite.slug not in said
    assert "unlisted" not in said
    assert people.alice.username not in said


@pytest.mark.parametrize(
    ("address", "who"),
    [
        *((address, "dora") for address in PAGES + API[:3]),
        *((address, who) for address in (PAGES[0], API[0]) for who in ("alice", "bob", "staff")),
    ],
)
def test_its_people_are_led_to_the_new_address(client, people, suite, address, who):
    hide(suite, people)
    client.force_login(getattr(people, who))
    response = client.get(f"{address}?rule=all" if address in PAGES else address)
    assert response.status_code == 307
    place = address.replace("/cited/", f"/{suite.slug}/")
    assert response.url == (f"{place}?rule=all" if address in PAGES else place)
    assert client.get(response.url).status_code == 200


def test_a_token_is_led_there_as_its_owner_is(client, people, suite):
    hide(suite, people)
    for person, status in ((people.bob, 307), (people.charlie, 410)):
        _, secret = create_token(actor=person, name="t", scopes=["read"])
        answer = client.get("/api/v1/suites/cited/", headers={"Authorization": f"Bearer {secret}"})
        assert answer.status_code == status


def test_what_somebody_sends_to_the_old_address_arrives(client, people, suite):
    hide(suite, people)
    client.force_login(people.bob)
    sent = client.patch(
        "/api/v1/suites/cited/", {"title": "New"}, content_type="application/json", follow=True
    )
    assert sent.json()["title"] == "New"


def test_its_people_open_a_private_suite_where_it_was(client, people, suite):
    hide(suite, people, "private")
    client.force_login(people.dora)
    assert client.get("/suites/cited/").status_code == 200
    assert client.get("/suites/cited/r9/").status_code == 404


@pytest.mark.parametrize("visibility", ["private", "unlisted"])
def test_an_address_that_never_was_public_says_nothing(client, people, visibility):
    suite = make_suite(people.alice, name="never", visibility=visibility)
    first = suite.slug
    if visibility == "unlisted":
        services.new_secret_address(suite, actor=people.alice)
    client.force_login(people.charlie)
    for address in (f"/suites/{first}/", f"/api/v1/suites/{first}/", "/suites/no-such-suite/"):
        assert client.get(address).status_code == 404
    assert not FormerAddress.objects.exists()


def test_secret_addresses_that_were_renewed_or_given_up_say_nothing(client, people, suite):
    first = hide(suite, people).slug
    services.new_secret_address(suite, actor=people.alice)
    second = suite.slug
    hide(suite, people, "private")
    for slug in (first, second):
        assert client.get(f"/suites/{slug}/").status_code == 404
    assert client.get("/suites/cited/").status_code == 410


def test_public_again_it_has_its_address_again(client, people, suite):
    hide(suite, people)
    hide(suite, people, "public")
    assert suite.slug == "cited"
    assert client.get("/suites/cited/").status_code == 200
    assert not FormerAddress.objects.exists()


def test_no_other_suite_gets_the_address(people, suite):
    hide(suite, people)
    assert make_suite(people.charlie, name="cited").slug == "cited-2"


def test_the_page_asks_before_a_public_address_is_left(client, people, suite):
    client.force_login(people.alice)
    address = reverse("suite-edit", args=["cited"])
    given = {"title": "Cited\u00a0suite", "language": "en", "description": "two\nlines", "tag_names": "a, b"}
    asked = client.post(address, given | {"visibility": "unlisted"})
    page = asked.content.decode()
    suite.refresh_from_db()
    assert (suite.visibility, suite.slug, suite.title) == ("public", "cited", "cited")
    for words in ("new, secret address", "/suites/cited/", GONE):
        assert words in page
    fields = {name: field.value() or "" for name, field in ((f.name, f) for f in asked.context["form"])}
    done = client.post(address, fields | {"confirmed": "1"}, follow=True)
    suite.refresh_from_db()
    assert (suite.visibility, suite.title, suite.tags.count()) == ("unlisted", "Cited\u00a0suite", 2)
    assert f"The new address of the suite is /suites/{suite.slug}/." in done.content.decode()


def test_it_does_not_ask_where_nothing_public_changes(client, people, suite):
    client.force_login(people.alice)
    given = {"title": "Cited", "language": "en", "visibility": "public"}
    assert client.post(reverse("suite-edit", args=["cited"]), given).status_code == 302
    private = make_suite(people.alice, name="draft", visibility="private")
    for visibility in ("unlisted", "private", "public"):
        address = reverse("suite-edit", args=[private.slug])
        assert client.post(address, given | {"visibility": visibility}).status_code == 302
        private.refresh_from_db()
        assert private.visibility == visibility


def test_staff_who_hide_it_in_the_admin_leave_the_same_behind(client, people, suite):
    client.force_login(people.staff)
    address = reverse("admin:suites_suite_change", args=[suite.pk])
    form = client.get(address).context["adminform"].form
    given = {name: form.get_initial_for_field(field, name) or "" for name, field in form.fields.items()}
    inline = {"collaborations-TOTAL_FORMS": 0, "collaborations-INITIAL_FORMS": 0}
    saved = client.post(address, given | {"visibility": "unlisted", "tags": []} | inline)
    assert saved.status_code == 302, saved.context["adminform"].form.errors
    suite.refresh_from_db()
    assert len(suite.slug) == len("cited-") + 20
    client.logout()
    assert client.get("/suites/cited/").status_code == 410
