"""Pages and downloads of submissions, leaderboards and comparisons."""

from __future__ import annotations

import csv
import io
import json
from itertools import pairwise

import pytest
from django.urls import reverse

from gym.propara import selectors, services
from gym.propara.exports import process_rows
from gym.propara.models import Submission
from gym.propara.views import download_of
from lmgym.propara.scoring import harmonic, overall
from tests.lmgym.propara.worlds import LIGHT, shipped, tsv
from tests.once import once_a_module
from tests.people import People
from tests.propara.worlds import LATE, hand_in, make_shipped, make_version


def make_pair(people: People) -> tuple[Submission, Submission]:
    version = make_shipped(people.alice)
    return tuple(hand_in(version, people.alice, shipped(name), system=name) for name in ("careful", "hasty"))  # type: ignore[return-value]


built, people, pair = once_a_module(make_pair)


def page(client, name: str, *arguments) -> str:
    """Return the page's HTML with every run of white space as one space."""
    answer = client.get(reverse(name, args=arguments))
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


def test_the_leaderboard_names_both_metrics_and_gives_an_interval(client, people, pair):
    html = page(client, "propara-set", "shipped")
    assert "Corrected F1" in html
    low, high = pair[0].report["intervals"]["f1"].values()
    assert f"{low:.3f} to {high:.3f}" in html


def test_pages_round_as_the_reference_prints(client, pair):
    """The hasty file's recall is 0.5545, stored as a little less: 0.554 in the reference's report and on every page."""
    submission = pair[1]
    assert f"{submission.report['reference']['recall']!r}" == "0.5545"
    report = client.get(
        reverse("propara-submission-download", args=[submission.key, "report.txt"])
    ).content.decode()
    assert "Overall Recall    0.554 " in report
    for html in (
        client.get(submission.get_absolute_url()).content.decode(),
        page(client, "propara-set", "shipped"),
        client.get(
            reverse("propara-compare"), {"first": pair[0].key, "second": submission.key}
        ).content.decode(),
    ):
        assert ">0.554<" in html
        assert "0.555" not in html


def test_private_submissions_are_on_their_owners_board_alone(people):
    version = make_version(people.alice)
    hand_in(version, people.bob, visibility="private")
    for person, n in ((people.nobody, 0), (people.alice, 0), (people.bob, 1), (people.staff, 1)):
        assert selectors.listed_submissions(person).filter(version=version).count() == n


def test_worst_processes_come_first_and_can_be_filtered(client, pair):
    address = pair[1].get_absolute_url()
    found = client.get(address).context["rows"]
    assert [row["f1"] for row in found] == sorted(row["f1"] for row in found)
    only = client.get(f"{address}?only=missed-destroy").context["rows"]
    assert 0 < len(only) < len(found)
    assert all(row["mistakes"]["missed-destroy"] for row in only)
    assert client.get(f"{address}?only=no-score").context["rows"] == []
    moves = client.get(f"{address}?question=moves").context["rows"]
    assert [row["f1"] for row in moves] != [row["f1"] for row in found]


def test_processes_are_listed_by_their_first_sentence_and_next_follows_the_list(client, pair):
    address = pair[1].get_absolute_url()
    for query in ("", "?only=missed-move", "?question=moves"):
        page_ = client.get(address + query)
        rows = page_.context["rows"]
        html = page_.content.decode()
        assert rows[0]["first"]
        assert all(row["first"] in html for row in rows)
        for row, following in pairwise(rows):
            detail = client.get(reverse("propara-process", args=[pair[1].key, row["process_id"]]) + query)
            assert detail.context["neighbours"][1] == following["process_id"]
            link = reverse("propara-process", args=[pair[1].key, following["process_id"]]) + query
            assert f'rel="next" href="{link}"' in " ".join(detail.content.decode().split())


def test_a_process_that_a_filter_leaves_out_has_its_place_among_all(client, pair):
    left_out = next(row["process_id"] for row in pair[0].report["processes"] if not row["mistakes"])
    address = reverse("propara-process", args=[pair[0].key, left_out])
    assert client.get(address, {"only": "missed-move"}).context["n_listed"] == 14


def test_actions_have_recall_by_row_and_precision_by_column(client, pair):
    context = client.get(pair[1].get_absolute_url()).context
    confusion = pair[1].report["confusion"]
    moved = confusion["MOVE"]["MOVE"]
    assert context["recalls"]["MOVE"] == moved / sum(confusion["MOVE"].values())
    assert context["precisions"]["MOVE"] == moved / sum(row["MOVE"] for row in confusion.values())
    assert context["recalls"]["MOVE"] != context["precisions"]["MOVE"]


def test_figures_lead_to_their_lines_of_how_scores_are_computed(client, pair):
    first, second = pair
    query = f"?first={first.key}&second={second.key}"
    lines = {
        first.get_absolute_url(): "propara corrected-f1 propara-interval",
        first.version.get_absolute_url(): "propara corrected-f1 propara-interval",
        reverse("propara-process", args=[first.key, 1]): "propara corrected-f1",
        f"{reverse('propara-compare')}{query}": "propara corrected-f1 propara-difference",
        f"{reverse('propara-compare-process', args=[1])}{query}": "propara corrected-f1",
        reverse("propara-list"): "propara",
    }
    for address, anchors in lines.items():
        html = client.get(address).content.decode()
        for anchor in anchors.split():
            assert f'{reverse("about")}#{anchor}"' in html, (address, anchor)
    by_question = (
        client.get(f"{reverse('propara-compare')}{query}").content.decode().split('id="by-question"')[1]
    )
    assert all(f'#{anchor}"' in by_question for anchor in ("propara", "propara-difference"))


def test_a_warning_begins_with_how_often_it_was_found(client, people):
    submission = hand_in(make_version(people.alice), people.alice, LATE + LATE)
    assert "<p>8 × a step has several rows: the last one counts</p>" in page(
        client, "propara-submission", submission.key
    )


def test_the_chart_of_actions_stands_beside_their_table(client, pair):
    html = client.get(pair[0].get_absolute_url()).content.decode().split('id="confusion"')[1]
    assert "<svg" in html.split("</section>")[0]


def test_hostile_names_are_shown_as_text(client, people):
    evil = "<script>alert(1)</script>"
    text = LIGHT.replace("gas", evil).replace("soil", f"a {evil}")
    version = make_version(people.alice, answers=text, sentences="", title=f"Light {evil}")
    first, second = (hand_in(version, people.alice, text, system=f"{evil}{k}") for k in "ab")
    addresses = [
        version.get_absolute_url(),
        first.get_absolute_url(),
        reverse("propara-process", args=[first.key, 7]),
        reverse("propara-answers", args=["light", 1, 7]),
        f"{reverse('propara-compare')}?first={first.key}&second={second.key}",
        f"{reverse('propara-compare-process', args=[7])}?first={first.key}&second={second.key}",
        reverse("propara-compare"),
        reverse("propara-list"),
    ]
    for address in addresses:
        html = client.get(address).content.decode()
        assert evil not in html, address
        assert "&lt;script&gt;" in html, address


def test_a_process_page_shows_why(client, people):
    submission = hand_in(make_version(people.alice), people.alice)
    html = page(client, "propara-process", submission.key, 7)
    for piece in (
        "Gas gathers in a star.",
        "differs: different action",
        "DESTROY is predicted in step 3, one step too late.",
        "different steps: 2 and 3",
        "normalised to `soil` and `ocean`",
        "The participant `gas` is destroyed at `star`.",
    ):
        assert piece in html.replace("&#x27;", "'"), piece


TWO_MOVES = tsv(
    "1 1 water MOVE kettle cup",
    "1 2 water NONE cup cup",
    "1 3 water NONE cup cup",
    "1 1 tea~leaves NONE tin tin",
    "1 2 tea~leaves NONE tin tin",
    "1 3 tea~leaves NONE tin tin",
)
OTHERS_MOVE = tsv(
    "1 1 water NONE kettle kettle",
    "1 2 water NONE kettle kettle",
    "1 3 water MOVE kettle cup",
    "1 1 tea~leaves MOVE tin cup",
    "1 2 tea~leaves NONE cup cup",
    "1 3 tea~leaves NONE cup cup",
)


@pytest.mark.parametrize(("sample", "status"), [("1", 200), ("2", 404), ("0", 404), ("first", 404)])
def test_a_process_page_shows_the_sample_that_is_asked_for_or_none(client, pair, sample, status):
    address = reverse("propara-process", args=[pair[0].key, 7])
    assert client.get(address, {"sample": sample}).status_code == status


def test_an_item_that_scores_through_somebody_elses_is_partly_found_and_says_whose(client, people):
    version = make_version(people.alice, answers=TWO_MOVES, sentences="")
    submission = hand_in(version, people.alice, OTHERS_MOVE)
    html = page(client, "propara-process", submission.key, 1)
    moves = html.split('id="q-moves"')[1]
    answers, predictions = moves.split("<h4>Prediction</h4>")[:2]
    assert "partly, 0.33, by tea leaves" in answers
    assert "mark-true" not in answers
    assert "partly, 0.33, by water" in predictions
    assert "MOVE is predicted in step 3, 2 steps too late." in html


def test_missed_events_say_from_where_to_where(client, people):
    version = make_version(people.alice, answers=TWO_MOVES, sentences="")
    still = TWO_MOVES.replace("MOVE\tkettle", "NONE\tcup")
    html = page(client, "propara-process", hand_in(version, people.alice, still).key, 1)
    assert "Missed move of water from kettle to cup." in html


def test_rows_of_one_question_have_its_corrected_figure(client, pair):
    address = pair[1].get_absolute_url()
    rows = client.get(f"{address}?question=moves").context["rows"]
    for row in rows:
        assert row["corrected_f1"] == harmonic(*row["corrected"]["moves"])
    over_all_questions = {row["process_id"]: row["corrected_f1"] for row in pair[1].report["processes"]}
    assert {
        row["process_id"]: row["corrected_f1"] for row in client.get(address).context["rows"]
    } == over_all_questions


def test_the_leaderboard_marks_repaired_files_and_samples(client, people, pair):
    version = pair[0].version
    repaired = hand_in(version, people.bob, "\ufeff" + shipped("hasty"), system="Mended", visibility="public")
    services.agree(repaired, actor=people.bob)
    answers = json.loads(download_of(version, "answers.json"))["processes"]
    lines = [json.dumps({"process_id": one["process_id"], "answers": [one, one, one]}) for one in answers]
    hand_in(version, people.bob, "\n".join(lines), system="Talker", visibility="public")
    rows = page(client, "propara-set", "shipped").split("<tbody>")[1].split("</tr>")
    assert "repaired" in next(row for row in rows if "Mended" in row)
    assert "sample 1 of 3" in next(row for row in rows if "Talker" in row)
    figure = client.get(reverse("figure", args=["propara-board", "csv"]), {"set": "shipped"}).content.decode()
    assert {"n_repairs", "n_samples"} <= set(figure.splitlines()[0].split(","))


def test_the_references_files_can_be_downloaded_byte_for_byte(client, pair, tmp_path):
    from lmgym.propara import cli

    for name, text in (
        ("a", pair[0].version.answers),
        ("p", shipped("hasty")),
        ("s", pair[0].version.sentences),
    ):
        (tmp_path / name).write_text(text)
    out = io.StringIO()
    paths = [str(tmp_path / name) for name in "pasod"]
    cli.main(
        [
            "evaluate",
            *(part for flag, path in zip("pasod", paths, strict=True) for part in (f"-{flag}", path)),
        ],
        out=out,
    )
    names = {form: client.get(reverse("propara-submission-download", args=[pair[1].key, form])).content.decode()
             for form in ("report.txt", "metrics.json", "diagnostics.txt")}  # fmt: skip
    assert names["report.txt"] in out.getvalue()
    assert names["metrics.json"] == (tmp_path / "o").read_text()
    assert names["diagnostics.txt"].split("\n", 1)[1] == (tmp_path / "d").read_text().split("\n", 1)[1]


def test_exports_hold_what_the_pages_say(client, pair):
    def get(form: str) -> str:
        return client.get(reverse("propara-submission-download", args=[pair[1].key, form])).content.decode()

    rows = list(csv.DictReader(io.StringIO(get("processes.csv"))))
    assert [int(row["process_id"]) for row in rows] == pair[0].version.process_ids
    data = json.loads(get("json"))
    assert data["report"]["reference"]["f1"] == pair[1].f1
    assert data["answers_sha256"] == pair[1].version.sha256
    assert get("actions.tsv") == get("file") == shipped("hasty")


def test_exports_have_the_stored_f1_of_a_process_to_the_last_bit():
    shown = {
        "inputs": [1 / 2, 2 / 3],
        "outputs": [2 / 3, 3 / 4],
        "conversions": [1 / 3, 0.0],
        "moves": [1 / 4, 1 / 3],
    }
    stored = overall(shown.values()).f1
    row = {"process_id": 1, "scores": shown, "corrected": shown, "f1": stored, "mistakes": {}}
    assert f"{stored:.3f}" == "0.437"
    assert [one["f1"] for one in process_rows({"processes": [row]})] == [stored]


def test_a_change_of_the_evaluator_scores_everything_again_and_keeps_the_old_numbers(
    people, pair, monkeypatch
):
    from gym.jobs.testing import run_pending
    from gym.propara import services as module

    assert services.queue_rescore(actor=people.staff) is None
    Submission.objects.filter(pk=pair[0].pk).update(evaluator="2017.9")
    assert module.outdated().count() == 1
    services.queue_rescore(actor=people.staff)
    [job] = run_pending()
    assert job.state == "done"
    pair[0].refresh_from_db()
    assert pair[0].evaluator == module.EVALUATOR
    assert pair[0].history[0]["evaluator"] == "2017.9"
    assert pair[0].history[0]["f1"] == pair[0].f1
    pair[1].refresh_from_db()
    assert pair[1].history == []


def test_deleting_an_account_keeps_what_others_rely_on(client, people):
    from gym.pages.account_deletion import FORMER_MEMBER, delete_account, plan

    kept = make_version(people.alice, slug="kept")
    make_version(people.alice, slug="gone", visibility="private")
    elsewhere = make_version(people.bob, slug="elsewhere")
    public = hand_in(elsewhere, people.alice, LIGHT)
    hand_in(elsewhere, people.alice, visibility="private")
    hand_in(elsewhere, people.alice, LATE + "\n")
    said = plan(people.alice)
    assert [row.slug for row in said.deleted_answer_sets] == ["gone"]
    assert said.deleted_submissions.count() == 2
    client.force_login(people.alice)
    assert "Reference answers" in client.get(reverse("account-delete")).content.decode()
    delete_account(people.alice)
    kept.answer_set.refresh_from_db()
    assert kept.answer_set.owner.username == FORMER_MEMBER
    left = Submission.objects.filter(version=elsewhere)
    assert list(left.values_list("pk", "owner")) == [(public.pk, None)]
