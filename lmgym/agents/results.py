"""Results of running a case: checks, turns, iterations. Plain data, to JSON and back. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, TypeGuard

from lmgym.agents.cases import Ratio, Reading
from lmgym.agents.checks import OUTCOMES, VERDICTS, Outcome

COUNTED = ("total_tokens", "prompt_tokens", "completion_tokens", "total_cost")
MOST_COUNTED = 1e15
NOT_CHECKED = "Not checked: "
"""Begins the message of a check that is never made."""
UNASKED = frozenset(("stopped", "refused", "unsendable", "unreachable"))
"""Troubles of requests that never reached an agent and cost nothing."""


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

    @property
    def was_made(self) -> bool:
        """Was there something to compare? Without an answer, or a judge, there was not."""
        return self.outcome in ("pass", "fail") or bool(self.comparison)


@dataclass(frozen=True)
class TurnResult:
    """One interaction over one connection. `trouble`: why there is no answer (see TransportError); `notes`: parts of
    the case that were not done, and how the answer ended; `reused`: the answer is of an earlier run, which paid for it.
    `waited`: seconds during which the server or the judge was busy; they are no part of `seconds`. `sent`: sly_data and
    chat_context that went along, as they may be stored."""

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
    notes: tuple[str, ...] = ()
    reused: bool = False
    waited: float = 0.0
    sent: dict[str, Any] | None = None


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

    @property
    def waited(self) -> float:
        """Seconds during which servers were busy."""
        return round(sum(turn.waited for turn in self.turns), 3)

    def told(self) -> list[Mapping[str, Any]]:
        """What servers told of tokens and cost, agent and judge. Reused answers cost nothing."""
        asked = [turn for turn in self.turns if turn.trouble not in UNASKED]
        told: list[Mapping[str, Any]] = [
            dict.fromkeys(COUNTED, 0) if turn.reused else turn.tokens or {} for turn in asked
        ]
        judges = [check.judge for check in self.checks if check.judge]
        return told + [judge.get("tokens") or {} for judge in judges if not judge.get("cached")]

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> IterationResult:
        checks = tuple(CheckResult(**check) for check in data["checks"])
        turns = tuple(_turn(turn) for turn in data["turns"])
        return cls(data["number"], data["outcome"], checks, turns, data["seconds"], data["message"])


def _turn(data: dict[str, Any]) -> TurnResult:
    lists = {"messages": tuple(data["messages"]), "notes": tuple(data.get("notes", ()))}
    return TurnResult(**{**data, **lists})


def is_amount(value: Any) -> TypeGuard[float]:
    """Can this be a number of tokens or a price? Servers may send anything."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= MOST_COUNTED


def add_up(told: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Sums of token counts and cost (US dollars), None where no answer reports them; `untold` counts, by key, the
    answers that do not. A cost of 0 for some tokens counts as not reported, because servers send it for models of
    unknown price."""
    sums: dict[str, Any] = dict.fromkeys(COUNTED)
    untold: Counter[str] = Counter()
    for one in told:
        for key in COUNTED:
            value = one.get(key)
            if not is_amount(value) or (key == "total_cost" and not value and one.get("total_tokens")):
                # Sums that are added up again bring their own count.
                untold[key] += one["untold"].get(key, 0) if "untold" in one else 1
            else:
                sums[key] = (sums[key] or 0) + value
                untold[key] += one.get("untold", {}).get(key, 0)
    return {**sums, "untold": {key: n for key, n in untold.items() if n}}


def outcome_of(checks: Sequence[CheckResult], trouble: str = "") -> Outcome:
    """An iteration passes when every check that was made passed and nothing else went wrong. One failed check makes it
    a fail, whatever errors there are besides."""
    if trouble in ("timeout", "stopped"):
        return "timeout" if trouble == "timeout" else "skipped"
    found = {check.outcome for check in checks}
    if trouble and "fail" not in found:
        return "error"
    worst: tuple[Outcome, ...] = ("timeout", "fail", "error")
    return next((outcome for outcome in worst if outcome in found), "pass")


@dataclass(frozen=True)
class CaseResult:
    """All iterations of a case.

    `n` counts iterations with a verdict, `passed` those of them that passed, `errors` those that ended without one.
    `planned`: iterations to make. `early_stop`: no more are made once the ratio is decided. `unsatisfiable`: why no
    iteration can pass (see `unsatisfiable_reason`); such a case is run once.
    """

    agent: str
    ratio: Ratio
    reading: Reading
    iterations: tuple[IterationResult, ...] = field(default_factory=tuple)
    planned: int = 1
    error: str = ""
    early_stop: bool = False
    unsatisfiable: str = ""

    @property
    def counts(self) -> dict[str, int]:
        found = Counter(iteration.outcome for iteration in self.iterations)
        return {outcome: found[outcome] for outcome in OUTCOMES if found[outcome]}

    @property
    def passed(self) -> int:
        return self.counts.get("pass", 0)

    @property
    def n(self) -> int:
        return sum(self.counts.get(outcome, 0) for outcome in VERDICTS)

    @property
    def errors(self) -> int:
        return self.counts.get("error", 0)

    @property
    def required(self) -> int:
        return self.ratio.required(self.reading)

    @property
    def unchecked(self) -> str:
        """Why nothing was checked although the case has checks, as where the name of a test is misspelt; else empty."""
        if self.n_checks:
            return ""
        passed = (one.checks for one in self.iterations if one.outcome == "pass")
        why = next((checks[0].message for checks in passed if checks), "")
        return f"No check was made: {why.removeprefix(NOT_CHECKED)}" if why else ""

    @property
    def outcome(self) -> Outcome:
        """Pass, fail, or why there is no verdict. It is a fail only where the iterations without a verdict could not
        have brought enough successes, and no pass where checks are written and none was made."""
        if self.error:
            return "error"
        if self.passed >= self.required and (self.n or not self.required):
            return "skipped" if self.unchecked else "pass"
        if self.unsatisfiable and self.iterations:
            return next((one for one in ("fail", "timeout", "error") if self.counts.get(one)), "skipped")
        missing = self.planned - self.n - self.errors
        if missing and self.passed + missing >= self.required:
            return "timeout" if self.counts.get("timeout") else "skipped"
        if self.errors and self.passed + missing + self.errors >= self.required:
            return "error"
        return "fail" if self.counts.get("fail") else "timeout"

    @property
    def n_checks(self) -> int:
        """Checks that were made, over all iterations."""
        return sum(check.was_made for iteration in self.iterations for check in iteration.checks)

    @property
    def seconds(self) -> float:
        return sum(iteration.seconds for iteration in self.iterations)

    @property
    def waited(self) -> float:
        """Seconds during which servers were busy, over all iterations."""
        return round(sum(iteration.waited for iteration in self.iterations), 3)

    @property
    def tokens(self) -> dict[str, Any]:
        """Sums over agent and judge, as far as servers report them; see `add_up`."""
        return add_up(told for iteration in self.iterations for told in iteration.told())

    def as_dict(self) -> dict[str, Any]:
        return {
            "agent": self.agent,
            "outcome": self.outcome,
            "error": self.error,
            "passed": self.passed,
            "n": self.n,
            "errors": self.errors,
            "needed": self.required,
            "planned": self.planned,
            "success_ratio": self.ratio.text,
            "reading": self.reading,
            "early_stop": self.early_stop,
            "unsatisfiable": self.unsatisfiable,
            "checks_made": self.n_checks,
            "unchecked": self.unchecked,
            "waited": self.waited,
            "tokens": self.tokens,
            "iterations": [iteration.as_dict() for iteration in self.iterations],
        }
