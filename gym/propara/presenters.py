"""Values for pages: grids, summaries with pairs, and events of a process in words; comparisons of submissions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gym.propara.models import Submission
from lmgym.propara.bootstrap import Floats, Question, SystemComparison, compare_matrices, matrix_of
from lmgym.propara.convert import sign
from lmgym.propara.grid import ABSENT, UNKNOWN, Grid
from lmgym.propara.mistakes import action_at, location_at, same_place
from lmgym.propara.process_report import Match, Pair, ProcessReport
from lmgym.propara.reference import event_sentence
from lmgym.propara.scoring import QUESTIONS
from lmgym.propara.summary import Conversion, Move
from lmgym.stats import Comparison
from lmgym.text.columns import Row, described, record, table

SIGNS = {"CREATE": "+", "MOVE": "→", "DESTROY": "×", "NONE": "·"}
WORDS = {"CREATE": "created", "MOVE": "moved", "DESTROY": "destroyed", "NONE": "nothing happens"}
MAX_PAIRS = 300


@dataclass(frozen=True)
class Line:
    """A participant's state after a step in one file. `wrong`: how it differs from the answers."""

    layer: str
    action: str
    sign: str
    word: str
    place: str
    wrong: str = ""

    @property
    def css(self) -> str:
        return f"pp-{self.action.lower()}"


@dataclass(frozen=True)
class GridRow:
    """A step of a grid. Step 0 is before the first sentence."""

    step: int
    sentence: str
    cells: list[list[Line]]


@dataclass(frozen=True)
class GridTable:
    participants: list[str]
    layers: list[str]
    rows: list[GridRow] = field(default_factory=list)


def grid_table(answer: Grid, sentences: Sequence[str], others: Sequence[tuple[str, Grid]] = ()) -> GridTable:
    """Build a table of sentences by participants. Each cell has a line for the answers and for each other file."""
    names = list(answer.participants)
    steps = max([answer.steps, *(grid.steps for _, grid in others)])
    table = GridTable(names, ["answers", *(label for label, _ in others)])
    for step in range(steps + 1):
        sentence = sentences[step - 1] if 1 <= step <= len(sentences) else ""
        cells = [
            [
                _line("answers", answer, name, step),
                *(_line(label, grid, name, step, answer) for label, grid in others),
            ]
            for name in names
        ]
        table.rows.append(GridRow(step, sentence, cells))
    return table


def _line(layer: str, grid: Grid, name: str, step: int, answer: Grid | None = None) -> Line:
    action = action_at(grid, name, step) if step else "NONE"
    where = location_at(grid, name, step)
    wrong = ""
    if answer is not None:
        right = action_at(answer, name, step) if step else "NONE"
        if action != right:
            wrong = "different action"
        elif not same_place(location_at(answer, name, step), where):
            wrong = "different location"
    return Line(layer, action, SIGNS[action], WORDS[action], place(where), wrong)


def place(location: str) -> str:
    return {ABSENT: "–", UNKNOWN: "?"}.get(location, location)


# --- summaries and pairs ---


@dataclass(frozen=True)
class PresentedItem:
    """An item of a summary. `score`: score of its best pair. `by`: the partner's participants, if different."""

    text: str
    score: float
    by: str = ""


@dataclass(frozen=True)
class PresentedPair:
    answer: str
    prediction: str
    pair: Pair


@dataclass(frozen=True)
class PresentedQuestion:
    name: str
    precision: float | None
    recall: float | None
    corrected: tuple[float, float]
    answers: list[PresentedItem]
    predictions: list[PresentedItem]
    pairs: list[PresentedPair]
    in_other_steps: list[PresentedPair]
    n_hidden: int

    @property
    def starts_open(self) -> bool:
        """True if there are only a few pairs and not all scores are perfect."""
        return len(self.pairs) < 9 and any(presented.pair.score != 1 for presented in self.pairs)

    @property
    def missed(self) -> list[str]:
        return [item.text for item in self.answers if not item.score]

    @property
    def spurious(self) -> list[str]:
        return [item.text for item in self.predictions if not item.score]


def questions(process: ProcessReport) -> list[PresentedQuestion]:
    return [_question(name, process) for name in QUESTIONS]


def _question(name: str, process: ProcessReport) -> PresentedQuestion:
    answers, predictions = process.matches(name)
    pairs = [
        PresentedPair(item_text(pair.answer), item_text(pair.prediction), pair)
        for pair in process.pairs(name)
    ]
    close = sorted((pair for pair in pairs if pair.pair.parts), key=lambda pair: -(pair.pair.score or 0))
    in_other_steps = [pair for pair in pairs if not pair.pair.parts]
    scores = process.scores[name] if process.scores else None
    return PresentedQuestion(
        name,
        scores.precision if scores else None,
        scores.recall if scores else None,
        (process.corrected[name].precision, process.corrected[name].recall),
        [_item(match) for match in answers],
        [_item(match) for match in predictions],
        close[:MAX_PAIRS],
        in_other_steps[:MAX_PAIRS],
        max(0, len(close) - MAX_PAIRS) + max(0, len(in_other_steps) - MAX_PAIRS),
    )


def _item(match: Match) -> PresentedItem:
    by = _participants_of(match.partner) if match.partner is not None else ""
    return PresentedItem(item_text(match.item), match.score, by if by != _participants_of(match.item) else "")


def _participants_of(item: Any) -> str:
    if isinstance(item, Conversion):
        return f"{item.destroyed} → {item.created}"
    return item.participants if isinstance(item, Move) else str(item)


def item_text(item: Any) -> str:
    """Format a summary item on one line."""
    if isinstance(item, Conversion):
        return f"{item.step}: {item.destroyed} → {item.created} at {sign(item.location)}"
    if isinstance(item, Move):
        return f"{item.step}: {item.participants} from {sign(item.before)} to {sign(item.after)}"
    return str(item)


# --- events in words ---


def events(process: ProcessReport) -> list[tuple[int, list[str], list[str]]]:
    """Describe the events of answers and prediction by step, in the explainer's sentences."""
    grids = process.answer_grid, process.prediction_grid
    steps = range(1, max(grid.steps for grid in grids) + 1)
    rows = [(step, [_events_in_words(grid, step) for grid in grids]) for step in steps]
    return [(step, answers, prediction) for step, (answers, prediction) in rows if answers or prediction]


def _events_in_words(grid: Grid, step: int) -> list[str]:
    if step > grid.steps:
        return []
    sentences = []
    for name, where in grid.locations.items():
        text = event_sentence(name, grid.actions[name][step - 1], sign(where[step - 1]), sign(where[step]))
        if text:
            sentences.append(f"{text[:1].upper()}{text[1:]}.")
    return sentences


def line_text(grid: Grid, name: str, step: int) -> str:
    """Format a row of an action file: a participant's action and locations in a step."""
    action = action_at(grid, name, step)
    before, after = (sign(location_at(grid, name, at)) for at in (step - 1, step))
    return f"{action} {before}" if before == after else f"{action} {before} → {after}"


@dataclass(frozen=True)
class LineRow:
    """A participant in a step. `lines`: for each system, its line and True if it differs from the answers."""

    step: int
    participant: str
    answer: str
    lines: list[tuple[str, bool]]


def differing_lines(answer: Grid, others: Sequence[Grid]) -> list[LineRow]:
    """Return, by step, the lines in which a system differs from the answers after normalisation."""
    rows = []
    for step in range(1, max(grid.steps for grid in (answer, *others)) + 1):
        for name in answer.participants:
            lines = [(line_text(grid, name, step), _differs(answer, grid, name, step)) for grid in others]
            if any(differs for _, differs in lines):
                rows.append(LineRow(step, name, line_text(answer, name, step), lines))
    return rows


def _differs(answer: Grid, grid: Grid, name: str, step: int) -> bool:
    same = same_place(location_at(answer, name, step), location_at(grid, name, step))
    begins = step > 1 or same_place(location_at(answer, name, 0), location_at(grid, name, 0))
    return action_at(answer, name, step) != action_at(grid, name, step) or not (same and begins)


# --- comparisons of submissions ---


@dataclass(frozen=True)
class ComparedSubmission:
    """Submission that a row compares with the baseline."""

    id: str = described("id of the second submission")


@dataclass(frozen=True)
class Compared:
    """Comparison of submissions to one version with the first submission, from stored reports.

    `rows` contains the processes, greatest difference first. In each row, `f1`, `corrected_f1` and `differences` are in
    the order of `systems`.
    """

    systems: list[Submission]
    names: list[str]
    pairs: tuple[SystemComparison, ...]
    rows: list[dict[str, Any]]

    @property
    def differences(self) -> list[tuple[ComparedSubmission, Question, Comparison]]:
        """Rows of the difference table: overall and by question, for each system."""
        return [
            (ComparedSubmission(system.key), *row)
            for system, pair in zip(self.systems[1:], self.pairs, strict=True)
            for row in pair.rows
        ]

    def as_dict(self) -> dict[str, Any]:
        first = self.systems[0]
        return {
            "first": {"id": first.key, "system": first.system, "f1": first.f1},
            "n": len(self.rows),
            "comparisons": [record(*row) for row in self.differences],
            "rows": self.rows,
        }

    def differences_table(self) -> tuple[list[str], list[Row]]:
        return table((ComparedSubmission, Question, Comparison), self.differences)

    def processes_table(self) -> tuple[list[str], list[Row]]:
        header = ["process_id", "first_sentence"]
        header += [f"{column} {name}" for column in ("f1", "corrected_f1") for name in self.names]
        header += [f"difference {name}" for name in self.names[1:]]
        rows: list[Row] = [
            (row["process_id"], row["first_sentence"], *row["f1"], *row["corrected_f1"], *row["differences"])
            for row in self.rows
        ]
        return header, rows


def compare_submissions(
    first: Submission, *others: Submission, sentences: Mapping[int, str] | None = None
) -> Compared:
    """Compare submissions with the first submission. `sentences`: first sentence of each process. Raises ValueError if
    a submission has no score."""
    systems = [first, *others]
    names = distinct_names(systems)
    ids = [row["process_id"] for row in first.report["processes"]]
    pairs = compare_matrices(ids, names, *map(_matrix, systems))
    by_id = [{row["process_id"]: row for row in submission.report["processes"]} for submission in systems]
    rows = [
        {
            "process_id": pid,
            "first_sentence": (sentences or {}).get(pid, ""),
            "f1": [scores[pid]["f1"] for scores in by_id],
            "corrected_f1": [scores[pid]["corrected_f1"] for scores in by_id],
            "differences": _differences(by_id, pid),
        }
        for pid in greatest_difference_first(systems)
    ]
    return Compared(systems, names, pairs, rows)


def greatest_difference_first(systems: Sequence[Submission]) -> list[int]:
    """Return the ids of processes sorted by greatest absolute difference in F1 from the first system."""
    by_id = [{row["process_id"]: row for row in submission.report["processes"]} for submission in systems]
    return sorted(by_id[0], key=lambda pid: (-max(map(abs, _differences(by_id, pid))), pid))


def _differences(by_id: Sequence[Mapping[int, Any]], pid: int) -> list[float]:
    first, *others = (scores[pid]["f1"] for scores in by_id)
    return [other - first for other in others]


def distinct_names(systems: Sequence[Submission]) -> list[str]:
    """Return the names of systems, with the owner if names are equal, and numbered if they are still equal."""
    names = [row.system for row in systems]
    names = [
        f"{row.system}, by {row.owner.display_name}"
        if names.count(row.system) > 1 and row.owner
        else row.system
        for row in systems
    ]
    return [f"{name} ({k})" if names.count(name) > 1 else name for k, name in enumerate(names, 1)]


def _matrix(submission: Submission) -> Floats:
    rows = submission.report["processes"]
    for row in rows:
        if row["scores"] is None:
            raise ValueError(f"Process {row['process_id']} has no score.")
    return matrix_of(row["scores"] for row in rows)
