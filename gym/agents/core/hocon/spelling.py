"""What unquoted text means, and where the HOCON specification and pyhocon (which agent servers use) disagree on it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from gym.agents.core.hocon.nodes import Atom

NUMBER = re.compile(r"-?(?:\d*\.)?\d+(?:[eE][+-]?\d+)?")
INTEGER = re.compile(r"-?\d+")
WORD = re.compile(r"(true|false|null)(?![A-Za-z0-9_$])", re.IGNORECASE)
STRICT = re.compile(r"true|false|null|-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
NO_TEXT = "<pyhocon.config_tree.NoneValue object at …>"
MAX_SHOWN = 120


@dataclass(frozen=True, slots=True)
class Remark:
    """`code` is stable. "spelling": read as pyhocon reads it, not as the specification does; "joined-text": read by
    the specification, not as pyhocon reads it."""

    code: str
    path: tuple[str | int, ...]
    line: int
    column: int
    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class Piece:
    """One of the values side by side, and the white space in front of it."""

    gap: str
    raw: str
    bare: bool
    """Without quotes. A substitution is neither, and ends a number in front of it."""
    substitution: bool = False


def meaning(raw: str) -> Atom:
    """What unquoted text that stands alone means: true, false, null in any mix of capitals; .5 is a number too."""
    if WORD.fullmatch(raw):
        return WORDS[raw.casefold()]
    if not NUMBER.fullmatch(raw):
        return raw
    return int(raw) if INTEGER.fullmatch(raw) else float(raw)


def of_pieces(pieces: Sequence[Piece]) -> tuple[str, str, str] | None:
    """Code, message and hint where these pieces are not what everybody reads in them."""
    if not any(piece.bare for piece in pieces):
        return None
    raw = "".join(piece.gap + piece.raw for piece in pieces)
    if len(pieces) == 1 and not isinstance(value := meaning(raw), str):
        if STRICT.fullmatch(raw):
            return None
        plain = json.dumps(value)
        message = f"Unquoted {short(raw)} means {plain} here and in neuro-san"
        message += "; the HOCON specification reads it as text."
        return "spelling", message, f'Write {plain}, or "{short(raw)}" for text.'
    theirs = _as_pyhocon_joins(pieces)
    if theirs == raw:
        return None
    message = f"neuro-san changes this unquoted text to {json.dumps(short(theirs), ensure_ascii=False)}."
    return "joined-text", message, "Put all of it in quotes."


def _as_pyhocon_joins(pieces: Sequence[Piece]) -> str:
    """It writes words and the last number as Python does, and drops the blank behind them."""
    out, swallows = "", False
    for number, piece in enumerate(pieces):
        out += "" if swallows else piece.gap
        rest, swallows = piece.raw, False
        if piece.bare and (word := WORD.match(rest)):
            value = WORDS[word[1].casefold()]
            out += NO_TEXT if value is None else str(value)
            rest, swallows = rest[word.end() :], True
        if rest:
            ends = number + 1 == len(pieces) or pieces[number + 1].substitution
            swallows = piece.bare and ends and NUMBER.fullmatch(rest) is not None
            out += str(meaning(rest)) if swallows else rest
    return out


def short(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}…"
