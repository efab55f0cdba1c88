"""Predictions of a causal model: beam search for the games' tokens.

The first tokens must spell the rest of the context. A character that takes several tokens is kept as bytes until it is
complete; only then may a prediction end. Next-token distributions are computed for many token sequences at once, and
shared prefixes run once. torch is imported inside the functions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lmgym.lmchallenge.errors import PlayerError
from lmgym.lmchallenge.play.player import Reply
from lmgym.lmchallenge.play.token_strings import (
    ALONE,
    SIGNS,
    WORD,
    Flags,
    Path,
    SplitContext,
    TokenStrings,
    Window,
    first_token,
    kind_of,
)

if TYPE_CHECKING:
    import torch

    from lmgym.models.engine.model_runner import ModelRunner
    from lmgym.models.engine.passes import Job


Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

KINDS = (None, WORD, SIGNS)
BEHIND = 2.0  # drop paths this many nats behind the last prediction


@dataclass(frozen=True)
class Limits:
    """Limits of the search. `predictions`: maximum per reply. `beam`: paths kept. `steps`: maximum number of tokens
    past the context.
    """

    predictions: int
    beam: int
    steps: int


@dataclass
class _Beam:
    """A path: tokens after the prefix, bytes of the context still to be spelled, predicted text, bytes of an incomplete
    character, log probability.
    """

    path: Path
    rest: bytes
    text: str
    part: bytes
    score: float


class Search:
    """Beam search from many contexts at once."""

    def __init__(self, token_strings: TokenStrings, window: Window, limits: Limits) -> None:
        self._token_strings, self._window, self._limits = token_strings, window, limits

    def of(self, runner: ModelRunner, split: list[SplitContext]) -> list[Reply]:
        """Return one reply per context. Equal contexts are searched once."""
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
            waiting = [(at, beam) for at, group in enumerate(beams) for beam in group]
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
                    self._extend(logs, [rows[row] for row in on], beams, ended)
            beams = [self._best_paths(group, done) for group, done in zip(beams, ended, strict=True)]
        replies = []
        for done, below in zip(ended, base, strict=True):
            best = sorted(done.items(), key=lambda pair: (-pair[1], pair[0]))[: self._limits.predictions]
            replies.append([(text, min(0.0, score - below)) for text, score in best])
        return [list(replies[distinct[context]]) for context in split]

    def _steps(self, context: SplitContext) -> int:
        """Return the maximum number of tokens after the prefix. It grows with the number of tokens in the context's
        last word.
        """
        ways = self._token_strings.segmentations(context.rest, 1)
        return self._limits.steps + (max(0, len(ways[0]) - 1) if ways else 0)

    def _best_paths(self, beams: list[_Beam], ended: dict[str, float]) -> list[_Beam]:
        """Keep the best paths. Paths far behind the last prediction are dropped, since extending a path only
        lowers its probability; their share in other spellings of a prediction is lost.
        """
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
        """End each path where the game's token may end, and add up the probability of the paths that reach the end of
        the context.
        """
        sets = [self._ending_mask(beam) for _, beam in rows]
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

    def _ending_mask(self, beam: _Beam) -> Flags | None:
        """Return a mask of the tokens that reach the end of the context or end the game's token;
        None if no token does.
        """
        if beam.rest:
            return self._token_strings.beginning(beam.rest)
        return None if beam.part else self._token_strings.ending.get(kind_of(beam.text))

    def _extend(
        self,
        logs: torch.Tensor,
        rows: list[tuple[int, _Beam]],
        beams: list[list[_Beam]],
        ended: list[dict[str, float]],
    ) -> None:
        """Extend each path with the likeliest tokens that fit."""
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
            characters = _whole(beam.part + piece[len(beam.rest) :])
            if characters is None:
                continue
            text, part = beam.text + characters[0], characters[1]
            token, over = first_token(text)
            if over:
                _add(ended[at], token, score)
            elif token == text:
                beams[at].append(_Beam(path, b"", text, part, score))

    def _worthwhile(self, numbers: Ints, scores: Floats, rows: list[tuple[int, _Beam]]) -> tuple[Ints, Ints]:
        """Return rows and columns of the tokens worth keeping: all tokens that may end a prediction and, of
        the tokens that only continue one, as many as are kept per context. The others would be dropped
        immediately.
        """
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
        """Return the kind of the game's current token; None if none has begun, or it may not continue."""
        if beam.rest or beam.part or not beam.text.strip():
            return None
        kind = kind_of(beam.text)
        return None if kind == ALONE else kind

    def _fitting(self, beam: _Beam) -> Flags:
        """Return a mask of the tokens that continue what is incomplete: the rest of the context, a character, or the
        game's current token, in this order.
        """
        if beam.rest:
            return self._token_strings.fitting(beam.rest)
        if beam.part:
            return self._token_strings.continuing
        kind = self._kind(beam)
        return self._token_strings.beginning(b"") if kind is None else self._token_strings.onward[kind]


def _whole(data: bytes) -> tuple[str, bytes] | None:
    """Split bytes into complete characters and the bytes of an incomplete one; return None if they are not UTF-8."""
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


# -- distributions -------------------------------------------------------------------------------------------


FAINT = -60.0
"""Nats. Smaller sums may contain probabilities that fp32 cannot represent, so they are summed as logarithms."""


def log_masses(logs: torch.Tensor, sets: Sequence[Flags]) -> list[float]:
    """Return, per row, the log probability of its set of tokens. Rows may share a set object."""
    import torch

    different, which = _distinct(sets)
    weights = torch.from_numpy(np.stack(different, 1)).to(logs)
    masses: list[float] = (logs.exp() @ weights).log_()[range(len(which)), which].tolist()
    faint = [row for row, mass in enumerate(masses) if mass < FAINT]
    if faint:
        exact = _within(logs[faint], [sets[row] for row in faint]).logsumexp(1).tolist()
        for row, mass in zip(faint, exact, strict=True):
            masses[row] = mass
    return masses


def likeliest(
    logs: torch.Tensor, sets: Sequence[Flags], most: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return, per row, log probabilities and ids of the likeliest tokens of its set, best first, padded with -inf."""
    values, numbers = _within(logs, sets).topk(min(most, logs.shape[1]))
    return values.double().cpu().numpy(), numbers.cpu().numpy()


def _within(logs: torch.Tensor, sets: Sequence[Flags]) -> torch.Tensor:
    """Return the rows with -inf outside their sets."""
    import torch

    different, which = _distinct(sets)
    outside = torch.from_numpy(~np.stack(different)).to(logs.device)
    return logs.masked_fill(outside[torch.tensor(which, device=logs.device)], -math.inf)


def _distinct(sets: Sequence[Flags]) -> tuple[list[Flags], list[int]]:
    """Return the distinct objects, and the index of each set among them."""
    different = {id(flags): flags for flags in sets}
    place = {key: at for at, key in enumerate(different)}
    return list(different.values()), [place[id(flags)] for flags in sets]


def distributions(
    runner: ModelRunner,
    sequences: Sequence[Path],
    stems: Sequence[Path] = (),
    stem_of: Sequence[int] | None = None,
) -> Iterator[tuple[list[int], torch.Tensor]]:
    """Yield log probabilities [n, vocabulary] of the token after each whole sequence, with the indices of the n
    sequences.

    Sequence k continues stems[stem_of[k]], or nothing if stem_of[k] is -1. Shared prefixes run once if the model
    supports tree attention. Raises PlayerError if a single sequence does not fit into memory.
    """
    from lmgym.models.engine.forest import grow
    from lmgym.models.engine.memory import default_budget
    from lmgym.models.engine.passes import USUAL, group_sequences, reset_positions, run_passes

    after = [-1] * len(sequences) if stem_of is None else list(stem_of)
    # An empty sequence stands for its stem.
    full_sequences = [
        ids or (stems[stem] if stem >= 0 else ()) for ids, stem in zip(sequences, after, strict=True)
    ]
    after = [stem if ids else -1 for ids, stem in zip(sequences, after, strict=True)]
    lengths = [
        len(ids) + (len(stems[stem]) if stem >= 0 else 0)
        for ids, stem in zip(full_sequences, after, strict=True)
    ]
    budget = default_budget(runner.device, runner.vocabulary)
    for way, chosen in group_sequences(runner, lengths).items():
        if way.kind[1]:
            reset_positions(runner)
        ids = [full_sequences[at] for at in chosen]
        last = np.cumsum(list(map(len, ids))) - 1
        nothing = np.zeros(last[-1] + 1, np.bool_)
        ends = nothing.copy()
        ends[last] = True
        whole, behind = way.kind != USUAL, [after[at] for at in chosen]
        forest = grow(ids, nothing, ends, whole=whole, stems=stems, stem_of=behind)
        owners: list[list[int]] = [[] for _ in forest.row_node]
        for number, row in zip(chosen, forest.row_of[last].tolist(), strict=True):
            owners[row].append(number)
        for step, states in run_passes(runner, forest, budget, _states, by_tree=way.by_tree):
            if states is None:
                raise _full(runner)
            if len(step.rows):
                yield from _read_off(runner, states, [owners[row] for row in step.rows])


def _states(_: Job, states: torch.Tensor) -> torch.Tensor:
    return states


def _read_off(
    runner: ModelRunner, states: torch.Tensor, owners: list[list[int]]
) -> Iterator[tuple[list[int], torch.Tensor]]:
    """Project states in blocks, which shrink when memory runs out. A state shared by several sequences gives the same
    row for each.
    """
    from lmgym.models.engine.memory import unless_full

    start, block = 0, runner.block
    while start < len(owners):
        some = owners[start : start + block]
        times = list(map(len, some))
        logs = unless_full(runner.device, partial(_projected, runner, states[start : start + block], times))
        if logs is None:
            if len(some) == 1:
                raise _full(runner)
            block = len(some) // 2
            continue
        yield list(chain.from_iterable(some)), logs
        start += len(some)


def _projected(runner: ModelRunner, states: torch.Tensor, times: list[int]) -> torch.Tensor:
    """Return log probabilities, each row repeated `times`."""
    import torch

    # Freed on return, before the caller uses the values.
    with torch.inference_mode():
        logs = runner.logits(states).log_softmax(1)
        if set(times) == {1}:
            return logs
        return logs.repeat_interleave(torch.tensor(times, device=logs.device), 0)


def _full(runner: ModelRunner) -> PlayerError:
    return PlayerError(f"A single text does not fit into the memory of {runner.device}.")
