"""LM Challenge in the REST API."""

from __future__ import annotations

import gzip
import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from gym.accounts.tokens import create_token
from gym.jobs.testing import run_pending
from gym.lmchallenge.models import Corpus, Game
from tests.lmchallenge.worlds import LOG, USERS, make_corpus, play

pytestmark = pytest.mark.django_db
JSON = "application/json"


@pytest.fixture
def bob(client, people):
    """A client that sends bob's API token."""
    _, plain = create_token(actor=people.bob, name="x", scopes=["read", "write", "run"])
    client.defaults["HTTP_AUTHORIZATION"] = f"Bearer {plain}"
    return client


def file(data: bytes, name: str) -> SimpleUploadedFile:
    return SimpleUploadedFile(name, data)


def test_upload_play_read_compare(bob):
    answer = bob.post(reverse("api-lmc-corpora"), {"title": "Mine", "file": file(USERS.encode(), "u.jsonl")})
    assert answer.status_code == 201
    corpus = bob.get(answer["Location"]).json()
    assert (corpus["slug"], corpus["format"], corpus["lines"], corpus["users"]) == ("mine", "json", 12, 3)
    keys = []
    for targets in (True, False):
        body = {"corpus": "mine", "game": "ic", "player": "adaptive", "train": True, "targets": targets}
        started = bob.post(reverse("api-lmc-games"), body, content_type=JSON)
        assert (started.status_code, started.json()["state"]) == (202, "queued")
        run_pending()
        keys.append(started.json()["id"])
    game = bob.get(started["Location"]).json()
    assert (game["state"], game["lines"], game["figure"]["name"]) == ("done", 12, "accuracy")
    found = bob.get(reverse("api-lmc-statistics", args=[keys[0]]), {"filter": "all"}).json()
    assert found["parts"] == Game.objects.get(key=keys[0]).statistics["all"]["all"]
    lines = bob.get(
        reverse("api-lmc-statistics", args=[keys[0]]), {"partition": "line", "first": 3, "last": 5}
    ).json()
    assert [row["line"] for row in lines["parts"]] == [3, 4, 5]
    same = bob.get(reverse("api-lmc-compare"), {"first": keys[0], "second": keys[1:]})
    assert same.status_code == 200
    assert same.json()["texts_compared"] == "lengths", "one log has no words: its lengths are all there is"
    log = bob.get(reverse("api-lmc-log", args=[keys[1], "lengths.log.gz"])).getvalue()
    assert gzip.decompress(log).count(b"\n") == 12


def test_two_games_compared(bob, people):
    corpus = make_corpus(people.alice, USERS)
    keys = [play(corpus, people.alice).key for _ in range(2)]
    found = bob.get(
        reverse("api-lmc-compare"), {"first": keys[0], "second": keys[1:], "cluster": "user"}
    ).json()
    (row,) = found["comparisons"]
    assert (row["difference"], row["only_first"], row["only_second"], row["cluster"]) == (0.0, 0, 0, "user")
    assert row["verdict"] == "no significant difference"
    assert (found["filter"], found["texts_compared"]) == ("alphaemoji", "words")
    assert bob.get(reverse("api-lmc-compare"), {"first": keys[0]}).status_code == 400


def test_a_game_without_words_counts_all_tokens(bob, people):
    corpus = make_corpus(people.alice)
    first, second = (play(corpus, people.alice, targets=targets) for targets in (True, False))
    shown = [bob.get(reverse("api-lmc-game", args=[game.key])).json()["figure"] for game in (first, second)]
    assert [figure["filter"] for figure in shown] == ["alphaemoji", "all"]
    found = bob.get(reverse("api-lmc-statistics", args=[second.key]), {"filter": "emoji"}).json()
    assert found["filter"] == "all"
    found = bob.get(reverse("api-lmc-compare"), {"first": first.key, "second": second.key}).json()
    assert (found["filter"], found["texts_compared"]) == ("all", "lengths")
    assert found["comparisons"][0]["difference"] == 0


def test_a_foreign_log_is_taken_and_a_broken_one_named_by_line(bob):
    answer = bob.post(reverse("api-lmc-logs"), {"file": file(gzip.compress(LOG.encode()), "wp.log.gz")})
    assert answer.status_code == 202
    run_pending()
    game = bob.get(answer["Location"]).json()
    assert (game["kind"], game["game"], game["state"], game["lines"]) == ("uploaded", "wp", "done", 2)
    answer = bob.post(reverse("api-lmc-logs"), {"file": file(b'{"a": 1}\n', "x.log")})
    assert (answer.status_code, answer.json()["code"]) == (400, "unreadable")
    assert "line 1" in answer.json()["errors"][0]["message"]


def test_a_foreign_log_says_what_was_compared_with_its_corpus(bob, people):
    corpus = make_corpus(people.alice, "Good day\nGood night\nGood bye\n")
    answer = bob.post(reverse("api-lmc-logs"), {"file": file(LOG.encode(), "wp.log"), "corpus": corpus.slug})
    assert answer.status_code == 202
    said = {"compared": "tokens", "lines": 2, "of": 3, "first": 1, "last": 2, "recut": 0}
    assert answer.json()["corpus_match"] == said
    run_pending()
    assert bob.get(answer["Location"]).json()["corpus_match"] == said
    other = make_corpus(people.alice, slug="other")
    answer = bob.post(reverse("api-lmc-logs"), {"file": file(LOG.encode(), "wp.log"), "corpus": other.slug})
    assert (answer.status_code, answer.json()["code"]) == (400, "unreadable")
    assert "Token 1 is 'Good'; in line 1 of the corpus it is 'The'" in answer.json()["errors"][0]["message"]
    played = play(corpus, people.alice)
    assert bob.get(reverse("api-lmc-game", args=[played.key])).json()["corpus_match"] is None


def test_what_is_not_counted_has_no_statistics_yet(bob, people):
    corpus = make_corpus(people.bob)
    body = {"corpus": corpus.slug, "game": "wp", "player": "adaptive", "train": True}
    key = bob.post(reverse("api-lmc-games"), body, content_type=JSON).json()["id"]
    answer = bob.get(reverse("api-lmc-statistics", args=[key]))
    assert (answer.status_code, answer.json()["code"]) == (409, "unfinished")
    assert int(answer["Retry-After"]) > 0
    assert bob.get(reverse("api-lmc-log", args=[key, "statistics.json"])).status_code == 409
    assert bob.get(reverse("api-lmc-log", args=[key, "statistics.exe"])).status_code == 404
    assert bob.post(reverse("api-lmc-cancel", args=[key])).json()["state"] == "cancelled"


def test_a_game_is_started_again_with_what_its_answer_says(bob, people):
    corpus = make_corpus(people.bob)
    body = {
        "corpus": corpus.slug, "game": "tc", "player": "adaptive", "train": True, "targets": False, "select_from": 5,
        "player_options": {"order": 2},
    }  # fmt: skip
    first = bob.post(reverse("api-lmc-games"), body, content_type=JSON).json()
    assert {name: first[name] for name in body} == body
    again = bob.post(reverse("api-lmc-games"), {name: first[name] for name in body}, content_type=JSON)
    assert again.status_code == 202


def test_the_player_of_an_answer_is_the_one_that_a_new_game_takes(bob, people):
    make_corpus(people.alice)
    model = Game(kind="model", player="demo-gpt2")
    assert [model.played_by, Game(kind="process", player="mine").played_by] == [
        "model:demo-gpt2",
        "process:mine",
    ]
    assert Game(kind="uploaded").played_by == ""


def test_wrong_options_are_named(bob, people):
    make_corpus(people.alice)
    body = {"corpus": "cats", "game": "wp", "player": "module:os.system"}
    answer = bob.post(reverse("api-lmc-games"), body, content_type=JSON)
    assert (answer.status_code, answer.json()["errors"][0]["where"]) == (400, "$.player")
    assert bob.post(reverse("api-lmc-games"), {**body, "seed": 0}, content_type=JSON).status_code == 400
    assert not Game.objects.exists()


def test_somebody_elses_private_corpus_is_not_there(bob, people):
    make_corpus(people.alice, visibility="private")
    body = {"corpus": "cats", "game": "wp", "player": "adaptive", "train": True}
    answer = bob.post(reverse("api-lmc-games"), body, content_type=JSON)
    assert (answer.status_code, answer.json()["errors"][0]["where"]) == (400, "$.corpus")
    assert Corpus.objects.count() == 1


def test_the_list_of_games_takes_as_many_queries_with_many_as_with_one(
    bob, people, django_assert_max_num_queries
):
    corpus = make_corpus(people.alice)
    for _ in range(5):
        play(corpus, people.alice)
    with django_assert_max_num_queries(10):
        found = bob.get(reverse("api-lmc-games"), {"game": "wp"}).json()
    assert len(found["results"]) == 5


def test_players_are_listed_with_what_they_can_be_told_and_take_it(bob, people):
    make_corpus(people.alice)
    players = {row["player"]: row for row in bob.get(reverse("api-lmc-players")).json()["results"]}
    adaptive = players["adaptive"]
    assert adaptive["learns"] is True
    assert adaptive["options"]["order"] == {
        "words": "n-gram order", "low": 1, "high": 8, "default": 3
    }  # fmt: skip
    body = {"corpus": "cats", "game": "wp", "player": "adaptive", "train": True, "predictions": True}
    told = {**body, "player_options": {"predictions": 1, "order": 1}}
    started = bob.post(reverse("api-lmc-games"), told, content_type=JSON)
    assert started.status_code == 202
    run_pending()
    log = bob.get(reverse("api-lmc-log", args=[started.json()["id"], "predictions.log"])).getvalue()
    assert max(len(entry["predictions"]) for entry in json.loads(log.splitlines()[1])["wordPredictions"]) == 1
    for wrong in ({"beam": 3}, {"order": 9}):
        answer = bob.post(reverse("api-lmc-games"), {**body, "player_options": wrong}, content_type=JSON)
        assert answer.status_code == 400
        assert next(iter(wrong)) in answer.content.decode()


def test_keystroke_savings_take_their_parameters(bob, people):
    game = play(make_corpus(people.alice, USERS), people.alice, "tc")
    address = reverse("api-lmc-statistics", args=[game.key])
    plain = bob.get(address).json()["more"]["keystroke_savings"]
    dear = bob.get(address, {"selection_cost": 2, "literal": "true"}).json()["more"]["keystroke_savings"]
    assert (plain["selection_cost"], dear["selection_cost"], dear["literal"]) == (1.0, 2.0, True)
    assert dear["keystrokes"] > plain["keystrokes"]
