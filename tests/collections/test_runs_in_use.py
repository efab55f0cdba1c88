"""Runs shown in a published collection cannot be deleted, and neither can the collection, not even in the
admin."""

from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError
from django.urls import reverse

from gym.collections.models import Collection
from gym.collections.services import create_collection, publish_collection
from gym.pages.account_deletion import delete_account, plan
from gym.runs.models import ResultUpload, RunScore, SuiteRun
from gym.runs.work import services
from suites.signals import InUse
from tests.factories import make_model, make_revision
from tests.once import once_a_module
from tests.runs.boards import finished_run


def make_world(people):
    revision = make_revision(people.alice, name="a", items=3)
    return {
        "revision": revision,
        "run": finished_run(revision, make_model(people.alice, slug="m"), [1, 1, 0]),
    }


built, people, world = once_a_module(make_world)


def collect(people, revision, *, publish=True, slug="paper", title="A paper"):
    made = create_collection(
        actor=people.alice, slug=slug, title=title, description="", reference="", revisions=[revision]
    )
    if publish:
        publish_collection(made, actor=people.alice)
    return made


def test_a_run_that_a_published_collection_shows_is_not_deleted(client, people, world):
    collect(people, world["revision"])
    with pytest.raises(InUse, match="“A paper” shows these results"):
        services.delete_run(world["run"], actor=people.staff)
    client.force_login(people.alice)
    page = client.post(reverse("run-delete", args=[world["run"].key]), follow=True)
    assert "The published collection “A paper” shows these results" in page.content.decode()
    answer = client.delete(reverse("api-run", args=[world["run"].key]))
    assert answer.status_code == 409
    assert "“A paper”" in answer.json()["detail"]
    assert answer.json()["code"] == "in-use"
    assert SuiteRun.objects.count() == 1


def test_several_collections_are_named(people, world):
    for number in range(5):
        collect(people, world["revision"], slug=f"c{number}", title=f"C{number}")
    with pytest.raises(ValidationError, match="“C0”, “C1”, “C2” and 2 more show these results"):
        services.delete_run(world["run"], actor=people.alice)


def test_an_upload_with_such_a_run_is_not_taken_back(client, people, world):
    upload = ResultUpload.objects.create(owner=people.alice, kind="outcomes", files=[{"name": "f"}])
    SuiteRun.objects.update(upload=upload, source="uploaded", provenance={"missing": [], "notices": []})
    collect(people, world["revision"])
    client.force_login(people.alice)
    page = client.post(reverse("upload-delete", args=[upload.key]), follow=True)
    assert "“A paper” shows these results" in page.content.decode()
    assert client.delete(reverse("api-upload", args=[upload.key])).status_code == 409
    assert (SuiteRun.objects.count(), ResultUpload.objects.count()) == (1, 1)


@pytest.mark.parametrize("how", ["list", "page"])
def test_the_admin_does_not_delete_it_either(client, people, world, how):
    collect(people, world["revision"])
    client.force_login(people.staff)
    if how == "list":
        chosen = {"action": "delete_selected", "_selected_action": [world["run"].pk], "post": "yes"}
        page = client.post(reverse("admin:runs_suiterun_changelist"), chosen)
    else:
        page = client.post(reverse("admin:runs_suiterun_delete", args=[world["run"].pk]), {"post": "yes"})
    assert "“A paper” shows these results" in page.content.decode()
    assert SuiteRun.objects.count() == 1


def test_what_it_does_not_show_can_go(people, world):
    collect(people, world["revision"], publish=False)
    private = finished_run(
        world["revision"], make_model(people.alice, slug="own", visibility="private"), [1, 0, 0]
    )
    older = world["run"]
    newer = finished_run(world["revision"], older.model, [1, 1, 1])
    publish_collection(Collection.objects.get(), actor=people.alice)
    for run in (private, older):
        services.delete_run(run, actor=people.alice)
    with pytest.raises(InUse):
        services.delete_run(newer, actor=people.alice)


def test_a_run_that_only_a_draft_of_a_collection_lists_can_go(people, world):
    collect(people, world["revision"], publish=False)
    services.delete_run(world["run"], actor=people.alice)
    assert not SuiteRun.objects.exists()


def test_an_account_goes_all_the_same_and_says_before_that_these_runs_stay(client, people, world):
    collect(people, world["revision"])
    private = make_revision(people.alice, name="own", visibility="private", items=3)
    finished_run(private, make_model(people.alice, slug="own", visibility="private"), [1, 1, 1])
    client.force_login(people.alice)
    page = " ".join(client.get(reverse("account-delete")).content.decode().split())
    assert "1 run, without your name, including all runs in published collections" in page
    assert [run.pk for run in plan(people.alice).kept_runs] == [world["run"].pk]
    delete_account(people.alice)
    kept = SuiteRun.objects.get()
    assert (kept.pk, kept.owner) == (world["run"].pk, None)
    board = client.get(reverse("collection-detail", args=["paper"])).context["board"]
    assert board.rows[0].score.rate == pytest.approx(2 / 3)


# --- the collection itself, in the admin ------------------------------------------------------------------------------
def admin(name: str, collection: Collection) -> str:
    return reverse(f"admin:collections_collection_{name}", args=[collection.pk])


FORM = {"slug": "other", "title": "Other", "description": "", "reference": "", "entries-TOTAL_FORMS": 0,
        "entries-INITIAL_FORMS": 0}  # fmt: skip


def test_the_admin_shows_a_published_collection_and_changes_nothing(client, people, world):
    made = collect(people, world["revision"])
    client.force_login(people.staff)
    page = client.get(admin("change", made))
    assert page.status_code == 200
    text = page.content.decode()
    assert 'name="slug"' not in text
    assert 'name="_save"' not in text
    assert client.post(admin("change", made), FORM | {"owner": people.staff.pk}).status_code == 403
    made.refresh_from_db()
    assert (made.slug, made.title, made.owner) == ("paper", "A paper", people.alice)


@pytest.mark.parametrize("how", ["list", "page"])
def test_the_admin_does_not_delete_a_published_collection(client, people, world, how):
    made = collect(people, world["revision"])
    client.force_login(people.staff)
    if how == "list":
        chosen = {"action": "delete_selected", "_selected_action": [made.pk], "post": "yes"}
        client.post(reverse("admin:collections_collection_changelist"), chosen)
    else:
        assert client.post(admin("delete", made), {"post": "yes"}).status_code == 403
    assert Collection.objects.get().entries.count() == 1


def test_an_unpublished_one_is_changed_and_deleted_there(client, people, world):
    made = collect(people, world["revision"], publish=False)
    client.force_login(people.staff)
    form = FORM | {"owner": people.alice.pk, "entries-TOTAL_FORMS": 1, "entries-INITIAL_FORMS": 1}
    entry = made.entries.get()
    form |= {"entries-0-id": entry.pk, "entries-0-collection": made.pk}
    assert client.post(admin("change", made), form).status_code == 302
    made.refresh_from_db()
    assert made.slug == "other"
    assert client.post(admin("delete", made), {"post": "yes"}).status_code == 302
    assert not Collection.objects.exists()


def test_scores_of_a_run_go_with_it_in_the_admin(client, people, world):
    client.force_login(people.staff)
    chosen = {"action": "delete_selected", "_selected_action": [world["run"].pk], "post": "yes"}
    client.post(reverse("admin:runs_suiterun_changelist"), chosen)
    assert not RunScore.objects.exists()
