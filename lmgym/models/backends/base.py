"""Types shared by all backends, checks of policies that a kind of model does not support, and the probe of a model.

Importing this module does not import torch.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from lmgym.models.engine.policy import ScoringPolicy
from lmgym.models.engine.scores import ScoringFailure, TokenScores, tolerance_bits

if TYPE_CHECKING:
    from lmgym.net import NetPolicy

SURPRISAL = "surprisal"
_FOLDERS = re.compile(r"(?<![\w:/.…])/(?:[^\s/'\":,;()]+/)+")

_FRAME = "A masked model reads every text between the special tokens of its tokenizer, which are never scored"
_NO_WHITESPACE = {
    "ngram": "The tokens of an n-gram model are whole words, so the whitespace correction has nothing to move.",
    "uniform": "The tokens of the uniform model include no spaces, so the whitespace correction has nothing to move.",
    "masked": "The whitespace correction is defined for left-to-right prediction, not for masked models.",
    "openai": "A completion server does not return the probabilities that the whitespace correction needs.",
    "lmzoo": "LM Zoo containers do not return the probabilities that the whitespace correction needs.",
}
"""Kinds of models that do not support the whitespace correction, with the reason."""

_WINDOWS = ("causal", "ngram", "uniform")
"""Kinds of models that support `ScoringPolicy.overlap`; n-gram and uniform models read texts of any length whole."""
_NO_WINDOWS = {
    "masked": "Windows over long texts are defined for left-to-right prediction, not for masked models: omit the "
    "overlap.",
    "openai": "A completion server does not split long texts into windows: omit the overlap.",
    "lmzoo": "An LM Zoo container does not split long texts into windows: omit the overlap.",
}


class BackendError(Exception):
    """A model cannot be used.

    Attributes:
        message: the reason, as a sentence.
        hint: what to do, as a sentence, or "".
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(f"{message} {hint}".strip())
        self.message = message
        self.hint = hint


class BackendUnavailable(BackendError):
    """The model cannot be used at the moment; the same request may succeed later."""


class NotOnThisMachine(BackendError):
    """This machine lacks a resource that the model needs; a worker on another machine may have it."""

    def lacks(self, model: str) -> str:
        """Name the missing resource. `model` is the model's slug."""
        raise NotImplementedError


def no_such_token(token: str) -> BackendError:
    """Build the error for a start token that the vocabulary lacks."""
    return BackendError(
        f"The vocabulary of this model has no token {token!r} to use as a start token.",
        "Spell it as in the vocabulary, or use the start policy auto.",
    )


class FilesMissing(NotOnThisMachine):
    """The files of the model are not on this machine."""

    def lacks(self, model: str) -> str:
        return f"the files of the model {model}"


class DeviceMissing(NotOnThisMachine):
    """This machine does not have the device. `device` is its name in messages."""

    def __init__(self, message: str, hint: str, device: str) -> None:
        super().__init__(message, hint)
        self.device = device

    def lacks(self, model: str) -> str:
        return self.device


@dataclass(frozen=True)
class ExternalAccess:
    """Permissions of models on other servers and in containers.

    Attributes:
        net: limits of outbound requests; None = no requests.
        secrets: the model's secrets in clear text, by `writeOnly` property of its schema.
        commands: argument lists of LM Zoo models by name.
    """

    net: NetPolicy | None = None
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    commands: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class ModelFacts:
    """Facts about a loaded model. Convertible to JSON; stored with every run.

    Attributes:
        fingerprint: 64 hexadecimal digits; equal fingerprints give equal values up to fp32 noise. Key of score caches.
        revision: commit of a Hub model, or another version identifier; may be "".
        context_length: maximum number of tokens in a text, including start and end tokens; None = unlimited.
        bos, eos: spelling of the start and end token in use; None = none.
        declared_bos: start token declared by the tokenizer (see backends.start_tokens).
        dtype, device: as used in the computation, not as stored.
        versions: versions of libraries that can change values.
        notes: measurements and decisions made when the model was loaded, shown on its page.
        score_kind: "surprisal" (given all preceding text) or a pseudo-log-likelihood (see backends.masked); values of
            different kinds are never compared.
        vocabulary_size: None = unknown.
        error_bits: bound on the numerical error of one token in bits; None = unknown.
        error_sd_bits, error_sd_tokens: standard deviation of that error in bits for a half-precision type, and the
            number of tokens on which it was measured; None and 0 = not measured.
        open_vocabulary: no word is unknown, because a rule assigns every word a value (the uniform model).
    """

    parameters: int | None
    vocabulary_size: int | None
    tokenizer: str
    context_length: int | None
    bos: str | None
    eos: str | None
    dtype: str
    device: str
    revision: str
    fingerprint: str
    versions: dict[str, str] = field(default_factory=dict)
    architecture: str = ""
    licence: str = ""
    notes: tuple[str, ...] = ()
    score_kind: str = SURPRISAL
    kernels: str = ""
    error_bits: float | None = None
    error_sd_bits: float | None = None
    error_sd_tokens: int = 0
    open_vocabulary: bool = False
    declared_bos: str | None = None

    @property
    def left_to_right(self) -> bool:
        """True if values do not depend on following text, so that equal prefixes have equal values."""
        return self.score_kind == SURPRISAL

    def start_token(self, policy: ScoringPolicy) -> str | None:
        """Return the start token that a policy prepends to every text; None = none."""
        return None if policy.bos == "never" else policy.named_bos or self.bos

    def to_dict(self) -> dict[str, Any]:
        """Convert to JSON types."""
        return {**asdict(self), "notes": list(self.notes)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ModelFacts:
        """Restore facts from `to_dict`; unknown keys are ignored."""
        values = {entry.name: data[entry.name] for entry in fields(cls) if entry.name in data}
        return cls(**{**values, "notes": tuple(values.get("notes", ()))})


class Backend(Protocol):
    """A loaded model."""

    @property
    def facts(self) -> ModelFacts:
        """Facts about the model."""

    def score(
        self,
        texts: Sequence[str],
        policy: ScoringPolicy,
        needed: Sequence[Sequence[tuple[int, int]]] | None = None,
    ) -> Sequence[TokenScores | ScoringFailure]:
        """Score texts.

        Args:
            needed: character ranges of each text that are needed; None = whole texts. Other tokens may be left
                `not_computed`; a backend for which they are free scores them anyway.

        Returns:
            One result per text, in order. A text that cannot be scored (too long, a value that is not finite) gives a
            ScoringFailure.

        Raises:
            BackendError: the model cannot follow the policy.
        """


@dataclass(frozen=True)
class BackendSpec:
    """One kind of backend.

    Attributes:
        schema: JSON Schema of the configuration.
        module: dotted path of the module whose `load(config, *, model_dir, hub_allowed)` builds the backend.
        needs_torch: loading imports torch, so the web process never does it.
        needs_files: loading reads or fetches files, runs commands or sends requests, so staff must approve it.
        needs_external_access: `load` also takes `external_access`.
    """

    kind: str
    label: str
    schema: dict[str, Any]
    needs_torch: bool
    help: str
    module: str = ""
    needs_files: bool = True
    needs_external_access: bool = False

    @property
    def secret_names(self) -> tuple[str, ...]:
        """Properties of the schema that are stored encrypted, separately from the configuration."""
        properties = self.schema.get("properties", {})
        return tuple(name for name, kind in properties.items() if kind.get("writeOnly"))


PROBE_TEXTS = (
    "The keys to the cabinet are on the table.",
    "The keys to the cabinet are on the table, she said.",
    "Café naïve — 日本語 🙂 e\u0301.",
    "No",
    "",
)


def first_line(error: Exception, folder: Path) -> str:
    """Shorten a library's message for display, and remove paths on this machine."""
    line = (str(error).strip() or type(error).__name__).splitlines()[0]
    return _FOLDERS.sub("…/", line.replace(str(folder), "the model folder"))[:300]


def describe_exception(error: Exception, folder: Path) -> str:
    """Describe an exception raised while a model was tested, on one line."""
    return f"Testing the model raised {type(error).__name__}: {first_line(error, folder)}"


def probe(backend: Backend) -> dict[str, Any]:
    """Test a loaded model before it is offered.

    Values must be finite and not negative, tokens must cover every letter and digit and stay inside the text, a batch
    must give the same values as single texts, and no value of a left-to-right model may depend on later words.

    Returns:
        The facts of the model for its page, with `seconds` (of this test), `tokens_per_second`, `batch_difference`
        (bits), `first_token_scored`, `sample` (scores of the first probe text), and `start_tokens` for models that may
        have several (see backends.start_tokens), one of which the backend now uses.

    Raises:
        BackendError: a check failed.
    """
    policy = ScoringPolicy()
    choose = getattr(backend, "choose_start_token", None)
    start_tokens = {"start_tokens": choose()} if choose else {}
    start = time.perf_counter()
    together = [_scored(result) for result in backend.score(PROBE_TEXTS, policy)]
    alone = [_scored(backend.score([text], policy)[0]) for text in PROBE_TEXTS]
    seconds = time.perf_counter() - start
    for text, score in zip(PROBE_TEXTS, together, strict=True):
        _check_tokens(text, score)
    difference = max(_difference(a, b) for a, b in zip(together, alone, strict=True))
    tolerance = tolerance_bits(backend.facts.dtype)
    if difference > tolerance:
        raise BackendError(
            f"The values of a batch and of single sentences differ by up to {difference:.4f} bits; the limit is "
            f"{tolerance} bits."
        )
    if backend.facts.left_to_right:
        _check_causal(alone[0], alone[1], tolerance)
    scored = [value for value, special in zip(alone[0].bits, alone[0].special, strict=True) if not special]
    return {
        **backend.facts.to_dict(),
        "seconds": round(seconds, 4),
        "tokens_per_second": round(2 * sum(map(len, together)) / max(seconds, 1e-9), 1),
        "batch_difference": difference,
        **start_tokens,
        "first_token_scored": bool(scored) and scored[0] is not None,
        "sample": {"text": PROBE_TEXTS[0], **alone[0].to_dict()},
    }


def _scored(result: TokenScores | ScoringFailure) -> TokenScores:
    if isinstance(result, ScoringFailure):
        raise BackendError(f"The model could not score a probe sentence: {result.reason}")
    return result


def _check_tokens(text: str, score: TokenScores) -> None:
    """Check that values are finite and not negative, offsets are inside the text, and each letter or digit is in a
    token."""
    covered: set[int] = set()
    for token, (begin, end), value, special in zip(
        score.tokens, score.offsets, score.bits, score.special, strict=True
    ):
        if value is not None and not (math.isfinite(value) and value >= 0):
            raise BackendError(
                f"The surprisal of the token {token!r} is {value}, which is not a valid number of bits."
            )
        if special:
            continue
        if not 0 <= begin <= end <= len(text):
            raise BackendError(
                f"The token {token!r} covers the characters {begin} to {end}, but the text has only {len(text)}."
            )
        covered.update(range(begin, end))
    lost = [character for at, character in enumerate(text) if at not in covered and not character.isspace()]
    # Accents may be stripped by design; letters may not.
    if any(character.isalnum() for character in lost):
        raise BackendError(
            f"The tokenizer silently drops characters: {''.join(lost)!r}.",
            "Values of regions with these characters would be too low. Use a tokenizer with an unknown token, or one "
            "that falls back to bytes.",
        )


def _difference(a: TokenScores, b: TokenScores) -> float:
    """Return the largest difference in bits between two scorings of a text; infinite if their tokens differ."""
    if a.ids != b.ids or [value is None for value in a.bits] != [value is None for value in b.bits]:
        return math.inf
    pairs = zip(a.bits, b.bits, strict=True)
    return max((abs(x - y) for x, y in pairs if x is not None and y is not None), default=0.0)


def _check_causal(short: TokenScores, long: TokenScores, tolerance: float) -> None:
    """Check that the value of a token does not depend on following text."""
    for token, a, b, x, y in zip(short.tokens, short.ids, long.ids, short.bits, long.bits, strict=False):
        if a != b:
            return
        if x is not None and y is not None and abs(x - y) > tolerance:
            raise BackendError(
                f"The value of {token!r} depends on the words after it, so this is not a left-to-right model.",
                "Surprisal needs a causal language model.",
            )


def refusal(kind: str, policy: ScoringPolicy) -> str:
    """Return why models of a kind do not support a policy, or "".

    Does not need a loaded model, so that a run that is bound to fail is not queued.
    """
    if policy.whitespace == "trailing" and kind in _NO_WHITESPACE:
        return _NO_WHITESPACE[kind]
    if policy.overlap is not None and kind not in _WINDOWS:
        return _NO_WINDOWS.get(
            kind, f"Models of the kind {kind} do not score long texts in windows: omit the overlap."
        )
    if kind == "masked" and policy.bos == "never":
        return f"{_FRAME}, so bos=never is not supported."
    if kind == "masked" and policy.named_bos:
        return f"{_FRAME}, so no other start token can be used."
    if kind == "uniform" and policy.named_bos:
        return "The uniform model has no vocabulary, so it cannot use a start token."
    if kind == "masked" and policy.eos:
        return f"{_FRAME}, so the end token cannot be scored."
    return ""


def require_possible(kind: str, policy: ScoringPolicy) -> None:
    """Raise BackendError if `refusal` gives a reason."""
    if reason := refusal(kind, policy):
        raise BackendError(reason)
