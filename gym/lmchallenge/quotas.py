"""Register corpora and games for quotas. A game is measured when it is started or uploaded, so lines played later only
count towards the quota check of the next game.
"""

from __future__ import annotations

from django.db.models import F

from gym.accounts.quotas import Part, register, stored
from gym.lmchallenge.models import Corpus, Game

CORPORA = register(
    "corpora",
    "corpus",
    "corpora",
    Part(Corpus, size=stored("packed", "description", "warnings", "shown")),
    setting="GYM_QUOTA_CORPORA",
)
GAMES = register(
    "games",
    "game",
    "games",
    Part(Game, size=F("packed_size") + stored("words", "description", "options", "statistics", "report")),
    setting="GYM_QUOTA_GAMES",
)
