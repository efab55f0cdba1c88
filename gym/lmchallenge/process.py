"""A model process that speaks the API: one command a line on its standard input, replies on its standard output.

No shell is involved. Every wait ends: at the start, and at each reply. What a process writes to standard error is
kept (its end); everything said can be copied into a transcript. Tabs, newlines and carriage returns of the corpus
are sent as blanks and half surrogate pairs as U+FFFD, character for character, so that offsets stay.

A process must be silent after `train` and `clear`, and answer `predict` with exactly one line. What comes unasked
is found before the next command is sent and at the end; since a late line could pass for a reply, the first
replies after the start, after the first `clear` and after the first `train` are followed by a short pause (`settle`).
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

from gym.lmchallenge.errors import PlayerError
from gym.lmchallenge.player import Reply, Request

START_TIMEOUT = 120.0
REPLY_TIMEOUT = 30.0
STOP_TIMEOUT = 10.0
SETTLE = 0.05
MAX_REPLY = 16 * 1024 * 1024
STDERR_KEPT = 8_000
_WIRE = str.maketrans(
    {"\t": " ", "\n": " ", "\r": " "} | {chr(code): "\ufffd" for code in range(0xD800, 0xE000)}
)


def on_the_wire(text: str) -> str:
    """The text as it is sent: same length, nothing in it that ends a field or a line, nothing that is not Unicode."""
    return text.translate(_WIRE) if not text.isprintable() else text


@dataclass(frozen=True)
class Command:
    """How to start a model. Times in seconds."""

    argv: tuple[str, ...]
    start_timeout: float = START_TIMEOUT
    reply_timeout: float = REPLY_TIMEOUT
    stop_timeout: float = STOP_TIMEOUT
    settle: float = SETTLE
    cwd: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Oddities:
    """What was legal but strange in the replies."""

    odd_fields: int = 0  # a last field without a score, dropped
    not_finite: int = 0  # scores that are NaN or infinite
    repeated: int = 0  # candidates answered more than once
    unasked: int = 0  # candidates that nobody asked for
    omitted: int = 0  # candidates left out
    empty: int = 0  # replies without predictions

    def as_dict(self) -> dict[str, int]:
        """The counts that are not 0."""
        return {name: count for name, count in vars(self).items() if count}


class ProcessPlayer:
    """The process as a player. Start it with `with`, or close it yourself."""

    together = 1

    def __init__(self, command: Command, *, transcript: IO[bytes] | None = None) -> None:
        self.command = command
        self.oddities = Oddities()
        self._transcript = transcript
        self._errors: deque[bytes] = deque()
        self._errors_size = 0
        self._read = bytearray()
        self._answered = False
        self._slowest = 0.0  # seconds of one reply, not counting the first, which waits for the start
        self._unverified = {"predict", "clear", "train"}
        self._said: set[str] = {"predict"}
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
                process_group=0,  # killed together; a session of its own costs more context switches per call
            )
        except (OSError, ValueError) as error:
            raise PlayerError(f"The model could not be started: {error}.", "Is the program there?") from None
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

    # -- the API ---------------------------------------------------------------------------------------------

    def predict(self, requests: Sequence[Request]) -> list[Reply]:
        """Ask one after the other."""
        return [self._predict(request) for request in requests]

    def train(self, text: str) -> None:
        """Send the line."""
        self._said.add("train")
        self._tell(["train", on_the_wire(text)])

    def clear(self) -> None:
        """Send the command."""
        self._said.add("clear")
        self._tell(["clear"])

    def check(self) -> None:
        """Raise PlayerError if something came that nobody asked for."""
        if self._poll.poll(0):
            self._pump(0.0)
        if self._read:
            shown = self._read[:80].decode("utf-8", "replace")
            self._fail(
                f"The model wrote something nobody asked for: {shown!r}",
                "It must be silent after train and clear, and answer predict with one line. Replies since the last "
                "verified one may belong to other questions.",
            )

    def close(self) -> None:
        """Close its standard input, wait for its end and look at what is left."""
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
                    f"The model did not end within {self.command.stop_timeout:g} s after its input was closed"
                )
        left = bytes(self._read)
        code = self._process.returncode
        self._finish()
        if left:
            raise PlayerError(
                f"The model wrote something nobody asked for before it ended: {left[:80]!r}.{self._tail()}",
                "Replies may belong to other questions.",
            )
        if code:
            raise PlayerError(
                f"After everything was played, the model ended with {_ending(code)}.{self._tail()}"
            )

    def kill(self) -> None:
        """End it now, with all processes of its group."""
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
        """The end of what it wrote to standard error."""
        return b"".join(self._errors).decode("utf-8", "replace")[-STDERR_KEPT:]

    # -- beneath ---------------------------------------------------------------------------------------------

    def _predict(self, request: Request) -> Reply:
        fields = ["predict", on_the_wire(request.context)]
        wanted: dict[str, str] = {}
        if request.candidates is not None:
            clean = "".join(request.candidates).isprintable()
            wanted = {word if clean else on_the_wire(word): word for word in request.candidates}
            fields.extend(wanted)
        start = time.monotonic()
        self._tell(fields)
        answered_before = self._answered
        raw = self._line(start)
        took = time.monotonic() - start
        if answered_before and took > self._slowest:
            self._slowest = took
        reply = self._parse(raw, fields[1])
        if self._unverified & self._said:
            self._verify(max(took, 2 * self._slowest))
        if request.candidates is not None:
            reply = self._candidates(reply, wanted)
        elif not reply:
            self.oddities.empty += 1
        return reply

    def _tell(self, fields: list[str]) -> None:
        """Send a command, reading what comes meanwhile so that neither side waits for ever."""
        self.check()
        data = ("\t".join(fields) + "\n").encode("utf-8")
        if self._transcript:
            self._transcript.write(b"> " + data)
        try:
            sent = os.write(self._in, data)
        except BlockingIOError:
            sent = 0
        except BrokenPipeError:
            self._gone()
        if sent < len(data):
            self._send_rest(memoryview(data)[sent:])

    def _send_rest(self, data: memoryview) -> None:
        deadline = time.monotonic() + self._limit()
        self._poll.register(self._in, select.POLLOUT)
        try:
            while data:
                if time.monotonic() > deadline:
                    self._fail(f"The model did not take its input within {self._limit():g} s")
                self._pump(0.2)
                try:
                    data = data[os.write(self._in, data) :]
                except BlockingIOError:
                    continue
                except BrokenPipeError:
                    self._gone()
        finally:
            self._poll.unregister(self._in)

    def _line(self, start: float) -> bytes:
        """The reply to the last command."""
        limit = self._limit()
        line = b"" if self._read else self._usual(limit)
        if not line:
            line = self._whole_line(start, limit)
        self._answered = True
        if self._transcript:
            self._transcript.write(b"< " + line)
        return line[:-2] if line.endswith(b"\r\n") else line[:-1]

    def _usual(self, limit: float) -> bytes:
        """Wait for one read that is one line, as most replies are. b"" if it comes otherwise, and is then kept."""
        if self._poll.poll(limit * 1000) != self._ready:
            return b""
        data = os.read(self._out, 65536)
        if data.find(b"\n") + 1 != len(data):
            self._read += data
            return b""
        return data

    def _whole_line(self, start: float, limit: float) -> bytes:
        """The next line, with its newline, in however many pieces it comes."""
        end = -1
        while not self._read or (end := self._read.find(b"\n")) < 0:
            if len(self._read) > MAX_REPLY:
                self._fail(f"The reply is longer than {MAX_REPLY:,} bytes")
            remaining = start + limit - time.monotonic()
            if remaining <= 0:
                first = "first " if not self._answered else ""
                self._fail(
                    f"The model gave no {first}reply within {limit:g} s", "Is it slower than it may be?"
                )
            if not self._pump(remaining) and self._closed():
                self._gone()
        line = bytes(self._read[: end + 1])
        del self._read[: end + 1]
        return line

    def _parse(self, raw: bytes, context: str) -> Reply:
        """Text and score in turn."""
        try:
            fields = raw.decode("utf-8").split("\t")
        except UnicodeDecodeError as error:
            self._fail(f"The reply is not UTF-8 (byte {error.start + 1} of {raw[:80]!r})")
        if len(fields) % 2 and fields != [""]:
            self.oddities.odd_fields += 1
        try:
            values = list(map(float, fields[1::2]))
        except ValueError:
            self._no_number(fields, context)
        self.oddities.not_finite += len(values) - sum(map(math.isfinite, values))
        return list(zip(fields[::2], values, strict=False))

    def _no_number(self, fields: list[str], context: str) -> NoReturn:
        """Name the first score that is none."""
        for text, score in zip(fields[::2], fields[1::2], strict=False):  # noqa: B007 - both are told below
            try:
                float(score)
            except ValueError:
                break
        self._fail(
            f"The score of {text!r} is {score!r}, which is no number (asked after {context[-40:]!r})",
            "A reply is text and score in turn, separated by tabs.",
        )

    def _candidates(self, reply: Reply, wanted: dict[str, str]) -> Reply:
        """Spellings of the wire turned back into those that were asked; the count of what is odd."""
        texts = [text for text, _ in reply]
        if texts == list(wanted.values()) and texts == list(wanted):
            return reply  # as asked, which is what most models do
        seen = set(texts)
        self.oddities.repeated += len(reply) - len(seen)
        self.oddities.unasked += len(seen - wanted.keys())
        self.oddities.omitted += len(wanted.keys() - seen)
        return [(wanted.get(text, text), score) for text, score in reply]

    def _verify(self, took: float) -> None:
        """Wait a little for a line too many. A process that answered `clear` or `train` would be one reply ahead,
        and show its second line after about the time that an answer takes."""
        self._unverified -= self._said
        deadline = time.monotonic() + min(max(self.command.settle, took), 2.0)
        while not self._read and (remaining := deadline - time.monotonic()) > 0 and not self._closed():
            self._pump(remaining)
        self.check()

    def _limit(self) -> float:
        return self.command.reply_timeout if self._answered else self.command.start_timeout

    def _pump(self, timeout: float) -> bool:
        """Read what is there, waiting up to `timeout` seconds for something. Whether anything came."""
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
        """Whether its standard output has ended."""
        try:
            self._poll.modify(self._out, select.POLLIN)
        except (KeyError, OSError):
            return True
        return False

    def _gone(self) -> NoReturn:
        """It ended, or closed its pipes, before it was told to."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        self._pump(0.05)
        code = self._process.poll()
        ending = f"ended with {_ending(code)}" if code is not None else "closed its output"
        self._fail(f"The model {ending} in the middle of the game", "What was played before is kept.")

    def _fail(self, message: str, hint: str = "") -> NoReturn:
        self.kill()
        raise PlayerError(f"{message}.{self._tail()}", hint)

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
