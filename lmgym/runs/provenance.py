"""Provenance of a run: everything needed to reproduce its numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lmgym import __version__
from lmgym.models.backends import Backend, ModelFacts
from lmgym.models.engine import ENGINE_VERSION, ERROR_BITS, ScoringPolicy, TokenError
from lmgym.runs.compute import RunResult, SentenceResult, TokenRow, token_bits
from lmgym.runs.coverage import Coverage, coverage_of
from lmgym.runs.outcomes import ASSUMED_ERROR
from lmgym.suites.formulas import ABSOLUTE_TOLERANCE, RELATIVE_TOLERANCE, ROUNDING_BITS


def error_of(facts: ModelFacts) -> TokenError:
    """Return the numerical error of one token's value: the backend's, else that of its dtype, else that of float32."""
    bound = facts.error_bits
    if bound is None:
        bound = ERROR_BITS.get(facts.dtype, ASSUMED_ERROR.bound)
    return TokenError(bound, facts.error_sd_bits)


def coverage_of_run(facts: ModelFacts, sentences: Iterable[SentenceResult]) -> Coverage | None:
    """Find words of the run's sentences that the model does not know; None if its vocabulary is open or no sentence has
    tokens."""
    if facts.open_vocabulary:
        return None
    rows = ((row.text, row.tokens) for row in sentences)
    return coverage_of(rows, vocabulary_size=facts.vocabulary_size)


def special_in_text(backend: Backend, result: RunResult) -> dict[str, Any]:
    """Find special tokens that the tokenizer recognised in the text of sentences: `tokens`, number of `sentences`, and
    their `items`. Empty if there are none or the backend does not report them."""
    special: frozenset[int] = getattr(backend, "special_ids", frozenset())
    matches = [
        (row.item, row.position, token.token)
        for row in result.sentences
        for token in token_bits(row)
        if token.token_id in special and row.text[token.start : token.end].strip() == token.token
    ]
    if not matches:
        return {}
    return {
        "tokens": sorted({token for _, _, token in matches}),
        "sentences": len({position for _, position, _ in matches}),
        "items": sorted({item for item, _, _ in matches}),
    }


def provenance(
    suite_sha256: str,
    kind: str,
    backend: Backend,
    result: RunResult,
    policy: ScoringPolicy,
    coverage: Coverage | None,
) -> dict[str, Any]:
    """Collect hashes, versions, and scoring settings.

    Keys that need an explanation:
        bos: token before every sentence, None = none; `declared_bos`: the one the tokenizer declares.
        eos: None if the model has no such token.
        special_in_text: see `special_in_text`.
        error_bits, error_sd_bits, error_sd_tokens: see `ModelFacts`.
        spelling: see `coverage.Spelling`; None if words were not counted.
    """
    facts = backend.facts
    sentences = [[TokenRow(*token) for token in row.tokens] for row in result.sentences]
    first = [next((token for token in tokens if token.region != -1), None) for tokens in sentences]
    return {
        "suite_sha256": suite_sha256,
        "model_fingerprint": facts.fingerprint,
        "model_revision": facts.revision,
        "backend": kind,
        "dtype": facts.dtype,
        "device": facts.device,
        "bos": facts.start_token(policy),
        "declared_bos": facts.declared_bos,
        "eos": facts.eos,
        "versions": facts.versions,
        "engine": ENGINE_VERSION,
        "gym": __version__,
        "log_base": 2,
        "first_token_scored": all(token.surprisal is not None for token in first if token is not None),
        "end_token_scored": any(
            token.region == -1 and token.surprisal is not None for tokens in sentences for token in tokens
        ),
        "equality_tolerance": {"absolute_bits": ABSOLUTE_TOLERANCE, "relative": RELATIVE_TOLERANCE},
        "formula_reading": "import",
        "rounding_bits": ROUNDING_BITS,
        "error_bits": error_of(facts).bound,
        "error_sd_bits": facts.error_sd_bits,
        "error_sd_tokens": facts.error_sd_tokens,
        "score_kind": facts.score_kind,
        "vocabulary_size": facts.vocabulary_size,
        "special_in_text": special_in_text(backend, result),
        "spelling": coverage.spelling.as_json() if coverage else None,
    }
