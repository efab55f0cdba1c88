"""Test cases: the turns to send to an agent and the checks of its answers.

The format is neuro-san's (see docs/test_case_hocon_reference.md in its repository). Where neuro-san's documentation
and code disagree, `Reading` selects which one to follow.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

Reading = Literal["document", "reference-compatible"]
READINGS: tuple[Reading, ...] = ("document", "reference-compatible")
"""Rules to follow where neuro-san's code contradicts its documentation: the documentation, or the code of 0.7.15."""

PARTS = ("text", "structure", "sly_data")
"""Parts of an answer, in the order in which they are tested."""
EXTENSIONS = ("regex", "not_regex", "json_schema", "not_json_schema")
"""Tests that neuro-san lacks and ignores."""
TESTS = (
    "value", "not_value", "less", "not_less", "greater", "not_greater",
    "keywords", "not_keywords", "gist", "not_gist", *EXTENSIONS,
)  # fmt: skip
ORDERED = ("less", "not_less", "greater", "not_greater")
CONNECTIONS = ("direct", "http", "https")
UNSUPPORTED = {"grpc": "grpc", "service": "grpc", "mcp": "mcp"}
FILTERS = ("MINIMAL", "MAXIMAL")
MAX_ITERATIONS = 1000


@dataclass(frozen=True)
class Problem:
    """An error, warning or remark. `where` is a path such as interactions[0].response.text; `line` counts from 1, and
    is 0 if the problem concerns no line."""

    severity: Literal["error", "warning", "info"]
    code: str
    where: str
    line: int
    column: int
    message: str
    hint: str = ""

    def __str__(self) -> str:
        place = f"line {self.line}, " if self.line else ""
        place += self.where or "the document"
        return f"{place}: {self.message}" + (f" {self.hint}" if self.hint else "")


def errors_in(problems: Iterable[Problem]) -> list[str]:
    """Return the errors among the problems as text."""
    return [str(problem) for problem in problems if problem.severity == "error"]


class CaseError(ValueError):
    """Raised for a document that is not a valid test case; `problems` lists the reasons."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        super().__init__("\n".join(map(str, problems)))


@dataclass(frozen=True)
class Ratio:
    """Success ratio: `needed` of `iterations` must pass. `text` is the ratio as written in the file."""

    needed: int
    iterations: int
    text: str

    def required(self, reading: Reading) -> int:
        """Return the number of required passes. neuro-san 0.7.15 requires at least 1, even if the ratio is 0."""
        return max(1, self.needed) if reading == "reference-compatible" else self.needed

    @property
    def rate(self) -> float:
        return self.needed / self.iterations


@dataclass(frozen=True)
class Check:
    """One expectation: `test` applied to the value at `path` in a `part` of the answer.

    Each element of a list of expectations is a separate check; `element` is its index. `only_present`: the list is
    empty, so any value passes. `skipped`: why the check is never made.
    """

    part: str
    path: tuple[str, ...]
    test: str
    expected: Any = None
    element: int | None = None
    only_present: bool = False
    skipped: str = ""
    line: int = 0

    @property
    def where(self) -> str:
        """Path in the file, relative to the interaction."""
        return ".".join(["response", self.part, *self.path, self.test]).rstrip(".")


@dataclass(frozen=True)
class Interaction:
    text: str | None = None
    sly_data: dict[str, Any] | None = None
    timeout: float | None = None
    chat_filter: str = "MINIMAL"
    continues: bool = True
    checks: tuple[Check, ...] = ()
    ignores_thinking: bool = False
    """True if text between <think> and </think> is removed before checks."""


@dataclass(frozen=True)
class TestCase:
    __test__ = False  # pytest would collect a class of this name

    agent: str
    connections: tuple[str, ...] = ("direct",)
    ratio: Ratio = Ratio(1, 1, "1/1")
    use_direct: bool = False
    metadata: dict[str, Any] | None = None
    timeout: float | None = None
    interactions: tuple[Interaction, ...] = ()
    findings: tuple[Problem, ...] = ()
    variables: frozenset[str] = frozenset()
    document: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def n_checks(self) -> int:
        return sum(not check.skipped for turn in self.interactions for check in turn.checks)

    @property
    def needs_judge(self) -> bool:
        return any(
            check.test.endswith("gist") and not check.skipped
            for turn in self.interactions
            for check in turn.checks
        )


def repeated(case: TestCase, iterations: int | None) -> TestCase:
    """Return the case with a new number of iterations (None: unchanged), keeping the required rate, rounded up."""
    if iterations is None:
        return case
    needed = -(-case.ratio.needed * iterations // case.ratio.iterations)
    return replace(case, ratio=Ratio(needed, iterations, f"{needed}/{iterations}"))
