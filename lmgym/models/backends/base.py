"""What every backend promises, in types; policies that no model of a kind can follow; and a trial run. Importing this
module imports neither torch nor Django."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from lmgym.models.engine.policy import ScoringPolicy
from lmgym.models.engine.scores import ScoringFailure, TokenScores

if TYPE_CHECKING:
    from lmgym.net import NetPolicy

SURPRISAL = "surprisal"
_FOLDERS = re.compile(r"(?<![\w:/.…])/(?:[^\s/'\":,;()]+/)+")

_FRAME = "A masked model reads every text in its tokenizer's own frame, which is given and never scored"
_NO_WHITESPACE = {
    "ngram": "The tokens of an n-gram model are whole words: the whitespace correction has nothing to move.",
    "uniform": "The uniform model knows no blanks: the whitespace correction has nothing to move.",
    "masked": "The whitespace correction is about left-to-right prediction: a masked model has none.",
    "openai": "A completion server does not tell what the whitespace correction needs.",
    "lmzoo": "LM Zoo containers do not tell what the whitespace correction needs.",
}
"""Kinds of which no model can make the whitespace correction, and why."""


class BackendError(Exception):
    """A model that cannot be used, said in words: `message` is what is wrong, `hint` is what to do about
    it."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(f"{message} {hint}".strip())
        self.message = message
        self.hint = hint


class BackendUnavailable(BackendError):
    """It may work another time as it is: the server is busy, or not there just now."""


class NotOnThisMachine(BackendError):
    """This machine lacks what the model needs; a worker on another may have it."""

    def lacks(self, model: str) -> str:
        """What is lacking, in words; `model` is its short name."""
        raise NotImplementedError


def no_such_token(token: str) -> BackendError:
    """The error of a model whose vocabulary lacks a start token that is given by name."""
    return BackendError(
        f"The vocabulary of this model has no token {token!r} to put first.",
        "Spell it as the vocabulary does, or use the start policy auto.",
    )


class FilesMissing(NotOnThisMachine):
    def lacks(self, model: str) -> str:
        return f"the files of the model {model}"


class DeviceMissing(NotOnThisMachine):
    def __init__(self, message: str, hint: str, device: str) -> None:
        super().__init__(message, hint)
        self.device = device

    def lacks(self, model: str) -> str:
        return self.device


@dataclass(frozen=True)
class ExternalAccess:
    """What models that answer from elsewhere may use of a site.

    net        where requests may go; None = nowhere
    secrets    of this model, in clear text, by the names of its schema's `writeOnly` properties
    commands   argument lists of LM Zoo models, by name
    """

    net: NetPolicy | None = None
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    commands: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class ModelFacts:
    """What is known about a loaded model. JSON-able; stored with every run.

    fingerprint     64 hexadecimal digits: same digits, same numbers up to fp32 noise; key of score caches
    revision        40-hex commit for a Hub model, else whatever names the state (may be empty)
    context_length  most tokens that one text may have, start and end tokens included; None = no limit
    bos, eos        spelling of the start and end token; None = the model has none. `bos` is the one that is in use,
                    `declared_bos` what the tokenizer says (see backends.start_tokens)
    dtype, device   as used now, not as stored
    versions        library versions that can change numbers
    notes           remarks for the model's page: what was measured at load and decided
    score_kind      what a bit is: "surprisal" (everything before is given) or a pseudo-log-likelihood (see
                    backends.masked); values of different kinds are never compared
    vocabulary_size None = the model does not tell
    error_bits      bound on the numeric error of one token's value, in bits; None = not known
    open_vocabulary no word is unknown, because a rule gives every word its value (the uniform model)
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
    open_vocabulary: bool = False
    declared_bos: str | None = None

    @property
    def left_to_right(self) -> bool:
        """Whether a token's value depends on nothing that follows, so that equal prefixes have equal values."""
        return self.score_kind == SURPRISAL

    def start_token(self, policy: ScoringPolicy) -> str | None:
        """What stands before every text under this policy; None = nothing."""
        return None if policy.bos == "never" else policy.named_bos or self.bos

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {**asdict(self), "notes": list(self.notes)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ModelFacts:
        """The facts that `to_dict` described; unknown keys are ignored."""
        known = {entry.name: data[entry.name] for entry in fields(cls) if entry.name in data}
        return cls(**{**known, "notes": tuple(known.get("notes", ()))})


class Backend(Protocol):
    """A loaded model."""

    @property
    def facts(self) -> ModelFacts:
        """What is known about the model."""

    def score(
        self,
        texts: Sequence[str],
        policy: ScoringPolicy,
        needed: Sequence[Sequence[tuple[int, int]]] | None = None,
    ) -> Sequence[TokenScores | ScoringFailure]:
        """One result per text, in order. A text that cannot be scored (too long, a value that is not finite)
        gives a ScoringFailure; a model that cannot follow the policy at all raises BackendError.

        needed[k] are the character ranges of text k that are wanted now; None = all of every text. Tokens
        outside may be left `not_computed` (a backend for which they cost nothing scores them all the same).
        """


@dataclass(frozen=True)
class BackendSpec:
    """One way to get an answer.

    schema       JSON Schema of the configuration
    module       dotted path of the module whose `load(config, *, model_dir, hub_allowed)` builds the backend
    needs_torch  whether loading imports torch (so that the web process never does it)
    needs_files  whether loading reads or fetches files, runs commands or asks servers (so that staff decides about it)
    needs_external_access  whether `load` also takes `external_access`
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
        """Properties of the schema that are stored encrypted, apart from the configuration."""
        properties = self.schema.get("properties", {})
        return tuple(name for name, kind in properties.items() if kind.get("writeOnly"))


PROBE_TEXTS = (
    "The keys to the cabinet are on the table.",
    "The keys to the cabinet are on the table, she said.",
    "Café naïve — 日本語 🙂 e\u0301.",
    "No",
    "",
)
TOLERANCE_BITS = {"float32": 5e-4, "float64": 5e-4}
HALF_TOLERANCE_BITS = 0.25


def first_line(error: Exception, folder: Path) -> str:
    """A library's message, short enough for a page, without the places where files lie on this machine."""
    line = (str(error).strip() or type(error).__name__).splitlines()[0]
    return _FOLDERS.sub("…/", line.replace(str(folder), "the model folder"))[:300]


def describe_exception(error: Exception, folder: Path) -> str:
    """Why a trial that raised shows that a model cannot be used, in one line."""
    return f"Trying the model out raised {type(error).__name__}: {first_line(error, folder)}"


def probe(backend: Backend) -> dict[str, Any]:
    """Try a model out before it is offered; returns its facts plus what was seen, JSON-able, for the
    model's page.

    Checks that values are finite and not negative, that tokens cover every non-blank character and stay
    inside the text, that a batch gives what single texts give, and that no value depends on later words.
    The extra keys are `seconds` (this trial), `tokens_per_second`, `batch_difference` (bits),
    `first_token_scored`, `sample` (tokens and bits of the first probe text) and, of models that may have several,
    `start_tokens` (see backends.start_tokens), of which the backend has taken one. Raises BackendError.
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
    tolerance = TOLERANCE_BITS.get(backend.facts.dtype, HALF_TOLERANCE_BITS)
    if difference > tolerance:
        raise BackendError(
            f"A batch and single sentences differ by {difference:.4f} bits; {tolerance} is the limit."
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
    """Finite values, offsets inside the text, and every non-blank character in some token."""
    covered: set[int] = set()
    for token, (begin, end), value, special in zip(
        score.tokens, score.offsets, score.bits, score.special, strict=True
    ):
        if value is not None and not (math.isfinite(value) and value >= 0):
            raise BackendError(
                f"The surprisal of the token {token!r} is {value}, which is no number of bits."
            )
        if special:
            continue
        if not 0 <= begin <= end <= len(text):
            raise BackendError(f"The token {token!r} claims the characters {begin} to {end} of {len(text)}.")
        covered.update(range(begin, end))
    lost = [character for at, character in enumerate(text) if at not in covered and not character.isspace()]
    # Accents may be stripped by design; letters may not.
    if any(character.isalnum() for character in lost):
        raise BackendError(
            f"The tokenizer loses characters without a trace: {''.join(lost)!r}.",
            "Values of regions that hold them would be too low. Use a tokenizer with an unknown token, or one that "
            "spells unknown characters byte by byte.",
        )


def _difference(a: TokenScores, b: TokenScores) -> float:
    """Largest distance in bits between two scorings of one text; infinite when their tokens differ."""
    if a.ids != b.ids or [value is None for value in a.bits] != [value is None for value in b.bits]:
        return math.inf
    pairs = zip(a.bits, b.bits, strict=True)
    return max((abs(x - y) for x, y in pairs if x is not None and y is not None), default=0.0)


def _check_causal(short: TokenScores, long: TokenScores, tolerance: float) -> None:
    """The same token after the same prefix must cost the same, whatever follows."""
    for token, a, b, x, y in zip(short.tokens, short.ids, long.ids, short.bits, long.bits, strict=False):
        if a != b:
            return
        if x is not None and y is not None and abs(x - y) > tolerance:
            raise BackendError(
                f"The value of {token!r} changes with the words after it, so this is no left-to-right model.",
                "Surprisal in reading order needs a causal language model.",
            )


def refusal(kind: str, policy: ScoringPolicy) -> str:
    """Why models of this kind cannot follow this policy; empty: nothing speaks against it before one is loaded. Known
    without loading one, so that nothing is queued in vain."""
    if policy.whitespace == "trailing" and kind in _NO_WHITESPACE:
        return _NO_WHITESPACE[kind]
    if kind == "masked" and policy.bos == "never":
        return f"{_FRAME}, so bos=never cannot be followed."
    if kind == "masked" and policy.named_bos:
        return f"{_FRAME}, so no other start token can be put first."
    if kind == "uniform" and policy.named_bos:
        return "The uniform model has no tokens, so none can be put first."
    if kind == "masked" and policy.eos:
        return f"{_FRAME}, so the end token cannot be scored."
    return ""


def require_possible(kind: str, policy: ScoringPolicy) -> None:
    """Raise BackendError with the reason of `refusal`."""
    if reason := refusal(kind, policy):
        raise BackendError(reason)
