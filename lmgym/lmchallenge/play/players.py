"""Build players from their names: configured processes, commands from a terminal, Python objects, or the adaptive
player.
"""

from __future__ import annotations

import importlib
import json
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import IO, Any

from lmgym.lmchallenge.errors import OptionError, PlayerError
from lmgym.lmchallenge.play.adaptive import AdaptivePlayer
from lmgym.lmchallenge.play.player import Player, Reply, Request
from lmgym.lmchallenge.play.process import Command, ProcessPlayer

_PYTHON = re.compile(r"^([^: ]+):([^: ]+)$")
_NUMBERS = ("start_timeout", "reply_timeout", "stop_timeout", "settle")


def configured(text: str) -> dict[str, Command]:
    """Parse the players from a settings value.

    The value is a JSON object that maps each name to an object with the keys "argv" (list of strings), optionally
    "cwd", "env" (object of strings), "start_timeout", "reply_timeout", "stop_timeout" and "settle" (seconds). Raises
    OptionError.
    """
    if not text.strip():
        return {}
    try:
        data = json.loads(text)
    except ValueError as error:
        raise OptionError(f"GYM_LMC_PLAYERS is not JSON: {error}.") from None
    if not isinstance(data, dict):
        raise OptionError("GYM_LMC_PLAYERS must be a JSON object of names and commands.")
    return {name: _command(name, value) for name, value in data.items()}


def _command(name: str, value: Any) -> Command:
    where = f"The player {name!r}"
    if not isinstance(value, dict) or not value.get("argv"):
        raise OptionError(f"{where} has no argv.", 'Write {"argv": ["/opt/gym/predictor", "model.lm"]}.')
    known = {"argv", "cwd", "env", *_NUMBERS}
    if odd := sorted(value.keys() - known):
        raise OptionError(
            f"{where}: unknown keys: {', '.join(odd)}.", f"Known keys: {', '.join(sorted(known))}."
        )
    argv, env = value["argv"], value.get("env", {})
    if not isinstance(argv, list) or not all(isinstance(part, str) for part in argv):
        raise OptionError(
            f"{where}: argv is not a list of strings.", "Write one string per argument; no shell is involved."
        )
    if not isinstance(env, dict) or not all(isinstance(part, str) for part in env.values()):
        raise OptionError(f"{where}: env is not an object of strings.")
    if not isinstance(value.get("cwd"), str | None):
        raise OptionError(f"{where}: cwd is not a string.")
    seconds = {key: value[key] for key in _NUMBERS if key in value}
    for key, number in seconds.items():
        if not isinstance(number, int | float) or isinstance(number, bool) or not 0 <= number <= 86_400:
            raise OptionError(f"{where}: {key} is {number!r}, not a number of seconds up to a day.")
    return Command(tuple(argv), cwd=value.get("cwd"), env=env, **seconds)


def command_line(text: str, options: Mapping[str, Any]) -> tuple[str, ...]:
    """Build the argument list of a command as the reference does: the words of `text`, the positional options, then
    `--key value` for each other option (a key that begins with a hyphen is used as is).

    Quotes and backslashes work as in a shell; variables and pipes do not, because no shell is involved. Raises
    OptionError.
    """
    try:
        argv = shlex.split(text)
        positional = options.get("positional", [])
        if isinstance(positional, str) or not isinstance(positional, Sequence):
            raise OptionError('"positional" must be a list of strings.')
        for part in positional:
            argv.extend(shlex.split(str(part)))
    except ValueError as error:
        raise OptionError(f"The command cannot be read: {error}.") from None
    for key, value in options.items():
        if key != "positional":
            argv.extend([key if key.startswith("-") else f"--{key}", str(value)])
    if not argv:
        raise OptionError("The player is empty.", "Name a player or a command.")
    return tuple(argv)


class Echo:
    """Transcript on standard error, for the reference's option `verbose`."""

    def write(self, data: bytes) -> int:
        """Write one line of the transcript."""
        mark, text = ("#>", data[2:]) if data.startswith(b"> ") else ("#<", data[2:])
        shown = text.decode("utf-8", "replace").rstrip("\n").replace("\t", " <TAB> ")
        sys.stderr.write(f"{mark} {shown}\n")
        return len(data)


class PythonPlayer:
    """An object with predict(context, candidates), train(text) and clear(), created by calling `module:name`.

    The options are passed as one argument or, with `by_name` (as in version 5), as keyword arguments. If the object is
    a context manager, it is entered on creation and exited on `close`.
    """

    together = 1

    def __init__(self, spec: str, options: Mapping[str, Any], *, by_name: bool = False) -> None:
        match = _PYTHON.match(spec)
        if match is None:
            raise OptionError(f"{spec!r} is not module:name.")
        try:
            made: Any = importlib.import_module(match.group(1))
            for name in match.group(2).split("."):
                made = getattr(made, name)
            model = made(**options) if by_name else made(dict(options))
            self._leave = getattr(model, "__exit__", None)
            self._model = model.__enter__() if hasattr(model, "__enter__") else model
        except Exception as error:
            raise PlayerError(f"{spec} could not be created: {type(error).__name__}: {error}.") from error

    def predict(self, requests: Sequence[Request]) -> list[Reply]:
        """Call predict for each request. Raises PlayerError if it fails."""
        replies: list[Reply] = []
        for context, candidates in requests:
            words = None if candidates is None else list(candidates)
            try:
                predictions = self._model.predict(context, words)
                # A candidate without a score counts as omitted: the reference logs null for both.
                replies.append(
                    [(str(text), float(score)) for text, score in predictions if score is not None]
                )
            except Exception as error:
                raise PlayerError(f"predict failed: {type(error).__name__}: {error}.") from error
        return replies

    def train(self, text: str) -> None:
        """Delegate to the object."""
        self._call("train", text)

    def clear(self) -> None:
        """Delegate to the object."""
        self._call("clear")

    def check(self, now: bool = False) -> bool:
        """Return False: replies are always final."""
        return False

    def close(self) -> None:
        """Exit the object if it is a context manager."""
        leave, self._leave = self._leave, None
        if leave:
            leave(None, None, None)

    def _call(self, name: str, *arguments: str) -> None:
        try:
            getattr(self._model, name)(*arguments)
        except Exception as error:
            raise PlayerError(f"{name} failed: {type(error).__name__}: {error}.") from error


def adaptive(options: Mapping[str, Any]) -> Player:
    """Build the adaptive player. Raises OptionError."""
    try:
        return AdaptivePlayer(**options)
    except TypeError as error:
        raise OptionError(
            f"The adaptive n-gram model does not accept these options: {error}.",
            "Its options are order, predictions and unseen.",
        ) from None


def from_terminal(
    spec: str,
    options: Mapping[str, Any],
    *,
    named: Mapping[str, Command],
    transcript: IO[bytes] | None,
    limits: Mapping[str, Any],
    by_name: bool = False,
) -> Player:
    """Build the player named on a command line: a configured name, `adaptive`, `module:name`, or a command.

    `by_name`: see PythonPlayer. Raises OptionError, and PlayerError if the player cannot be created or started.
    """
    if spec == "adaptive":
        return adaptive(options)
    if spec not in named and _PYTHON.match(spec):
        return PythonPlayer(spec, options, by_name=by_name)
    command = named.get(spec)
    if command is None:
        command = Command(command_line(spec, options))
    elif options:
        extra = command_line(shlex.join(command.argv), options)
        command = replace(command, argv=extra)
    command = replace(command, **limits)
    echo: Any = transcript
    if options.get("verbose") and transcript is None:
        sys.stderr.write(f"$ {shlex.join(command.argv)}\n")
        echo = Echo()
    return ProcessPlayer(command, transcript=echo)
