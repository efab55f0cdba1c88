"""Sums over the lines and entries of wp and tc: what `stats` reckons, without numpy, and such that the sums of the
parts of a log can be added up.

Texts and ranks come as columns. A text that is hidden is the number of its characters; a rank is None where none is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, chain, compress, pairwise
from typing import Any, TypeAlias

from gym.lmchallenge.tokens import FILTERS

HITS = (1, 3, 10, 20)
LAST_INDEX = 4
MOST_REMEMBERED = 200_000

Shown: TypeAlias = "str | int"
"""A target, or how many characters it had."""


class Verdicts(dict[Any, bool]):
    """What a filter says of the texts it met; of hidden ones, that they count."""

    def __init__(self, keep: str) -> None:
        super().__init__()
        self._keeps: Callable[[str], bool] = FILTERS[keep]

    def __missing__(self, text: Any) -> bool:
        if len(self) >= MOST_REMEMBERED:
            self.clear()
        verdict = self[text] = not isinstance(text, str) or self._keeps(text)
        return verdict


class Lines:
    """How many lines, which users, and trainingChars: the highest number so far, but a line without one forgets it."""

    def __init__(self) -> None:
        self.count = 0
        self.users: set[str] = set()
        self.highest: Any = None
        self.forgot = False

    def add(self, users: Iterable[str], learnt: Sequence[Any]) -> None:
        """The next lines: the name of the user and trainingChars of each."""
        self.count += len(learnt)
        self.users.update(users)
        rest = list(learnt)
        if None in rest:
            self.highest, self.forgot = None, True
            rest = rest[len(rest) - rest[::-1].index(None) :]
        if rest:
            self.highest = max(rest) if self.highest is None else max([self.highest, *rest])

    def state(self) -> list[Any]:
        """As JSON has it, for `join`."""
        return [self.count, list(self.users), self.highest, self.forgot]

    def join(self, state: list[Any]) -> None:
        """Add the lines of the next part."""
        count, users, highest, forgot = state
        self.count += count
        self.users.update(users)
        if forgot or self.highest is None:
            self.highest, self.forgot = highest, self.forgot or forgot
        elif highest is not None:
            self.highest = max(self.highest, highest)

    def statistics(self) -> dict[str, Any]:
        """lines, users, training_chars."""
        return {"lines": self.count, "users": len(self.users), "training_chars": self.highest}


class WordSums:
    """Of wp: characters, tokens that are skipped, and ranks: of all, and of those at the first places among the counted
    tokens of a line."""

    def __init__(self, verdicts: Verdicts) -> None:
        self.verdicts = verdicts
        self.chars = self.skipped = self.not_numbers = 0
        self.ranks: Counter[int | None] = Counter()
        self.places: list[Counter[int | None]] = [Counter() for _ in range(LAST_INDEX)]

    def add(self, sizes: Sequence[int], texts: Sequence[Shown], ranks: Sequence[int | None]) -> None:
        """The entries of the next lines, `sizes` of them per line."""
        counts = list(map(self.verdicts.__getitem__, texts))
        kept = list(compress(ranks, counts))
        self.chars += _characters(list(compress(texts, counts)))
        self.skipped += len(texts) - len(kept)
        self.ranks.update(kept)
        before = list(accumulate(counts, initial=0))
        lines = list(pairwise([before[end] for end in accumulate(sizes, initial=0)]))
        for place, own in enumerate(self.places):
            own.update([kept[start + place] for start, end in lines if end - start > place])
        self.not_numbers += ranks.count(0)

    def state(self) -> list[Any]:
        """As JSON has it, for `join`."""
        ranks = [list(own.items()) for own in (self.ranks, *self.places)]
        return [self.chars, self.skipped, self.not_numbers, ranks]

    def join(self, state: list[Any]) -> None:
        """Add the entries of another part."""
        chars, skipped, not_numbers, ranks = state
        self.chars += chars
        self.skipped += skipped
        self.not_numbers += not_numbers
        for own, other in zip((self.ranks, *self.places), ranks, strict=True):
            own.update(dict(other))

    def statistics(self) -> dict[str, Any]:
        """As the reference names them."""
        words = sum(self.ranks.values())
        hits = sorted((rank, count) for rank, count in self.ranks.items() if rank)
        hit = sum(count for _, count in hits)
        found = {
            "words": words,
            "chars": self.chars,
            "skip": _rate(self.skipped, words),
            "miss": _rate(words - hit, words),
            "hit": _rate(hit, words),
            "mrr": _rate(sum(count / rank for rank, count in hits), words),
        }
        for most in HITS:
            found[f"hit{most}"] = _rate(sum(count for rank, count in hits if rank <= most), words)
        further = self.ranks.copy()
        for place in self.places:
            further.subtract(place)
        for index, place in enumerate([*self.places, +further]):
            if any(rank for rank in place):
                near = sum(count for rank, count in place.items() if rank and rank <= 3)
                found[f"idx{index}_hit3"] = _rate(near, sum(place.values()))
        return found


class TextSums:
    """Of tc: characters, those that count, those of accepted texts, and what was pressed to accept."""

    def __init__(self, verdicts: Verdicts) -> None:
        self.verdicts = verdicts
        self.size = self.counted = self.accepted = self.presses = self.not_numbers = 0
        self._left_out = _LeftOut(verdicts)

    def add(self, sizes: Sequence[int], texts: Sequence[Shown], ranks: Sequence[int | None]) -> None:
        """The entries of the next lines; which line they are of does not matter."""
        accepted = [text for text, rank in zip(texts, ranks, strict=True) if rank is not None]
        self.presses += sum(map(self._counts, accepted))
        counted = self._counted(accepted)
        self.accepted += counted
        self.counted += counted + self._counted(
            [text for text, rank in zip(texts, ranks, strict=True) if rank is None]
        )
        self.size += sum(text if isinstance(text, int) else len(text) for text in texts)

    def _counts(self, text: Shown) -> bool:
        """Whether any of its characters counts."""
        return text > 0 if isinstance(text, int) else any(map(self.verdicts.__getitem__, text))

    def _counted(self, texts: Sequence[Shown]) -> int:
        """Characters that the filter counts."""
        hidden = sum(text for text in texts if isinstance(text, int))
        shown = [text for text in texts if isinstance(text, str)]
        plain = "".join(filter(str.isascii, shown))
        others = Counter(chain.from_iterable(text for text in shown if not text.isascii()))
        verdicts = self.verdicts
        return (
            hidden
            + len(plain.translate(self._left_out))
            + sum(count for character, count in others.items() if verdicts[character])
        )

    def state(self) -> list[Any]:
        """As JSON has it, for `join`."""
        return [self.size, self.counted, self.accepted, self.presses]

    def join(self, state: list[Any]) -> None:
        """Add the entries of another part."""
        size, counted, accepted, presses = state
        self.size += size
        self.counted += counted
        self.accepted += accepted
        self.presses += presses

    def statistics(self) -> dict[str, Any]:
        """As the reference names them."""
        chars = self.counted
        return {
            "chars": chars,
            "pcpc": _rate(self.accepted, chars),
            "kpc": _rate(self.presses + chars - self.accepted, chars),
            "skip": _rate(self.size - chars, chars),
        }


class _LeftOut(dict[int, Any]):
    """For str.translate: takes away the characters that do not count."""

    def __init__(self, verdicts: Verdicts) -> None:
        super().__init__()
        self._verdicts = verdicts

    def __missing__(self, code: int) -> int | None:
        found = self[code] = code if self._verdicts[chr(code)] else None
        return found


def _characters(texts: list[Shown]) -> int:
    try:
        return len("".join(texts))  # type: ignore[arg-type]  # that they are all shown is the usual case
    except TypeError:
        return sum(text if isinstance(text, int) else len(text) for text in texts)


def _rate(above: float, below: float) -> float | None:
    return above / below if below else None


SUMS: dict[str, type[WordSums] | type[TextSums]] = {"wp": WordSums, "tc": TextSums}
