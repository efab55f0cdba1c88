"""What may come next after many token sequences at once: whole distributions, with shared beginnings run once.

torch is imported inside the functions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gym.lmchallenge.alphabet import Path

if TYPE_CHECKING:
    import torch

    from models_registry.engine.reader import Reader


Flags: TypeAlias = NDArray[np.bool_]


def log_masses(logs: torch.Tensor, sets: Sequence[Flags]) -> list[float]:
    """Log of the probability of a set of tokens per row; the sets may be one object many times."""
    masses: list[float] = _within(logs, sets).logsumexp(1).tolist()
    return masses


def likeliest(logs: torch.Tensor, sets: Sequence[Flags], most: int) -> list[list[tuple[int, float]]]:
    """Per row the likeliest tokens of its set, best first, as (id, log probability)."""
    values, numbers = _within(logs, sets).topk(min(most, logs.shape[1]))
    return [
        [(number, value) for number, value in zip(ids, row, strict=True) if value > -math.inf]
        for ids, row in zip(numbers.tolist(), values.tolist(), strict=True)
    ]


def _within(logs: torch.Tensor, sets: Sequence[Flags]) -> torch.Tensor:
    """The rows, with -inf outside their sets."""
    import torch

    different = {id(flags): flags for flags in sets}
    place = {key: at for at, key in enumerate(different)}
    outside = torch.from_numpy(~np.stack(list(different.values()))).to(logs.device)
    which = torch.tensor([place[id(flags)] for flags in sets], device=logs.device)
    return logs.masked_fill(outside[which], -math.inf)


def distributions(
    reader: Reader,
    sequences: Sequence[Path],
    stems: Sequence[Path] = (),
    stem_of: Sequence[int] | None = None,
) -> Iterator[tuple[list[int], torch.Tensor]]:
    """Log probabilities [n, vocabulary] of what follows each whole sequence, with the numbers of the n sequences.
    Sequence k goes on after stems[stem_of[k]]; -1 = after nothing. Shared beginnings run once where the model takes
    tree attention."""
    import torch

    from models_registry.engine.budgets import default_budget, tree_budget

    budget = default_budget(reader.device, reader.vocabulary)
    after = [-1] * len(sequences) if stem_of is None else list(stem_of)
    # What has no tokens of its own is its stem.
    own = [ids or (stems[stem] if stem >= 0 else ()) for ids, stem in zip(sequences, after, strict=True)]
    after = [stem if ids else -1 for ids, stem in zip(sequences, after, strict=True)]
    sequences = own
    longest = max(
        len(ids) + (len(stems[stem]) if stem >= 0 else 0) for ids, stem in zip(sequences, after, strict=True)
    )
    with torch.inference_mode():
        if reader.tree and (reader.reach is None or longest <= reader.reach):
            yield from _by_trees(reader, sequences, stems, after, tree_budget(reader, budget))
            return
        written = [
            (stems[stem] if stem >= 0 else ()) + ids for ids, stem in zip(sequences, after, strict=True)
        ]
        for group in _batches(reader, written, budget):
            width = len(written[group[-1]])
            ids = torch.zeros((len(group), width), dtype=torch.long)
            mask = torch.zeros_like(ids)
            for row, number in enumerate(group):
                ids[row, : len(written[number])] = torch.tensor(written[number])
                mask[row, : len(written[number])] = 1
            states = reader.states(input_ids=ids.to(reader.device), attention_mask=mask.to(reader.device))
            last = [len(written[number]) - 1 for number in group]
            yield from _read_off(reader, states[range(len(group)), last], [[number] for number in group])


def _batches(reader: Reader, sequences: Sequence[Path], budget: int) -> Iterator[list[int]]:
    """Numbers of sequences to run together, shortest first: of one kind (`Turns.kind`), within the budget."""
    from models_registry.engine.plan import chunks

    kinds: dict[tuple[int, int], list[int]] = {}
    for number, ids in enumerate(sequences):
        kinds.setdefault(reader.turns.kind(len(ids)), []).append(number)
    for _, own in sorted(kinds.items()):
        for group in chunks([len(sequences[number]) for number in own], budget):
            yield [own[at] for at in group]


def _by_trees(
    reader: Reader, sequences: Sequence[Path], stems: Sequence[Path], stem_of: Sequence[int], budget: int
) -> Iterator[tuple[list[int], torch.Tensor]]:
    import torch

    from models_registry.engine.blocks import tree_mask
    from models_registry.engine.forest import cut, grow
    from models_registry.engine.reader import to_device

    nothing = [[False] * len(ids) for ids in sequences]
    ends = [[False] * (len(ids) - 1) + [True] for ids in sequences]
    forest = grow(sequences, nothing, ends, stems=stems, stem_of=stem_of)
    owners: list[list[int]] = [[] for _ in forest.row_node]
    for number, row in enumerate(forest.row_of[forest.starts[1:] - 1].tolist()):
        owners[row].append(number)
    dtype = getattr(reader.model, "dtype", torch.float32)
    first = 0
    while first < len(forest.token):
        chunk = cut(forest, first, budget)
        states = reader.states(
            input_ids=to_device(chunk.token[None], reader.device),
            attention_mask=tree_mask(to_device(chunk.end, reader.device), dtype),
            position_ids=to_device(chunk.position[None], reader.device),
        )
        rows = range(chunk.rows.start, chunk.rows.stop)
        places = [int(forest.row_node[row]) - chunk.first + chunk.node_at for row in rows]
        if places:
            yield from _read_off(reader, states[0][places], [owners[row] for row in rows])
        first = chunk.last


def _read_off(
    reader: Reader, states: torch.Tensor, owners: list[list[int]]
) -> Iterator[tuple[list[int], torch.Tensor]]:
    """Project in blocks; a row that several sequences ask for is repeated."""
    for start in range(0, len(owners), reader.block):
        logs = reader.logits(states[start : start + reader.block]).log_softmax(1)
        numbers, rows = [], []
        for row, own in enumerate(owners[start : start + reader.block]):
            numbers.extend(own)
            rows.extend([row] * len(own))
        yield numbers, logs[rows]
