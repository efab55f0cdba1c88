"""Masked language models (BERT, RoBERTa and others), scored by pseudo-log-likelihood.

torch and transformers are imported inside functions. The same rules for model files apply as in `causal`.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from lmgym.models.backends.base import BackendError, ModelFacts, require_possible
from lmgym.models.backends.half_error import HalfError, compare_masked
from lmgym.models.backends.loading import (
    EVERY_GPU,
    Folder,
    choose_device,
    device_name,
    find,
    read_model,
    read_settings,
    read_tokenizer,
    readable_length,
    refuse_unscorable,
    unreadable,
    versions,
)
from lmgym.models.backends.tuning import PACKING, prepare_masked, special_ids, spellings
from lmgym.models.backends.unchanged import FileSnapshot
from lmgym.models.engine.plan import needed_tokens, unique_texts
from lmgym.models.engine.policy import ScoringPolicy
from lmgym.models.engine.scores import HALF_TYPES, ScoringFailure, TokenScores, error_bound

if TYPE_CHECKING:
    from lmgym.models.engine.execute import Floats
    from lmgym.models.engine.masked import Rows
    from lmgym.models.engine.model_runner import ModelRunner

_GAPS = "Pseudo-log-likelihood needs a masked language model (BERT, RoBERTa, DistilBERT, ELECTRA and others)."
_LABELS = {
    "original": "each token given all others",
    "within_word_l2r": "each token given all others except later tokens of the same word "
    "(Kauf & Ivanova 2023)",
}


class _Encoded(NamedTuple):
    """One text as input of the model. words[i] is the word number of token i; -1 = special."""

    ids: list[int]
    offsets: list[tuple[int, int]]
    special: list[bool]
    words: list[int]


class MaskedBackend:
    """A loaded model with its tokenizer. Thread-safe: concurrent calls take turns.

    The tokenizer's special tokens around a text ([CLS] and [SEP]) are always present and never scored. Policies that
    require other start or end tokens are rejected, as are the whitespace correction and windows over long texts, which
    are defined for left-to-right prediction.
    """

    def __init__(
        self,
        runner: ModelRunner,
        tokenizer: Any,
        *,
        facts: ModelFacts,
        method: str,
        rows: Rows | None = None,
        snapshot: FileSnapshot | None = None,
    ) -> None:
        from lmgym.models.engine.memory import default_budget

        self.snapshot = snapshot
        self._one_at_a_time = threading.Lock()
        self.facts = facts
        self._runner, self._rows, self._tokenizer, self._method = runner, rows, tokenizer, method
        self._budget = default_budget(runner.device, 1)
        self._spelling = spellings(tokenizer, runner.vocabulary)

    @property
    def special_ids(self) -> frozenset[int]:
        return special_ids(self._tokenizer)

    def score(
        self,
        texts: Sequence[str],
        policy: ScoringPolicy,
        needed: Sequence[Sequence[tuple[int, int]]] | None = None,
    ) -> list[TokenScores | ScoringFailure]:
        """Compute -log2 p(token | other tokens) by the backend's method; see `Backend.score`.

        Raises:
            BackendError: the model cannot follow the policy.
            BackendUnavailable: the files of the model changed.
        """
        require_possible("masked", policy)
        with self._one_at_a_time:
            results = self._score(texts, policy, needed)
        if self.snapshot is not None:
            self.snapshot.require_unchanged()  # weights on a CPU are mapped from their file
        return results

    def _score(
        self,
        texts: Sequence[str],
        policy: ScoringPolicy,
        needed: Sequence[Sequence[tuple[int, int]]] | None,
    ) -> list[TokenScores | ScoringFailure]:
        from lmgym.models.engine.masked import compute_masked

        unique = unique_texts(texts)
        encoded = [self._encode(text) for text in unique.values]
        spans: list[list[tuple[int, int]]] = [[] for _ in encoded]
        for index, ranges in zip(unique.places, needed or (), strict=needed is not None):
            spans[index].extend(ranges)
        ready = [at for at, item in enumerate(encoded) if isinstance(item, _Encoded)]
        items = [item for item in encoded if isinstance(item, _Encoded)]
        needed_flags = [
            [True] * len(item.ids) if needed is None else needed_tokens(item.offsets, spans[at])
            for at, item in zip(ready, items, strict=True)
        ]
        values = compute_masked(
            self._runner,
            [item.ids for item in items],
            [item.words for item in items],
            needed_flags,
            method=self._method,
            mask_id=self._tokenizer.mask_token_id,
            budget=self._budget,
            rows=self._rows,
        )
        results: list[TokenScores | ScoringFailure] = [
            item if isinstance(item, ScoringFailure) else ScoringFailure("") for item in encoded
        ]
        for at, item, flags, item_values in zip(ready, items, needed_flags, values, strict=True):
            results[at] = self._result(item, flags, item_values)
        return [results[at] for at in unique.places]

    def _encode(self, text: str) -> _Encoded | ScoringFailure:
        """Tokenize a whole text with the tokenizer's special tokens."""
        try:
            text.encode()
        except UnicodeEncodeError:
            return ScoringFailure("The text contains half a surrogate pair, which is not a character.")
        batch = self._tokenizer(
            text,
            add_special_tokens=True,
            return_offsets_mapping=True,
            return_special_tokens_mask=True,
            padding=False,
            truncation=False,
            verbose=False,
        )
        ids = list(batch["input_ids"])
        if refused := unreadable(text, ids, self.facts.context_length, self._runner.vocabulary):
            return refused
        words = [-1 if word is None else word for word in batch.word_ids()]
        special = [word < 0 for word in words]
        first = special.index(False) if False in special else len(special)
        end = (len(text), len(text))
        offsets = [
            (end if at > first else (0, 0)) if is_special else span
            for at, (is_special, span) in enumerate(zip(special, batch["offset_mapping"], strict=True))
        ]
        return _Encoded(ids, offsets, special, words)

    def _result(
        self, item: _Encoded, needed_flags: Sequence[bool], values: Floats | ScoringFailure
    ) -> TokenScores | ScoringFailure:
        if isinstance(values, ScoringFailure):
            return values
        scored = [
            flag and not is_special for flag, is_special in zip(needed_flags, item.special, strict=True)
        ]
        bits = [value if flag else None for value, flag in zip(values.tolist(), scored, strict=True)]
        skipped = [
            not flag and not is_special for flag, is_special in zip(needed_flags, item.special, strict=True)
        ]
        tokens = [self._spelling[number] or "" for number in item.ids]
        return TokenScores(
            tokens, item.ids, item.offsets, bits, item.special, skipped if any(skipped) else []
        )


def load(config: dict[str, Any], *, model_dir: Path, hub_allowed: bool) -> MaskedBackend:
    """Load a model.

    Args:
        config: as in `causal.load`, plus "method" (original or within_word_l2r), without "cpu_bfloat16" and
            "bos_token".

    Raises:
        BackendError: the model cannot be used.
    """
    return _build(find(config, model_dir=model_dir, hub_allowed=hub_allowed), config)


def _build(source: Folder, config: dict[str, Any]) -> MaskedBackend:
    """Load a checked folder."""
    import torch
    from transformers import AutoModelForMaskedLM

    device = choose_device(config.get("device", "auto"))
    name = config.get("dtype", "float32") if device.type == "cuda" else "float32"
    method = config.get("method", "within_word_l2r")
    settings = _read_settings(source.path)
    notes = list[str]()
    tokenizer = read_tokenizer(source.path, notes, framed=True)
    if tokenizer.mask_token_id is None:
        raise BackendError("The tokenizer has no mask token.", _GAPS)
    dtype = getattr(torch, name)

    def read() -> Any:
        spread = config.get("device") == EVERY_GPU
        return read_model(source.path, settings, dtype, device, AutoModelForMaskedLM, spread=spread)

    model = read()
    parameters, architecture = sum(p.numel() for p in model.parameters()), type(model).__name__
    error = HalfError()
    if name in HALF_TYPES:
        error, note = compare_masked(model, device, tokenizer.mask_token_id)
        notes.append(note)
    with refuse_unscorable(_GAPS):
        runner, rows = prepare_masked(
            model,
            device,
            reload=read,
            mask_id=tokenizer.mask_token_id,
            packing=PACKING[config.get("kernels")],
        )
    facts = ModelFacts(
        parameters=parameters,
        vocabulary_size=len(tokenizer),
        tokenizer=f"{type(tokenizer).__name__} ({type(tokenizer.backend_tokenizer.model).__name__})",
        context_length=readable_length(settings, runner.model),
        bos=tokenizer.cls_token or tokenizer.bos_token,
        eos=tokenizer.sep_token or tokenizer.eos_token,
        dtype=name,
        device=device_name(device, runner.model),
        revision=source.revision,
        fingerprint=hashlib.sha256(f"{source.content} {name} masked {method}".encode()).hexdigest(),
        versions=versions(),
        kernels="packed" if runner.packed else "stock",
        architecture=architecture,
        notes=(
            f"Pseudo-log-likelihood {method}: {_LABELS[method]}. The model sees words on both sides, so these bits "
            "are not comparable with the surprisals of left-to-right models.",
            *notes,
            *runner.notes,
        ),
        score_kind=f"pseudo-log-likelihood {method}",
        error_bits=error_bound(name, half=error.largest, optimised=runner.gap),
        error_sd_bits=error.sd,
        error_sd_tokens=error.tokens,
    )
    return MaskedBackend(runner, tokenizer, facts=facts, method=method, rows=rows, snapshot=source.snapshot)


def _read_settings(folder: Path) -> Any:
    """Read the configuration of a masked language model. Raises BackendError for other models."""
    from transformers import MODEL_FOR_MASKED_LM_MAPPING

    settings, stated = read_settings(folder, _GAPS)
    both_ways = type(settings) in MODEL_FOR_MASKED_LM_MAPPING and not getattr(settings, "is_decoder", False)
    if not both_ways or getattr(settings, "is_encoder_decoder", False):
        raise BackendError(f"{stated} is not a masked language model.", _GAPS)
    return settings
