"""Iterations wait together for a busy server (429, 503), and reports state how long."""

from __future__ import annotations

import threading
import time

import pytest

from lmgym.agents import retries
from lmgym.agents.failures import iteration_rows
from lmgym.agents.reports import junit, table
from lmgym.agents.retries import MAX_WAIT, RetryingTransport, run_transport
from lmgym.agents.tables import IterationRow
from lmgym.agents.transport import Deadline, TransportError
from lmgym.text.columns import header
from tests.lmgym.agents.helpers import Scripted, ScriptedJudge, judge_saying, run, said
from tests.lmgym.agents.test_hostile_servers import GOOD, transport
from tests.lmgym.net.hostile import answer, server

CASE = 'agent: a, success_ratio: "1/{}", interactions: [{{text: q, response: {{text: {{keywords: ok}}}}}}]'


def busy(retry_after: float | None = None, code: int = 429) -> TransportError:
    return TransportError("status", f"The server answered {code}.", code=code, retry_after=retry_after)


class Clock:
    """Clock that advances only when something sleeps."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def waiting(*answers, clock: Clock | None = None) -> tuple[RetryingTransport, Scripted, Clock]:
    """Return a retrying transport, the scripted server behind it and its clock. The server's last answer is
    repeated."""
    left, clock = list(answers), clock or Clock()
    scripted = Scripted(lambda body: left.pop(0) if len(left) > 1 else left[0])
    return RetryingTransport(scripted, clock=clock, sleep=clock.sleep), scripted, clock


def sent(waits: RetryingTransport, deadline: Deadline) -> list[bytes]:
    return list(waits.chat("a", {}, {}, deadline))


@pytest.fixture
def fast(monkeypatch):
    monkeypatch.setattr(retries, "FIRST_PAUSE", 0.05)


@pytest.mark.parametrize("code", [429, 503])
def test_it_is_asked_again_no_earlier_than_it_says(code):
    waits, asked, clock = waiting(busy(7, code), said("ok"))
    deadline = Deadline(10**12)
    assert sent(waits, deadline)
    assert (len(asked.asked), deadline.waited) == (2, 7)
    assert clock.now == pytest.approx(1007)


def test_without_a_time_the_pauses_grow():
    waits, _, clock = waiting(busy(), busy(), busy(), said("ok"))
    assert sent(waits, Deadline(10**12))
    assert clock.now == pytest.approx(1000 + 1 + 2 + 4)


def test_a_server_that_says_0_seconds_for_ever_is_not_asked_for_ever():
    waits, asked, clock = waiting(busy(0))
    with pytest.raises(TransportError, match=r"waits for at most 120 s"):
        sent(waits, Deadline(10**12))
    assert clock.now - 1000 <= MAX_WAIT
    assert len(asked.asked) < 15


def test_a_pause_that_is_too_long_is_not_waited_and_nobody_asks_before_it_ends():
    waits, asked, clock = waiting(busy(3600), said("ok"))
    for _ in range(2):
        with pytest.raises(TransportError, match=r"in 3,600 s, but a request waits for at most 120 s"):
            sent(waits, Deadline(10**12))
    assert len(asked.asked) == 1
    clock.now += 3600
    assert sent(waits, Deadline(10**12))


def test_the_test_has_less_time_left_than_the_pause():
    waits, *_ = waiting(busy(60))
    outer = Deadline(retries.time.monotonic() + 30, "The test")
    with pytest.raises(TransportError, match="the test has less time left") as raised:
        sent(waits, Deadline(outer.at, outer=outer))
    assert raised.value.trouble == "status"


def test_all_iterations_hold_off_together():
    waits, asked, clock = waiting(busy(7), said("ok"))
    first, second = Deadline(10**12), Deadline(10**12)
    assert sent(waits, first)
    waits._free_at = clock.now + 5
    assert sent(waits, second)
    assert second.waited == 5
    assert len(asked.asked) == 3


def test_a_run_that_is_stopped_does_not_wait_on():
    waits, *_ = waiting(busy(60))
    with pytest.raises(TransportError) as raised:
        sent(waits, Deadline(10**12, stop=lambda: True))
    assert raised.value.trouble == "stopped"


class BusyTransport(Scripted):
    """Transport that extends the deadline, as if the server had been busy for 90 seconds."""

    def chat(self, agent, body, headers, deadline):
        deadline.extend(90)
        return super().chat(agent, body, headers, deadline)


def test_waiting_is_no_part_of_the_time_for_an_answer_but_of_the_time_of_the_test():
    deadline = Deadline(1010, "The interaction", outer=Deadline(1015, "The test"))
    deadline.extend(3)
    assert (deadline.at, deadline.what, deadline.waited) == (1013, "The interaction", 3)
    deadline.extend(9)
    assert (deadline.at, deadline.what, deadline.waited) == (1015, "The test", 12)


def test_what_was_waited_is_said_in_every_report():
    result = run(CASE.format(1), BusyTransport(lambda body: said("ok")))
    turn = result.iterations[0].turns[0]
    assert turn.notes == ("The server was busy; the request was retried after 90.0 s.",)
    assert (turn.waited, turn.seconds) == (90, 0)
    named = [("hello", result)]
    assert "1 check run, 90.0 s waiting for a busy server" in table(named)
    assert 'name="waited_seconds" value="90.000"' in junit(named)
    assert result.as_dict()["waited"] == 90
    (row,) = iteration_rows(named)
    assert row[header(IterationRow).index("waited")] == 90


def test_the_judge_is_waited_for_too_and_said_apart():
    class BusyJudge(ScriptedJudge):
        def __call__(self, prompt, deadline):
            deadline.extend(2)
            return super().__call__(prompt, deadline)

    judge = judge_saying("pass")
    judge.ask = BusyJudge("pass")
    result = run(CASE.format(1).replace("keywords", "gist"), Scripted(lambda body: said("ok")), judge=judge)
    (turn,) = result.iterations[0].turns
    assert turn.notes == ("The judge's server was busy; the request was retried after 2.0 s.",)


def test_parallel_iterations_share_a_server_that_takes_two_at_a_time(fast):
    under_way, most, lock = [0], [0], threading.Lock()
    slow = threading.Event()

    def behave(connection, request):
        with lock:
            full = under_way[0] >= 2
            under_way[0] += not full
            most[0] = max(most[0], under_way[0])
        if full:
            connection.sendall(answer(b'{"error": "Too many concurrent requests"}', "503 Busy"))
            return
        slow.wait(0.03)
        connection.sendall(answer(GOOD))
        with lock:
            under_way[0] -= 1

    with server(behave) as there:
        result = run(CASE.format(8), run_transport(transport(there.url)), parallel=8)
    assert (result.counts, most[0]) == ({"pass": 8}, 2)
    assert result.waited > 0


def test_a_date_of_the_server_counts(fast):
    later = {"Retry_After": "Fri, 31 Dec 1999 23:59:59 GMT", "Date": "Fri, 31 Dec 1999 22:59:59 GMT"}
    with server(answer(b"", "429 Slow", **later)) as there:
        result = run(CASE.format(2), run_transport(transport(there.url)), parallel=1)
    assert result.counts == {"error": 2}
    assert "accepts another request in 3,600 s" in result.iterations[0].message
    assert result.iterations[1].message == "Not sent: the server was too busy for earlier requests."
    assert len(there.seen) == 1


def test_iterations_that_begin_together_wait_for_the_first_request_and_no_answer_counts_that(monkeypatch):
    monkeypatch.setattr(retries, "HEAD_START", 60)
    asked = []

    class Slow(Scripted):
        def chat(self, agent, body, headers, deadline):
            asked.append(time.monotonic())
            if len(asked) == 1:
                time.sleep(0.4)
            yield from super().chat(agent, body, headers, deadline)

    result = run(CASE.format(4), run_transport(Slow(lambda body: said("ok"))))
    assert len(asked) == 4
    assert asked[1] - asked[0] >= 0.4
    assert sum(made.turns[0].seconds > 0.3 for made in result.iterations) == 1
    assert not result.waited


def test_a_first_answer_that_takes_long_holds_nobody_up_for_long(monkeypatch):
    monkeypatch.setattr(retries, "HEAD_START", 0.05)
    together = threading.Barrier(4, timeout=10)

    def answered(body):
        together.wait()
        return said("ok")

    assert run(CASE.format(4), run_transport(Scripted(answered))).passed == 4
