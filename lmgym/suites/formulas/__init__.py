"""The prediction language of test suites: parsing, checking, evaluation, chance level, description in words.

Formulas are never executed as code: a tokenizer and a parser build a tree of eight node types, which is interpreted
with numpy. Language reference: docs/formulas.md.
"""

from .certainty import Slopes
from .chance import ChanceLevel
from .errors import FormulaError
from .evaluation import (
    ABSOLUTE_TOLERANCE,
    FALSE,
    NOT_EVALUABLE,
    OUTCOME_NAMES,
    RELATIVE_TOLERANCE,
    ROUNDING_BITS,
    TIE,
    TRUE,
    ItemOutcomes,
)
from .formula import Formula, Piece, parse
from .parser import MAX_DEPTH, MAX_LENGTH, MAX_NODES

__all__ = [
    "ABSOLUTE_TOLERANCE",
    "FALSE",
    "MAX_DEPTH",
    "MAX_LENGTH",
    "MAX_NODES",
    "NOT_EVALUABLE",
    "OUTCOME_NAMES",
    "RELATIVE_TOLERANCE",
    "ROUNDING_BITS",
    "TIE",
    "TRUE",
    "ChanceLevel",
    "Formula",
    "FormulaError",
    "ItemOutcomes",
    "Piece",
    "Slopes",
    "parse",
]
