"""Pseudo-log-likelihoods of masked language models, batched over all masked copies. Needs torch.

original: each token given all others (Salazar et al. 2020).
within_word_l2r: each token given all others except later tokens of the same word, so that pieces of a word do not
reveal each other (Kauf & Ivanova 2023, arXiv 2305.10588).

Values are not comparable with those of left-to-right models, because the model sees the words after a token.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import torch

from lmgym.models.engine.batching import Choice, batches, choose_batching, name_of
from lmgym.models.engine.execute import Floats
from lmgym.models.engine.memory import unless_full
from lmgym.models.engine.model_runner import ModelRunner, look_up, to_device
from lmgym.models.engine.scores import ScoringFailure
from lmgym.models.engine.tree_support import (
    context_limit,
    first_values,
    max_difference,
    others,
    probe_sequences,
    require_context,
    rest_of,
    tolerance,
)

METHODS = ("original", "within_word_l2r")
_PROBE_LENGTHS = range(9, 18)
_SHORTER = 5
_RESERVED = 8
"""Positions of a model's context that probes leave free: some models reserve a few of them for padding."""
_WHOLE = 1024
"""Budget that takes all probe copies in one pass."""


class Copy(NamedTuple):
    """One masked copy of a sequence: masked positions, and the target whose token is scored."""

    sequence: int
    target: int
    masked: tuple[int, ...]


def masked_copies(
    words: Sequence[Sequence[int]], needed: Sequence[Sequence[bool]], method: str
) -> list[Copy]:
    """List the masked copies to run. Deterministic.

    Args:
        words: words[k][i] is the word number of token i of sequence k; -1 for a special token, which is never scored.
        needed: tokens to score.
        method: one of METHODS.

    Raises:
        ValueError: unknown method.
    """
    if method not in METHODS:
        raise ValueError(f"method is {method!r}: choose one of {', '.join(METHODS)}")
    copies: list[Copy] = []
    for number, (word_of, flags) in enumerate(zip(words, needed, strict=True)):
        for at, (word, flag) in enumerate(zip(word_of, flags, strict=True)):
            if not flag or word < 0:
                continue
            later = [
                position
                for position in range(at + 1, len(word_of))
                if method == "within_word_l2r" and word_of[position] == word
            ]
            copies.append(Copy(number, at, (at, *later)))
    return copies


class Distinct(NamedTuple):
    """A distinct masked input, shared by all sentences that differ only in masked tokens.

    Attributes:
        ids: input ids, with masks.
        place: position whose distribution is read.
        tokens: tokens that are looked up there.
    """

    ids: tuple[int, ...]
    place: int
    tokens: list[int]


def distinct_copies(
    sequences: Sequence[Sequence[int]], copies: Sequence[Copy], mask_id: int
) -> tuple[list[Distinct], list[tuple[int, int]]]:
    """Merge equal copies.

    Returns:
        Distinct inputs in order of appearance, and for each copy its input and the index of its token there.
    """
    numbers: dict[tuple[tuple[int, ...], int], int] = {}
    inputs: list[Distinct] = []
    indices: list[tuple[int, int]] = []
    for copy in copies:
        ids = list(sequences[copy.sequence])
        token = ids[copy.target]
        for at in copy.masked:
            ids[at] = mask_id
        key = (tuple(ids), copy.target)
        number = numbers.setdefault(key, len(inputs))
        if number == len(inputs):
            inputs.append(Distinct(*key, []))
        tokens = inputs[number].tokens
        if token not in tokens:
            tokens.append(token)
        indices.append((number, tokens.index(token)))
    return inputs, indices


def compute_masked(
    runner: ModelRunner,
    sequences: Sequence[Sequence[int]],
    words: Sequence[Sequence[int]],
    needed: Sequence[Sequence[bool]],
    *,
    method: str,
    mask_id: int,
    budget: int,
    rows: Rows | None = None,
) -> list[Floats | ScoringFailure]:
    """Compute the pseudo-surprisal of each needed token.

    Each distinct copy is run once. Copies are sorted by length and batched by `runner.batching`.

    Args:
        words, needed, method: as in `masked_copies`.
        budget: padded tokens per batch; halved when memory runs out.
        rows: function that runs the model for one position per copy (see `last_rows`).

    Returns:
        For each sequence float64[tokens] in bits, NaN = not requested; or a failure.
    """
    copies = masked_copies(words, needed, method)
    inputs, indices = distinct_copies(sequences, copies, mask_id)
    values = _run(runner, inputs, budget, rows or whole_rows(runner))
    results = [np.full(len(ids), np.nan) for ids in sequences]
    failed: dict[int, ScoringFailure] = {}
    for copy, (number, which) in zip(copies, indices, strict=True):
        bits = values[number]
        if bits is None:
            reason = f"This text ({len(inputs[number].ids)} tokens) does not fit into the memory of {runner.device}."
            failed.setdefault(copy.sequence, ScoringFailure(reason, transient=True))
            continue
        results[copy.sequence][copy.target] = bits[which]
        if not math.isfinite(bits[which]):
            reason = f"The model's value for token {copy.target + 1} is not a finite number."
            failed.setdefault(copy.sequence, ScoringFailure(reason))
    return [failed.get(number, bits_of) for number, bits_of in enumerate(results)]


def _run(
    runner: ModelRunner, inputs: Sequence[Distinct], budget: int, rows: Rows
) -> list[list[float] | None]:
    """Compute the bits of the tokens of each input; None = the input by itself does not fit into memory."""
    values: list[list[float] | None] = [None] * len(inputs)
    lengths = [len(distinct.ids) for distinct in inputs]
    pending = _batches(runner, lengths, budget)[::-1]
    while pending:
        batch = pending.pop()
        bits = unless_full(runner.device, partial(_forward, runner, [inputs[at] for at in batch], rows))
        if bits is not None:
            for at, input_bits in zip(batch, bits, strict=True):
                values[at] = input_bits
        elif len(batch) > 1:
            remaining = [at for group in (batch, *reversed(pending)) for at in group]
            budget = max(1, min(budget, lengths[batch[-1]] * len(batch)) // 2)
            groups = _batches(runner, [lengths[at] for at in remaining], budget)
            pending = [[remaining[index] for index in group] for group in groups][::-1]
    return values


def _batches(runner: ModelRunner, lengths: Sequence[int], budget: int) -> list[list[int]]:
    """Group inputs (by index) into passes; lengths of different kinds (`Turns.kind`) do not share one."""
    kinds: dict[tuple[int, int], list[int]] = {}
    for at, length in enumerate(lengths):
        kinds.setdefault(runner.turns.kind(length), []).append(at)
    return [
        [group[index] for index in indices]
        for _, group in sorted(kinds.items())
        for indices in batches([lengths[at] for at in group], budget, runner.batching)
    ]


Rows = Callable[[dict[str, torch.Tensor], torch.Tensor], torch.Tensor]
"""Function (model inputs [copies, width], place [copies]) -> one hidden row per copy, the input of the head."""


def whole_rows(runner: ModelRunner) -> Rows:
    """Build a `Rows` function that runs the body for all positions and selects one per copy."""

    def run(inputs: dict[str, torch.Tensor], place: torch.Tensor) -> torch.Tensor:
        states = runner.states(**inputs)
        return states[torch.arange(len(place), device=place.device), place]

    return run


@torch.inference_mode()
def _forward(runner: ModelRunner, batch: Sequence[Distinct], rows: Rows) -> list[list[float]]:
    width = max(len(copy.ids) for copy in batch)
    ids = np.zeros((len(batch), width), np.int64)
    mask = np.zeros((len(batch), width), np.int64)
    for line, copy in enumerate(batch):
        ids[line, : len(copy.ids)] = copy.ids
        mask[line, : len(copy.ids)] = 1
    inputs = {"input_ids": to_device(ids, runner.device)}
    if runner.batching == "padded":  # the other modes need no mask, and some models do not accept one
        inputs["attention_mask"] = to_device(mask, runner.device)
    place = np.array([copy.place for copy in batch])
    counts = [len(copy.tokens) for copy in batch]
    tokens = np.array([token for copy in batch for token in copy.tokens])
    states = rows(inputs, to_device(place, runner.device))
    bits = iter(look_up(runner, states, np.repeat(np.arange(len(batch)), counts), tokens).bits.tolist())
    return [list(islice(bits, count)) for count in counts]


def last_rows(model: Any, runner: ModelRunner) -> Rows | None:
    """Build a `Rows` function that runs the feed-forward part of the last layer only for the target position.

    The part after attention works per position, so omitting positions does not change values.

    Returns:
        The function, or None unless the body has BERT's structure (encoder.layer[k] with attention, intermediate,
        output).
    """
    encoder = getattr(model.base_model, "encoder", None)
    layers = getattr(encoder, "layer", None)
    if not layers or not all(hasattr(layers[-1], name) for name in ("attention", "intermediate", "output")):
        return None
    last = layers[-1]

    def run(inputs: dict[str, torch.Tensor], place: torch.Tensor) -> torch.Tensor:
        line = torch.arange(len(place), device=place.device)

        def pick(_module: Any, _inputs: Any, output: Any) -> Any:
            attended = output[0] if isinstance(output, tuple) else output
            rows = attended[line, place][:, None]
            return (rows, *output[1:]) if isinstance(output, tuple) else rows

        handle = last.attention.register_forward_hook(pick)
        try:
            return runner.states(**inputs)[:, 0]
        finally:
            handle.remove()

    return run


def probe_bits(runner: ModelRunner, mask_id: int, rows: Rows | None = None) -> Floats:
    """Compute the bits of a sample of tokens of random sequences: all in one pass, then the shorter ones, if the runner
    pads.

    A model that pools or pads to a multiple of 2, 4 or 8 tokens may take padding for text at some lengths or widths
    only (Funnel, Longformer), so the lengths are consecutive and the widths are odd.
    """
    draw = np.random.default_rng(20_260_102)
    limit = context_limit(runner.model.config)
    most = _PROBE_LENGTHS[-1] if limit is None else limit - _RESERVED
    probes = [draw.integers(0, runner.vocabulary, length).tolist()[:most] for length in _PROBE_LENGTHS]
    words = [[at // 2 for at in range(len(ids))] for ids in probes]
    flags = [[at % 5 == 1 for at in range(len(ids))] for ids in probes]
    how: dict[str, Any] = {"method": "within_word_l2r", "mask_id": mask_id, "budget": _WHOLE, "rows": rows}
    results = [
        result
        for count in (len(probes), _SHORTER)
        for result in compute_masked(runner, probes[:count], words[:count], flags[:count], **how)
    ]
    return np.concatenate(
        [
            np.full(1, np.nan) if isinstance(result, ScoringFailure) else result[~np.isnan(result)]
            for result in results
        ]
    )


def plain_runner(model: Any, device: torch.device, batching: str = "alone") -> ModelRunner:
    """Build a runner without optimisations. Its values for single copies are the reference for all faster modes."""
    runner = ModelRunner.whole(model, device)
    runner.batching = batching
    return runner


def plain_probe(model: Any, device: torch.device, mask_id: int) -> Floats:
    """Compute `probe_bits` one copy at a time, without optimisations.

    Raises:
        Unscorable: the model fails, or its values for a token do not depend on the other tokens.
    """
    runner = plain_runner(model, device)
    plain = first_values(model, lambda: probe_bits(runner, mask_id))
    limit = context_limit(model.config)
    ids = probe_sequences(runner.vocabulary, None if limit is None else limit - _RESERVED)[0]
    middle = len(ids) // 2
    near = [at in (middle, middle + 1) for at in range(len(ids))]
    values = compute_masked(
        runner,
        [ids, [*others(ids[:middle], runner.vocabulary), *ids[middle:]]],
        [list(range(len(ids)))] * 2,
        [near] * 2,
        method="original",
        mask_id=mask_id,
        budget=1,
    )
    require_context(model, *(bits[near] for bits in values if not isinstance(bits, ScoringFailure)))
    return plain


def masked_batching(model: Any, device: torch.device, mask_id: int, plain: Floats) -> Choice:
    """Choose the fastest mode that reproduces the `plain` bits; see `choose_batching`."""

    def gap(batching: str) -> float:
        return _gap(plain_runner(model, device, batching), mask_id, plain, None)

    return choose_batching(name_of(model), gap, tolerance(model))


def make_masked_runner(
    model: Any, device: torch.device, mask_id: int, plain: Floats, batching: str = "padded"
) -> tuple[ModelRunner, Rows | None]:
    """Build a runner with the optimisations that reproduce the `plain` bits. Returns it with its `Rows`, if any."""
    runner = plain_runner(model, device, batching)
    runner.body, runner.head = model.base_model, rest_of(model)
    allowed, gap = tolerance(model), _gap(runner, mask_id, plain, None)
    if gap > allowed:
        runner.body = runner.head = None
        runner.notes.append("Body and head could not be separated; all logits are computed.")
        return runner, None
    runner.gap = gap
    rows = last_rows(model, runner)
    if rows is None or (gap := _gap(runner, mask_id, plain, rows)) > allowed:
        return runner, None
    runner.gap = max(runner.gap, gap)
    runner.notes.append("The last layer is run only for the tokens that are scored.")
    return runner, rows


def _gap(runner: ModelRunner, mask_id: int, plain: Floats, rows: Rows | None) -> float:
    try:
        return max_difference(probe_bits(runner, mask_id, rows), plain)
    except Exception:  # noqa: BLE001 (any failure of a third-party model rules this out)
        return math.inf
