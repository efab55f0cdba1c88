"""The prediction language of test suites: reading, checking, evaluating, chance level, prose.

Pure Python and numpy. Text is never run as code: a tokenizer and a parser make a tree of eight node types,
and the tree is interpreted. Language reference: docs/formulas.md.
"""

from .certainty import Slopes
from .chance import ChanceLevel
from .errors import FormulaError
from .evaluation import (
    ABSOLUTE_TOLERANCE,
    FALSE,
    NOT_EVALUABLE,
    RELATIVE_TOLERANCE,
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
    "RELATIVE_TOLERANCE",
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
