"""Log probabilities of candidates: sums over their tokenizations, computed in one batch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain, compress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lmgym.lmchallenge.errors import PlayerError
from lmgym.lmchallenge.play.player import Reply
from lmgym.lmchallenge.play.token_strings import (
    ALONE,
    SIGNS,
    WORD,
    Path,
    SplitContext,
    TokenStrings,
    Window,
    kind_of,
)

if TYPE_CHECKING:
    from lmgym.models.engine.model_runner import ModelRunner

LN2 = math.log(2)
NONE = -1
MAX_SPELLINGS = 4096
"""Maximum number of spellings per call (at least one context). Large calls run shared prefixes once; the limit bounds
memory.
"""


class _Spelling(NamedTuple):
    """A spelling: tokens after the prefix, and the constraint on the next token (a kind of token that ends the
    candidate, bytes that it must begin with, or None).
    """

    path: Path
    after: bytes | str | None


class _Plan(NamedTuple):
    """Spellings of the rest of a context (owner 0) and of its candidates (owner k + 1), independent of the prefix.

    longest  maximum number of tokens, by owner
    """

    words: tuple[str, ...]
    spellings: list[_Spelling]
    owner: list[int]
    longest: list[int]


@dataclass
class _Sums:
    """Token sequences, and the sum to which each adds its probability (`owner`). Sequences with the same
    prefix share it as a stem.
    """

    sequences: list[Path] = field(default_factory=list)
    stems: dict[Path, int] = field(default_factory=dict)
    stem_of: list[int] = field(default_factory=list)  # NONE: the prefix itself, which is not scored
    columns: list[int] = field(default_factory=list)  # vocabulary set after the last token, or NONE
    owner: list[int] = field(default_factory=list)
    sets: dict[bytes | str, int] = field(default_factory=lambda: {WORD: 0, SIGNS: 1})
    count: int = 0

    def add(self, prefix: Path, plan: _Plan) -> int:
        """Add the sums of a plan after a prefix; return the index of the first."""
        stem, first, sets = self.stems.setdefault(prefix, len(self.stems)), self.count, self.sets
        self.sequences += [path or prefix for path, _ in plan.spellings]
        self.stem_of += [stem if path else NONE for path, _ in plan.spellings]
        self.columns += [
            NONE if after is None else sets.setdefault(after, len(sets)) for _, after in plan.spellings
        ]
        self.owner += [first + at for at in plan.owner]
        self.count += len(plan.longest)
        return first


class CandidateScorer:
    """Scorer that sums each candidate's probability over the spellings with the fewest tokens: up to `paths`
    spellings, always including the tokenizer's own.
    """

    def __init__(self, token_strings: TokenStrings, window: Window, paths: int) -> None:
        self._token_strings, self._window, self._paths = token_strings, window, paths

    def of(
        self, runner: ModelRunner, tokenizer: Any, requests: Sequence[tuple[SplitContext, Sequence[str]]]
    ) -> list[Reply]:
        """Return one reply per context. A candidate that does not fit into the model's window is omitted."""
        spellings = self._own_spellings(tokenizer, requests)
        plans: dict[tuple[bytes, tuple[str, ...]], _Plan] = {}
        replies: list[Reply] = []
        sums = _Sums()
        added: list[tuple[int, tuple[str, ...]]] = []
        for context, words in requests:
            key = context.rest, tuple(words)
            plan = plans[key] = plans.get(key) or self._plan(*key, spellings)
            added.append(self._add(context, plan, spellings, sums))
            if len(sums.sequences) >= MAX_SPELLINGS:
                replies += self._replies(runner, sums, added, requests[len(replies) :])
                sums, added = _Sums(), []
        return replies + self._replies(runner, sums, added, requests[len(replies) :])

    def _replies(
        self,
        runner: ModelRunner,
        sums: _Sums,
        added: list[tuple[int, tuple[str, ...]]],
        requests: Sequence[tuple[SplitContext, Sequence[str]]],
    ) -> list[Reply]:
        """Return the replies for the first contexts of `requests`, one for each element of `added`."""
        logs = self._added_up(runner, sums).tolist()
        replies: list[Reply] = []
        for (first, words), (context, _) in zip(added, requests, strict=False):
            below = logs[first] if context.rest else 0.0
            scored_words = zip(words, logs[first + 1 : first + 1 + len(words)], strict=True)
            worths = [(word, worth - below) for word, worth in scored_words]
            replies.append([(word, min(0.0, worth)) for word, worth in worths if math.isfinite(worth)])
        return replies

    def _add(
        self, context: SplitContext, plan: _Plan, spellings: dict[bytes, Path], sums: _Sums
    ) -> tuple[int, tuple[str, ...]]:
        """Add the sums of a context and its candidates; return the index of the first, and the candidates that fit."""
        if self._window.before(context, max(plan.longest)) is None:
            base = plan.longest[0]
            fits = [self._window.before(context, max(base, length)) is not None for length in plan.longest]
            plan = self._plan(context.rest, tuple(compress(plan.words, fits[1:])), spellings)
            if not fits[0]:
                plan = _Plan((), [], [], [0])
        prefix = self._window.before(context, max(plan.longest))
        return sums.add(prefix or (), plan), plan.words

    def _plan(self, rest: bytes, words: tuple[str, ...], spellings: dict[bytes, Path]) -> _Plan:
        parts = [[_Spelling(path, after) for path, after in self._token_strings.covers(rest, self._paths)]]
        parts += [
            self._spellings(rest + word.encode("utf-8", "replace"), kind_of(word), spellings)
            for word in words
        ]
        owner = [at for at, part in enumerate(parts) for _ in part]
        longest = [max((len(spelling.path) for spelling in part), default=0) for part in parts]
        return _Plan(words, list(chain.from_iterable(parts)), owner, longest)

    def _spellings(self, data: bytes, kind: str, spellings: dict[bytes, Path]) -> list[_Spelling]:
        """Return the spellings of a candidate, each with the constraint that ends it."""
        spelled = dict.fromkeys(self._token_strings.segmentations(data, self._paths))
        if data in spellings:
            spelled.setdefault(spellings[data])
        if kind == ALONE:
            return [_Spelling(path, None) for path in spelled]
        over = self._token_strings.overruns(data, kind, self._paths)
        return [_Spelling(path, kind) for path in spelled] + [_Spelling(path, None) for path in over]

    def _own_spellings(
        self, tokenizer: Any, requests: Sequence[tuple[SplitContext, Sequence[str]]]
    ) -> dict[bytes, Path]:
        """Return the tokenizer's own spelling of the rest of each context with each candidate."""
        texts: dict[str, bytes] = {}
        for context, words in requests:
            for word in words:
                data = context.rest + word.encode("utf-8", "replace")
                text = data.decode("utf-8", "replace")
                texts[text.removeprefix(" ") if self._token_strings.prefixed else text] = data
        if not texts:
            return {}
        batch = tokenizer(
            list(texts), add_special_tokens=False, padding=False, truncation=False, verbose=False
        )
        pieces = self._token_strings.pieces
        return {
            data: tuple(ids)
            for data, ids in zip(texts.values(), batch["input_ids"], strict=True)
            if b"".join(pieces[number] or b"" for number in ids) == data
        }

    def _added_up(self, runner: ModelRunner, sums: _Sums) -> np.ndarray[Any, Any]:
        """Return the natural logarithm of each sum; -inf for an empty one."""
        import torch

        from lmgym.models.engine.execute import compute_flat
        from lmgym.models.engine.memory import default_budget

        totals = np.full(sums.count, -np.inf)
        if not sums.sequences:
            return totals
        weights = np.zeros((self._token_strings.size, len(sums.sets)), dtype=np.float32)
        for key, column in sums.sets.items():
            weights[:, column] = (
                self._token_strings.ending[key]
                if isinstance(key, str)
                else self._token_strings.beginning(key)
            )
        columns, lengths = np.array(sums.columns), np.fromiter(map(len, sums.sequences), np.int64)
        scored = np.repeat(np.array(sums.stem_of) != NONE, lengths)
        last = np.cumsum(lengths) - 1
        rows = np.zeros(len(scored), np.bool_)
        rows[last] = columns != NONE
        values = compute_flat(
            runner,
            sums.sequences,
            budget=default_budget(runner.device, runner.vocabulary),
            needed=scored,
            rows=rows,
            sets=torch.from_numpy(weights).to(runner.device),
            stems=list(sums.stems),
            stem_of=sums.stem_of,
        )
        for failure in values.failures.values():
            raise PlayerError(f"The model could not score a continuation: {failure.reason}")
        bits = np.add.reduceat(np.where(scored, values.bits, 0.0), values.starts[:-1])
        bits += np.where(columns != NONE, values.mass[last, columns], 0.0)
        np.logaddexp.at(totals, sums.owner, -bits * LN2)
        return totals
