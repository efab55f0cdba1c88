"""Supervision of child processes: start them, prefix their output, restart them when they die, stop them together.

The supervisor never gives up: a child that keeps dying after its start is restarted with pauses of up to MAX_BACKOFF.
This module uses only the standard library, neither database nor torch, so that the parent survives what kills a
child."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

FAST_SECONDS = 10.0  # a death within this time after the start is a fast death
READY = "is ready for jobs"
"""Printed by a worker once it has started. If the worker dies after that, a job may have killed it; the worker is then
restarted without a pause, because such a job fails once its tries are used up."""
MANY_FAST_DEATHS = 5  # consecutive fast deaths before a report
MAX_BACKOFF = 30.0
STOP_SECONDS = 28.0


class Child:
    """A supervised process. `command` returns the arguments for each start.

    With `silent_seconds`, it is a worker with two pipes. Once ready, it writes a byte to `--alive FD` about every
    second, and is killed as frozen after `silent_seconds` without one. From `--deaths FD` it reads which other workers
    died."""

    def __init__(
        self,
        name: str,
        command: Callable[[], list[str]],
        *,
        pass_fds: tuple[int, ...] = (),
        silent_seconds: float = 0.0,
    ) -> None:
        self.name = name
        self.command = command
        self.pass_fds = pass_fds
        self.silent_seconds = silent_seconds
        self.was_silent = False  # it was killed as frozen
        self.heard_at = 0.0
        self.worker_id = ""  # name under which it claims jobs
        self._heartbeat_pipe: int | None = None
        self._death_pipe: int | None = None
        self.process: subprocess.Popen[bytes] | None = None
        self.started_at = 0.0
        self.start_at = 0.0  # time of the next start
        self.fast_deaths = 0
        self.was_ready = False
        self.last_line = ""
        self._reader: threading.Thread | None = None

    def start(self, write: Callable[[str], None]) -> None:
        command = self.command()  # may depend on how the last process ended
        self.started_at = self.heard_at = time.monotonic()
        self.was_ready = self.was_silent = False
        ends = self._new_pipes()
        self.process = subprocess.Popen(  # noqa: S603  our own command line, no shell
            [*command, *(f"--{name}={end}" for name, end in ends.items())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C in the terminal reaches the supervisor only
            pass_fds=(*self.pass_fds, *ends.values()),
        )
        for end in ends.values():
            os.close(end)
        self._reader = threading.Thread(target=self._copy_output, args=(self.process, write), daemon=True)
        self._reader.start()

    def _copy_output(self, process: subprocess.Popen[bytes], write: Callable[[str], None]) -> None:
        assert process.stdout is not None
        with process.stdout as output:
            for line in output:
                text = line.decode("utf-8", "replace").rstrip()
                self.last_line = text or self.last_line
                self.was_ready = self.was_ready or READY in text
                # a line of JSON (GYM_LOG_FORMAT) names its process itself
                write(text if text.startswith("{") else f"[{self.name}] {text}")

    def _new_pipes(self) -> dict[str, int]:
        """Open a worker's pipes and return the worker's ends, by option."""
        if not self.silent_seconds:
            return {}
        for old in (self._heartbeat_pipe, self._death_pipe):
            if old is not None:
                os.close(old)
        self._heartbeat_pipe, alive = os.pipe()
        deaths, self._death_pipe = os.pipe()
        for ours in (self._heartbeat_pipe, self._death_pipe):
            os.set_blocking(ours, False)
        return {"alive": alive, "deaths": deaths}

    def report_death(self, other: Child) -> None:
        """Notify this worker that another one died, so that it releases the dead worker's jobs before the replacement
        has started."""
        if self._death_pipe is None or not self.running() or not other.worker_id or other.process is None:
            return
        code = "" if other.was_silent else other.process.returncode
        with suppress(OSError):  # it died too, or is frozen
            os.write(self._death_pipe, f"{other.worker_id} {code}\n".encode())

    def end_if_silent(self, now: float) -> bool:
        """Kill the child if it is frozen. Return True if it was killed."""
        if self._heartbeat_pipe is None or not self.running():
            return False
        try:
            heard = bool(os.read(self._heartbeat_pipe, 1024))
        except BlockingIOError:
            heard = False
        if heard or not self.was_ready:
            self.heard_at = now
        if now - self.heard_at <= self.silent_seconds:
            return False
        self.was_silent = True
        self.kill_group()
        return True

    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def send(self, number: int) -> None:
        if self.running() and self.process is not None:
            self.process.send_signal(number)

    def kill_group(self) -> None:
        """Kill the child and its descendants."""
        if self.process is None:
            return
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            return
        self.process.wait()

    def note_death(self, now: float) -> float:
        """Count consecutive fast deaths and return the pause before the next start in seconds."""
        if self._reader is not None:
            self._reader.join(timeout=1)
        is_fast = not self.was_ready and now - self.started_at < FAST_SECONDS
        self.fast_deaths = self.fast_deaths + 1 if is_fast else 0
        return min(MAX_BACKOFF, 0.5 * 2 ** (self.fast_deaths - 1)) if self.fast_deaths else 0.1

    def describe_end(self) -> str:
        code = self.process.returncode if self.process else None
        if code is not None and code < 0:
            return f"was killed by {signal.Signals(-code).name}"
        return f"ended with exit code {code}"

    def describe_trouble(self) -> str:
        return (
            f"[serve] {self.name} died {self.fast_deaths} times right after starting. It is restarted with pauses of "
            f"up to {MAX_BACKOFF:.0f} s. Its last output: {self.last_line or '(none)'}"
        )


class Supervisor:
    def __init__(
        self,
        children: list[Child],
        *,
        write: Callable[[str], None] | None = None,
        on_tick: Callable[[], None] | None = None,
        backoff: float = 1.0,
        stop_seconds: float = STOP_SECONDS,
    ) -> None:
        self.children = children
        self.on_tick = on_tick or (lambda: None)
        self.backoff = backoff
        self.stop_seconds = stop_seconds
        self.signals = 0
        self._write = write or print_line

    def run(self) -> None:
        """Supervise until a signal arrives."""
        before = {
            number: signal.signal(number, self._on_signal) for number in (signal.SIGTERM, signal.SIGINT)
        }
        try:
            self._loop()
        finally:
            self._stop_all()
            for number, handler in before.items():
                signal.signal(number, handler)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self.signals += 1  # a plain number: an Event's lock may be held by the very code this interrupts

    def _loop(self) -> None:
        while not self.signals:
            now = time.monotonic()
            for child in self.children:
                if child.end_if_silent(now):
                    self._write(f"[serve] {child.name} gave no sign of life for {child.silent_seconds:.0f} s")
                    for other in self.children:  # on SQLite they may have been waiting for its lock
                        other.heard_at = now
                if child.running():
                    continue
                if child.process is not None and not child.start_at:
                    self._after_death(child, now)
                if now >= child.start_at:
                    child.start_at = 0.0
                    child.start(self._write)
            self.on_tick()
            time.sleep(0.1)

    def _after_death(self, child: Child, now: float) -> None:
        wait = child.note_death(now) * self.backoff
        child.start_at = now + wait
        self._write(f"[serve] {child.name} {child.describe_end()}; starting it again in {wait:.1f} s")
        if child.fast_deaths == MANY_FAST_DEATHS:
            self._write(child.describe_trouble())
        for other in self.children:
            other.report_death(child)

    def _stop_all(self) -> None:
        """Send SIGTERM, wait, and send SIGKILL; at once after a second signal."""
        for child in self.children:
            child.send(signal.SIGTERM)
        deadline = time.monotonic() + self.stop_seconds
        signals_before = self.signals
        while any(child.running() for child in self.children):
            if time.monotonic() > deadline or self.signals > signals_before:
                self._write("[serve] some processes did not stop in time; killing them")
                break
            time.sleep(0.05)
        for child in self.children:
            child.kill_group()
            child.note_death(time.monotonic())


def print_line(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
