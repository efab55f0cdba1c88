"""Running the commands of an LM Zoo container: argument lists, no shell, bounded in time and in output."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from typing import IO

from models_registry.backends.base import BackendError

UNSUPPORTED = 99
"""Exit status of a container that lacks a command."""

MOST_OUTPUT = 64_000_000
_MOST_ERRORS = 2_000
_PASSED_ON = ("PATH", "HOME", "LANG", "DOCKER_HOST", "XDG_RUNTIME_DIR")


class Unsupported(Exception):
    """The container does not have this command."""


class CommandFailed(BackendError):
    """A command of the container did not do its work; the message ends with what it said on stderr."""


def run_command(
    argv: Sequence[str], command: str, text: str | None, seconds: float, most_output: int = MOST_OUTPUT
) -> str:
    """What `argv… command [/dev/stdin]` writes for these lines. Raises CommandFailed, Unsupported."""
    full = [*argv, command, *(["/dev/stdin"] if text is not None else [])]
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    with tempfile.TemporaryFile() as errors, tempfile.TemporaryDirectory(prefix="lmzoo-") as folder:
        try:
            process = subprocess.Popen(  # noqa: S603 - an argument list of the administrator, no shell
                full,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=folder,
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            raise CommandFailed(f"{command}: {argv[0]} cannot be started: {error.strerror}.") from error
        watched = _Watched(process, seconds, most_output)
        output = watched.run((text or "").encode("utf-8", "surrogatepass"))
        said = _tail(errors)
    if watched.why:
        raise CommandFailed(f"{command} {watched.why}{said}")
    if process.returncode == UNSUPPORTED:
        raise Unsupported(command)
    if process.returncode:
        raise CommandFailed(f"{command} ended with exit status {process.returncode}{said}")
    try:
        return output.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CommandFailed(
            f"{command} wrote something that is not UTF-8 (byte {error.start}){said}"
        ) from error


class _Watched:
    """A process that is fed, read up to a limit, and killed with all it started when time or room is up."""

    def __init__(self, process: subprocess.Popen[bytes], seconds: float, most_output: int) -> None:
        self._process = process
        self._seconds = seconds
        self._most = most_output
        self.why = ""

    def run(self, given: bytes) -> bytes:
        timer = threading.Timer(self._seconds, self._kill, [f"took longer than {self._seconds:g} s"])
        feeder = threading.Thread(target=self._feed, args=(given,), daemon=True)
        timer.start()
        feeder.start()
        try:
            assert self._process.stdout is not None
            output = self._process.stdout.read(self._most + 1)
            if len(output) > self._most:
                self._kill(f"wrote more than {self._most:,} bytes")
            self._process.wait()
        finally:
            timer.cancel()
            self._kill("")  # whatever it left running
            feeder.join(5)
            self._process.stdout and self._process.stdout.close()
        return output

    def _feed(self, given: bytes) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # it may end without reading everything
            self._process.stdin.write(given)
        with contextlib.suppress(OSError):
            self._process.stdin.close()

    def _kill(self, why: str) -> None:
        self.why = self.why or why
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)


def _tail(errors: IO[bytes]) -> str:
    """The end of stderr as a sentence's end."""
    size = errors.seek(0, os.SEEK_END)
    errors.seek(max(0, size - _MOST_ERRORS))
    text = errors.read(_MOST_ERRORS).decode("utf-8", "replace")
    text = "".join(character for character in text if character.isprintable() or character == "\n").strip()
    return f". It said: {text}" if text else ", and said nothing."
