"""The zip of a collection: created by a job, stored, and served only to those who may see it."""

from __future__ import annotations

import io
import zipfile
from datetime import timedelta

from django.contrib.auth.models import AnonymousUser
from django.urls import reverse
from django.utils import timezone

from gym import stored_files
from gym.collections import zips
from gym.collections.models import CollectionZip, ZipPiece
from gym.collections.services import create_collection, publish_collection
from gym.jobs.models import Job
from gym.jobs.testing import run_pending
from models_registry.models import RegisteredModel
from tests.factories import make_model, make_revision
from tests.once import once_a_module
from tests.runs.boards import finished_run

ADDRESS = "http://testserver/collections/paper/"
NOBODY = AnonymousUser()


def make_paper(people):
    revision = make_revision(people.alice, name="a", items=4)
    finished_run(revision, make_model(people.alice, slug="open"), [1, 1, 1, 0])
    made = create_collection(
        actor=people.alice, slug="paper", title="A paper", description="", reference="", revisions=[revision]
    )
    publish_collection(made, actor=people.alice)
    made.refresh_from_db()
    return made


built, people, paper = once_a_module(make_paper)


def private_run(people, paper):
    model = make_model(people.alice, slug="hidden")
    RegisteredModel.objects.filter(pk=model.pk).update(visibility="private")
    return finished_run(paper.entries.get().revision, model, [0, 0, 0, 0])


def names(zip_: CollectionZip) -> list[str]:
    zip_.refresh_from_db()
    return zipfile.ZipFile(io.BytesIO(b"".join(stored_files.pieces_of(zip_)))).namelist()


def test_the_page_asks_shows_progress_and_gives_the_file(client, paper):
    page, file = (
        reverse("collection-zip", args=["paper"]),
        reverse("collection-download", args=["paper", "zip"]),
    )
    assert client.get(file).url == page
    assert "Create the zip" in client.get(page).content.decode()
    assert client.post(page).url == page
    waiting = client.get(page).content.decode()
    assert 'hx-get="/collections/paper/zip/"' in waiting
    assert "Create the zip" not in waiting
    run_pending()
    there = client.get(file)
    day = timezone.now().strftime("%Y-%m-%d")
    assert there["Content-Disposition"] == f'attachment; filename="paper-collection-{day}.zip"'
    assert int(there["Content-Length"]) == len(there.getvalue())
    assert f"Download paper-collection-{day}.zip" in " ".join(client.get(page).content.decode().split())
    assert client.post(page).url == file


def test_who_sees_no_more_than_everybody_gets_the_same_zip(people, paper):
    asked = zips.request_zip(paper, ADDRESS, actor=people.bob)
    assert (
        zips.request_zip(paper, ADDRESS, actor=NOBODY)
        == asked
        == zips.request_zip(paper, ADDRESS, actor=people.charlie)
    )
    assert Job.objects.count() == 1


def test_what_one_alone_may_see_is_in_ones_own_zip(people, paper):
    private_run(people, paper)
    own, public = (zips.request_zip(paper, ADDRESS, actor=person) for person in (people.alice, people.bob))
    run_pending()
    assert "runs/a-r1-hidden-scores.csv" in names(own)
    assert "runs/a-r1-hidden-scores.csv" not in names(public)
    assert zips.current(paper, people.bob) == zips.current(paper, NOBODY) == public


def test_new_results_make_a_new_zip_once_the_last_is_some_minutes_old(people, paper):
    first = zips.request_zip(paper, ADDRESS, actor=NOBODY)
    run_pending()
    finished_run(paper.entries.get().revision, make_model(people.alice, slug="more"), [1, 1, 1, 1])
    assert zips.request_zip(paper, ADDRESS, actor=NOBODY) == first
    CollectionZip.objects.update(completed_at=timezone.now() - zips.NEW_ENOUGH - timedelta(seconds=1))
    assert zips.current(paper, NOBODY) is None
    second = zips.request_zip(paper, ADDRESS, actor=NOBODY)
    run_pending()
    assert second != first
    assert "runs/a-r1-more-scores.csv" in names(second)


def test_a_zip_with_a_run_that_became_private_is_given_no_more(people, paper):
    zips.request_zip(paper, ADDRESS, actor=NOBODY)
    run_pending()
    RegisteredModel.objects.update(visibility="private")
    assert zips.current(paper, NOBODY) is None


def test_it_is_made_by_the_rights_of_the_moment_it_is_made(people, paper):
    asked = zips.request_zip(paper, ADDRESS, actor=NOBODY)
    RegisteredModel.objects.update(visibility="private")
    run_pending()
    assert not [name for name in names(asked) if name.startswith("runs/")]


def test_the_zip_of_a_draft_is_refused_to_whom_it_is_no_longer_shared_with(people):
    draft = create_collection(
        actor=people.alice, slug="draft", title="Draft", description="", reference="", revisions=[]
    )
    shared = draft.collaborations.create(user=people.bob, role="view")
    zips.request_zip(draft, ADDRESS, actor=people.bob)
    shared.delete()
    (job,) = run_pending()
    assert (job.state, "may no longer use this collection" in job.error) == ("failed", True)


def test_zips_go_after_a_week_and_the_oldest_where_there_is_no_room(people, paper, settings):
    zips.request_zip(paper, ADDRESS, actor=NOBODY)
    run_pending()
    zips.drop_old()
    assert ZipPiece.objects.exists()
    space = settings.GYM_KEPT_ZIPS_MB * stored_files.MEGABYTE
    stored_files.drop_old(CollectionZip.objects.all(), reserve=space)
    assert not ZipPiece.objects.exists()
    zips.request_zip(paper, ADDRESS, actor=NOBODY)
    CollectionZip.objects.update(created=timezone.now() - stored_files.KEEP - timedelta(seconds=1))
    zips.drop_old()
    assert not CollectionZip.objects.exists()


def test_a_zip_larger_than_all_that_is_kept_is_refused_with_a_hint(people, paper, settings):
    settings.GYM_KEPT_ZIPS_MB = 0
    zips.request_zip(paper, ADDRESS, actor=NOBODY)
    (job,) = run_pending()
    assert "suite by suite as CSV" in job.error
    assert zips.request_zip(paper, ADDRESS, actor=NOBODY).state == "failed"
    assert zips.request_zip(paper, ADDRESS, actor=NOBODY, again=True).state == "queued"
