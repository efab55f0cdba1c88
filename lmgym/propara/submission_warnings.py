"""Warnings about gaming and contradictory states in a submission that can be scored.

Warnings never change scores: the official ProStruct submission has 168 chain breaks and must keep its score.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from lmgym.propara.check import FileRow, read_rows
from lmgym.propara.grid import ABSENT, UNKNOWN, Grid, Grids, implied_action
from lmgym.propara.process_report import ProcessReport, pair_score
from lmgym.propara.scoring import QUESTIONS, by_step, order_decides, step_of
from lmgym.propara.terms import location_terms
from lmgym.text import quoted

CODES = {
    "no-score": "the reference's arithmetic fails for this process",
    "pair-above-one": "a pair of items scores above 1",
    "pair-below-zero": "a pair of items scores below 0",
    "location-variants": "several names of one location have the same normalised form",
    "equal-counts": "recall was copied from precision because the counts are equal, but differs if computed",
    "order-decides": "two conversions have the same names in a different order, which the reference does not match",
    "all-none": "no row has an action other than NONE",
    "literal-token": "a location is literally null or unk, which is read as - or ?",
    "chain-break": "the location before a step differs from the location after the previous step",
    "action-state": "the action contradicts the locations",
    "sentences-from-zero": "sentences are numbered from 0: the evaluator counts from 1, so every event is one step"
    " early and those of the first sentence are lost",
    "missing-row": "a step has no row: it counts as NONE with an unknown location",
    "duplicate-row": "a step has several rows: the last one counts",
    "extra-row": "a step or process is not in the answers",
}


@dataclass(frozen=True)
class SubmissionWarning:
    """A warning. `code` is a key of CODES. Fields that do not apply are None or empty."""

    code: str
    message: str
    process_id: int | None = None
    participant: str = ""
    step: int | None = None
    line: int | None = None

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "meaning": CODES[self.code]}


def submission_warnings(
    text: str, answers: Grids, predictions: Grids, processes: Sequence[ProcessReport]
) -> list[SubmissionWarning]:
    """Return all warnings about predictions, which are passed as text and as grids."""
    warnings: list[SubmissionWarning] = []
    if all(
        action == "NONE"
        for grid in predictions.values()
        for actions in grid.actions.values()
        for action in actions
    ):
        warnings.append(
            SubmissionWarning(
                "all-none", "Every action is NONE: precision is high because nothing is predicted."
            )
        )
    warnings += _row_warnings(read_rows(text, "predictions")[0], answers)
    for process in processes:
        warnings += _state_warnings(process.prediction_grid)
        warnings += _score_warnings(process)
    return warnings


def _row_warnings(rows: list[FileRow], answers: dict[int, Grid]) -> Iterator[SubmissionWarning]:
    tracks: dict[tuple[int, str], dict[int, FileRow]] = defaultdict(dict)
    for row in rows:
        track = tracks[row.process_id, row.participant]
        if row.step in track:
            message = f"Line {row.line} replaces line {track[row.step].line}."
            yield _at(row, "duplicate-row", message)
        track[row.step] = row
        for location in (row.before, row.after):
            if location in (ABSENT, UNKNOWN):
                sign = "-" if location == ABSENT else "?"
                yield _at(row, "literal-token", f"{quoted(location)} is read as {sign}.")
                break
        if row.process_id not in answers:
            yield _at(row, "extra-row", f"Process {row.process_id} is not in the answers and not scored.")
        elif row.step > answers[row.process_id].steps:
            yield _at(row, "extra-row", f"The answers end at step {answers[row.process_id].steps}.")
    for process_id in sorted({row.process_id for row in rows if row.step == 0}):
        yield SubmissionWarning(
            "sentences-from-zero",
            f"The sentences of process {process_id} are numbered from 0.",
            process_id,
            step=0,
        )
    for (process_id, participant), track in tracks.items():
        yield from _track_warnings(process_id, participant, track, answers)


def _track_warnings(
    process_id: int, participant: str, track: dict[int, FileRow], answers: dict[int, Grid]
) -> Iterator[SubmissionWarning]:
    steps = answers[process_id].steps if process_id in answers else 0
    for step in range(1, steps + 1):
        if step not in track:
            message = f"Step {step} has no row."
            yield SubmissionWarning("missing-row", message, process_id, participant, step)
    for step, row in sorted(track.items()):
        previous = track.get(step - 1)
        if previous and previous.after != row.before:
            yield _at(
                row,
                "chain-break",
                f"{quoted(row.before)} before step {step}, but {quoted(previous.after)} after step {step - 1}.",
            )


def _at(row: FileRow, code: str, message: str) -> SubmissionWarning:
    return SubmissionWarning(code, message, row.process_id, row.participant, row.step, row.line)


def _state_warnings(grid: Grid) -> Iterator[SubmissionWarning]:
    for participant, where in grid.locations.items():
        for step, action in enumerate(grid.actions[participant], 1):
            implied = implied_action(where[step - 1], where[step])
            stays = action == "MOVE" and implied == "NONE" and where[step] != ABSENT
            if action != implied and not stays:
                places = f"from {quoted(where[step - 1])} to {quoted(where[step])}"
                message = f"The action is {action}, but {places} is {implied}."
                yield SubmissionWarning("action-state", message, grid.process_id, participant, step)


def _score_warnings(process: ProcessReport) -> Iterator[SubmissionWarning]:
    pid = process.process_id
    if process.error:
        yield SubmissionWarning("no-score", process.error.message, pid)
    for item in process.prediction.conversions:
        terms = location_terms(item.location)
        if len(set(terms)) < len(terms):
            message = f"{quoted(item.location)} contains several names of one location."
            yield SubmissionWarning("location-variants", message, pid, step=item.step)
    yield from _order_warnings(process)
    for question in QUESTIONS:
        scores = _pair_scores(process, question)
        if any(value > 1 for row in scores for value in row):
            yield SubmissionWarning("pair-above-one", f"A pair of {question} scores above 1.", pid)
        if any(value < 0 for row in scores for value in row):
            yield SubmissionWarning("pair-below-zero", f"A pair of {question} scores below 0.", pid)
        is_equal_count = len(scores) == len(process.prediction.items(question))
        if scores and process.scores and is_equal_count:
            computed = sum(max([0.0, *row]) for row in scores) / len(scores)
            copied = process.scores[question].recall
            if abs(computed - copied) > 1e-9:
                message = (
                    f"Recall of {question} is {copied:.3f}, copied from precision; computed: {computed:.3f}."
                )
                yield SubmissionWarning("equal-counts", message, pid)


def _order_warnings(process: ProcessReport) -> Iterator[SubmissionWarning]:
    """Yield warnings for conversions where the order of rows affects the reference's score."""
    answers = {item.step: item for item in process.answer.conversions}
    for item in process.prediction.conversions:
        other = answers.get(item.step)
        if other and order_decides(other, item):
            message = (
                "The names or locations are in a different order from the answers, which changes the score."
            )
            yield SubmissionWarning("order-decides", message, process.process_id, step=item.step)


def _pair_scores(process: ProcessReport, question: str) -> list[list[float]]:
    """Return each answer's scores with the predictions for its step; pairs of different steps score 0. Empty if there
    is nothing to compare. A division by zero counts as 0.
    """
    answers, predictions = process.answer.items(question), process.prediction.items(question)
    if not answers or not predictions:
        return []
    predictions_by_step = by_step(predictions)
    return [
        [
            pair_score(question, answer, prediction)
            for prediction in predictions_by_step.get(step_of(answer), ())
        ]
        for answer in answers
    ]
