"""Run the conversations of a test case: iterations, connections, turns.

    for result in run_iterations(case, transport, judge, options, numbers=range(case.ratio.iterations)): ...

A timeout cancels the request in progress. An iteration stops at the first turn without an answer, because later turns
would continue a different conversation; its remaining checks are `skipped`. In the reference-compatible reading it also
stops at an expected value that cannot be compared with the answer.
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
from lmgym.agents.redact import Redactor, bounded, messages_kept, named_only, redactor, tested_only
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
from lmgym.agents.transport import Deadline, Transport, TransportError, earliest, send_request
from lmgym.agents.unsatisfiable import unsatisfiable_reason

USER_ID = "lm-gym"
"""User id sent as metadata in the reference-compatible reading if a case has no metadata."""
POLL = 0.2
"""Maximum number of seconds between calls of `tick`, and between checks of `stop`, during a run."""
NO_INTERACTIONS = "The case has no interactions."
NO_CONNECTIONS = "The case has no connections."
NOT_SENT = {
    "sly_data": "Private data (sly_data) was not sent, because chat endpoints do not accept it.",
    "metadata": "Metadata was not sent, because chat endpoints do not accept it.",
}
WAITED = "The server was busy; the request was retried after {:,.1f} s."
WAITED_FOR_JUDGE = "The judge's server was busy; the request was retried after {:,.1f} s."
NOT_ENCRYPTED = "The case requires https, but the server's address begins with http: nothing was encrypted."


@dataclass(frozen=True)
class Options:
    """Options for running a case.

    early_stop: end as soon as enough iterations have passed or, in the document reading, can no longer pass.
    parallel: number of concurrent iterations. request_seconds: time limit for a request if the case sets none.
    """

    reading: Reading = "document"
    early_stop: bool = False
    parallel: int = 4
    request_seconds: float = 300.0
    secrets: tuple[str, ...] = ()


@dataclass
class _Session:
    """State of a conversation, sent with the next request."""

    context: dict[str, Any] | None = None
    sly_data: dict[str, Any] | None = None


class Driver:
    """Runner of a case's iterations. Thread-safe: each thread runs its own iteration."""

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
                results = self._score(interaction, turn, agent_error, until)
                checks += [cleaned(without_secrets(check), self.clean) for check in results]
                if until.waited:
                    turn = replace(
                        turn,
                        notes=(*turn.notes, WAITED_FOR_JUDGE.format(until.waited)),
                        waited=round(turn.waited + until.waited, 3),
                    )
                if answered or not trouble:
                    turns.append(self._kept(turn, index))
                trouble = (
                    trouble
                    or turn.trouble
                    or (BROKEN_OFF if breaks_off(results, self.options.reading) else "")
                )
        message = next((turn.error for turn in turns if turn.trouble), "")
        seconds = round(time.monotonic() - started, 3)
        return IterationResult(
            number, outcome_of(checks, trouble), tuple(checks), tuple(turns), seconds, message
        )

    def _score(
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
        """Make one request; return the turn, and the error if the agent answered with one. Never raises."""
        empty = TurnResult(place, index, interaction.text)
        if trouble:
            return replace(empty, trouble="stopped", error="Not reached: the conversation ended earlier."), ""
        started = time.monotonic()
        body = self._body(interaction, session)
        sent = {
            "sly_data": named_only(body.get("sly_data"), self.case),
            "chat_context": bounded(self.clean(body.get("chat_context"))),
        }
        sent = {name: value for name, value in sent.items() if value}
        empty = replace(empty, notes=self._notes(connection, body), sent=sent or None)
        until = self._time_for(interaction, deadline)
        try:
            if connection in UNSUPPORTED:
                message = f"Connections over {UNSUPPORTED[connection]} are not supported; use http."
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
        """Record the response time and, separately, the time spent waiting for a busy server."""
        seconds = max(0.0, time.monotonic() - started - until.waited - until.postponed)
        notes = (*turn.notes, WAITED.format(until.waited)) if until.waited else turn.notes
        return replace(turn, seconds=round(seconds, 3), waited=round(until.waited, 3), notes=notes)

    def _body(self, interaction: Interaction, session: _Session) -> dict[str, Any]:
        """Return the request body. The document reading requests MAXIMAL, which adds transcript, tokens and cost."""
        if self.options.reading == "reference-compatible":
            if interaction.sly_data:
                session.sly_data = dict(interaction.sly_data)
            return request_body(interaction.text, interaction.chat_filter, session.sly_data, session.context)
        return request_body(interaction.text, "MAXIMAL", interaction.sly_data, session.context)

    def _notes(self, connection: str, body: dict[str, Any]) -> tuple[str, ...]:
        """Return notes on parts of the case that this transport does not support."""
        requested = {"sly_data": body.get("sly_data"), "metadata": self.case.metadata}
        notes = [NOT_SENT[part] for part in self.transport.unsent if requested[part]]
        if connection == "https" and self.transport.scheme == "http":
            notes.append(NOT_ENCRYPTED)
        return tuple(notes)

    def _time_for(self, interaction: Interaction, deadline: Deadline | None) -> Deadline:
        if interaction.timeout is None:
            return self._until(self.options.request_seconds, "The request", deadline)
        return self._until(interaction.timeout, "The interaction", deadline)

    def _ask(self, body: dict[str, Any], until: Deadline) -> Answer:
        answer = send_request(
            self.transport, self.case.agent, body, headers_for(self.case, self.options), until
        )
        if answer.error:
            raise TransportError("protocol", f"The server reported an error: {answer.error}")
        return answer

    def _carry_on(self, interaction: Interaction, session: _Session, answer: Answer) -> None:
        """Keep the state for the next turn, unless `continue_conversation` is false."""
        session.context = answer.chat_context if interaction.continues else None
        if (
            self.options.reading == "reference-compatible"
            and interaction.continues
            and isinstance(answer.sly_data, dict)
        ):
            session.sly_data = {**(session.sly_data or {}), **answer.sly_data}

    def _kept(self, turn: TurnResult, index: int) -> TurnResult:
        """Return the turn for storage: without secrets, and without untested private data."""
        return cleaned_turn(replace(turn, sly_data=tested_only(turn.sly_data, self.case, index)), self.clean)


def headers_for(case: TestCase, options: Options) -> Mapping[str, str]:
    """Return a case's metadata as request headers. The reference-compatible reading raises TransportError where
    neuro-san's client fails."""
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
                message = (
                    f"neuro-san's client cannot send {value!r} as the header {name}, because it is not text."
                )
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
    """Run iterations in parallel and yield them as they end.

    The test's timeout covers all iterations together in the document reading, and each iteration separately in the
    reference-compatible reading.

    Args:
        numbers: iterations to run.
        before: iterations of an interrupted run, which count towards the early stop.
        stop: called by all threads; if it returns True, the iterator ends, and open requests stop when
            their deadline is next checked.
        spent: seconds of the test's timeout already used by `before`.
        tick: called in the caller's thread several times a second; may raise.
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
                return  # this iteration may have ended because of the stop
            running.discard(result.number)
            known.append(result)
            yield result
            if stop() or (options.early_stop and is_decided(case, options.reading, known)):
                return
    finally:
        over.set()


def _never_made(waiting: list[int], known: list[IterationResult]) -> Iterator[IterationResult]:
    """Yield the iterations for which no time was left; the first is a timeout unless `known` contains one."""
    timed_out = any(result.outcome == "timeout" for result in known)
    for place, number in enumerate(reversed(waiting)):
        message = "The test ran out of time before this iteration."
        yield IterationResult(number, "skipped" if timed_out or place else "timeout", message=message)


def _work(driver: Driver, number: int, results: queue.SimpleQueue[IterationResult]) -> None:
    try:
        results.put(driver.iteration(number))
    except Exception as error:  # noqa: BLE001  a bug in this code fails one iteration, not the run
        message = driver.clean(f"This iteration could not be run: {type(error).__name__}: {error}")
        results.put(IterationResult(number, "error", message=message))


def is_decided(case: TestCase, reading: Reading, known: Iterable[IterationResult]) -> bool:
    """Return True if enough iterations have passed or, in the document reading, can no longer pass."""
    made = [result for result in known if result.outcome != "skipped"]
    passed = sum(result.outcome == "pass" for result in made)
    needed = case.ratio.required(reading)
    out_of_reach = passed + case.ratio.iterations - len(made) < needed
    return (passed >= needed and passed > 0) or (out_of_reach and reading == "document")


def run_case(
    case: TestCase,
    transport: Transport,
    judge: Judge | None = None,
    options: Options = Options(),
) -> CaseResult:
    """Run all iterations of a case, or only the first if no iteration can pass."""
    planned = case.ratio.iterations
    unsatisfiable = unsatisfiable_reason(case, options.reading, has_judge=judge is not None)
    numbers = range(1, 2 if unsatisfiable else planned + 1)
    made = run_iterations(case, transport, judge, options, numbers=numbers)
    ordered = tuple(sorted(made, key=lambda iteration: iteration.number))
    return CaseResult(
        case.agent, case.ratio, options.reading, ordered, planned,
        early_stop=planned > 1 and (options.early_stop or bool(unsatisfiable)), unsatisfiable=unsatisfiable,
    )  # fmt: skip
