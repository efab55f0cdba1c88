"""A causal language model as a player.

What a candidate c is worth after a context x is the natural logarithm of the probability that the text goes on
with c and c is over there (what follows does not make it a longer token of the game):

    p(c | x) = P(text begins with x c, then something that ends c) / P(text begins with x)

Both are sums over token sequences. Tokens up to the last blank of x (or its start) are those that the tokenizer
gives; from there on, through the end of c, all ways to spell the bytes are summed, up to `paths` ways with the
fewest tokens, the tokenizer's own always among them. So a context that ends in a blank, or inside a word, is not
tied to where its own tokens happen to end. With unlimited paths, and `whole` or a context of one word, this is
the exact value (the tests compare with brute force); without, tokens that run from one word into the next are not
taken apart.

Predictions without candidates come from a beam search whose first tokens are held to what is left of the context:
`beam` ways, up to `steps` tokens past the context, each ended where the model may end a token of the game.

All requests of a call are computed together: contexts of a line share their prefixes, which run through the model
once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from gym.lmchallenge.alphabet import ALONE, SIGNS, WORD, Alphabet, Flags, Path, first_token, kind_of
from gym.lmchallenge.distributions import distributions, likeliest, log_masses
from gym.lmchallenge.errors import OptionError, PlayerError
from gym.lmchallenge.player import Reply, Request
from models_registry.engine.scores import ScoringFailure

if TYPE_CHECKING:
    import torch

    from models_registry.backends.causal import CausalBackend
    from models_registry.engine.reader import Reader

LN2 = math.log(2)
BEHIND = 2.0  # nats: a way so far behind the last prediction is given up
REGION = 24  # characters of a context that may be spelled anew, at most


@dataclass(frozen=True)
class _Spot:
    """A context: tokens that stand, and the bytes after them that are to be spelled again."""

    prefix: Path
    rest: bytes
    at_start: bool


@dataclass
class _Beam:
    """A way on: tokens after the prefix, bytes of the context not yet spelled, predicted text, log probability."""

    path: Path
    rest: bytes
    text: str
    score: float


@dataclass
class _Sums:
    """Sequences whose probabilities are to be added up, per sum."""

    sequences: list[Path] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)  # first token of each that counts
    columns: list[int] = field(default_factory=list)  # vocabulary set after the last token; -1 = none
    owner: list[int] = field(default_factory=list)

    def add(self, prefix: Path, path: Path, column: int, owner: int) -> None:
        """One more way for the sum `owner`."""
        self.sequences.append(prefix + path)
        self.starts.append(len(prefix))
        self.columns.append(column)
        self.owner.append(owner)


class CausalPlayer:
    """See the module. predictions: most that are offered. together: lines played side by side. whole: sum over the
    ways to spell the whole context, not only its last word; for short contexts."""

    def __init__(
        self,
        backend: CausalBackend,
        *,
        predictions: int = 20,
        paths: int = 3,
        beam: int = 16,
        steps: int = 3,
        together: int = 8,
        whole: bool = False,
    ) -> None:
        for name, value in (
            ("predictions", predictions),
            ("paths", paths),
            ("beam", beam),
            ("together", together),
        ):
            if not isinstance(value, int) or value < 1:
                raise OptionError(f"{name} is {value!r}.", "It must be a whole number above 0.")
        if not isinstance(steps, int) or steps < 0:
            raise OptionError(f"steps is {steps!r}.", "It must be a whole number.")
        self.backend, self.together, self.whole = backend, together, whole
        self.predictions, self.paths, self.beam, self.steps = predictions, paths, beam, steps
        with backend.held() as (reader, tokenizer):
            self._alphabet = Alphabet.of(tokenizer, reader.vocabulary or len(tokenizer))
            start = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.eos_token_id
        self._start: Path = () if start is None else (int(start),)

    def predict(self, requests: Sequence[Request]) -> list[Reply]:
        """All at once."""
        with self.backend.held() as (reader, tokenizer):
            spots = self._spots([request.context for request in requests], tokenizer)
            replies: list[Reply] = [[] for _ in requests]
            free = [at for at, request in enumerate(requests) if request.candidates is None and spots[at]]
            held = [at for at, request in enumerate(requests) if request.candidates is not None and spots[at]]
            if held:
                given = [(spots[at], list(requests[at].candidates or ())) for at in held]
                for at, reply in zip(held, self._worth(reader, tokenizer, given), strict=True):
                    replies[at] = reply
            if free:
                for at, reply in zip(free, self._search(reader, [spots[at] for at in free]), strict=True):
                    replies[at] = reply
        return replies

    def train(self, text: str) -> None:
        """Nothing is learnt: the weights stay."""

    def clear(self) -> None:
        """Nothing was learnt."""

    def check(self) -> None:
        """Nothing can be amiss."""

    def close(self) -> None:
        """The model stays loaded for others."""

    # -- contexts --------------------------------------------------------------------------------------------

    def _spots(self, contexts: Sequence[str], tokenizer: Any) -> list[_Spot]:
        distinct = list(dict.fromkeys(contexts))
        cleaned = [text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for text in distinct]
        batch = tokenizer(
            cleaned,
            add_special_tokens=False,
            return_offsets_mapping=True,
            padding=False,
            truncation=False,
            verbose=False,
        )
        found = {}
        for original, text, ids, offsets in zip(
            distinct, cleaned, batch["input_ids"], batch["offset_mapping"], strict=True
        ):
            found[original] = self._spot(text, ids, offsets)
        return [found[context] for context in contexts]

    def _spot(self, text: str, ids: list[int], offsets: list[tuple[int, int]]) -> _Spot:
        limit = max(text.rfind(" "), 0) if " " in text[-REGION:] else max(0, len(text) - REGION)
        limit = 0 if self.whole else limit
        stand = 0
        for number, (_, stop) in enumerate(offsets):
            following = offsets[number + 1][0] if number + 1 < len(offsets) else len(text)
            if stop > limit:
                break
            # Offsets may leave a blank out; the bytes of the tokens say where the text really is.
            if following >= stop:
                stand, _end = number + 1, stop
        spelled = b"".join(self._alphabet.pieces[number] or b"" for number in ids[:stand])
        data = self._alphabet.data(text, at_start=True)
        if not data.startswith(spelled):
            stand, spelled = 0, b""
        rest = data[len(spelled) :]
        room = self.backend.facts.context_length
        prefix = tuple(ids[:stand])
        if room is not None:
            prefix = prefix[-max(1, room - 2 * REGION) :]
        return _Spot(self._start + prefix, rest, stand == 0)

    # -- candidates ------------------------------------------------------------------------------------------

    def _worth(self, reader: Reader, tokenizer: Any, given: list[tuple[_Spot, list[str]]]) -> list[Reply]:
        """Log probabilities of all candidates of all contexts."""
        alphabet = self._alphabet
        sets: dict[bytes | str, int] = {WORD: 0, SIGNS: 1}
        sums = _Sums()
        owners = 0
        own = self._own_ways(tokenizer, given)
        for spot, words in given:
            if spot.prefix:
                self._add_context(spot, sums, owners, sets)
            owners += 1
            for word in words:
                if spot.prefix:
                    data = spot.rest + word.encode("utf-8", "replace")
                    kind = kind_of(word)
                    column = sets[kind] if kind != ALONE else -1
                    ways = alphabet.segmentations(data, self.paths)
                    for path in dict.fromkeys((*own.get(data, ()), *ways)):
                        sums.add(spot.prefix, path, column, owners)
                    if kind != ALONE:
                        for path in alphabet.overruns(data, kind, self.paths):
                            sums.add(spot.prefix, path, -1, owners)
                owners += 1
        logs = self._added_up(reader, sums, sets, owners)
        replies: list[Reply] = []
        at = 0
        for spot, words in given:
            base = logs[at] if spot.rest else 0.0
            scores = logs[at + 1 : at + 1 + len(words)]
            at += 1 + len(words)
            replies.append(
                [
                    (word, min(0.0, float(score - base)))
                    for word, score in zip(words, scores, strict=True)
                    if math.isfinite(score) and math.isfinite(base)
                ]
            )
        return replies

    def _own_ways(self, tokenizer: Any, given: list[tuple[_Spot, list[str]]]) -> dict[bytes, list[Path]]:
        """The tokenizer's own spelling of what is left of each context with each candidate."""
        texts: dict[str, bytes] = {}
        for spot, words in given:
            for word in words:
                data = spot.rest + word.encode("utf-8", "replace")
                text = data.decode("utf-8", "replace")
                texts[text.removeprefix(" ") if self._alphabet.prefixed else text] = data
        if not texts:
            return {}
        batch = tokenizer(
            list(texts), add_special_tokens=False, padding=False, truncation=False, verbose=False
        )
        rows = batch["input_ids"]
        found: dict[bytes, list[Path]] = {}
        for data, ids in zip(texts.values(), rows, strict=True):
            if b"".join(self._alphabet.pieces[number] or b"" for number in ids) == data:
                found[data] = [tuple(ids)]
        return found

    def _add_context(self, spot: _Spot, sums: _Sums, owner: int, sets: dict[bytes | str, int]) -> None:
        """The ways to spell what is left of the context, and perhaps more."""
        for path, rest in self._alphabet.covers(spot.rest, self.paths):
            sums.add(spot.prefix, path, sets.setdefault(rest, len(sets)), owner)

    def _added_up(
        self, reader: Reader, sums: _Sums, sets: dict[bytes | str, int], owners: int
    ) -> np.ndarray[Any, Any]:
        """Natural logarithm of each sum; -inf for an empty one."""
        import torch

        from models_registry.engine.execute import compute, default_budget

        totals = np.full(owners, -np.inf)
        if not sums.sequences:
            return totals
        weights = np.zeros((self._alphabet.size, len(sets)), dtype=np.float32)
        for key, column in sets.items():
            weights[:, column] = (
                self._alphabet.ending[key] if isinstance(key, str) else self._alphabet.beginning(key)
            )
        needed = [
            [at >= start for at in range(len(ids))]
            for ids, start in zip(sums.sequences, sums.starts, strict=True)
        ]
        rows = [
            [column >= 0 and at == len(ids) - 1 for at in range(len(ids))]
            for ids, column in zip(sums.sequences, sums.columns, strict=True)
        ]
        found = compute(
            reader,
            sums.sequences,
            budget=default_budget(reader.device, reader.vocabulary),
            needed=needed,
            rows=rows,
            sets=torch.from_numpy(weights).to(reader.device),
        )
        for one, start, column, owner in zip(found, sums.starts, sums.columns, sums.owner, strict=True):
            if isinstance(one, ScoringFailure):
                raise PlayerError(f"The model could not score a continuation: {one.reason}")
            bits = float(one.bits[start:].sum())
            if column >= 0:
                bits += float(one.mass[-1, column])
            totals[owner] = np.logaddexp(totals[owner], -bits * LN2)
        return totals

    # -- predictions -----------------------------------------------------------------------------------------

    def _search(self, reader: Reader, spots: list[_Spot]) -> list[Reply]:
        """Beam search from every spot at once. Equal contexts are searched once."""
        distinct = {spot: at for at, spot in enumerate(dict.fromkeys(spots))}
        beams: list[list[_Beam]] = [
            [_Beam((), spot.rest, "", 0.0)] if spot.prefix else [] for spot in distinct
        ]
        ended: list[dict[str, float]] = [{} for _ in distinct]
        base = [-math.inf if spot.rest else 0.0 for spot in distinct]
        order = list(distinct)
        for step in range(self.steps + 1):
            waiting = [(at, beam) for at, own in enumerate(beams) for beam in own]
            if not waiting:
                break
            beams = [[] for _ in distinct]
            sequences = [order[at].prefix + beam.path for at, beam in waiting]
            for numbers, logs in distributions(reader, sequences):
                rows = [waiting[number] for number in numbers]
                self._end(logs, rows, ended, base)
                if step < self.steps:
                    self._go_on(logs, rows, beams, ended)
            beams = [self._likeliest(own, done) for own, done in zip(beams, ended, strict=True)]
        replies = []
        for at in range(len(order)):
            best = sorted(ended[at].items(), key=lambda pair: (-pair[1], pair[0]))[: self.predictions]
            replies.append([(text, min(0.0, score - base[at])) for text, score in best])
        return [list(replies[distinct[spot]]) for spot in spots]

    def _likeliest(self, beams: list[_Beam], ended: dict[str, float]) -> list[_Beam]:
        """The best ways on, without those that are far behind the last prediction: going on only costs. What they would
        have added to the score of another way to spell a prediction is lost."""
        most = self.predictions
        least = sorted(ended.values())[-most] - BEHIND if len(ended) >= most else -math.inf
        return sorted((beam for beam in beams if beam.score > least), key=lambda beam: -beam.score)[
            : self.beam
        ]

    def _end(
        self,
        logs: torch.Tensor,
        rows: list[tuple[int, _Beam]],
        ended: list[dict[str, float]],
        base: list[float],
    ) -> None:
        """End each way whose token of the game may end here, and add up what reaches the end of the context."""
        sets = [
            self._alphabet.beginning(beam.rest)
            if beam.rest
            else self._alphabet.ending.get(kind_of(beam.text))
            for _, beam in rows
        ]
        chosen = [row for row, flags in enumerate(sets) if flags is not None]
        if not chosen:
            return
        masses = log_masses(logs[chosen], [flags for flags in sets if flags is not None])
        for row, mass in zip(chosen, masses, strict=True):
            at, beam = rows[row]
            if beam.rest:
                base[at] = float(np.logaddexp(base[at], beam.score + mass))
            elif beam.text:
                _add(ended[at], beam.text, beam.score + mass)

    def _go_on(
        self,
        logs: torch.Tensor,
        rows: list[tuple[int, _Beam]],
        beams: list[list[_Beam]],
        ended: list[dict[str, float]],
    ) -> None:
        """Every way with the likeliest tokens that fit."""
        tops = likeliest(logs, [self._fitting(beam) for _, beam in rows], self.beam)
        for (at, beam), top in zip(rows, tops, strict=True):
            for number, value in top:
                piece, path, score = (
                    self._alphabet.pieces[number] or b"",
                    (*beam.path, number),
                    beam.score + value,
                )
                if len(piece) <= len(beam.rest):
                    beams[at].append(_Beam(path, beam.rest[len(piece) :], beam.text, score))
                    continue
                try:
                    text = beam.text + piece[len(beam.rest) :].decode("utf-8")
                except UnicodeDecodeError:
                    continue
                token, over = first_token(text)
                if over:
                    _add(ended[at], token, score)
                elif token:
                    beams[at].append(_Beam(path, b"", token, score))

    def _fitting(self, beam: _Beam) -> Flags:
        """Tokens that fit: what is left of the context first, then the same kind of token as began."""
        if beam.rest:
            return self._alphabet.fitting(beam.rest)
        kind = kind_of(beam.text)
        if beam.text.strip() and kind != ALONE:
            return self._alphabet.onward[kind]
        return self._alphabet.beginning(b"")


def _add(sums: dict[str, float], key: str, score: float) -> None:
    sums[key] = float(np.logaddexp(sums.get(key, -math.inf), score))
