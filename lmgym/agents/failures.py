"""Why iterations did not pass: what went wrong with each turn and each answer to it, and in which iterations; where the
judge contradicts itself. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from lmgym.agents.checks import Outcome, shorten
from lmgym.agents.results import CaseResult, CheckResult, IterationResult, TurnResult, add_up
from lmgym.agents.retries import NOT_ASKED
from lmgym.text import listing

WRONG: tuple[Outcome, ...] = ("fail", "error", "timeout")
LONGEST_ANSWER = 2_000
"""Characters of an answer that are shown; transcripts hold all of it."""


@dataclass(frozen=True)
class Failure:
    """An answer to a turn and the checks that it did not pass, in all iterations where both are the same. Without
    checks: `message` says why there was no answer."""

    connection: int
    interaction: int
    said: str | None
    answer: str
    outcome: str
    checks: tuple[CheckResult, ...] = ()
    message: str = ""
    iterations: list[int] = field(default_factory=list)

    @property
    def turn(self) -> tuple[int, int]:
        return self.connection, self.interaction

    def lines(self) -> list[str]:
        """For people who read text."""
        where = f"turn {self.interaction + 1}" + (
            f" of connection {self.connection + 1}" if self.connection else ""
        )
        several = "s" if len(self.iterations) > 1 else ""
        head = f"{where}, iteration{several} {listing(self.iterations)}"
        if not self.checks:
            return [f"{head}: {self.outcome}: {self.message}"]
        return [f"{head}: answered {shorten(self.answer, 300)}", *(f"  {told(one)}" for one in self.checks)]


class Failures:
    """Iterations are added one by one, because there may be a thousand with a transcript each."""

    def __init__(self, iterations: Iterable[IterationResult] = ()) -> None:
        self._found: dict[tuple[Any, ...], Failure] = {}
        for iteration in iterations:
            self.add(iteration)

    def add(self, iteration: IterationResult) -> None:
        for key, failure in _failures(iteration):
            self._found.setdefault(key, failure).iterations.append(iteration.number)

    def __iter__(self) -> Iterator[Failure]:
        """By turn, the most frequent first; but why a server was given up comes before what was not asked for that."""
        return iter(sorted(self._found.values(), key=_order))


def _order(failure: Failure) -> tuple[Any, ...]:
    return failure.turn, failure.message.startswith(NOT_ASKED), -len(failure.iterations)


@dataclass(frozen=True)
class Contradiction:
    """An answer of which a judge said pass in some iterations and fail in others. `key`: of the judge's opinions."""

    key: str
    where: str
    interaction: int
    criterion: Any
    answer: str
    passed: list[int] = field(default_factory=list)
    failed: list[int] = field(default_factory=list)

    def line(self) -> str:
        """For people who read text."""
        return (
            f"The judge contradicts itself: interactions[{self.interaction}].{self.where} "
            f"{shorten(self.criterion, 300)}: pass {_times(self.passed)} and fail {_times(self.failed)} on the same "
            f"answer {shorten(self.answer, 300)}"
        )


def _times(iterations: list[int]) -> str:
    return "once" if len(iterations) == 1 else f"{len(iterations):,} times"


class Contradictions:
    """What a judge said of equal answers. Iterations are added one by one; a judge that contradicts itself decides by
    chance, so such failures are the judge's and no agent's."""

    def __init__(self, iterations: Iterable[IterationResult] = ()) -> None:
        self._found: dict[str, Contradiction] = {}
        for iteration in iterations:
            self.add(iteration)

    def add(self, iteration: IterationResult) -> None:
        for check in iteration.checks:
            judge = check.judge or {}
            if not judge.get("key") or judge["verdict"] == "error":
                continue
            answer = check.actual if isinstance(check.actual, str) else _json(check.actual)
            one = Contradiction(
                judge["key"], check.where, check.interaction, check.expected, answer[:LONGEST_ANSWER]
            )
            known = self._found.setdefault(one.key, one)
            (known.passed if judge["verdict"] == "pass" else known.failed).append(iteration.number)

    def __iter__(self) -> Iterator[Contradiction]:
        return (one for one in self._found.values() if one.passed and one.failed)

    @property
    def keys(self) -> frozenset[str]:
        return frozenset(one.key for one in self)


def failures_of(result: CaseResult) -> list[Failure]:
    return list(Failures(result.iterations))


def _failures(iteration: IterationResult) -> Iterator[tuple[tuple[Any, ...], Failure]]:
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
        said = turn.said if turn else None
        if turn is None or turn.trouble:
            outcome = checks[0].outcome if checks else iteration.outcome
            message = (turn.error if turn else "") or iteration.message
            yield (place, outcome, message), Failure(*place, said, "", outcome, (), message)
            continue
        answer = _answer(turn)
        compared = tuple((check.where, check.element, check.outcome, check.comparison) for check in checks)
        outcome = next(outcome for outcome in WRONG if any(check.outcome == outcome for check in checks))
        failure = Failure(*place, said, answer[:LONGEST_ANSWER], outcome, tuple(checks))
        yield (place, len(answer), hash(answer), compared), failure


def _answer(turn: TurnResult) -> str:
    if turn.text or turn.structure is None:
        return turn.text or "(nothing)"
    return _json(turn.structure)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def told(check: CheckResult) -> str:
    """A check in a line: outcome, place, what was compared; of a judge its criterion and reason."""
    place = f"{check.outcome}: interactions[{check.interaction}].{check.where}"
    criterion = f" {shorten(check.expected, 300)}" if check.judge else ""
    return f"{place}{criterion}: {_reason(check)}"


def _reason(check: CheckResult) -> str:
    return ": ".join(part for part in (check.comparison, check.message) if part)


def lines_of(result: CaseResult) -> list[str]:
    contradictions = [one.line() for one in Contradictions(result.iterations)]
    return contradictions + [line for failure in failures_of(result) for line in failure.lines()]


# --- a table with a row per iteration ---

COLUMNS = (
    "case", "agent", "iteration", "outcome", "seconds", "waited", "total_tokens", "total_cost", "checks_made",
    "checks_passed", "failed_turn", "failed_check", "criterion", "answer", "reason",
)  # fmt: skip
"""The last five are about the first check that did not pass, or the turn without an answer."""


def rows_of(results: Iterable[tuple[str, CaseResult]]) -> Iterator[list[Any]]:
    """A row of COLUMNS per iteration; turns count from 1, None is unknown."""
    for name, result in results:
        for iteration in result.iterations:
            yield [name, result.agent, *_row(iteration), *_why(iteration)]


def _row(iteration: IterationResult) -> list[Any]:
    made = [check for check in iteration.checks if check.was_made]
    tokens = add_up(iteration.told())
    return [
        iteration.number, iteration.outcome, iteration.seconds, iteration.waited,
        tokens["total_tokens"], tokens["total_cost"], len(made), sum(check.outcome == "pass" for check in made),
    ]  # fmt: skip


def _why(iteration: IterationResult) -> list[Any]:
    failure = next((failure for _, failure in _failures(iteration)), None)
    if failure is None:
        return [None, None, None, None, iteration.message or None]
    turn = failure.interaction + 1
    if not failure.checks:
        return [turn, None, None, None, failure.message]
    check = failure.checks[0]
    criterion = check.expected if isinstance(check.expected, str) else _json(check.expected)
    return [turn, check.where, criterion, failure.answer, _reason(check)]
