"""Uniform baseline: every token has log2(vocabulary size) bits in any context."""

from __future__ import annotations

import hashlib
import math
import platform
import re
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lmgym.models.backends.base import ModelFacts, require_possible
from lmgym.models.engine.policy import ScoringPolicy
from lmgym.models.engine.scores import ScoringFailure, TokenScores
from lmgym.text import SIGNS

_UNITS = {
    # Words may contain apostrophes and hyphens between letters.
    "word": re.compile(rf"[^\s{SIGNS}]+(?:['’\-][^\s{SIGNS}]+)*|[{SIGNS}]"),
    "character": re.compile(r"\S"),
}


class UniformBackend:
    """Backend that gives every word or non-blank character the same surprisal.

    Context is ignored, so start and end policies have no effect: the first token always has a value, and no end token
    is scored.
    """

    def __init__(self, vocabulary_size: int, unit: str = "word") -> None:
        self._bits = math.log2(vocabulary_size)
        self._pattern = _UNITS[unit]
        self.facts = ModelFacts(
            parameters=0,
            vocabulary_size=vocabulary_size,
            tokenizer=f"{unit} by regular expression",
            context_length=None,
            bos=None,
            eos=None,
            dtype="float64",
            device="cpu",
            revision="",
            fingerprint=hashlib.sha256(f"uniform 1 {vocabulary_size} {unit}".encode()).hexdigest(),
            versions={"python": platform.python_version()},
            architecture="uniform",
            open_vocabulary=True,
            notes=(f"Every {unit} has log2({vocabulary_size}) = {self._bits:.4f} bits.",),
        )

    def score(
        self,
        texts: Sequence[str],
        policy: ScoringPolicy,
        needed: Sequence[Sequence[tuple[int, int]]] | None = None,
    ) -> list[TokenScores | ScoringFailure]:
        """Score all tokens of texts, needed or not; no text fails. Ids are checksums of the spelling.

        Raises:
            BackendError: the policy names a start token.
        """
        require_possible("uniform", policy)
        return [self._score(text) for text in texts]

    def _score(self, text: str) -> TokenScores:
        matches = list(self._pattern.finditer(text))
        tokens = [match.group() for match in matches]
        return TokenScores(
            tokens=tokens,
            ids=[zlib.crc32(token.encode("utf-8", "surrogatepass")) for token in tokens],
            offsets=[match.span() for match in matches],
            bits=[self._bits] * len(matches),
            special=[False] * len(matches),
        )


def load(config: dict[str, Any], *, model_dir: Path, hub_allowed: bool) -> UniformBackend:
    """Build a backend from {"vocabulary_size": int >= 2, "unit": "word" | "character"}."""
    return UniformBackend(int(config["vocabulary_size"]), config.get("unit", "word"))
