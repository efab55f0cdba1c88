"""How and why iterations fail: failures grouped into modes with stable ids, and whose fault each one is. Pure.

Failures of one mode have the same check, expectation and kind of failure, and answers that are equal without numbers,
quoted parts and white space. A model may choose other modes (failure_naming.py).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gym.agents.core.checks import VERDICTS, shorten
from gym.agents.core.pass_rates import errors_told
from gym.agents.core.redact import HIDDEN, hides, mentions
from gym.agents.core.results import CaseResult, CheckResult, IterationResult, TurnResult

LEVELLED = 160
NUMBERS = re.compile(r"\d+(?:[.,]\d+)*")
QUOTED = re.compile(r"\"[^\"]{1,200}\"|'[^']{1,200}'|`[^`]{1,200}`")
BROKEN = "an answer to every turn"
"""Expected of an iteration that broke off."""
BLANKS = re.compile(r"\s+")
FAULTS = ("agent", "judge", "connection", "case", "site")


@dataclass(frozen=True)
class Sample:
    """One failed check of one iteration, or (without a test) an iteration that broke off before a check."""

    iteration: int
    connection: int
    interaction: int
    where: str
    test: str
    expected: Any
    actual: Any
    outcome: str
    message: str
    fault: str
    judge: dict[str, Any] | None = None
    element: int | None = None

    @property
    def place(self) -> str:
        """Identifies the check and the iteration."""
        element = "" if self.element is None else self.element
        return f"{self.iteration}/{self.connection}/{self.interaction}/{self.where}/{element}"

    @property
    def text(self) -> str:
        if self.actual is None:
            return self.message or "(nothing)"
        return self.actual if isinstance(self.actual, str) else json.dumps(self.actual, ensure_ascii=False)


@dataclass
class Mode:
    """A way to fail. `id` depends only on the grouping, so it is the same in every run; users can change `name`."""

    id: str
    name: str
    samples: list[Sample] = field(default_factory=list)
    merged: list[str] = field(default_factory=list)

    @property
    def faults(self) -> dict[str, int]:
        return {fault: n for fault in FAULTS if (n := sum(sample.fault == fault for sample in self.samples))}

    @property
    def answers(self) -> list[tuple[str, str, list[int]]]:
        """(text, message, iterations) of every distinct answer, the most frequent first."""
        found: dict[tuple[str, str], list[int]] = {}
        for sample in self.samples:
            found.setdefault((sample.text, sample.message), []).append(sample.iteration)
        rows = [(text, message, iterations) for (text, message), iterations in found.items()]
        return sorted(rows, key=lambda row: -len(row[2]))

    @property
    def criterion(self) -> str:
        first = self.samples[0]
        if not first.test:
            return str(first.expected)
        return f"{first.where}: {shorten(first.expected, 300)}"


@dataclass
class Assessment:
    """`iterations` and `checks` are (passed, with a verdict); `iteration_errors` and `check_errors` ended without a
    verdict and are in neither rate. `modes` hold all of them."""

    agent: str
    iterations: tuple[int, int]
    checks: tuple[int, int]
    modes: list[Mode]
    iteration_errors: int = 0
    check_errors: int = 0

    @property
    def failures(self) -> int:
        return sum(len(mode.samples) for mode in self.modes)

    def as_dict(self) -> dict[str, Any]:
        return {
            "agent": self.agent,
            "iterations": {
                "passed": self.iterations[0],
                "made": self.iterations[1],
                "errors": self.iteration_errors,
            },
            "checks": {"passed": self.checks[0], "made": self.checks[1], "errors": self.check_errors},
            "failure_modes": [
                {
                    "id": mode.id,
                    "name": mode.name,
                    "count": len(mode.samples),
                    "share": len(mode.samples) / self.failures,
                    "criterion": mode.criterion,
                    "faults": mode.faults,
                    "merged": mode.merged,
                    "samples": [dict(sample.__dict__) for sample in mode.samples],
                }
                for mode in self.modes
            ],
        }


def level(text: str) -> str:
    """Text without numbers, quoted parts and white space, to compare answers."""
    text = NUMBERS.sub("#", QUOTED.sub("“…”", text.lower()))
    return BLANKS.sub(" ", text).strip(" .!?")[:LEVELLED]


def fault_of(check: CheckResult, turn: TurnResult | None) -> str:
    """Who probably caused the failure: the connection without an answer, the site where a value was not stored, the
    judge without a verdict or with divided votes, the case where expectation and answer cannot be compared, else the
    agent."""
    if turn is not None and turn.trouble:
        return _fault_of_trouble(turn)
    without_verdict = check.outcome in ("error", "timeout")
    if without_verdict and not check.comparison and _is_hidden(check):
        return "site"
    if turn is not None and turn.error and without_verdict:
        return "agent"
    judge = check.judge or {}
    votes = {vote for vote in judge.get("votes", ()) if vote != "error"}
    if check.test in ("gist", "not_gist") and check.actual is not None:
        if without_verdict or judge.get("verdict") == "error" or len(votes) > 1:
            return "judge"
    elif without_verdict and check.actual is not None:
        return "case"
    return "agent"


def _is_hidden(check: CheckResult) -> bool:
    """Are the compared values missing in the transcript? A judge is asked about what is left of them."""
    compared = check.test not in ("gist", "not_gist") and mentions(HIDDEN, [check.expected, check.actual])
    return compared or hides(check.actual)


def _fault_of_trouble(turn: TurnResult) -> str:
    return "case" if turn.trouble == "unsendable" else "connection"


def mode_id(sample: Sample) -> str:
    """12 hexadecimal digits. With gist the answer is no part of it, because answers of one meaning differ in words."""
    if not sample.test:
        return _digest(sample, level(sample.message))
    if sample.actual is None:
        return _digest(sample, "missing")
    return _digest(sample, "" if sample.test in ("gist", "not_gist") else level(sample.text))


def group_id(sample: Sample) -> str:
    """Like `mode_id`, but without the answer: all failures of a check of one kind."""
    return _digest(sample, "missing" if sample.actual is None else "")


def _digest(sample: Sample, text: str) -> str:
    parts = [sample.interaction, sample.where, sample.expected, sample.outcome, sample.fault, text]
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:12]


def describe(sample: Sample) -> str:
    """The name of a mode until somebody changes it."""
    if not sample.test:
        return f"Turn {sample.interaction + 1}: {sample.message or 'it broke off'}"
    place = f"Turn {sample.interaction + 1}, {sample.where.removeprefix('response.')}"
    if sample.fault == "judge":
        return f"{place}: the judge gave no clear verdict"
    if sample.fault in ("connection", "site"):
        return f"{place}: {sample.message or 'no answer'}"
    if sample.actual is None:
        return f"{place}: the answer has nothing here"
    return f"{place}: expected {shorten(sample.expected, 60)}, got {shorten(sample.actual, 60)}"


def samples_of(result: CaseResult) -> list[Sample]:
    """Every failed check, and every iteration that did not pass without a failed check."""
    samples: list[Sample] = []
    for iteration in result.iterations:
        failed = [check for check in iteration.checks if check.outcome not in ("pass", "skipped")]
        samples += [_sample(iteration, check) for check in failed]
        if not failed and iteration.outcome not in ("pass", "skipped"):
            samples.append(_broken(iteration))
    return samples


def _sample(iteration: IterationResult, check: CheckResult) -> Sample:
    place = (check.connection, check.interaction)
    turn = next((turn for turn in iteration.turns if (turn.connection, turn.interaction) == place), None)
    return Sample(
        iteration.number, check.connection, check.interaction, check.where, check.test, check.expected,
        check.actual, check.outcome, check.message, fault_of(check, turn), check.judge, check.element,
    )  # fmt: skip


def _broken(iteration: IterationResult) -> Sample:
    """An iteration that ended before a check was made."""
    turn = next((turn for turn in iteration.turns if turn.trouble), None)
    if turn is not None:
        fault = _fault_of_trouble(turn)
    else:  # no request was made: an empty case, no time left, or an error of this site
        fault = {"fail": "case", "timeout": "connection"}.get(iteration.outcome, "site")
    connection, interaction = (turn.connection, turn.interaction) if turn else (0, 0)
    return Sample(
        iteration.number, connection, interaction, "answer", "", BROKEN, None, iteration.outcome,
        iteration.message, fault,
    )  # fmt: skip


def assess(
    result: CaseResult,
    *,
    names: Mapping[str, str] | None = None,
    merged: Mapping[str, str] | None = None,
    chosen: Mapping[str, str] | None = None,
) -> Assessment:
    """Group all failures. `names` (id -> name) and `merged` (id -> id of another mode) are changes by users; `chosen`
    (place of a failure -> id) are choices of a model."""
    modes: dict[str, Mode] = {}
    for sample in samples_of(result):
        own = (chosen or {}).get(sample.place) or mode_id(sample)
        home = _home(own, merged or {})
        mode = modes.setdefault(home, Mode(home, (names or {}).get(home) or describe(sample)))
        if own != home and own not in mode.merged:
            mode.merged.append(own)
        mode.samples.append(sample)
    outcomes = Counter(check.outcome for iteration in result.iterations for check in iteration.checks)
    checks = outcomes["pass"], sum(outcomes[outcome] for outcome in VERDICTS)
    ordered = sorted(modes.values(), key=lambda mode: (-len(mode.samples), mode.id))
    iterations = result.passed, result.n
    return Assessment(result.agent, iterations, checks, ordered, result.errors, outcomes["error"])


def _home(mode: str, merged: Mapping[str, str]) -> str:
    """The mode that this one is merged into, at any number of steps; a circle ends where it began."""
    seen = {mode}
    while (onward := merged.get(mode)) is not None and onward not in seen:
        mode = onward
        seen.add(mode)
    return mode


def text_report(assessment: Assessment) -> str:
    """Text in the layout of the reference's command."""
    samples = [sample for mode in assessment.modes for sample in mode.samples]
    errors = sum(sample.outcome == "error" for sample in samples)
    failed = len(samples) - errors
    passed = assessment.checks[0]
    total = passed + failed
    if total or not errors:
        lines = [f"{passed}/{total} attempts passed."]
        if total == 1:
            lines.append("Tip: a success_ratio with a larger denominator gives more samples.")
        lines.append(f"{failed}/{total} attempts failed.")
        if errors:
            lines.append(f"{errors_told(errors)} besides: attempts without a verdict.")
    else:
        lines = [f"No verdict: {errors_told(errors)}."]
    if samples:
        lines.append("Modes of failure:")
    what = "failures and errors" if errors else "failures"
    for mode in assessment.modes:
        n = len(mode.samples)
        lines += [
            "",
            f"{n}/{len(samples)} {what} ({100 * n / len(samples):.2f}%):",
            "Failure Mode:",
            mode.name,
        ]
        for number, sample in enumerate(mode.samples, 1):
            lines += [f"Example {number}:", sample.text.strip()]
        lines += ["Acceptance Criteria:", str(mode.samples[0].expected)]
    return "\n".join(lines) + "\n"
