"""Keys and stored form of cached token scores, and a cache in a file.

The key is the text and everything that may change its bits (`scorer_key`), so a cached score equals the score that the
same versions would compute on the same kind of device.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from lmgym.errors import InvalidArgument
from lmgym.models.backends import ModelFacts
from lmgym.models.engine import ENGINE_VERSION, ScoringFailure, ScoringPolicy, TokenScores
from lmgym.runs.token_arrays import Scores

BATCH = 500
"""Keys per query: SQLite allows 999 parameters."""


def scorer_key(facts: ModelFacts, policy: ScoringPolicy) -> str:
    """Hash everything that may change token bits: weights and tokenizer, BOS, EOS, whitespace correction, overlap of
    windows, kernels, dtype, device type, engine, and library versions. The versions recorded with a run therefore apply
    to its cached scores as well."""
    parts: dict[str, object] = {
        "fingerprint": facts.fingerprint,
        "bos": facts.start_token(policy),
        "eos": policy.eos,
        "whitespace": policy.whitespace,
        "kernels": facts.kernels,
        "dtype": facts.dtype,
        "device": facts.device.split(":")[0],
        "engine": ENGINE_VERSION,
        "versions": facts.versions,
    }
    if policy.overlap is not None:  # absent otherwise, so that keys of scores without windows stay valid
        parts["overlap"] = policy.overlap
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def text_key(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def is_whole(score: Scores) -> bool:
    """Return whether all tokens of the text were requested; True for a failure."""
    return isinstance(score, ScoringFailure) or score.complete


def is_lasting(score: Scores) -> bool:
    """Return whether scoring the text again would give the same result; False with missing tokens or a transient
    failure.
    """
    return is_whole(score) and not (isinstance(score, ScoringFailure) and score.transient)


def to_json(scores: Scores) -> dict[str, object]:
    """Convert token scores to JSON; a failure becomes {"failure": reason}."""
    if isinstance(scores, ScoringFailure):
        return {"failure": scores.reason, **({"transient": True} if scores.transient else {})}
    return scores.to_dict()


def from_json(stored: dict[str, object]) -> Scores:
    if "failure" in stored:
        return ScoringFailure(str(stored["failure"]), transient=bool(stored.get("transient")))
    return TokenScores.from_dict(stored)


class FileStore:
    """Scores of one model and policy in an SQLite file that other models and processes may use at the same time.
    Raises InvalidArgument if the file cannot be used."""

    def __init__(self, path: Path, facts: ModelFacts, policy: ScoringPolicy) -> None:
        self._path = path
        self._scorer = scorer_key(facts, policy)
        with self._open() as database:
            database.execute(
                "CREATE TABLE IF NOT EXISTS scores (scorer TEXT, text TEXT, scores TEXT, PRIMARY KEY (scorer, text))"
                " WITHOUT ROWID"
            )

    def read(self, texts: Sequence[str]) -> dict[str, Scores]:
        by_key = {text_key(text): text for text in texts}
        found: dict[str, Scores] = {}
        with self._open() as database:
            for start in range(0, len(by_key), BATCH):
                keys = list(by_key)[start : start + BATCH]
                query = f"SELECT text, scores FROM scores WHERE scorer = ? AND text IN ({','.join('?' * len(keys))})"  # noqa: S608
                for key, stored in database.execute(query, (self._scorer, *keys)):
                    found[by_key[key]] = from_json(json.loads(stored))
        return found

    def write(self, scores: Mapping[str, Scores]) -> None:
        rows = [
            (self._scorer, text_key(text), json.dumps(to_json(score)))
            for text, score in scores.items()
            if is_lasting(score)
        ]
        with self._open() as database:
            database.executemany("INSERT OR IGNORE INTO scores VALUES (?, ?, ?)", rows)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self._path, timeout=60)) as database, database:
                yield database
        except (OSError, sqlite3.Error) as error:
            raise InvalidArgument(f"The score cache {self._path} cannot be used: {error}.") from error
