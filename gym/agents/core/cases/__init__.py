"""Test cases: reading and writing their format, with errors and warnings. Pure.

The format is neuro-san's (docs/test_case_hocon_reference.md there). Where its document and its code disagree, a
`Reading` says which of them is followed.
"""

from gym.agents.core.cases.model import (
    READINGS,
    CaseError,
    Check,
    Interaction,
    Problem,
    Ratio,
    Reading,
    TestCase,
)
from gym.agents.core.cases.read import look_at, read_case
from gym.agents.core.cases.write import write_case, write_fields

__all__ = [
    "READINGS",
    "CaseError",
    "Check",
    "Interaction",
    "Problem",
    "Ratio",
    "Reading",
    "TestCase",
    "look_at",
    "read_case",
    "write_case",
    "write_fields",
]
