"""Render docs/architectures.md from the registry and the results of its trials."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from pathlib import Path

from lmgym.models.backends.loading import versions
from tests.lmgym.models.architectures.rows import ABSENT, REFUSED, ROWS, WINDOW, Row
from tests.lmgym.models.architectures.trial import BOUND_BITS, TEXTS, Outcome

PATH = Path(__file__).resolve().parents[4] / "docs" / "architectures.md"

_FEATURES = (
    ("kv_lora_rank", "latent attention"),
    ("num_experts", "mixture of experts"),
    ("num_local_experts", "mixture of experts"),
    ("n_routed_experts", "mixture of experts"),
    ("moe_num_experts", "mixture of experts"),
    ("state_size", "state space"),
    ("mamba_d_state", "state space and attention"),
    ("ssm_state_size", "state space and attention"),
    ("linear_key_head_dim", "linear and full attention"),
    ("linear_head_dim", "linear and full attention"),
    ("conv_kernel_size", "convolutions"),
    ("lru_width", "recurrent layers and attention"),
    ("context_length", "recurrent"),
)
_WINDOWS = (
    "sliding_window",
    "sliding_window_size",
    "attention_window_size",
    "window_size",
    "local_attention",
)

_HEAD = """# Architectures

Which model types of transformers LM Gym scores, how, and with what error. Each row is a test: a random model of two
layers with 32 hidden units is saved to a folder and loaded like any other, {texts} texts with common beginnings are
scored in one call, and every token is compared with plain transformers in float64, one text at a time. The test fails
above {bound:.0e} bits. Windows of attention are {window} tokens, shorter than most texts, unless the row names another.

| scored in | meaning ([surprisal.md](surprisal.md#trees-or-batches)) |
|---|---|
| trees | common beginnings are computed once |
| trees up to *n* tokens | longer texts in padded batches |
| batches | padded batches |
| batches of equal length | texts share a pass only with texts of the same length |
| one at a time | no texts share a pass |
| refused | with the reason in the last column |
| not tested | the row could not be built, for the reason in the last column |

{counts}
The largest difference is {largest:.1e} bits. Measured on {day} with transformers {transformers}, torch
{torch}, on a CPU ({machine}), float32, stock kernels:

```sh
python -m tests.lmgym.models.architectures
```

makes this page. `pytest tests/lmgym/models/test_architectures.py` tests all rows, and CI one of each family (`-m "not
long"`). Every type that transformers registers for causal or masked language models has a row; a test
compares the two lists. "Its text part" means a model that also reads or writes images or sound: it is given text only.
Folders whose `architectures` name another class than the causal or masked one (`Qwen3_5ForConditionalGeneration`) are
refused.

| model type | kind | scored in | largest difference, bits | remarks |
|---|---|---|---|---|
"""


def features(row: Row) -> list[str]:
    """Describe what the configuration of a row contains in addition to plain attention."""
    config = row.config(vocabulary=1)
    found = dict.fromkeys(text for name, text in _FEATURES if config.get(name))
    widths = [config[name] for name in _WINDOWS if config.get(name)]
    return [
        *([row.special] if row.special else []),
        *found,
        *([f"window of {widths[0]} tokens"] if widths else []),
    ]


def cells(row: Row) -> list[str]:
    """Return the cells of a row without its result: name, kind, way, remarks."""
    remarks = [row.special] if row.way in (REFUSED, ABSENT) else features(row)
    return [f"`{row.title}`", row.kind, row.way, "; ".join(remarks)]


def render(outcomes: Mapping[tuple[str, str], Outcome], day: str) -> str:
    """Render the page from the outcomes of all scored rows."""
    used = versions()
    scored = [row.way.split(" up to")[0] for row in ROWS if row.way not in (REFUSED, ABSENT)]
    counts = ", ".join(f"{scored.count(way)} in {way}" for way in dict.fromkeys(scored))
    without = " and ".join(
        f"{sum(row.way == way for row in ROWS)} {'is' if way == ABSENT else 'are'} {way}"
        for way in (REFUSED, ABSENT)
    )
    text = _HEAD.format(
        texts=len(TEXTS),
        bound=BOUND_BITS,
        window=WINDOW,
        counts=f"{len(scored)} rows are scored: {counts}; {without}.",
        largest=max(outcome.difference for outcome in outcomes.values()),
        day=day,
        transformers=used["transformers"],
        torch=used["torch"],
        machine=platform.machine(),
    )
    for row in ROWS:
        name, kind, how, remarks = cells(row)
        figure = f"{outcomes[row.key].difference:.1e}" if row.key in outcomes else ""
        text += f"| {name} | {kind} | {how} | {figure} | {remarks} |\n"
    return text
