"""Agents without a model, for the demo and the tests. Pure.

    echo         "echo: <text>"
    music_nerd   Yellow Submarine -> The Beatles, and remembers it; else "I do not know."
    music_nerd_pro  the same as a structure, with a running cost
    math_guy     computes with x and y of the private data (plus or add, minus, times, over) and returns `equals`
    judge        answers pass when all 'quoted' words of the criterion are in the sample, else fail
    namer        says why an answer failed: the number of a known reason that fits, or a new one
    broken       reports an error of its model, as servers do: with status 200, after a retry

Everywhere SLEEP(x) waits x seconds and FLAKY alternates between two answers.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

UNKNOWN = "I do not know."
OPERATORS: dict[str, Callable[[float, float], float]] = {
    "plus": lambda x, y: x + y,
    "minus": lambda x, y: x - y,
    "times": lambda x, y: x * y,
    "over": lambda x, y: x / y,
}
VERBS = {"add": "plus", "subtract": "minus", "multiply": "times", "divide": "over"}
PAUSE = re.compile(r"SLEEP\((\d+(?:\.\d+)?)\)")


@dataclass
class Said:
    """An answer. `steps`: further messages under MAXIMAL."""

    text: str
    structure: dict[str, Any] | None = None
    sly_data: dict[str, Any] | None = None
    steps: list[dict[str, Any]] = field(default_factory=list)
    retries: int = 0


@dataclass(frozen=True)
class Heard:
    text: str
    history: list[str]
    sly_data: dict[str, Any]
    flaky: itertools.count[int]


def _music(heard: Heard) -> str:
    if "FLAKY" in heard.text:
        return "Hello world" if next(heard.flaky) % 2 else UNKNOWN
    if "yellow submarine" in heard.text.lower():
        return "The Beatles"
    if "where" in heard.text.lower() and any("yellow submarine" in said.lower() for said in heard.history):
        return "Liverpool, England"
    return UNKNOWN


def music_nerd(heard: Heard) -> Said:
    return Said(_music(heard))


def music_nerd_pro(heard: Heard) -> Said:
    cost = 3.0 * (len(heard.history) + 1)
    return Said("", {"answer": _music(heard), "running_cost": cost})


def echo(heard: Heard) -> Said:
    if "FLAKY" in heard.text:
        return Said("Hello world" if next(heard.flaky) % 2 else "Goodbye moon")
    return Said(f"echo: {heard.text}")


def math_guy(heard: Heard) -> Said:
    found = re.search("|".join([*OPERATORS, *VERBS]), heard.text, re.IGNORECASE)
    operands = [heard.sly_data.get(name) for name in ("x", "y")]
    if found is None or not all(isinstance(value, int | float) for value in operands):
        return Said("I need an operator, and the numbers x and y in the private data.")
    name = VERBS.get(found[0].lower(), found[0].lower())
    if name == "over" and not operands[1]:
        return Said("Division by zero has no result.")
    equals = float(OPERATORS[name](float(operands[0] or 0), float(operands[1] or 0)))
    steps: list[dict[str, Any]] = [
        {
            "type": "AGENT",
            "text": "Invoking: `calculator` with:",
            "structure": {"invoked_agent_name": "calculator"},
        },
        {"type": "AGENT_TOOL_RESULT", "text": json.dumps({"answer": "see sly_data", "op": name})},
    ]
    return Said("", {"answer": "see sly_data", "op": name}, {"equals": equals}, steps)


def judge(heard: Heard) -> Said:
    criterion, _, sample = heard.text.rpartition("Criterion:\n")[2].partition("\n\n<<<")
    if not sample:
        criterion, _, sample = heard.text.partition("text_sample is:")
    if "EQUIVOCATE" in criterion:
        return Said("It could pass or fail.")
    words = re.findall(r"'([^']+)'", criterion)
    return Said("pass" if words and all(word.lower() in sample.lower() for word in words) else "fail")


def namer(heard: Heard) -> Said:
    known, _, rest = heard.text.partition("Known reasons:\n")[2].partition("\n\n<<<")
    sample = rest.partition("\n")[2].rpartition("\n<<<")[0]
    words = re.findall(r"[^\W\d_]{4,}", sample)
    for line in known.split("\n"):
        number, _, reason = line.partition(". ")
        quoted = re.search(r"‘(.+)’", reason)
        if number.isdigit() and quoted and quoted[1].lower() in map(str.lower, words):
            return Said(number)
    return Said(f"NEW: It speaks of ‘{words[0].lower()}’." if words else "I cannot say.")


def broken(heard: Heard) -> Said:
    return Said("Error from broken: Agent stopped due to exception Connection error.", retries=3)


@dataclass(frozen=True)
class Agent:
    answer: Callable[[Heard], Said]
    description: str
    public: bool = True
    tools: tuple[str, ...] = ()


AGENTS = {
    "echo": Agent(echo, "Says what it is told."),
    "music_nerd": Agent(music_nerd, "Knows one song, and remembers that it was asked about it."),
    "music_nerd_pro": Agent(music_nerd_pro, "Knows one song, answers in a structure and keeps account."),
    "math_guy": Agent(math_guy, "Computes with numbers from the private data.", tools=("calculator",)),
    "judge": Agent(judge, "Says whether a text meets a criterion."),
    "namer": Agent(namer, "Says why an answer does not meet a criterion."),
    "broken": Agent(broken, "Its model is never there.", public=False),
    "hidden": Agent(echo, "Not in the list, but it answers.", public=False),
    "basic/echo": Agent(echo, "Has a slash in its name."),
}
ALIASES = {"music": "music_nerd", "calc": "math_guy"}


def find(name: str) -> Agent | None:
    return AGENTS.get(ALIASES.get(name, name))
