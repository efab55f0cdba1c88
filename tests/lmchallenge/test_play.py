"""Games as jobs: results are stored line by line, and an interruption changes nothing."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import pytest
from django.core.exceptions import PermissionDenied, ValidationError
from django.urls import reverse
from django.utils import timezone

from gym.accounts import daily_sentences
from gym.jobs.models import State
from gym.jobs.testing import run_pending
from gym.lmchallenge import actors, playing, storage
from gym.lmchallenge.models import Game, LogChunk
from lmgym.lmchallenge.logs import interpolation, stats
from lmgym.lmchallenge.logs.log_rows import line_of
from lmgym.lmchallenge.play.adaptive import AdaptivePlayer
from lmgym.lmchallenge.play.games import GameOptions
from lmgym.lmchallenge.play.loop import play as play_lines
from tests.lmchallenge.worlds import USERS, fresh, game_request, make_corpus, play, run_alone, upload
from tests.page_text import text_of

pytestmark = pytest.mark.django_db


def log_of(game: Game) -> str:
    return b"".join(storage.log_lines(game)).decode()


@pytest.mark.parametrize("kind", ["wp", "tc", "ic"])
def test_a_game_on_the_site_logs_what_the_command_line_logs(people, kind):
    game = play(make_corpus(people.alice, USERS), people.alice, kind)
    assert (game.state, game.lines, game.job.state) == ("done", 12, State.DONE)
    corpus = list(storage.lines_of(game.corpus))
    options = GameOptions(kind, train=True)
    words = storage.words_of(Game.objects.get(pk=game.pk))
    rows = play_lines(corpus, options.build(words), AdaptivePlayer(), train=True)
    assert log_of(game) == "".join(line_of(row.row) for row in rows)
    assert gzip.decompress(b"".join(storage.packed_log(game))).decode() == log_of(game)


@pytest.mark.parametrize("kind", ["wp", "tc", "ic"])
def test_statistics_of_every_filter_are_those_of_the_log(people, kind):
    game = play(make_corpus(people.alice, USERS), people.alice, kind)
    for keep, found in game.statistics.items():
        table = storage.table_of(game, keep=keep, mixes=interpolation.grid())
        assert found["all"] == stats.statistics(table)
        users = stats.statistics(table, "user") if kind != "ic" else None
        if users:
            assert [{k: v for k, v in row.items() if k != "user"} for row in found["user"]] == users
    assert game.fingerprint


class Broken(Exception):
    pass


@pytest.mark.parametrize(("kind", "at"), [("wp", 1), ("wp", 11), ("tc", 4), ("ic", 4)])
def test_a_worker_that_dies_in_the_middle_changes_nothing_in_the_log(people, monkeypatch, kind, at):
    corpus = make_corpus(people.alice, USERS)
    calm = play(corpus, people.alice, kind)
    monkeypatch.setattr(actors, "COMMIT_SECONDS", 0.0)
    game = playing.start_game(corpus, game_request(kind), actor=people.alice)
    append = storage.append

    def dying(row: Game, rows: list[str]) -> None:
        append(row, rows)
        if row.lines >= at:
            raise Broken

    monkeypatch.setattr(storage, "append", dying)
    monkeypatch.setattr(actors.counting, "count", lambda *_: (_ for _ in ()).throw(AssertionError))
    kept = run_once(game).lines
    assert kept < at, "the transaction that broke is not there"
    monkeypatch.undo()
    game.job.refresh_from_db()
    assert log_of(game) == "".join(log_of(calm).splitlines(keepends=True)[:kept])
    requeue(game)
    run_pending()
    assert log_of(game) == log_of(calm)
    assert fresh(game).statistics == calm.statistics


def run_once(game: Game) -> Game:
    from gym.jobs import runner, states

    job = states.claim_next("default", "test")
    runner.run(job, heartbeat=False)
    return fresh(game)


def requeue(game: Game) -> None:
    game.job.refresh_from_db()
    if game.job.state == State.FAILED:
        playing.retry_game(fresh(game), actor=game.owner)
    elif game.job.state == State.QUEUED:
        type(game.job).objects.filter(pk=game.job.pk).update(not_before=timezone.now())


class Batched(AdaptivePlayer):
    """Player of three lines at a time."""

    together = 3


def test_after_a_break_the_same_lines_are_played_together(people, monkeypatch):
    """The last digits of batched models can depend on the lines in the batch."""
    text = "".join(f"w{n} b\n" for n in range(10))
    corpus = make_corpus(people.alice, text)
    monkeypatch.setattr(actors, "COMMIT_SECONDS", 0.0)
    cuts = []
    append = storage.append
    monkeypatch.setattr(storage, "append", lambda row, rows: (cuts.append(len(rows)), append(row, rows)))
    monkeypatch.setattr(actors, "AdaptivePlayer", Batched)
    game = playing.start_game(corpus, game_request(train=True), actor=people.alice)
    Game.objects.filter(pk=game.pk).update(options={**game.options, "train": False})
    run_pending()
    assert fresh(game).state == "done"
    assert cuts == [3, 3, 4] or cuts == [3, 3, 3, 1]


MODEL = """
import sys
for number, line in enumerate(sys.stdin):
    if line.startswith("predict"):
        if number > {stop}:
            sys.exit(3)
        print("the\\t-1.0", flush=True)
"""


@pytest.fixture
def program(tmp_path, settings):
    def make(stop: int) -> None:
        path = Path(tmp_path) / "model.py"
        path.write_text(MODEL.format(stop=stop), encoding="utf-8")
        command = {"argv": [sys.executable, str(path)], "settle": 0}
        settings.GYM_LMC_PLAYERS = json.dumps({"tiny": command})

    return make


def test_a_program_of_the_settings_plays_by_its_name(people, program):
    program(10_000)
    game = play(make_corpus(people.alice), people.alice, player="process:tiny")
    assert (game.state, game.kind, game.player, game.lines) == ("done", "process", "tiny", 4)
    assert game.report["latency"]["predict"]["calls"] == 24


def test_a_program_that_breaks_off_leaves_what_was_played_and_says_why(people, program):
    program(10)
    game = play(make_corpus(people.alice), people.alice, player="process:tiny")
    assert game.job.state == State.FAILED
    assert "Line 2 of the corpus" in game.problem
    assert "3" in game.problem
    assert game.lines == 1
    assert game.statistics["all"]["all"][0]["lines"] == 1
    program(10_000)
    playing.retry_game(game, actor=people.alice)
    run_pending()
    assert (fresh(game).state, fresh(game).lines, fresh(game).problem) == ("done", 4, "")


def test_a_cancelled_game_keeps_its_lines(people, monkeypatch):
    corpus = make_corpus(people.alice, USERS)
    game = playing.start_game(corpus, game_request(), actor=people.alice)
    lines = storage.lines_of

    def cancelling(row):
        for line in lines(row):
            if line.number == 6:
                playing.cancel_game(fresh(game), actor=people.alice)
                for context in contexts:
                    context.refresh()
            yield line

    contexts: list = []
    play_on = actors._play_on
    monkeypatch.setattr(storage, "lines_of", cancelling)

    def noting(context, *rest):
        contexts.append(context)
        play_on(context, *rest)

    monkeypatch.setattr(actors, "_play_on", noting)
    run_pending()
    assert fresh(game).job.state == State.CANCELLED
    assert fresh(game).lines == 4


def test_long_logs_are_kept_in_several_chunks(people, monkeypatch):
    monkeypatch.setattr(storage, "CHUNK_BYTES", 500)
    game = play(make_corpus(people.alice, USERS), people.alice, "ic")
    chunks = list(LogChunk.objects.filter(game=game))
    assert len(chunks) > 3
    assert sum(chunk.lines for chunk in chunks) == 12
    whole = log_of(game).splitlines()
    for first, last in [(1, 1), (5, 8), (12, 12), (3, 30)]:
        found = b"".join(storage.log_lines(game, first, last)).decode().splitlines()
        assert found == whole[first - 1 : last]
    assert [number for number, _ in storage.decoded(game, 5, 8)] == [5, 6, 7, 8]


def test_who_may_not_read_the_text_cannot_play_on_it(people):
    corpus = make_corpus(people.alice, visibility="private")
    for somebody in (people.charlie, people.nobody):
        with pytest.raises(PermissionDenied):
            playing.start_game(corpus, game_request(), actor=somebody)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"game": "ic", "seed": 0}, "seed"),
        ({"game": "ic", "p_anykey": 1.0}, "p_anykey"),
        ({"game": "ic", "num_candidates": 1}, "num_candidates"),
        ({"game": "tc", "select_from": 0}, "select_from"),
        ({"player": "process:rm -rf"}, "player"),
        ({"player": "model:nobody-knows"}, "player"),
        ({"train": False}, "train"),
    ],
)
def test_options_that_do_not_fit_are_named(people, options, field):
    with pytest.raises(ValidationError) as caught:
        playing.start_game(make_corpus(people.alice), game_request(**options), actor=people.alice)
    assert field in caught.value.message_dict
    assert not Game.objects.exists()


def test_what_one_account_keeps_is_limited(people, settings):
    corpus = make_corpus(people.alice)
    play(corpus, people.alice)
    settings.GYM_QUOTA_GAMES = (1, 0)
    with pytest.raises(ValidationError, match="limit"):
        playing.start_game(corpus, game_request(), actor=people.alice)
    playing.start_game(corpus, game_request(), actor=people.bob)
    settings.GYM_QUOTA_CORPORA = (1, 0)
    with pytest.raises(ValidationError, match="limit"):
        make_corpus(people.alice, slug="more")


def test_the_lines_of_a_game_count_for_the_day_also_when_the_game_is_deleted(client, people, settings):
    corpus = make_corpus(people.alice)
    settings.GYM_MAX_SENTENCES_PER_DAY = corpus.lines + 1
    playing.delete_game(play(corpus, people.bob), actor=people.bob)
    assert daily_sentences.used_by(people.bob) == corpus.lines
    with pytest.raises(daily_sentences.TooManySentences, match="in the last 24 hours"):
        playing.start_game(corpus, game_request(), actor=people.bob)
    assert not Game.objects.exists()
    client.force_login(people.bob)
    body = {"corpus": corpus.slug, "player": "adaptive", "game": "wp", "train": True}
    assert client.post("/api/v1/lmc/games/", body, content_type="application/json").status_code == 429


def test_privacy_formats(people):
    game = play(make_corpus(people.alice), people.alice, "wp", predictions=True)
    full = log_of(game)
    assert '"predictions"' in full
    assert b"".join(storage.log_in(game, "predictions")).decode() == full
    plain = b"".join(storage.log_in(game, "targets")).decode()
    assert '"predictions"' not in plain
    assert '"target": "cat"' in plain
    lengths = b"".join(storage.log_in(game, "lengths")).decode()
    assert "cat" not in lengths
    assert '"targetChars": 3' in lengths
    again = play(make_corpus(people.alice, slug="two"), people.alice, "wp", targets=False)
    assert lengths == log_of(again)
    assert gzip.decompress(b"".join(storage.gzipped(storage.log_in(game, "targets")))).decode() == plain


@pytest.mark.parametrize("kind", ["tc", "ic"])
def test_a_reduced_log_is_what_the_game_would_have_written(people, kind):
    full = play(make_corpus(people.alice, USERS), people.alice, kind)
    private = play(make_corpus(people.alice, USERS, slug="two"), people.alice, kind, targets=False)
    assert b"".join(storage.log_in(full, "lengths")).decode() == log_of(private)
    assert storage.table_of(private, keep="all").game == kind


BATCHES = "".join(
    json.dumps({"userId": user, "timestamp": time, "text": text}) + "\n"
    for user, time, text in [
        ("a", 1, "the cat"),
        ("a", 1, "the cat sat on it"),
        ("a", 2, "the cat sat"),
        ("a", 3, "the mat"),
        ("b", 1, "the dog"),
    ]
)


def test_the_learning_curve_goes_by_what_was_learnt_and_names_what_the_log_says(people, client):
    game = play(make_corpus(people.alice, BATCHES), people.alice, "wp")
    logged = [json.loads(line)["trainingChars"] for line in log_of(game).splitlines()]
    assert logged == [0, 0, 34, 45, 0]
    curve = game.statistics["all"]["more"]["learning_curve"]
    assert (curve["by"], curve["most"]) == ("learnt", {"trainingChars": 45, "learnt": 35})
    assert [point["to_characters"] for point in curve["points"]][-1] == 35
    page = text_of(client.get(game.get_absolute_url()))
    assert "actually learnt before a line, up to 35" in page
    assert "up to 45" in page


def test_the_same_log_uploaded_is_drawn_by_what_it_says(people, client):
    game = play(make_corpus(people.alice, BATCHES), people.alice, "wp")
    foreign = upload(people.alice, log_of(game))
    curve = foreign.statistics["all"]["more"]["learning_curve"]
    assert (curve["by"], curve["most"]) == ("trainingChars", {"trainingChars": 45})
    assert "By the log’s trainingChars" in text_of(client.get(foreign.get_absolute_url()))


def test_downloads_of_statistics_count_with_the_filter_that_is_asked_for(people, client):
    game = play(make_corpus(people.alice), people.alice, "wp")
    address = f"/api/v1/lmc/games/{game.key}/files/statistics.json/"
    words = {
        keep: client.get(address, {"filter": keep}).json()["statistics"]["all"][0]["words"]
        for keep in ("all", "alphaemoji")
    }
    assert words["all"] > words["alphaemoji"]
    assert client.get(address, {"filter": "some"}).status_code == 400


def test_what_a_program_says_is_kept_on_demand(people, client, program):
    program(10_000)
    corpus = make_corpus(people.alice)
    told = playing.GameRequest("process:tiny", GameOptions("wp"), visibility="public", transcript=True)
    game = run_alone(playing.start_game(corpus, told, actor=people.alice))
    assert game.state == "done"
    answer = client.get(f"/games/{game.key}/download/transcript.txt/")
    lines = answer.content.decode().splitlines()
    assert lines[:2] == ["> predict\t", "< the\t-1.0"]
    assert len(lines) == 48
    assert "transcript.txt" in text_of(client.get(game.get_absolute_url()))
    silent = play(corpus, people.alice, player="process:tiny")
    assert client.get(f"/games/{silent.key}/download/transcript.txt/").status_code == 404
    recorded = playing.GameRequest("adaptive", GameOptions("wp", train=True), transcript=True)
    with pytest.raises(ValidationError, match="only available for model programs"):
        playing.start_game(corpus, recorded, actor=people.alice)


def test_a_transcript_holds_the_end_of_what_was_said(monkeypatch):
    monkeypatch.setattr(actors, "MAX_TRANSCRIPT", 100)
    said = actors._Transcript()
    for number in range(1000):
        said.write(b"> predict %d\n" % number)
        assert len(said.getvalue()) < 300
    lines = said.text().splitlines()
    assert lines[-1] == "> predict 999"
    assert all(line.startswith("> predict ") for line in lines)


def test_a_game_that_is_not_counted_yet_is_its_owners_alone(client, people):
    game = playing.start_game(make_corpus(people.alice), game_request(), actor=people.alice)
    address = reverse("lmc-game", args=[game.key])
    for person, status in ((people.charlie, 404), (people.alice, 200)):
        client.force_login(person)
        assert client.get(address).status_code == status
    run_alone(game)
    client.force_login(people.charlie)
    assert client.get(address).status_code == 200
