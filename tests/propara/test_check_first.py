"""Check first: the result before it is saved, visible to its submitter only, and saved without a second upload."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.core.exceptions import PermissionDenied, ValidationError
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from django.utils import timezone

from gym.propara import selectors, services
from gym.propara.board import leaderboard
from gym.propara.models import Submission
from lmgym.propara import evaluate
from lmgym.propara.uploads import parse_upload
from tests.lmgym.propara.worlds import LIGHT
from tests.propara.worlds import LATE, make_version

State = Submission.State
ABOUT = services.About("mine", visibility="public")


def check(version, person, text: str = LATE) -> Submission:
    return services.check_first(version, text.encode(), "mine.tsv", ABOUT, actor=person)


def send(client, version, text: str, **more):
    data = {"file": SimpleUploadedFile("mine.tsv", text.encode()), "visibility": "public", **more}
    return client.post(reverse("propara-submit", args=["light", version.number]), data)


def main_part(html: str) -> str:
    return re.sub(r"\s+", " ", html[html.index('id="scores-head"') : html.index('id="how"')])


@pytest.mark.parametrize("text", [LATE, "\n" + LATE], ids=["as it stands", "repaired"])
def test_the_page_says_before_what_it_says_after_saving_without_a_second_upload(client, people, text):
    version = make_version(people.alice)
    client.force_login(people.bob)
    address = send(client, version, text, check="1").url
    before = client.get(address).content.decode()
    assert "Checked, not saved" in before
    repairs = parse_upload(text.encode(), LIGHT).repairs
    assert (len(repairs), all(repair.message in before for repair in repairs)) == (
        text.startswith("\n"),
        True,
    )
    assert client.post(f"{address}save/").url == address
    after = client.get(address).content.decode()
    assert "Checked, not saved" not in after
    assert main_part(before) == main_part(after)
    saved = Submission.objects.get()
    assert (saved.state, saved.f1, bytes(saved.file)) == (
        State.SCORED,
        evaluate(LIGHT, LATE).f1,
        text.encode(),
    )
    assert (saved.agreed_at is not None) == text.startswith("\n")


def test_a_process_of_a_checked_file_can_be_looked_at(client, people):
    checked = check(make_version(people.alice), people.bob)
    client.force_login(people.bob)
    html = client.get(reverse("propara-process", args=[checked.key, 7])).content.decode()
    assert "DESTROY is predicted in step 3, one step too late." in html


def test_what_is_checked_is_its_senders_alone_and_on_no_leaderboard(client, people):
    version = make_version(people.alice)
    checked = check(version, people.bob)
    for person, status in ((people.alice, 404), (people.charlie, 404), (people.bob, 200)):
        client.force_login(person)
        assert client.get(checked.get_absolute_url()).status_code == status
    rows = leaderboard(version, selectors.listed_submissions(people.bob))
    assert [row.kind for row in rows] == ["baseline"]
    with pytest.raises(PermissionDenied):
        services.save_checked(checked, actor=people.alice)


def test_it_is_saved_once(people):
    checked = check(make_version(people.alice), people.bob)
    services.save_checked(checked, actor=people.bob)
    with pytest.raises(ValidationError):
        services.save_checked(checked, actor=people.bob)


def test_a_check_of_another_evaluator_is_scored_again_when_it_is_saved(people):
    checked = check(make_version(people.alice), people.bob)
    Submission.objects.update(evaluator="2017.9", f1=0.0)
    services.save_checked(checked, actor=people.bob)
    assert checked.f1 == evaluate(LIGHT, LATE).f1
    assert checked.history[0]["evaluator"] == "2017.9"


def test_what_is_not_saved_goes_after_a_day(people):
    version = make_version(people.alice)
    old, new = check(version, people.bob), check(version, people.bob)
    Submission.objects.filter(pk=old.pk).update(created=timezone.now() - timedelta(days=1, minutes=1))
    services.save_checked(new, actor=people.bob)
    third = check(version, people.charlie)
    assert set(Submission.objects.values_list("pk", flat=True)) == {new.pk, third.pk}


def test_a_check_of_somebody_else_keeps_no_answers_from_being_hidden_or_deleted(people):
    version = make_version(people.alice)
    check(version, people.bob)
    services.edit_answer_set(version.answer_set, actor=people.alice, visibility="private")
    services.delete_answer_set(version.answer_set, actor=people.alice)
    assert not Submission.objects.exists()


def test_warnings_are_named_with_their_processes(client, people):
    version = make_version(people.alice)
    client.force_login(people.bob)
    from_zero = re.sub(r"(?m)^7\t(\d)", lambda found: f"7\t{int(found[1]) - 1}", LIGHT)
    html = client.get(send(client, version, from_zero, check="1").url).content.decode()
    assert "Sentences are numbered from 0" in html
    assert len(re.findall(r"Process\s+<a", html)) == html.count('class="problem-warning"') > 1
