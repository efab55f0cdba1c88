"""Results of running a case (checks, turns, iterations) as plain data that converts to JSON and back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, TypeGuard

from lmgym.agents.cases import Ratio, Reading
from lmgym.agents.checks import OUTCOMES, VERDICTS, Outcome

AMOUNTS = ("total_tokens", "prompt_tokens", "completion_tokens", "total_cost")
MAX_AMOUNT = 1e15
NOT_CHECKED = "Not checked: "
"""Prefix of the message of a check that is never made."""
UNSENT = frozenset(("stopped", "refused", "unsendable", "unreachable"))
"""Values of `trouble` for requests that count as not sent, at no cost."""
FORMER_KEYS = {"said": "user_text"}
"""Keys of turns in results stored by earlier versions, mapped to current keys."""


@dataclass(frozen=True)
class CheckResult:
    """Result of a check in an iteration. `interaction` counts from 0; `where`: path of the check in the interaction."""

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
        """True if a comparison was made; False without an answer or without a judge."""
        return self.outcome in ("pass", "fail") or bool(self.comparison)


@dataclass(frozen=True)
class TurnResult:
    """Result of one interaction over one connection.

    `user_text`: the text sent. `text`, `structure`, `sly_data`: the answer. `trouble`: why there is no answer (see
    TransportError). `notes`: unsupported parts of the case, waiting for busy servers, and how the answer ended.
    `reused`: the answer is from an earlier run, which paid for it. `seconds`: time to the answer, excluding `waited`,
    the time for which the server or the judge was busy. `sent`: the storable parts of the request's sly_data and
    chat_context.
    """

    connection: int
    interaction: int
    user_text: str | None
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
        """Seconds for which servers were busy."""
        return round(sum(turn.waited for turn in self.turns), 3)

    def usage(self) -> list[Mapping[str, Any]]:
        """Return the reported tokens and cost of each request to agent and judge. Reused answers cost nothing; cached
        verdicts are left out."""
        sent = [turn for turn in self.turns if turn.trouble not in UNSENT]
        usage: list[Mapping[str, Any]] = [
            dict.fromkeys(AMOUNTS, 0) if turn.reused else turn.tokens or {} for turn in sent
        ]
        judges = [check.judge for check in self.checks if check.judge]
        return usage + [judge.get("tokens") or {} for judge in judges if not judge.get("cached")]

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> IterationResult:
        checks = tuple(CheckResult(**check) for check in data["checks"])
        turns = tuple(_turn(turn) for turn in data["turns"])
        return cls(data["number"], data["outcome"], checks, turns, data["seconds"], data["message"])


def _turn(data: dict[str, Any]) -> TurnResult:
    values = {FORMER_KEYS.get(key, key): value for key, value in data.items()}
    lists = {"messages": tuple(values["messages"]), "notes": tuple(values.get("notes", ()))}
    return TurnResult(**{**values, **lists})


def is_amount(value: Any) -> TypeGuard[float]:
    """Return True if a value can be a token count or a price; servers may send anything."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= MAX_AMOUNT


def total_usage(usage: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Sum token counts and cost (US dollars); a sum is None if no request reports the value.

    `unreported` counts the requests without a value, by key. A cost of 0 for a positive number of tokens counts as
    unreported, because servers send 0 for models of unknown price.
    """
    sums: dict[str, Any] = dict.fromkeys(AMOUNTS)
    unreported: Counter[str] = Counter()
    for amounts in usage:
        counts = amounts.get("unreported", amounts.get("untold"))  # if already a sum; older rows use "untold"
        for key in AMOUNTS:
            value = amounts.get(key)
            if not is_amount(value) or (key == "total_cost" and not value and amounts.get("total_tokens")):
                unreported[key] += 1 if counts is None else counts.get(key, 0)
            else:
                sums[key] = (sums[key] or 0) + value
                unreported[key] += (counts or {}).get(key, 0)
    return {**sums, "unreported": {key: n for key, n in unreported.items() if n}}


def outcome_of(checks: Sequence[CheckResult], trouble: str = "") -> Outcome:
    """Return the outcome of an iteration.

    An iteration passes if every check made passed and nothing else went wrong. A timeout counts more than failed
    checks, and a failed check more than errors.
    """
    if trouble in ("timeout", "stopped"):
        return "timeout" if trouble == "timeout" else "skipped"
    outcomes = {check.outcome for check in checks}
    if trouble and "fail" not in outcomes:
        return "error"
    worst: tuple[Outcome, ...] = ("timeout", "fail", "error")
    return next((outcome for outcome in worst if outcome in outcomes), "pass")


@dataclass(frozen=True)
class CaseResult:
    """Result of a case with all its iterations.

    `n` counts iterations with a verdict, `passed` how many of them passed, and `errors` iterations without a verdict.
    `planned`: number of iterations to run. `early_stop`: stop once the ratio is decided. `unsatisfiable`: why no
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
        outcomes = Counter(iteration.outcome for iteration in self.iterations)
        return {outcome: outcomes[outcome] for outcome in OUTCOMES if outcomes[outcome]}

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
    def needed(self) -> int:
        return self.ratio.required(self.reading)

    @property
    def unchecked(self) -> str:
        """Reason why none of the case's checks was made, such as a misspelt test; empty if any was made."""
        if self.checks_made:
            return ""
        passed = (iteration.checks for iteration in self.iterations if iteration.outcome == "pass")
        why = next((checks[0].message for checks in passed if checks), "")
        return f"No checks were run: {why.removeprefix(NOT_CHECKED)}" if why else ""

    @property
    def outcome(self) -> Outcome:
        """Pass, fail, or the outcome that prevented a verdict.

        A case fails only if it would fail even had all iterations without a verdict passed. It cannot pass if it has
        checks but none was made.
        """
        if self.error:
            return "error"
        if self.passed >= self.needed and (self.n or not self.needed):
            return "skipped" if self.unchecked else "pass"
        if self.unsatisfiable and self.iterations:
            return next(
                (outcome for outcome in ("fail", "timeout", "error") if self.counts.get(outcome)), "skipped"
            )
        missing = self.planned - self.n - self.errors
        if missing and self.passed + missing >= self.needed:
            return "timeout" if self.counts.get("timeout") else "skipped"
        if self.errors and self.passed + missing + self.errors >= self.needed:
            return "error"
        return "fail" if self.counts.get("fail") else "timeout"

    @property
    def checks_made(self) -> int:
        """Number of checks made in all iterations."""
        return sum(check.was_made for iteration in self.iterations for check in iteration.checks)

    @property
    def seconds(self) -> float:
        return sum(iteration.seconds for iteration in self.iterations)

    @property
    def waited(self) -> float:
        """Seconds for which servers were busy, summed over iterations."""
        return round(sum(iteration.waited for iteration in self.iterations), 3)

    @property
    def tokens(self) -> dict[str, Any]:
        """Usage by the agent and the judge as reported by servers; see `total_usage`."""
        return total_usage(usage for iteration in self.iterations for usage in iteration.usage())

    def as_dict(self) -> dict[str, Any]:
        return {
            "agent": self.agent,
            "outcome": self.outcome,
            "error": self.error,
            "passed": self.passed,
            "n": self.n,
            "errors": self.errors,
            "needed": self.needed,
            "planned": self.planned,
            "success_ratio": self.ratio.text,
            "reading": self.reading,
            "early_stop": self.early_stop,
            "unsatisfiable": self.unsatisfiable,
            "checks_made": self.checks_made,
            "unchecked": self.unchecked,
            "waited": self.waited,
            "tokens": self.tokens,
            "iterations": [iteration.as_dict() for iteration in self.iterations],
        }
