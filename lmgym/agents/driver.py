"""Running the conversations of a test case: iterations, connections, turns. Pure.

    for result in run_iterations(case, transport, judge, options, numbers=range(case.ratio.iterations)): ...

Timeouts end a request while it is under way. An iteration stops at the first turn without an answer, because the next
turns would continue another conversation; its remaining checks are `skipped`. In the reference-compatible reading it
also stops where an expected value cannot be compared with the answer.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from lmgym.agents.cases import UNSUPPORTED, Interaction, Reading, TestCase
from lmgym.agents.protocol import ENDINGS, Answer, request_body
from lmgym.agents.redact import Redactor, bounded, given_only, messages_kept, redactor, tested_only
from lmgym.agents.results import CaseResult, CheckResult, IterationResult, TurnResult, outcome_of
from lmgym.agents.scoring import (
    BROKEN_OFF,
    Judge,
    breaks_off,
    cleaned,
    cleaned_turn,
    score_turn,
    veil_answer,
    veil_checks,
    without_secrets,
)
from lmgym.agents.transport import Deadline, Transport, TransportError, ask, earliest
from lmgym.agents.unsatisfiable import unsatisfiable_reason

USER_ID = "lm-gym"
"""Sent by the reference-compatible reading for a case without metadata."""
POLL = 0.2
"""Seconds between two looks at `stop` and `tick`."""
NO_INTERACTIONS = "There are no interactions."
NO_CONNECTIONS = "There are no connections."
NOT_SENT = {
    "sly_data": "Private data (sly_data) were not sent: such an agent has no place for them.",
    "metadata": "Metadata were not sent: such an agent has no place for them.",
}
WAITED = "The server was busy and was asked again after {:,.1f} s."
WAITED_FOR_JUDGE = "The judge's server was busy and was asked again after {:,.1f} s."
NOT_ENCRYPTED = "The case asks for https, but the address of the agent is http: nothing was encrypted."


@dataclass(frozen=True)
class Options:
    """How a case is run.

    early_stop: end as soon as enough iterations succeeded, or (by the document alone) can no longer succeed.
    parallel: iterations at the same time. request_seconds: limit of a request where the case sets none.
    """

    reading: Reading = "document"
    early_stop: bool = False
    parallel: int = 4
    request_seconds: float = 300.0
    secrets: tuple[str, ...] = ()


@dataclass
class _Session:
    """One conversation: what the next request carries on."""

    context: dict[str, Any] | None = None
    sly_data: dict[str, Any] | None = None


class Driver:
    """Runs single iterations of one case. Safe to use from several threads, one iteration each."""

    def __init__(
        self,
        case: TestCase,
        transport: Transport,
        judge: Judge | None,
        options: Options,
        *,
        deadline: Deadline | None = None,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        self.case = case
        self.transport = transport
        self.judge = judge
        self.options = options
        self.deadline = deadline
        self.stop = stop
        secrets = [*options.secrets, *transport.secrets]
        self.clean: Redactor = redactor(secrets)
        self.veil: Redactor | None = redactor(secrets, marked=True) if secrets else None

    def iteration(self, number: int) -> IterationResult:
        started = time.monotonic()
        case = self.case
        deadline = self.deadline
        if deadline is None and case.timeout is not None:
            deadline = Deadline(started + case.timeout, "The test")
        if not case.interactions or not case.connections:
            message = NO_CONNECTIONS if case.interactions else NO_INTERACTIONS
            return IterationResult(number, "fail", message=message)
        checks: list[CheckResult] = []
        turns: list[TurnResult] = []
        trouble = ""
        for place, connection in enumerate(case.connections):
            session = _Session()
            for index, interaction in enumerate(case.interactions):
                turn, agent_error = self._turn(
                    place, connection, index, interaction, session, deadline, trouble
                )
                answered = not turn.trouble
                until = self._until(self.options.request_seconds, "The judge", deadline)
                found = self._scored(interaction, turn, agent_error, until)
                checks += [cleaned(without_secrets(check), self.clean) for check in found]
                if until.waited:
                    turn = replace(
                        turn,
                        notes=(*turn.notes, WAITED_FOR_JUDGE.format(until.waited)),
                        waited=round(turn.waited + until.waited, 3),
                    )
                if answered or not trouble:
                    turns.append(self._kept(turn, index))
                trouble = (
                    trouble or turn.trouble or (BROKEN_OFF if breaks_off(found, self.options.reading) else "")
                )
        message = next((turn.error for turn in turns if turn.trouble), "")
        seconds = round(time.monotonic() - started, 3)
        return IterationResult(
            number, outcome_of(checks, trouble), tuple(checks), tuple(turns), seconds, message
        )

    def _scored(
        self, interaction: Interaction, turn: TurnResult, agent_error: str, until: Deadline
    ) -> list[CheckResult]:
        if self.veil is not None:
            interaction, turn = veil_checks(interaction, self.veil), veil_answer(turn, self.veil)
        return score_turn(interaction, turn, self.judge, self.options.reading, agent_error, until)

    def _until(self, seconds: float, what: str, deadline: Deadline | None) -> Deadline:
        limit = Deadline(time.monotonic() + seconds, what)
        return replace(earliest(limit, deadline), stop=self.stop, outer=deadline)

    def _turn(
        self, place: int, connection: str, index: int, interaction: Interaction, session: _Session,
        deadline: Deadline | None, trouble: str,
    ) -> tuple[TurnResult, str]:  # fmt: skip
        """One request and its answer, and the agent's own error where the answer is one. Never raises."""
        empty = TurnResult(place, index, interaction.text)
        if trouble:
            return replace(
                empty, trouble="stopped", error="Not reached: the conversation had broken off."
            ), ""
        started = time.monotonic()
        body = self._body(interaction, session)
        sent = {
            "sly_data": given_only(body.get("sly_data"), self.case),
            "chat_context": bounded(self.clean(body.get("chat_context"))),
        }
        sent = {name: value for name, value in sent.items() if value}
        empty = replace(empty, notes=self._notes(connection, body), sent=sent or None)
        until = self._time_for(interaction, deadline)
        try:
            if connection in UNSUPPORTED:
                message = f"Connections by {UNSUPPORTED[connection]} are not supported; use http."
                raise TransportError("unsendable", message)
            answer = self._ask(body, until)
        except TransportError as error:
            return replace(self._timed(empty, started, until), trouble=error.trouble, error=error.message), ""
        self._carry_on(interaction, session, answer)
        turn = replace(
            self._timed(empty, started, until),
            text=answer.text,
            structure=answer.structure,
            sly_data=answer.sly_data,
            messages=messages_kept(self.clean(answer.messages), answer.left_out),
            tokens=answer.tokens,
            retries=answer.retries,
            error=answer.agent_error(self.case.agent),
        )
        if answer.ending:
            turn = replace(turn, notes=(*turn.notes, ENDINGS[answer.ending]))
        return turn, turn.error

    def _timed(self, turn: TurnResult, started: float, until: Deadline) -> TurnResult:
        """With the seconds of the answer and, apart from them, those for which the server was too busy to take the
        request."""
        seconds = max(0.0, time.monotonic() - started - until.waited - until.held)
        notes = (*turn.notes, WAITED.format(until.waited)) if until.waited else turn.notes
        return replace(turn, seconds=round(seconds, 3), waited=round(until.waited, 3), notes=notes)

    def _body(self, interaction: Interaction, session: _Session) -> dict[str, Any]:
        """By the document MAXIMAL is asked for: the same answer, with transcript, tokens and cost."""
        if self.options.reading == "reference-compatible":
            if interaction.sly_data:
                session.sly_data = dict(interaction.sly_data)
            return request_body(interaction.text, interaction.chat_filter, session.sly_data, session.context)
        return request_body(interaction.text, "MAXIMAL", interaction.sly_data, session.context)

    def _notes(self, connection: str, body: dict[str, Any]) -> tuple[str, ...]:
        """Which parts of the case this transport does not do."""
        asked = {"sly_data": body.get("sly_data"), "metadata": self.case.metadata}
        notes = [NOT_SENT[what] for what in self.transport.unsent if asked[what]]
        if connection == "https" and self.transport.scheme == "http":
            notes.append(NOT_ENCRYPTED)
        return tuple(notes)

    def _time_for(self, interaction: Interaction, deadline: Deadline | None) -> Deadline:
        if interaction.timeout is None:
            return self._until(self.options.request_seconds, "The request", deadline)
        return self._until(interaction.timeout, "The interaction", deadline)

    def _ask(self, body: dict[str, Any], until: Deadline) -> Answer:
        answer = ask(self.transport, self.case.agent, body, headers_for(self.case, self.options), until)
        if answer.error:
            raise TransportError("protocol", f"The server reported an error: {answer.error}")
        return answer

    def _carry_on(self, interaction: Interaction, session: _Session, answer: Answer) -> None:
        """`continue_conversation: false` lets the next turn start a new conversation."""
        session.context = answer.chat_context if interaction.continues else None
        if (
            self.options.reading == "reference-compatible"
            and interaction.continues
            and isinstance(answer.sly_data, dict)
        ):
            session.sly_data = {**(session.sly_data or {}), **answer.sly_data}

    def _kept(self, turn: TurnResult, index: int) -> TurnResult:
        """The turn as stored: without secrets, and with private data only where it is tested."""
        return cleaned_turn(replace(turn, sly_data=tested_only(turn.sly_data, self.case, index)), self.clean)


def headers_for(case: TestCase, options: Options) -> Mapping[str, str]:
    """The case's metadata as request headers. Raises TransportError where the reference's client would break."""
    compatible = options.reading == "reference-compatible"
    metadata = case.metadata
    if metadata is None and compatible:
        metadata = {"user_id": USER_ID}
    headers = {}
    for name, value in (metadata or {}).items():
        if value is None:
            continue
        if not isinstance(value, str):
            if compatible:
                message = f"neuro-san's client cannot send the number {value!r} as the header {name}."
                raise TransportError("unsendable", message)
            value = str(value).lower() if isinstance(value, bool) else str(value)
        headers[name] = value
    return headers


def run_iterations(
    case: TestCase,
    transport: Transport,
    judge: Judge | None,
    options: Options,
    *,
    numbers: Iterable[int],
    before: Iterable[IterationResult] = (),
    stop: Callable[[], bool] = lambda: False,
    spent: float = 0.0,
    tick: Callable[[], None] = lambda: None,
) -> Iterator[IterationResult]:
    """Run these iterations, several at a time, and yield them as they end.

    `before`: iterations of an interrupted run, which count for the early stop; `spent`: the seconds of the test's
    timeout that they used. All threads call `stop`; the caller's thread calls `tick` several times a second, which may
    raise. By the document the test's timeout is for all iterations together, by the code for each. When `stop` returns
    True the iterator ends at once; hanging requests are left to their deadlines.
    """
    deadline = None
    if case.timeout is not None and options.reading == "document":
        deadline = Deadline(time.monotonic() + case.timeout - spent, "The test")
    over = threading.Event()
    driver = Driver(case, transport, judge, options, deadline=deadline, stop=lambda: over.is_set() or stop())
    waiting = list(numbers)[::-1]
    results: queue.SimpleQueue[IterationResult] = queue.SimpleQueue()
    known = list(before)
    running: set[int] = set()
    try:
        while waiting or running:
            tick()
            ended = deadline is not None and deadline.passed
            while waiting and len(running) < max(1, options.parallel) and not ended:
                number = waiting.pop()
                running.add(number)
                threading.Thread(target=_work, args=(driver, number, results), daemon=True).start()
            if not running:
                yield from _never_made(waiting, known)
                return
            try:
                result = results.get(timeout=POLL)
            except queue.Empty:
                if stop():
                    return
                continue
            if stop():
                return  # what ended now may have ended because of that
            running.discard(result.number)
            known.append(result)
            yield result
            if stop() or (options.early_stop and is_decided(case, options.reading, known)):
                return
    finally:
        over.set()


def _never_made(waiting: list[int], known: list[IterationResult]) -> Iterator[IterationResult]:
    """Iterations that the test had no time left for. The first is a timeout unless another one was."""
    timed_out = any(result.outcome == "timeout" for result in known)
    for place, number in enumerate(reversed(waiting)):
        message = "The test's time was used up before this iteration."
        yield IterationResult(number, "skipped" if timed_out or place else "timeout", message=message)


def _work(driver: Driver, number: int, results: queue.SimpleQueue[IterationResult]) -> None:
    try:
        results.put(driver.iteration(number))
    except Exception as error:  # noqa: BLE001  a bug of ours ends one iteration, by name, and never the run
        message = driver.clean(f"This iteration could not be made: {type(error).__name__}: {error}")
        results.put(IterationResult(number, "error", message=message))


def is_decided(case: TestCase, reading: Reading, known: Iterable[IterationResult]) -> bool:
    """Have enough succeeded, or can no longer enough succeed? The code asks only the first."""
    made = [result for result in known if result.outcome != "skipped"]
    passed = sum(result.outcome == "pass" for result in made)
    needed = case.ratio.required(reading)
    unsatisfiable = passed + case.ratio.iterations - len(made) < needed
    return (passed >= needed and passed > 0) or (unsatisfiable and reading == "document")


def run_case(
    case: TestCase,
    transport: Transport,
    judge: Judge | None = None,
    options: Options = Options(),
) -> CaseResult:
    """All iterations of a case, in their order; the first alone where none can pass."""
    asked = case.ratio.iterations
    unsatisfiable = unsatisfiable_reason(case, options.reading, has_judge=judge is not None)
    numbers = range(1, 2 if unsatisfiable else asked + 1)
    made = run_iterations(case, transport, judge, options, numbers=numbers)
    ordered = tuple(sorted(made, key=lambda iteration: iteration.number))
    return CaseResult(
        case.agent, case.ratio, options.reading, ordered, asked,
        early_stop=asked > 1 and (options.early_stop or bool(unsatisfiable)), unsatisfiable=unsatisfiable,
    )  # fmt: skip
