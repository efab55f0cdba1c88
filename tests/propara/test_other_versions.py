"""Scoring of earlier submissions on a new version of reference answers, and detection of identical files."""

from __future__ import annotations

import pytest
from django.core.exceptions import PermissionDenied, ValidationError
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from gym.jobs.testing import run_pending
from gym.propara import services
from gym.propara.models import Submission
from lmgym.propara import evaluate
from lmgym.propara.errors import ProParaError
from tests.lmgym.propara.worlds import LIGHT
from tests.propara.worlds import LATE, SENTENCES, hand_in, make_version

CORRECTED = LIGHT.replace("space\tsoil", "space\tocean")


@pytest.fixture
def first(people):
    return make_version(people.alice)


def second_of(version, people, answers: str = CORRECTED, sentences: str = SENTENCES):
    return services.add_version(
        version.answer_set, answers.encode(), sentences.encode(), actor=people.alice, note="Ocean, not soil."
    )


def test_staff_have_all_earlier_submissions_scored_on_a_new_version(client, people, first):
    rows = [
        hand_in(first, person, text, system=name)
        for person, text, name in ((people.bob, LATE, "late"), (people.charlie, LIGHT, "light"))
    ]
    second = second_of(first, people)
    address = reverse("propara-score-earlier", args=["light", second.number])
    client.force_login(people.alice)
    assert address not in client.get(second.get_absolute_url()).content.decode()
    client.force_login(people.staff)
    assert address in client.get(second.get_absolute_url()).content.decode()
    client.post(address)
    [job] = run_pending()
    assert (job.state, job.total) == ("done", 2)
    for row in rows:
        new = row.rescored.get()
        text = bytes(row.file).decode()
        assert (new.version, new.owner, new.file_sha256) == (second, row.owner, row.file_sha256)
        assert new.f1 == evaluate(CORRECTED, text).f1 != row.f1
        row.refresh_from_db()
        assert (row.version, row.f1) == (first, evaluate(LIGHT, text).f1)
    assert services.queue_scoring_on(second, actor=people.alice) is None
    assert address not in client.get(second.get_absolute_url()).content.decode()


def test_only_editors_may_have_all_scored(client, people, first):
    hand_in(first, people.bob)
    second = second_of(first, people)
    with pytest.raises(PermissionDenied):
        services.queue_scoring_on(second, actor=people.bob)
    assert "score-earlier" not in client.get(second.get_absolute_url()).content.decode()


def test_its_sender_has_one_submission_scored_on_the_newest_version(client, people, first):
    row = hand_in(first, people.bob)
    second = second_of(first, people)
    client.force_login(people.bob)
    html = client.get(row.get_absolute_url()).content.decode()
    assert "These scores are for v1 of the reference answers." in html
    address = client.post(reverse("propara-score-on", args=[row.key, second.number])).url
    html = client.get(address).content.decode()
    assert "v2" in html
    assert "same file on v1" in html
    assert "These scores are for v1" not in html
    again = client.get(row.get_absolute_url()).content.decode()
    assert "same file on v2" in again
    assert "Score on v2" not in again


def test_a_submission_is_scored_once_on_each_version(people, first):
    row = hand_in(first, people.bob)
    second = second_of(first, people)
    new = services.score_on_version(row, second, actor=people.bob)
    for again in ((row, second), (new, first), (row, first)):
        with pytest.raises(ValidationError):
            services.score_on_version(*again, actor=people.bob)
    other = make_version(people.alice, slug="elsewhere")
    with pytest.raises(ValidationError, match="other reference answers"):
        services.score_on_version(row, other, actor=people.bob)
    with pytest.raises(PermissionDenied):
        services.score_on_version(row, second, actor=people.charlie)


def test_the_log_says_why_a_file_does_not_fit_a_new_version_but_not_whose_and_the_others_are_scored(
    people, first
):
    narrow = "".join(line for line in LIGHT.splitlines(True) if "gas" in line)
    hand_in(first, people.bob, system="fits not")
    second = second_of(first, people, LIGHT + narrow.replace("7\t", "8\t", 1).replace("\n7\t", "\n8\t"), "")
    hand_in(second, people.bob, bytes(second.answers, "utf-8").decode(), system="there already")
    with pytest.raises(ProParaError):
        services.score_on_version(first.submissions.get(), second, actor=people.bob)
    services.queue_scoring_on(second, actor=people.alice)
    [job] = run_pending()
    assert job.state == "done"
    assert "fits not" not in job.log
    assert "A submission does not fit version 2: Process 8 is missing." in job.log
    assert second.submissions.count() == 1
    assert not services.unscored_on(second).exists()
    assert [row.system for row in services.incompatible(second)["Process 8 is missing."]] == ["fits not"]


def test_a_file_that_does_not_fit_is_not_offered_again_and_the_page_says_why(client, people, first):
    row = hand_in(first, people.bob)
    second = second_of(first, people)
    services.note_incompatible(row, second, "Process 8 is missing.")
    assert services.queue_scoring_on(second, actor=people.alice) is None
    client.force_login(people.alice)
    assert "Process 8 is missing." not in client.get(second.get_absolute_url()).content.decode()
    client.force_login(people.staff)
    html = client.get(second.get_absolute_url()).content.decode()
    assert '<span class="break">late</span>: Process 8 is missing.' in html
    assert reverse("propara-score-earlier", args=["light", 2]) not in html


def test_repairs_that_nobody_agreed_to_wait_for_their_sender(people, first):
    row = hand_in(first, people.bob)
    second = second_of(first, people, CORRECTED.replace("gas", "Gas"))
    new = services.score_on_version(row, second, actor=people.alice)
    assert (new.state, new.owner) == (Submission.State.WAITING, people.bob)


def test_the_same_file_is_noticed_with_a_link_to_the_earlier_one(client, people, first):
    earlier = hand_in(first, people.alice, system="Original")
    client.force_login(people.bob)
    data = {"file": SimpleUploadedFile("again.tsv", LATE.encode()), "visibility": "private"}
    address = client.post(reverse("propara-submit", args=["light", 1]), data).url
    html = client.get(address).content.decode()
    assert "This file was submitted before" in html
    assert earlier.get_absolute_url() in html
    assert "The same file" not in client.get(earlier.get_absolute_url()).content.decode()


def test_a_private_submission_of_somebody_else_is_not_told_of(client, people, first):
    hand_in(first, people.alice, visibility="private")
    mine = hand_in(first, people.bob)
    client.force_login(people.bob)
    assert "submitted before" not in client.get(mine.get_absolute_url()).content.decode()


def test_the_api_says_which_file_is_the_same(client, people, first):
    earlier = hand_in(first, people.alice)
    client.force_login(people.bob)
    body = {"answer_set": "light", "file": SimpleUploadedFile("again.tsv", LATE.encode())}
    made = client.post(reverse("api-propara-submissions"), body)
    assert made.json()["same_file_as"] == earlier.key
    found = client.get(reverse("api-propara-submissions"), {"file_sha256": earlier.file_sha256}).json()[
        "results"
    ]
    assert {row["id"] for row in found} == {earlier.key, made.json()["id"]}


def test_files_that_are_those_of_the_newest_version_make_no_new_one(client, people, first):
    client.force_login(people.alice)

    def files():
        return {
            "answers": SimpleUploadedFile("a.tsv", LIGHT.encode()),
            "sentences": SimpleUploadedFile("s.tsv", SENTENCES.encode()),
        }

    page = client.post(reverse("propara-version-new", args=["light"]), {**files(), "note": "again"})
    assert page.status_code == 400
    assert (
        "Both files are the same as in v1. Upload a changed file to add a version." in page.content.decode()
    )
    answer = client.post(reverse("api-propara-versions", args=["light"]), files())
    assert (answer.status_code, "the same as in v1" in answer.json()["detail"]) == (400, True)
    assert first.answer_set.versions.count() == 1
    assert second_of(first, people, LIGHT, SENTENCES.replace("Gas", "Hydrogen")).number == 2
