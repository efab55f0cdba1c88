"""Predictions of a causal model: beam search for tokens of the games.

The first tokens are held to what is left of the context. A character that takes several tokens is carried as bytes
until it is whole; only then may a prediction end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gym.lmchallenge.core.context_window import SplitContext, Window
from gym.lmchallenge.core.distributions import distributions, likeliest, log_masses
from gym.lmchallenge.core.player import Reply
from gym.lmchallenge.core.token_strings import (
    ALONE,
    SIGNS,
    WORD,
    Flags,
    Path,
    TokenStrings,
    first_token,
    kind_of,
)

if TYPE_CHECKING:
    import torch

    from models_registry.engine.model_runner import ModelRunner

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

KINDS = (None, WORD, SIGNS)
BEHIND = 2.0  # nats: a way so far behind the last prediction is given up


@dataclass(frozen=True)
class Limits:
    """predictions: most that are offered. beam: ways kept. steps: tokens past the context, at most."""

    predictions: int
    beam: int
    steps: int


@dataclass
class _Beam:
    """A way on: tokens after the prefix, bytes of the context not yet spelled, predicted text, the bytes of a character
    that is not whole yet, log probability."""

    path: Path
    rest: bytes
    text: str
    part: bytes
    score: float


class Search:
    """Beam searches from many contexts at once."""

    def __init__(self, token_strings: TokenStrings, window: Window, limits: Limits) -> None:
        self._token_strings, self._window, self._limits = token_strings, window, limits

    def of(self, runner: ModelRunner, split: list[SplitContext]) -> list[Reply]:
        """One reply per context. Equal contexts are searched once."""
        distinct = {context: at for at, context in enumerate(dict.fromkeys(split))}
        steps = [self._steps(context) for context in distinct]
        prefixes = [self._window.before(*pair) for pair in zip(distinct, steps, strict=True)]
        stems = [prefix or () for prefix in prefixes]
        beams: list[list[_Beam]] = [
            [_Beam((), context.rest, "", b"", 0.0)] if prefix is not None else []
            for context, prefix in zip(distinct, prefixes, strict=True)
        ]
        ended: list[dict[str, float]] = [{} for _ in distinct]
        base = [-math.inf if context.rest else 0.0 for context in distinct]
        for step in range(max(steps, default=0) + 1):
            waiting = [(at, beam) for at, own in enumerate(beams) for beam in own]
            if not waiting:
                break
            beams = [[] for _ in distinct]
            paths, behind = [beam.path for _, beam in waiting], [at for at, _ in waiting]
            for numbers, logs in distributions(runner, paths, stems, behind):
                rows = [waiting[number] for number in numbers]
                self._end(logs, rows, ended, base)
                on = [row for row, (at, _) in enumerate(rows) if step < steps[at]]
                if on:
                    logs = logs if len(on) == len(rows) else logs[on]
                    self._go_on(logs, [rows[row] for row in on], beams, ended)
            beams = [self._likeliest(own, done) for own, done in zip(beams, ended, strict=True)]
        replies = []
        for done, below in zip(ended, base, strict=True):
            best = sorted(done.items(), key=lambda pair: (-pair[1], pair[0]))[: self._limits.predictions]
            replies.append([(text, min(0.0, score - below)) for text, score in best])
        return [list(replies[distinct[context]]) for context in split]

    def _steps(self, context: SplitContext) -> int:
        """Tokens after the prefix: a context whose last word takes many tokens gets as many more."""
        ways = self._token_strings.segmentations(context.rest, 1)
        return self._limits.steps + (max(0, len(ways[0]) - 1) if ways else 0)

    def _likeliest(self, beams: list[_Beam], ended: dict[str, float]) -> list[_Beam]:
        """The best ways on, without those that are far behind the last prediction: going on only costs. What they would
        have added to the score of another way to spell a prediction is lost."""
        most = self._limits.predictions
        least = sorted(ended.values())[-most] - BEHIND if len(ended) >= most else -math.inf
        kept = (beam for beam in beams if beam.score > least)
        return sorted(kept, key=lambda beam: -beam.score)[: self._limits.beam]

    def _end(
        self,
        logs: torch.Tensor,
        rows: list[tuple[int, _Beam]],
        ended: list[dict[str, float]],
        base: list[float],
    ) -> None:
        """End each way whose token of the game may end here, and add up what reaches the end of the context."""
        sets = [self._ends(beam) for _, beam in rows]
        chosen = [row for row, flags in enumerate(sets) if flags is not None]
        if not chosen:
            return
        logs = logs if len(chosen) == len(rows) else logs[chosen]
        masses = log_masses(logs, [flags for flags in sets if flags is not None])
        for row, mass in zip(chosen, masses, strict=True):
            at, beam = rows[row]
            if beam.rest:
                base[at] = float(np.logaddexp(base[at], beam.score + mass))
            elif beam.text and mass > -math.inf:
                _add(ended[at], beam.text, beam.score + mass)

    def _ends(self, beam: _Beam) -> Flags | None:
        """Tokens that reach the end of the context, or end the token of the game. None: nothing can end here."""
        if beam.rest:
            return self._token_strings.beginning(beam.rest)
        return None if beam.part else self._token_strings.ending.get(kind_of(beam.text))

    def _go_on(
        self,
        logs: torch.Tensor,
        rows: list[tuple[int, _Beam]],
        beams: list[list[_Beam]],
        ended: list[dict[str, float]],
    ) -> None:
        """Every way with the likeliest tokens that fit."""
        values, numbers = likeliest(logs, [self._fitting(beam) for _, beam in rows], self._limits.beam)
        scores = values + np.array([[beam.score] for _, beam in rows])
        row, column = self._worthwhile(numbers, scores, rows)
        chosen = (row, numbers[row, column], scores[row, column])
        for which, number, score in zip(*(part.tolist() for part in chosen), strict=True):
            at, beam = rows[which]
            piece, path = self._token_strings.pieces[number] or b"", (*beam.path, number)
            if len(piece) <= len(beam.rest):
                beams[at].append(_Beam(path, beam.rest[len(piece) :], beam.text, b"", score))
                continue
            found = _whole(beam.part + piece[len(beam.rest) :])
            if found is None:
                continue
            text, part = beam.text + found[0], found[1]
            token, over = first_token(text)
            if over:
                _add(ended[at], token, score)
            elif token == text:
                beams[at].append(_Beam(path, b"", text, part, score))

    def _worthwhile(self, numbers: Ints, scores: Floats, rows: list[tuple[int, _Beam]]) -> tuple[Ints, Ints]:
        """Rows and columns of the tokens that may end a prediction, and of those that only go on with one, of as many
        as are kept per context: the others would be given up at once."""
        kinds = np.array([KINDS.index(self._kind(beam)) for _, beam in rows])
        nothing = np.zeros(self._token_strings.size, np.bool_)
        table = np.stack([nothing, self._token_strings.plain(WORD), self._token_strings.plain(SIGNS)])
        plain = table[kinds[:, None], numbers]
        chosen = np.isfinite(scores)
        row, column = np.nonzero(plain & chosen)
        context = np.array([at for at, _ in rows])[row]
        order = np.lexsort((-scores[row, column], context))
        context = context[order]
        place = np.arange(len(order)) - np.searchsorted(context, context)
        least = order[place >= self._limits.beam]
        chosen[row[least], column[least]] = False
        row, column = np.nonzero(chosen)
        return row, column

    def _kind(self, beam: _Beam) -> str | None:
        """What a token of the games that has begun is; None while nothing has, or may not go on."""
        if beam.rest or beam.part or not beam.text.strip():
            return None
        kind = kind_of(beam.text)
        return None if kind == ALONE else kind

    def _fitting(self, beam: _Beam) -> Flags:
        """Tokens that fit: what is left of the context, or of a character, then the kind of token that began."""
        if beam.rest:
            return self._token_strings.fitting(beam.rest)
        if beam.part:
            return self._token_strings.continuing
        kind = self._kind(beam)
        return self._token_strings.beginning(b"") if kind is None else self._token_strings.onward[kind]


def _whole(data: bytes) -> tuple[str, bytes] | None:
    """The characters that are whole, and the bytes of one that is not yet. None: these bytes are no text."""
    try:
        return data.decode("utf-8"), b""
    except UnicodeDecodeError as error:
        if error.reason != "unexpected end of data":
            return None
        return data[: error.start].decode("utf-8"), data[error.start :]


def _add(sums: dict[str, float], key: str, score: float) -> None:
    before = sums.get(key)
    if before is None:
        sums[key] = score
    else:
        high, low = max(before, score), min(before, score)
        sums[key] = high + math.log1p(math.exp(low - high))
