"""What may come next after many token sequences at once: whole distributions, with shared beginnings run once.

torch is imported inside the functions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gym.lmchallenge.core.errors import PlayerError
from gym.lmchallenge.core.token_strings import Path

if TYPE_CHECKING:
    import torch

    from models_registry.engine.model_runner import ModelRunner
    from models_registry.engine.passes import Job


Flags: TypeAlias = NDArray[np.bool_]

FAINT = -60.0
"""Nats: of masses below, probabilities that fp32 cannot hold may be a part; they are added up as logarithms."""


def log_masses(logs: torch.Tensor, sets: Sequence[Flags]) -> list[float]:
    """Log of the probability of a set of tokens per row; the sets may be one object many times."""
    import torch

    different, which = _told_apart(sets)
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
    """Per row the log probabilities and ids of the likeliest tokens of its set, best first; -inf where the set has no
    more."""
    values, numbers = _within(logs, sets).topk(min(most, logs.shape[1]))
    return values.double().cpu().numpy(), numbers.cpu().numpy()


def _within(logs: torch.Tensor, sets: Sequence[Flags]) -> torch.Tensor:
    """The rows, with -inf outside their sets."""
    import torch

    different, which = _told_apart(sets)
    outside = torch.from_numpy(~np.stack(different)).to(logs.device)
    return logs.masked_fill(outside[torch.tensor(which, device=logs.device)], -math.inf)


def _told_apart(sets: Sequence[Flags]) -> tuple[list[Flags], list[int]]:
    """The different objects, and which of them each one is."""
    different = {id(flags): flags for flags in sets}
    place = {key: at for at, key in enumerate(different)}
    return list(different.values()), [place[id(flags)] for flags in sets]


def distributions(
    runner: ModelRunner,
    sequences: Sequence[Path],
    stems: Sequence[Path] = (),
    stem_of: Sequence[int] | None = None,
) -> Iterator[tuple[list[int], torch.Tensor]]:
    """Log probabilities [n, vocabulary] of what follows each whole sequence, with the numbers of the n sequences.
    Sequence k goes on after stems[stem_of[k]]; -1 = after nothing. Shared beginnings run once where the model takes
    tree attention. Raises PlayerError where memory runs out on one sequence alone."""
    from models_registry.engine.budgets import default_budget
    from models_registry.engine.forest import grow
    from models_registry.engine.passes import USUAL, lots, through, turn_back

    after = [-1] * len(sequences) if stem_of is None else list(stem_of)
    # What has no tokens of its own is its stem.
    own = [ids or (stems[stem] if stem >= 0 else ()) for ids, stem in zip(sequences, after, strict=True)]
    after = [stem if ids else -1 for ids, stem in zip(sequences, after, strict=True)]
    lengths = [
        len(ids) + (len(stems[stem]) if stem >= 0 else 0) for ids, stem in zip(own, after, strict=True)
    ]
    budget = default_budget(runner.device, runner.vocabulary)
    for way, chosen in lots(runner, lengths).items():
        if way.kind[1]:
            turn_back(runner)
        ids = [own[at] for at in chosen]
        last = np.cumsum(list(map(len, ids))) - 1
        nothing = np.zeros(last[-1] + 1, np.bool_)
        ends = nothing.copy()
        ends[last] = True
        whole, behind = way.kind != USUAL, [after[at] for at in chosen]
        forest = grow(ids, nothing, ends, whole=whole, stems=stems, stem_of=behind)
        owners: list[list[int]] = [[] for _ in forest.row_node]
        for number, row in zip(chosen, forest.row_of[last].tolist(), strict=True):
            owners[row].append(number)
        for step, states in through(runner, forest, budget, _states, by_tree=way.by_tree):
            if states is None:
                raise _full(runner)
            if len(step.rows):
                yield from _read_off(runner, states, [owners[row] for row in step.rows])


def _states(_: Job, states: torch.Tensor) -> torch.Tensor:
    return states


def _read_off(
    runner: ModelRunner, states: torch.Tensor, owners: list[list[int]]
) -> Iterator[tuple[list[int], torch.Tensor]]:
    """Project in blocks, smaller ones where memory runs out; a row that several sequences ask for is repeated."""
    from models_registry.engine.memory import unless_full

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
    """Log probabilities, each row so many times."""
    import torch

    # Here alone, so that it ends before whoever reads the values goes on.
    with torch.inference_mode():
        logs = runner.logits(states).log_softmax(1)
        if set(times) == {1}:
            return logs
        return logs.repeat_interleave(torch.tensor(times, device=logs.device), 0)


def _full(runner: ModelRunner) -> PlayerError:
    return PlayerError(f"Memory on {runner.device} ran out on one text alone.")
