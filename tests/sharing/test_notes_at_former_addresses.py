"""Hiding or deleting an object that may have been cited asks for confirmation, shows what readers will see,
and offers to leave a note."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from gym.runs.models import DeletedRun
from suites import services
from suites.models import FormerAddress, Suite
from tests.factories import make_model, make_suite
from tests.lmchallenge.worlds import make_corpus
from tests.propara.worlds import make_set
from tests.runs.boards import finished_run

NOTE = "Item 3 was wrong; see https://example.org/new <b>"
SHOWN = 'see <a href="https://example.org/new" rel="nofollow">https://example.org/new</a> &lt;b&gt;'
TOO_LONG = "x" * 1001


@dataclass(frozen=True)
class Kind:
    make: Callable[..., Any]
    page: str
    edit: str
    delete: str
    api: str
    gone: str


KINDS = [
    Kind(
        lambda owner: make_suite(owner, name="cited"),
        "/suites/cited/", "/suites/cited/edit/", "/suites/cited/delete/", "/api/v1/suites/cited/",
        "This suite is no longer public",
    ),
    Kind(
        lambda owner: make_corpus(owner, slug="cited"),
        "/games/corpora/cited/", "/games/corpora/cited/edit/", "/games/corpora/cited/delete/",
        "/api/v1/lmc/corpora/cited/", "This corpus is no longer public",
    ),
    Kind(
        lambda owner: make_set(owner, slug="cited"),
        "/propara/cited/", "/propara/cited/edit/", "/propara/cited/delete/", "/api/v1/propara/answer-sets/cited/",
        "This set of reference answers is no longer public",
    ),
]  # fmt: skip


@pytest.fixture(params=KINDS, ids=["suite", "corpus", "answer set"])
def kind(request, client, people):
    request.param.make(people.alice)
    client.force_login(people.alice)
    return request.param


def stranger_reads(client, address: str) -> tuple[int, str]:
    client.logout()
    response = client.get(address)
    return response.status_code, response.content.decode()


def json(client, method: str, address: str, body: dict[str, Any] | None = None):
    return getattr(client, method)(address, body, content_type="application/json")


@pytest.mark.parametrize("visibility", ["private", "unlisted"])
def test_hiding_asks_says_what_will_be_seen_and_shows_the_note_there(client, people, kind, visibility):
    given = {"title": "Cited", "language": "en", "visibility": visibility}
    asked = client.post(kind.edit, given)
    page = asked.content.decode()
    for words in (f"Make it {visibility}", kind.gone, "(status 410)", "Nothing is saved yet", kind.page):
        assert words in page
    assert page.count('<textarea name="former_address_note"') == 1
    assert client.get(kind.edit).status_code == 200  # its address has not changed
    refused = client.post(kind.edit, given | {"former_address_note": TOO_LONG, "confirmed": "1"})
    assert refused.status_code == 400
    assert client.post(kind.edit, given | {"former_address_note": NOTE, "confirmed": "1"}).status_code == 302
    status, page = stranger_reads(client, kind.page)
    assert (status, kind.gone in page, SHOWN in page) == (410, True, True)
    assert client.get(kind.api).json()["note"] == NOTE


def test_the_note_can_be_changed_later_and_goes_when_the_thing_is_public_again(client, people, kind):
    assert (
        json(client, "patch", kind.api, {"visibility": "private", "former_address_note": NOTE}).status_code
        == 200
    )
    assert "Item 3 was wrong" in client.get(kind.edit).content.decode()
    given = {
        "title": "Cited",
        "language": "en",
        "visibility": "private",
        "former_address_note": "Another note",
    }
    assert client.post(kind.edit, given).status_code == 302
    assert "Another note" in stranger_reads(client, kind.page)[1]
    client.force_login(people.alice)
    assert client.post(kind.edit, given | {"visibility": "public"}).status_code == 302
    assert "id_former_address_note" not in client.get(kind.edit).content.decode()
    assert stranger_reads(client, kind.page)[0] == 200
    client.force_login(people.alice)
    json(client, "patch", kind.api, {"visibility": "private"})
    assert "Another note" not in stranger_reads(client, kind.page)[1]


def test_a_note_without_a_former_address_is_refused(client, people, kind):
    answer = json(client, "patch", kind.api, {"former_address_note": NOTE})
    assert answer.status_code == 400
    assert "has no former public address" in answer.content.decode()
    assert json(client, "patch", kind.api, {"former_address_note": TOO_LONG}).status_code == 400


def test_deleting_says_what_will_be_seen_and_leaves_address_and_note(client, people, kind):
    place = kind.edit if "propara" in kind.page else kind.page
    page = " ".join(client.get(place).content.decode().split())
    assert f"After the deletion it will say “{kind.gone}”" in page
    assert '<textarea class="form-control" name="former_address_note"' in page
    client.post(kind.delete, {"former_address_note": TOO_LONG})
    assert client.get(kind.page).status_code == 200
    client.post(kind.delete, {"former_address_note": NOTE})
    assert client.get(kind.page).status_code == 410
    status, page = stranger_reads(client, kind.page)
    assert (status, kind.gone in page, SHOWN in page) == (410, True, True)
    assert client.get(kind.api).json()["note"] == NOTE


def test_deleting_by_the_api_takes_the_note_with_it(client, people, kind):
    assert client.delete(f"{kind.api}?note={TOO_LONG}").status_code == 400
    assert client.delete(f"{kind.api}?note=Withdrawn").status_code == 204
    assert client.get(kind.api).json()["note"] == "Withdrawn"


def test_nobody_gets_the_address_of_a_deleted_suite(client, people):
    services.delete_suite(make_suite(people.alice, name="cited"), actor=people.alice)
    assert make_suite(people.bob, name="cited").slug == "cited-2"


def test_a_suite_deleted_in_the_admin_leaves_its_address_too(client, people):
    suite = make_suite(people.alice, name="cited", frozen=False)
    Suite.objects.filter(pk=suite.pk).delete()
    assert FormerAddress.objects.get().thing is None
    assert stranger_reads(client, "/suites/cited/")[0] == 410


def test_what_was_never_public_leaves_nothing(client, people):
    suite = make_suite(people.alice, name="never", visibility="private")
    services.delete_suite(suite, actor=people.alice, note="a note")
    assert not FormerAddress.objects.exists()
    assert stranger_reads(client, "/suites/never/")[0] == 404


def test_a_run_that_is_deleted_leaves_the_note_where_it_was(client, people):
    run = finished_run(make_suite(people.alice).latest_frozen, make_model(people.alice), [1, 0, 1])
    client.force_login(people.alice)
    page = client.get(run.get_absolute_url()).content.decode()
    assert "visitors will read “This run was deleted”" in page
    client.post(f"{run.get_absolute_url()}delete/", {"former_address_note": NOTE})
    status, page = stranger_reads(client, run.get_absolute_url())
    assert (status, "This run was deleted" in page, SHOWN in page) == (410, True, True)
    assert client.get(f"/api/v1/runs/{run.key}/").json()["was"]["note"] == NOTE


def test_a_private_run_asks_for_no_note_and_leaves_none(client, people):
    suite = make_suite(people.alice, visibility="private")
    run = finished_run(suite.latest_frozen, make_model(people.alice), [1, 0, 1])
    client.force_login(people.alice)
    assert "former_address_note" not in client.get(run.get_absolute_url()).content.decode()
    assert client.delete(f"/api/v1/runs/{run.key}/?note=x").status_code == 204
    assert not DeletedRun.objects.exists()
