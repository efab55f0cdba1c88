"""A model that computes only needed tokens. As in real models, values depend slightly on what is scored together."""

from __future__ import annotations

import zlib
from collections.abc import Callable

import pytest

from lmgym.models.backends.uniform import UniformBackend
from lmgym.models.engine import TokenScores
from lmgym.models.engine.plan import needed_tokens

NOISE = 1e-7


class Calls(list):
    """List of (texts, needed) of every call. `before(number)` runs before call `number` is answered."""

    before: Callable[[int], None] = staticmethod(lambda number: None)


def install(monkeypatch: pytest.MonkeyPatch) -> Calls:
    calls = Calls()

    def score(self, texts, policy, needed=None):
        calls.append((list(texts), needed))
        calls.before(len(calls))
        batch = zlib.crc32(repr((sorted(texts), needed)).encode()) % 1000 / 1000
        return [
            _scored(self._score(text), text, batch, None if needed is None else needed[at])
            for at, text in enumerate(texts)
        ]

    monkeypatch.setattr(UniformBackend, "score", score)
    return calls


def _scored(bare: TokenScores, text: str, batch: float, spans: list[tuple[int, int]] | None) -> TokenScores:
    flags = [True] * len(bare) if spans is None else needed_tokens(bare.offsets, spans)
    bits = [
        1 + zlib.crc32(text[:end].encode()) % 97 / 7 + NOISE * batch if flag else None
        for (_, end), flag in zip(bare.offsets, flags, strict=True)
    ]
    skipped = [] if all(flags) else [not flag for flag in flags]
    return TokenScores(bare.tokens, bare.ids, bare.offsets, bits, bare.special, skipped)
