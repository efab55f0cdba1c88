"""Proof that a completion server's values belong to the tokens they stand at, made before anything is scored.

The value of a token in an echoed prompt has to be what the server gives the same token as the continuation of what
stands before it. That is compared at places near the beginning and far from it, for the likeliest words there. Each
prompt is asked twice, in opposite orders, so that values kept from an earlier prompt with the same beginning show.

llama-cpp-python 0.3.36 fails this for prompts without a start token: it reads each value from the distribution after
the token. vLLM with prefix caching has given stale values for what it kept (vllm#42245), and values of logits that
were not scaled (vllm#52158).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import mean
from typing import Any

from lmgym import net
from lmgym.models.backends.base import HALF_TOLERANCE_BITS, BackendError
from lmgym.models.backends.completions import REFUSED, Dialect, Prompt, Server, explained, read_choice

TEXT = (
    "The keys to the old cabinet are on the table near the window, and the letters that my aunt wrote to her brother "
    "before the storm are still in the second drawer. She asked me to read them once more, but the ink on the last "
    "page has faded so much that only a few words can be made out."
)
CUTS = (4, 15, 36)
"""Words of TEXT before each place that is compared."""

FOLLOWING = 18
"""Words after a compared one; a cache keeps whole blocks of 16 tokens."""

LIKELY = 5
TAKEN = 2
"""Words compared at one place, of the LIKELY next tokens."""

MIN_COMPARED = 4
SURE_TEXT_BITS = 1.0
"""Mean surprisal of a token of TEXT below which a server is implausibly sure (4.8 bits for SmolLM2-135M-Instruct)."""

SURE_WORD_BITS = 0.7
"""Mean surprisal of the likeliest token at each place below which a server is implausibly sure (3.3 and 3.6 bits for
SmolLM2-135M-Instruct without and with a start token; 0.4 and 0.6 with logits nine times too large)."""

_NOT_PROVABLE = "It cannot be proven that the server's values belong to the tokens they are listed with"
_WORD = re.compile(r"([ ▁Ġ]?)([A-Za-z]{1,20})")


class Unproven(BackendError):
    """The server's values cannot be relied on."""


@dataclass(frozen=True)
class Proof:
    """Dialect in which the values were proven, and remarks for the model's page."""

    dialect: Dialect
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Place:
    """Where texts are cut: `prefix` is sent with the start token, `rest` follows the word that stands there; `likely`
    are the next tokens as the server spells them, with their bits, likeliest first."""

    prefix: str
    rest: str
    likely: list[tuple[str, float]]


@dataclass(frozen=True)
class _Continuation:
    """A word that the server gave `bits` bits after `prefix`, in `prompt` followed by the rest of the text."""

    prefix: str
    word: str
    prompt: str
    bits: float


@dataclass(frozen=True)
class _Evidence:
    """What the server answered: `cold` about TEXT, before anything was kept there, and two rounds about the prompts of
    the continuations."""

    cold: tuple[str, Any]
    places: list[_Place]
    continuations: list[_Continuation]
    rounds: list[dict[str, Any]]


@dataclass(frozen=True)
class _Reading:
    """The evidence in one dialect. `misplaced` names a word whose two values differ, `changed` a token whose value
    differs between prompts that begin alike or when a prompt is asked again; empty: none does."""

    dialect: Dialect
    text: Prompt
    compared: int
    misplaced: str
    changed: str


def prove(server: Server, dialect: Dialect, batch: int) -> Proof:
    """Compare echoed values with continuations, read where they stand and one place later.

    Args:
        dialect: how texts will be asked for; its `early` is decided here.
        batch: prompts in one request.

    Raises:
        Unproven: the values belong to other tokens, or change when a prompt is asked again.
        BackendError, BackendUnavailable: the server does not answer; see `explained`.
        NotEchoed, Unreadable: an answer says nothing about its prompt, or cannot be mapped to it.
    """
    try:
        evidence = _gather(server, dialect, batch)
    except net.HTTPStatus as error:
        if error.status in REFUSED:
            raise Unproven(f"{_NOT_PROVABLE}: {error}") from error
        raise explained(error, server) from error
    except net.NetError as error:
        raise explained(error, server) from error
    return _judge(evidence, dialect)


def _judge(evidence: _Evidence, dialect: Dialect) -> Proof:
    readings = [_read(evidence, one) for one in (dialect, replace(dialect, early=True))]
    if readings[0].compared < MIN_COMPARED:
        raise Unproven(
            f"{_NOT_PROVABLE}: only {readings[0].compared} of its likely next words are tokens of the prompt."
        )
    reading = next((one for one in readings if not one.misplaced), readings[0])
    if reading.changed:
        raise Unproven(
            f"The server's values change when a prompt is asked again: {reading.changed}.",
            "Values kept from an earlier prompt are stale; turn prefix caching off on the server.",
        )
    if reading.misplaced:
        raise Unproven(
            f"The server's values do not belong to the tokens they are listed with: {reading.misplaced}.",
            _hint(dialect),
        )
    return Proof(reading.dialect, _notes(reading, evidence.places))


def _hint(dialect: Dialect) -> str:
    if dialect.before:
        return "Use a server that scores prompts, as vLLM does."
    return (
        "llama-cpp-python is right only after a start token: name the model's start token, or use a server that "
        "scores prompts, as vLLM does."
    )


def _gather(server: Server, dialect: Dialect, batch: int) -> _Evidence:
    whole = dialect.before + TEXT
    cold = server.ask([whole], dialect.method).choices[0]
    places = list(_places(server, dialect.before))
    continuations = [one for place in places for one in _continuations(place)]
    prompts = list(dict.fromkeys(sent for one in continuations for sent in (one.prefix, one.prompt)))
    forwards: list[Any] = []
    for start in range(0, len(prompts), batch):
        forwards += server.ask(prompts[start : start + batch], dialect.method).choices
    longest = [one.prompt for one in reversed(continuations)]
    backwards = {prompt: server.ask([prompt], dialect.method).choices[0] for prompt in longest}
    return _Evidence(
        (whole, cold), places, continuations, [dict(zip(prompts, forwards, strict=True)), backwards]
    )


def _places(server: Server, before: str) -> Iterator[_Place]:
    words = TEXT.split(" ")
    for cut in CUTS:
        prefix, rest = before + " ".join(words[:cut]), " ".join(words[cut + 1 :][:FOLLOWING])
        logs = server.continuations(prefix, LIKELY)
        likely = [(token, _bits(log)) for token, log in logs.items()]
        yield _Place(prefix, rest, sorted(likely, key=lambda one: one[1]))


def _continuations(place: _Place) -> Iterator[_Continuation]:
    """The likeliest whole words. Where the server marks the blank before a word, tokens without it are no words."""
    found = [(match, bits) for token, bits in place.likely if (match := _WORD.fullmatch(token))]
    marked = any(match[1] for match, _ in found)
    words = [(match[2], bits) for match, bits in found if match[1] or not marked]
    for word, bits in words[:TAKEN]:
        yield _Continuation(place.prefix, word, f"{place.prefix} {word} {place.rest}", bits)


def _read(evidence: _Evidence, dialect: Dialect) -> _Reading:
    whole, cold = evidence.cold
    text = read_choice(cold, whole, dialect)
    rounds = [
        {prompt: read_choice(choice, prompt, dialect) for prompt, choice in answers.items()}
        for answers in evidence.rounds
    ]
    values = [(one, _echoed(one, rounds[0])) for one in evidence.continuations]
    compared = [(one, echoed) for one, echoed in values if echoed is not None]
    misplaced = [
        f"“{one.word}” after “…{one.prefix[-20:]}” has {one.bits:.2f} bits as the next token and {echoed:.2f} in the "
        "prompt"
        for one, echoed in compared
        if abs(one.bits - echoed) > HALF_TOLERANCE_BITS
    ]
    changed = _changed([text, *rounds[0].values(), *rounds[1].values()])
    return _Reading(dialect, text, len(compared), misplaced[0] if misplaced else "", changed)


def _echoed(one: _Continuation, answers: dict[str, Prompt]) -> float | None:
    """Bits of the word in its prompt; None where it is not one token there, or the prefix is cut otherwise."""
    prefix, prompt = answers[one.prefix], answers[one.prompt]
    place = len(prefix.tokens)
    if prompt.tokens[:place] != prefix.tokens or place >= len(prompt.tokens):
        return None
    start, end = prompt.spans[place]
    log = prompt.logs[place]
    if end != len(f"{one.prefix} {one.word}") or one.prompt[start:end].strip() != one.word:
        return None
    return math.inf if log is None else _bits(log)


def _changed(answers: Sequence[Prompt]) -> str:
    """Name a token that has two values after the same tokens; empty where none has."""
    known: dict[tuple[str, ...], float] = {}
    for answer in answers:
        for place, log in enumerate(answer.logs):
            key = tuple(answer.tokens[: place + 1])
            bits = math.inf if log is None else _bits(log)
            before = known.setdefault(key, bits)
            if before != bits and not abs(before - bits) <= HALF_TOLERANCE_BITS:
                return f"“{key[-1].strip()}”, token {place + 1}, had {before:.2f} bits and then {bits:.2f}"
    return ""


def _bits(log: float) -> float:
    return -log / math.log(2)


def _notes(reading: _Reading, places: Sequence[_Place]) -> tuple[str, ...]:
    notes = [
        f"Proven for {reading.compared} words: the value of a token in the prompt is the value that the server gives "
        "it as the next token, in either order of the prompts."
    ]
    if reading.dialect.early:
        notes.append(
            "The server lists each value one place before its token; the values are moved to their tokens."
        )
    if reading.dialect.before and reading.text.spans[0][0]:
        notes.append("The server leaves the start token out of its answer, and the first token has no value.")
    text = mean(_bits(log) for log in reading.text.logs[1:] if log is not None)
    word = mean(place.likely[0][1] for place in places if place.likely)
    if text < SURE_TEXT_BITS or word < SURE_WORD_BITS:
        notes.append(
            f"Warning: the server is implausibly confident. An ordinary text has {text:.2f} bits per token, the "
            f"likeliest next token {word:.2f} bits. Logits that are not scaled do this; compare with a run of the same "
            "weights."
        )
    return tuple(notes)
