"""Contexts as a causal model takes them: tokens that stand, and the bytes behind them that are to be spelled again.

A context that is longer than the model's window loses its beginning, a quarter of the window at a time, so that the
contexts of a line share what is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gym.lmchallenge.alphabet import Alphabet, Path

REGION = 24  # characters of a context that may be spelled anew, at most


@dataclass(frozen=True)
class Spot:
    """A context: tokens that stand, and the bytes after them that are to be spelled again."""

    prefix: Path
    rest: bytes


@dataclass(frozen=True)
class Window:
    """What stands before every text, and how many tokens the model takes together (None = any number)."""

    start: Path
    room: int | None

    def before(self, spot: Spot, longest: int) -> Path | None:
        """The tokens that stand before ways of up to `longest` tokens: the start and as much of the context as there is
        room for. None if there is no room, or nothing to stand before them."""
        prefix = spot.prefix
        if self.room is not None:
            left = self.room - len(self.start) - longest
            if left < min(1, len(prefix)):
                return None
            surplus = len(prefix) - left
            if surplus > 0:
                step = max(1, self.room // 4)
                whole_steps = -(-surplus // step) * step
                prefix = prefix[whole_steps if whole_steps < len(prefix) else surplus :]
        return self.start + prefix or None


def spots_of(
    contexts: Sequence[str], tokenizer: Any, alphabet: Alphabet, *, whole: bool = False
) -> list[Spot]:
    """One per context. `whole`: all of each is to be spelled again."""
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
    rows = zip(cleaned, batch["input_ids"], batch["offset_mapping"], strict=True)
    found = {
        context: _spot(text, ids, offsets, alphabet, whole)
        for context, (text, ids, offsets) in zip(distinct, rows, strict=True)
    }
    return [found[context] for context in contexts]


def _spot(text: str, ids: list[int], offsets: list[tuple[int, int]], alphabet: Alphabet, whole: bool) -> Spot:
    limit = max(text.rfind(" "), 0) if " " in text[-REGION:] else max(0, len(text) - REGION)
    limit = 0 if whole else limit
    stand = end = 0
    for number, (_, stop) in enumerate(offsets):
        following = offsets[number + 1][0] if number + 1 < len(offsets) else len(text)
        if stop > limit:
            break
        # Offsets may leave a blank out; the bytes of the tokens say where the text really is.
        if following >= stop:
            stand, end = number + 1, stop
    spelled = b"".join(alphabet.pieces[number] or b"" for number in ids[:stand])
    data = alphabet.data(text, at_start=True)
    if data.startswith(spelled):
        return Spot(tuple(ids[:stand]), data[len(spelled) :])
    # A token that spells nothing, such as that of unknown characters: the offsets have to do.
    return Spot(tuple(ids[:stand]), alphabet.data(text[end:], at_start=False))
