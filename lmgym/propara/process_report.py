"""Evaluate one process: summaries, scores, corrected scores, and pairs of items with reasons for their scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

from lmgym.propara.corrected import corrected_process
from lmgym.propara.errors import ProcessFailure
from lmgym.propara.grid import ABSENT, UNKNOWN, Grid
from lmgym.propara.mistakes import mistakes
from lmgym.propara.scoring import PAIR_SCORES, QUESTIONS, Scores, by_step, score, step_of
from lmgym.propara.summary import Conversion, Move, Summary, summarise
from lmgym.propara.terms import (
    Terms,
    location_overlap,
    location_terms,
    participant_overlap,
    participant_terms,
)

# --- pairs of answer and prediction ---


@dataclass(frozen=True)
class Part:
    """One comparison within a pair. `score` is None where the reference divides by zero."""

    name: str
    answer: str
    prediction: str
    score: float | None
    reason: str


@dataclass(frozen=True)
class Pair:
    answer: Any
    prediction: Any
    score: float | None
    parts: tuple[Part, ...]
    reason: str

    def as_dict(self) -> dict[str, Any]:
        return {
            "answer": _plain(self.answer),
            "prediction": _plain(self.prediction),
            "score": self.score,
            "reason": self.reason,
            "parts": [vars(part) for part in self.parts],
        }


def _plain(item: Any) -> Any:
    """Return conversions and moves as dictionaries, and names unchanged."""
    return item if isinstance(item, str) else item._asdict()


MANY_PAIRS = 20_000
"""Number of pairs above which pairs of different steps, which score 0, are omitted."""
MAX_LISTED = 2_000
MAX_DETAILED = 1_000
"""Maximum number of pairs per question in `ProcessReport.details`."""


def pairs(question: str, answer: Summary, prediction: Summary) -> list[Pair]:
    """Return all pairs, ordered by prediction. If there are more than MANY_PAIRS, return only the first MAX_LISTED
    pairs whose steps are equal.
    """
    mine, theirs = prediction.items(question), answer.items(question)
    candidates = ((a, p) for p in mine for a in theirs)
    if len(mine) * len(theirs) > MANY_PAIRS:
        candidates = islice(_of_equal_step(theirs, mine), MAX_LISTED)  # type: ignore[assignment]
    return [_pair(question, a, p) for a, p in candidates]


def _of_equal_step(answers: Sequence[Any], predictions: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    answers_by_step = by_step(answers)
    yield from ((a, p) for p in predictions for a in answers_by_step.get(step_of(p), ()))


@dataclass(frozen=True)
class Match:
    """An item with its best partner. If every pair scores 0, it has no partner and scores 0."""

    item: Any
    partner: Any = None
    score: float = 0.0


def best_matches(question: str, answer: Summary, prediction: Summary) -> tuple[list[Match], list[Match]]:
    """Match each answer with its best prediction and each prediction with its best answer. Partners can be shared."""
    theirs, mine = answer.items(question), prediction.items(question)
    answers, predictions = {item: Match(item) for item in theirs}, {item: Match(item) for item in mine}
    for a, p in _of_equal_step(theirs, mine):
        score = pair_score(question, a, p)
        if score > answers[a].score:
            answers[a] = Match(a, p, score)
        if score > predictions[p].score:
            predictions[p] = Match(p, a, score)
    return [answers[item] for item in theirs], [predictions[item] for item in mine]


def pair_score(question: str, answer: Any, prediction: Any) -> float:
    """Return the score of a pair; 0 where the reference divides by zero."""
    try:
        return PAIR_SCORES[question](answer, prediction)
    except ProcessFailure:
        return 0.0


def _pair(question: str, answer: Any, prediction: Any) -> Pair:
    if step_of(answer) != step_of(prediction):
        return Pair(answer, prediction, 0.0, (), f"different steps: {answer.step} and {prediction.step}")
    parts = _parts(answer, prediction)
    try:
        score: float | None = PAIR_SCORES[question](answer, prediction)
    except ProcessFailure as error:
        return Pair(answer, prediction, None, parts, error.message)
    assert score is not None
    reason = "all parts match" if all(part.score == 1 for part in parts) else ""
    if score > 1:
        reason = "above 1: several terms match the same term, and the reference counts each one"
    elif score < 0:
        reason = "below 0, counted as 0: more matches than terms"
    return Pair(answer, prediction, score, parts, reason)


def _parts(answer: Any, prediction: Any) -> tuple[Part, ...]:
    if isinstance(answer, Conversion):
        return (
            _part("location", answer.location, prediction.location, location=True),
            _part("destroyed", answer.destroyed, prediction.destroyed),
            _part("created", answer.created, prediction.created),
        )
    if isinstance(answer, Move):
        return (
            _part("participant", answer.participants, prediction.participants),
            _part("location before", answer.before, prediction.before, location=True),
            _part("location after", answer.after, prediction.after, location=True),
        )
    return (_part("participant", answer, prediction),)


def _part(name: str, answer: str, prediction: str, *, location: bool = False) -> Part:
    overlap, terms = (
        (location_overlap, location_terms) if location else (participant_overlap, participant_terms)
    )
    try:
        score: float | None = overlap(answer, prediction)
    except ProcessFailure as error:
        return Part(name, answer, prediction, None, error.message)
    if answer == prediction:
        return Part(name, answer, prediction, score, "equal as written")
    return Part(name, answer, prediction, score, _reason(terms(answer), terms(prediction), location))


def _reason(answer: Terms, prediction: Terms, location: bool) -> str:
    shared = sorted({item for mine in prediction for theirs in answer for item in mine & theirs})
    if shared:
        quoted = ", ".join(f"`{item}`" for item in shared)
        return f"both normalise to {quoted}" if location else f"both have {quoted}"
    if not location:
        return "no name in common"
    return f"normalised to {_in_words(answer)} and {_in_words(prediction)}"


def _in_words(terms: Terms) -> str:
    return " and ".join(" or ".join(_quoted(item) for item in sorted(term)) for term in terms)


def _quoted(item: str) -> str:
    return {ABSENT: "nowhere", UNKNOWN: "an unknown place"}.get(item, f"`{item}`")


# --- process ---


@dataclass(frozen=True)
class ProcessReport:
    """A process with its scores. `scores` is None, and `error` set, where the reference's arithmetic fails."""

    answer_grid: Grid
    prediction_grid: Grid
    answer: Summary
    prediction: Summary
    scores: Scores | None
    error: ProcessFailure | None
    sentences: tuple[str, ...] = ()

    @property
    def process_id(self) -> int:
        return self.answer.process_id

    @cached_property
    def corrected(self) -> Scores:
        return corrected_process(self.answer, self.prediction)

    def matches(self, question: str) -> tuple[list[Match], list[Match]]:
        """Match each answer with its best prediction and each prediction with its best answer."""
        return best_matches(question, self.answer, self.prediction)

    def pairs(self, question: str) -> list[Pair]:
        """Return the pairs of answers and predictions for a question, each with its score, its parts and a reason; not
        all of them if there are very many (see the function `pairs`)."""
        return pairs(question, self.answer, self.prediction)

    def as_dict(self) -> dict[str, Any]:
        return {
            "process_id": self.process_id,
            "scores": {name: score._asdict() for name, score in self.scores.items()} if self.scores else None,
            "error": {"code": self.error.code, "message": self.error.message} if self.error else None,
            "corrected": {name: score._asdict() for name, score in self.corrected.items()},
            "answer": self.answer.as_dict(),
            "prediction": self.prediction.as_dict(),
        }

    def details(self) -> dict[str, Any]:
        """Return `as_dict` plus sentences, grids, mistakes and the pairs of each question."""
        return {
            **self.as_dict(),
            "sentences": list(self.sentences),
            "answer_grid": self.answer_grid.as_dict(),
            "prediction_grid": self.prediction_grid.as_dict(),
            "mistakes": [mistake._asdict() for mistake in mistakes(self.answer_grid, self.prediction_grid)],
            "questions": {name: self._question(name) for name in QUESTIONS},
        }

    def _question(self, name: str) -> dict[str, Any]:
        answers, predictions = self.matches(name)
        return {
            "pairs": [pair.as_dict() for pair in self.pairs(name)[:MAX_DETAILED]],
            "missed": [_plain(match.item) for match in answers if not match.score],
            "spurious": [_plain(match.item) for match in predictions if not match.score],
        }


def evaluate_process(
    answer_grid: Grid, prediction_grid: Grid, sentences: tuple[str, ...] = ()
) -> ProcessReport:
    """Summarise and score one process."""
    answer, prediction = summarise(answer_grid), summarise(prediction_grid)
    scores: Scores | None = None
    failure: ProcessFailure | None = None
    try:
        scores = score(answer, prediction)
    except ProcessFailure as error:
        failure = error
    return ProcessReport(answer_grid, prediction_grid, answer, prediction, scores, failure, sentences)
