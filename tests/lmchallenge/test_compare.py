"""Comparison of games by any metric with a chosen baseline, including games of version 5 and of both
versions: page, CSV, API and command line agree."""

from __future__ import annotations

import csv
import io
import json
import re

import pytest
from django.urls import reverse

from gym.lmchallenge import playing
from gym.lmchallenge.models import Game
from gym.lmchallenge.presenters import MAIN_EXPLAINED
from lmgym.lmchallenge.cli.main import main
from lmgym.lmchallenge.cli.streams import Streams
from lmgym.stats import holm
from tests.lmchallenge.test_version_5 import RESULTS, a_log
from tests.lmchallenge.worlds import game_request, make_corpus, upload
from tests.lmgym.lmchallenge.test_measures import both_versions
from tests.once import once_a_module
from tests.page_text import text_of
from tests.people import People

pytestmark = pytest.mark.django_db


def shifted(log: list[bytes], more: int) -> str:
    """Return the log with `more` added to the rank of every second entry of each message."""
    rows = [json.loads(line) for line in log]
    for row in rows:
        for at, entry in enumerate(row["wordPredictions"]):
            if "rank" in entry and at % 2:
                entry["rank"] += more
    return "".join(json.dumps(row) + "\n" for row in rows)


def make_games(people: People) -> list[Game]:
    old, _ = both_versions(1)
    return [
        upload(people.alice, shifted(old, more), title=title)
        for title, more in (("Good", 0), ("Fair", 1), ("Poor", 4))
    ]


built, people, games = once_a_module(make_games)


def asked(client, games, **query):
    page = client.get(reverse("lmc-compare"), {**named(games), **query})
    api = client.get(reverse("api-lmc-compare"), {**named(games), **query})
    return page, api


def named(games):
    first, *others = (game.key for game in games)
    return {"first": first, "second": others}


@pytest.mark.parametrize("metric", ["hit2", "bits"])
def test_any_metric_and_baseline_gives_one_answer_everywhere(client, games, metric, tmp_path):
    query = {"metric": metric, "filter": "all"}
    ordered = [games[1], games[0], games[2]]
    page, api = asked(client, ordered, **query)
    ticked = {"game": [game.key for game in games], "first": games[1].key, **query}
    assert client.get(reverse("lmc-compare"), ticked, follow=True).context["games"] == page.context["games"]
    assert page.status_code == 200, page.content
    found = api.json()
    assert (found["first"], found["metric"]) == (games[1].key, metric)
    rows = found["comparisons"]
    assert [row["second"] for row in rows] == ["Good", "Poor"]
    assert [row["p_corrected"] for row in rows] == holm([row["p"] for row in rows])
    text = text_of(page)
    assert "− Fair<br>" in text
    assert "p (Holm)</a><br>" in text
    table = client.get(reverse("lmc-compare-csv"), {**named(ordered), **query})
    cells = list(csv.DictReader(io.StringIO(table.content.decode())))
    assert [float(row["difference"]) for row in cells] == [row["difference"] for row in rows]
    paths = []
    for game in games:
        paths.append(tmp_path / f"{game.title}.log")
        log = client.get(reverse("lmc-download", args=[game.key, "targets.log"]))
        paths[-1].write_bytes(log.getvalue())
    out = io.BytesIO()
    argv = ["compare", "-f", "all", "-m", metric, "--baseline", str(paths[1]), *map(str, paths)]
    assert main([*argv, "-o", "json"], streams=Streams(io.BytesIO(), out, io.StringIO())) == 0
    told = json.loads(out.getvalue())["comparisons"]
    for name in ("difference", "low", "high", "p", "p_corrected", "verdict", "p_mcnemar"):
        assert [row[name] for row in told] == [row[name] for row in rows]
    out = io.BytesIO()
    assert main([*argv, "-o", "csv"], streams=Streams(io.BytesIO(), out, io.StringIO())) == 0
    assert [float(row["difference"]) for row in csv.DictReader(io.StringIO(out.getvalue().decode()))] == [
        row["difference"] for row in rows
    ]


def test_less_of_what_should_be_low_is_better(client, games):
    _, api = asked(client, [games[0], games[2]], metric="mrr", filter="all")
    assert api.json()["comparisons"][0]["verdict"] == "worse"
    assert not api.json()["lower_is_better"]
    assert asked(client, games, metric="bits")[1].json()["lower_is_better"]


def test_what_cannot_be_compared_is_named(client, games, people):
    page, api = asked(client, games, metric="nothing")
    assert (page.status_code, api.status_code) == (400, 400)
    assert "Unknown metric" in text_of(page)
    assert client.get(reverse("lmc-compare-csv"), {"first": games[0].key}).status_code == 404


@pytest.mark.parametrize("game", RESULTS)
def test_logs_of_version_5_are_compared(client, people, game):
    first = upload(people.alice, a_log(*RESULTS[game]))
    log = a_log(*RESULTS[game]).replace("-1.0", "-2.0").replace('["the", "a"]', '["a", "the"]')
    second = upload(people.alice, log)
    assert second.title in text_of(client.get(first.get_absolute_url()))
    page, api = asked(client, [first, second])
    assert page.status_code == 200
    (row,) = api.json()["comparisons"]
    metric, difference = {"wc": ("hit3", 0), "we": ("entropy.mean", 1), "wr": ("accuracy", 0)}[game]
    assert (row["measure"], row["difference"]) == (metric, difference)
    if game == "wc":
        assert asked(client, [first, second], metric="hit1")[1].json()["comparisons"][0]["difference"] == -0.5
    other = upload(people.alice, a_log(*RESULTS[game], targets=("the", "cap")))
    assert asked(client, [first, other])[0].status_code == 400


def test_a_log_of_either_version_is_compared_where_figures_correspond(client, people):
    old, new = both_versions(2)
    corpus_text = "\n".join(
        " ".join(entry["target"] for entry in json.loads(line)["wordPredictions"]) for line in old
    )
    corpus = make_corpus(people.alice, corpus_text + "\n")
    first = upload(people.alice, b"".join(old).decode(), corpus=corpus, title="Old")
    second = upload(people.alice, b"".join(new).decode(), corpus=corpus, title="New")
    assert "New (wc)" in text_of(client.get(first.get_absolute_url()))
    for games in ([first, second], [second, first]):
        page, api = asked(client, games, metric="mrr")
        assert page.status_code == 200, page.content
        found = api.json()
        assert (found["filter"], found["comparisons"][0]["difference"]) == ("all", 0)
        assert "bits" not in found["metrics"]
    changed = b"".join(new).decode().replace('"target": "cat"', '"target": "dog"')
    other = upload(people.alice, changed)
    page, _ = asked(client, [first, other])
    assert (page.status_code, "different text" in text_of(page)) == (400, True)


def test_what_limits_a_difference_is_said_on_the_page_in_its_csv_and_in_the_api(client, people):
    targets = ("the", "cat", "sat")
    games = [
        upload(people.alice, a_log(*({"logp": score} for score in scores), targets=targets), title=title)
        for title, scores in (("Whole", (-0.5, -6, -1)), ("Easy words", (-0.5, None, -1)))
    ]
    words = (
        "The two logs score different tokens. "
        "Tokens that both score, which alone count in the difference: 2 of 3."
    )
    page, api = asked(client, games)
    assert f"Easy words: {words}" in text_of(page)
    [row] = api.json()["comparisons"]
    assert (row["first_value"], row["second_value"], row["difference"], row["note"]) == (2.5, 0.75, 0, words)
    table = client.get(reverse("lmc-compare-csv"), named(games)).content.decode()
    assert next(csv.DictReader(io.StringIO(table)))["note"] == words

    results = RESULTS["wr"][0]["results"]
    errors = [
        upload(people.alice, a_log({"verbatim": typed, "results": results}, targets=("the",)), title=typed)
        for typed in ("the", "thx")
    ]
    page, api = asked(client, errors)
    [row] = api.json()["comparisons"]
    assert row["note"].startswith("The two games have different typing errors")
    assert row["note"] in text_of(page)


def test_a_metric_that_is_not_there_and_a_game_that_is_not_done_are_named(client, games, people):
    answer = client.get(reverse("api-lmc-compare"), {**named(games), "metric": "foo"})
    assert (answer.status_code, answer.json()["errors"][0]["where"]) == (400, "?metric")
    client.force_login(people.alice)
    waiting = playing.start_game(make_corpus(people.alice), game_request("wp"), actor=people.alice)
    query = {"first": games[0].key, "second": waiting.key}
    answer = client.get(reverse("api-lmc-compare"), query)
    assert answer.status_code == 409
    assert f"The game “{waiting.title}” ({waiting.key}) is queued" in answer.json()["detail"]


def test_columns_of_numbers_lead_to_how_they_are_computed(client, games):
    page, _ = asked(client, games, filter="all")
    text = text_of(page)
    about = text_of(client.get(reverse("about")))
    for words in ("95% interval", "p (Holm)", "McNemar p"):
        assert re.search(rf'<a [^>]*href="{reverse("about")}#lm-difference">{re.escape(words)}</a>', text), (
            words
        )
    users = text_of(client.get(games[0].get_absolute_url(), {"partition": "user"}))
    for name in ("words", "skip"):
        assert f'<a href="{reverse("about")}#lm-counts">{name}</a>' in users
    for heading in ("lm-difference", "lm-counts", *MAIN_EXPLAINED.values()):
        assert f'<h3 id="{heading}">' in about
    listed = text_of(client.get(reverse("lmc-list")))
    assert f'href="{reverse("about")}#hit">hit3</a>' in listed


def test_a_game_says_which_games_of_the_other_version_it_can_be_compared_with(client, games):
    text = text_of(client.get(games[0].get_absolute_url()))
    assert "Also comparable: games of word completion (wc) on the same text" in text
    assert client.get(reverse("lmc-compare"), {"first": games[0].key}).status_code == 200


def test_charts_have_the_numbers_of_the_statistics(client, games):
    found = client.get(reverse("api-lmc-statistics", args=[games[1].key]), {"filter": "all"}).json()["parts"][
        0
    ]
    page = text_of(client.get(reverse("lmc-compare"), {**named(games), "filter": "all"}))
    query = {"game": games[0].key, "second": [game.key for game in games[1:]], "filter": "all"}
    for kind, column in (
        ("lmc-hits", "k"),
        ("lmc-ranks", "rank"),
    ):
        answer = client.get(reverse("figure", args=[kind, "csv"]), query)
        rows = [row for row in csv.DictReader(io.StringIO(answer.content.decode())) if row["game"] == "Fair"]
        assert rows, kind
        assert column in rows[0]
        assert f"/figures/{kind}.pdf" in page
        if kind == "lmc-hits":
            for most in (1, 3, 10, 20):
                assert float(rows[most - 1]["hit_at_k"]) == pytest.approx(found[f"hit{most}"])
        if kind == "lmc-ranks":
            shares = [float(row["share_of_tokens"]) for row in rows]
            assert sum(shares) == pytest.approx(found["hit20"])


def test_figures_of_version_5_are_divided_by_user_and_message(client, people):
    log = a_log(*RESULTS["wc"]) + a_log(*RESULTS["wc"]).replace('"user": null', '"user": "bob"')
    game = upload(people.alice, log)
    address = reverse("api-lmc-statistics", args=[game.key])
    for partition in ("user", "line"):
        parts = client.get(address, {"partition": partition}).json()["parts"]
        assert [(row["messages"], row["tokens"], row["hit1"]) for row in parts] == [(1, 2, 0.5), (1, 2, 0.5)]
        text = text_of(client.get(game.get_absolute_url(), {"partition": partition}))
        assert f'<a href="{reverse("about")}#hit">hit1</a></th>' in text
    assert "bob</th>" in text_of(client.get(game.get_absolute_url(), {"partition": "user"}))
    table = client.get(reverse("lmc-download", args=[game.key, "users.csv"])).content.decode()
    assert table.count("\r\n") == 3
