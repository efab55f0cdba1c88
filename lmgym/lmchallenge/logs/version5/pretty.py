"""Coloured text of version 5 logs: one log (`pretty`), or a log compared with a baseline (`diff`). Each message is one
line.

For wr, the reference compares the target only with the candidates after it in the log, so it counts some wrong words as
right; readings="corrected" compares it with all candidates.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import TypeAlias

from msgspec import UNSET

from lmgym.lmchallenge.errors import LogError
from lmgym.lmchallenge.logs import pretty as version4
from lmgym.lmchallenge.logs.pretty import BLUE, DEFAULT, GREEN, RED, YELLOW, Colour, coded
from lmgym.lmchallenge.logs.version5.log import Token
from lmgym.lmchallenge.logs.version5.reranking import Mixture
from lmgym.lmchallenge.logs.version5.stats import Counts, rank_of, typed_until_completed

BLACK, MAGENTA, WHITE = 0, 5, 7
INTERVAL = 10.0
Piece: TypeAlias = tuple[str, Colour]
_NEVER = 10**9

OUTCOMES: dict[str, Colour] = {
    "skipped": (BLUE, False),
    "first": (GREEN, True),
    "near": (GREEN, False),
    "typed": (RED, False),
    "saved": (BLACK, False),
    "unknown": (MAGENTA, False),
    "entropy-1": (GREEN, True),
    "entropy-2": (GREEN, False),
    "entropy-3": (YELLOW, False),
    "entropy-4": (RED, False),
    "entropy-5": (RED, True),
    "still-wrong": (YELLOW, False),
    "corrected": (GREEN, False),
    "broken": (RED, False),
    "still-right": (DEFAULT, False),
}
_WORDS = {
    **{name: labels for name, labels in version4.OUTCOME_WORDS.items() if name in OUTCOMES},
    "skipped": "not selected",
    "saved": "completed by the first two predictions",
    "unknown": "no score",
}
_ENTROPY = tuple(f"entropy-{step}" for step in range(1, 6))
LEGENDS = {
    "wc": ("first", "near", "saved", "typed", "skipped"),
    "we": (*_ENTROPY, "unknown", "skipped"),
    "ce": (*_ENTROPY, "unknown", "skipped"),
    "wr": version4.LEGENDS["ic"],
}
"""Outcomes of each game, in legend order."""


def words(interval: float = INTERVAL) -> dict[str, str]:
    """Return the label of each outcome. Entropies are divided into five ranges, each `interval` / 5 nats wide except
    the last, which has no upper limit."""
    steps = [f"{step * interval / 5:g}" for step in range(1, 5)]
    between = [f"{low} to {high} nats" for low, high in pairwise(steps)]
    labels = [f"less than {steps[0]} nats", *between, f"{steps[-1]} nats or more"]
    return _WORDS | dict(zip(_ENTROPY, labels, strict=True))


_CHANGES = {
    (False, False): "still-wrong",
    (False, True): "corrected",
    (True, False): "broken",
    (True, True): "still-right",
}


def outcomes(
    token: Token, mixture: Mixture | None, interval: float = INTERVAL, readings: str = "corrected"
) -> list[tuple[str, str]]:
    """Split the target into pieces, possibly empty, each with its outcome, a key of OUTCOMES. Raises LogError for a
    token without results, and for a wr token without a mixture.
    """
    target = token.target
    if not token.select:
        return [(target, "skipped")]
    if token.completions is not UNSET and token.completions is not None:
        rank = rank_of(token.completions[0], target) if token.completions else None
        if rank is not None and rank <= 3:
            return [(target, "first" if rank == 1 else "near")]
        typed = typed_until_completed(token.completions, target)
        cut = len(target) if typed is None else typed
        return [(target[:cut], "typed"), (target[cut:], "saved")]
    if token.results is not UNSET and token.results is not None:
        if mixture is None:
            raise LogError("A log of wr needs a mixture of its scores.")
        return [(target, _CHANGES[is_first(token, None, readings), is_first(token, mixture, readings)])]
    if token.logp is UNSET:
        raise LogError("A line has none of completions, logp and results.", "One of them is required.")
    if token.logp is None:
        return [(target, "unknown")]
    step = next((step for step in range(1, 5) if -token.logp < step * interval / 5), 5)
    return [(target, f"entropy-{step}")]


def is_first(token: Token, mixture: Mixture | None, readings: str = "corrected") -> bool:
    """Return whether the target outscores all other candidates. Without a mixture, only error scores are used."""
    worth = [
        (word == token.target, mixture.score(error, score) if mixture else error)
        for word, error, score in token.scores
    ]
    at = next((at for at, (is_target, _) in enumerate(worth) if is_target), None)
    if at is None:
        return False
    others = worth if readings == "corrected" else worth[at:]
    return all(value < worth[at][1] for is_target, value in others if not is_target)


def ansi(
    log: Sequence[tuple[int, Token]], interval: float = INTERVAL, readings: str = "reference"
) -> Iterator[str]:
    """Yield the messages of a log with colour codes. Raises LogError."""
    mixture = mixture_of(log)
    yield from _messages(
        (
            (token, [(text, OUTCOMES[name]) for text, name in outcomes(token, mixture, interval, readings)])
            for _, token in log
        )
    )


def game_of(log: Sequence[tuple[int, Token]]) -> str:
    """Return wc, we, ce or wr; "" for an empty log. A ce log is a we log whose tokens are characters."""
    game = log[0][1].game if log else ""
    characters = game == "we" and all(
        token.token == token.character and len(token.target) == 1 for _, token in log
    )
    return "ce" if characters else game


def mixture_of(log: Sequence[tuple[int, Token]]) -> Mixture | None:
    """Find the best mixture for a wr log; return None for other games."""
    counts = Counts()
    for _, token in log:
        if token.select and token.game == "wr":
            counts.add_results(token)
    return counts.mixture


def _messages(tokens: Iterable[tuple[Token, list[Piece]]]) -> Iterator[str]:
    """Join tokens into messages, with a space, in the preceding colour, between tokens that do not touch."""
    for _, group in groupby(tokens, lambda pair: (pair[0].user, pair[0].message)):
        members = list(group)
        joined: list[Piece] = []
        for (_, pieces), gap in zip(members, gaps(token for token, _ in members), strict=True):
            if gap:
                joined.append((" ", joined[-1][1] if joined else (DEFAULT, False)))
            joined += pieces
        yield coded(joined)


def gaps(message: Iterable[Token]) -> Iterator[bool]:
    """Yield for each token whether there is text between it and the previous token (or the start of the message)."""
    end: float = 0
    for token in message:
        start = token.character if isinstance(token.character, int | float) else end
        yield start > end
        end = start + len(token.target)


CHANGES: dict[str, int] = {
    "better": GREEN,
    "worse": RED,
    "same": DEFAULT,
    "typed": BLACK,
    "similar": YELLOW,
    "unknown": MAGENTA,
    "scored": WHITE,
    "right": BLACK,
    "skipped": BLUE,
}
"""Colours for changes from the baseline. Some changes are also bold, see CHANGE_WORDS."""
_ENTROPY_CHANGES = {
    ("better", True): "much lower entropy",
    ("better", False): "lower entropy",
    ("similar", False): "similar entropy",
    ("worse", False): "higher entropy",
    ("worse", True): "much higher entropy",
    ("scored", False): "newly scored",
    ("scored", True): "no longer scored",
    ("unknown", False): "no score in either",
    ("skipped", False): "not selected",
}
CHANGE_WORDS: dict[str, dict[version4.Change, str]] = {
    "wc": {
        ("typed", False): "typed in both",
        ("better", True): "completed earlier",
        ("same", False): "completed in both",
        ("worse", True): "completed later",
        ("skipped", False): "not selected",
    },
    "we": _ENTROPY_CHANGES,
    "ce": _ENTROPY_CHANGES,
    "wr": {
        ("better", False): "error, newly corrected",
        ("better", True): "typed right, no longer broken",
        ("right", False): "right in both",
        ("right", True): "wrong in both",
        ("worse", False): "error, no longer corrected",
        ("worse", True): "typed right, newly broken",
        ("skipped", False): "not selected",
    },
}
"""Legend labels by game: (change, is bold) -> label."""
ChangedPiece: TypeAlias = tuple[str, version4.Change]


@dataclass(frozen=True)
class Difference:
    """Settings for comparing two logs: their mixtures, for wr, and the options."""

    mixtures: tuple[Mixture | None, Mixture | None]
    interval: float = INTERVAL
    readings: str = "corrected"

    def completion(self, before: Token, now: Token) -> list[ChangedPiece]:
        was, typed = _typed(before), _typed(now)
        least = min(was, typed)
        change = ("worse", True) if was < typed else ("better", True) if typed < was else ("same", False)
        return [(now.target[:least], ("typed", False)), (now.target[least:], change)]

    def entropy(self, before: Token, now: Token) -> list[ChangedPiece]:
        was, is_now = before.logp, now.logp
        if not isinstance(was, float) or not isinstance(is_now, float):
            return [(now.target, ("unknown", False) if was is is_now else ("scored", is_now is None))]
        more, step = is_now - was, self.interval / 6
        least: tuple[tuple[float, version4.Change], ...] = (
            (3 * step, ("better", True)),
            (step, ("better", False)),
            (-step, ("similar", False)),
            (-3 * step, ("worse", False)),
        )
        return [(now.target, next((change for limit, change in least if limit < more), ("worse", True)))]

    def reranking(self, before: Token, now: Token) -> list[ChangedPiece]:
        right = is_first(before, None, self.readings)
        was = is_first(before, self.mixtures[0], self.readings)
        is_now = is_first(now, self.mixtures[1], self.readings)
        if was == is_now:
            return [(now.target, ("right", not is_now))]
        return [(now.target, ("better" if is_now else "worse", right))]

    def changes(self, before: Token, now: Token) -> list[ChangedPiece]:
        """Split the target into pieces, possibly empty, each with its change."""
        if not now.select:
            return [(now.target, ("skipped", False))]
        show = {"wc": self.completion, "we": self.entropy, "wr": self.reranking}
        return show[now.game](before, now)


def _typed(token: Token) -> int:
    """Count the characters typed before the completion is among the first two predictions; 0 if the whole
    word is among the first three.
    """
    completions = token.completions or []
    if completions and (rank_of(completions[0], token.target) or _NEVER) <= 3:
        return 0
    typed = typed_until_completed(completions, token.target)
    return len(token.target) if typed is None else typed


def difference(
    baseline: Sequence[tuple[int, Token]],
    log: Sequence[tuple[int, Token]],
    interval: float = INTERVAL,
    readings: str = "reference",
) -> Iterator[str]:
    """Yield the messages of a log, coloured by the change from the baseline. Raises LogError if the texts differ."""
    change = Difference((mixture_of(baseline), mixture_of(log)), interval, readings)
    pairs = zip(texts_checked(baseline, log), log, strict=True)
    yield from _messages((now, _coloured(change.changes(before, now))) for before, (_, now) in pairs)


def _coloured(pieces: Sequence[ChangedPiece]) -> list[Piece]:
    return [(text, (CHANGES[name], bold)) for text, (name, bold) in pieces]


def texts_checked(baseline: Sequence[tuple[int, Token]], log: Sequence[tuple[int, Token]]) -> Iterator[Token]:
    """Yield the tokens of the baseline. Raises LogError if they differ from the log's."""
    if len(baseline) != len(log):
        raise LogError(f"The logs have {len(baseline):,} and {len(log):,} tokens.", "Compare complete logs.")
    for (number, before), (_, now) in zip(baseline, log, strict=True):
        for key in ("user", "character", "message", "token", "target", "select", "game"):
            was, is_now = getattr(before, key), getattr(now, key)
            if was != is_now or (key == "game" and not now.game):
                raise LogError(
                    f"Line {number}: {key} is {was!r} in the baseline and {is_now!r} in the log.",
                    "Compare logs of the same game on the same text.",
                )
        yield before
