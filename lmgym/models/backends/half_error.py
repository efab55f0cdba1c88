"""Numerical error of half-precision types, measured against float32 with the same weights and sentences.

The standard deviation of a token's error decides which outcomes are too close to call (`engine.scores.TokenError`).
torch is imported inside functions.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from lmgym.models.backends.start_tokens import sentences

if TYPE_CHECKING:
    import torch

    from lmgym.models.engine.execute import Floats
    from lmgym.models.engine.model_runner import ModelRunner

COPY_MEMORY = 1.25
"""Free memory required for a copy in float32, as a multiple of the size of its weights."""


class HalfError(NamedTuple):
    """Error of one token's value in bits, relative to float32.

    Attributes:
        largest: maximum absolute error; 0.0 = not measured.
        sd: root mean square; None = not measured.
        tokens: number of values compared.
    """

    largest: float = 0.0
    sd: float | None = None
    tokens: int = 0


def texts() -> list[str]:
    """Return 300 sentences: plain ones, the same ones after another sentence, and with their words in reverse order.

    Errors are larger where a model is surprised, as by the ungrammatical sentences of a suite.
    """
    plain = sentences()
    longer = [f"{before} {sentence}" for before, sentence in zip([plain[-1], *plain], plain, strict=False)]
    return [*plain, *longer, *(" ".join(reversed(sentence.split())) for sentence in plain)]


def encoded_texts(tokenizer: Any, model: Any) -> list[list[int]]:
    """Tokenize `texts`, each after the declared start token, if any. Drops texts that the model cannot read,
    or that have fewer than two tokens."""
    from lmgym.models.backends.loading import readable_length

    start = tokenizer.bos_token_id
    first = [] if start is None else [start]
    rows = [[*first, *map(int, ids)] for ids in tokenizer(texts(), add_special_tokens=False)["input_ids"]]
    longest = readable_length(model.config, model) or math.inf
    vocabulary = model.get_input_embeddings().weight.shape[0]
    return [row for row in rows if 1 < len(row) <= longest and max(row) < vocabulary]


def bits_of(runner: ModelRunner, rows: Sequence[Sequence[int]]) -> Floats:
    """Compute the bits of all tokens after the first of each row, concatenated; NaN = the model gave no number."""
    import numpy as np

    from lmgym.models.engine.execute import compute
    from lmgym.models.engine.memory import default_budget
    from lmgym.models.engine.scores import ScoringFailure

    results = compute(runner, rows, budget=default_budget(runner.device, runner.vocabulary))
    return np.concatenate(
        [
            np.zeros(0),
            *(
                np.full(len(row) - 1, np.nan) if isinstance(result, ScoringFailure) else result.bits[1:]
                for result, row in zip(results, rows, strict=True)
            ),
        ]
    )


def plain_bits(model: Any, device: torch.device, rows: Sequence[Sequence[int]]) -> Floats:
    """Apply `bits_of` to a model without optimisations or padding."""
    from lmgym.models.engine.model_runner import ModelRunner

    runner = ModelRunner.whole(model, device)
    runner.batching = "equal"
    return bits_of(runner, rows)


def float32_values(
    model: Any, device: torch.device, values: Callable[[Any], Floats]
) -> tuple[Floats | None, str]:
    """Compute values of a copy of the model in float32.

    Returns:
        The values and "", or None and the reason why the model cannot be copied.
    """
    from lmgym.models.engine.memory import give_back, is_out_of_memory

    unknown = f"{_dtype(model)} was not compared with float32"
    if getattr(model, "hf_device_map", None):
        return None, f"{unknown}: the model's layers are distributed over several devices."
    no_room = f"{unknown}: a float32 copy does not fit into the memory of {device}."
    if 4 * COPY_MEMORY * sum(p.numel() for p in model.parameters()) > free_bytes(device):
        return None, no_room
    try:
        exact = values(copy.deepcopy(model).float())
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        give_back(device)
        return None, no_room
    give_back(device)
    return exact, ""


def compared(exact: Floats, half: Floats, dtype: str) -> tuple[HalfError, str]:
    """Compare values in half precision with those in float32.

    Returns:
        The error, and a note for the model's page.
    """
    import numpy as np

    gaps = np.abs(half - exact)
    gaps = gaps[np.isfinite(gaps)]
    if not gaps.size:
        return HalfError(), f"{dtype} was not compared with float32: its values are not finite."
    error = HalfError(float(gaps.max()), float(np.sqrt(np.mean(gaps**2))), int(gaps.size))
    return error, (
        f"{dtype}: on {error.tokens:,} tokens, the error relative to float32 has a standard deviation of "
        f"{error.sd:.2g} bits and is {error.largest:.2g} bits at most."
    )


def compare_masked(model: Any, device: torch.device, mask_id: int) -> tuple[HalfError, str]:
    """Compare a masked model with its copy in float32, on probe tokens."""
    from lmgym.models.engine.masked import plain_runner, probe_bits

    def bits(variant: Any) -> Floats:
        return probe_bits(plain_runner(variant, device), mask_id)

    exact, note = float32_values(model, device, bits)
    return (HalfError(), note) if exact is None else compared(exact, bits(model), _dtype(model))


def free_bytes(device: torch.device) -> float:
    """Return the free memory of a device in bytes; infinite if unknown."""
    import torch

    return float(torch.cuda.mem_get_info(device)[0]) if device.type == "cuda" else math.inf


def _dtype(model: Any) -> str:
    return str(getattr(model, "dtype", "half precision")).removeprefix("torch.")
