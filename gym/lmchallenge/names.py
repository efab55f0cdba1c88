"""Names of the games and of what they log."""

from __future__ import annotations

RESULT_KEYS = {"wp": "wordPredictions", "tc": "textCompletions", "ic": "inputCorrections"}
GAME_WORDS = {"wp": "next word", "tc": "text completion", "ic": "input correction"}
SELECT_FROM = 3
