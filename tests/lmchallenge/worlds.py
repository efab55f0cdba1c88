"""Factories of corpora and games."""

from __future__ import annotations

import io
import json
from datetime import timedelta
from typing import Any

from django.utils import timezone

from gym.accounts.models import User
from gym.jobs.models import Job, State
from gym.jobs.testing import run_pending
from gym.lmchallenge import playing, services
from gym.lmchallenge.models import Corpus, Game
from lmgym.lmchallenge.play.games import GameOptions

TEXT = "The cat sat on the mat.\nThe cat sat on the red mat.\n\nIs the dog on the mat? No!\n"
USERS = "".join(
    json.dumps(
        {"userId": f"u{number % 3}", "timestamp": number, "text": f"The cat {number % 4} sat on the mat"}
    )
    + "\n"
    for number in range(12)
)


def make_corpus(owner: User, text: str = TEXT, *, slug: str = "cats", visibility: str = "public") -> Corpus:
    return services.create_corpus(
        text.encode(), actor=owner, title=slug.capitalize(), slug=slug, visibility=visibility
    )


def game_request(
    game: str = "wp", *, player: str = "adaptive", visibility: str = "public", **options: Any
) -> playing.GameRequest:
    options.setdefault("train", player == "adaptive")
    return playing.GameRequest(
        player, GameOptions(game, **options), visibility=visibility, title=f"{player} {game}"
    )


def play(corpus: Corpus, owner: User, game: str = "wp", **options: Any) -> Game:
    """Play a game with the adaptive model, and return it finished."""
    return run_alone(playing.start_game(corpus, game_request(game, **options), actor=owner))


def run_alone(game: Game) -> Game:
    """Run the game's job and no other."""
    others = Job.objects.filter(state=State.QUEUED).exclude(pk=game.job_id)
    held = list(others.values_list("pk", flat=True))
    Job.objects.filter(pk__in=held).update(not_before=timezone.now() + timedelta(days=1))
    run_pending()
    Job.objects.filter(pk__in=held).update(not_before=timezone.now())
    return fresh(game)


def fresh(game: Game) -> Game:
    return Game.objects.select_related("job", "corpus").get(pk=game.pk)


def upload(owner: User, log: str, *, visibility: str = "public", **more: Any) -> Game:
    return run_alone(playing.upload_log(io.BytesIO(log.encode()), actor=owner, visibility=visibility, **more))


LOG = "".join(
    json.dumps({"wordPredictions": [{"target": word, "rank": rank, "score": -rank} for word, rank in line]})
    + "\n"
    for line in [[("Good", 1), ("day", 4)], [("Good", 2), ("night", 30)]]
)
