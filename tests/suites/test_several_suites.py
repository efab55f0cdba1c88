"""Freeze, tag, run, make public, collect, share and download all suites that are ticked."""

from __future__ import annotations

import io
import zipfile

import pytest
from django.urls import reverse

from gym.collections.bulk import new_collection
from gym.collections.models import Collection
from gym.runs.models import SuiteRun
from gym.runs.work.bulk import queue_each
from gym.runs.work.services import queue_run
from lmgym.suites.formats import read_suite
from suites import services
from suites.models import Suite
from tests.factories import make_model, make_suite
from tests.lmgym.suites.documents import suite_bytes
from tests.page_text import text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def three(client, people):
    """alice's draft and frozen suite, and bob's public suite."""
    client.force_login(people.alice)
    return [
        make_suite(people.alice, name="draft", items=3, frozen=False),
        make_suite(people.alice, name="frozen", items=4),
        make_suite(people.bob, name="bobs", items=5),
    ]


def do(client, what, suites, **fields):
    return client.post(
        reverse("several-suites"), {"do": what, "suite": [suite.slug for suite in suites], **fields}
    )


def lines(answer) -> dict[str, list[str]]:
    return {
        suite.slug: [f"{one.kind}: {one.text}" for one in said] for suite, said in answer.context["report"]
    }


def test_the_list_has_a_tick_box_for_every_suite_and_none_for_visitors(client, three):
    page = client.get(reverse("suite-list")).content.decode()
    for suite in three:
        assert f'aria-label="Tick {suite.title}"' in page or suite.visibility == "private"
    client.logout()
    assert 'aria-label="Tick' not in client.get(reverse("suite-list")).content.decode()


@pytest.mark.parametrize("what", ["freeze", "tag", "run", "publish", "collect", "share", "download"])
def test_every_deed_asks_first_and_shows_what_is_ticked(client, three, what):
    answer = client.get(reverse("several-suites"), {"do": what, "suite": [s.slug for s in three]})
    assert answer.status_code == 200
    assert [suite.slug for suite in answer.context["suites"]] == ["bobs", "draft", "frozen"]


def test_nothing_ticked_leads_back_and_says_so(client, three):
    answer = client.get(reverse("several-suites"), {"do": "run"}, follow=True)
    assert "Tick the suites first" in answer.content.decode()


def test_freezing_says_for_each_what_was_done_or_why_not(client, three):
    assert lines(do(client, "freeze", three, note="v1")) == {
        "draft": ["done: r1 is frozen."],
        "frozen": ["there: r1 is already frozen."],
        "bobs": ["refused: You may not edit this suite."],
    }
    assert Suite.objects.get(slug="draft").latest_frozen.note == "v1"


def test_a_draft_that_cannot_be_frozen_stops_no_other(client, three, people):
    draft = three[0].draft
    draft.predictions.create(position=9, formula="(9;%match%) > (2;%match%)")
    other = make_suite(people.alice, name="other", items=6, frozen=False)
    said = lines(do(client, "freeze", [three[0], other]))
    assert said["other"] == ["done: r1 is frozen."]
    assert said["draft"][0].startswith("refused: Not frozen: Prediction 2")


def test_tags_are_added_and_removed_and_others_stay(client, three, people):
    services.set_tags(three[0], ["old", "kept"])
    said = lines(do(client, "tag", three, add="Number, kept", remove="old"))
    assert said["draft"] == ["done: Tags: kept, number."]
    assert said["frozen"] == ["done: Tags: number, kept."]
    assert said["bobs"] == ["refused: You may not edit this suite."]
    assert {tag.name for tag in three[0].tags.all()} == {"kept", "number"}
    assert do(client, "tag", three).status_code == 400


def test_every_model_runs_on_every_frozen_suite(client, three, people):
    for slug in ("m1", "m2"):
        make_model(people.alice, slug=slug)
    said = lines(do(client, "run", three, models=["m1", "m2"]))
    assert said["draft"] == ["refused: It has no frozen revision: freeze its draft first."]
    assert said["frozen"] == said["bobs"] == ["done: Queued 2 runs: M1, M2."]
    assert lines(do(client, "run", three[:1], models=["m1"], freeze="on")) == {
        "draft": ["done: r1 is frozen.", "done: Queued 1 run: M1."]
    }


def test_the_same_run_is_offered_and_not_queued_twice(client, three, people):
    model = make_model(people.alice, slug="m1")
    run = queue_run(three[1].latest_frozen, model, actor=people.alice)
    answer = do(client, "run", three[1:2], models=["m1"])
    assert lines(answer) == {"frozen": ["there: M1 already has a run under way."]}
    assert run.get_absolute_url() in answer.content.decode()
    do(client, "run", three[1:2], models=["m1"], again="on")
    assert SuiteRun.objects.count() == 2


def test_a_run_of_other_files_of_the_model_is_another_run(three, people):
    from django.utils import timezone

    model = make_model(people.alice, slug="m1", fingerprint="new")
    run = queue_run(three[1].latest_frozen, model, actor=people.alice)
    SuiteRun.objects.filter(pk=run.pk).update(
        completed_at=timezone.now(), provenance={"model_fingerprint": "old"}
    )
    [said] = queue_each(three[1:2], [model], actor=people.alice)
    assert said.kind == "done"


def test_a_download_is_one_zip_with_a_readme(client, three):
    answer = do(client, "download", three, form="csv")
    assert answer["Content-Disposition"] == 'attachment; filename="3-suites-csv.zip"'
    archive = zipfile.ZipFile(io.BytesIO(answer.getvalue()))
    assert set(archive.namelist()) == {
        "README.txt",
        "draft-r1-long.csv",
        "frozen-r1-long.csv",
        "bobs-r1-long.csv",
    }
    assert len(read_suite(archive.read("bobs-r1-long.csv")).items) == 5
    readme = archive.read("README.txt").decode()
    assert three[1].latest_frozen.sha256 in readme
    assert "a draft, which may still change" in readme


def test_suites_are_made_public_together(client, three, people):
    for suite, visibility in zip(three, ("private", "unlisted", "unlisted"), strict=True):
        services.set_visibility(suite, visibility, actor=suite.owner)
    secret = three[1].slug
    others = make_suite(people.alice, name="others", items=6)
    said = lines(do(client, "publish", [*three, others]))
    assert said["draft"] == ["done: It is public now."]
    assert said["frozen"] == ["done: It is public now. Its address is now /suites/frozen/."]
    assert said[three[2].slug] == ["refused: You may not edit this suite."]
    assert said["others"] == ["there: It is public already."]
    assert not Suite.objects.filter(slug=secret).exists()
    assert {suite.visibility for suite in Suite.objects.filter(owner=people.alice)} == {"public"}


def test_suites_are_added_to_a_new_collection(client, three):
    answer = do(client, "collect", three, title="Three suites")
    assert lines(answer) == {
        "draft": ["refused: “draft” has no frozen revision. Freeze its draft first."],
        "frozen": ["done: r1 was added to “Three suites”."],
        "bobs": ["done: r1 was added to “Three suites”."],
    }
    made = Collection.objects.get()
    assert (made.slug, made.entries.count()) == ("three-suites", 2)
    said = lines(do(client, "collect", three, title="Three suites", freeze="on"))
    assert said["draft"] == ["done: r1 is frozen.", "done: r1 was added to “Three suites”."]
    assert Collection.objects.filter(slug="three-suites-2").exists()


def test_suites_are_added_to_a_collection_that_one_may_change(client, three, people):
    made = new_collection("Ours", actor=people.bob)
    made.collaborations.create(user=people.alice, role="edit")
    do(client, "collect", three[1:2], collection=made.pk)
    services.replace_draft(three[1], read_suite(suite_bytes(name="frozen", items=7)), actor=people.alice)
    services.freeze(three[1], actor=people.alice)
    said = lines(do(client, "collect", three[1:], collection=made.pk))
    assert said["frozen"] == ["done: r2 was added to “Ours”. It also has r1 of this suite."]
    assert lines(do(client, "collect", three[1:2], collection=made.pk)) == {
        "frozen": ["there: r2 is already in “Ours”."]
    }
    made.collaborations.update(role="view")
    assert do(client, "collect", three, collection=made.pk).status_code == 400


def test_without_a_collection_and_a_title_nothing_is_collected(client, three):
    answer = do(client, "collect", three)
    assert answer.status_code == 400
    assert "enter the title of a new one" in answer.content.decode()
    assert not Collection.objects.exists()


def test_a_full_quota_of_collections_is_said_in_the_form(client, three, settings):
    settings.GYM_QUOTA_COLLECTIONS = (1, 0)
    do(client, "collect", three, title="One")
    answer = do(client, "collect", three, title="Two")
    assert answer.status_code == 400
    assert "the limit is 1" in answer.content.decode()


def test_suites_are_shared_together_and_accepted_together(client, three, people):
    said = lines(do(client, "share", three, username=" charlie ", role="view"))
    assert said == {
        "draft": ["done: charlie is invited."],
        "frozen": ["done: charlie is invited."],
        "bobs": ["refused: Only the owner and staff may share this suite."],
    }
    assert lines(do(client, "share", three[:1], username="charlie", role="view")) == {
        "draft": ["refused: charlie is already invited."]
    }
    assert [row.text for row in people.charlie.notices.all()] == [
        "alice invites you to the suite frozen and 1 more."
    ]
    client.force_login(people.charlie)
    assert "Accept all 2 from alice" in text_of(client.get("/"))
    client.post(reverse("invitations-accept", args=[people.alice.pk]))
    assert {suite.collaborations.get().role for suite in three[:2]} == {"view"}
    assert not three[2].collaborations.exists()


def test_nothing_is_shared_with_an_account_that_does_not_exist(client, three):
    answer = do(client, "share", three, username="nobody-at-all", role="view")
    assert answer.status_code == 400
    assert "There is no account called nobody-at-all" in answer.content.decode()


def test_what_one_may_not_see_is_not_there(client, three, people):
    make_suite(people.bob, name="secret", visibility="private")
    answer = client.get(reverse("several-suites"), {"do": "run", "suite": ["secret", "frozen"]})
    assert [suite.slug for suite in answer.context["suites"]] == ["frozen"]
