"""Players by name: processes from the settings, commands from a terminal, Python objects, the built-in learner."""

from __future__ import annotations

import importlib
import json
import math
import re
import shlex
import sys
from bisect import insort
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import IO, Any

from lmgym.lmchallenge.errors import OptionError, PlayerError
from lmgym.lmchallenge.player import Player, Reply, Request
from lmgym.lmchallenge.process import Command, ProcessPlayer
from lmgym.lmchallenge.tokens import TOKEN, beginning_with

_PYTHON = re.compile(r"^([^: ]+):([^: ]+)$")
_NUMBERS = ("start_timeout", "reply_timeout", "stop_timeout", "settle")


def configured(text: str) -> dict[str, Command]:
    """The players of a settings value: a JSON object of names, each with an object: "argv" (list of strings), and
    if wanted "cwd", "env" (object of strings), "start_timeout", "reply_timeout", "stop_timeout", "settle" (seconds).
    Raises OptionError."""
    if not text.strip():
        return {}
    try:
        data = json.loads(text)
    except ValueError as error:
        raise OptionError(f"The players are not JSON: {error}.") from None
    if not isinstance(data, dict):
        raise OptionError("The players must be a JSON object: name -> how to start it.")
    return {name: _command(name, value) for name, value in data.items()}


def _command(name: str, value: Any) -> Command:
    where = f"The player {name!r}"
    if not isinstance(value, dict) or not value.get("argv"):
        raise OptionError(f"{where} has no argv.", '{"argv": ["/opt/gym/predictor", "model.lm"]}')
    known = {"argv", "cwd", "env", *_NUMBERS}
    if odd := sorted(value.keys() - known):
        raise OptionError(f"{where}: unknown {', '.join(odd)}.", f"Known: {', '.join(sorted(known))}.")
    argv, env = value["argv"], value.get("env", {})
    if not isinstance(argv, list) or not all(isinstance(part, str) for part in argv):
        raise OptionError(
            f"{where}: argv is not a list of strings.", "No shell is involved: one string per argument."
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
    """The argument list for a command as the reference takes it: words of `text`, then the positional options, then
    `--key value` for every other one (a key that begins with a hyphen stays as it is). Quotes and backslashes work
    as in a shell; variables, pipes and the like do not: no shell reads this. Raises OptionError."""
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
        raise OptionError("The player is empty.", "Name a player or give a command.")
    return tuple(argv)


class Echo:
    """A transcript for people on standard error, as the reference's option `verbose` has it."""

    def write(self, data: bytes) -> int:
        """One line of the transcript."""
        mark, text = ("#>", data[2:]) if data.startswith(b"> ") else ("#<", data[2:])
        shown = text.decode("utf-8", "replace").rstrip("\n").replace("\t", " <TAB> ")
        sys.stderr.write(f"{mark} {shown}\n")
        return len(data)


class PythonPlayer:
    """An object with predict(context, candidates), train(text) and clear(), made by calling `module:name` with the
    options, as one argument or, `by_name` (as version 5 does), each by its name; used within `with` if it can be."""

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
            raise PlayerError(f"{spec} could not be made: {type(error).__name__}: {error}.") from error

    def predict(self, requests: Sequence[Request]) -> list[Reply]:
        """Ask one after the other."""
        replies: list[Reply] = []
        for context, candidates in requests:
            given = None if candidates is None else list(candidates)
            try:
                found = self._model.predict(context, given)
                # A candidate without a score is as good as left out: the reference logs null for both.
                replies.append([(str(text), float(score)) for text, score in found if score is not None])
            except Exception as error:
                raise PlayerError(f"predict failed: {type(error).__name__}: {error}.") from error
        return replies

    def train(self, text: str) -> None:
        """Passed on."""
        self._call("train", text)

    def clear(self) -> None:
        """Passed on."""
        self._call("clear")

    def check(self, now: bool = False) -> bool:
        """Nothing can be amiss."""
        return False

    def close(self) -> None:
        """Leave `with`."""
        leave, self._leave = self._leave, None
        if leave:
            leave(None, None, None)

    def _call(self, name: str, *arguments: str) -> None:
        try:
            getattr(self._model, name)(*arguments)
        except Exception as error:
            raise PlayerError(f"{name} failed: {type(error).__name__}: {error}.") from error


def adaptive(options: Mapping[str, Any]) -> Player:
    """The built-in learner. Raises OptionError."""
    try:
        return AdaptivePlayer(**options)
    except TypeError as error:
        raise OptionError(
            f"These options do not fit the adaptive model: {error}.",
            "It takes order, predictions and unseen.",
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
    """The player that somebody at a terminal asks for: a name of the settings, `adaptive`, `module:name`, or a
    command. `by_name`: see PythonPlayer."""
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


# -- the built-in learner ------------------------------------------------------------------------------------


START = ""  # no token is empty


class AdaptivePlayer:
    """A simple n-gram model that knows nothing but what `train` taught it.

    Tokens are those of the games. The probability of a token after the last words is interpolated by Witten-Bell from
    the longest context down to a uniform share for everything never seen: with N(h) tokens and T(h) different tokens
    seen after the context h,

        p(w | h) = (c(h, w) + T(h) p(w | shorter h)) / (N(h) + T(h)).

    Scores are natural logarithms. Where a context ends in a token, the token may go on (p(word) / p(words that begin
    so)) or be over and another one follow (p(it is over) p(the next)); which of the two a candidate is, the tokenizer
    says.

    order: words of context plus one, 1 to 8. predictions: most that are offered. unseen: the uniform share for
    a word that was never seen."""

    together = 64

    def __init__(self, order: int = 3, predictions: int = 20, unseen: float = 1e-5) -> None:
        if not (isinstance(order, int) and 1 <= order <= 8):
            raise OptionError(f"The order is {order!r}.", "Choose 1 to 8.")
        if not (isinstance(predictions, int) and predictions >= 1):
            raise OptionError(f"{predictions!r} predictions make no sense.", "Choose at least 1.")
        if not (isinstance(unseen, int | float) and 0 < unseen < 1):
            raise OptionError(f"The share of unseen words is {unseen!r}.", "It must be above 0 and below 1.")
        self.order, self.predictions, self.unseen = order, predictions, unseen
        self.clear()

    def predict(self, requests: Sequence[Request]) -> list[Reply]:
        """Nothing is known at first: the reply to a request without candidates is empty then."""
        return [self._predict(request.context, request.candidates) for request in requests]

    def train(self, text: str) -> None:
        """Count the line."""
        history = [START] * (self.order - 1)
        for token in TOKEN.findall(text):
            for length in range(self.order):
                context = tuple(history[len(history) - length :])
                after = self._counts.setdefault(context, Counter())
                after[token] += 1
                self._totals[context] = self._totals.get(context, 0) + 1
            if self._counts[()][token] == 1:
                insort(self._words, token)
            history = [*history[1:], token] if history else history

    def clear(self) -> None:
        """Forget everything."""
        self._counts: dict[tuple[str, ...], Counter[str]] = {}
        self._totals: dict[tuple[str, ...], int] = {}
        self._words: list[str] = []

    def check(self, now: bool = False) -> bool:
        """Nothing can be amiss."""
        return False

    def close(self) -> None:
        """Nothing to end."""

    def _predict(self, context: str, candidates: Sequence[str] | None) -> Reply:
        history, begun = self._split(context)
        if not begun:
            if candidates is None:
                return self._top(self._next(history))
            return [(word, math.log(self._chance(history, word))) for word in candidates]
        mass = sum(self._chance(history, word) for word in self._beginning(begun)) + self.unseen
        finished = self._chance(history, begun) / mass
        after = (*history, begun)[1:] if history else ()
        if candidates is None:
            rest = {word[len(begun) :]: self._chance(history, word) / mass for word in self._beginning(begun)}
            rest.pop("", None)
            for word, chance in self._next(after).items():
                if not _one_token(begun + word):
                    rest[word] = rest.get(word, 0.0) + finished * chance
            return self._top(rest)
        return [
            (
                word,
                math.log(
                    self._chance(history, begun + word) / mass
                    if _one_token(begun + word)
                    else finished * self._chance(after, word)
                ),
            )
            for word in candidates
        ]

    def _next(self, history: tuple[str, ...]) -> dict[str, float]:
        """The likeliest next words. Those seen after the longest context are taken first; shorter ones are looked
        at while there are too few."""
        found: dict[str, float] = {}
        for length in range(len(history), -1, -1):
            after = self._counts.get(history[len(history) - length :])
            for word in after or ():
                if word not in found:
                    found[word] = self._chance(history, word)
            if len(found) >= self.predictions:
                break
        return found

    def _top(self, chances: dict[str, float]) -> Reply:
        ranked = sorted(chances.items(), key=lambda pair: (-pair[1], pair[0]))[: self.predictions]
        return [(word, math.log(chance)) for word, chance in ranked]

    def _chance(self, history: tuple[str, ...], word: str) -> float:
        chance = self.unseen
        for length in range(len(history) + 1):
            context = history[len(history) - length :]
            after = self._counts.get(context)
            if after is None:
                break
            kinds = len(after)
            chance = (after[word] + kinds * chance) / (self._totals[context] + kinds)
        return chance

    def _beginning(self, prefix: str) -> Iterator[str]:
        return (self._words[at] for at in beginning_with(self._words, prefix))

    def _split(self, context: str) -> tuple[tuple[str, ...], str]:
        """The last tokens, and the token that the context ends within ("" if it ends between two)."""
        found = list(TOKEN.finditer(context))
        begun = found.pop().group() if found and found[-1].end() == len(context) else ""
        wanted = self.order - 1
        words = [START] * wanted + [match.group() for match in found[-wanted:]] if wanted else []
        return tuple(words[len(words) - wanted :]), begun


def _one_token(text: str) -> bool:
    return TOKEN.fullmatch(text) is not None
