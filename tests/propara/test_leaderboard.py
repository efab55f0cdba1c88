"""The leaderboard on its page and in the API: ranks, all-NONE baseline, published results, sorting."""

from __future__ import annotations

import pytest
from django.core.exceptions import PermissionDenied, ValidationError
from django.urls import reverse

from gym.propara import services
from gym.propara.board import leaderboard
from gym.propara.models import AnswerSetVersion, PublishedResult
from lmgym.propara import evaluate
from lmgym.propara.convert import template
from lmgym.propara.digest import digest
from lmgym.propara.grid import read_grids
from lmgym.propara.published import PUBLISHED, SPLITS, TABLE, split_of
from tests.lmgym.propara.worlds import LIGHT, shipped
from tests.once import once_a_module
from tests.people import People
from tests.propara.worlds import LATE, hand_in, make_shipped, make_version

PAPER = {
    "system": "ProStruct",
    "precision": 0.743,
    "recall": 0.43,
    "f1": 0.545,
    "citation": "Tandon et al. 2018",
}


def make_board(people: People) -> AnswerSetVersion:
    version = make_shipped(people.alice)
    for name in ("careful", "hasty"):
        hand_in(version, people.alice, shipped(name), system=name)
    services.add_published(version, actor=people.alice, **PAPER)
    return version


built, people, version = once_a_module(make_board)


def text_of(response) -> str:
    """Return the page's HTML with every run of white space as one space."""
    return " ".join(response.content.decode().split())


def board(client, version, **query) -> list[dict]:
    address = reverse("api-propara-leaderboard", args=[version.answer_set.slug, version.number])
    answer = client.get(address, query)
    assert answer.status_code == 200, answer.content
    return answer.json()["results"]


@pytest.mark.parametrize(
    ("sort", "order"),
    [("-f1", "careful hasty ProStruct NONE"), ("f1", "NONE ProStruct hasty careful"),
     ("-moves", "careful hasty NONE ProStruct"),
     ("system", "NONE careful hasty ProStruct"), ("-system", "ProStruct hasty careful NONE"),
     ("created", "careful hasty NONE ProStruct"), ("-created", "hasty careful NONE ProStruct")],
)  # fmt: skip
def test_page_and_api_have_the_rows_in_the_order_that_is_asked_for(client, version, sort, order):
    page = client.get(version.get_absolute_url(), {"sort": sort}).context["board"]
    found = [row["system"].removeprefix("All ") for row in board(client, version, sort=sort)]
    assert found == [row.system.removeprefix("All ") for row in page] == order.split()


def test_the_page_takes_no_order_for_the_usual_one_and_the_api_refuses_it(client, version):
    assert (
        client.get(version.get_absolute_url(), {"sort": "nonsense"}).context["board"][0].system == "careful"
    )
    address = reverse("api-propara-leaderboard", args=["shipped", 1])
    assert client.get(address, {"ordering": "nonsense"}).status_code == 400


def test_submissions_are_ranked_by_f1_whatever_the_order_and_nothing_else_is(client, version):
    ranks = {row["system"]: row["rank"] for row in board(client, version, sort="system")}
    assert ranks == {"careful": 1, "hasty": 2, "All NONE": None, "ProStruct": None}


def test_submissions_with_the_same_f1_share_a_rank(people):
    version = make_version(people.alice)
    for name, text in (("a", LIGHT), ("b", LIGHT), ("c", LATE)):
        hand_in(version, people.bob, text, system=name)
    rows = leaderboard(version, version.submissions.all())
    assert [(row.system, row.rank) for row in rows if row.submission] == [("a", 1), ("b", 1), ("c", 3)]


def test_the_baseline_is_what_our_evaluator_says_of_none_everywhere(client, version):
    report = evaluate(version.answers, template(read_grids(version.answers, "answers")))
    row = next(row for row in board(client, version) if row["kind"] == "baseline")
    assert (row["precision"], row["recall"], row["f1"]) == (1.0, report.recall, report.f1)
    assert row["corrected_f1"] == report.corrected.f1
    # with as many resamples as a submission
    assert {"low": row["low"], "high": row["high"]} == digest(report)["intervals"]["f1"]
    html = client.get(version.get_absolute_url()).content.decode()
    assert f"{report.f1:.3f}" in html.split("All NONE")[1].split("</tr>")[0]


def test_published_results_are_marked_and_cited(client, version):
    line = client.get(version.get_absolute_url()).content.decode().split("ProStruct")[1].split("</tr>")[0]
    assert ">published<" in line
    assert "Tandon et al. 2018" in line
    row = next(row for row in board(client, version) if row["kind"] == "published")
    assert (row["f1"], row["citation"], row["submission"], row["questions"]) == (
        0.545,
        "Tandon et al. 2018",
        None,
        {},
    )


def test_the_board_is_a_table_for_programs_too(client, version):
    address = reverse("api-propara-leaderboard", args=["shipped", 1])
    lines = client.get(address, {"format": "csv"}).content.decode().splitlines()
    assert lines[0].startswith("kind,rank,system,submission,owner,precision,recall,f1,low,high,")
    assert [line.split(",")[2] for line in lines[1:]] == ["careful", "hasty", "ProStruct", "All NONE"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"f1": 54.5}, "0.545, not 54.5"),
        ({"recall": -0.1}, "from 0 to 1"),
        ({"f1": 0.6}, "give F1 0.545, not 0.6"),
        ({"citation": ""}, "blank"),
    ],
)
def test_a_published_result_that_cannot_be_right_is_refused(people, version, change, said):
    fields = PAPER | {"system": "Another"} | change
    with pytest.raises(ValidationError) as refused:
        services.add_published(version, actor=people.alice, **fields)
    assert said in str(refused.value)
    assert version.published.count() == 1


def test_editors_enter_published_results_and_nobody_else_does(client, people, version):
    with pytest.raises(PermissionDenied):
        services.add_published(version, actor=people.bob, **PAPER)
    client.force_login(people.alice)
    address = reverse("propara-published", args=["shipped", 1])
    assert (
        client.post(address, {"system": "KG-MRC", "f1": "0.568", "citation": "Das et al. 2019"}).status_code
        == 302
    )
    row = PublishedResult.objects.get(system="KG-MRC")
    assert (row.f1, row.precision) == (0.568, None)
    edit = reverse("propara-published-edit", args=["shipped", 1, row.pk])
    client.post(edit, {"system": "KG-MRC", "f1": "0.576", "citation": "Das et al. 2019"})
    row.refresh_from_db()
    assert row.f1 == 0.576
    client.post(reverse("propara-published-delete", args=["shipped", 1, row.pk]))
    assert not PublishedResult.objects.filter(system="KG-MRC").exists()


def test_results_of_the_official_test_split_are_offered_for_answers_as_large_until_all_are_there(
    client, people, version
):
    client.force_login(people.alice)
    page, add = (reverse(f"propara-published{name}", args=["shipped", 1]) for name in ("", "-known"))
    assert add not in client.get(page).content.decode()
    with pytest.raises(ValidationError):
        services.add_known_published(version, actor=people.alice)
    test = next(split for split in SPLITS if split.name == "test")
    AnswerSetVersion.objects.filter(pk=version.pk).update(
        process_ids=list(range(test.processes)), n_participants=test.participants, n_steps=test.sentences
    )
    version.refresh_from_db()
    assert f"{len(PUBLISHED)} published results are known" in text_of(client.get(page))
    assert services.add_known_published(version, actor=people.alice) == len(PUBLISHED)
    assert services.add_known_published(version, actor=people.alice) == 0
    assert add not in client.get(page).content.decode()
    version.published.filter(system=PUBLISHED[0].system, citation=TABLE).delete()
    assert "1 published result is known" in text_of(client.get(page))
    assert split_of(*test[1:]) == "test"


@pytest.mark.parametrize("row", PUBLISHED, ids=[row.system for row in PUBLISHED])
def test_numbers_that_papers_report_agree_among_themselves(row):
    PublishedResult(**row._asdict(), citation="x").clean()


def test_a_visitor_learns_where_the_data_are_and_where_to_sign_in(client, version):
    for address in (reverse("propara-list"), version.get_absolute_url()):
        html = client.get(address).content.decode()
        for piece in ("Sign in to submit", "allenai/aristo-leaderboard", "N18-1144", "D18-1006"):
            assert piece in html, (address, piece)
    assert 'type="file"' not in client.get(version.get_absolute_url()).content.decode()
