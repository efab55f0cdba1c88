"""Verification that a completion server lists values with the right tokens, done before any text is scored.

The value of a token in an echoed prompt must equal the value of the same token as a continuation of the preceding text.
This is checked near the beginning of a text and further on, for the most likely words. Each prompt is sent twice, in
opposite orders, to detect values cached from an earlier prompt with the same prefix.

llama-cpp-python 0.3.36 fails for prompts that do not begin with the start token that the model's file declares.
It takes the value of a token from the distribution after that token, and is right only where it leaves out the declared
start token. vLLM with prefix caching returned stale values (vllm#42245), and values of unscaled logits (vllm#52158).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import mean
from typing import Any

from lmgym import net
from lmgym.models.backends.base import BackendError
from lmgym.models.backends.completions import REFUSED, Dialect, Prompt, Server, explained, read_choice
from lmgym.models.engine.scores import HALF_TOLERANCE_BITS

TEXT = (
    "The keys to the old cabinet are on the table near the window, and the letters that my aunt wrote to her brother "
    "before the storm are still in the second drawer. She asked me to read them once more, but the ink on the last "
    "page has faded so much that only a few words can be made out."
)
CUTS = (4, 15, 36)
"""Number of words of TEXT before each compared position."""

FOLLOWING = 18
"""Number of words sent after a compared word, because caches store whole blocks of 16 tokens."""

LIKELY = 5
TAKEN = 2
"""Number of words compared at one position, out of the LIKELY next tokens."""

MIN_COMPARED = 4
SURE_TEXT_BITS = 1.0
"""Mean surprisal per token of TEXT below which a server is implausibly confident (4.8 bits for
SmolLM2-135M-Instruct)."""

SURE_WORD_BITS = 0.7
"""Mean surprisal of the most likely token at each position below which a server is implausibly confident (3.3 and 3.6
bits for SmolLM2-135M-Instruct without and with a start token; 0.4 and 0.6 with logits nine times too large)."""

_NOT_PROVABLE = "It could not be verified that the server's values belong to the tokens they are listed with"
_HINT = (
    "llama-cpp-python is correct only after the start token that the model's file declares. Enter that token, or use a "
    "server that scores prompts, such as vLLM."
)
_WORD = re.compile(r"([ ▁Ġ]?)([A-Za-z]{1,20})")


class Unproven(BackendError):
    """The values of the server are not reliable."""


@dataclass(frozen=True)
class Proof:
    """Dialect for which the values were verified, and notes for the model's page."""

    dialect: Dialect
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Place:
    """A compared position.

    Attributes:
        prefix: text before the position, including the start token.
        following: text after the word at this position.
        likely: next tokens as spelled by the server, with their bits, most likely first.
    """

    prefix: str
    following: str
    likely: list[tuple[str, float]]


@dataclass(frozen=True)
class _Continuation:
    """A word with `bits` as the next token after `prefix`; `prompt` is the prefix, the word and the text after it."""

    prefix: str
    word: str
    prompt: str
    bits: float


@dataclass(frozen=True)
class _Evidence:
    """Responses of the server.

    Attributes:
        cold: TEXT and its choice, requested before anything was cached.
        rounds: choices by prompt, in two rounds of opposite order.
    """

    cold: tuple[str, Any]
    places: list[_Place]
    continuations: list[_Continuation]
    rounds: list[dict[str, Any]]


@dataclass(frozen=True)
class _Verdict:
    """The evidence interpreted in one dialect.

    Attributes:
        compared: number of compared words.
        misplaced: description of a word whose two values differ, or "".
        changed: description of a token whose value differs between prompts with the same prefix, or "".
    """

    dialect: Dialect
    text: Prompt
    compared: int
    misplaced: str
    changed: str


def prove(server: Server, dialect: Dialect, batch: int) -> Proof:
    """Compare echoed values with continuations, as listed and shifted by one token.

    Args:
        dialect: how texts will be requested; `early` is determined here.
        batch: prompts in one request.

    Raises:
        Unproven: the values belong to other tokens, or change when a prompt is sent again.
        BackendError, BackendUnavailable: a request failed; see `explained`.
        NotEchoed, Unreadable: a response has no values of its prompt, or cannot be aligned with it.
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
    verdicts = [_read(evidence, candidate) for candidate in (dialect, replace(dialect, early=True))]
    if verdicts[0].compared < MIN_COMPARED:
        raise Unproven(
            f"{_NOT_PROVABLE}: too few of the likely next words are single tokens in the prompt "
            f"({verdicts[0].compared}; at least {MIN_COMPARED} are needed)."
        )
    verdict = next((candidate for candidate in verdicts if not candidate.misplaced), verdicts[0])
    if verdict.changed:
        raise Unproven(
            f"The server's values change when a prompt is sent again: {verdict.changed}.",
            "Values cached from an earlier prompt are stale; disable prefix caching on the server.",
        )
    if verdict.misplaced:
        raise Unproven(
            f"The server's values do not belong to the tokens they are listed with: {verdict.misplaced}.",
            _HINT,
        )
    return Proof(verdict.dialect, _notes(verdict, evidence.places))


def _gather(server: Server, dialect: Dialect, batch: int) -> _Evidence:
    whole = dialect.before + TEXT
    cold = server.ask([whole], dialect.method).choices[0]
    places = list(_places(server, dialect.before))
    continuations = [word for place in places for word in _continuations(place)]
    prompts = list(dict.fromkeys(text for word in continuations for text in (word.prefix, word.prompt)))
    forwards: list[Any] = []
    for start in range(0, len(prompts), batch):
        forwards += server.ask(prompts[start : start + batch], dialect.method).choices
    longest = [word.prompt for word in reversed(continuations)]
    backwards = {prompt: server.ask([prompt], dialect.method).choices[0] for prompt in longest}
    return _Evidence(
        (whole, cold), places, continuations, [dict(zip(prompts, forwards, strict=True)), backwards]
    )


def _places(server: Server, before: str) -> Iterator[_Place]:
    words = TEXT.split(" ")
    for cut in CUTS:
        prefix, following = before + " ".join(words[:cut]), " ".join(words[cut + 1 :][:FOLLOWING])
        logs = server.continuations(prefix, LIKELY)
        likely = [(token, _bits(log)) for token, log in logs.items()]
        yield _Place(prefix, following, sorted(likely, key=lambda pair: pair[1]))


def _continuations(place: _Place) -> Iterator[_Continuation]:
    """Yield the most likely whole words. If the server marks leading spaces, tokens without one are not words."""
    matches = [(match, bits) for token, bits in place.likely if (match := _WORD.fullmatch(token))]
    marked = any(match[1] for match, _ in matches)
    words = [(match[2], bits) for match, bits in matches if match[1] or not marked]
    for word, bits in words[:TAKEN]:
        yield _Continuation(place.prefix, word, f"{place.prefix} {word} {place.following}", bits)


def _read(evidence: _Evidence, dialect: Dialect) -> _Verdict:
    whole, cold = evidence.cold
    text = read_choice(cold, whole, dialect)
    rounds = [
        {prompt: read_choice(choice, prompt, dialect) for prompt, choice in choices.items()}
        for choices in evidence.rounds
    ]
    values = [(word, _echoed(word, rounds[0])) for word in evidence.continuations]
    compared = [(word, echoed) for word, echoed in values if echoed is not None]
    misplaced = [
        f"“{word.word}” after “…{word.prefix[-20:]}” has {word.bits:.2f} bits as the next token and {echoed:.2f} in "
        "the prompt"
        for word, echoed in compared
        if abs(word.bits - echoed) > HALF_TOLERANCE_BITS
    ]
    changed = _changed([text, *rounds[0].values(), *rounds[1].values()])
    return _Verdict(dialect, text, len(compared), misplaced[0] if misplaced else "", changed)


def _echoed(continuation: _Continuation, prompts: dict[str, Prompt]) -> float | None:
    """Return the bits of the word in its prompt; None unless it is a single token right after the prefix."""
    prefix, prompt = prompts[continuation.prefix], prompts[continuation.prompt]
    index = len(prefix.tokens)
    if prompt.tokens[:index] != prefix.tokens or index >= len(prompt.tokens):
        return None
    start, end = prompt.spans[index]
    log = prompt.logs[index]
    word_end = len(f"{continuation.prefix} {continuation.word}")
    if end != word_end or continuation.prompt[start:end].strip() != continuation.word:
        return None
    return math.inf if log is None else _bits(log)


def _changed(prompts: Sequence[Prompt]) -> str:
    """Name a token that has two values after the same tokens, or return ""."""
    bits_by_prefix: dict[tuple[str, ...], float] = {}
    for prompt in prompts:
        for index, log in enumerate(prompt.logs):
            key = tuple(prompt.tokens[: index + 1])
            bits = math.inf if log is None else _bits(log)
            before = bits_by_prefix.setdefault(key, bits)
            if before != bits and not abs(before - bits) <= HALF_TOLERANCE_BITS:
                return f"“{key[-1].strip()}”, token {index + 1}, had {before:.2f} bits and then {bits:.2f}"
    return ""


def _bits(log: float) -> float:
    return -log / math.log(2)


def _notes(verdict: _Verdict, places: Sequence[_Place]) -> tuple[str, ...]:
    notes = [
        f"Verified on {verdict.compared} words: a token has the same value in a prompt as when it is predicted as the "
        "next token, in whichever order the prompts are sent."
    ]
    if verdict.dialect.early:
        notes.append(
            "The server lists each value one token too early; values are reassigned to the right tokens."
        )
    if verdict.dialect.before and verdict.text.spans[0][0]:
        notes.append("The server omits the start token from its response, so the first token has no value.")
    text = mean(_bits(log) for log in verdict.text.logs[1:] if log is not None)
    word = mean(place.likely[0][1] for place in places if place.likely)
    if text < SURE_TEXT_BITS or word < SURE_WORD_BITS:
        notes.append(
            f"Warning: the server is implausibly confident. An ordinary text has {text:.2f} bits per token, and the "
            f"most likely next token has {word:.2f} bits. Unscaled logits have this effect; compare with a run of the "
            "same weights on this site."
        )
    return tuple(notes)
