"""Answer sets: valid files, in versions that never change."""

from __future__ import annotations

import pytest
from django.core.exceptions import PermissionDenied, ValidationError
from django.urls import reverse

from gym.propara import selectors, services
from gym.propara.models import AnswerSet, FrozenAnswers
from lmgym.propara.errors import ProParaError
from tests.lmgym.propara.worlds import LIGHT, tsv
from tests.propara.worlds import SENTENCES, hand_in, make_set, make_shipped, make_version


def problems(answers: str, sentences: str = "") -> list[tuple[str, int, str]]:
    with pytest.raises(ProParaError) as refused:
        services.read_answers(answers.encode(), sentences.encode())
    return [(one.file, one.line, one.code) for one in refused.value.problems]


def test_a_version_says_what_it_holds(people):
    version = make_version(people.alice)
    assert (version.number, version.process_ids, version.n_participants, version.n_steps) == (1, [7], 2, 4)
    assert version.events == {"NONE": 4, "CREATE": 1, "MOVE": 2, "DESTROY": 1}
    assert len(version.sha256) == len(version.sentences_sha256) == 64


def test_all_that_is_wrong_with_both_files_is_said_at_once():
    answers = LIGHT + tsv("8 1 a VIBRATE x y") + "\n"
    assert problems(answers, "7\t1\tGas.\nx\ty\tz\n") == [
        ("answers", 9, "action"),
        ("answers", 10, "blank-line"),
        ("sentences", 2, "integer"),
        ("sentences", 2, "integer"),
    ]


def test_sentences_must_be_as_many_as_steps():
    assert problems(LIGHT, "7\t1\tGas gathers.\n") == [("sentences", 0, "steps")]
    assert problems(LIGHT, "8\t1\tGas gathers.\n") == [("sentences", 0, "missing")]


@pytest.mark.parametrize(
    "answers",
    [
        "1\t101\ta\tNONE\tx\tx\n",
        "-1\t1\ta\tNONE\tx\tx\n",
        "".join(f"1\t1\tp{k}\tNONE\tx\tx\n" for k in range(41)),
    ],
    ids=["steps", "negative process", "participants"],
)
def test_what_would_take_too_long_to_score_is_refused(answers):
    assert problems(answers)


def test_answers_that_are_not_1_against_themselves_are_kept_with_a_notice(people):
    answers = tsv("1 1 a DESTROY x -", "1 1 b CREATE - the~x")
    version = make_version(people.alice, answers=answers, sentences="")
    assert any("location variants" in notice for notice in version.notices)


def test_a_new_version_leaves_submissions_where_they_are(people):
    version = make_version(people.alice)
    submission = hand_in(version, people.bob)
    changed = LIGHT.replace("space", "sky")
    newer = services.add_version(version.answer_set, changed.encode(), actor=people.alice, note="again")
    assert newer.number == 2
    submission.refresh_from_db()
    assert submission.version == version


def test_a_version_cannot_be_changed(people):
    version = make_version(people.alice)
    version.answers = ""
    with pytest.raises(FrozenAnswers):
        version.save()


def test_only_the_owner_and_staff_may_change_it(people):
    answer_set = make_set(people.alice)
    for stranger in (people.bob, people.charlie):
        with pytest.raises(PermissionDenied):
            services.edit_answer_set(answer_set, actor=stranger, title="mine")
        with pytest.raises(PermissionDenied):
            services.add_version(answer_set, LIGHT.encode(), actor=stranger)
    services.edit_answer_set(answer_set, actor=people.staff, title="checked")


def test_what_others_rest_on_can_neither_be_hidden_nor_deleted(people):
    version = make_version(people.alice)
    hand_in(version, people.bob)
    with pytest.raises(ValidationError):
        services.delete_answer_set(version.answer_set, actor=people.alice)
    with pytest.raises(ValidationError):
        services.edit_answer_set(version.answer_set, actor=people.alice, visibility="private")


def test_it_is_deleted_with_the_owners_own_submissions(people):
    version = make_version(people.alice)
    hand_in(version, people.alice)
    services.delete_answer_set(version.answer_set, actor=people.alice)
    assert not AnswerSet.objects.exists()


def test_unlisted_ones_are_found_by_address_alone(people):
    make_set(people.alice, visibility="unlisted")
    assert selectors.visible_to(people.bob).count() == 1
    assert selectors.listed_for(people.bob).count() == 0
    assert selectors.listed_for(people.alice).count() == 1


def test_names_of_pages_are_no_addresses(people):
    slugs = [make_set(people.alice, slug=slug).slug for slug in ("new", "compare", "light", "light")]
    assert slugs == ["new-answers", "compare-answers", "light", "light-2"]


def test_the_form_makes_one_and_lists_every_problem(client, people):
    from django.core.files.uploadedfile import SimpleUploadedFile

    client.force_login(people.alice)

    def post(answers: str):
        files = {
            "answers": SimpleUploadedFile("a.tsv", answers.encode()),
            "sentences": SimpleUploadedFile("s.tsv", SENTENCES.encode()),
        }
        return client.post(reverse("propara-new"), {"title": "Light", "visibility": "public", **files})

    refused = post(LIGHT.replace("CREATE", "create") + "7\t5\n")
    assert refused.status_code == 400
    html = refused.content.decode()
    assert "answers, line 6, column 4" in html
    assert "Did you mean CREATE?" in html
    assert "The line has 2 columns, not 6." in html
    assert post(LIGHT).url == "/propara/light/"


@pytest.mark.parametrize(
    ("form", "beginning"),
    [
        ("answers.tsv", "7\t1\tgas\tNONE"),
        ("sentences.tsv", "7\t1\tGas gathers"),
        ("template.tsv", "7\t1\tgas\tNONE\t?\t?"),
        ("answers.json", '{\n "processes": ['),
        ("prompts.jsonl", '{"process_id": 7, "sentences": ["Gas gathers'),
    ],
)
def test_downloads(client, people, form, beginning):
    make_set(people.alice)
    answer = client.get(reverse("propara-download", args=["light", 1, form]))
    assert answer.content.decode().startswith(beginning)
    assert answer["Content-Disposition"] == f'attachment; filename="light-v1-{form}"'


def test_without_sentences_there_is_no_prompt_pack(client, people):
    make_set(people.alice, sentences="")
    assert client.get(reverse("propara-download", args=["light", 1, "prompts.jsonl"])).status_code == 404


def test_the_page_of_a_process_shows_each_event_by_a_word_and_a_sign(client, people):
    make_set(people.alice)
    html = " ".join(client.get(reverse("propara-answers", args=["light", 1, 7])).content.decode().split())
    for piece in (
        "Gas gathers in a star.",
        "pp-create",
        ">created, <",
        "pp-destroy",
        ">destroyed, <",
        "pp-move",
    ):
        assert piece in html


def test_the_shipped_answer_set_is_one_without_notices(people):
    assert make_shipped(people.alice).notices == []
