"""The reference's command: the same report, files, messages and exit codes, in the same order. Pure.

What ends with a traceback there ends here with one line on standard error and exit code 1. Well-formed files are scored
process by process (gym.propara.quick, or gym.propara.stream with diagnostics); all others are read in full.
"""

from __future__ import annotations

import gc
import os

from gym.propara import render
from gym.propara.averages import Averager
from gym.propara.blocks import Unusual
from gym.propara.errors import Corrupted, Crash, ProcessFailure
from gym.propara.parts import scores_in_parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TextIO

    from gym.propara.averages import Averages
    from gym.propara.grid import Grid
    from gym.propara.sentences import Sentences

    Scored = tuple[Averages, int, int]
    """Averages and the numbers of predictions and answers."""
    Kept = list[Sequence[tuple[float, float]]] | None
    """The scores of each process, for what follows the report."""


class Paths:
    def __init__(
        self,
        predictions: str,
        answers: str,
        output: str | None = None,
        diagnostics: str | None = None,
        sentences: str | None = None,
    ) -> None:
        self.predictions = predictions
        self.answers = answers
        self.output = output
        self.diagnostics = diagnostics
        self.sentences = sentences


class OutputFile:
    """A file that is being written; what goes wrong with it is a Crash."""

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
        """`late`: something else went wrong before, and is reported."""
        try:
            self._file.close()
        except OSError as error:
            if not late:
                raise self._failed(error) from error

    def _failed(self, error: OSError | UnicodeEncodeError) -> Crash:
        reason = error.strerror if isinstance(error, OSError) else "it would not be UTF-8"
        return Crash(f"Cannot write {self._path}: {reason}.")


class _Diagnostics(OutputFile):
    """Written in the reference's pieces, so that its buffer fills as the reference's does. It shows where `-o` names
    the same file."""

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


def run(paths: Paths, out: TextIO, err: TextIO, kept: Kept = None) -> int:
    """Evaluate and print; the exit code. `kept` is filled: files may be such as can be read only once."""
    try:
        _run(paths, out, kept)
    except Corrupted as error:
        return error.exit_code
    except Crash as error:
        print(f"Error: {error}", file=err)
        return error.exit_code
    except UnicodeEncodeError:
        print("Error: The name of a file is not text that can be printed.", file=err)
        return Crash.exit_code
    return 0


def _run(paths: Paths, out: TextIO, kept: Kept) -> None:
    diagnostics: OutputFile | None = None
    try:
        if paths.diagnostics:
            diagnostics = _Diagnostics(paths.diagnostics)
            print(f"Writing diagnostics to file {paths.diagnostics}", file=out)
            diagnostics.write(render.diagnostics_header(paths.predictions, paths.answers))
        _evaluate(paths, diagnostics, out, kept)
    except (Corrupted, Crash) as error:
        if isinstance(error, Corrupted):
            print(error, file=out)
        if diagnostics:
            out.flush()  # in this order the reference's buffers are emptied when it ends early
            diagnostics.close(late=True)
        raise
    if diagnostics:
        diagnostics.close()


def _evaluate(paths: Paths, diagnostics: OutputFile | None, out: TextIO, kept: Kept) -> None:
    averages, n_predictions, n_answers = _scored(paths, diagnostics, kept)
    out.write(render.report_text(averages, n_predictions, n_answers))
    if paths.output:
        print(f"Writing results to file: {paths.output}", file=out)
        write_file(paths.output, render.metrics_json(averages))
    if diagnostics:
        diagnostics.write(render.overall_diagnostics(averages))


def _scored(paths: Paths, diagnostics: OutputFile | None, kept: Kept) -> Scored:
    """Process by process where the files allow it. As in the reference, both files are read to their end before
    anything is said about a process: what is written to a pipe cannot be taken back."""
    if diagnostics is None:
        try:
            return _quickly(paths, kept)
        except (Unusual, ProcessFailure, OSError, UnicodeDecodeError):
            return _in_full(paths, _Scorer(paths, {}, None, kept))
    scorer = _Scorer(paths, _sentences(paths), diagnostics, kept)
    return _described(paths, scorer) if _in_step(paths) else _in_full(paths, scorer)


def _again(paths: Paths) -> bool:
    """Can both files be opened more than once? A named pipe whose writer is done never opens again."""
    return os.path.isfile(paths.answers) and os.path.isfile(paths.predictions)


def _in_step(paths: Paths) -> bool:
    """Can both files be read side by side, and twice?"""
    from gym.propara.stream import in_step

    if not _again(paths):
        return False
    try:
        with (
            open(paths.answers, encoding="utf-8") as answers,
            open(paths.predictions, encoding="utf-8") as predictions,
        ):
            for _ in in_step(answers, predictions):
                pass
    except (Unusual, OSError, UnicodeDecodeError):
        return False
    return True


def _sentences(paths: Paths) -> Sentences:
    from gym.propara.grid import read_text
    from gym.propara.sentences import read_sentences

    return read_sentences(read_text(paths.sentences), paths.sentences) if paths.sentences else {}


def _quickly(paths: Paths, kept: Kept) -> Scored:
    """Nothing here refers to itself, so the collector of cycles would look at many lists for nothing."""
    if not _again(paths):
        raise Unusual
    collecting = gc.isenabled()
    gc.disable()
    averager = Averager(kept)
    try:
        for one in scores_in_parts(paths.answers, paths.predictions):
            averager.add(one)
    finally:
        if collecting:
            gc.enable()
    return averager.averages(), averager.n, averager.n


class _Scorer:
    """Scores processes one after the other and writes their diagnostics."""

    def __init__(
        self, paths: Paths, sentences: Sentences, diagnostics: OutputFile | None, kept: Kept
    ) -> None:
        self.averager = Averager(kept)
        self._paths = paths
        self._sentences = sentences
        self._diagnostics = diagnostics

    def add(self, answer_grid: Grid, prediction_grid: Grid) -> None:
        from gym.propara.scoring import score
        from gym.propara.sentences import sentences_missing
        from gym.propara.summary import summarise

        answer, prediction = summarise(answer_grid), summarise(prediction_grid)
        pid = answer.process_id
        try:
            found = score(answer, prediction)
        except ProcessFailure as failure:
            raise Crash(f"Process {pid} has no score ({failure.code}): {failure.message}") from failure
        self.averager.add(found)
        if self._diagnostics is None:
            return
        if self._sentences and pid not in self._sentences:
            raise sentences_missing(self._paths.sentences or "", pid)
        text = render.process_diagnostics(prediction, answer, found, self._sentences.get(pid))
        self._diagnostics.write(text)


def _described(paths: Paths, scorer: _Scorer) -> Scored:
    from gym.propara.stream import in_step

    with (
        open(paths.answers, encoding="utf-8") as answers,
        open(paths.predictions, encoding="utf-8") as predictions,
    ):
        for answer, prediction in in_step(answers, predictions):
            scorer.add(answer, prediction)
    return scorer.averager.averages(), scorer.averager.n, scorer.averager.n


def _in_full(paths: Paths, scorer: _Scorer) -> Scored:
    from gym.propara.grid import differences_message, participant_differences, read_action_file
    from gym.propara.stream import grids_of

    predictions = grids_of(read_action_file(paths.predictions), paths.predictions)
    answers = grids_of(read_action_file(paths.answers), paths.answers)
    if lines := participant_differences(answers, predictions, paths.predictions):
        raise Corrupted(differences_message(lines, paths.answers, paths.predictions))
    for process_id, grid in answers.items():
        scorer.add(grid, predictions[process_id])
    return scorer.averager.averages(), len(predictions), len(answers)
