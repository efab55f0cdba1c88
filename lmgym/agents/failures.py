"""Failures of iterations by turn and answer, and answers on which the judge contradicts itself."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from lmgym.agents.checks import Outcome, shorten
from lmgym.agents.results import CaseResult, CheckResult, IterationResult, TurnResult, total_usage
from lmgym.agents.retries import NOT_SENT
from lmgym.agents.tables import IterationRow
from lmgym.text import listing
from lmgym.text.columns import Row, row

WRONG: tuple[Outcome, ...] = ("fail", "error", "timeout")
MAX_ANSWER = 2_000
"""Maximum number of characters shown of an answer; transcripts have the full text."""


@dataclass(frozen=True)
class Failure:
    """An answer to a turn, the checks that it failed, and all iterations with the same answer and failed checks.

    If there was no answer, `checks` is empty and `message` is the reason.
    """

    connection: int
    interaction: int
    user_text: str | None
    answer: str
    outcome: str
    checks: tuple[CheckResult, ...] = ()
    message: str = ""
    iterations: list[int] = field(default_factory=list)

    @property
    def turn(self) -> tuple[int, int]:
        return self.connection, self.interaction

    def lines(self) -> list[str]:
        """Format the failure for a terminal."""
        where = f"turn {self.interaction + 1}" + (
            f" of connection {self.connection + 1}" if self.connection else ""
        )
        plural = "s" if len(self.iterations) > 1 else ""
        head = f"{where}, iteration{plural} {listing(self.iterations)}"
        if not self.checks:
            return [f"{head}: {self.outcome}: {self.message}"]
        answer = shorten(self.answer, 300)
        return [f"{head}: answered {answer}", *(f"  {check_line(check)}" for check in self.checks)]


class Failures:
    """Failures collected one iteration at a time, because there may be a thousand iterations,
    each with a transcript."""

    def __init__(self, iterations: Iterable[IterationResult] = ()) -> None:
        self._failures: dict[tuple[Any, ...], Failure] = {}
        for iteration in iterations:
            self.add(iteration)

    def add(self, iteration: IterationResult) -> None:
        for key, failure in _failures(iteration):
            self._failures.setdefault(key, failure).iterations.append(iteration.number)

    def __iter__(self) -> Iterator[Failure]:
        """Iterate by turn, most frequent first; requests that were not sent follow the failure that prevented them."""
        return iter(sorted(self._failures.values(), key=_order))


def _order(failure: Failure) -> tuple[Any, ...]:
    return failure.turn, failure.message.startswith(NOT_SENT), -len(failure.iterations)


@dataclass(frozen=True)
class Contradiction:
    """An answer that the judge passed in some iterations and failed in others. `key`: see `Opinion.key`."""

    key: str
    where: str
    interaction: int
    criterion: Any
    answer: str
    passed: list[int] = field(default_factory=list)
    failed: list[int] = field(default_factory=list)

    def line(self) -> str:
        """Format the contradiction for a terminal."""
        return (
            f"The judge contradicts itself: interactions[{self.interaction}].{self.where} "
            f"{shorten(self.criterion, 300)}: pass {_times(self.passed)} and fail {_times(self.failed)} on the same "
            f"answer {shorten(self.answer, 300)}"
        )


def _times(iterations: list[int]) -> str:
    return "once" if len(iterations) == 1 else f"{len(iterations):,} times"


class Contradictions:
    """A judge's contradictory verdicts on equal answers, collected one iteration at a time.

    A judge that contradicts itself is unreliable, so such failures are attributed to the judge, not to the agent.
    """

    def __init__(self, iterations: Iterable[IterationResult] = ()) -> None:
        self._verdicts: dict[str, Contradiction] = {}
        for iteration in iterations:
            self.add(iteration)

    def add(self, iteration: IterationResult) -> None:
        for check in iteration.checks:
            judge = check.judge or {}
            if not judge.get("key") or judge["verdict"] == "error":
                continue
            answer = check.actual if isinstance(check.actual, str) else _json(check.actual)
            new = Contradiction(
                judge["key"], check.where, check.interaction, check.expected, answer[:MAX_ANSWER]
            )
            known = self._verdicts.setdefault(new.key, new)
            (known.passed if judge["verdict"] == "pass" else known.failed).append(iteration.number)

    def __iter__(self) -> Iterator[Contradiction]:
        return (verdicts for verdicts in self._verdicts.values() if verdicts.passed and verdicts.failed)

    @property
    def keys(self) -> frozenset[str]:
        return frozenset(contradiction.key for contradiction in self)


def failures_of(result: CaseResult) -> list[Failure]:
    return list(Failures(result.iterations))


def _failures(iteration: IterationResult) -> Iterator[tuple[tuple[Any, ...], Failure]]:
    """Yield the failures of an iteration, each with a key shared by equal failures."""
    by_turn: dict[tuple[int, int], list[CheckResult]] = {}
    for check in iteration.checks:
        if check.outcome in WRONG:
            by_turn.setdefault((check.connection, check.interaction), []).append(check)
    turns = {(turn.connection, turn.interaction): turn for turn in iteration.turns}
    broken = next((turn for turn in iteration.turns if turn.trouble), None)
    if not by_turn and iteration.outcome in WRONG:
        by_turn[(broken.connection, broken.interaction) if broken else (0, 0)] = []
    for place, checks in by_turn.items():
        turn = turns.get(place)
        user_text = turn.user_text if turn else None
        if turn is None or turn.trouble:
            outcome = checks[0].outcome if checks else iteration.outcome
            message = (turn.error if turn else "") or iteration.message
            yield (place, outcome, message), Failure(*place, user_text, "", outcome, (), message)
            continue
        answer = _answer(turn)
        compared = tuple((check.where, check.element, check.outcome, check.comparison) for check in checks)
        outcome = next(outcome for outcome in WRONG if any(check.outcome == outcome for check in checks))
        failure = Failure(*place, user_text, answer[:MAX_ANSWER], outcome, tuple(checks))
        yield (place, len(answer), hash(answer), compared), failure


def _answer(turn: TurnResult) -> str:
    if turn.text or turn.structure is None:
        return turn.text or "(nothing)"
    return _json(turn.structure)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def check_line(check: CheckResult) -> str:
    """Format a check on one line: outcome, path and comparison; for a judge, criterion and reason."""
    place = f"{check.outcome}: interactions[{check.interaction}].{check.where}"
    criterion = f" {shorten(check.expected, 300)}" if check.judge else ""
    return f"{place}{criterion}: {_reason(check)}"


def _reason(check: CheckResult) -> str:
    return ": ".join(part for part in (check.comparison, check.message) if part)


def lines_of(result: CaseResult) -> list[str]:
    contradictions = [contradiction.line() for contradiction in Contradictions(result.iterations)]
    return contradictions + [line for failure in failures_of(result) for line in failure.lines()]


# --- a table with a row per iteration ---


def iteration_rows(results: Iterable[tuple[str, CaseResult]]) -> Iterator[Row]:
    """Yield a row with the fields of IterationRow for each iteration. `results`: (name, result) pairs."""
    for name, result in results:
        for iteration in result.iterations:
            yield row(_iteration_row(name, result.agent, iteration))


def _iteration_row(case: str, agent: str, iteration: IterationResult) -> IterationRow:
    made = [check for check in iteration.checks if check.was_made]
    usage = total_usage(iteration.usage())
    return IterationRow(
        case, agent, iteration.number, iteration.outcome, iteration.seconds, iteration.waited,
        usage["total_tokens"], usage["total_cost"], len(made), sum(check.outcome == "pass" for check in made),
        *_reasons(iteration),
    )  # fmt: skip


def _reasons(iteration: IterationResult) -> tuple[int | None, str | None, str | None, str | None, str | None]:
    """Return turn, check, criterion, answer and reason of the first failure."""
    failure = next((failure for _, failure in _failures(iteration)), None)
    if failure is None:
        return None, None, None, None, iteration.message or None
    turn = failure.interaction + 1
    if not failure.checks:
        return turn, None, None, None, failure.message
    check = failure.checks[0]
    criterion = check.expected if isinstance(check.expected, str) else _json(check.expected)
    return turn, check.where, criterion, failure.answer, _reason(check)
