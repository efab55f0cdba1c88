"""Notify owners when the games that they queued together, or the logs that they uploaded together, have ended."""

from __future__ import annotations

from typing import Any

from django.dispatch import receiver
from django.urls import reverse

from gym.jobs.models import Batch, Job
from gym.jobs.signals import batch_ended
from gym.lmchallenge.models import Game
from gym.lmchallenge.selectors import listed_games
from gym.notices.runs import Ended, notify_of_runs


@receiver(batch_ended, dispatch_uid="notices of games")
def notify_owner(batch: Batch, jobs: list[Job], **_: Any) -> None:
    games = listed_games(batch.owner).filter(job__in=jobs)
    notify_of_runs(batch.owner, map(_ended, games), noun="game", all_runs=reverse("lmc-list"))


def _ended(game: Game) -> Ended:
    corpus = game.corpus
    corpus_title, address = (corpus.title, corpus.get_absolute_url()) if corpus is not None else ("", "")
    return Ended(game.state, game.title, corpus_title, game.get_absolute_url(), what_address=address)
