"""Text to tokens. Every character ends up in exactly one token, so that the text can be put together again.

Reading rules and their sources: docs/formulas.md.
"""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import dataclass
from typing import Literal, NoReturn, TypeAlias

from .errors import FormulaError, shorten
from .nodes import Region

Kind: TypeAlias = Literal["reference", "number", "operator", "bracket", "comma", "word", "blank", "end"]

_BLANK = re.compile(r"\s+")
_NUMBER = re.compile(r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_WORD = re.compile(r"[^\W\d]\w*")
_REFERENCE_HEAD = re.compile(r"\(\s*(\*|[0-9]+)\s*;")
# A bracket that can only have been meant as a reference: what stands before the ; : or , is no region number,
# or the ; is another mark.
_ODD_HEAD = re.compile(r"\(\s*([A-Za-z0-9_.,+\-−\s]*?)\s*(;|[:,](?=\s*%))")
_STAR_HEAD = re.compile(r"\(\s*\*")
_SPACES = re.compile(r"\s*")
_OPERATORS = ("<=", ">=", "==", "!=", "<", ">", "=", "+", "-", "*", "/", "&", "|", "~", "≤", "≥", "≠", "−")
_PLAIN = {"==": "=", "≤": "<=", "≥": ">=", "≠": "!=", "−": "-"}
_MISTAKES = {
    "&&": "Write a single & for and.",
    "||": "Write a single | for or.",
    "===": "Write = for approximately equal.",
    "=<": "Write <= for at most.",
    "=>": "Write >= for at least.",
    "<>": "Write != for not approximately equal.",
    "**": "There are no powers; * multiplies.",
    "^": "There are no powers; * multiplies. Write & for and.",
    "~=": "Write = for approximately equal, != for the opposite.",
    "≈": "Write = for approximately equal.",
    "≃": "Write = for approximately equal.",
    "≅": "Write = for approximately equal.",
    "∞": "There is no infinity. Write a large number, such as 1e6.",
    "//": "Write / to divide.",
    "!": "Write ~ for not, or != for not approximately equal.",
    "–": "Write - for minus.",
    "—": "Write - for minus.",
    "×": "Write * to multiply.",
    "÷": "Write / to divide.",
    "∧": "Write & for and.",
    "∨": "Write | for or.",
    "¬": "Write ~ for not.",
    "{": "Group with ( ) or [ ].",
    "}": "Group with ( ) or [ ].",
    ";": "A ; belongs only inside a region reference such as (3;%condition%).",
    "%": "A region reference looks like (3;%condition%).",
}
_EXAMPLE = "A region reference looks like (3;%condition%), or (*;%condition%) for the whole sentence."
_LONGEST_REGION_NUMBER = 6


@dataclass(frozen=True, slots=True)
class Token:
    """One piece of the text: ``text`` as typed, ``plain`` its normalised operator or bracket."""

    kind: Kind
    text: str
    start: int
    plain: str = ""
    value: float = 0.0
    condition: str = ""
    region: Region = 0

    @property
    def end(self) -> int:
        """Offset of the first character after the token."""
        return self.start + len(self.text)


def scan(text: str) -> tuple[Token, ...]:
    """All tokens of ``text``, blanks included, closed by an empty ``end`` token.

    Raises FormulaError at the first character that begins no token.
    """
    tokens: list[Token] = []
    position = 0
    while position < len(text):
        token = _next(text, position)
        tokens.append(token)
        position = token.end
    tokens.append(Token("end", "", len(text)))
    return tuple(tokens)


def _next(text: str, position: int) -> Token:
    if match := _BLANK.match(text, position):
        return Token("blank", match.group(), position)
    if _REFERENCE_HEAD.match(text, position) or _STAR_HEAD.match(text, position):
        return _reference(text, position)
    if odd := _ODD_HEAD.match(text, position):
        _refuse_head(odd)
    if text[position] in "()[]":
        return Token("bracket", text[position], position, plain=text[position])
    if text[position] == ",":
        return Token("comma", ",", position, plain=",")
    if match := _NUMBER.match(text, position):
        return _number(match.group(), position)
    if match := _WORD.match(text, position):
        return Token("word", match.group(), position, plain=match.group())
    for wrong, hint in _MISTAKES.items():
        if text.startswith(wrong, position) and not text.startswith("!=", position):
            raise FormulaError(f'"{wrong}" is not part of the language.', position, hint, len(wrong))
    for operator in _OPERATORS:
        if text.startswith(operator, position):
            return Token("operator", operator, position, plain=_PLAIN.get(operator, operator))
    _refuse_character(text[position], position)


def _number(digits: str, position: int) -> Token:
    value = float(digits)
    if not math.isfinite(value):
        raise FormulaError("This number is too large.", position, "", len(digits))
    return Token("number", digits, position, value=value)


def _refuse_character(character: str, position: int) -> NoReturn:
    name = unicodedata.name(character, "unnamed character")
    hint = "Digits are 0 to 9." if character.isdigit() or character.isnumeric() else ""
    raise FormulaError(f"Unexpected character U+{ord(character):04X} ({name}).", position, hint)


def _reference(text: str, start: int) -> Token:
    head = _REFERENCE_HEAD.match(text, start)
    if head is None:
        raise FormulaError("This region reference is not complete.", start, _EXAMPLE, 2)
    opening = _skip(text, head.end())
    if not text.startswith("%", opening):
        raise FormulaError("The condition name needs a % before and after it.", opening, _EXAMPLE)
    closing = text.find("%", opening + 1)
    if closing < 0:
        raise FormulaError("The condition name that begins here has no closing %.", opening, _EXAMPLE)
    name = text[opening + 1 : closing].strip()
    _check_name(name, opening)
    end = _skip(text, closing + 1)
    if not text.startswith(")", end):
        raise FormulaError(
            f'A ) is missing after the condition name "{shorten(name, 40)}".', end, "Was a % forgotten?"
        )
    region = _region(head.group(1), start)
    return Token("reference", text[start : end + 1], start, condition=name, region=region)


def _refuse_head(head: re.Match[str]) -> NoReturn:
    """Say what is wrong with `(-1;`, `(1.5;`, `(1,2;`, `(verb;`, `(;` and `(2:`."""
    number, mark = head.groups()
    at = head.start(1)
    if number.isdecimal():
        message = f'Between region and condition stands a ;, not "{mark}".'
        raise FormulaError(message, head.start(2), f"Write ({shorten(number, 10)};%condition%).")
    if not number:
        raise FormulaError("The region number is missing.", at, _EXAMPLE)
    shown = shorten(number, 20)
    digits = re.findall(r"[0-9]+", number)
    if re.fullmatch(r"[-−+]\s*[0-9]+", number):
        hint = f"Regions count from 1. For a negative value, write -({shorten(digits[0], 10)};%condition%)."
    elif re.fullmatch(r"[0-9]*\.[0-9]*", number):
        hint = (
            f"Regions have whole numbers, such as ({shorten(digits[0], 10)};%condition%)."
            if digits
            else _EXAMPLE
        )
    elif len(digits) > 1 and re.fullmatch(r"[0-9.,+\-−\s]+", number):
        hint = "A reference names one region. Add up several: (1;%condition%) + (2;%condition%)."
    else:
        hint = _EXAMPLE
    raise FormulaError(f'"{shown}" is no region number.', at, hint, len(number))


def _region(digits: str, start: int) -> Region:
    if digits == "*":
        return "*"
    if len(digits) > _LONGEST_REGION_NUMBER:
        raise FormulaError("This region number is too large.", start, "", len(digits) + 1)
    return int(digits)


def _check_name(name: str, position: int) -> None:
    if not name:
        raise FormulaError("The condition name is empty.", position, _EXAMPLE, 2)
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in name):
        raise FormulaError("The condition name holds a control character.", position, "", len(name) + 2)


def _skip(text: str, position: int) -> int:
    match = _SPACES.match(text, position)
    return match.end() if match else position
