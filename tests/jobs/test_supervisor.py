"""The supervisor with tiny child processes. Tests of signals run it in a process without threads."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gym.jobs import supervisor
from gym.jobs.supervisor import Child, Supervisor

pytestmark = pytest.mark.process

PYTHON = sys.executable
SLEEP = [PYTHON, "-c", "import time; print('up', flush=True); time.sleep(60)"]


def supervise(children, until, *, lines=None, seconds=10.0, **options):
    """Run a supervisor in this process until `until(children)` holds."""
    lines = [] if lines is None else lines
    deadline = time.monotonic() + seconds

    def tick():
        assert time.monotonic() < deadline, lines
        if until(children):
            os.kill(os.getpid(), signal.SIGTERM)

    Supervisor(children, write=lines.append, on_tick=tick, **{"backoff": 0.05, **options}).run()


def test_output_is_prefixed_with_the_name_of_the_child():
    lines: list[str] = []
    supervise([Child("web", lambda: SLEEP)], lambda _: "[web] up" in lines, lines=lines)
    assert "[web] up" in lines


def test_a_killed_child_is_started_again():
    child, seen = Child("worker", lambda: SLEEP), set()

    def until(_):
        if child.process and child.running() and child.process.pid not in seen:
            seen.add(child.process.pid)
            child.process.kill()
        return len(seen) == 3

    lines: list[str] = []
    supervise([child], until, lines=lines)
    assert any("worker was killed by SIGKILL; starting it again" in line for line in lines)


def test_a_child_that_cannot_start_is_explained_and_tried_again_until_it_can(tmp_path):
    ready = tmp_path / "ready"
    script = (
        f"import os, time; os.path.exists({str(ready)!r}) or exit('no such table: jobs_job'); "
        "print('up', flush=True); time.sleep(60)"
    )
    lines: list[str] = []
    child = Child("worker", lambda: [PYTHON, "-c", script])

    def until(_):
        if child.fast_deaths > supervisor.MANY_FAST_DEATHS:
            ready.touch()
        return "[worker] up" in lines

    supervise([child], until, lines=lines, seconds=20, backoff=0.01)
    (said,) = [line for line in lines if "right after starting" in line]
    assert "worker died 5 times right after starting. It is restarted with pauses of up to 30 s" in said
    assert "no such table: jobs_job" in said


def test_waiting_grows_with_every_fast_death_and_a_long_life_resets_it():
    child = Child("x", list)
    child.started_at = 100.0
    assert [child.note_death(101.0) for _ in range(6)] == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0]
    assert child.note_death(101.0) == supervisor.MAX_BACKOFF == 30.0
    assert child.note_death(100.0 + supervisor.FAST_SECONDS + 1) == 0.1
    assert child.fast_deaths == 0


def test_a_worker_that_dies_at_work_right_after_it_was_ready_is_started_again_at_once():
    script = f"print('[worker] {supervisor.READY}', flush=True)"
    lines: list[str] = []
    supervise(
        [Child("worker", lambda: [PYTHON, "-c", script])],
        lambda _: sum("starting it again" in line for line in lines) > supervisor.MANY_FAST_DEATHS,
        lines=lines,
        backoff=1,
    )
    assert {line for line in lines if line.startswith("[serve]")} == {
        "[serve] worker ended with exit code 0; starting it again in 0.1 s"
    }


def test_a_child_that_ignores_the_end_is_killed():
    lines: list[str] = []
    deaf = "import signal, time; signal.signal(15, signal.SIG_IGN); print('deaf', flush=True); time.sleep(60)"
    child = Child("web", lambda: [PYTHON, "-c", deaf])
    before = time.monotonic()
    supervise([child], lambda _: "[web] deaf" in lines, lines=lines, stop_seconds=0.3)
    assert time.monotonic() - before < 5
    assert not child.running()
    assert "killing them" in lines[-1]


def test_what_a_child_started_ends_with_it():
    lines: list[str] = []
    script = (
        "import subprocess, sys, time; "
        "p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']); "
        "print('pid', p.pid, flush=True); time.sleep(60)"
    )
    child = Child("web", lambda: [PYTHON, "-c", script])
    supervise([child], lambda _: any("pid" in line for line in lines), lines=lines)
    pid = int(next(line for line in lines if "pid" in line).split()[-1])
    deadline = time.monotonic() + 5
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not alive(pid)


def alive(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


def test_importing_it_brings_in_neither_django_nor_torch():
    code = "import sys, gym.jobs.supervisor; print([m for m in ('django', 'torch') if m in sys.modules])"
    done = subprocess.run([PYTHON, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


BEATS = "import os, sys, time; print('is ready for jobs', flush=True); end = int(sys.argv[1].split('=')[1])"


def test_a_child_that_gives_no_sign_of_life_is_ended_and_started_again():
    script = f"{BEATS}\nwhile True: os.write(end, b'.'); time.sleep(0.05)"
    child = Child("worker", lambda: [PYTHON, "-c", script], silent_seconds=1.0)
    lines: list[str] = []
    pids: list[int] = []

    def until(_):
        if child.was_ready and child.process and child.process.pid not in pids:
            pids.append(child.process.pid)
            if len(pids) == 1:
                os.kill(child.process.pid, signal.SIGSTOP)
        return len(pids) == 2

    supervise([child], until, lines=lines)
    assert "[serve] worker gave no sign of life for 1 s" in lines
    assert any("worker was killed by SIGKILL; starting it again" in line for line in lines)


def test_who_waited_for_a_frozen_one_is_not_ended_with_it(tmp_path):
    """On SQLite a frozen worker may hold the lock that all others need."""
    freed = tmp_path / "freed"
    beats = f"{BEATS}\nwhile True: os.path.exists({str(freed)!r}) and os.write(end, b'.'); time.sleep(0.05)"
    frozen = Child("frozen", lambda: [PYTHON, "-c", BEATS + "; time.sleep(60)"], silent_seconds=2.0)
    waits = Child("waits", lambda: [PYTHON, "-c", beats], silent_seconds=2.2)
    lines: list[str] = []
    ended: list[float] = []

    def until(_):
        if "[serve] frozen gave no sign of life for 2 s" in lines:
            ended.append(time.monotonic())
        if ended and time.monotonic() - ended[0] > 0.7:
            freed.touch()
        return ended and time.monotonic() - ended[0] > 1.5

    supervise([frozen, waits], until, lines=lines)
    assert "[serve] waits gave no sign of life for 2 s" not in lines


def test_a_child_that_gives_signs_of_life_is_left_alone():
    script = f"{BEATS}\nwhile True: os.write(end, b'.'); time.sleep(0.05)"
    child = Child("worker", lambda: [PYTHON, "-c", script], silent_seconds=0.5)
    lines: list[str] = []
    supervise([child], lambda _: child.was_ready and time.monotonic() - child.started_at > 2.5, lines=lines)
    assert not any("no sign of life" in line for line in lines)


def test_a_child_that_is_ready_before_anybody_looks_is_not_taken_for_frozen():
    child = Child("worker", lambda: [PYTHON, "-c", BEATS + "; time.sleep(60)"], silent_seconds=60)
    child.start(lambda line: None)
    while not child.was_ready:
        time.sleep(0.01)
    assert not child.end_if_silent(time.monotonic())
    child.kill_group()


def test_the_others_are_told_of_a_death():
    """The other workers release a dead worker's jobs at once, since its replacement needs time to start."""
    hears = (
        f"{BEATS}\nfor line in open(int(sys.argv[2].split('=')[1])): print('heard', line, end='', flush=True)"
    )
    other = Child("worker2", lambda: [PYTHON, "-c", hears], silent_seconds=60)
    dying = Child("worker1", lambda: [PYTHON, "-c", "import time; time.sleep(60)"], silent_seconds=60)
    dying.worker_id = "worker1-abc"
    lines: list[str] = []

    def until(_):
        if other.was_ready and dying.process and len(lines) == 1:
            dying.process.kill()
        return "[worker2] heard worker1-abc -9" in lines

    supervise([other, dying], until, lines=lines)
