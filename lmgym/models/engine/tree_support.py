"""Test which optimisations reproduce the values of a loaded model (`make_runner`). Needs torch.

The name of a model does not matter. Trees are used only if all attention of the model goes through
`block_attention`, and branching probe sequences get the same bits as when run one at a time. The first
condition excludes models that apply a window, a causal buffer or ALiBi themselves, because these depend on
indices in the row, which gathered keys change. The second condition detects anything else that mixes
positions (state-space layers, convolutions, position counters). All other models run in padded batches, and
the reason is shown on the model's page.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from lmgym.models.engine import block_attention, lengths
from lmgym.models.engine.execute import Computed, Floats, compute
from lmgym.models.engine.model_runner import ModelRunner
from lmgym.models.engine.scores import tolerance_bits
from lmgym.models.engine.vocabulary import parts_of

_FLOOR_BITS = 3e-5
_LEAK_SHARE = 0.1
_BUDGET = 64
_WIDE = 1024
_PROBE_BLOCK = 16
"""Queries per block in tests, small enough that every probe spans several blocks."""


def make_runner(
    model: Any, device: torch.device, *, plain: Floats | None = None, allowed: float | None = None
) -> ModelRunner:
    """Build a runner with all optimisations that pass their test, and notes on the others.

    Args:
        plain: `plain_bits` of the model, if known.
        allowed: tolerated difference in bits; the default depends on the dtype.
    """
    runner = ModelRunner.whole(model, device)
    probes = _probes(runner)
    if plain is None:
        plain = _bits(runner, probes, alone=True)
    allowed = tolerance(model) if allowed is None else allowed
    _split(runner, probes, plain, allowed)
    _try_trees(runner, probes, plain, allowed)
    return runner


def plain_bits(model: Any, device: torch.device) -> Floats:
    """Compute the bits of the probe sequences, one at a time, with the whole model."""
    runner = ModelRunner.whole(model, device)
    return _bits(runner, _probes(runner), alone=True)


def batch_bits(model: Any, device: torch.device) -> Floats:
    """Compute the bits of the probe sequences in one padded batch."""
    runner = ModelRunner.whole(model, device)
    return _bits(runner, _probes(runner), budget=_WIDE)


def _probes(runner: ModelRunner) -> list[list[int]]:
    return probe_sequences(runner.vocabulary, context_limit(runner.model.config))


def probe_sequences(vocabulary: int, limit: int | None = None) -> list[list[int]]:
    """Build probe sequences that branch early, late and not at all; one is a prefix of another. Deterministic."""
    draw = np.random.default_rng(20_260_101)
    trunk = draw.integers(0, vocabulary, 28).tolist()
    probes = [trunk]
    for at in (1, 2, 5, 9, 9, 14, 20, 27):
        probes.append(trunk[:at] + draw.integers(0, vocabulary, int(draw.integers(2, 12))).tolist())
    probes.append(trunk[:12])
    probes.append(draw.integers(0, vocabulary, 17).tolist())
    most = min(limit or 40, 40)
    return [ids[:most] for ids in probes]


def context_limit(config: Any) -> int | None:
    """Return the maximal number of positions in the configuration, or None."""
    value = getattr(config.get_text_config(), "max_position_embeddings", None)
    return value if isinstance(value, int) and value > 1 else None


def _bits(
    runner: ModelRunner,
    sequences: Sequence[Sequence[int]],
    *,
    alone: bool = False,
    budget: int = _BUDGET,
) -> Floats:
    """Compute the bits of all tokens after the first, concatenated; NaN = the model gave no number."""
    if alone:
        results = [result for ids in sequences for result in compute(runner, [ids], budget=budget)]
    else:
        results = compute(runner, sequences, budget=budget)
    return np.concatenate(
        [
            result.bits[1:] if isinstance(result, Computed) else np.full(len(ids) - 1, np.nan)
            for result, ids in zip(results, sequences, strict=True)
        ]
    )


def max_difference(a: Floats, b: Floats) -> float:
    """Return the largest absolute difference between two arrays; infinite if a value is NaN."""
    gap = float(np.abs(a - b).max(initial=0.0))
    return gap if np.isfinite(gap) else float("inf")


def tolerance(model: Any) -> float:
    """Return the tolerated difference in bits between two computations in the model's dtype."""
    return tolerance_bits(str(getattr(model, "dtype", torch.float32)).removeprefix("torch."))


def _split(runner: ModelRunner, probes: Sequence[Sequence[int]], plain: Floats, allowed: float) -> None:
    """Separate body and head if that reproduces the whole model.

    The head is the output projection, or everything the model does after its body (scaling, soft caps).
    """
    model = runner.model
    body, head = getattr(model, "base_model", None), model.get_output_embeddings()
    if body is None or body is model or head is None:
        runner.notes.append("Body and head could not be separated; all logits are computed.")
        return
    inner = model.get_decoder() if hasattr(model, "get_decoder") else body
    splits = [(inner if inner is not model else body, head), (body, rest_of(model))]
    for runner.body, runner.head in splits:
        runner.parts = parts_of(runner.head, runner.device)
        try:
            gap = max_difference(_bits(runner, probes, budget=_WIDE), plain)
        except Exception as error:  # noqa: BLE001 (any failure of a third-party model rules this out)
            problem = f"{type(error).__name__}"
        else:
            if gap <= allowed:
                runner.gap = max(runner.gap, gap)
                return
            problem = f"a difference of {gap:.2g} bits"
    runner.body = runner.head = None
    runner.parts = []
    runner.notes.append(f"Body and head do not reproduce the model ({problem}); all logits are computed.")


class _FixedBody(torch.nn.Module):
    """Replacement for the body that returns known hidden rows."""

    def __init__(self, states: torch.Tensor) -> None:
        super().__init__()
        self.states = states

    def forward(self, *_args: Any, **_named: Any) -> Any:
        """Return the rows as a model output."""
        return _Output((self.states,))


class _Output(tuple[torch.Tensor, ...]):
    """A model output with only hidden rows; other fields are None."""

    @property
    def last_hidden_state(self) -> torch.Tensor:
        return self[0]

    def __getattr__(self, name: str) -> None:
        if name.startswith("__"):
            raise AttributeError(name)


def rest_of(model: Any) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return everything the model does after its body as a function of hidden rows [rows, features]."""
    name = model.base_model_prefix

    def head(states: torch.Tensor) -> torch.Tensor:
        body = model._modules[name]
        model._modules[name] = _FixedBody(states[None])
        try:
            ids = torch.zeros((1, states.shape[0]), dtype=torch.long, device=states.device)
            logits: torch.Tensor = model(input_ids=ids).logits
            return logits[0]
        finally:
            model._modules[name] = body

    return head


def _try_trees(runner: ModelRunner, probes: Sequence[Sequence[int]], plain: Floats, most: float) -> None:
    """Enable trees if the model attends through `block_attention` and they reproduce the plain values.

    The difference must be much smaller than with attention that leaks between sequences.
    """
    if lengths.counts_places(runner.model.config):
        runner.notes.append(
            "Scored in length-sorted batches: its attention is scaled by positions in the row."
        )
        return
    if not block_attention.install(runner.model):
        runner.notes.append(
            "Scored in length-sorted batches: its custom attention may depend on positions in the row."
        )
        return
    runner.blocks = _PROBE_BLOCK
    gap, allowed, problem = _tree_gap(runner, probes, plain, most)
    if gap > allowed:
        block_attention.uninstall(runner.model)
        runner.blocks = 0
        runner.notes.append(
            f"Scored in length-sorted batches: in prefix trees, probe sentences {problem} ({allowed:.2g} allowed)."
        )
        return
    runner.gap = max(runner.gap, gap)
    runner.blocks = block_attention.WIDTH.get(runner.device.type, block_attention.WIDTH["cpu"])
    runner.reach = lengths.reach(runner.model.config)
    limit = f" for texts of up to {runner.reach} tokens" if runner.reach else ""
    runner.notes.append(
        f"Scored in prefix trees{limit}: probe sentences differ by {gap:.1g} bits from scoring them one at a time."
    )


def _tree_gap(
    runner: ModelRunner, probes: Sequence[Sequence[int]], plain: Floats, most: float
) -> tuple[float, float, str]:
    """Return the gap between tree and plain values in bits, the tolerated gap, and a description."""
    try:
        gap = max_difference(_bits(runner, probes), plain)
        leak = max_difference(_leaking(runner, probes, plain), plain)
        problem = f"differ by {gap:.2g} bits from scoring them one at a time"
    except Exception as error:  # noqa: BLE001 (any failure of a third-party model rules this out)
        gap, leak, problem = float("inf"), 0.0, f"failed ({type(error).__name__})"
    return gap, min(most, max(_FLOOR_BITS, _LEAK_SHARE * leak)), problem


def _leaking(runner: ModelRunner, probes: Sequence[Sequence[int]], plain: Floats) -> Floats:
    """Compute bits with all probes in one row, where they attend to each other.

    Tokens beyond the model's context keep their plain bits.
    """
    row = [token for ids in probes for token in ids]
    kept = row[: context_limit(runner.model.config)]
    firsts = np.cumsum([0, *map(len, probes)])[:-1]
    (whole,) = compute(ModelRunner(runner.model, runner.device), [kept], budget=len(kept))
    bits = np.full(len(row), np.nan)
    if isinstance(whole, Computed):
        bits[: len(kept)] = whole.bits
    leaked: Floats = np.delete(bits, firsts)
    return np.where(np.isnan(leaked), plain, leaked)
