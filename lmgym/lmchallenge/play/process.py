"""A model process that speaks the protocol: one command per line on standard input, replies on standard output.

No shell is involved. Startup and each reply have a timeout. The end of standard error is kept; all traffic can be
copied to a transcript. Tabs, newlines and carriage returns in the corpus are sent as spaces and lone surrogates as
U+FFFD, character for character, so that offsets stay the same.

A process must be silent after `train` and `clear`, and answer `predict` with exactly one line. Unrequested
output is detected before the next command is sent. But an extra line that arrives while a reply is awaited is
taken for the reply; every later reply then belongs to the previous request, and one line is always pending.
Checkpoints detect this: for the time of two slow replies, at least `settle`, no command is sent and no output
may arrive. Checkpoints follow the first line, the first reply after the first `clear`, and the first reply
after the first `train`; after that they take place every CHECK_EVERY seconds, and finally at the end of the
output. Between them, `check` reports that lines must be held.
"""

from __future__ import annotations

import contextlib
import math
import os
import select
import signal
import subprocess
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, NoReturn

from lmgym.lmchallenge.errors import PlayerError, error_message
from lmgym.lmchallenge.play.player import Reply, Request


@dataclass
class ProtocolWarnings:
    """Counts of irregularities in the replies."""

    odd_fields: int = 0  # a last field without a score, dropped
    not_finite: int = 0  # scores that are NaN or infinite
    repeated: int = 0  # candidates scored more than once
    unasked: int = 0  # candidates that were not requested
    omitted: int = 0  # requested candidates without a score
    empty: int = 0  # replies without predictions

    def as_dict(self) -> dict[str, int]:
        """Return the counts that are not 0."""
        return {name: count for name, count in vars(self).items() if count}


START_TIMEOUT = 120.0
REPLY_TIMEOUT = 30.0
STOP_TIMEOUT = 10.0
SETTLE = 0.02
CHECK_EVERY = 2.0
PAUSE_SHARE = 20  # checkpoints take at most 1/PAUSE_SHARE of the time
BRISK = 1e-4  # response time of a fast model in seconds; sleeping and waking can take as long
SLEEP_SECONDS = 0.1  # seconds without polling after other threads needed the processor
EXIT_GRACE = 1.0  # seconds for remaining output after the process ended, e.g. from a child
MAX_REPLY = 16 * 1024 * 1024
STDERR_KEPT = 8_000


@dataclass(frozen=True)
class Command:
    """Command line, environment and timeouts of a model process. Times are in seconds."""

    argv: tuple[str, ...]
    start_timeout: float = START_TIMEOUT
    reply_timeout: float = REPLY_TIMEOUT
    stop_timeout: float = STOP_TIMEOUT
    settle: float = SETTLE
    cwd: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)


class ProcessPlayer:
    """A player that runs in a model process. Use it as a context manager, or call `close`."""

    together = 1

    def __init__(self, command: Command, *, transcript: IO[bytes] | None = None) -> None:
        self.command = command
        self.protocol_warnings = ProtocolWarnings()
        self.transcript = transcript
        self._errors: deque[bytes] = deque()
        self._errors_size = 0
        self._read = bytearray()
        self._answered = False
        self._brisk = False  # the last reply took less than 2 * BRISK
        self._sleep_until = 0.0  # until then, sleep while waiting for replies
        self._replies = 0
        self._slowest = 0.0  # slowest reply in seconds, except the first, which includes startup
        self._checkpoint = 0.0  # time of the next checkpoint; the first is due at once
        self._unverified = {"clear", "train"}
        self._sent_commands: set[str] = set()
        self._ended = False
        try:
            self._process = subprocess.Popen(  # noqa: S603 - argv from the settings or the user's own terminal
                command.argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                cwd=command.cwd,
                env={**os.environ, **command.env},
                process_group=0,  # killed as a group; a new session would cost more context switches per call
            )
        except (OSError, ValueError) as error:
            raise PlayerError(
                f"The model could not be started: {error_message(error)}", "Check that the program exists."
            ) from None
        process = self._process
        pipes = (process.stdin, process.stdout, process.stderr)
        self._in, self._out, self._err = (pipe.fileno() for pipe in pipes if pipe)
        for descriptor in (self._in, self._out, self._err):
            os.set_blocking(descriptor, False)
        self._poll = select.poll()
        self._poll.register(self._out, select.POLLIN)
        self._poll.register(self._err, select.POLLIN)
        self._ready = [(self._out, select.POLLIN)]

    def __enter__(self) -> ProcessPlayer:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self.kill()

    # -- player ---------------------------------------------------------------------------------------------

    def predict(self, requests: Sequence[Request]) -> list[Reply]:
        """Send requests one at a time."""
        return [self._predict(request) for request in requests]

    def train(self, text: str) -> None:
        """Send a `train` command with the line."""
        self._sent_commands.add("train")
        self._send(f"train\t{on_the_wire(text)}")

    def clear(self) -> None:
        """Send a `clear` command."""
        self._sent_commands.add("clear")
        self._send("clear")

    def check(self, now: bool = False) -> bool:
        """Check for unrequested output.

        Returns True if a checkpoint is still needed before the replies can be trusted; `now` forces one. There is no
        checkpoint before the second reply, which shows the response time without startup. Raises PlayerError.
        """
        self._look()
        if not now and (self._replies < 2 or time.monotonic() < self._checkpoint):
            return True
        self._run_checkpoint()
        return False

    def _look(self) -> None:
        if self._poll.poll(0):
            self._pump(0.0)
        if self._read:
            shown = self._read[:80].decode("utf-8", "replace")
            self._fail(
                f"The model sent unrequested output: {shown!r}",
                "It must be silent after train and clear, and answer predict with one line.",
            )

    def _run_checkpoint(self) -> None:
        """Run a checkpoint: wait, and raise PlayerError if anything arrives."""
        pause = self._await_extra_line()
        self._look()
        self._slowest /= 2  # so that a single slow reply does not lengthen all pauses
        self._checkpoint = time.monotonic() + max(CHECK_EVERY, PAUSE_SHARE * pause)

    def _await_extra_line(self) -> float:
        """Wait for an extra line; return the longest wait in seconds. A process that is one reply ahead sends the next
        one after about its response time; a process that has exited sends nothing.
        """
        pause = min(max(self.command.settle, 2 * self._slowest), self._limit())
        deadline = time.monotonic() + pause
        while not self._read and (remaining := deadline - time.monotonic()) > 0 and not self._closed():
            self._pump(remaining)
        return pause

    def close(self) -> None:
        """Close standard input and wait for the process to exit.

        Raises:
            PlayerError: it does not exit within `stop_timeout`, sends more output, or exits with an error.
        """
        if self._ended:
            return
        deadline = time.monotonic() + self.command.stop_timeout
        with contextlib.suppress(OSError):
            assert self._process.stdin
            self._process.stdin.close()
        while self._process.poll() is None or self._pump(0.0):
            self._pump(0.002)
            if time.monotonic() > deadline:
                self._fail(
                    f"The model did not end within {self.command.stop_timeout:g} s after its input was closed",
                    doubtful=bool(self._read),
                )
        left = bytes(self._read)
        code = self._process.returncode
        self._finish()
        if left:
            raise PlayerError(
                f"The model sent unrequested output before it ended: {left[:80]!r}.{self._tail()}",
                doubtful=True,
            )
        if code:
            raise PlayerError(f"After the last line, the model ended with {_ending(code)}.{self._tail()}")

    def kill(self) -> None:
        """Kill the process group."""
        if self._ended:
            return
        with contextlib.suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        with contextlib.suppress(PlayerError):
            self._pump(0.0)
        self._finish()

    @property
    def stderr(self) -> str:
        """The end of standard error."""
        return b"".join(self._errors).decode("utf-8", "replace")[-STDERR_KEPT:]

    # -- internals ---------------------------------------------------------------------------------------------

    def _predict(self, request: Request) -> Reply:
        context, candidates = request
        message = f"predict\t{on_the_wire(context)}"
        by_text: dict[str, list[str]] = {}
        if candidates is not None:
            clean = "".join(candidates).isprintable()
            for word in dict.fromkeys(candidates):
                by_text.setdefault(word if clean else on_the_wire(word), []).append(word)
            message = "\t".join((message, *by_text))
        start = time.monotonic()
        self._send(message)
        answered_before = self._answered
        raw = self._line(start)
        self._replies += 1
        took = time.monotonic() - start
        self._brisk = took < 2 * BRISK
        if answered_before and took > self._slowest:
            self._slowest = took
        try:
            reply = parsed(raw, context, self.protocol_warnings)
        except PlayerError as error:
            self._fail(error.message, error.hint)
        if not answered_before and raw and not reply:
            self._fail(
                f"The first line that the model wrote is not a reply: {raw[:80].decode('utf-8', 'replace')!r}",
                "A reply is alternating texts and scores, separated by tabs. Write anything else to standard error.",
            )
        if self._unverified and self._unverified & self._sent_commands:
            self._unverified -= self._sent_commands
            self._await_extra_line()
            self._look()
        if candidates is not None:
            reply = respelled(reply, by_text, self.protocol_warnings)
        elif not reply:
            self.protocol_warnings.empty += 1
        return reply

    def _send(self, message: str) -> None:
        """Send a command while reading output, so that neither side blocks forever."""
        if self._read or self._poll.poll(0):
            self._look()
        data = f"{message}\n".encode()
        if self.transcript:
            self.transcript.write(b"> " + data)
        try:
            sent = os.write(self._in, data)
        except BlockingIOError:
            sent = 0
        except BrokenPipeError:
            self._fail_early_end()
        if sent < len(data):
            self._send_rest(memoryview(data)[sent:])

    def _send_rest(self, data: memoryview) -> None:
        deadline = time.monotonic() + self._limit()
        self._poll.register(self._in, select.POLLOUT)
        try:
            while data:
                if time.monotonic() > deadline:
                    self._fail(f"The model did not read its input within {self._limit():g} s")
                self._pump(0.2)
                try:
                    data = data[os.write(self._in, data) :]
                except BlockingIOError:
                    continue
                except BrokenPipeError:
                    self._fail_early_end()
        finally:
            self._poll.unregister(self._in)

    def _line(self, start: float) -> bytes:
        """Return the reply to the last command."""
        limit = self._limit()
        line = b"" if self._read else self._usual(min(limit, EXIT_GRACE))
        if not line:
            line = self._whole_line(start, limit)
        self._answered = True
        if self.transcript:
            self.transcript.write(b"< " + line)
        return line[:-2] if line.endswith(b"\r\n") else line[:-1]

    def _usual(self, limit: float) -> bytes:
        """Wait for a reply that arrives as one line in a single read, as most do. Returns b"" if it arrives in pieces,
        which are kept.
        """
        ready = self._poll_briskly() if self._brisk else []
        if (ready or self._poll.poll(limit * 1000)) != self._ready:
            return b""
        data = os.read(self._out, 65536)
        if data.find(b"\n") + 1 != len(data):
            self._read += data
            return b""
        return data

    def _poll_briskly(self) -> list[tuple[int, int]]:
        """Poll for input for up to BRISK seconds. On an idle processor, polling costs no more than sleeping and returns
        sooner. Other threads run first; if they keep the processor busy, polling is suspended for a while.
        """
        start = time.monotonic()
        if start < self._sleep_until:
            return []
        while not (ready := self._poll.poll(0)) and time.monotonic() < start + BRISK:
            os.sched_yield()
        if (end := time.monotonic()) > start + 4 * BRISK:
            self._sleep_until = end + SLEEP_SECONDS
        return ready

    def _whole_line(self, start: float, limit: float) -> bytes:
        """Return the next line, including its newline, from any number of reads."""
        end = -1
        while not self._read or (end := self._read.find(b"\n")) < 0:
            if len(self._read) > MAX_REPLY:
                self._fail(f"The reply is longer than {MAX_REPLY:,} bytes")
            remaining = start + limit - time.monotonic()
            if remaining <= 0:
                first = "first " if not self._answered else ""
                self._fail(
                    f"The model gave no {first}reply within {limit:g} s",
                    "It may be too slow for its time limit.",
                )
            if self._pump(min(remaining, EXIT_GRACE)):
                continue
            if self._closed() or self._process.poll() is not None:
                self._fail_early_end()
        line = bytes(self._read[: end + 1])
        del self._read[: end + 1]
        return line

    def _limit(self) -> float:
        return self.command.reply_timeout if self._answered else self.command.start_timeout

    def _pump(self, timeout: float) -> bool:
        """Read available output, waiting up to `timeout` seconds; return whether anything arrived."""
        came = False
        for descriptor, _ in self._poll.poll(timeout * 1000):
            if descriptor == self._in:
                continue
            try:
                data = os.read(descriptor, 65536)
            except BlockingIOError:
                continue
            if not data:
                self._poll.unregister(descriptor)
                continue
            came = True
            if descriptor == self._out:
                self._read += data
            else:
                self._keep(data)
        return came

    def _keep(self, data: bytes) -> None:
        self._errors.append(data)
        self._errors_size += len(data)
        while len(self._errors) > 1 and self._errors_size - len(self._errors[0]) > 4 * STDERR_KEPT:
            self._errors_size -= len(self._errors.popleft())

    def _closed(self) -> bool:
        """Return whether the process has closed its standard output."""
        try:
            self._poll.modify(self._out, select.POLLIN)
        except (KeyError, OSError):
            return True
        return False

    def _fail_early_end(self) -> NoReturn:
        """Raise PlayerError because the process exited, or closed its pipes, too early."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        self._pump(0.05)
        code = self._process.poll()
        ending = f"ended with {_ending(code)}" if code is not None else "closed its output"
        self._fail(
            f"The model {ending} in the middle of the game",
            "Lines played before are kept.",
        )

    def _fail(self, message: str, hint: str = "", *, doubtful: bool = True) -> NoReturn:
        """Raise PlayerError. The process may have been one reply ahead, so all replies since the last checkpoint are in
        doubt.
        """
        self.kill()
        raise PlayerError(f"{message}.{self._tail()}", hint, doubtful=doubtful)

    def _tail(self) -> str:
        lines = [line for line in self.stderr.splitlines() if line.strip()]
        return f" Its standard error ends: {lines[-1][-300:]!r}." if lines else ""

    def _finish(self) -> None:
        self._ended = True
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe:
                with contextlib.suppress(OSError):
                    pipe.close()


def _ending(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"signal {-code}"


# -- protocol ------------------------------------------------------------------------------------------------


_WIRE = str.maketrans(
    {"\t": " ", "\n": " ", "\r": " "} | {chr(code): "\ufffd" for code in range(0xD800, 0xE000)}
)


def on_the_wire(text: str) -> str:
    """Return the text as sent: same length, valid Unicode, and no characters that end a field or a line."""
    return text.translate(_WIRE) if not text.isprintable() else text


def parsed(raw: bytes, context: str, protocol_warnings: ProtocolWarnings) -> Reply:
    """Parse a reply of alternating texts and scores. Raises PlayerError, whose message has no full stop."""
    try:
        fields = raw.decode("utf-8").split("\t")
    except UnicodeDecodeError as error:
        message = f"The reply is not UTF-8 (byte {error.start + 1} of {raw[:80]!r})"
        raise PlayerError(message) from None
    if len(fields) % 2 and fields != [""]:
        protocol_warnings.odd_fields += 1
    try:
        values = list(map(float, fields[1::2]))
    except ValueError:
        _no_number(fields, context)
    if not math.isfinite(sum(values)):
        protocol_warnings.not_finite += len(values) - sum(map(math.isfinite, values))
    return list(zip(fields[::2], values, strict=False))


def _no_number(fields: list[str], context: str) -> NoReturn:
    """Raise PlayerError naming the first score that is not a number."""
    for text, score in zip(fields[::2], fields[1::2], strict=False):  # noqa: B007 - both are used below
        try:
            float(score)
        except ValueError:
            break
    raise PlayerError(
        f"The score of {text!r} is {score!r}, which is not a number (requested after {context[-40:]!r})",
        "A reply is alternating texts and scores, separated by tabs.",
    )


def respelled(
    reply: Reply, by_text: Mapping[str, Sequence[str]], protocol_warnings: ProtocolWarnings
) -> Reply:
    """Map a reply's texts to the requested candidates, and count irregularities."""
    texts = [text for text, _ in reply]
    if texts != list(by_text):  # most models reply in the requested order
        seen = set(texts)
        protocol_warnings.repeated += len(reply) - len(seen)
        protocol_warnings.unasked += len(seen - by_text.keys())
        protocol_warnings.omitted += len(by_text.keys() - seen)
    return [(word, score) for text, score in reply for word in by_text.get(text, (text,))]
