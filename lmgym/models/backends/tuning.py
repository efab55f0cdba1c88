"""Optimise a loaded model: packed weights if they are faster, tested optimisations, and vocabulary tables.

torch is imported inside functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lmgym.models.engine.whitespace import BLANK_MARKS, blank_sets

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray

    from lmgym.models.engine.execute import Floats
    from lmgym.models.engine.masked import Rows
    from lmgym.models.engine.model_runner import ModelRunner


PACKING = {None: None, "packed": True, "stock": False}
"""Values of the setting `kernels`; None = whichever are faster when timed."""


def prepare(
    model: Any, device: torch.device, *, reload: Callable[[], Any], packing: bool | None = None
) -> ModelRunner:
    """Build a runner with all optimisations that pass their tests.

    Args:
        reload: function that reads the model again if packing breaks it.
        packing: pack linear weights on a CPU; None = only if timing shows that it is faster.
    """
    from lmgym.models.engine import packing as packs
    from lmgym.models.engine.tree_support import make_runner, plain_bits, tolerance

    if device.type != "cpu" or packing is False or not packs.available():
        return make_runner(model, device)
    before = plain_bits(model, device)
    allowed = tolerance(model)
    packs.fuse_gelu(model)
    gain = packs.measure(model).gain if packing is None else packs.GAIN
    if gain < packs.GAIN:
        runner = make_runner(model, device, plain=before)
        runner.notes.append(f"Stock linear kernels (packed ones ran {gain:.2f} times as fast).")
        return runner
    gap = _gap_of_packing(model, lambda: plain_bits(model, device), before)
    if gap > allowed:
        runner = make_runner(reload(), device)
        runner.notes.append("Stock linear kernels: packed ones do not work with this model.")
        return runner
    runner = make_runner(model, device, plain=before)
    runner.packed = True
    runner.gap = max(runner.gap, gap)
    runner.notes.append(_packed_note(packing, gain, gap))
    return runner


def _packed_note(packing: bool | None, gain: float, gap: float) -> str:
    timed = "" if packing else f", which ran {gain:.2f} times as fast as stock ones"
    return f"Packed linear kernels{timed}; probe values changed by {gap:.1g} bits."


def _gap_of_packing(model: Any, bits: Callable[[], Floats], before: Floats) -> float:
    """Pack the linear weights. Returns the change of the probe values in bits; infinite if the packed model fails."""
    from lmgym.models.engine import packing as packs
    from lmgym.models.engine.tree_support import max_difference

    packs.pack(model)
    try:
        return max_difference(bits(), before)
    except Exception:  # noqa: BLE001 (any failure of a third-party model rules this out)
        return float("inf")


def prepare_bfloat16(model: Any, device: torch.device) -> ModelRunner:
    """Build a runner on a CPU whose linear layers, except the head, compute in bfloat16."""
    import torch

    from lmgym.models.engine import packing as packs
    from lmgym.models.engine.scores import HALF_TOLERANCE_BITS
    from lmgym.models.engine.tree_support import make_runner

    packs.fuse_gelu(model)
    packs.pack(model, torch.bfloat16)
    runner = make_runner(model, device, allowed=HALF_TOLERANCE_BITS)
    runner.packed = True
    runner.notes.append("bfloat16 was chosen explicitly. Do not publish these numbers.")
    return runner


def special_ids(tokenizer: Any) -> frozenset[int]:
    """Return the ids of tokens that are not part of a sentence.

    The tokenizer also produces them if a sentence contains their spelling.
    """
    added = tokenizer.added_tokens_decoder.items()
    return frozenset([*tokenizer.all_special_ids, *(number for number, token in added if token.special)])


def spellings(tokenizer: Any, rows: int) -> list[str | None]:
    """Return the spelling of each id in the vocabulary; None for rows without a token."""
    table: list[str | None] = [None] * rows
    for token, number in tokenizer.get_vocab().items():
        if number < rows:
            table[number] = str(token)
    return table


@dataclass(frozen=True)
class Blanks:
    """The vocabulary split by leading whitespace, on the model's device.

    Attributes:
        sets: fp32 [vocabulary, 2]: tokens that begin with whitespace or end the text; tokens that begin without it.
        prefixed: the tokenizer adds a space before the first word, as SentencePiece does.
    """

    sets: torch.Tensor
    prefixed: bool

    @classmethod
    def of(cls, tokenizer: Any, spelling: Sequence[str | None], device: torch.device) -> Blanks:
        """Classify the vocabulary of a tokenizer."""
        import torch

        ends = [tokenizer.eos_token_id] if tokenizer.eos_token_id is not None else []
        kind = type(tokenizer.backend_tokenizer.model).__name__
        marker = getattr(tokenizer.backend_tokenizer.model, "continuing_subword_prefix", None)
        sets = blank_sets(
            spelling,
            ends=ends,
            special=tokenizer.all_special_ids,
            continuing=marker or "##" if kind == "WordPiece" else "",
        )
        first = tokenizer.tokenize("a")
        prefixed = bool(first) and first[0].startswith(BLANK_MARKS)
        return cls(torch.tensor(sets, dtype=torch.float32, device=device), prefixed)

    def column(self, mass: NDArray[np.float64], special: Sequence[bool]) -> list[float | None]:
        """Compute `TokenScores.boundary_bits` of one text from masses [tokens, 2].

        After a start token, the first word begins without a space unless the tokenizer adds one.
        """
        import math

        values: list[float | None] = []
        for at, flag in enumerate(special):
            value = float(mass[at, 1 if at == 0 and flag and not self.prefixed else 0])
            values.append(value if math.isfinite(value) else None)
        return values


def prepare_masked(
    model: Any, device: torch.device, *, reload: Callable[[], Any], mask_id: int, packing: bool | None = None
) -> tuple[ModelRunner, Rows | None]:
    """Build a runner for a masked model with all optimisations that reproduce the plain values; see `prepare`.

    Returns:
        The runner, and a `Rows` function that runs the last layer only for scored tokens (None = for all).
    """
    from lmgym.models.engine import packing as packs
    from lmgym.models.engine.masked import (
        make_masked_runner,
        masked_batching,
        plain_probe,
        plain_runner,
        probe_bits,
    )
    from lmgym.models.engine.tree_support import tolerance

    plain = plain_probe(model, device, mask_id)
    batching, gap, note = masked_batching(model, device, mask_id, plain)
    allowed, notes, packed = tolerance(model), [note] if note else [], False
    if device.type == "cpu" and packing is not False and packs.available():
        gain = packs.measure(model).gain if packing is None else packs.GAIN
        if gain >= packs.GAIN:
            whole = plain_runner(model, device, batching)
            gap = _gap_of_packing(model, lambda: probe_bits(whole, mask_id), plain)
            packed = gap <= allowed
            if packed:
                notes.append(_packed_note(packing, gain, gap))
            else:
                model, gap = reload(), 0.0
                notes.append("Stock linear kernels: packed ones do not work with this model.")
    runner, rows = make_masked_runner(model, device, mask_id, plain, batching)
    runner.packed, runner.gap = packed, max(runner.gap, gap)
    runner.notes[:0] = notes
    return runner, rows
