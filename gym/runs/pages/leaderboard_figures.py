"""Charts of the leaderboard, and of one model compared with the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from statistics import median
from typing import Any
from urllib.parse import parse_qsl

from gym.runs.pages.figures import FigureFiles
from gym.runs.pages.heatmap import missing_words
from gym.runs.pages.paper import PaperFiles, methods_files
from gym.runs.read.leaderboard.build import StoredBoard, leaderboard
from gym.runs.read.model_profile import (
    against_field,
    checkpoints,
    robust_pairs,
    robustness,
    row_of,
    strengths_and_weaknesses,
    tag_rows,
)
from lmgym.charts.figure import Figure
from lmgym.charts.heatmap import heat_chart
from lmgym.charts.intervals import RowMark, interval_rows
from lmgym.charts.svg import Markup
from lmgym.charts.xy import Point, xy_chart
from lmgym.runs.leaderboard.board import Mean
from lmgym.runs.leaderboard.export import (
    LONG_HEADER,
    long_rows,
    mean_and_interval,
    note,
    seeds,
    weights_column,
)
from lmgym.runs.leaderboard.options import Options
from lmgym.runs.rules import Rule, rule_json
from lmgym.stats.intervals import Interval
from lmgym.text import count
from models_registry.models import RegisteredModel


def _query(board: StoredBoard, **more: str) -> dict[str, str]:
    return dict(parse_qsl(board.options.query())) | more


_HEAT = ("leaderboard-heat", "Models on suites")


def heat_files(board: StoredBoard, **of: str) -> FigureFiles:
    """Return the files of `heat_figure`. The page shows its data as a table instead of drawing it."""
    return FigureFiles(*_HEAT, _query(board, **of))


def board_paper_files(board: StoredBoard, **of: str) -> PaperFiles:
    """Return the files of `gym.runs.pages.paper.board_paper_table`."""
    return PaperFiles("leaderboard", _query(board, **of))


def board_methods_files(board: StoredBoard, **of: str) -> PaperFiles:
    return methods_files("leaderboard-methods", _query(board, **of))


def heat_figure(board: StoredBoard, **of: str) -> Figure:
    """Draw rates as colours. `of`: slug of the collection, if the board belongs to one."""
    rows, columns = [row.label for row in board.rows], [column.key for column in board.columns]
    rates = [[cell.rate if cell else None for cell in row.cells] for row in board.rows]
    if board.has_suites_in_rows:
        rows, columns, rates = columns, rows, [list(some) for some in zip(*rates, strict=True)]
    draw = partial(
        heat_chart,
        rows,
        columns,
        rates,
        "Models on suites",
        note=f"Scoring rule: {board.options.rule.label}.",
    )
    return Figure(
        *_HEAT,
        draw,
        LONG_HEADER,
        long_rows(board),
        _query(board, **of),
        note(board),
        rule_json(board.options.rule),
    )


def scores_figure(board: StoredBoard, **of: str) -> Figure:
    """Draw SG scores with their intervals."""
    known = [(row, row.score) for row in board.rows if row.score is not None]
    marks = [RowMark(row.label, *mean_and_interval(mean), note=_over(mean)) for row, mean in known]
    draw = partial(
        interval_rows,
        marks,
        "SG score",
        unit="mean suite accuracy",
        note=f"Scoring rule: {board.options.rule.label}",
    )
    weights = weights_column(board)
    rows = [
        (
            row.label,
            *mean_and_interval(mean),
            mean.suites_run,
            mean.suites,
            *seeds(mean.spread),
            *weights.values(),
        )
        for row, mean in known
    ]
    header = (
        "model", "sg_score", "low", "high", "suites_run", "suites", "seeds", "sd_between_seeds", *weights,
    )  # fmt: skip
    query = _query(board, **of)
    return Figure(
        "leaderboard-scores",
        "SG score",
        draw,
        header,
        rows,
        query,
        note(board),
        rule_json(board.options.rule),
        has_narrow=True,
    )


def _of(
    board: StoredBoard,
    model: RegisteredModel,
    kind: str,
    title: str,
    draw: Callable[..., Markup],
    header: tuple[str, ...],
    rows: Sequence[Sequence[Any]],
) -> Figure:
    """Build a chart for one model's page."""
    query, rule = _query(board, of=model.slug), rule_json(board.options.rule)
    return Figure(kind, title, draw, header, rows, query, rule=rule, has_narrow=True)


def tags_figure(board: StoredBoard, model: RegisteredModel) -> Figure:
    """Draw pass rates by tag (circuit), with the mean of the other models."""
    tag_means = tag_rows(board, model)
    marks = [
        RowMark(
            row.tag,
            row.mean.rate,
            row.mean.low,
            row.mean.high,
            row.field,
            note=f"{row.mean.suites_run} suites",
        )
        for row in tag_means
    ]
    title = f"{model.name} by tag"
    draw = partial(
        interval_rows,
        marks,
        title,
        unit="mean suite accuracy",
        reference="mean of the other models",
        note=f"Scoring rule: {board.options.rule.label}",
    )
    rows = [
        (r.tag, r.mean.rate, r.mean.low, r.mean.high, r.mean.suites_run, r.mean.suites, r.field, r.n)
        for r in tag_means
    ]
    header = (
        "tag", "rate", "low", "high", "suites_run", "suites", "mean_of_other_models", "other_models",
    )  # fmt: skip
    return _of(board, model, "model-tags", title, draw, header, rows)


def pairs_figure(board: StoredBoard, model: RegisteredModel) -> Figure:
    """Draw pass rates without and with modifier for every model that has run both suites of a pair, as in the
    stability figure of the ACL 2020 paper."""
    models = robustness(board)
    marks = []
    for row in models:
        name, change, more = row.row.label, row.change, f"{row.n} {'pair' if row.n == 1 else 'pairs'}"
        before, after = change.without_interval, change.with_interval
        label = f"without modifier, {more}, {count(row.n_items_without, 'item')}"
        marks.append(RowMark(name, change.without, before.low, before.high, note=label))
        label = f"{name} with modifier, {more}, {count(row.n_items_with, 'item')}"
        marks.append(RowMark("", change.with_modifier, after.low, after.high, series=1, note=label))
    draw = partial(
        interval_rows,
        marks,
        "Without and with modifier",
        unit="mean suite accuracy",
        note=f"Scoring rule: {board.options.rule.label}",
        series=("without modifier", "with modifier"),
    )
    rows = [
        (
            r.row.label, r.n, r.n_items_without, r.n_items_with, r.change.without, *_limits(r.change.without_interval),
            r.change.with_modifier, *_limits(r.change.with_interval), r.change.difference,
            *_limits(r.change.difference_interval),
        )
        for r in models
    ]  # fmt: skip
    header = (
        "model", "pairs", "without_n", "with_n", "without_rate", "without_low", "without_high", "with_rate", "with_low",
        "with_high", "difference", "low", "high",
    )  # fmt: skip
    title = "Without and with modifier"
    return _of(board, model, "model-pairs", title, draw, header, rows)


def _over(mean: Mean) -> str:
    suites = f"{mean.suites_run} of {count(mean.suites, 'suite')}"
    if mean.spread is None:
        return suites
    deviation = mean.spread.deviation
    more = "" if deviation is None else f", standard deviation {deviation:.3f}"
    return f"mean of {mean.spread.n} seeds{more}; {suites}"


def _limits(interval: Interval) -> tuple[float, float]:
    return interval.low, interval.high


def size_figure(board: StoredBoard, model: RegisteredModel, by: str) -> Figure:
    """Draw the SG score by `parameters` or `perplexity` for every model that states it."""
    known = [
        (row, float(value))
        for row in board.rows
        if row.score and (value := getattr(row.model, by)) and value > 0
    ]
    points = [
        Point(x, row.score.rate, row.label, row.score.low, row.score.high, strong=row.model.pk == model.pk)
        for row, x in known
        if row.score
    ]
    title = f"SG score by {by}"
    draw = partial(
        xy_chart,
        [("", points)],
        title,
        x_label=by if by == "parameters" else "perplexity, as reported",
        y_label="SG score",
        log_x=True,
        note=f"Whiskers: 95% interval. Scoring rule: {board.options.rule.label}.",
    )
    rows: list[tuple[Any, ...]] = [
        (row.model.slug, x, row.score.rate, row.score.low, row.score.high, row.score.suites_run)
        for row, x in known
        if row.score
    ]
    header = ("model", by, "sg_score", "low", "high", "suites_run")
    return _of(board, model, f"model-{by}", title, draw, header, rows)


def steps_figure(board: StoredBoard, model: RegisteredModel) -> Figure:
    """Draw the learning curve of this model's checkpoints: SG score and tags by training step.

    The axis is logarithmic if at least half of the checkpoints would otherwise crowd its first tenth."""
    steps = checkpoints(board, model)
    numbers = [step for step, _ in steps]
    is_log = bool(numbers) and median(numbers) < max(numbers) / 10
    series = [
        (
            "SG score",
            [
                Point(step, row.score.rate, row.label, row.score.low, row.score.high)
                for step, row in steps
                if row.score
            ],
        )
    ]
    for k, tag in enumerate(board.tags[:7]):
        means = [(step, row.label, row.tags[k]) for step, row in steps]
        points = [Point(step, mean.rate, name) for step, name, mean in means if mean]
        series += [(tag, points)] if points else []
    title = f"{model.name}: checkpoints"
    note = f"Whiskers: 95% interval of the SG score. Scoring rule: {board.options.rule.label}."
    drawn = series
    if is_log and min(numbers) == 0:
        drawn = [(name, [point for point in row if point.x > 0]) for name, row in series]
        note += " Step 0 is in the table; a logarithmic axis cannot show it."
    draw = partial(
        xy_chart,
        drawn,
        title,
        log_x=is_log,
        x_label="training steps",
        y_label="mean suite accuracy",
        joined=True,
        note=note,
    )
    rows = [
        (name, point.x, point.label, point.y, point.low, point.high) for name, row in series for point in row
    ]
    header = ("series", "step", "model", "rate", "low", "high")
    return _of(board, model, "model-steps", title, draw, header, rows)


def against_others(user: Any, model: RegisteredModel, rule: Rule) -> dict[str, Any]:
    """Build the context of a model's page: figures (tags, checkpoints, robustness, parameters, perplexity), strengths
    and weaknesses (at most five each, no suite in both), pairs (RobustPair of this model), own (its row of the
    leaderboard), missing (suites missing from its score, in words). Without a row: figures (empty) and own (None)
    only."""
    board = leaderboard(user, Options(rule=rule))
    own_row = row_of(board, model)
    if own_row is None:
        return {"figures": [], "own": None}
    strengths, weaknesses = strengths_and_weaknesses(against_field(board, model))
    figures = [tags_figure(board, model)] if board.tags else []
    figures += [steps_figure(board, model)] if checkpoints(board, model) else []
    figures += [pairs_figure(board, model)] if robust_pairs(board, [model]) else []
    for by in ("parameters", "perplexity"):
        if sum(bool(getattr(row.model, by)) for row in board.rows) > 1 and getattr(model, by):
            figures.append(size_figure(board, model, by))
    return {
        "own": own_row,
        "missing": missing_words(own_row),
        "figures": figures,
        "strengths": strengths,
        "weaknesses": weaknesses,
        "pairs": robust_pairs(board, [model]),
    }
