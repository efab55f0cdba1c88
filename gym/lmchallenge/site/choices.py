"""Who can play here, and what each can be told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.core.exceptions import ValidationError

from gym.lmchallenge.core.backend_players import PLAYABLE
from models_registry.selectors import runnable_by

if TYPE_CHECKING:
    from gym.accounts.models import User

ADAPTIVE = "adaptive"


@dataclass(frozen=True)
class Option:
    """A whole number that a player takes."""

    words: str
    low: int
    high: int
    default: int


_PREDICTIONS = Option("predictions offered, at most", 1, 100, 20)
PLAYER_OPTIONS: dict[str, dict[str, Option]] = {
    "causal": {
        "predictions": _PREDICTIONS,
        "paths": Option("ways to spell a candidate that are added up", 1, 20, 3),
        "beam": Option("ways kept while predictions are searched", 1, 64, 16),
        "steps": Option("tokens past the context that are searched", 1, 8, 3),
        "together": Option("lines played side by side", 1, 32, 8),
    },
    "ngram": {"predictions": _PREDICTIONS},
    ADAPTIVE: {
        "predictions": _PREDICTIONS,
        "order": Option("words of context plus one", 1, 8, 3),
    },
    "process": {},
}
"""By the kind of the player; "causal" and "ngram" are models of the site."""


def playable(models: Any) -> Any:
    """Those of these models that can play."""
    return models.filter(backend__in=PLAYABLE)


def check_player_options(kind: str, given: dict[str, Any]) -> None:
    """Raise ValidationError for what a player of that kind does not take."""
    known = PLAYER_OPTIONS[kind]
    wrong = []
    for name, value in given.items():
        option = known.get(name)
        if option is None:
            wrong.append(f"{name} is no option of this player; it takes {', '.join(known) or 'none'}.")
        elif type(value) is not int or not option.low <= value <= option.high:
            wrong.append(
                f"{name} is {value!r}: whole numbers from {option.low} to {option.high} are possible."
            )
    if wrong:
        raise ValidationError({"player_options": wrong})


def players_for(user: User, programs: list[str]) -> list[dict[str, Any]]:
    """{"player", "name", "kind", "learns", "options"} of everybody who can play for this user."""
    found = [
        _described(f"model:{row.slug}", row.name, row.backend, learns=False)
        for row in playable(runnable_by(user)).order_by("slug")
    ]
    found += [_described(f"process:{name}", name, "process", learns=True) for name in programs]
    return [*found, _described(ADAPTIVE, "adaptive n-gram", ADAPTIVE, learns=True)]


def _described(player: str, name: str, kind: str, *, learns: bool) -> dict[str, Any]:
    options = {key: vars(option) for key, option in PLAYER_OPTIONS[kind].items()}
    return {"player": player, "name": name, "kind": kind, "learns": learns, "options": options}
