"""Make a loaded model ready to score fast: packed weights where they pay, tests of faster ways, and vocabulary tables.

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
"""What the setting `kernels` says; None: the faster ones are found by timing."""


def prepare(
    model: Any, device: torch.device, *, reload: Callable[[], Any], packing: bool | None = None
) -> ModelRunner:
    """A runner for the model, everything measured and tested. On a CPU its linear weights are packed if that
    was timed to be faster (`packing` None) or as told; a model that packing breaks is read again."""
    from lmgym.models.engine import packing as packs
    from lmgym.models.engine.tree_support import batch_bits, make_runner, plain_bits, tolerance

    if device.type != "cpu" or packing is False or not packs.available():
        return make_runner(model, device)
    before = plain_bits(model, device)
    allowed = tolerance(model)
    packs.fuse_gelu(model)
    gain = packs.measure(model).gain if packing is None else packs.GAIN
    if gain < packs.GAIN:
        runner = make_runner(model, device, plain=before)
        runner.notes.append(f"Stock linear kernels (packed ones were timed {gain:.2f} times as fast).")
        return runner
    gap = _gap_of_packing(model, lambda: batch_bits(model, device), before)
    if gap > allowed:
        runner = make_runner(reload(), device)
        runner.notes.append("Stock linear kernels: this model does not work with packed ones.")
        return runner
    runner = make_runner(model, device, plain=before)
    runner.packed = True
    runner.gap = max(runner.gap, gap)
    runner.notes.append(_packed_note(packing, gain, gap))
    return runner


def _packed_note(packing: bool | None, gain: float, gap: float) -> str:
    timed = "" if packing else f", timed {gain:.2f} times as fast as stock ones"
    return f"Packed linear kernels{timed}; probe values moved by {gap:.1g} bits."


def _gap_of_packing(model: Any, bits: Callable[[], Floats], before: Floats) -> float:
    """Pack the linear weights; how far that moves the bits of probes. Infinite for models that look into their layers:
    those keep the stock ones."""
    from lmgym.models.engine import packing as packs
    from lmgym.models.engine.tree_support import apart

    packs.pack(model)
    try:
        return apart(bits(), before)
    except Exception:  # noqa: BLE001 (any failure of a foreign model means: not this way)
        return float("inf")


def prepare_bfloat16(model: Any, device: torch.device) -> tuple[ModelRunner, float]:
    """A runner on a CPU whose linear layers (head excepted) work in bfloat16, and the largest error in bits that
    this makes on the probe sequences."""
    import numpy as np
    import torch

    from lmgym.models.engine import packing as packs
    from lmgym.models.engine.tree_support import HALF_TOLERANCE_BITS, make_runner, plain_bits

    before = plain_bits(model, device)
    packs.fuse_gelu(model)
    packs.pack(model, torch.bfloat16)
    plain = plain_bits(model, device)
    gaps = np.abs(plain - before)
    runner = make_runner(model, device, plain=plain, allowed=HALF_TOLERANCE_BITS)
    runner.packed = True
    runner.notes.append(
        f"bfloat16 by explicit choice: on probe tokens values are off by {gaps.mean():.2g} bits in the mean and "
        f"{gaps.max():.2g} at most. Do not publish such numbers."
    )
    return runner, float(gaps.max())


ROOM = 1.25
"""Free memory that a copy in float32 must find, in sizes of its weights."""


def compare_half(
    model: Any, device: torch.device, bits: Callable[[Any], NDArray[np.float64]]
) -> tuple[float, str]:
    """Largest error in bits that a half type makes on probe tokens against the same weights in float32, and that in
    words. `bits` are a model's values on the probes. 0.0 where no copy in float32 could be made; the words say so."""
    import copy

    import numpy as np

    from lmgym.models.engine.memory import give_back, is_out_of_memory

    kind = str(getattr(model, "dtype", "half precision")).removeprefix("torch.")
    unknown = f"{kind} was not compared with float32"
    if getattr(model, "hf_device_map", None):
        return 0.0, f"{unknown}: its layers are spread by accelerate."
    if 4 * ROOM * sum(one.numel() for one in model.parameters()) > free_bytes(device):
        return 0.0, f"{unknown}: a copy does not fit into the memory of {device}."
    try:
        gaps = np.abs(bits(model) - bits(copy.deepcopy(model).float()))
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        give_back(device)
        return 0.0, f"{unknown}: a copy does not fit into the memory of {device}."
    give_back(device)
    seen = gaps[np.isfinite(gaps)]
    if not len(seen):
        return 0.0, f"{unknown}: its probe values are not finite."
    said = f"{kind}: on probe tokens values are off by {seen.mean():.2g} bits in the mean and {seen.max():.2g} at most"
    return float(seen.max()), f"{said}, against the same weights in float32."


def free_bytes(device: torch.device) -> float:
    """Memory that is free on a device; infinite where it cannot be asked for."""
    import math

    import torch

    return float(torch.cuda.mem_get_info(device)[0]) if device.type == "cuda" else math.inf


def special_ids(tokenizer: Any) -> frozenset[int]:
    """Ids of tokens that mean something else than a piece of a sentence. The tokenizer makes them of their spelling,
    too, wherever a sentence has it."""
    added = tokenizer.added_tokens_decoder.items()
    return frozenset([*tokenizer.all_special_ids, *(number for number, token in added if token.special)])


def spellings(tokenizer: Any, rows: int) -> list[str | None]:
    """The vocabulary's spelling of each id; None for rows without a token."""
    table: list[str | None] = [None] * rows
    for token, number in tokenizer.get_vocab().items():
        if number < rows:
            table[number] = str(token)
    return table


@dataclass(frozen=True)
class Blanks:
    """The vocabulary split by leading blanks, on the model's device.

    sets      fp32 [vocabulary, 2]: begins with a blank or ends the text; begins without a blank
    prefixed  whether the tokenizer puts a blank before the first word, as SentencePiece does
    """

    sets: torch.Tensor
    prefixed: bool

    @classmethod
    def of(cls, tokenizer: Any, spelling: Sequence[str | None], device: torch.device) -> Blanks:
        """Read off the tokenizer's vocabulary."""
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
        """`TokenScores.boundary_bits` of one text, from masses [tokens, 2]. After a start token the first
        word begins without a blank, unless the tokenizer puts one there."""
        import math

        values: list[float | None] = []
        for at, flag in enumerate(special):
            value = float(mass[at, 1 if at == 0 and flag and not self.prefixed else 0])
            values.append(value if math.isfinite(value) else None)
        return values


def compare_half_masked(model: Any, device: torch.device, mask_id: int) -> tuple[float, str]:
    """`compare_half` for a masked model."""
    from lmgym.models.engine.masked import plain_runner, probe_bits

    return compare_half(model, device, lambda one: probe_bits(plain_runner(one, device), mask_id))


def compare_half_causal(model: Any, device: torch.device) -> tuple[float, str]:
    """`compare_half` for a causal model."""
    from lmgym.models.engine.tree_support import plain_bits

    return compare_half(model, device, lambda one: plain_bits(one, device))


def prepare_masked(
    model: Any, device: torch.device, *, reload: Callable[[], Any], mask_id: int, packing: bool | None = None
) -> tuple[ModelRunner, Rows | None]:
    """The same for a masked model: a runner, and how to run its last layer for the wanted rows only (None:
    for all). Each step is kept only if it gives the plain values."""
    from lmgym.models.engine import packing as packs
    from lmgym.models.engine.masked import choose_batching, make_masked_runner, plain_runner, probe_bits
    from lmgym.models.engine.tree_support import tolerance

    plain = probe_bits(plain_runner(model, device), mask_id)
    batching, said = choose_batching(model, device, mask_id, plain)
    allowed, notes, packed, gap = tolerance(model), [said] if said else [], False, 0.0
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
                notes.append("Stock linear kernels: this model does not work with packed ones.")
    runner, rows = make_masked_runner(model, device, mask_id, plain, batching)
    runner.packed, runner.gap = packed, max(runner.gap, gap)
    runner.notes[:0] = notes
    return runner, rows
