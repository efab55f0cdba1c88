"""The syntax tree of a formula: eight frozen node types.

*Numeric* nodes are numbers of bits, *boolean* nodes are true or false; the two never mix. ``start`` and ``end`` are
offsets in the text and are ignored in comparisons, so that equivalent formulas with different spacing or redundant
brackets have equal trees.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Region: TypeAlias = int | Literal["*"]
CompareOperator: TypeAlias = Literal["<", ">", "<=", ">=", "=", "!="]
LogicOperator: TypeAlias = Literal["&", "|"]
ArithmeticOperator: TypeAlias = Literal["+", "-", "*", "/"]
FunctionName: TypeAlias = Literal["abs", "min", "max", "sum", "mean"]
FUNCTIONS: tuple[FunctionName, ...] = ("abs", "min", "max", "sum", "mean")


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """Base of all nodes, with the span of the text."""

    start: int = field(default=0, compare=False, repr=False)
    end: int = field(default=0, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Number(Node):
    """A literal, finite and not negative (a minus sign is a ``Negative`` around it)."""

    value: float


@dataclass(frozen=True, slots=True)
class Reference(Node):
    """``(3;%condition%)`` or ``(*;%condition%)``: surprisal of a region, or of the sentence, in bits."""

    condition: str
    region: Region

    @property
    def key(self) -> tuple[str, Region]:
        """Key of the value in evaluation."""
        return (self.condition, self.region)


@dataclass(frozen=True, slots=True)
class Negative(Node):
    """Unary minus."""

    operand: Numeric


@dataclass(frozen=True, slots=True)
class Arithmetic(Node):
    """A sequence of ``+ -`` or of ``* /`` (never both), evaluated from left to right."""

    first: Numeric
    rest: tuple[tuple[ArithmeticOperator, Numeric], ...]


@dataclass(frozen=True, slots=True)
class Call(Node):
    """``abs`` of one argument, or ``min max sum mean`` of one or more."""

    function: FunctionName
    arguments: tuple[Numeric, ...]


@dataclass(frozen=True, slots=True)
class Comparison(Node):
    """Two numeric sides; ``==`` and Unicode operators are stored as their plain form."""

    operator: CompareOperator
    left: Numeric
    right: Numeric


@dataclass(frozen=True, slots=True)
class Not(Node):
    """``~``: negation."""

    operand: Boolean


@dataclass(frozen=True, slots=True)
class Logic(Node):
    """Two or more operands joined by the same logical operator."""

    operator: LogicOperator
    operands: tuple[Boolean, ...]


Numeric: TypeAlias = Number | Reference | Negative | Arithmetic | Call
Boolean: TypeAlias = Comparison | Not | Logic
AnyNode: TypeAlias = Numeric | Boolean
NUMERIC = (Number, Reference, Negative, Arithmetic, Call)
BOOLEAN = (Comparison, Not, Logic)


def children(node: AnyNode) -> tuple[AnyNode, ...]:
    """Return the direct parts of a node, in the order of the text."""
    match node:
        case Number() | Reference():
            return ()
        case Negative() | Not():
            return (node.operand,)
        case Arithmetic():
            return (node.first, *(term for _, term in node.rest))
        case Call():
            return node.arguments
        case Comparison():
            return (node.left, node.right)
        case Logic():
            return node.operands


def walk(root: AnyNode) -> Iterator[tuple[AnyNode, int]]:
    """Yield every node with its depth (from 1), in the order of the text, without recursion."""
    stack: list[tuple[AnyNode, int]] = [(root, 1)]
    while stack:
        node, depth = stack.pop()
        yield node, depth
        stack.extend((child, depth + 1) for child in reversed(children(node)))


def references(root: AnyNode) -> tuple[Reference, ...]:
    """List all references, with repetitions, in the order of the text."""
    return tuple(node for node, _ in walk(root) if isinstance(node, Reference))


def canonical(node: AnyNode) -> str:
    """Write a tree as text: ASCII operators, single spaces, round brackets around every compound part.

    Parsing the result gives an equal tree, provided it fits the length limit.
    """
    match node:
        case Number():
            return _number(node.value)
        case Reference():
            return f"({node.region};%{node.condition}%)"
        case Negative():
            return f"-{_operand(node.operand)}"
        case Arithmetic():
            tail = "".join(f" {operator} {_operand(term)}" for operator, term in node.rest)
            return _operand(node.first) + tail
        case Call():
            return f"{node.function}({', '.join(canonical(a) for a in node.arguments)})"
        case Comparison():
            return f"{_operand(node.left)} {node.operator} {_operand(node.right)}"
        case Not():
            return f"~{_operand(node.operand)}"
        case Logic():
            return f" {node.operator} ".join(_operand(part) for part in node.operands)


def _operand(node: AnyNode) -> str:
    text = canonical(node)
    return f"({text})" if isinstance(node, Arithmetic | Comparison | Logic) else text


def _number(value: float) -> str:
    return str(int(value)) if value.is_integer() and value < 1e15 else repr(value)
