"""What came of running a case: checks, turns, iterations. Plain data that goes to JSON and back. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from gym.conversations.cases import Ratio, Reading
from gym.conversations.stock import OUTCOMES, Outcome


@dataclass(frozen=True)
class CheckResult:
    """One check of one iteration. `interaction` counts from 0; `where` is the check's path in the file below it."""

    connection: int
    interaction: int
    where: str
    test: str
    expected: Any
    actual: Any
    outcome: Outcome
    comparison: str = ""
    message: str = ""
    element: int | None = None
    judge: dict[str, Any] | None = None


@dataclass(frozen=True)
class TurnResult:
    """One interaction over one connection. `trouble` names what kept the answer away (see TransportError)."""

    connection: int
    interaction: int
    said: str | None
    text: str | None = None
    structure: Any = None
    sly_data: Any = None
    messages: tuple[dict[str, Any], ...] = ()
    tokens: dict[str, Any] | None = None
    seconds: float = 0.0
    retries: int = 0
    trouble: str = ""
    error: str = ""


@dataclass(frozen=True)
class IterationResult:
    number: int
    outcome: Outcome
    checks: tuple[CheckResult, ...] = ()
    turns: tuple[TurnResult, ...] = ()
    seconds: float = 0.0
    message: str = ""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> IterationResult:
        checks = tuple(CheckResult(**check) for check in data["checks"])
        turns = tuple(TurnResult(**{**turn, "messages": tuple(turn["messages"])}) for turn in data["turns"])
        return cls(data["number"], data["outcome"], checks, turns, data["seconds"], data["message"])


def outcome_of(checks: Sequence[CheckResult], trouble: str = "") -> Outcome:
    """An iteration passes when every check that was made passed and nothing else went wrong."""
    if trouble in ("timeout", "stopped"):
        return "timeout" if trouble == "timeout" else "skipped"
    if trouble:
        return "error"
    found = {check.outcome for check in checks}
    worst: tuple[Outcome, ...] = ("timeout", "error", "fail")
    return next((outcome for outcome in worst if outcome in found), "pass")


@dataclass(frozen=True)
class CaseResult:
    """All iterations of a case. `n` counts those that were really made; `passed` those that succeeded."""

    agent: str
    ratio: Ratio
    reading: Reading
    iterations: tuple[IterationResult, ...] = field(default_factory=tuple)
    asked: int = 1
    error: str = ""

    @property
    def counts(self) -> dict[str, int]:
        found = Counter(iteration.outcome for iteration in self.iterations)
        return {outcome: found[outcome] for outcome in OUTCOMES if found[outcome]}

    @property
    def passed(self) -> int:
        return self.counts.get("pass", 0)

    @property
    def n(self) -> int:
        return sum(count for outcome, count in self.counts.items() if outcome != "skipped")

    @property
    def required(self) -> int:
        return self.ratio.required(self.reading)

    @property
    def outcome(self) -> Outcome:
        """Pass, fail, or why there is no verdict. Enough successes are enough, whatever else happened."""
        if self.error:
            return "error"
        if self.passed >= self.required and (self.n or not self.required):
            return "pass"
        missing = self.asked - self.n
        if missing and self.passed + missing >= self.required:
            return "timeout" if self.counts.get("timeout") else "skipped"
        bad = {outcome for outcome in self.counts if outcome not in ("pass", "skipped")}
        if bad == {"error"}:
            return "error"
        return "timeout" if bad == {"timeout"} else "fail"

    @property
    def n_checks(self) -> int:
        """Checks that were made, over all iterations."""
        return sum(check.outcome != "skipped" for iteration in self.iterations for check in iteration.checks)

    @property
    def seconds(self) -> float:
        return sum(iteration.seconds for iteration in self.iterations)

    @property
    def tokens(self) -> dict[str, float]:
        """Sums over everything, the judge included, as far as servers tell."""
        total: Counter[str] = Counter()
        for iteration in self.iterations:
            found = [turn.tokens or {} for turn in iteration.turns]
            found += [(check.judge or {}).get("tokens") or {} for check in iteration.checks]
            for counts in found:
                for key in ("total_tokens", "prompt_tokens", "completion_tokens", "total_cost"):
                    total[key] += counts.get(key) or 0
        return dict(total)

    def as_dict(self) -> dict[str, Any]:
        return {
            "agent": self.agent,
            "outcome": self.outcome,
            "error": self.error,
            "passed": self.passed,
            "n": self.n,
            "needed": self.required,
            "asked": self.asked,
            "success_ratio": self.ratio.text,
            "reading": self.reading,
            "checks_made": self.n_checks,
            "tokens": self.tokens,
            "iterations": [iteration.as_dict() for iteration in self.iterations],
        }
