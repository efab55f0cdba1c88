"""Reimplementation of the reference's evaluator and explainer, with identical reports, files, messages and exit codes.

Where the reference ends with a traceback, this module prints one line to stderr and exits with code 1.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, TextIO

from lmgym.propara.errors import Corrupted, Crash
from lmgym.propara.grid import (
    Grids,
    Sentences,
    differences_message,
    participant_differences,
    read_action_file,
    read_grids,
    read_sentences,
    read_text,
    sentences_missing,
)
from lmgym.propara.process_report import ProcessReport, evaluate_process
from lmgym.propara.scoring import QUESTIONS, Averages, Scores, averages_of
from lmgym.text import count
from lmgym.text.number_format import format_interval, score

# --- output, byte for byte ---

_DOUBLE, _SINGLE = "=" * 49, "-" * 49
_PADDING = " " * 26


def report_text(averages: Averages, n_predictions: int, n_answers: int) -> str:
    lines = [_DOUBLE, "Question     Avg. Precision  Avg. Recall  Avg. F1", _SINGLE]
    for name in QUESTIONS:
        scores = averages.questions[name]
        lines.append(
            f"{name.capitalize():<22}{scores.precision:4.3f}        {scores.recall:4.3f}    {scores.f1:4.3f}"
        )
    lines += [
        _SINGLE,
        f"Overall Precision {averages.precision:4.3f}{_PADDING}",
        f"Overall Recall    {averages.recall:4.3f}{_PADDING}",
        f"Overall F1        {averages.f1:4.3f}{_PADDING}",
        _DOUBLE,
        "",
        f"Evaluated {n_predictions} predictions against {n_answers} answers.",
        "",
    ]
    return "\n".join(lines) + "\n"


def metrics_json(averages: Averages) -> str:
    return json.dumps(averages.rounded())


def diagnostics_header(predictions_file: str, answers_file: str) -> str:
    return f"Diagnostics of evaluation of predictions in {predictions_file} against answers in {answers_file}\n\n"


def process_diagnostics(process: ProcessReport) -> str:
    """Format the diagnostics of a process with scores."""
    assert process.scores is not None
    data: dict[str, Any] = {
        "prediction_summary": process.prediction.as_dict(),
        "answer_summary": process.answer.as_dict(),
        "score": {
            "process_id": process.process_id,
            **{name: question_score._asdict() for name, question_score in process.scores.items()},
        },
    }
    if process.sentences:
        data["sentences"] = [
            {"step_number": number, "text": text} for number, text in enumerate(process.sentences, 1)
        ]
    return json.dumps(data, indent=4) + "\n"


def overall_diagnostics(averages: Averages) -> str:
    return json.dumps({"overall_scores": averages.rounded()}, indent=4) + "\n"


# --- evaluator ---


@dataclass(frozen=True)
class Paths:
    predictions: str
    answers: str
    output: str | None = None
    diagnostics: str | None = None
    sentences: str | None = None


class OutputFile:
    """A file opened for writing. Raises Crash on errors."""

    def __init__(self, path: str) -> None:
        self._path = path
        try:
            self._file = open(path, "w", encoding="utf-8")  # noqa: SIM115 (closed by close)
        except OSError as error:
            raise Crash(f"Cannot write {path}: {error.strerror}.") from error

    def write(self, text: str) -> None:
        try:
            self._file.write(text)
        except (OSError, UnicodeEncodeError) as error:
            raise self._failed(error) from error

    def close(self, *, late: bool = False) -> None:
        """Close the file. `late`: suppress errors, because another error is already being reported."""
        try:
            self._file.close()
        except OSError as error:
            if not late:
                raise self._failed(error) from error

    def _failed(self, error: OSError | UnicodeEncodeError) -> Crash:
        reason = error.strerror if isinstance(error, OSError) else "the text cannot be encoded as UTF-8"
        return Crash(f"Cannot write {self._path}: {reason}.")


class _Diagnostics(OutputFile):
    """Diagnostics file, written in the same chunks as by the reference: if `-o` names the same file, the result depends
    on when buffers are flushed."""

    def write(self, text: str) -> None:
        super().write(text.removesuffix("\n"))
        super().write("\n")


def write_file(path: str, text: str) -> None:
    file = OutputFile(path)
    try:
        file.write(text)
    except Crash:
        file.close(late=True)
        raise
    file.close()


def run(paths: Paths, out: TextIO, err: TextIO, resamples: int = 0) -> int:
    """Evaluate, print the report and return the exit code. With `resamples`, intervals follow the report."""
    try:
        scores = _run(paths, out)
        if resamples:
            out.write(_intervals_text(scores, resamples))
    except Corrupted as error:
        return error.exit_code
    except Crash as error:
        print(f"Error: {error}", file=err)
        return error.exit_code
    except UnicodeEncodeError:
        print("Error: A file name cannot be printed.", file=err)
        return Crash.exit_code
    return 0


def _run(paths: Paths, out: TextIO) -> list[Scores]:
    diagnostics: OutputFile | None = None
    try:
        if paths.diagnostics:
            diagnostics = _Diagnostics(paths.diagnostics)
            print(f"Writing diagnostics to file {paths.diagnostics}", file=out)
            diagnostics.write(diagnostics_header(paths.predictions, paths.answers))
        scores = _evaluate(paths, diagnostics, out)
    except (Corrupted, Crash) as error:
        if isinstance(error, Corrupted):
            print(error, file=out)
        if diagnostics:
            out.flush()  # same order as the reference, which flushes its buffers when it exits early
            diagnostics.close(late=True)
        raise
    if diagnostics:
        diagnostics.close()
    return scores


def _evaluate(paths: Paths, diagnostics: OutputFile | None, out: TextIO) -> list[Scores]:
    sentences: Sentences = {}
    if diagnostics and paths.sentences:
        sentences = read_sentences(read_text(paths.sentences), paths.sentences)
    predictions = _grids(paths.predictions)
    answers = _grids(paths.answers)
    if lines := participant_differences(answers, predictions, paths.predictions):
        raise Corrupted(differences_message(lines, paths.answers, paths.predictions))
    scores: list[Scores] = []
    for pid, grid in answers.items():
        process = evaluate_process(grid, predictions[pid], sentences.get(pid, ()))
        if process.scores is None:
            failure = process.error
            assert failure is not None
            raise Crash(f"Process {pid} has no score ({failure.code}): {failure.message}") from failure
        scores.append(process.scores)
        if diagnostics:
            if sentences and pid not in sentences:
                raise sentences_missing(paths.sentences or "", pid)
            diagnostics.write(process_diagnostics(process))
    averages = averages_of(scores)
    out.write(report_text(averages, len(predictions), len(answers)))
    if paths.output:
        print(f"Writing results to file: {paths.output}", file=out)
        write_file(paths.output, metrics_json(averages))
    if diagnostics:
        diagnostics.write(overall_diagnostics(averages))
    return scores


def _grids(path: str) -> Grids:
    return read_grids(read_action_file(path), path)


def _intervals_text(scores: list[Scores], resamples: int) -> str:
    from lmgym.propara.bootstrap import intervals, matrix_of  # numpy is slow to import and rarely needed here

    if len(scores) < 2:
        return "No intervals: they need at least two processes.\n"
    overall = intervals(matrix_of(scores), resamples)
    lines = [
        f"95% intervals from {count(resamples, 'resample')} of {count(len(scores), 'process', 'processes')}:"
    ]
    for label, bounds in (("Precision", overall.precision), ("Recall", overall.recall), ("F1", overall.f1)):
        lines.append(f"Overall {label:<9} {format_interval(bounds.low, bounds.high, score)}")
    return "\n".join(lines) + "\n"


# --- explainer ---


def explain(text: str) -> list[str]:
    """Describe each event in a sentence, sorted by process, sentence and text. Raises Crash.

    Unknown actions are ignored. As on the reference's standard input, only a line feed ends a line; in files a single
    CR ends a line as well.
    """
    events: list[tuple[int, int, str]] = []
    for number, line in enumerate(text.removesuffix("\n").split("\n") if text else (), 1):
        fields = line.strip().split("\t")
        if len(fields) != 6:
            raise Crash(
                f"Line {number} has {count(len(fields), 'column')}, not 6 (trailing empty cells do not count)."
            )
        process, step, participant, action, before, after = fields
        event = event_sentence(participant, action, before, after)
        if event:
            try:
                order = (int(process), int(step))
            except ValueError:
                raise Crash(f"Line {number}: process and sentence must be whole numbers.") from None
            events.append((*order, f"In paragraph {process}, sentence {step}, {event}"))
    return [sentence for _, _, sentence in sorted(events)]


def event_sentence(participant: str, action: str, before: str, after: str) -> str:
    """Describe a row, or return an empty string for NONE."""
    before, after = (_place(location) for location in (before, after))
    if action == "CREATE":
        return f"the participant `{participant}` is created at `{after}`"
    if action == "DESTROY":
        return f"the participant `{participant}` is destroyed at `{before}`"
    if action == "MOVE":
        return f"the participant `{participant}` is moved from `{before}` to `{after}`"
    return ""


def _place(location: str) -> str:
    return "an unknown location" if location == "?" else location
