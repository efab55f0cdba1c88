"""Read literal lists from JavaScript, without evaluating anything: the items of Ibex, timeline variables of jsPsych.

Literals are strings, numbers, true, false, null, undefined, arrays and objects, with comments and trailing commas.
Strings may be joined with +. An entry with anything else is skipped and reported by its line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lmgym.text import CONTROL, SURROGATE

MAX_DEPTH = 24
"""Limit on nested arrays and objects."""
MAX_TOKENS = 500_000
_TOKEN = re.compile(
    r"""(?P<blank>[\s\ufeff]+)|(?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z))"""
    r"""|(?P<string>"(?:[^"\\\n]|\\.)*+"?|'(?:[^'\\\n]|\\.)*+'?|`(?:[^`\\$]|\\.|\$(?!\{))*+`?)"""
    r"""|(?P<number>(?:0[xX][0-9a-fA-F]{1,15}|\d{1,30}(?:\.\d{0,30})?(?:[eE][-+]?\d{1,3})?|\.\d{1,30})(?![\w$]))"""
    r"""|(?P<name>[^\W\d][\w$]*|\$[\w$]*)|(?P<sign>.)""",
    re.DOTALL,
)
# A string that does not end takes the rest of its line, so that no text is searched for quotation marks twice.
_ESCAPE = re.compile(
    r"\\(?:u\{(?P<code>[0-9a-fA-F]{1,6})\}|[ux](?P<hex>(?<=u)[0-9a-fA-F]{4}|(?<=x)[0-9a-fA-F]{2})|(?P<other>.))",
    re.DOTALL,
)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": ""}
_CONSTANTS = {"true": True, "false": False, "null": None, "undefined": None, "NaN": None}
_OPENING = {"[": "]", "{": "}", "(": ")"}


class NoLiteral(ValueError):
    """Code where a literal is required, or a script that is too long; with its line."""

    def __init__(self, line: int, what: str) -> None:
        super().__init__(f"line {line}: {what}")
        self.line = line
        self.what = what


class _Token(NamedTuple):
    kind: str
    text: str
    line: int


@dataclass(slots=True)
class LiteralList:
    """A list that a script assigns to a name.

    Attributes:
        entries: (line, value) of each entry that is a literal.
        skipped: lines of entries with other code.
    """

    name: str
    entries: list[tuple[int, Any]] = field(default_factory=list)
    skipped: list[int] = field(default_factory=list)


def literal_lists(script: str) -> list[LiteralList]:
    """Return the lists assigned to names in a script, in order. Lists assigned to name[0], name[1] and so on are one;
    entries, or a list of them, at the beginning of the script are a list without a name. Raises NoLiteral for a script
    that is too long."""
    tokens = list(_tokens(script))
    lists: list[LiteralList] = []
    place = 0
    opening = [token.text for token in tokens[:3]]
    if opening[:2] == ["[", "["]:  # [["a", 1], … or, in a list without a name, [[["a", 1], …
        reader = _Reader(tokens, 1 if opening[2:] == ["["] else 0)
        lists.append(reader.entries(""))
        place = reader.place
    while place + 2 < len(tokens):
        name, index = tokens[place], _index_width(tokens, place + 1)
        begins = [(token.kind, token.text) for token in tokens[place + index + 1 : place + index + 3]]
        if name.kind == "name" and begins == [("sign", "="), ("sign", "[")]:
            reader = _Reader(tokens, place + index + 3)
            found = reader.entries(name.text)
            same = next((one for one in lists if index and one.name == name.text), None)
            if same is None:
                lists.append(found)
            else:
                same.entries += found.entries
                same.skipped += found.skipped
            place = reader.place
        else:
            place += 1
    return lists


def _index_width(tokens: list[_Token], place: int) -> int:
    """Return 3 if an index such as [0] stands here, otherwise 0."""
    three = tokens[place : place + 3]
    is_index = len(three) == 3 and three[0].text == "[" and three[1].kind == "number" and three[2].text == "]"
    return 3 if is_index else 0


def _tokens(script: str) -> Iterator[_Token]:
    line = 1
    for number, match in enumerate(_TOKEN.finditer(script)):
        if number > MAX_TOKENS:
            raise NoLiteral(line, f"more than {MAX_TOKENS:,} words and signs")
        kind, text = str(match.lastgroup), match[0]
        if kind == "string" and (len(text) < 2 or text[-1] != text[0]):
            kind = "unended"
        if kind not in ("blank", "comment"):
            yield _Token(kind, text, line)
        line += text.count("\n")


class _Reader:
    """Recursive reader of literals; depth is limited, so Python's stack is safe."""

    def __init__(self, tokens: list[_Token], place: int) -> None:
        self.tokens = tokens
        self.place = place

    def entries(self, name: str) -> LiteralList:
        """Read the entries of a list after its opening bracket; skip those that are not literals."""
        found = LiteralList(name)
        while (token := self._peek()) is not None and token.text != "]":
            if token.text == ",":
                self.place += 1
                continue
            start = self.place
            try:
                value = self._value(1)
                self._end_of_entry()
            except NoLiteral:
                self.place = start
                found.skipped.append(token.line)
                self._skip()
            else:
                found.entries.append((token.line, value))
        self.place += 1
        return found

    def _peek(self) -> _Token | None:
        return self.tokens[self.place] if self.place < len(self.tokens) else None

    def _next(self) -> _Token:
        token = self._peek()
        if token is None:
            raise NoLiteral(self.tokens[-1].line, "the list does not end")
        self.place += 1
        return token

    def _end_of_entry(self) -> None:
        token = self._peek()
        if token is not None and (token.kind != "sign" or token.text not in ",]"):
            raise NoLiteral(token.line, f"“{token.text[:20]}” after a value")

    def _skip(self) -> None:
        """Go to the comma or bracket that ends the entry, counting brackets."""
        open_brackets: list[str] = []
        while (token := self._peek()) is not None:
            if token.kind == "sign":
                if not open_brackets and token.text in ",]":
                    return
                if token.text in _OPENING:
                    open_brackets.append(_OPENING[token.text])
                elif open_brackets and token.text == open_brackets[-1]:
                    open_brackets.pop()
            self.place += 1

    def _value(self, depth: int) -> Any:
        token = self._next()
        if depth > MAX_DEPTH:
            raise NoLiteral(token.line, f"nested more than {MAX_DEPTH} levels deep")
        if token.kind == "string":
            return self._string(token)
        if token.kind == "number":
            return _number(token.text)
        if token.kind == "name" and token.text in _CONSTANTS:
            return _CONSTANTS[token.text]
        if token.text in "+-" and (number := self._peek()) is not None and number.kind == "number":
            self.place += 1
            value = _number(number.text)
            return -value if token.text == "-" else value
        if token.text == "[":
            return self._array(depth)
        if token.text == "{":
            return self._object(depth)
        raise NoLiteral(token.line, f"“{token.text[:20]}” is not a literal")

    def _string(self, token: _Token) -> str:
        text = token.text[1:-1]
        while (sign := self._peek()) is not None and sign.text == "+" and sign.kind == "sign":
            self.place += 1
            other = self._next()
            if other.kind != "string":
                raise NoLiteral(other.line, f"“{other.text[:20]}” is not a string")
            text += other.text[1:-1]
        return _unescaped(text, token.line)

    def _array(self, depth: int) -> list[Any]:
        values: list[Any] = []
        while not self._ends("]"):
            values.append(self._value(depth + 1))
            if not self._continues("]"):
                break
        return values

    def _object(self, depth: int) -> dict[str, Any]:
        values: dict[str, Any] = {}
        while not self._ends("}"):
            key = self._next()
            if key.kind not in ("name", "string", "number"):
                raise NoLiteral(key.line, f"“{key.text[:20]}” is not a key")
            colon = self._next()
            if colon.text != ":":
                raise NoLiteral(colon.line, f"“{colon.text[:20]}” instead of a colon")
            name = _unescaped(key.text[1:-1], key.line) if key.kind == "string" else key.text
            values[name] = self._value(depth + 1)
            if not self._continues("}"):
                break
        return values

    def _ends(self, bracket: str) -> bool:
        token = self._peek()
        if token is not None and token.kind == "sign" and token.text == bracket:
            self.place += 1
            return True
        return False

    def _continues(self, bracket: str) -> bool:
        """Consume a comma (True) or the closing bracket (False)."""
        token = self._next()
        if token.kind == "sign" and token.text in (",", bracket):
            return token.text == ","
        raise NoLiteral(token.line, f"“{token.text[:20]}” instead of a comma")


def _number(text: str) -> int | float:
    if text[:2] in ("0x", "0X"):
        return int(text, 16)
    return int(text) if text.isdecimal() else float(text)


def _unescaped(text: str, line: int) -> str:
    """Resolve the escapes of a string; half of a surrogate pair becomes U+FFFD. Raises NoLiteral for control
    characters."""
    if "\\" in text:
        text = _ESCAPE.sub(_escape, text)
        if SURROGATE.search(text):  # JavaScript escapes characters beyond U+FFFF in two halves
            text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if bad := CONTROL.search(text):
        raise NoLiteral(line, f"a string contains the control character U+{ord(bad[0]):04X}")
    return text


def _escape(match: re.Match[str]) -> str:
    if code := match["code"] or match["hex"]:
        number = int(code, 16)
        return chr(number) if number <= 0x10FFFF else "\ufffd"
    return _ESCAPED.get(match["other"], match["other"])
