"""The score cache: token surprisals of texts that this scorer has seen before."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from datetime import timedelta

from django.utils import timezone

from gym.runs.core.token_arrays import Scores
from gym.runs.models import ScoreCache
from models_registry.backends import ModelFacts
from models_registry.engine import ENGINE_VERSION, ScoringFailure, ScoringPolicy, TokenScores

BATCH = 500
USED_TO_THE = timedelta(days=1)


def scorer_key(facts: ModelFacts, policy: ScoringPolicy) -> str:
    """sha256 of everything that may change token bits: weights and tokenizer, BOS, EOS, dtype, device type, engine
    and the versions of the libraries. So a run's record of versions is true for cached scores as well."""
    parts = {
        "fingerprint": facts.fingerprint,
        "bos": policy.bos,
        "eos": policy.eos,
        "whitespace": policy.whitespace,
        "kernels": facts.kernels,
        "dtype": facts.dtype,
        "device": facts.device.split(":")[0],
        "engine": ENGINE_VERSION,
        "versions": facts.versions,
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def text_key(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def read(scorer: str, texts: Iterable[str]) -> dict[str, Scores]:
    """The known scores among these texts, by text."""
    by_key = {text_key(text): text for text in texts}
    keys = list(by_key)
    found: dict[str, Scores] = {}
    for start in range(0, len(keys), BATCH):
        rows = ScoreCache.objects.filter(scorer=scorer, text_sha256__in=keys[start : start + BATCH])
        for key, stored in rows.values_list("text_sha256", "scores"):
            found[by_key[key]] = from_json(stored)
        stale = rows.filter(used__lt=timezone.now() - USED_TO_THE)
        if stale.exists():  # one write a day for each row that is read, and none for most reads
            stale.update(used=timezone.now())
    return found


def write(scorer: str, scores: Mapping[str, Scores]) -> None:
    """Keep these scores; a text that somebody else stored meanwhile keeps the first value.

    Everything in the cache is whole: a score that lacks tokens is a ValueError. Failures that may pass are not kept.
    Rows are written in the order of their keys, so that two runs with texts in common wait for each other instead of
    locking each other out.
    """
    if not all(map(is_whole, scores.values())):
        raise ValueError("incomplete scores must not be cached")
    rows = [
        ScoreCache(scorer=scorer, text_sha256=text_key(text), scores=to_json(value))
        for text, value in scores.items()
        if not (isinstance(value, ScoringFailure) and value.transient)
    ]
    ScoreCache.objects.bulk_create(
        sorted(rows, key=lambda row: row.text_sha256),
        batch_size=BATCH,
        ignore_conflicts=True,
    )


def is_whole(score: Scores) -> bool:
    """Whether every token of the text was asked for."""
    return isinstance(score, ScoringFailure) or score.complete


def to_json(scores: Scores) -> dict[str, object]:
    """Token scores, or {"failure": reason}."""
    if isinstance(scores, ScoringFailure):
        return {"failure": scores.reason, **({"transient": True} if scores.transient else {})}
    return scores.to_dict()


def from_json(stored: dict[str, object]) -> Scores:
    if "failure" in stored:
        return ScoringFailure(str(stored["failure"]), transient=bool(stored.get("transient")))
    return TokenScores.from_dict(stored)
