"""Statistics of version 5, accumulated token by token. `lmc stats` prints `Counts.rates`, `lmc stats -H` prints
`Counts.sums`.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from lmgym.lmchallenge.errors import LogError
from lmgym.lmchallenge.logs.version5.log import Token

if TYPE_CHECKING:
    from lmgym.lmchallenge.logs.version5.reranking import Mixture

HITS = (1, 3, 10, 20)
COMPLETED_WITHIN = 2
"""A word counts as completed once it is among this many top predictions."""
_BITS = 0xFFFFFFFF


@lru_cache(maxsize=100_000)
def _hash_of(value: str | int | bool | None) -> int:
    if value is None:
        return 49307
    if isinstance(value, str):
        digest = hashlib.md5(value.encode("utf-8", "surrogatepass"), usedforsecurity=False).digest()
        return int.from_bytes(digest[:8], "little")
    return 50123 * value


def fingerprint_of(token: Token) -> int:
    """Hash the input: user, message, token and target. A log's fingerprint is the sum of these hashes, so the order of
    the lines does not matter. Raises LogError.
    """
    result = 0
    for key in ("user", "message", "token", "target"):
        value = getattr(token, key)
        if not isinstance(value, str | int | None):
            raise LogError(f"{key} is {value!r}.", "Use a string, a whole number or null.")
        result = result * 48677 + _hash_of(value)
    return result & _BITS


def rank_of(texts: list[str], target: str, most: int | None = None) -> int | None:
    """Return the 1-based position of the target among the predictions, or None."""
    try:
        return 1 + texts.index(target, 0, len(texts) if most is None else most)
    except ValueError:
        return None


def typed_until_completed(completions: list[list[str]], target: str) -> int | None:
    """Count the characters typed before the rest of the word is among the top predictions; None if it never is."""
    for typed, texts in enumerate(completions):
        if rank_of(texts, target[typed:], COMPLETED_WITHIN):
            return typed
    return None


_NOTHING: Any = object()


class Counts:
    """Counts and sums of a log. Tokens that `grep` did not select are skipped."""

    def __init__(self) -> None:
        self.users = self.messages = self.tokens = self.characters = self.skipped = self.fingerprint = 0
        self.prediction: dict[str, float] = {"srr": 0, "hit": 0, **{f"hit{most}": 0 for most in HITS}}
        self.completed = {"characters": 0, "tokens": 0}
        self.entropy: dict[str, float] = {"sum": 0, "tokens": 0, "fingerprint": 0}
        self.characters_scored = 0
        self.error, self.model = array("f"), array("f")
        self.lengths = array("q")
        self._user = self._message = _NOTHING
        self._mixture: Mixture | None = None

    def add(self, token: Token) -> None:
        """Count a token. Raises LogError for invalid results, and for an invalid user or message."""
        if not token.select:
            self.skipped += 1
            return
        self.tokens += 1
        self.characters += len(token.target)
        hashed = fingerprint_of(token)
        self.fingerprint = (self.fingerprint + hashed) & _BITS
        if token.user != self._user:
            self.users += 1
            self._user = token.user
        if (token.user, token.message) != self._message:
            self.messages += 1
            self._message = (token.user, token.message)
        if token.completions is not UNSET and token.completions is not None:
            self._add_completions(token.completions, token.target)
        if token.logp is not UNSET and token.logp is not None:
            self.entropy["sum"] -= token.logp
            self.entropy["tokens"] += 1
            self.entropy["fingerprint"] = (int(self.entropy["fingerprint"]) + hashed) & _BITS
            self.characters_scored += len(token.target)
        if token.results is not UNSET and token.results is not None:
            self.add_results(token)

    def _add_completions(self, completions: list[list[str]], target: str) -> None:
        rank = rank_of(completions[0], target) if completions else None
        if rank is not None:
            self.prediction["srr"] += 1 / rank
            self.prediction["hit"] += 1
            for most in HITS:
                self.prediction[f"hit{most}"] += rank <= most
        typed = typed_until_completed(completions, target)
        if typed is not None:
            self.completed["characters"] += len(target) - typed
            self.completed["tokens"] += 1

    def add_results(self, token: Token) -> None:
        """Record only the scores that determine the mixture."""
        scores = sorted(token.scores, key=lambda candidate: candidate[0] != token.target)
        if not scores or scores[0][0] != token.target:
            scores.insert(0, (token.target, -float("inf"), None))
        self.lengths.append(len(scores))
        self.error.extend(error for _, error, _ in scores)
        self.model.extend(-float("inf") if score is None else score for _, _, score in scores)
        self._mixture = None

    @property
    def mixture(self) -> Mixture | None:
        """The best mixture of error and model scores, with its results; None without reranking results."""
        if self._mixture is None and self.lengths:
            from lmgym.lmchallenge.logs.version5.reranking import best_mixture

            self._mixture = best_mixture(self.error, self.model, self.lengths)
        return self._mixture

    def sums(self) -> dict[str, Any]:
        """Return counts and sums under the reference's names. As in the reference, a log without reranking
        results has `already_correct`, any other log `base_correct`.
        """
        mixture = self.mixture
        reranking: dict[str, Any] = {"max_candidates": 0, "already_correct": 0, "correct": 0, "args": None}
        if mixture is not None:
            reranking = {
                "max_candidates": mixture.max_candidates,
                "base_correct": mixture.base_correct,
                "correct": mixture.correct,
                "args": mixture.args,
            }
        return {
            "users": self.users,
            "messages": self.messages,
            "tokens": self.tokens,
            "characters": self.characters,
            "skipped": self.skipped,
            "fingerprint": self.fingerprint,
            "prediction": dict(self.prediction),
            "completion": dict(self.completed),
            "entropy": dict(self.entropy),
            "reranking": reranking,
        }

    def rates(self) -> dict[str, Any]:
        """Return rates under the reference's names, for the kinds of results in the log; for predictions and
        completions, only if one of them is right. Rates with denominator 0 are null.
        """
        tokens, characters = self.tokens, self.characters
        rates: dict[str, Any] = {
            "fingerprint": f"{self.fingerprint:08x}",
            "users": self.users,
            "messages_per_user": _ratio(self.messages, self.users),
            "tokens_per_user": _ratio(tokens, self.users),
            "characters_per_token": _ratio(characters, tokens),
            "skipped": _ratio(self.skipped, self.skipped + tokens),
        }
        if self.prediction["hit"]:
            names = {"srr": "mrr"}
            rates["prediction"] = {
                names.get(name, name): _ratio(value, tokens) for name, value in self.prediction.items()
            }
        if self.completed["tokens"]:
            rates["completion"] = {
                "characters": _ratio(self.completed["characters"], characters),
                "tokens": _ratio(self.completed["tokens"], tokens),
            }
        if self.entropy["tokens"]:
            rates["entropy"] = {
                "fingerprint": f"{self.entropy['fingerprint']:08x}",
                "hit": _ratio(self.entropy["tokens"], tokens),
                "mean": _ratio(self.entropy["sum"], self.entropy["tokens"]),
            }
        if mixture := self.mixture:
            rates["reranking"] = {
                "accuracy": _ratio(mixture.correct, tokens),
                "base_accuracy": _ratio(mixture.base_correct, tokens),
                "max_candidates": mixture.max_candidates,
            }
        return rates


def _ratio(above: float, below: float) -> float | None:
    return above / below if below else None


def count(lines: Iterable[tuple[int, Token]]) -> Counts:
    """Compute the counts of a log. Raises LogError naming the line."""
    counts = Counts()
    for number, token in lines:
        try:
            counts.add(token)
        except LogError as error:
            raise LogError(f"Line {number} of the log: {error.message}", error.hint) from None
    return counts


def flat(row: dict[str, Any], before: str = "") -> dict[str, Any]:
    """Flatten nested dictionaries, joining names with dots."""
    result: dict[str, Any] = {}
    for name, value in row.items():
        result.update(
            flat(value, f"{before}{name}.") if isinstance(value, dict) else {f"{before}{name}": value}
        )
    return result


_FIRST_COLUMNS = (
    "log", "fingerprint", "users", "messages_per_user", "tokens_per_user", "characters_per_token", "skipped",
)  # fmt: skip


def columns(rows: list[dict[str, Any]]) -> list[str]:
    """Return the columns of a table of flat rows, in the reference's order."""
    names = {name for row in rows for name in row}
    return [name for name in _FIRST_COLUMNS if name in names] + sorted(names.difference(_FIRST_COLUMNS))
