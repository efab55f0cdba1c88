"""Pseudo-log-likelihoods of masked language models, batched over all masked copies. Needs torch.

original           each token given all others (Salazar et al. 2020)
within_word_l2r    each token given all others except the later tokens of its own word, so that a word's
                   pieces do not give each other away (Kauf & Ivanova 2023, arXiv 2305.10588)

Values are not comparable with those of left-to-right models: the words after a token are seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import torch

from lmgym.models.engine.execute import Floats
from lmgym.models.engine.memory import unless_full
from lmgym.models.engine.model_runner import ModelRunner, look_up, to_device
from lmgym.models.engine.plan import chunks
from lmgym.models.engine.scores import ScoringFailure
from lmgym.models.engine.tree_support import apart, context_limit, probe_sequences, rest_of, tolerance

METHODS = ("original", "within_word_l2r")
BATCHINGS = {
    "padded": "",
    "equal": "Scored in batches of equal lengths: with padding, probe tokens {problem}.",
    "alone": "Scored one masked copy at a time: in batches probe tokens {problem}.",
}
"""How copies share forward passes, the fastest first, and what a model's notes say of it. Models that mix positions
without a mask (FNet's Fourier transform) take padding for text."""


class Copy(NamedTuple):
    """One masked copy of a sequence: the places that are masked, and the one whose token is wanted."""

    sequence: int
    target: int
    masked: tuple[int, ...]


def masked_copies(
    words: Sequence[Sequence[int]], needed: Sequence[Sequence[bool]], method: str
) -> list[Copy]:
    """The copies to run. words[k][i] numbers the word of token i of sequence k; -1 = a special token, which is
    never wanted. Deterministic."""
    if method not in METHODS:
        raise ValueError(f"method is {method!r}: choose one of {', '.join(METHODS)}")
    found: list[Copy] = []
    for number, (own, wanted) in enumerate(zip(words, needed, strict=True)):
        for at, (word, flag) in enumerate(zip(own, wanted, strict=True)):
            if not flag or word < 0:
                continue
            later = [
                place
                for place in range(at + 1, len(own))
                if method == "within_word_l2r" and own[place] == word
            ]
            found.append(Copy(number, at, (at, *later)))
    return found


class Distinct(NamedTuple):
    """Copies without repeats: sentences that differ in one word are one input where that word is masked.

    ids     what the model reads, masks put in
    place   whose distribution is looked at
    tokens  the tokens that are looked up there
    """

    ids: tuple[int, ...]
    place: int
    tokens: list[int]


def distinct_copies(
    sequences: Sequence[Sequence[int]], copies: Sequence[Copy], mask_id: int
) -> tuple[list[Distinct], list[tuple[int, int]]]:
    """Distinct inputs in order of appearance, and of each copy: its input, and which of that input's tokens it
    is."""
    numbers: dict[tuple[tuple[int, ...], int], int] = {}
    found: list[Distinct] = []
    places: list[tuple[int, int]] = []
    for copy in copies:
        own = list(sequences[copy.sequence])
        token = own[copy.target]
        for at in copy.masked:
            own[at] = mask_id
        key = (tuple(own), copy.target)
        number = numbers.setdefault(key, len(found))
        if number == len(found):
            found.append(Distinct(*key, []))
        tokens = found[number].tokens
        if token not in tokens:
            tokens.append(token)
        places.append((number, tokens.index(token)))
    return found, places


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
    """Bits of each needed token; NaN = not asked for. Each distinct copy is run once; copies are sorted by
    length and batched as `runner.batching` says under a budget of padded tokens; when memory runs out it is halved.
    `rows` runs the model for one place per copy, see `last_rows`."""
    copies = masked_copies(words, needed, method)
    inputs, places = distinct_copies(sequences, copies, mask_id)
    values = _run(runner, inputs, budget, rows or whole_rows(runner))
    results = [np.full(len(ids), np.nan) for ids in sequences]
    failed: dict[int, ScoringFailure] = {}
    for copy, (number, which) in zip(copies, places, strict=True):
        bits = values[number]
        if bits is None:
            reason = (
                f"Memory on {runner.device} ran out on this text alone ({len(inputs[number].ids)} tokens)."
            )
            failed.setdefault(copy.sequence, ScoringFailure(reason, transient=True))
            continue
        results[copy.sequence][copy.target] = bits[which]
        if not math.isfinite(bits[which]):
            reason = f"The model's value for token {copy.target + 1} is not a finite number."
            failed.setdefault(copy.sequence, ScoringFailure(reason))
    return [failed.get(number, one) for number, one in enumerate(results)]


def _run(
    runner: ModelRunner, inputs: Sequence[Distinct], budget: int, rows: Rows
) -> list[list[float] | None]:
    """Bits of the tokens of each input; None = memory ran out on it alone."""
    found: list[list[float] | None] = [None] * len(inputs)
    lengths = [len(one.ids) for one in inputs]
    pending = _batches(lengths, budget, runner.batching)[::-1]
    while pending:
        batch = pending.pop()
        bits = unless_full(runner.device, partial(_forward, runner, [inputs[at] for at in batch], rows))
        if bits is not None:
            for at, own in zip(batch, bits, strict=True):
                found[at] = own
        elif len(batch) > 1:
            rest = [at for group in (batch, *reversed(pending)) for at in group]
            budget = max(1, min(budget, lengths[batch[-1]] * len(batch)) // 2)
            again = _batches([lengths[at] for at in rest], budget, runner.batching)
            pending = [[rest[place] for place in group] for group in again][::-1]
    return found


def _batches(lengths: Sequence[int], budget: int, batching: str) -> list[list[int]]:
    """Numbers into `lengths`, shortest first."""
    if batching == "padded":
        return chunks(lengths, budget)
    found = []
    for length in sorted(set(lengths)):
        same = [at for at, one in enumerate(lengths) if one == length]
        size = 1 if batching == "alone" else max(1, budget // length)
        found += [same[start : start + size] for start in range(0, len(same), size)]
    return found


Rows = Callable[[dict[str, torch.Tensor], torch.Tensor], torch.Tensor]
"""(model inputs [copies, width], place [copies]) -> one hidden row per copy, as the head takes it."""


def whole_rows(runner: ModelRunner) -> Rows:
    """Run the body for all positions and pick."""

    def run(inputs: dict[str, torch.Tensor], place: torch.Tensor) -> torch.Tensor:
        states = runner.states(**inputs)
        return states[torch.arange(len(place), device=place.device), place]

    return run


@torch.inference_mode()
def _forward(runner: ModelRunner, batch: Sequence[Distinct], rows: Rows) -> list[list[float]]:
    width = max(len(one.ids) for one in batch)
    ids = np.zeros((len(batch), width), np.int64)
    mask = np.zeros((len(batch), width), np.int64)
    for line, one in enumerate(batch):
        ids[line, : len(one.ids)] = one.ids
        mask[line, : len(one.ids)] = 1
    inputs = {"input_ids": to_device(ids, runner.device)}
    if runner.batching == "padded":  # else there is nothing to mask, and some models take no mask
        inputs["attention_mask"] = to_device(mask, runner.device)
    place = np.array([one.place for one in batch])
    counts = [len(one.tokens) for one in batch]
    tokens = np.array([token for one in batch for token in one.tokens])
    states = rows(inputs, to_device(place, runner.device))
    bits = iter(look_up(runner, states, np.repeat(np.arange(len(batch)), counts), tokens).bits.tolist())
    return [list(islice(bits, count)) for count in counts]


def last_rows(model: Any, runner: ModelRunner) -> Rows | None:
    """Rows that run the last layer's feed-forward part only where wanted, for bodies of BERT's build
    (encoder.layer[k] with attention, intermediate, output); None for others.

    The part after attention works position by position, so leaving positions out changes no value.
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
    """Bits of some tokens of the probe sequences."""
    limit = context_limit(runner.model.config)
    probes = probe_sequences(runner.vocabulary, None if limit is None else limit - 8)[1:6]
    words = [[at // 2 for at in range(len(ids))] for ids in probes]
    flags = [[at % 3 == 0 for at in range(len(ids))] for ids in probes]
    found = compute_masked(
        runner, probes, words, flags, method="within_word_l2r", mask_id=mask_id, budget=256, rows=rows
    )
    parts = [np.full(1, np.nan) if isinstance(one, ScoringFailure) else one[~np.isnan(one)] for one in found]
    return np.concatenate(parts)


def plain_runner(model: Any, device: torch.device, batching: str = "alone") -> ModelRunner:
    """The model as it comes; by itself each copy has the value that every other way must give."""
    runner = ModelRunner.whole(model, device)
    runner.batching = batching
    return runner


def choose_batching(model: Any, device: torch.device, mask_id: int, plain: Floats) -> tuple[str, str]:
    """The fastest of BATCHINGS that gives the `plain` bits, and a note on why it is none that is faster."""
    problem = ""
    for batching, said in BATCHINGS.items():
        gap = 0.0
        if batching != "alone":
            gap = _gap(plain_runner(model, device, batching), mask_id, plain, None)
        if gap <= tolerance(model):
            return batching, said.format(problem=problem)
        problem = (
            f"differ by {gap:.2g} bits from one copy at a time" if math.isfinite(gap) else "cannot be scored"
        )
    raise AssertionError


def make_masked_runner(
    model: Any, device: torch.device, mask_id: int, plain: Floats, batching: str = "padded"
) -> tuple[ModelRunner, Rows | None]:
    """A runner, and how to run its last layer for wanted rows only, as far as they give the `plain` bits."""
    runner = plain_runner(model, device, batching)
    runner.body, runner.head = model.base_model, rest_of(model)
    allowed, gap = tolerance(model), _gap(runner, mask_id, plain, None)
    if gap > allowed:
        runner.body = runner.head = None
        runner.notes.append("Body and head could not be told apart; all logits are computed.")
        return runner, None
    runner.gap = gap
    rows = last_rows(model, runner)
    if rows is None or (gap := _gap(runner, mask_id, plain, rows)) > allowed:
        return runner, None
    runner.gap = max(runner.gap, gap)
    runner.notes.append("The last layer is run for the wanted tokens only.")
    return runner, rows


def _gap(runner: ModelRunner, mask_id: int, plain: Floats, rows: Rows | None) -> float:
    try:
        return apart(probe_bits(runner, mask_id, rows), plain)
    except Exception:  # noqa: BLE001 (any failure of a foreign model means: not this way)
        return math.inf
