"""Tokenizer and recursive-descent parser of formulas, with a type check.

Every character belongs to exactly one token: the joined tokens are the text. Precedence from loosest to tightest:
``|``, ``&``, ``~``, one comparison, ``+ -``, ``* /``, unary ``- +``, atoms. Sources: the two SyntaxGym format
documents, and syntaxgym-core 0.8a1 where these are silent (docs/formulas.md lists each point).
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, NoReturn, TypeAlias, TypeVar, cast

from lmgym.text.near_names import nearest_name

from .errors import FormulaError, shorten
from .nodes import (
    BOOLEAN,
    FUNCTIONS,
    NUMERIC,
    AnyNode,
    Arithmetic,
    ArithmeticOperator,
    Boolean,
    Call,
    CompareOperator,
    Comparison,
    FunctionName,
    Logic,
    LogicOperator,
    Negative,
    Not,
    Number,
    Numeric,
    Reference,
    Region,
    walk,
)

Kind: TypeAlias = Literal["reference", "number", "operator", "bracket", "comma", "word", "blank", "end"]

_BLANK = re.compile(r"\s+")
_NUMBER = re.compile(r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_WORD = re.compile(r"[^\W\d]\w*")
_REFERENCE_HEAD = re.compile(r"\(\s*(\*|[0-9]+)\s*;")
# A bracket that can only be intended as a reference: the text before ; : or , is not a region number, or the separator
# is not ;.
_ODD_HEAD = re.compile(r"\(\s*([A-Za-z0-9_.,+\-−\s]*?)\s*(;|[:,](?=\s*%))")
_STAR_HEAD = re.compile(r"\(\s*\*")
_SPACES = re.compile(r"\s*")
_OPERATORS = ("<=", ">=", "==", "!=", "<", ">", "=", "+", "-", "*", "/", "&", "|", "~", "≤", "≥", "≠", "−")
_PLAIN = {"==": "=", "≤": "<=", "≥": ">=", "≠": "!=", "−": "-"}
_MISTAKES = {
    "&&": "Use a single & for “and”.",
    "||": "Use a single | for “or”.",
    "===": "Use = for approximately equal.",
    "=<": "Use <= for at most.",
    "=>": "Use >= for at least.",
    "<>": "Use != for not approximately equal.",
    "**": "Powers are not supported; * multiplies.",
    "^": "Powers are not supported; * multiplies. Use & for “and”.",
    "~=": "Use = for approximately equal, != for the opposite.",
    "≈": "Use = for approximately equal.",
    "≃": "Use = for approximately equal.",
    "≅": "Use = for approximately equal.",
    "∞": "Infinity is not supported. Use a large number, such as 1e6.",
    "//": "Use / to divide.",
    "!": "Use ~ for “not”, or != for not approximately equal.",
    "–": "Use - for minus.",
    "—": "Use - for minus.",
    "×": "Use * to multiply.",
    "÷": "Use / to divide.",
    "∧": "Use & for “and”.",
    "∨": "Use | for “or”.",
    "¬": "Use ~ for “not”.",
    "{": "Group with ( ) or [ ].",
    "}": "Group with ( ) or [ ].",
    ";": "A ; belongs only inside a region reference such as (3;%condition%).",
    "%": "A region reference looks like (3;%condition%).",
}
_EXAMPLE = "A region reference looks like (3;%condition%), or (*;%condition%) for the whole sentence."
_LONGEST_REGION_NUMBER = 6


@dataclass(frozen=True, slots=True)
class Token:
    """One token: ``text`` as typed, ``plain`` the normalised operator or bracket."""

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
    """Split text into tokens, including spaces, followed by an empty ``end`` token.

    Raises:
        FormulaError: at the first character that begins no token.
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
            raise FormulaError(f'"{wrong}" is not valid here.', position, hint, len(wrong))
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
    hint = "Use the digits 0 to 9." if character.isdigit() or character.isnumeric() else ""
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
            f'A ) is missing after the condition name "{shorten(name, 40)}".', end, "Is a % missing?"
        )
    region = _region(head.group(1), start)
    return Token("reference", text[start : end + 1], start, condition=name, region=region)


def _refuse_head(head: re.Match[str]) -> NoReturn:
    """Explain the error in `(-1;`, `(1.5;`, `(1,2;`, `(verb;`, `(;` or `(2:`."""
    number, mark = head.groups()
    at = head.start(1)
    if number.isdecimal():
        message = f'Region and condition are separated by ;, not by "{mark}".'
        raise FormulaError(message, head.start(2), f"Write ({shorten(number, 10)};%condition%).")
    if not number:
        raise FormulaError("The region number is missing.", at, _EXAMPLE)
    shown = shorten(number, 20)
    digits = re.findall(r"[0-9]+", number)
    if re.fullmatch(r"[-−+]\s*[0-9]+", number):
        hint = f"Regions are numbered from 1. For a negative value, write -({shorten(digits[0], 10)};%condition%)."
    elif re.fullmatch(r"[0-9]*\.[0-9]*", number):
        hint = (
            f"Region numbers are whole numbers, as in ({shorten(digits[0], 10)};%condition%)."
            if digits
            else _EXAMPLE
        )
    elif len(digits) > 1 and re.fullmatch(r"[0-9.,+\-−\s]+", number):
        hint = "A reference names one region. To add several, write (1;%condition%) + (2;%condition%)."
    else:
        hint = _EXAMPLE
    raise FormulaError(f'"{shown}" is not a region number.', at, hint, len(number))


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
        raise FormulaError("The condition name contains a control character.", position, "", len(name) + 2)


def _skip(text: str, position: int) -> int:
    match = _SPACES.match(text, position)
    return match.end() if match else position


# ---- tokens to a tree ----

MAX_LENGTH = 2000
MAX_DEPTH = 50
MAX_NODES = 500

_CLOSING = {"(": ")", "[": "]"}
_COMPARISONS = ("<", ">", "<=", ">=", "=", "!=")
_WORD_HINTS = {"and": "Use & for “and”.", "or": "Use | for “or”.", "not": "Use ~ for “not”."}
_WORD_HINTS |= dict.fromkeys(
    ("inf", "infinity", "infinite"), "Infinity is not supported. Use a large number, such as 1e6."
)
_WORD_HINTS["nan"] = "Items with a missing value are not evaluable; a formula cannot test for them."
_VALUE_EXPECTED = "a number, a region reference or a bracket"
_T = TypeVar("_T")


def parse_tree(text: str) -> tuple[Boolean, tuple[Token, ...], tuple[str, ...]]:
    """Parse text to a tree, its tokens and warnings. Raises FormulaError and nothing else."""
    if not isinstance(text, str):
        raise FormulaError("A formula must be a string.")
    if len(text) > MAX_LENGTH:
        message = f"A formula has at most {MAX_LENGTH} characters; this one has {len(text)}."
        raise FormulaError(message, MAX_LENGTH)
    if not text.strip():
        raise FormulaError("The formula is empty.", 0, "For example: (2;%mismatch%) > (2;%match%)", 0)
    tokens = scan(text)
    parser = _Parser(text, tokens)
    root = parser.whole()
    _check_size(root)
    if not any(token.kind == "reference" for token in tokens):
        parser.warnings.append("The formula refers to no region, so its outcome is the same for every item.")
    return root, tokens, tuple(parser.warnings)


def _check_size(root: AnyNode) -> None:
    for count, (node, depth) in enumerate(walk(root), start=1):
        if depth > MAX_DEPTH:
            raise FormulaError(f"The formula is nested more than {MAX_DEPTH} levels deep.", node.start)
        if count > MAX_NODES:
            raise FormulaError(
                f"The formula has more than {MAX_NODES} parts.", node.start, "Split it into several formulas."
            )


def group(operands: Sequence[_T], operators: Sequence[str], join: Callable[[str, list[_T]], _T]) -> _T:
    """Group an unbracketed sequence of ``&`` and ``|``; ``&`` binds more tightly.

    Args:
        join: combines two or more operands under one operator.
    """
    alternatives: list[list[_T]] = [[operands[0]]]
    for operator, operand in zip(operators, operands[1:], strict=True):
        if operator == "|":
            alternatives.append([operand])
        else:
            alternatives[-1].append(operand)
    joined = [join("&", run) if len(run) > 1 else run[0] for run in alternatives]
    return join("|", joined) if len(joined) > 1 else joined[0]


def _from_left_to_right(sources: Sequence[str], operators: Sequence[str]) -> str:
    """Group the sequence as syntaxgym-core does, with equal precedence of ``&`` and ``|``."""
    run, current = [sources[0]], operators[0]
    for operator, source in zip(operators, sources[1:], strict=True):
        if operator != current:
            run, current = [_join_text(current, run)], operator
        run.append(source)
    return _join_text(current, run)


class _Parser:
    """Recursive-descent parser; ``depth`` limits the recursion before Python does."""

    def __init__(self, text: str, tokens: Sequence[Token]) -> None:
        self.text = text
        self.tokens = [token for token in tokens if token.kind != "blank"]
        self.index = 0
        self.depth = 0
        self.warnings: list[str] = []

    # --- the token stream

    @property
    def token(self) -> Token:
        return self.tokens[self.index]

    def advance(self) -> Token:
        token = self.token
        self.index += 1
        return token

    def at(self, *operators: str) -> bool:
        return self.token.kind == "operator" and self.token.plain in operators

    def skip_comma(self) -> bool:
        is_comma = self.token.kind == "comma"
        self.index += is_comma
        return is_comma

    def source(self, node: AnyNode) -> str:
        """Return the text of a node for a message, shortened if it is long."""
        return shorten(self.text[node.start : node.end], 120)

    # --- the levels of the grammar, loosest first

    def whole(self) -> Boolean:
        node = self.logic()
        if self.token.kind != "end":
            self.refuse_leftover(self.token)
        if not isinstance(node, BOOLEAN):
            raise FormulaError(
                "The formula gives a number of bits, not true or false.",
                node.start,
                f"Compare it with something: {self.source(node)} > 0",
                node.end - node.start,
            )
        return node

    def logic(self) -> AnyNode:
        operands: list[AnyNode] = [self.negation()]
        operators: list[Token] = []
        while self.at("&", "|"):
            operators.append(self.advance())
            operands.append(self.negation())
        if not operators:
            return operands[0]
        sides = [operators[0], *operators]
        checked = [self.boolean(node, sign) for node, sign in zip(operands, sides, strict=True)]
        signs = [sign.plain for sign in operators]
        if len(set(signs)) > 1:
            self.mixed(checked, operators)
        return group(checked, signs, _join)

    def mixed(self, operands: list[Boolean], operators: list[Token]) -> None:
        """Warn about ``&`` and ``|`` without brackets, which programs group differently."""
        sources = [self.source(node) for node in operands]
        signs = [sign.plain for sign in operators]
        chosen = shorten(group(sources, signs, _join_text)[1:-1], 400)
        other = shorten(_from_left_to_right(sources, signs)[1:-1], 400)
        warning = f"& and | are combined without brackets; read as {chosen}"
        if chosen != other:
            warning += f", but other programs read {other}"
        self.warnings.append(warning + ".")

    def negation(self) -> AnyNode:
        signs: list[Token] = []
        while self.at("~"):
            signs.append(self.advance())
        node = self.comparison()
        for sign in reversed(signs):
            node = Not(self.boolean(node, sign), start=sign.start, end=node.end)
        return node

    def comparison(self) -> AnyNode:
        left = self.arithmetic("+-")
        if not self.at(*_COMPARISONS):
            return left
        sign = self.advance()
        right = self.arithmetic("+-")
        if self.at(*_COMPARISONS):
            self.refuse_chain(left, sign, right)
        return Comparison(
            cast(CompareOperator, sign.plain),
            self.numeric(left, sign),
            self.numeric(right, sign),
            start=left.start,
            end=right.end,
        )

    def arithmetic(self, signs: Literal["+-", "*/"]) -> AnyNode:
        below: Callable[[], AnyNode] = self.unary if signs == "*/" else partial(self.arithmetic, "*/")
        first = below()
        if not self.at(*signs):
            return first
        checked = self.numeric(first, self.token)
        rest: list[tuple[ArithmeticOperator, Numeric]] = []
        while self.at(*signs):
            sign = self.advance()
            rest.append((cast(ArithmeticOperator, sign.plain), self.numeric(below(), sign)))
        return Arithmetic(checked, tuple(rest), start=first.start, end=rest[-1][1].end)

    def unary(self) -> AnyNode:
        signs: list[Token] = []
        while self.at("-", "+"):
            signs.append(self.advance())
        node = self.atom()
        for sign in reversed(signs):
            checked = self.numeric(node, sign)
            node = Negative(checked, start=sign.start, end=node.end) if sign.plain == "-" else checked
        return node

    def atom(self) -> AnyNode:
        token = self.token
        if token.kind == "number":
            self.advance()
            return Number(token.value, start=token.start, end=token.end)
        if token.kind == "reference":
            self.advance()
            return Reference(token.condition, token.region, start=token.start, end=token.end)
        if token.kind == "bracket" and token.plain in _CLOSING:
            return self.brackets()
        if token.kind == "word" and token.plain in FUNCTIONS:
            return self.call()
        self.refuse_start(token)

    # --- brackets and functions

    def brackets(self) -> AnyNode:
        opening = self.enter()
        if self.token.kind == "bracket" and self.token.plain in _CLOSING.values():
            raise FormulaError("These brackets are empty.", opening.start, "", 2)
        node = self.logic()
        closing = self.leave(opening)
        return _with_span(node, opening.start, closing.end)

    def call(self) -> Call:
        name = self.advance()
        if not (self.token.kind == "bracket" and self.token.plain in _CLOSING):
            raise FormulaError(
                f"{name.plain} needs its arguments in brackets.", name.start, "", len(name.text)
            )
        opening = self.enter()
        arguments = [self.numeric(self.logic(), name)]
        while self.skip_comma():
            arguments.append(self.numeric(self.logic(), name))
        closing = self.leave(opening)
        if name.plain == "abs" and len(arguments) > 1:
            raise FormulaError("abs takes one argument.", arguments[1].start)
        return Call(cast(FunctionName, name.plain), tuple(arguments), start=name.start, end=closing.end)

    def enter(self) -> Token:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise FormulaError(f"The formula is nested more than {MAX_DEPTH} levels deep.", self.token.start)
        return self.advance()

    def leave(self, opening: Token) -> Token:
        self.depth -= 1
        token = self.token
        if token.kind == "bracket" and token.plain == _CLOSING[opening.plain]:
            return self.advance()
        if token.kind == "bracket" and token.plain in _CLOSING.values():
            raise FormulaError(
                f"The {opening.plain} in column {opening.start + 1} is closed by a {token.plain}.",
                token.start,
                "Close each bracket with one of the same kind.",
            )
        if token.kind == "end":
            raise FormulaError(f"This {opening.plain} is never closed.", opening.start)
        self.refuse_leftover(token)

    # --- the type check

    def boolean(self, node: AnyNode, sign: Token) -> Boolean:
        if isinstance(node, BOOLEAN):
            return node
        raise FormulaError(
            f"{sign.plain} needs comparisons, which are true or false, but this is a number of bits.",
            node.start,
            f"Compare it with something: {self.source(node)} > 0",
            node.end - node.start,
        )

    def numeric(self, node: AnyNode, sign: Token) -> Numeric:
        if isinstance(node, NUMERIC):
            return node
        hint = "~ negates a whole comparison: ~[a > b]." if isinstance(node, Not) else ""
        raise FormulaError(
            f"{sign.plain} needs numbers, but this is true or false.",
            node.start,
            hint or "Join comparisons with & or |.",
            node.end - node.start,
        )

    # --- refusals

    def refuse_chain(self, left: AnyNode, sign: Token, middle: AnyNode) -> NoReturn:
        second = self.token
        sides, signs = [self.source(left), self.source(middle)], [sign.text]
        while self.at(*_COMPARISONS):
            signs.append(self.advance().text)
            sides.append(self.source(self.arithmetic("+-")))
        pairs = zip(sides, signs, sides[1:], strict=False)
        raise FormulaError(
            "A comparison has two sides, but this one has more.",
            second.start,
            shorten("Write " + " & ".join(f"[{a} {operator} {b}]" for a, operator, b in pairs), 400),
            len(second.text),
        )

    def refuse_start(self, token: Token) -> NoReturn:
        if token.kind == "end":
            raise FormulaError(f"The formula ends where {_VALUE_EXPECTED} is expected.", token.start, "", 0)
        if token.kind == "word":
            self.refuse_word(token)
        if token.plain == "~":
            raise FormulaError(
                "~ is not allowed here.", token.start, "It negates a whole comparison: ~[a > b]."
            )
        raise FormulaError(
            f'"{token.text}" is not allowed here: {_VALUE_EXPECTED} is expected.',
            token.start,
            "",
            len(token.text),
        )

    def refuse_leftover(self, token: Token) -> NoReturn:
        if token.kind == "word" and token.plain.lower() in _WORD_HINTS:
            self.refuse_word(token)
        if token.kind == "bracket" and token.plain in _CLOSING.values():
            raise FormulaError(f"This {token.plain} has no opening bracket.", token.start)
        if token.kind == "comma":
            hint = "Decimals have a point; commas separate the arguments of min, max, sum and mean."
            raise FormulaError("A comma is not allowed here.", token.start, hint)
        if token.plain == "~":
            raise FormulaError("An operator is missing before ~.", token.start, "Join with & or |.")
        raise FormulaError(
            f'An operator is missing before "{shorten(token.text, 40)}".', token.start, "", len(token.text)
        )

    def refuse_word(self, token: Token) -> NoReturn:
        hint = _WORD_HINTS.get(token.plain.lower(), "")
        near = nearest_name(token.plain.lower(), FUNCTIONS)
        if not hint and near:
            hint = f"Did you mean {near}?"
        raise FormulaError(
            f'Unknown word "{shorten(token.text, 40)}".',
            token.start,
            hint or f"Functions: {', '.join(FUNCTIONS)}. Regions look like (3;%condition%).",
            len(token.text),
        )


def _join(operator: str, nodes: list[Boolean]) -> Boolean:
    return Logic(cast(LogicOperator, operator), tuple(nodes), start=nodes[0].start, end=nodes[-1].end)


def _join_text(operator: str, parts: list[str]) -> str:
    return f"[{f' {operator} '.join(parts)}]"


def _with_span(node: AnyNode, start: int, end: int) -> AnyNode:
    return replace(node, start=start, end=end)
