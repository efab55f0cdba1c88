"""Warnings about a submission that can be scored: gaming, and states that contradict each other. Pure.

A warning never changes a number. The official ProStruct submission has 168 breaks in its chains of locations and must
score as it always did.
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
    "location-variants": "one place is named in several ways that normalise to the same",
    "equal-counts": "recall was taken from precision because the counts are equal, and is not what a count gives",
    "order-decides": "two conversions name the same things in another order, and for the reference that is no match",
    "all-none": "no row has an action other than NONE",
    "literal-token": "a location is literally null or unk and is read as - or ?",
    "chain-break": "a row's location before is not the previous row's location after",
    "action-state": "the action is not what the locations say",
    "sentences-from-zero": "your sentences begin at 0: the evaluator counts from 1, reads every event one step"
    " early and loses those of the first sentence",
    "missing-row": "a step has no row and counts as NONE with an unknown location",
    "duplicate-row": "a step has several rows; the last one counts",
    "extra-row": "a step or process that the answers do not have",
}


@dataclass(frozen=True)
class SubmissionWarning:
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
    """Of predictions as text and as grids."""
    found: list[SubmissionWarning] = []
    if all(
        action == "NONE"
        for grid in predictions.values()
        for actions in grid.actions.values()
        for action in actions
    ):
        found.append(
            SubmissionWarning(
                "all-none", "Every action is NONE: precision is high because nothing is claimed."
            )
        )
    found += _row_warnings(read_rows(text, "predictions")[0], answers)
    for process in processes:
        found += _state_warnings(process.prediction_grid)
        found += _score_warnings(process)
    return found


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
            yield _at(row, "extra-row", f"The answers have no process {row.process_id}; it is not scored.")
        elif row.step > answers[row.process_id].steps:
            yield _at(row, "extra-row", f"The answers end at step {answers[row.process_id].steps}.")
    for process_id in sorted({row.process_id for row in rows if row.step == 0}):
        yield SubmissionWarning(
            "sentences-from-zero", f"The sentences of process {process_id} begin at 0.", process_id, step=0
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
                f"{quoted(row.before)} before, but {quoted(previous.after)} after step {step - 1}.",
            )


def _at(row: FileRow, code: str, message: str) -> SubmissionWarning:
    return SubmissionWarning(code, message, row.process_id, row.participant, row.step, row.line)


def _state_warnings(grid: Grid) -> Iterator[SubmissionWarning]:
    for participant, where in grid.locations.items():
        for step, action in enumerate(grid.actions[participant], 1):
            implied = implied_action(where[step - 1], where[step])
            stays = action == "MOVE" and implied == "NONE" and where[step] != ABSENT
            if action != implied and not stays:
                message = (
                    f"{action}, but from {quoted(where[step - 1])} to {quoted(where[step])} is {implied}."
                )
                yield SubmissionWarning("action-state", message, grid.process_id, participant, step)


def _score_warnings(process: ProcessReport) -> Iterator[SubmissionWarning]:
    pid = process.process_id
    if process.error:
        yield SubmissionWarning("no-score", process.error.message, pid)
    for item in process.prediction.conversions:
        terms = location_terms(item.location)
        if len(set(terms)) < len(terms):
            message = f"{quoted(item.location)} names one place in several ways."
            yield SubmissionWarning("location-variants", message, pid, step=item.step)
    yield from _order_warnings(process)
    for question in QUESTIONS:
        scores = _pair_scores(process, question)
        if any(one > 1 for row in scores for one in row):
            yield SubmissionWarning("pair-above-one", f"A pair of {question} scores above 1.", pid)
        if any(one < 0 for row in scores for one in row):
            yield SubmissionWarning("pair-below-zero", f"A pair of {question} scores below 0.", pid)
        alike = len(scores) == len(process.prediction.items(question))
        if scores and process.scores and alike:
            counted = sum(max([0.0, *row]) for row in scores) / len(scores)
            given = process.scores[question].recall
            if abs(counted - given) > 1e-9:
                message = f"Recall of {question} is given as {given:.3f}; counted, it is {counted:.3f}."
                yield SubmissionWarning("equal-counts", message, pid)


def _order_warnings(process: ProcessReport) -> Iterator[SubmissionWarning]:
    """The only places where the order of rows plays a part in the reference's score."""
    answers = {item.step: item for item in process.answer.conversions}
    for item in process.prediction.conversions:
        other = answers.get(item.step)
        if other and order_decides(other, item):
            message = "The same names or places come in another order than in the answers, and that changes the score."
            yield SubmissionWarning("order-decides", message, process.process_id, step=item.step)


def _pair_scores(process: ProcessReport, question: str) -> list[list[float]]:
    """For each answer its scores with the predictions of its step (elsewhere they are 0); empty where there is nothing
    to compare. A division by zero counts as 0 here."""
    answers, predictions = process.answer.items(question), process.prediction.items(question)
    if not answers or not predictions:
        return []
    found = by_step(predictions)
    return [
        [pair_score(question, answer, prediction) for prediction in found.get(step_of(answer), ())]
        for answer in answers
    ]
