"""The reference's command: the same report, files, messages and exit codes, in the same order. Pure.

What ends with a traceback there ends here with one line on standard error and exit code 1.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import NamedTuple, TextIO

from gym.propara import render
from gym.propara.errors import Corrupted, Crash, ProcessFailure
from gym.propara.grid import Grid, differences_message, participant_differences, read_text
from gym.propara.scoring import Averager, Averages, score
from gym.propara.sentences import Sentences, read_sentences, sentences_missing
from gym.propara.stream import Unusual, grids_of, in_step
from gym.propara.summary import summarise


class Paths(NamedTuple):
    predictions: str
    answers: str
    output: str | None = None
    diagnostics: str | None = None
    sentences: str | None = None


def run(paths: Paths, out: TextIO, err: TextIO) -> int:
    """Evaluate and print; the exit code."""
    diagnostics: TextIO | None = None
    try:
        if paths.diagnostics:
            diagnostics = open_for_writing(paths.diagnostics)
            print(f"Writing diagnostics to file {paths.diagnostics}", file=out)
            diagnostics.write(render.diagnostics_header(paths.predictions, paths.answers))
        _evaluate(paths, diagnostics, out)
    except Corrupted as error:
        print(error, file=out)
        return error.exit_code
    except Crash as error:
        print(f"Error: {error}", file=err)
        return error.exit_code
    finally:
        if diagnostics:
            diagnostics.close()
    return 0


def open_for_writing(path: str) -> TextIO:
    try:
        return open(path, "w", encoding="utf-8")
    except OSError as error:
        raise Crash(f"Cannot write {path}: {error.strerror}.") from error


def _evaluate(paths: Paths, diagnostics: TextIO | None, out: TextIO) -> None:
    sentences: Sentences = {}
    if diagnostics and paths.sentences:
        sentences = read_sentences(read_text(paths.sentences), paths.sentences)
    averages, n_predictions, n_answers = _scored(paths, sentences, diagnostics)
    out.write(render.report_text(averages, n_predictions, n_answers))
    if paths.output:
        print(f"Writing results to file: {paths.output}", file=out)
        with open_for_writing(paths.output) as file:
            file.write(render.metrics_json(averages))
    if diagnostics:
        diagnostics.write(render.overall_diagnostics(averages))


def _scored(paths: Paths, sentences: Sentences, diagnostics: TextIO | None) -> tuple[Averages, int, int]:
    """Averages and the numbers of predictions and answers; process by process where the files allow it."""
    start = diagnostics.tell() if diagnostics else 0
    try:
        return _in_one_pass(paths, _Scorer(paths, sentences, diagnostics))
    except (Unusual, Corrupted, Crash, OSError, UnicodeDecodeError):
        if diagnostics:
            diagnostics.seek(start)
            diagnostics.truncate()
    return _in_full(paths, _Scorer(paths, sentences, diagnostics))


class _Scorer:
    """Scores processes one after the other and writes their diagnostics."""

    def __init__(self, paths: Paths, sentences: Sentences, diagnostics: TextIO | None) -> None:
        self.averager = Averager()
        self._paths = paths
        self._sentences = sentences
        self._write: Callable[[str], int] | None = diagnostics.write if diagnostics else None

    def add(self, answer_grid: Grid, prediction_grid: Grid) -> None:
        answer, prediction = summarise(answer_grid), summarise(prediction_grid)
        pid = answer.process_id
        try:
            scores = score(answer, prediction)
        except ProcessFailure as failure:
            raise Crash(f"Process {pid} has no score ({failure.code}): {failure.message}") from failure
        self.averager.add(scores)
        if self._write is None:
            return
        if self._sentences and pid not in self._sentences:
            raise sentences_missing(self._paths.sentences or "", pid)
        self._write(render.process_diagnostics(prediction, answer, scores, self._sentences.get(pid)))


def _in_one_pass(paths: Paths, scorer: _Scorer) -> tuple[Averages, int, int]:
    """Nothing here refers to itself, so the collector of cycles would look at many lists for nothing."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        return _side_by_side(paths, scorer)
    finally:
        if collecting:
            gc.enable()


def _side_by_side(paths: Paths, scorer: _Scorer) -> tuple[Averages, int, int]:
    with (
        open(paths.answers, encoding="utf-8") as answers,
        open(paths.predictions, encoding="utf-8") as predictions,
    ):
        for answer, prediction in in_step(answers, predictions):
            scorer.add(answer, prediction)
    return scorer.averager.averages(), scorer.averager.n, scorer.averager.n


def _in_full(paths: Paths, scorer: _Scorer) -> tuple[Averages, int, int]:
    predictions = grids_of(read_text(paths.predictions), paths.predictions)
    answers = grids_of(read_text(paths.answers), paths.answers)
    if lines := participant_differences(answers, predictions, paths.predictions):
        raise Corrupted(differences_message(lines, paths.answers, paths.predictions))
    for process_id, grid in answers.items():
        scorer.add(grid, predictions[process_id])
    return scorer.averager.averages(), len(predictions), len(answers)
