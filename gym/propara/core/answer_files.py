"""Read answers and sentences of an answer set: strictly, within limits, listing all problems. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from gym.propara.core.check import read_rows
from gym.propara.core.errors import Problem, ProParaError
from gym.propara.core.grid import ACTIONS, Grids, lines_of, read_grids
from gym.propara.core.repair import decode
from gym.propara.core.report import evaluate
from gym.propara.core.sentences import Sentences, read_sentences, sentence_problems
from gym.propara.core.submission_files import MAX_BYTES, MAX_STEPS, refused

MAX_PROCESSES = 2_000
MAX_ID = 10**9
MAX_PARTICIPANTS = 40
"""Of one process. Together with MAX_STEPS this bounds the time that scoring a process can take."""


@dataclass(frozen=True)
class Answers:
    """`notices`: what is unusual, but accepted."""

    text: str
    sentences_text: str
    grids: Grids
    notices: tuple[str, ...]

    @property
    def n_participants(self) -> int:
        return sum(len(grid.locations) for grid in self.grids.values())

    @property
    def n_steps(self) -> int:
        return sum(grid.steps for grid in self.grids.values())

    @property
    def events(self) -> dict[str, int]:
        found = Counter(
            action for grid in self.grids.values() for row in grid.actions.values() for action in row
        )
        return {action: found[action] for action in ACTIONS}


def read_answers(answers: bytes, sentences: bytes = b"") -> Answers:
    """Raises ProParaError with all problems of both files."""
    problems: list[Problem] = []
    grids: Grids = {}
    text, sentences_text = _decoded(answers, "answers", problems), _decoded(sentences, "sentences", problems)
    if not problems:
        problems += read_rows(text, "answers")[1] or _oversized(text)
    texts = _sentences(sentences_text, problems)
    if not problems:
        try:
            grids = read_grids(text, "answers")
        except ProParaError as error:
            raise refused("answers", "unreadable", str(error)) from error
        problems += _bounds(grids) + (_unmatched(grids, texts) if sentences_text.strip() else [])
    if problems:
        raise ProParaError(f"There are {len(problems)} problem(s).", problems)
    return Answers(text, sentences_text, grids, tuple(_notices(text, grids, texts)))


def _decoded(data: bytes, file: str, problems: list[Problem]) -> str:
    if len(data) > MAX_BYTES:
        message = f"The file has {len(data):,} bytes; at most {MAX_BYTES:,} are read."
        problems.append(Problem(file, 0, 0, "too-large", message))
        return ""
    try:
        text, changed = decode(data, file)
    except ProParaError as error:
        problems += error.problems
        return ""
    if changed or text.startswith("\ufeff"):
        hint = "Save it as UTF-8 without a byte order mark."
        problems.append(Problem(file, 1, 1, "encoding", "The file has a byte order mark.", hint))
    if "\0" in text:
        problems.append(Problem(file, 0, 0, "binary", "The file holds NUL characters: it is no text."))
    return text


def _oversized(text: str) -> list[Problem]:
    """Before anything of the size of steps times participants is made."""
    for number, line in enumerate(lines_of(text), 1):
        step = int(line.split("\t", 2)[1])
        if step > MAX_STEPS:
            message = f"Step {step:,}: this site keeps at most {MAX_STEPS} steps."
            return [Problem("answers", number, 2, "step", message)]
    return []


def _sentences(text: str, problems: list[Problem]) -> Sentences:
    wrong = sentence_problems(text, "sentences")
    problems += wrong
    return {} if wrong or not text.strip() else read_sentences(text, "sentences")


def _bounds(grids: Grids) -> list[Problem]:
    found: list[Problem] = []
    if len(grids) > MAX_PROCESSES:
        message = f"{len(grids):,} processes; an answer set holds at most {MAX_PROCESSES:,}."
        found.append(Problem("answers", 0, 0, "too-large", message))
    for pid, grid in grids.items():
        if not 0 <= pid < MAX_ID:
            found.append(
                Problem("answers", 0, 0, "integer", f"Process {pid}: numbers from 0 to {MAX_ID - 1:,}.")
            )
        if len(grid.locations) > MAX_PARTICIPANTS:
            message = f"Process {pid} has {len(grid.locations)} participants; at most {MAX_PARTICIPANTS}."
            found.append(Problem("answers", 0, 0, "too-large", message))
    return found


def _unmatched(grids: Grids, texts: Sentences) -> list[Problem]:
    found = []
    for pid, grid in grids.items():
        if pid not in texts:
            found.append(Problem("sentences", 0, 0, "missing", f"There are no sentences for process {pid}."))
        elif len(texts[pid]) != grid.steps:
            message = f"Process {pid} has {grid.steps} steps in the answers, but {len(texts[pid])} sentences."
            found.append(Problem("sentences", 0, 0, "steps", message))
    return found


def _notices(text: str, grids: Grids, texts: Sentences) -> list[str]:
    found = []
    report = evaluate(text, text)
    if report.f1 != 1.0:
        shown = "no score" if report.f1 is None else f"F1 {report.f1:.3f}"
        found.append(f"Scored against themselves, the answers have {shown}, not 1.")
    counts = Counter(flag.code for flag in report.warnings if flag.code != "all-none")
    found += [f"{code.replace('-', ' ')}: {n}" for code, n in sorted(counts.items())]
    if extra := sorted(set(texts) - set(grids)):
        found.append(f"Sentences of processes that have no answers: {', '.join(map(str, extra[:20]))}.")
    return found
