"""Causal transformers models with safetensors weights and fast tokenizers.

torch and transformers are imported inside functions, so that the web process can import this module. Code that comes
with a model is never run, and only safetensors weights are read (see `files.check_folder`).
"""

from __future__ import annotations

import hashlib
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from lmgym.models.backends import gguf_file, half_error, start_tokens
from lmgym.models.backends.base import BackendError, ModelFacts, no_such_token
from lmgym.models.backends.half_error import HalfError
from lmgym.models.backends.loading import (
    EVERY_GPU,
    Folder,
    choose_device,
    device_name,
    find,
    full_precision,
    read_model,
    read_settings,
    read_tokenizer,
    readable_length,
    refuse_unscorable,
    unreadable,
    versions,
)
from lmgym.models.backends.tuning import (
    PACKING,
    Blanks,
    prepare,
    prepare_bfloat16,
    special_ids,
    spellings,
)
from lmgym.models.backends.unchanged import FileSnapshot
from lmgym.models.engine.plan import UniqueTexts, boundary_tokens, needed_tokens, unique_texts
from lmgym.models.engine.policy import ScoringPolicy
from lmgym.models.engine.scores import HALF_TYPES, ScoringFailure, TokenScores, error_bound
from lmgym.models.engine.windows import windows
from lmgym.text import count

if TYPE_CHECKING:
    import torch

    from lmgym.models.engine.execute import Computed, Floats
    from lmgym.models.engine.model_runner import ModelRunner

_NO_ERROR = HalfError()
_LEFT_TO_RIGHT = "Surprisal needs a causal language model (GPT-2, Llama, OPT, Pythia and others)."


class _Encoded(NamedTuple):
    """One text as input of the model, including start and end tokens."""

    ids: list[int]
    offsets: list[tuple[int, int]]
    special: list[bool]


class _Part(NamedTuple):
    """One window of a text.

    Attributes:
        ids: ids of the tokens to read.
        n_context: number of leading tokens that serve only as context.
        place: positions of the remaining tokens in the text.
    """

    ids: list[int]
    n_context: int
    place: slice


class CausalBackend:
    """A loaded model with its tokenizer. Thread-safe: concurrent calls take turns.

    Args:
        start_is_given: the configuration names the start token, so `choose_start_token` does not change it.
        snapshot: state of the files before loading, to detect changes.
    """

    def __init__(
        self,
        runner: ModelRunner,
        tokenizer: Any,
        *,
        facts: ModelFacts,
        start_is_given: bool = False,
        snapshot: FileSnapshot | None = None,
    ) -> None:
        from lmgym.models.engine.memory import default_budget

        self.facts = facts
        self._start_is_given = start_is_given
        self.snapshot = snapshot
        self._one_at_a_time = threading.Lock()
        self._runner = runner
        self._tokenizer = tokenizer
        self._budget = default_budget(runner.device, runner.vocabulary)
        self._spelling: list[str | None] = spellings(tokenizer, runner.vocabulary)
        self._blanks: Blanks | None = None

    @property
    def start_id(self) -> int | None:
        """Id of the model's start token; None = none."""
        return None if self.facts.bos is None else self._id_of(self.facts.bos)

    @property
    def special_ids(self) -> frozenset[int]:
        return special_ids(self._tokenizer)

    def _id_of(self, token: str) -> int:
        token_id = self._tokenizer.backend_tokenizer.token_to_id(token)
        if token_id is None:
            raise no_such_token(token)
        return int(token_id)

    def choose_start_token(self) -> dict[str, Any]:
        """Compare all candidates on plain sentences and use the best one, unless the configuration names one.

        Returns:
            The record of `start_tokens.measured`.
        """
        with self._one_at_a_time:
            usable = [
                candidate
                for candidate in start_tokens.candidates(self._tokenizer)
                if candidate.token is None or self._id_of(candidate.token) < self._runner.vocabulary
            ]
            record = start_tokens.measured(self._tokenizer, usable, self._bits_from, self._runner.vocabulary)
            if not self._start_is_given:
                self.facts = replace(self.facts, bos=record["token"])
        return record

    def _bits_from(self, rows: list[list[int]], first_positions: list[int]) -> list[list[float] | None]:
        from lmgym.models.engine.execute import compute

        limit = self.facts.context_length or math.inf
        short = [at for at, ids in enumerate(rows) if len(ids) <= limit]
        values = compute(
            self._runner,
            [rows[at] for at in short],
            budget=self._budget,
            needed=[[position >= first_positions[at] for position in range(len(rows[at]))] for at in short],
        )
        bits: list[list[float] | None] = [None] * len(rows)
        for at, computed in zip(short, values, strict=True):
            if not isinstance(computed, ScoringFailure):
                bits[at] = computed.bits[first_positions[at] :].tolist()
        return bits

    def score(
        self,
        texts: Sequence[str],
        policy: ScoringPolicy,
        needed: Sequence[Sequence[tuple[int, int]]] | None = None,
    ) -> list[TokenScores | ScoringFailure]:
        """Compute surprisals of tokens; shared prefixes of texts are computed once. See `Backend.score`.

        Returns:
            One result per text. A text that is longer than the context (without windows), is not valid Unicode, does
            not fit into memory, or has a token without an embedding or a value that is not finite gives a
            ScoringFailure.

        Raises:
            BackendError: the model lacks the start token of the policy, or the overlap does not fit into its context.
            BackendUnavailable: the files of the model changed.
        """
        with self._one_at_a_time:
            results = self._score(texts, policy, needed)
        if self.snapshot is not None:
            self.snapshot.require_unchanged()  # weights on a CPU are mapped from their file
        return results

    @contextmanager
    def exclusive(self) -> Iterator[tuple[ModelRunner, Any]]:
        """Give exclusive access to the model and its tokenizer."""
        with self._one_at_a_time:
            yield self._runner, self._tokenizer

    def _score(
        self,
        texts: Sequence[str],
        policy: ScoringPolicy,
        needed: Sequence[Sequence[tuple[int, int]]] | None,
    ) -> list[TokenScores | ScoringFailure]:
        from lmgym.models.engine.execute import compute

        if policy.bos == "always" and self.facts.bos is None:
            raise BackendError(
                "The policy requires a start token, but this model has none.",
                'Use the start policy "auto" or "never".',
            )
        if policy.whitespace == "trailing" and self._blanks is None:
            self._blanks = Blanks.of(self._tokenizer, self._spelling, self._runner.device)
        start = self.facts.start_token(policy)
        start_id = None if start is None else self._id_of(start)
        self._require_overlap(policy, start)
        unique = unique_texts(texts)
        spans = _merged(unique, needed)
        encoded = self._encode(unique.values, policy, start_id)
        ready = [(at, item) for at, item in enumerate(encoded) if isinstance(item, _Encoded)]
        needed_flags = (
            None if spans is None else [needed_tokens(item.offsets, spans[at]) for at, item in ready]
        )
        boundary_flags = None if policy.whitespace == "none" else _boundary_rows(ready, needed_flags)
        cuts = [self._cut(item, policy) for _, item in ready]
        values = compute(
            self._runner,
            [part.ids for parts in cuts for part in parts],
            budget=self._budget,
            needed=_flags_of(cuts, needed_flags),
            rows=None if boundary_flags is None else _flags_of(cuts, boundary_flags),
            sets=self._blanks.sets if self._blanks and policy.whitespace != "none" else None,
        )
        values = _joined(cuts, values)
        results: list[TokenScores | ScoringFailure] = [
            item if isinstance(item, ScoringFailure) else ScoringFailure("") for item in encoded
        ]
        for number, (at, item) in enumerate(ready):
            flags = None if needed_flags is None else needed_flags[number]
            results[at] = self._result(item, values[number], flags, policy)
        return [results[at] for at in unique.places]

    def _encode(
        self, texts: Sequence[str], policy: ScoringPolicy, start: int | None
    ) -> list[_Encoded | ScoringFailure]:
        """Tokenize whole texts. Start and end tokens are added only here, so they are never doubled."""
        usable = [text for text in texts if _is_unicode(text)]
        rows = iter(self._tokenize(usable) if usable else ())
        return [
            self._frame(text, *next(rows), policy, start)
            if _is_unicode(text)
            else ScoringFailure("The text contains half a surrogate pair, which is not a character.")
            for text in texts
        ]

    def _tokenize(self, texts: list[str]) -> list[tuple[list[int], list[tuple[int, int]]]]:
        """Return ids and character offsets per text, without the padding and truncation of the tokenizer's file."""
        batch = self._tokenizer(
            texts,
            add_special_tokens=False,
            return_offsets_mapping=True,
            return_attention_mask=False,
            return_token_type_ids=False,
            padding=False,
            truncation=False,
            verbose=False,
        )
        return list(zip(batch["input_ids"], batch["offset_mapping"], strict=True))

    def _frame(
        self,
        text: str,
        ids: list[int],
        offsets: list[tuple[int, int]],
        policy: ScoringPolicy,
        start: int | None,
    ) -> _Encoded | ScoringFailure:
        """Add start and end tokens, and reject texts that the model cannot read."""
        special = [False] * len(ids)
        spans = list(offsets)
        eos = self._tokenizer.eos_token_id
        if start is not None:
            ids, spans, special = [start, *ids], [(0, 0), *spans], [True, *special]
        if policy.eos and eos is not None:
            ids, spans, special = [*ids, eos], [*spans, (len(text), len(text))], [*special, True]
        limit = self.facts.context_length if policy.overlap is None else None
        refused = unreadable(text, ids, limit, self._runner.vocabulary)
        return refused or _Encoded(ids, spans, special)

    def _require_overlap(self, policy: ScoringPolicy, start: str | None) -> None:
        """Raise BackendError if the windows of the policy would leave tokens without a value."""
        limit = self.facts.context_length
        if policy.overlap is None or limit is None:
            return
        size = limit - (start is not None)
        if policy.overlap >= size:
            after = "" if start is None else f" after the start token {start}"
            raise BackendError(
                f"An overlap of {count(policy.overlap, 'token')} leaves no room for new ones: the model reads at "
                f"most {count(size, 'token')}{after}.",
                f"Use an overlap of at most {size - 1}.",
            )
        if policy.overlap == 0 and start is None:
            raise BackendError(
                "Without a start token, an overlap of 0 leaves the first token of every window without a value.",
                "Use an overlap of 1 or more.",
            )

    def _cut(self, item: _Encoded, policy: ScoringPolicy) -> list[_Part]:
        """Split a text into the policy's windows, each preceded by the start token, if any. A text that fits, or a
        policy without windows, gives one part."""
        limit, n = self.facts.context_length, len(item.ids)
        if policy.overlap is None or limit is None or n <= limit:
            return [_Part(item.ids, 0, slice(0, n))]
        head = 1 if item.special[0] else 0
        first, *later = windows(n - head, limit - head, policy.overlap)
        parts = [_Part(item.ids[: head + first.end], 0, slice(0, head + first.end))]
        for begin, fresh, end in later:
            ids = [*item.ids[:head], *item.ids[head + begin : head + end]]
            parts.append(_Part(ids, head + fresh - begin, slice(head + fresh, head + end)))
        return parts

    def _result(
        self,
        item: _Encoded,
        values: Computed | ScoringFailure,
        needed_flags: Sequence[bool] | None,
        policy: ScoringPolicy,
    ) -> TokenScores | ScoringFailure:
        """Combine tokens and values; the first token has no context and so no value."""
        if isinstance(values, ScoringFailure):
            return values
        bits: list[float | None] = values.bits.tolist()
        if bits:
            bits[0] = None
        skipped: list[bool] = []
        if needed_flags is not None:
            skipped = [not flag and at > 0 for at, flag in enumerate(needed_flags)]
            bits = [None if skip else value for value, skip in zip(bits, skipped, strict=True)]
        tokens = [self._spelling[number] or "" for number in item.ids]
        boundary = None
        if policy.whitespace != "none" and self._blanks is not None:
            boundary = self._blanks.column(values.mass, item.special)
        skipped = skipped if any(skipped) else []
        return TokenScores(tokens, item.ids, item.offsets, bits, item.special, skipped, boundary)


def _merged(
    unique: UniqueTexts, needed: Sequence[Sequence[tuple[int, int]]] | None
) -> list[list[tuple[int, int]]] | None:
    """Merge the needed character ranges of equal texts."""
    if needed is None:
        return None
    spans: list[dict[tuple[int, int], None]] = [{} for _ in unique.values]
    for index, ranges in zip(unique.places, needed, strict=True):
        spans[index].update(((int(start), int(end)), None) for start, end in ranges)
    return [list(ranges) for ranges in spans]


def _boundary_rows(
    ready: Sequence[tuple[int, _Encoded]], needed_flags: Sequence[Sequence[bool]] | None
) -> list[list[bool]]:
    """Flag the tokens whose boundary the whitespace correction needs."""
    if needed_flags is None:
        return [[True] * len(item.ids) for _, item in ready]
    return list(map(boundary_tokens, needed_flags))


def _flags_of(cuts: list[list[_Part]], flags: Sequence[Sequence[bool]] | None) -> list[list[bool]] | None:
    """Distribute the flags of texts over their windows; tokens that are context only are not flagged."""
    if flags is None and all(len(parts) == 1 for parts in cuts):
        return None
    return [
        [False] * part.n_context
        + ([True] * (len(part.ids) - part.n_context) if flags is None else list(flags[at][part.place]))
        for at, parts in enumerate(cuts)
        for part in parts
    ]


def _joined(
    cuts: list[list[_Part]], values: Sequence[Computed | ScoringFailure]
) -> list[Computed | ScoringFailure]:
    """Join the values of each text's windows; a text with failed windows gets the first failure."""
    import numpy as np

    from lmgym.models.engine.execute import Computed

    following = iter(values)
    joined: list[Computed | ScoringFailure] = []
    for parts in cuts:
        found = [next(following) for _ in parts]
        failure = next((value for value in found if isinstance(value, ScoringFailure)), None)
        if failure is not None or len(parts) == 1:
            joined.append(failure or found[0])
            continue
        columns = zip(*(value for value in found if not isinstance(value, ScoringFailure)), strict=True)
        kept = (
            np.concatenate([value[part.n_context :] for part, value in zip(parts, column, strict=True)])
            for column in columns
        )
        joined.append(Computed(*kept))
    return joined


def load(config: dict[str, Any], *, model_dir: Path, hub_allowed: bool) -> CausalBackend:
    """Load a model.

    Args:
        config: {"source": "hub", "repo", "revision"} or {"source": "directory", "path"}; "dtype" (float32, bfloat16,
            float16; on a CPU float32, or bfloat16 with "cpu_bfloat16"); "device" (auto, cpu, cuda:0, cuda:all);
            "kernels" (stock or packed; default: whichever is faster); and "bos_token" (the start token; "" = none;
            default: the declared one).

    Raises:
        BackendError: the model cannot be used.
    """
    return _build(find(config, model_dir=model_dir, hub_allowed=hub_allowed), config)


def _build(source: Folder, config: dict[str, Any]) -> CausalBackend:
    """Load a checked folder."""
    import torch

    folder = source.path
    device = choose_device(config.get("device", "auto"))
    requested = config.get("dtype", "float32")
    half = requested == "bfloat16" and device.type == "cpu" and bool(config.get("cpu_bfloat16"))
    name = requested if device.type == "cuda" or half else "float32"
    stored = getattr(torch, "float32" if half else name)
    spread = config.get("device") == EVERY_GPU
    notes = (
        []
        if name == requested
        else [f"{requested} was requested, but on {device.type} scores are computed in float32."]
    )
    if folder.suffix == gguf_file.SUFFIX:
        stored_as = ", ".join(gguf_file.read_header(folder).types)
        notes.append(
            f"GGUF file {folder.name} ({stored_as}), dequantised to {name}; tokenizer built from its vocabulary."
        )
    settings = _read_settings(folder)
    tokenizer = read_tokenizer(folder, notes)
    model = read_model(folder, settings, stored, device, spread=spread)
    parameters, architecture = sum(p.numel() for p in model.parameters()), type(model).__name__
    with refuse_unscorable(_LEFT_TO_RIGHT):
        runner, error, tuning_notes = _tuned(
            model,
            device,
            name,
            tokenizer=tokenizer,
            reload=lambda: read_model(folder, settings, stored, device, spread=spread),
            packing=PACKING[config.get("kernels")],
        )
    facts = _facts(
        runner,
        tokenizer,
        settings,
        device,
        name,
        parameters=parameters,
        architecture=architecture,
        bos=config.get("bos_token", tokenizer.bos_token) or None,
        revision=source.revision,
        content=source.content,
        notes=(*notes, *tuning_notes, *runner.notes),
        error_bits=error_bound(name, half=error.largest, optimised=runner.gap),
        error=error,
    )
    backend = CausalBackend(
        runner, tokenizer, facts=facts, snapshot=source.snapshot, start_is_given="bos_token" in config
    )
    if backend.start_id is not None and backend.start_id >= runner.vocabulary:
        raise no_such_token(str(facts.bos))
    return backend


def from_memory(model: Any, tokenizer: Any) -> CausalBackend:
    """Build a backend from a model and a fast tokenizer of transformers in memory.

    The model stays on its device with its weights and kernels; it is set to eval mode, and its cache is disabled.

    Raises:
        BackendError: not a causal language model, values that would be wrong, or the tokenizer is not fast.
    """
    settings = model.config
    _require_causal(settings, type(model).__name__)
    if not getattr(tokenizer, "is_fast", False):
        raise BackendError(
            f"{type(tokenizer).__name__} does not report which characters a token covers.",
            "Load the fast tokenizer: AutoTokenizer.from_pretrained(…, use_fast=True).",
        )
    from lmgym.models.engine.tree_support import make_runner

    full_precision()
    settings.get_text_config().use_cache = False
    first = next(model.eval().parameters())
    name = str(first.dtype).removeprefix("torch.")
    with refuse_unscorable(_LEFT_TO_RIGHT):
        runner = make_runner(model, first.device)
    facts = _facts(
        runner,
        tokenizer,
        settings,
        first.device,
        name,
        parameters=sum(p.numel() for p in model.parameters()),
        architecture=type(model).__name__,
        bos=tokenizer.bos_token,
        revision="",
        content=_digest(model, tokenizer),
        notes=tuple(runner.notes),
        error_bits=error_bound(name, optimised=runner.gap),
    )
    return CausalBackend(runner, tokenizer, facts=facts)


def _digest(model: Any, tokenizer: Any) -> str:
    """Hash configuration, weights and tokenizer with SHA-256; takes about a second per one to two gigabytes."""
    import torch

    digest = hashlib.sha256(model.config.to_json_string().encode())
    digest.update(tokenizer.backend_tokenizer.to_str().encode())
    for name, weights in sorted(model.state_dict().items()):
        digest.update(f"{name} {weights.dtype} {tuple(weights.shape)}".encode())
        digest.update(weights.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
    return digest.hexdigest()


def _facts(
    runner: ModelRunner,
    tokenizer: Any,
    settings: Any,
    device: torch.device,
    dtype: str,
    *,
    parameters: int,
    architecture: str,
    bos: str | None,
    revision: str,
    content: str,
    notes: tuple[str, ...],
    error_bits: float,
    error: HalfError = _NO_ERROR,
) -> ModelFacts:
    """Collect the facts of a model. `content` is a hash of weights, configuration and tokenizer."""
    return ModelFacts(
        parameters=parameters,
        vocabulary_size=len(tokenizer),
        tokenizer=f"{type(tokenizer).__name__} ({type(tokenizer.backend_tokenizer.model).__name__})",
        context_length=readable_length(settings, runner.model),
        bos=bos,
        declared_bos=tokenizer.bos_token,
        eos=tokenizer.eos_token,
        dtype=dtype,
        device=device_name(device, runner.model),
        revision=revision,
        # The dtype changes values, so it is part of the key of score caches.
        fingerprint=hashlib.sha256(f"{content} {dtype}".encode()).hexdigest(),
        versions=versions(),
        architecture=architecture,
        notes=notes,
        error_bits=error_bits,
        error_sd_bits=error.sd,
        error_sd_tokens=error.tokens,
        kernels="packed" if runner.packed else "stock",
    )


def _tuned(
    model: Any,
    device: torch.device,
    name: str,
    *,
    tokenizer: Any,
    reload: Callable[[], Any],
    packing: bool | None,
) -> tuple[ModelRunner, HalfError, list[str]]:
    """Build a runner. Returns it with the error of a half-precision type, and notes.

    Args:
        name: dtype.
        reload: function that reads the model again.
        packing: pack weights; None = decide by timing.
    """
    import torch

    if name not in HALF_TYPES:
        return prepare(model, device, reload=reload, packing=packing), HalfError(), []
    on_cpu = device.type == "cpu"
    if on_cpu and not torch.ops.mkldnn._is_mkldnn_bf16_supported():
        raise BackendError("This processor cannot multiply in bfloat16.", 'Use the dtype "float32".')
    rows = half_error.encoded_texts(tokenizer, model)
    exact: Floats | None
    if on_cpu:  # the weights are still in float32
        exact, note = half_error.plain_bits(model, device, rows), ""
        runner = prepare_bfloat16(model, device)
    else:
        exact, note = half_error.float32_values(
            model, device, lambda copy: half_error.plain_bits(copy, device, rows)
        )
        runner = prepare(model, device, reload=reload, packing=packing)
    if exact is None:
        return runner, HalfError(), [note]
    error, note = half_error.compared(exact, half_error.bits_of(runner, rows), name)
    return runner, error, [note]


def _read_settings(folder: Path) -> Any:
    """Read the configuration of a causal language model. Raises BackendError for other models."""
    settings, stated = read_settings(folder, _LEFT_TO_RIGHT)
    _require_causal(settings, stated)
    return settings


def _require_causal(settings: Any, stated: str) -> None:
    from transformers import MODEL_FOR_CAUSAL_LM_MAPPING, MODEL_FOR_MASKED_LM_MAPPING

    if getattr(settings, "is_encoder_decoder", False):
        raise BackendError(f"{stated} is an encoder-decoder, not a causal language model.", _LEFT_TO_RIGHT)
    has_causal_class = type(settings) in MODEL_FOR_CAUSAL_LM_MAPPING
    # Encoders such as BERT also have a causal class, which is bidirectional unless `is_decoder` is set.
    both_ways = type(settings) in MODEL_FOR_MASKED_LM_MAPPING and not getattr(settings, "is_decoder", False)
    if not has_causal_class or both_ways or not _declares_causal(settings):
        raise BackendError(f"{stated} is not a causal language model.", _LEFT_TO_RIGHT)


def _declares_causal(settings: Any) -> bool:
    """Return whether `architectures` is empty or names a causal class or a model without a head."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    stated = settings.architectures or ()
    causal = set(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.values())
    return not stated or any(name in causal or name.endswith("Model") for name in stated)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
