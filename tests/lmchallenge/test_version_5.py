"""Logs of LM Challenge 5 on the site: imported, evaluated, coloured, exported, or rejected with the first
bad line named.
"""

from __future__ import annotations

import gzip
import io
import json

import pytest
from django.urls import reverse

from gym.lmchallenge import playing
from gym.lmchallenge.models import Game
from lmgym.lmchallenge.errors import LogError
from tests.lmchallenge.worlds import LOG, make_corpus, run_alone, upload

pytestmark = pytest.mark.django_db
RESULTS = {
    "wc": ({"completions": [["the", "a"], ["he"], ["e"]]}, {"completions": [["dog"], ["t", "at"], ["t"]]}),
    "we": ({"logp": -1.0}, {"logp": None}),
    "wr": (
        {"verbatim": "the", "results": [["the", -1, -2], ["he", -3, None]]},
        {"verbatim": "cap", "results": [["cap", -1, -8], ["cat", -2, -1]]},
    ),
}
OUTCOMES = {"wc": ("first", "saved"), "we": ("entropy-1", "unknown"), "wr": ("still-right", "corrected")}


def a_log(*results: dict[str, object], targets: tuple[str, ...] = ("the", "cat"), **more: object) -> str:
    rows, at = [], 0
    for number, (target, found) in enumerate(zip(targets, results, strict=True)):
        place = {"user": None, "message": 0, "token": number, "character": at, "target": target}
        rows.append({**place, **found, **more})
        at += len(target) + 1
    return "".join(json.dumps(row, sort_keys=True) + "\n" for row in rows)


@pytest.mark.parametrize("game", RESULTS)
def test_a_log_is_counted_coloured_and_given_back(client, people, game):
    log = a_log(*RESULTS[game])
    packed = io.BytesIO(gzip.compress(log.encode()))
    made = run_alone(
        playing.upload_log(packed, actor=people.alice, visibility="public", filename="my.log.gz")
    )
    assert (made.game, made.version, made.lines, made.problem) == (game, 5, 2, "")
    page = client.get(made.get_absolute_url()).content.decode()
    assert "<span>LM Challenge 5</span>" in page
    text = client.get(reverse("lmc-text", args=[made.key]), {"line": 2}).content.decode()
    for outcome in OUTCOMES[game]:
        assert f'class="lm lm-{outcome}"' in text.partition("data-lm-text")[2]
    answer = client.get(reverse("lmc-download", args=[made.key, "predictions.log"]))
    assert b"".join(answer.streaming_content).decode() == log
    answer = client.get(reverse("lmc-download", args=[made.key, "statistics.csv"])).content.decode()
    assert answer.startswith("fingerprint,users,")
    assert client.get(reverse("lmc-list")).status_code == 200


def test_logs_of_characters_are_told_from_those_of_words(people):
    place = {"user": None, "message": 0, "logp": -1.0}
    rows = [{**place, "token": at, "character": at, "target": char} for at, char in enumerate("a b")]
    assert upload(people.alice, "".join(json.dumps(row) + "\n" for row in rows)).game == "ce"


def test_the_api_has_the_figures_of_the_reference(client, people):
    made = upload(people.alice, a_log(*RESULTS["wr"]))
    answer = client.get(reverse("api-lmc-statistics", args=[made.key])).json()
    assert answer["parts"][0]["reranking"] == {"accuracy": 1.0, "base_accuracy": 0.5, "max_candidates": 2}
    assert answer["mix"].keys() == {"alpha", "beta"}
    found = client.get(reverse("api-lmc-game", args=[made.key])).json()
    assert (found["version"], found["figure"]) == (5, {"name": "accuracy", "value": 1.0, "filter": "all"})


@pytest.mark.parametrize(
    ("log", "words"),
    [
        (
            a_log({"logp": -1.0}, {"completions": [[]]}),
            "my.log, line 2: this line is of the game wc, but earlier lines are of we.",
        ),
        (a_log({"logp": -1.0}, {"logp": "x"}), "my.log, line 2: "),
        (a_log({"logp": -1.0}, {}), "my.log, line 2: the line has no results."),
        (a_log(*RESULTS["we"], message=[1]), "my.log, line 1: message is "),
        (a_log({"results": [["a", -1]]}, {"results": []}), "my.log, line 1: "),
        (a_log(*RESULTS["we"]) + LOG, "my.log, line 3: "),
        ("PK\x03\x04\x14", "my.log: this is a zip archive."),
        (LOG + a_log(*RESULTS["we"]), "my.log, line 3: this is a log of LM Challenge 5"),
    ],
)
def test_the_first_line_that_cannot_be_counted_is_named_and_nothing_is_kept(people, log, words):
    with pytest.raises(LogError) as caught:
        upload(people.alice, log, filename="my.log")
    assert words in caught.value.message
    assert not Game.objects.exists()


@pytest.mark.parametrize("game", ["we", "ce"])
def test_messages_are_compared_with_the_lines_of_the_corpus(client, people, game):
    corpus = make_corpus(people.alice, "I sat.\n\nThe cat!\n")
    texts = {"we": (["I", "sat", "."], ["The", "cat", "!"]), "ce": (list("I sat."), list("The cat!"))}[game]

    def rows(*messages: list[str]) -> str:
        found = []
        for message, text in zip((0, 2), messages, strict=True):
            starts = (
                range(len(text)) if game == "ce" else (0, 2 if message == 0 else 4, 5 if message == 0 else 7)
            )
            for number, (start, target) in enumerate(zip(starts, text, strict=True)):
                place = {"user": None, "message": message, "token": number, "character": start}
                found.append({**place, "target": target, "logp": -1.0})
        return "".join(json.dumps(row) + "\n" for row in found)

    made = upload(people.alice, rows(*texts), corpus=corpus)
    assert (made.game, made.corpus) == (game, corpus)
    assert "2 of 3 lines, in the order of the corpus." in client.get(made.get_absolute_url()).content.decode()
    other = [*texts[1][:-1], "?"]
    first = len(texts[0]) + 1
    unit = {"we": "Token", "ce": "Character"}[game]
    with pytest.raises(
        LogError, match=rf"the log, line {first}: the logged text does not match the corpus\. {unit} 1 is"
    ):
        upload(people.alice, rows(texts[0], other), corpus=corpus)


def test_a_mixture_over_too_large_a_table_is_not_searched(people, monkeypatch):
    monkeypatch.setattr("gym.lmchallenge.counting.MAX_MATRIX", 3)
    made = upload(people.alice, a_log(*RESULTS["wr"]))
    assert not made.is_counted
    assert "2 tokens with up to 2 candidates" in made.job.error
