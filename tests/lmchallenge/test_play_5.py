"""Games of version 5 on the site: the same results as on the command line, resumption after an interruption,
and several games started at once by form and API."""

from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError
from django.urls import reverse

from gym.jobs.testing import run_pending
from gym.lmchallenge import actors, playing, storage
from gym.lmchallenge.models import Game
from lmgym.lmchallenge.logs.log_rows import line_of
from lmgym.lmchallenge.logs.version5 import GAME_WORDS
from lmgym.lmchallenge.play import version5
from lmgym.lmchallenge.play.adaptive import AdaptivePlayer
from tests.lmchallenge.test_play import Broken, log_of, requeue, run_once
from tests.lmchallenge.worlds import USERS, fresh, make_corpus, run_alone

pytestmark = pytest.mark.django_db
TEXT = USERS + '{"userId": "u9", "text": ""}\n{"userId": "u9", "text": "The cat."}\n'
"""A corpus with a message without tokens, which logs of version 5 omit."""


def start(corpus, owner, game: str, **options) -> Game:
    game_request = playing.GameRequest(
        "adaptive", version5.Options(game, train=True, **options), visibility="public"
    )
    return playing.start_game(corpus, game_request, actor=owner)


@pytest.mark.parametrize("game", GAME_WORDS)
def test_a_game_on_the_site_logs_what_the_command_line_logs(client, people, game):
    corpus = make_corpus(people.alice, TEXT)
    made = run_alone(start(corpus, people.alice, game))
    assert (made.state, made.version, made.problem) == ("done", 5, "")
    options = version5.Options(game, train=True)
    words = storage.words_of(Game.objects.get(pk=made.pk))
    played = version5.play(storage.lines_of(corpus), options.build(words), AdaptivePlayer(), train=True)
    assert log_of(made) == "".join(line_of(row) for message in played for row in message.rows)
    assert client.get(made.get_absolute_url()).status_code == 200
    assert client.get(reverse("lmc-text", args=[made.key])).status_code == 200
    assert client.get(reverse("lmc-download", args=[made.key, "predictions.log"])).status_code == 200


@pytest.mark.parametrize("game", ["wc", "ce", "wr"])
@pytest.mark.parametrize("at", [1, 40, 90])
def test_a_worker_that_dies_in_the_middle_changes_nothing_in_the_log(people, monkeypatch, game, at):
    corpus = make_corpus(people.alice, TEXT)
    calm = run_alone(start(corpus, people.alice, game))
    monkeypatch.setattr(actors, "COMMIT_SECONDS", 0.0)
    made = start(corpus, people.alice, game)
    append = storage.append

    def dying(row: Game, rows: list[str]) -> None:
        append(row, rows)
        if row.lines >= at:
            raise Broken

    monkeypatch.setattr(storage, "append", dying)
    kept = run_once(made).lines
    monkeypatch.undo()
    assert log_of(made) == "".join(log_of(calm).splitlines(keepends=True)[:kept])
    requeue(made)
    run_pending()
    assert fresh(made).state == "done"
    assert log_of(made) == log_of(calm)
    assert fresh(made).statistics == calm.statistics


def test_the_form_starts_every_ticked_game_by_every_ticked_player(client, people):
    corpus = make_corpus(people.alice, USERS)
    client.force_login(people.alice)
    address = reverse("lmc-start", args=[corpus.slug])
    page = client.get(address).content.decode()
    assert page.count('name="game" value="') == 7
    given = {
        "player": "adaptive",
        "train": "on",
        "targets": "on",
        "readings": "reference",
        "visibility": "private",
    }
    answer = client.post(address, {**given, "game": ["wp", "wc"], "next_word_only": "on", "title": "Tuned"})
    assert answer.url == corpus.get_absolute_url()
    run_pending()
    made = {game.game: game for game in Game.objects.all()}
    assert {game.title for game in made.values()} == {
        "Tuned, adaptive n-gram, wp",
        "Tuned, adaptive n-gram, wc",
    }
    assert made["wc"].options["next_word_only"]
    assert {game.state for game in made.values()} == {"done"}
    answer = client.post(address, {**given, "game": []})
    assert answer.status_code == 400
    assert Game.objects.count() == 2


def test_the_api_starts_a_game_of_version_5(client, people):
    corpus = make_corpus(people.alice, USERS)
    client.force_login(people.alice)
    one = client.post(
        reverse("api-lmc-games"),
        {"corpus": corpus.slug, "game": "wr", "player": "adaptive", "train": True, "seed": 7},
        content_type="application/json",
    )
    assert one.status_code == 202
    run_pending()
    found = client.get(one["Location"]).json()
    assert (found["state"], found["version"], found["figure"]["name"]) == ("done", 5, "accuracy")


def test_no_more_games_than_the_limit_are_started_at_once(people, monkeypatch):
    monkeypatch.setattr(playing, "MAX_GAMES", 1)
    corpus = make_corpus(people.alice)
    game_request = playing.GameRequest("adaptive", version5.Options("we", train=True))
    with pytest.raises(ValidationError, match="Start 1 to 1"):
        playing.start_games(corpus, [game_request, game_request], actor=people.alice)
    assert not Game.objects.exists()
