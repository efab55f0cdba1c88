"""Trial of one row: build a tiny random model, score texts with LM Gym, and compare with transformers in float64."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NamedTuple

from lmgym.models.backends import load_backend
from lmgym.models.backends.masked import MaskedBackend
from lmgym.models.engine import ScoringPolicy, TokenScores
from tests.lmgym.models.architectures.rows import ALONE, BATCHES, EQUAL, TREES, Row

BOUND_BITS = 1e-4
"""Largest permitted difference of a token from its value in float64."""
LEAST_EFFECT_BITS = 0.01
"""Least change of a later token when an early one is replaced. A model with less would ignore its context,
and the comparison would show nothing.
"""

_STEM = "The keys to the cabinet are on the table"
_LONG = (
    "The horse raced past the barn fell, and nobody saw it. What did the boy that the girl likes say? Nothing: she "
    "left; he stayed!"
)
TEXTS = (
    _STEM,
    f"{_STEM} .",
    f"{_STEM} , she said .",
    "The keys to the cabinet is",
    "The keys to the barn fell, and nobody saw the cabinet .",
    "The horse raced past the barn fell, and nobody saw it.",
    _LONG,
    f"{_LONG[:70]} said nothing to the boy who stayed on the table .",
    "Das Mädchen aß ein Stück Käsekuchen .",
    "猫が 魚を 🙂",
    "No",
    "",
)
"""Texts with common beginnings. _LONG has 54 tokens, more than any window in the registry."""
_SHORT = 40
"""Characters of a text for masked models, which need a pass for each token; _LONG keeps twice as many."""


class Outcome(NamedTuple):
    """Result of a trial.

    Attributes:
        way: how LM Gym ran the model: "trees", "trees up to 48 tokens", "batches", "batches of equal length" or
            "one at a time".
        difference: largest difference of a token from float64, in bits.
        tokens: compared tokens.
        effect: largest change of a later token when an early one is replaced, in bits.
    """

    way: str
    difference: float
    tokens: int
    effect: float


def build(row: Row, folder: Path) -> Path:
    """Save the row's model, with seeded random weights, and its tokenizer."""
    import torch
    from safetensors.torch import save_file
    from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForMaskedLM

    tokenizer = row.tokenizer()
    config = AutoConfig.for_model(row.model_type, **row.config(len(tokenizer)))
    if row.bare:
        folder.mkdir()
        save_file(
            {"weight": torch.zeros(len(tokenizer), row.config(1).get("hidden_size", 1))},
            folder / "model.safetensors",
        )
        config.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        return folder
    auto = AutoModelForMaskedLM if row.kind == "masked" else AutoModelForCausalLM
    torch.manual_seed(7)
    model = auto.from_config(config).eval()
    shake(model, row.noise)
    model.save_pretrained(folder, **row.saving)
    config.save_pretrained(folder)  # a model may have kept only the part for text
    tokenizer.save_pretrained(folder)
    return folder


def shake(model: Any, noise: float) -> None:
    """Add noise to all weights, so that predictions are uneven and no bias, gate or scale is neutral."""
    import torch

    with torch.no_grad():
        for weights in model.parameters():
            if weights.is_floating_point():
                weights.add_(torch.randn(weights.shape) * (noise if weights.ndim > 1 else 0.4 * noise))
    model.tie_weights()


def try_row(row: Row, folder: Path) -> Outcome:
    """Build the model in `folder`, score TEXTS in one call, and compare each token.

    Raises:
        BackendError: LM Gym refuses the model.
    """
    build(row, folder)
    config = {"source": "directory", "path": folder.name, "device": "cpu", "kernels": "stock"}
    backend: Any = load_backend(row.kind, config, model_dir=folder.parent, hub_allowed=False)
    reference = (
        Masked(folder, row.reference)
        if row.kind == "masked"
        else Causal(folder, row.reference, backend.start_id)
    )
    gaps, texts = list[float](), texts_for(row)
    for text, score in zip(texts, backend.score(texts, ScoringPolicy()), strict=True):
        assert isinstance(score, TokenScores), score
        ids, bits = reference.bits(text)
        assert score.ids == ids
        assert [bit is None for bit in score.bits] == [bit is None for bit in bits]
        gaps += [abs(a - b) for a, b in zip(score.bits, bits, strict=True) if a is not None and b is not None]
    return Outcome(way(backend), max(gaps), len(gaps), reference.effect())


def texts_for(row: Row) -> list[str]:
    """Return the texts that a row scores."""
    if row.kind == "causal":
        return list(TEXTS)
    return [text[: 2 * _SHORT if text == _LONG else _SHORT] for text in TEXTS]


def way(backend: Any) -> str:
    """Return how a loaded model runs texts, as in `Outcome.way`."""
    runner = backend._runner
    if isinstance(backend, MaskedBackend) or not runner.blocks:
        return {"padded": BATCHES, "equal": EQUAL, "alone": ALONE}[runner.batching]
    return f"{TREES} up to {runner.reach} tokens" if runner.reach else TREES


class Causal:
    """Plain transformers model, one text at a time."""

    def __init__(self, folder: Path, dtype: str, start: int | None) -> None:
        from tokenizers import Tokenizer

        self.start = [] if start is None else [start]
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.model = plain_model(folder, dtype, "AutoModelForCausalLM")

    def bits(self, text: str) -> tuple[list[int], list[float | None]]:
        """Return ids and surprisals of a text."""
        ids = [*self.start, *self.tokenizer.encode(text, add_special_tokens=False).ids]
        return ids, self._bits(ids)

    def _bits(self, ids: list[int]) -> list[float | None]:
        logs = log_probabilities(self.model, ids) if ids else ()
        return [None, *(-float(row[token]) for row, token in zip(logs, ids[1:], strict=False))][: len(ids)]

    def effect(self) -> float:
        """Return the largest change of a token, in bits, when the first token of a text is replaced."""
        ids, bits = self.bits(_LONG)
        at = len(self.start)
        other = self._bits([*ids[:at], ids[at] + 1, *ids[at + 1 :]])
        return max(abs(a - b) for a, b in zip(bits[at + 2 :], other[at + 2 :], strict=True))


class Masked:
    """Plain transformers model, one masked copy at a time, by the method within_word_l2r."""

    def __init__(self, folder: Path, dtype: str) -> None:
        from tokenizers import Tokenizer

        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.mask = self.tokenizer.token_to_id("<mask>")
        self.model = plain_model(folder, dtype, "AutoModelForMaskedLM")

    def bits(self, text: str) -> tuple[list[int], list[float | None]]:
        """Return ids and pseudo-surprisals of a text."""
        encoded = self.tokenizer.encode(text)
        return encoded.ids, [self._bit(encoded.ids, encoded.word_ids, at) for at in range(len(encoded.ids))]

    def _bit(self, ids: list[int], words: list[int | None], target: int) -> float | None:
        if words[target] is None:
            return None
        hidden = [at >= target and word == words[target] for at, word in enumerate(words)]
        seen = [self.mask if hide else token for token, hide in zip(ids, hidden, strict=True)]
        return -float(log_probabilities(self.model, seen)[target, ids[target]])

    def effect(self) -> float:
        """Return the largest change of a token, in bits, when the first token of a text is replaced."""
        encoded = self.tokenizer.encode(_LONG)
        other = [encoded.ids[0], encoded.ids[1] + 1, *encoded.ids[2:]]
        pairs = [
            (self._bit(encoded.ids, encoded.word_ids, at), self._bit(other, encoded.word_ids, at))
            for at in range(2, 8)
        ]
        return max(abs(a - b) for a, b in pairs if a is not None and b is not None)


def plain_model(folder: Path, dtype: str, auto: str) -> Any:
    """Load a model as transformers does, with plain loops over experts."""
    import torch
    import transformers

    model = getattr(transformers, auto).from_pretrained(folder, dtype=getattr(torch, dtype)).eval()
    model.config.get_text_config().use_cache = False
    if hasattr(model, "set_experts_implementation"):
        model.set_experts_implementation("eager")
    return model


def log_probabilities(model: Any, ids: list[int]) -> Any:
    """Return log2 probabilities [tokens, vocabulary] of one text."""
    import torch

    with torch.inference_mode():
        return torch.log_softmax(model(input_ids=torch.tensor([ids])).logits[0].double(), dim=-1) / math.log(
            2
        )
