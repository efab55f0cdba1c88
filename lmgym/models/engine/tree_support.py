"""Test a loaded model, and which optimisations reproduce its values (`make_runner`). Needs torch.

The reference is one text at a time. Padding, other texts of a batch, pooling over positions and state that one text
leaves to the next change the values of some models, so a mode of batching is used only if it reproduces the reference.
A model is refused if no mode does, if tokens see later ones, or if none depends on an earlier one.

The name of a model does not matter. Trees are used only if all its attention goes through `block_attention` and the
bits of branching probe sequences equal those of one sequence at a time. The first condition excludes models that apply
a window, a causal buffer or ALiBi themselves: these depend on indices in the row, which gathered keys change. The
second detects anything else that mixes positions (state-space layers, convolutions, position counters). All other
models run in batches, and the reason is shown on the model's page.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from lmgym.models.engine import block_attention, lengths
from lmgym.models.engine.batching import REFUSED_BITS, Unscorable, choose_batching, name_of
from lmgym.models.engine.device_errors import reports_device_failure
from lmgym.models.engine.execute import Computed, Floats, compute
from lmgym.models.engine.model_runner import ModelRunner
from lmgym.models.engine.scores import HALF_TOLERANCE_BITS, tolerance_bits
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

    Raises:
        Unscorable: the model's values would be wrong in every mode.
    """
    runner = ModelRunner.whole(model, device)
    probes = _probes(runner)
    if plain is None:
        plain = plain_bits(model, device)
    allowed = tolerance(model) if allowed is None else allowed
    _require_causal(runner, probes[0], plain, allowed)
    _choose_batching(runner, probes, plain, allowed)
    _split(runner, probes, plain, allowed)
    _try_trees(runner, probes, plain, allowed)
    return runner


def plain_bits(model: Any, device: torch.device) -> Floats:
    """Compute the bits of the probe sequences, one at a time, with the whole model. Raises Unscorable."""
    runner = ModelRunner.whole(model, device)
    return first_values(model, lambda: _bits(runner, _probes(runner), alone=True))


def first_values(model: Any, compute_bits: Callable[[], Floats]) -> Floats:
    """Compute the first values of a loaded model. Raises Unscorable with what the model raised."""
    try:
        return compute_bits()
    except Exception as error:
        if reports_device_failure(error):
            raise
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise Unscorable(f"{name_of(model)} cannot read token ids alone: {reason[:200]}") from error


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
    """Return the maximum number of positions in the configuration, or None."""
    stated = getattr(config.get_text_config(), "max_position_embeddings", None)
    limits = [stated, lengths.full_attention_limit(config)]
    return min((value for value in limits if isinstance(value, int) and value > 1), default=None)


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


def others(ids: Sequence[int], vocabulary: int) -> list[int]:
    """Replace each token with a different one."""
    return [(token + 1) % vocabulary for token in ids]


def require_context(model: Any, bits: Floats, changed: Floats) -> None:
    """Raise Unscorable if tokens have the same values although all other tokens of their text were replaced."""
    if bits.size and np.array_equal(bits, changed):
        raise Unscorable(
            f"{name_of(model)} ignores the context of a token: on this machine, its attention may lack a kernel."
        )


def max_difference(a: Floats, b: Floats) -> float:
    """Return the largest absolute difference between two arrays; infinite if only one of two values is NaN."""
    both = np.isnan(a) & np.isnan(b)
    gap = float(np.abs(a[~both] - b[~both]).max(initial=0.0))
    return gap if np.isfinite(gap) else float("inf")


def structural_gap(a: Floats, b: Floats, allowed: float) -> float:
    """Return `max_difference`, or the mean difference if the largest exceeds the tolerance of half precision: there,
    rounding alone changes single tokens by more."""
    gap = max_difference(a, b)
    is_half = allowed >= HALF_TOLERANCE_BITS and allowed < gap < np.inf
    return float(np.nanmean(np.abs(a - b))) if is_half else gap


def tolerance(model: Any) -> float:
    """Return the tolerated difference in bits between two computations in the model's dtype."""
    return tolerance_bits(str(getattr(model, "dtype", torch.float32)).removeprefix("torch."))


def _require_causal(runner: ModelRunner, ids: Sequence[int], plain: Floats, allowed: float) -> None:
    """Raise Unscorable unless the values of a sequence can be repeated and depend on earlier tokens only."""
    middle, name = len(ids) // 2, name_of(runner.model)
    early, late = ids[:middle], ids[middle:]
    again, *changed = (
        _bits(runner, [row], alone=True)
        for row in (
            ids,
            [*early, *others(late, runner.vocabulary)],
            [*others(early, runner.vocabulary), *late],
        )
    )
    if (gap := structural_gap(again, plain[: len(again)], allowed)) > max(allowed, REFUSED_BITS):
        raise Unscorable(
            f"The values of {name} are not reproducible: the same text scored twice differs by {gap:.2g} bits."
        )
    # Passes of one shape hardly differ by rounding. Value k belongs to token k + 1.
    if (gap := structural_gap(again[: middle - 1], changed[0][: middle - 1], allowed)) > allowed:
        raise Unscorable(
            f"In transformers, tokens of {name} see later tokens: a later token changes {gap:.2g} bits."
        )
    require_context(runner.model, again[middle:], changed[1][middle:])


def _choose_batching(
    runner: ModelRunner, probes: Sequence[Sequence[int]], plain: Floats, allowed: float
) -> None:
    """Choose how texts share passes; see `choose_batching`."""

    def gap(batching: str) -> float:
        runner.batching = batching
        try:
            return structural_gap(_bits(runner, probes, budget=_WIDE), plain, allowed)
        except Exception:  # noqa: BLE001 (any failure of a third-party model rules this out)
            return float("inf")

    runner.batching, runner.gap, note = choose_batching(name_of(runner.model), gap, allowed)
    runner.notes += [note] if note else []


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
