"""The vocabulary of a subword model as byte strings: how each token is spelled, and which tokens may follow the end of
a word.

A language model over tokens assigns a string the total probability of all its spellings. `segmentations`
lists the spellings with the fewest tokens, `covers` the spellings that reach or pass the end of a prefix. A
context longer than the model's window loses its beginning, a quarter of the window at a time, so that a
line's contexts share the remainder. Does not import torch.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import regex
from numpy.typing import NDArray

from lmgym.lmchallenge.errors import OptionError
from lmgym.lmchallenge.tokens import EMOJI, beginning_with, is_emoji

Flags: TypeAlias = NDArray[np.bool_]
Path: TypeAlias = tuple[int, ...]

WORD, SIGNS, ALONE = "word", "signs", "alone"
"""Kinds of game tokens: letters, digits and the like; punctuation and symbols; an emoji, which cannot be extended."""

_WORD = regex.compile(r"[\p{L}\p{N}\p{Pc}\p{Pd}'@#]")
_SIGN = regex.compile(r"[\p{P}\p{S}]")
_PROBE = "The cat's 3 naïve 猫, (42) -- 🙂!"
_MARK = "\u2581"


@lru_cache(maxsize=50_000)
def kind_of(text: str) -> str:
    """Return the kind of the token at the end of the text, ignoring spaces before it."""
    text = text.lstrip()
    if not text or is_emoji(text) or text[-1].isspace():
        return ALONE
    if _WORD.match(text[-1]):
        return WORD if all(map(_WORD.match, text)) or not _SIGN.match(text[0]) else SIGNS
    return SIGNS if _SIGN.match(text[-1]) else ALONE


@lru_cache(maxsize=20_000)
def extends(kind: str, char: str) -> bool:
    """Return whether this character would extend a token of this kind."""
    if kind == WORD:
        return _WORD.match(char) is not None
    return kind == SIGNS and _SIGN.match(char) is not None


@lru_cache(maxsize=50_000)
def first_token(text: str) -> tuple[str, bool]:
    """Return the first game token, including the spaces before it, and whether it ends within the text. Returns
    ("", False) if other characters come first.
    """
    at = len(text) - len(text.lstrip())
    if at == len(text):
        return text, False
    if text[at] in EMOJI:
        return text[: at + 1], True
    kind = kind_of(text[at])
    if kind == ALONE:
        return "", False
    end = next((place for place in range(at, len(text)) if not extends(kind, text[place])), len(text))
    return text[:end], end < len(text)


class TokenStrings:
    """Byte strings of a vocabulary.

    pieces      bytes per id; None for special tokens and unused rows
    prefixed    the tokenizer puts a space before a text
    continuing  tokens that continue a character begun by the previous token
    """

    def __init__(
        self, pieces: Sequence[bytes | None], *, prefixed: bool = False, ends: Sequence[int] = ()
    ) -> None:
        self.pieces = list(pieces)
        self.size = len(self.pieces)
        self.prefixed = prefixed
        self._ids: dict[bytes, list[int]] = {}
        for number, piece in enumerate(self.pieces):
            if piece:
                self._ids.setdefault(piece, []).append(number)
        self._longest = max(map(len, self._ids), default=0)
        self._sorted = sorted((piece, number) for piece, numbers in self._ids.items() for number in numbers)
        self._keys = [piece for piece, _ in self._sorted]
        self.texts: list[str | None] = [_text(piece) for piece in self.pieces]
        first = [text[0] if text else None for text in self.texts]
        self.ending: dict[str, Flags] = {
            kind: np.array([char is not None and not extends(kind, char) for char in first])
            for kind in (WORD, SIGNS)
        }
        self.onward: dict[str, Flags] = {
            kind: np.array([char is not None and extends(kind, char) for char in first])
            for kind in (WORD, SIGNS)
        }
        self.continuing: Flags = np.array(
            [piece is not None and b"\x80" <= piece[:1] < b"\xc0" for piece in self.pieces], dtype=np.bool_
        )
        for number in ends:
            for kind in (WORD, SIGNS):
                self.ending[kind][number] = True
        self._mixed = [
            (piece, number)
            for piece, number in self._sorted
            if (text := self.texts[number]) and len(text) > 1 and _turns(text)
        ]
        self._mixed_keys = [piece for piece, _ in self._mixed]
        self.segmentations = lru_cache(maxsize=100_000)(self._segmentations)
        self.covers = lru_cache(maxsize=20_000)(self._covers)
        self.beginning = lru_cache(maxsize=4_000)(self._beginning)
        self.plain = lru_cache(maxsize=2)(self._plain)
        self.fitting = lru_cache(maxsize=4_000)(self._fitting)
        self.overruns = lru_cache(maxsize=100_000)(self._overruns)

    @classmethod
    def of(cls, tokenizer: Any, rows: int) -> TokenStrings:
        """Build from a fast tokenizer. Raises OptionError if its tokens are not plain pieces of the text."""
        data = json.loads(tokenizer.backend_tokenizer.to_str())
        how = json.dumps([data.get("decoder"), data.get("pre_tokenizer"), data.get("normalizer")])
        special = set(tokenizer.all_special_ids)
        pieces: list[bytes | None] = [None] * rows
        for token, number in tokenizer.get_vocab().items():
            if number < rows and number not in special:
                pieces[number] = _bytes(token, how)
        ends = [tokenizer.eos_token_id] if tokenizer.eos_token_id is not None else []
        first = tokenizer("a", add_special_tokens=False)["input_ids"]
        prefixed = bool(first) and (pieces[first[0]] or b"").startswith(b" ")
        token_strings = cls(pieces, prefixed=prefixed, ends=[number for number in ends if number < rows])
        known = "".join(char for char in _PROBE if char.isascii())
        ids = tokenizer(known, add_special_tokens=False)["input_ids"]
        spelled = b"".join(pieces[number] or b"?" for number in ids)
        if (
            spelled.replace(b"?", b"")
            not in (
                (b" " if prefixed else b"") + known.encode(),
                known.encode(),
            )
            and tokenizer.unk_token_id not in ids
        ):
            raise OptionError(
                "This model's tokenizer changes the text (it turns a test string into "
                f"{spelled.decode('utf-8', 'replace')!r}), so continuations cannot be computed from its tokens.",
                "Models with byte-level or SentencePiece tokenizers can play.",
            )
        return token_strings

    def data(self, text: str, *, at_start: bool) -> bytes:
        """Encode a text as UTF-8. `at_start`: include the space that the tokenizer may put before a text."""
        data = text.encode("utf-8", "replace")
        return b" " + data if at_start and self.prefixed else data

    def starting(self, prefix: bytes) -> list[int]:
        """Return the tokens whose bytes have this prefix."""
        return [self._sorted[at][1] for at in beginning_with(self._keys, prefix)]

    def within(self, data: bytes) -> list[int]:
        """Return the tokens that are proper prefixes of the bytes."""
        return [
            number
            for end in range(1, min(len(data), self._longest + 1))
            for number in self._ids.get(data[:end], ())
        ]

    def _beginning(self, prefix: bytes) -> Flags:
        flags = np.zeros(self.size, dtype=np.bool_)
        flags[self.starting(prefix)] = True
        return flags

    def _plain(self, kind: str) -> Flags:
        """Return a mask of tokens that are complete text and continue a game token of this kind."""
        pairs = zip(self.pieces, self.texts, strict=True)
        return np.array(
            [
                text is not None
                and text.encode() == piece != b""
                and all(extends(kind, char) for char in text)
                for piece, text in pairs
            ]
        )

    def _fitting(self, rest: bytes) -> Flags:
        """Return a mask of tokens that spell a prefix of the bytes, or the bytes and more."""
        flags = self.beginning(rest).copy()
        flags[self.within(rest)] = True
        return flags

    def _segmentations(self, data: bytes, most: int) -> tuple[Path, ...]:
        """Return up to `most` spellings of exactly these bytes, fewest tokens first."""
        best: list[list[Path]] = [[] for _ in range(len(data) + 1)]
        best[len(data)] = [()]
        for at in range(len(data) - 1, -1, -1):
            ways = [
                (number, *rest)
                for end in range(min(len(data), at + self._longest), at, -1)
                if best[end]
                for number in self._ids.get(data[at:end], ())
                for rest in best[end]
            ]
            ways.sort(key=len)
            best[at] = ways[:most]
        return tuple(best[0])

    def _covers(self, rest: bytes, most: int) -> tuple[tuple[Path, bytes], ...]:
        """Return the ways to reach or pass the end of the bytes: tokens that spell a proper prefix, and the bytes that
        the next token must begin with.
        """
        return tuple(
            (path, rest[at:]) for at in range(len(rest)) for path in self._segmentations(rest[:at], most)
        )

    def _overruns(self, data: bytes, kind: str, most: int) -> tuple[Path, ...]:
        """Return up to `most` spellings of `data` whose last model token runs past its end with text that ends a game
        token of this kind."""
        spellings: list[Path] = []
        for at in range(max(0, len(data) - self._longest), len(data)):
            tail = data[at:]
            for place in beginning_with(self._mixed_keys, tail):
                piece, number = self._mixed[place]
                after = _text(piece[len(tail) :])
                if after and not extends(kind, after[0]):
                    spellings.extend((*path, number) for path in self._segmentations(data[:at], most))
        spellings.sort(key=len)
        return tuple(spellings[:most])


def _text(piece: bytes | None) -> str | None:
    """Decode a piece. A character cut off at the end counts as a letter; one cut off at the start gives None."""
    if piece is None:
        return None
    try:
        return piece.decode("utf-8")
    except UnicodeDecodeError as error:
        return piece[: error.start].decode("utf-8") + "a" if error.start or piece[0] >= 0xC0 else None


def _turns(text: str) -> bool:
    """Return whether a game token could end inside the text."""
    return any(
        extends(kind, before) and not extends(kind, after)
        for before, after in itertools.pairwise(text)
        for kind in (WORD, SIGNS)
    )


def _bytes(token: str, how: str) -> bytes:
    if "ByteLevel" in how:
        try:
            return bytes(_BYTE_OF[char] for char in token)
        except KeyError:
            return token.encode()
    if len(token) == 6 and token.startswith("<0x") and "ByteFallback" in how:
        return bytes([int(token[3:5], 16)])
    return token.replace(_MARK, " ").encode() if _MARK in how or "Metaspace" in how else token.encode()


def _byte_characters() -> dict[str, int]:
    """Map characters of byte-level vocabularies to bytes: visible characters of Latin-1 stand for themselves, and
    characters from U+0100 on stand for the remaining bytes, in order.
    """
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in plain]
    return {**{chr(byte): byte for byte in plain}, **{chr(256 + at): byte for at, byte in enumerate(others)}}


_BYTE_OF = _byte_characters()


REGION = 24  # maximum number of characters of a context that are tokenized again


@dataclass(frozen=True)
class SplitContext:
    """A context: tokens that are kept, and the remaining bytes, which are tokenized again."""

    prefix: Path
    rest: bytes


@dataclass(frozen=True)
class Window:
    """The model's context window: the tokens that begin every text, and the maximum length (None if unlimited)."""

    start: Path
    max_tokens: int | None

    def before(self, context: SplitContext, longest: int) -> Path | None:
        """Return the tokens before spellings of up to `longest` tokens: the start tokens and as much of the context as
        fits. Returns None if there is no room, or if no token precedes them.
        """
        prefix = context.prefix
        if self.max_tokens is not None:
            left = self.max_tokens - len(self.start) - longest
            if left < min(1, len(prefix)):
                return None
            surplus = len(prefix) - left
            if surplus > 0:
                step = max(1, self.max_tokens // 4)
                whole_steps = -(-surplus // step) * step
                prefix = prefix[whole_steps if whole_steps < len(prefix) else surplus :]
        return self.start + prefix or None


def split_contexts(
    contexts: Sequence[str], tokenizer: Any, token_strings: TokenStrings, *, whole: bool
) -> list[SplitContext]:
    """Split contexts into kept tokens and bytes. `whole`: tokenize the whole context again."""
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
    split_by_text = {
        context: _split(text, ids, offsets, token_strings, whole)
        for context, (text, ids, offsets) in zip(distinct, rows, strict=True)
    }
    return [split_by_text[context] for context in contexts]


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
        # Offsets may omit a space; the bytes of the tokens show where the text is.
        if following >= stop:
            stand, end = number + 1, stop
    spelled = b"".join(token_strings.pieces[number] or b"" for number in ids[:stand])
    data = token_strings.data(text, at_start=True)
    if data.startswith(spelled):
        return SplitContext(tuple(ids[:stand]), data[len(spelled) :])
    # For a token without bytes, such as the unknown token, use the offsets.
    return SplitContext(tuple(ids[:stand]), token_strings.data(text[end:], at_start=False))
