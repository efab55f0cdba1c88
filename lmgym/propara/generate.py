"""Answers by a language model that gives nothing but surprisals: constrained choice. Pure.

For each participant the model is asked, as continuations of the paragraph read so far, whether it is there at the
beginning, what happens to it in each sentence (NONE, CREATE, MOVE, DESTROY) and where it is afterwards. Locations are
`spans` of the sentence at hand, or unknown. A choice costs its bits after the paragraph less its bits after the
question alone, so that frequent words are no advantage (pointwise mutual information; Holtzman et al. 2021). Of all
sequences of actions that are possible (what does not exist can only be created, and so on) the cheapest is taken
(Viterbi 1967); of equally cheap ones the first in the order given here. No sampling: the same model gives the same
answers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from lmgym.models.engine import ScoringFailure, TokenScores
from lmgym.propara.convert import Row, write_rows

PROMPT = "2026.1"
"""Version of the wording below, stored with everything that is generated."""
ACTION_WORDS = {
    "NONE": " is as it was.",
    "CREATE": " comes into being.",
    "MOVE": " goes to another place.",
    "DESTROY": " is no longer there.",
}
THERE, NOT_YET = " is there.", " does not exist yet."
SOMEWHERE = " somewhere."
SPAN_WORDS = 3
DIGITS = 4
"""Bits are rounded to this many decimals before they are compared, so that numeric noise decides nothing."""
_FUNCTION_TEXT = """
a an the this that these those its his her their your my our some any no each every all both and or but if then than as
so when while until because there here it he she they we you i him them who which what where of in into on onto to from
at by with for through under over out up down off between behind along inside outside near around above below across is
are was were be been being has have had do does did can will would may might must not more most very again
"""
_FUNCTION_WORDS = frozenset(_FUNCTION_TEXT.split())
_LEADING_TEXT = "a an the its his her their your my our this that these those some"
_LEADING = frozenset(_LEADING_TEXT.split())


class GenerationError(RuntimeError):
    """The model could not score a question."""


Scorer = Callable[[Sequence[str]], Sequence[TokenScores | ScoringFailure]]


@dataclass(frozen=True)
class Question:
    """`before`: sentences read so far. Each choice continues `stem`."""

    before: tuple[str, ...]
    stem: str
    choices: tuple[str, ...]

    def context(self, sentences: int) -> str:
        """The last so many sentences, and the stem."""
        read = self.before[len(self.before) - sentences :] if sentences else ()
        return " ".join([*read, self.stem])


class Choice(NamedTuple):
    """What was chosen, and by how many bits it beats the second best choice (0: nothing else was possible)."""

    participant: str
    step: int
    action: str
    location: str
    margin: float


@dataclass(frozen=True)
class Answer:
    text: str
    choices: tuple[Choice, ...]


def spans(sentence: str, limit: int = 24) -> list[str]:
    """Candidates for a place: every run of 1 to 3 words that neither crosses punctuation nor holds a function word,
    the words in lower case; longest first within a run, runs from left to right. A stand-in for noun phrases that
    needs no parser: it finds too many candidates rather than too few."""
    found: list[str] = []
    for clause in re.split(r"[^\w\s'’-]+", sentence.lower()):
        run: list[str] = []
        for word in [*clause.split(), "the"]:
            if word in _FUNCTION_WORDS:
                for size in range(min(SPAN_WORDS, len(run)), 0, -1):
                    found += [" ".join(run[at : at + size]) for at in range(len(run) - size + 1)]
                run = []
            else:
                run.append(word)
    return list(dict.fromkeys(found))[:limit]


def answer_process(
    process_id: int, sentences: Sequence[str], participants: Sequence[str], scorer: Scorer
) -> Answer:
    """Rows of an action file about one process. All texts of a process are scored together.

    Raises GenerationError when not even single sentences fit into the model."""
    questions = {
        (name, step, kind): question
        for name in participants
        for step in range(len(sentences) + 1)
        for kind, question in _questions(name, step, sentences)
    }
    costs = dict(zip(questions, _costs(list(questions.values()), scorer), strict=True))
    rows: list[Row] = []
    choices: list[Choice] = []
    for name in participants:
        mine = {(step, kind): costs[name, step, kind] for (who, step, kind) in costs if who == name}
        track, made = _decode(name, len(sentences), mine)
        rows += [(process_id, *row) for row in track]
        choices += made
    return Answer(write_rows(rows), tuple(choices))


def _questions(name: str, step: int, sentences: Sequence[str]) -> Iterable[tuple[str, Question]]:
    who = _noun(name)
    at = sentences[max(step, 1) - 1] if sentences else ""
    names = {part.strip().lower() for part in name.split(";")}
    places = tuple(f" in the {span}." for span in spans(at) if span not in names)
    if step == 0:
        yield "there", Question(tuple(sentences), f"At the beginning the {who}", (THERE, NOT_YET))
        yield "place", Question((at,), f"At the beginning the {who} is", (SOMEWHERE, *places))
        return
    read = tuple(sentences[:step])
    yield "action", Question(read, f"Now the {who}", tuple(ACTION_WORDS.values()))
    yield "place", Question(read, f"Now the {who} is", (SOMEWHERE, *places))


def _noun(name: str) -> str:
    """The first alternative, without article."""
    words = name.split(";")[0].split()
    return " ".join(words[1:] if len(words) > 1 and words[0].lower() in _LEADING else words)


# --- costs ---


def _costs(questions: Sequence[Question], scorer: Scorer) -> list[dict[str, float]]:
    """Bits of each choice after the paragraph less its bits after the stem alone."""
    alone = _bits([(question.stem, choice) for question in questions for choice in question.choices], scorer)
    found: list[dict[str, float]] = [{} for _ in questions]
    open_: list[int] = list(range(len(questions)))
    for shorten in (False, True):
        contexts = {k: questions[k].context(1 if shorten else len(questions[k].before)) for k in open_}
        bits = _bits([(contexts[k], choice) for k in open_ for choice in questions[k].choices], scorer)
        for k in open_:
            found[k] = {
                choice: round(bits[contexts[k], choice] - alone[questions[k].stem, choice], DIGITS)
                for choice in questions[k].choices
            }
        open_ = [k for k in open_ if not all(abs(cost) < inf for cost in found[k].values())]
        if not open_:
            return found
    raise GenerationError("Not even one sentence and a question fit into the model.")


def _bits(pairs: Sequence[tuple[str, str]], scorer: Scorer) -> dict[tuple[str, str], float]:
    """Sum of the bits of the tokens that reach into the continuation; infinite where there is no score."""
    unique = list(dict.fromkeys(pairs))
    found: dict[tuple[str, str], float] = {}
    scores = scorer([context + choice for context, choice in unique])
    for (context, choice), one in zip(unique, scores, strict=True):
        if isinstance(one, ScoringFailure):
            found[context, choice] = inf
            continue
        reached = [
            bits
            for (_, end), bits, special in zip(one.offsets, one.bits, one.special, strict=True)
            if end > len(context) and not special
        ]
        complete = [bits for bits in reached if bits is not None]
        found[context, choice] = sum(complete) if len(complete) == len(reached) else inf
    return found


# --- the cheapest possible track ---

_AFTER = {("NONE", False): False, ("NONE", True): True, ("CREATE", False): True, ("MOVE", True): True,
          ("DESTROY", True): False}  # fmt: skip
"""(action, does it exist before) -> does it exist after; all else is impossible."""


def _decode(
    name: str, steps: int, costs: dict[tuple[int, str], dict[str, float]]
) -> tuple[list[tuple[int, str, str, str, str]], list[Choice]]:
    action_costs = [
        {action: costs[step, "action"][words] for action, words in ACTION_WORDS.items()}
        for step in range(1, steps + 1)
    ]
    begin = {True: costs[0, "there"][THERE], False: costs[0, "there"][NOT_YET]}
    actions, existed, margins = _cheapest(begin, action_costs)
    place = _place(costs[0, "place"], "") if existed else "-"
    choices = [Choice(name, 0, "", place, margins[0])]
    rows = []
    for step, action in enumerate(actions, 1):
        before = place
        if action in ("CREATE", "MOVE"):
            place = _place(costs[step, "place"], before)
        elif action == "DESTROY":
            place = "-"
        rows.append((step, name, action, before, place))
        choices.append(Choice(name, step, action, place, margins[step]))
    return rows, choices


def _place(costs: dict[str, float], current: str) -> str:
    """The cheapest location other than the current one; `?` is always possible."""
    named = {
        ("?" if words == SOMEWHERE else words.removeprefix(" in the ").removesuffix(".")): cost
        for words, cost in costs.items()
    }
    open_ = {place: cost for place, cost in named.items() if place != current or place == "?"}
    return min(open_, key=lambda place: open_[place])


def _cheapest(
    begin: dict[bool, float], costs: Sequence[dict[str, float]]
) -> tuple[list[str], bool, list[float]]:
    """Actions, whether it exists at the beginning, and for each decision the margin to the next best choice."""
    forward: list[dict[bool, float]] = [dict(begin)]
    back: list[dict[bool, tuple[str, bool]]] = []
    for step in costs:
        now: dict[bool, float] = {}
        come: dict[bool, tuple[str, bool]] = {}
        for (action, before), after in _AFTER.items():
            total = round(forward[-1][before] + step[action], DIGITS)
            if total < now.get(after, inf):
                now[after], come[after] = total, (action, before)
        forward.append(now)
        back.append(come)
    last = min(forward[-1], key=lambda exists: (forward[-1][exists], not exists))
    actions: list[str] = []
    exists = last
    for come in reversed(back):
        action, exists = come[exists]
        actions.append(action)
    actions.reverse()
    return actions, exists, _margins(begin, costs, actions, exists)


def _margins(
    begin: dict[bool, float], costs: Sequence[dict[str, float]], actions: Sequence[str], existed: bool
) -> list[float]:
    """By how many bits each choice beats the next possible one, given what was chosen before."""
    found = [round(begin[not existed] - begin[existed], DIGITS)]
    exists = existed
    for step, action in zip(costs, actions, strict=True):
        others = [step[other] for (other, before) in _AFTER if before == exists and other != action]
        found.append(round(min(others) - step[action], DIGITS))
        exists = _AFTER[action, exists]
    return found
