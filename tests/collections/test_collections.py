"""Collections, named lists of revisions: created, published permanently, downloaded as a whole."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile

import pytest
from django.core.exceptions import PermissionDenied, ValidationError
from django.urls import reverse

from gym.collections.models import Collection
from gym.collections.services import add_revision, change_collection, create_collection, publish_collection
from gym.jobs.testing import run_pending
from gym.pages.account_deletion import delete_account
from gym.runs.models import SuiteRun
from lmgym.suites.formats import read_suite
from suites import services as suites
from tests.factories import make_model, make_revision
from tests.lmgym.suites.documents import suite_bytes
from tests.once import once_a_module
from tests.runs.boards import finished_run


def make_world(people):
    a, b = make_revision(people.alice, name="a", items=4), make_revision(people.alice, name="b", items=4)
    model = make_model(people.alice, slug="m")
    finished_run(a, model, [1, 1, 1, 0])
    finished_run(b, model, [0, 0, 0, 0])
    return {"a": a, "b": b, "model": model}


built, people, world = once_a_module(make_world)


def collection(people, *revisions, publish=True, slug="paper") -> Collection:
    made = create_collection(
        actor=people.alice, slug=slug, title="A paper", description="", reference="", revisions=revisions
    )
    if publish:
        publish_collection(made, actor=people.alice)
    made.refresh_from_db()
    return made


FORM = {"title": "Ours", "slug": "ours", "description": "d", "reference": ""}


def ticked(*revisions, **more):
    return FORM | {"revision": [row.pk for row in revisions]} | more


def test_a_collection_holds_what_was_ticked_in_its_order(client, world, people):
    client.force_login(people.alice)
    response = client.post(reverse("collection-new"), ticked(world["b"], world["a"], world["a"]))
    assert response.status_code == 302
    made = Collection.objects.get(slug="ours")
    assert [entry.revision for entry in made.entries.all()] == [world["b"], world["a"]]
    assert not made.is_published


@pytest.fixture
def half_hidden(people, world):
    """alice's collection of three suites. The second one is bob's and has become private."""
    theirs = make_revision(people.bob, name="theirs", items=4)
    made = collection(people, world["a"], theirs, world["b"], publish=False)
    type(theirs.suite).objects.filter(pk=theirs.suite_id).update(visibility="private")
    theirs.suite.collaborations.all().delete()
    return made


def entries(made) -> list[str]:
    return [entry.revision.suite.slug for entry in made.entries.order_by("position")]


@pytest.mark.parametrize(("names", "left"), [
    ("ab", ["a", "theirs", "b"]), ("ba", ["b", "theirs", "a"]), ("b", ["b", "theirs"]), ("", ["theirs"]),
])  # fmt: skip
def test_what_the_editor_cannot_see_keeps_its_place(client, people, world, half_hidden, names, left):
    client.force_login(people.alice)
    address = reverse("collection-edit", args=["paper"])
    page = " ".join(client.get(address).content.decode().split())
    assert "1 more entry is of a suite that you can no longer see" in page
    assert "theirs" not in page
    assert client.post(address, ticked(*(world[name] for name in names))).status_code == 302
    assert entries(half_hidden) == left


def test_over_the_api_too(client, people, half_hidden):
    client.force_login(people.alice)
    address = reverse("api-collection", args=["paper"])
    body = {"suites": [{"suite": "b"}, {"suite": "a"}]}
    assert client.patch(address, body, content_type="application/json").status_code == 200
    assert entries(half_hidden) == ["b", "theirs", "a"]
    with pytest.raises(ValidationError, match="1 suite that you may not see"):
        publish_collection(half_hidden, actor=people.alice)


def test_its_leaderboard_holds_its_revisions_even_when_there_are_newer_ones(client, world, people):
    collection(people, world["a"])
    suites.replace_draft(world["a"].suite, read_suite(suite_bytes(name="a", items=5)), actor=people.alice)
    suites.freeze(world["a"].suite, actor=people.alice)
    board = client.get(reverse("collection-detail", args=["paper"])).context["board"]
    assert [(column.suite.slug, column.revision.number) for column in board.columns] == [("a", 1)]
    assert board.rows[0].score.rate == 0.75


def test_an_unpublished_collection_is_its_owners_alone(client, world, people):
    collection(people, world["a"], publish=False)
    address = reverse("collection-detail", args=["paper"])
    for person, status in (
        (people.alice, 200),
        (people.staff, 200),
        (people.charlie, 404),
        (people.bob, 404),
    ):
        client.force_login(person)
        assert client.get(address).status_code == status


@pytest.mark.parametrize("publish", [False, True])
def test_the_page_leads_to_the_people_until_it_is_published(client, world, people, publish):
    made = collection(people, world["a"], publish=publish)
    client.force_login(people.alice)
    page = client.get(reverse("collection-detail", args=["paper"])).content.decode()
    assert (reverse("collection-people", args=[made.slug]) in page) != publish


def test_what_is_added_comes_last(world, people):
    made = collection(people, world["b"], publish=False)
    later = make_revision(people.alice, name="c", items=2)
    for revision in (world["a"], later, world["a"]):
        add_revision(made, revision, actor=people.alice)
    assert [entry.revision for entry in made.entries.order_by("position")] == [world["b"], world["a"], later]


def test_a_published_collection_never_changes(client, world, people):
    made = collection(people, world["a"])
    with pytest.raises(PermissionDenied):
        change_collection(made, actor=people.alice, title="x", description="", reference="", revisions=[])
    client.force_login(people.alice)
    for name in ("collection-edit", "collection-delete", "collection-publish"):
        assert client.post(reverse(name, args=["paper"]), FORM).status_code == 403
    assert Collection.objects.get().entries.count() == 1


def test_only_public_suites_are_published(world, people):
    private = make_revision(people.alice, name="secret", visibility="private")
    made = collection(people, private, publish=False)
    with pytest.raises(ValidationError, match="not public"):
        publish_collection(made, actor=people.alice)
    with pytest.raises(ValidationError, match="empty"):
        publish_collection(collection(people, publish=False, slug="none"), actor=people.alice)


@pytest.fixture
def mixed(people, world):
    """alice's collection of a public suite, her private and unlisted ones, and bob's private one, which she may
    view."""
    private = make_revision(people.alice, name="secret", visibility="private")
    unlisted = make_revision(people.alice, name="sealed", visibility="unlisted")
    bobs = make_revision(people.bob, name="bobs", visibility="private")
    place = bobs.suite.collaborations.create(user=people.alice, role="view")
    return collection(people, world["a"], private, unlisted, bobs, publish=False), place


def test_publishing_offers_to_make_suites_public_that_one_may_edit(client, people, mixed):
    made, place = mixed
    client.force_login(people.alice)
    address = reverse("collection-publish", args=["paper"])
    page = client.get(address)
    assert [suite.title for suite in page.context["offered"]] == ["sealed", "secret"]
    assert [suite.title for suite in page.context["others"]] == ["bobs"]
    body = {"suite": [suite.pk for suite in page.context["offered"]]}
    refused = client.post(address, body | {"public": "on"}, follow=True)
    assert "“bobs” (bobs), by bob" in refused.content.decode()
    secret = page.context["offered"][1]
    secret.refresh_from_db()
    assert secret.visibility == "private"  # all or nothing
    place.role = "edit"
    place.save()
    body["suite"].append(place.thing.pk)
    client.post(address, body)
    made.refresh_from_db()
    assert not made.is_published  # not asked for
    client.post(address, body | {"public": "on"})
    made.refresh_from_db()
    assert made.is_published
    assert {row.revision.suite.visibility for row in made.entries.all()} == {"public"}
    assert made.entries.get(position=2).revision.suite.slug == "sealed"


def test_only_suites_that_the_page_named_are_made_public(client, people, world):
    private = make_revision(people.alice, name="secret", visibility="private")
    made = collection(people, world["a"], private, publish=False)
    client.force_login(people.alice)
    client.post(
        reverse("collection-publish", args=["paper"]), {"public": "on", "suite": [world["a"].suite_id, "x"]}
    )
    made.refresh_from_db()
    private.suite.refresh_from_db()
    assert (made.is_published, private.suite.visibility) == (False, "private")


def test_publishing_names_only_hidden_suites_that_one_may_see(client, world, people):
    mine = make_revision(people.bob, name="drafted", visibility="private")
    hidden = [make_revision(people.alice, name=name) for name in ("zeta1", "zeta2", "zeta3")]
    made = create_collection(
        actor=people.bob, slug="mixed", title="Mixed", description="", reference="", revisions=[mine, *hidden]
    )
    for revision, visibility in zip(hidden, ("private", "unlisted", "unlisted"), strict=True):
        suites.set_visibility(revision.suite, visibility, actor=people.alice)
    suites.new_secret_address(hidden[2].suite, actor=people.alice)
    client.force_login(people.bob)
    page = client.post(reverse("collection-publish", args=["mixed"]), {"sure": "on"}, follow=True)
    answer = client.post("/api/v1/collections/mixed/publish/", {}, content_type="application/json")
    assert answer.status_code == 400
    for said in (page.content.decode(), answer.content.decode()):
        assert "“drafted” (drafted), by bob; 3 other suites that you may not see" in said
        for revision in hidden:
            assert revision.suite.slug not in said
    with pytest.raises(ValidationError, match=hidden[2].suite.slug):
        publish_collection(made, actor=people.staff)


def test_a_suite_that_a_collection_lists_is_not_deleted(people):
    revision = make_revision(people.alice, name="listed")
    collection(people, revision)
    with pytest.raises(ValidationError, match="collection"):
        suites.delete_suite(revision.suite, actor=people.alice)


def test_a_published_collection_outlives_its_owners_account(world, people):
    collection(people, world["a"])
    collection(people, world["b"], publish=False, slug="draft")
    delete_account(people.alice)
    assert list(Collection.objects.values_list("slug", "owner__is_active")) == [("paper", False)]


def test_the_zip_holds_everything_and_the_hash_of_every_file(client, world, people):
    made = collection(people, world["a"], world["b"])
    client.post(reverse("collection-zip", args=["paper"]))
    run_pending()
    response = client.get(reverse("collection-download", args=["paper", "zip"]))
    archive = zipfile.ZipFile(io.BytesIO(b"".join(response.streaming_content)))
    manifest = json.loads(archive.read("manifest.json"))
    assert {row["path"] for row in manifest["files"]} | {"manifest.json"} == set(archive.namelist())
    for row in manifest["files"]:
        assert hashlib.sha256(archive.read(row["path"])).hexdigest() == row["sha256"]
    assert manifest["sha256_of_list"] == made.sha256
    assert "a r1" in archive.read("README.txt").decode()
    assert "surprisal of every region, bits" in archive.read("README.txt").decode()
    assert manifest["revisions"][0] == {"suite": "a", "revision": 1, "sha256": world["a"].sha256}
    assert "runs/a-r1-m-outcomes.csv" in archive.namelist()
    assert read_suite(archive.read("suites/a-r1.json")).name == "a"


def test_the_list_is_cited_with_its_hash(client, world, people):
    made = collection(people, world["a"])
    text = client.get(reverse("collection-download", args=["paper", "bib"])).content.decode()
    assert made.sha256 in text
    assert r"\url{http://testserver/collections/paper/}" in text


@pytest.mark.parametrize("form", ["csv", "long.csv", "tex", "md", "json"])
def test_its_leaderboard_is_had_in_every_form(client, world, people, form):
    collection(people, world["a"])
    assert client.get(reverse("collection-download", args=["paper", form])).status_code == 200


def test_what_is_missing_in_it_is_queued(client, world, people):
    make_model(people.alice, slug="new")
    collection(people, world["a"])
    client.force_login(people.alice)
    client.post(reverse("collection-run-missing", args=["paper"]) + "?model=new")
    [run] = SuiteRun.objects.filter(completed_at=None)
    assert (run.revision, run.model.slug) == (world["a"], "new")


def test_a_collection_has_charts_of_its_own_suites(client, world, people):
    collection(people, world["a"])
    page = client.get(reverse("collection-detail", args=["paper"])).content.decode()
    assert "/figures/leaderboard-heat.pdf?collection=paper" in page
    assert "data-figure" in page
    whole = client.get("/figures/leaderboard-heat.json").json()["rows"]
    ours = client.get("/figures/leaderboard-heat.json?collection=paper").json()["rows"]
    assert len(whole) == 2
    assert len(ours) == 1
    scores = client.get("/figures/leaderboard-scores.json?collection=paper").json()
    assert [row[1] for row in scores["rows"]] == [0.75]


def test_charts_of_an_unpublished_collection_are_its_owners(client, world, people):
    collection(people, world["a"], publish=False)
    address = "/figures/leaderboard-scores.svg?collection=paper"
    assert client.get(address).status_code == 404
    client.force_login(people.charlie)
    assert client.get(address).status_code == 404
    client.force_login(people.alice)
    assert client.get(address).status_code == 200
    assert client.get("/figures/leaderboard-scores.svg?collection=%00x").status_code == 404


def test_a_suite_that_is_unlisted_later_keeps_its_secret_address(client, world, people):
    collection(people, world["a"], world["b"])
    suite = world["a"].suite
    type(suite).objects.filter(pk=suite.pk).update(visibility="unlisted", slug="a-0123456789abcdef0123")
    suite.refresh_from_db()
    for address in (
        reverse("collection-detail", args=["paper"]),
        "/api/v1/collections/paper/",
        "/api/v1/leaderboard/?collection=paper",
    ):
        assert suite.slug not in client.get(address).content.decode()
    client.force_login(people.alice)
    assert suite.slug in client.get("/api/v1/collections/paper/").content.decode()


def test_every_revision_of_a_suite_keeps_its_cell_in_json(client, world, people):
    suites.replace_draft(world["a"].suite, read_suite(suite_bytes(name="a", items=4)), actor=people.alice)
    again = suites.freeze(world["a"].suite, actor=people.alice)
    finished_run(again, world["model"], [0, 0, 0, 0])
    collection(people, world["a"], again, world["b"])
    row = client.get("/api/v1/leaderboard/?collection=paper").json()["results"][0]
    assert {name: cell["rate"] for name, cell in row["suites"].items()} == {
        "a r1": 0.75,
        "a r2": 0.0,
        "b": 0.0,
    }
    assert row["score"]["rate"] == 0.25


@pytest.fixture
def twins(people):
    """bob's suite `cleft`, and alice's suite of the same name with a different slug."""
    theirs, ours = make_revision(people.bob, name="cleft"), make_revision(people.alice, name="cleft")
    assert (theirs.suite.slug, ours.suite.slug) == ("cleft", "cleft-2")
    return theirs, ours


def test_what_was_added_is_told_with_title_owner_and_revision(client, people, twins):
    theirs, ours = twins
    client.force_login(people.alice)
    page = client.post(reverse("collection-new"), ticked(theirs), follow=True).content.decode()
    assert "Added: “cleft” (cleft r1), by bob." in page
    row = page.split('id="entries"')[1].split("<tbody>")[1].split("</tbody>")[0]
    for words in ("<code>cleft</code>", "<td>bob</td>", "r1"):
        assert words in row
    address = reverse("collection-edit", args=["ours"])
    again = client.post(address, ticked(theirs, ours), follow=True).content.decode()
    assert "Added: “cleft” (cleft-2 r1), by alice." in again
    assert [entry.revision for entry in Collection.objects.get().entries.all()] == list(twins)
    unchanged = client.post(address, ticked(theirs, ours), follow=True).content.decode()
    assert "Added:" not in unchanged


def test_the_api_tells_it_too(client, people, twins):
    client.force_login(people.alice)
    body = {"slug": "ours", "title": "Ours", "suites": [{"suite": "cleft"}]}
    answer = client.post("/api/v1/collections/", body, content_type="application/json")
    [entry] = answer.json()["suites"]
    assert (entry["suite"], entry["title"], entry["owner"], entry["revision"]) == ("cleft", "cleft", "bob", 1)
    assert entry["same_name"] == ["cleft-2"]


def test_a_name_that_is_no_address_says_whose_it_is(client, people):
    make_revision(people.bob, name="Cleft Sentences")
    hidden = make_revision(people.bob, name="reviewed", visibility="unlisted").suite
    draft = suites.import_suite(read_suite(suite_bytes(name="begun")), actor=people.alice)
    client.force_login(people.alice)
    suites.set_visibility(draft, "public", actor=people.alice)

    def said(name):
        body = {"slug": "ours", "title": "Ours", "suites": [{"suite": name}]}
        answer = client.post("/api/v1/collections/", body, content_type="application/json")
        assert answer.status_code == 400
        [error] = answer.json()["errors"]
        return error["message"]

    make_revision(people.bob, name="cleft")
    ours = make_revision(people.alice, name="cleft").suite
    suites.set_visibility(ours.revisions.first().suite, "private", actor=people.alice)
    type(ours).objects.filter(slug="cleft").update(slug="moved")
    assert said("cleft") == (
        "No suite in your lists has the short name “cleft”. With that name in their files: “cleft” (moved r1), by bob; "
        "“cleft” (cleft-2 r1), by alice."
    )
    assert said("begun") == "“begun” has no frozen revision. Freeze its draft first."
    assert said(hidden.slug) == f"No suite in your lists has the short name “{hidden.slug}”."
