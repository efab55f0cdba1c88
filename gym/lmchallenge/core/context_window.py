"""Contexts as a causal model takes them: tokens that are kept, and the bytes after them that are tokenized anew.

A context that is longer than the model's window loses its beginning, a quarter of the window at a time, so that the
contexts of a line share what is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gym.lmchallenge.core.token_strings import Path, TokenStrings

REGION = 24  # characters of a context that may be spelled anew, at most


@dataclass(frozen=True)
class SplitContext:
    """A context: tokens that are kept, and the bytes after them that are tokenized anew."""

    prefix: Path
    rest: bytes


@dataclass(frozen=True)
class Window:
    """The model's context window: the tokens that begin every text, and the maximum length (None: no limit)."""

    start: Path
    room: int | None

    def before(self, context: SplitContext, longest: int) -> Path | None:
        """The tokens that stand before ways of up to `longest` tokens: the start and as much of the context as there is
        room for. None if there is no room, or nothing to stand before them."""
        prefix = context.prefix
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


def split_contexts(
    contexts: Sequence[str], tokenizer: Any, token_strings: TokenStrings, *, whole: bool = False
) -> list[SplitContext]:
    """One per context. `whole`: all of it is tokenized anew."""
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
        context: _split(text, ids, offsets, token_strings, whole)
        for context, (text, ids, offsets) in zip(distinct, rows, strict=True)
    }
    return [found[context] for context in contexts]


def _split(
    text: str, ids: list[int], offsets: list[tuple[int, int]], token_strings: TokenStrings, whole: bool
) -> SplitContext:
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
    spelled = b"".join(token_strings.pieces[number] or b"" for number in ids[:stand])
    data = token_strings.data(text, at_start=True)
    if data.startswith(spelled):
        return SplitContext(tuple(ids[:stand]), data[len(spelled) :])
    # A token that spells nothing, such as that of unknown characters: the offsets have to do.
    return SplitContext(tuple(ids[:stand]), token_strings.data(text[end:], at_start=False))
