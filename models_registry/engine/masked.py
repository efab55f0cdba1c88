"""Pseudo-log-likelihoods of masked language models, batched over all masked copies. Needs torch.

original           each token given all others (Salazar et al. 2020)
within_word_l2r    each token given all others except the later tokens of its own word, so that a word's
                   pieces do not give each other away (Kauf & Ivanova 2023, arXiv 2305.10588)

Values are not comparable with those of left-to-right models: the words after a token are seen.
"""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from models_registry.engine.execute import Floats, is_out_of_memory
from models_registry.engine.plan import chunks
from models_registry.engine.prove import apart, context_limit, probe_sequences, rest_of, tolerance
from models_registry.engine.reader import Reader, look, to_device
from models_registry.engine.scores import ScoringFailure

METHODS = ("original", "within_word_l2r")


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


def compute_masked(
    reader: Reader,
    sequences: Sequence[Sequence[int]],
    words: Sequence[Sequence[int]],
    needed: Sequence[Sequence[bool]],
    *,
    method: str,
    mask_id: int,
    budget: int,
    rows: Rows | None = None,
) -> list[Floats | ScoringFailure]:
    """Bits of each needed token; NaN = not asked for. Copies are sorted by length and batched under a budget of
    padded tokens; when memory runs out it is halved. `rows` runs the model for one place per copy, see
    `last_rows`."""
    copies = masked_copies(words, needed, method)
    results = [np.full(len(ids), np.nan) for ids in sequences]
    failed: dict[int, ScoringFailure] = {}
    lengths = [len(sequences[copy.sequence]) for copy in copies]
    pending = chunks(lengths, budget)[::-1]
    while pending:
        batch = pending.pop()
        chosen = [copies[at] for at in batch]
        bits = _attempt(reader, sequences, chosen, mask_id, rows or whole_rows(reader))
        if bits is not None:
            for copy, value in zip(chosen, bits, strict=True):
                results[copy.sequence][copy.target] = value
                if not math.isfinite(value):
                    reason = f"The model's value for token {copy.target + 1} is not a finite number."
                    failed.setdefault(copy.sequence, ScoringFailure(reason))
        elif len(batch) == 1:
            size = lengths[batch[0]]
            reason = f"Memory on {reader.device} ran out on this text alone ({size} tokens)."
            failed.setdefault(chosen[0].sequence, ScoringFailure(reason))
        else:
            rest = [at for group in (batch, *reversed(pending)) for at in group]
            budget = max(1, min(budget, lengths[batch[-1]] * len(batch)) // 2)
            again = chunks([lengths[at] for at in rest], budget)
            pending = [[rest[place] for place in group] for group in again][::-1]
    return [failed.get(number, one) for number, one in enumerate(results)]


Rows = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]
"""(ids, attention mask [copies, width], place [copies]) -> one hidden row per copy, as the head takes it."""


def whole_rows(reader: Reader) -> Rows:
    """Run the body for all positions and pick."""

    def run(ids: torch.Tensor, mask: torch.Tensor, place: torch.Tensor) -> torch.Tensor:
        states = reader.states(input_ids=ids, attention_mask=mask)
        return states[torch.arange(len(place), device=place.device), place]

    return run


def _attempt(
    reader: Reader, sequences: Sequence[Sequence[int]], copies: Sequence[Copy], mask_id: int, rows: Rows
) -> list[float] | None:
    """One batch of copies, or None when memory ran out."""
    try:
        return _forward(reader, sequences, copies, mask_id, rows)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
    gc.collect()
    if reader.device.type == "cuda":
        torch.cuda.empty_cache()
    return None


@torch.inference_mode()
def _forward(
    reader: Reader, sequences: Sequence[Sequence[int]], copies: Sequence[Copy], mask_id: int, rows: Rows
) -> list[float]:
    width = max(len(sequences[copy.sequence]) for copy in copies)
    ids = np.zeros((len(copies), width), np.int64)
    mask = np.zeros((len(copies), width), np.int64)
    for line, copy in enumerate(copies):
        own = sequences[copy.sequence]
        ids[line, : len(own)] = own
        ids[line, list(copy.masked)] = mask_id
        mask[line, : len(own)] = 1
    place = np.array([copy.target for copy in copies])
    target = np.array([sequences[copy.sequence][copy.target] for copy in copies])
    states = rows(*(to_device(part, reader.device) for part in (ids, mask, place)))
    bits = look(reader, states, np.arange(len(copies)), target).bits
    values: list[float] = bits.cpu().double().tolist()
    return values


def last_rows(model: Any, reader: Reader) -> Rows | None:
    """Rows that run the last layer's feed-forward part only where wanted, for bodies of BERT's build
    (encoder.layer[k] with attention, intermediate, output); None for others.

    The part after attention works position by position, so leaving positions out changes no value.
    """
    encoder = getattr(model.base_model, "encoder", None)
    layers = getattr(encoder, "layer", None)
    if not layers or not all(hasattr(layers[-1], name) for name in ("attention", "intermediate", "output")):
        return None
    last = layers[-1]

    def run(ids: torch.Tensor, mask: torch.Tensor, place: torch.Tensor) -> torch.Tensor:
        line = torch.arange(len(place), device=place.device)

        def pick(_module: Any, _inputs: Any, output: Any) -> Any:
            attended = output[0] if isinstance(output, tuple) else output
            rows = attended[line, place][:, None]
            return (rows, *output[1:]) if isinstance(output, tuple) else rows

        handle = last.attention.register_forward_hook(pick)
        try:
            return reader.states(input_ids=ids, attention_mask=mask)[:, 0]
        finally:
            handle.remove()

    return run


def probe_bits(reader: Reader, mask_id: int, rows: Rows | None = None) -> Floats:
    """Bits of some tokens of the probe sequences."""
    limit = context_limit(reader.model.config)
    probes = probe_sequences(reader.vocabulary, None if limit is None else limit - 8)[1:6]
    words = [[at // 2 for at in range(len(ids))] for ids in probes]
    flags = [[at % 3 == 0 for at in range(len(ids))] for ids in probes]
    found = compute_masked(
        reader, probes, words, flags, method="within_word_l2r", mask_id=mask_id, budget=256, rows=rows
    )
    parts = [np.full(1, np.nan) if isinstance(one, ScoringFailure) else one[~np.isnan(one)] for one in found]
    return np.concatenate(parts)


def prove_masked(model: Any, device: torch.device, mask_id: int, plain: Floats) -> tuple[Reader, Rows | None]:
    """A reader, and how to run its last layer for wanted rows only, as far as they give the `plain` bits."""
    size = int(model.get_input_embeddings().weight.shape[0])
    reader = Reader(model, device, vocabulary=size, body=model.base_model, head=rest_of(model))
    if _gap(reader, mask_id, plain, None) > tolerance(model):
        reader.body = reader.head = None
        reader.notes.append("Body and head could not be told apart; all logits are computed.")
        return reader, None
    rows = last_rows(model, reader)
    if rows is None or _gap(reader, mask_id, plain, rows) > tolerance(model):
        return reader, None
    reader.notes.append("The last layer is run for the wanted tokens only.")
    return reader, rows


def _gap(reader: Reader, mask_id: int, plain: Floats, rows: Rows | None) -> float:
    try:
        return apart(probe_bits(reader, mask_id, rows), plain)
    except Exception:  # noqa: BLE001 (any failure of a foreign model means: not this way)
        return math.inf
