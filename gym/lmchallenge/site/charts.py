"""Charts of games."""

from __future__ import annotations

from functools import partial
from typing import Any

from gym.lib.charts.heatmap import heat_chart
from gym.lib.charts.xy import Point, xy_chart
from gym.lmchallenge.models import Game
from gym.runs.pages.figures import Figure

CURVE_LABELS = {"learnt": "characters learnt before", "trainingChars": "trainingChars of the log"}


def search_figure(game: Game, found: list[dict[str, Any]], query: dict[str, str]) -> Figure:
    """A figure of input correction by mixture. `query` names game, filter, target, alpha and oov_penalty."""
    target = query["target"].replace("_", " ")
    alphas = list(dict.fromkeys(one["alpha"] for one in found))
    by_penalty: dict[float, list[float | None]] = {}
    for one in found:
        by_penalty.setdefault(one["oov_penalty"], []).append(one["value"])
    title = f"{game.title}: {target} by mixture"
    draw = partial(
        heat_chart,
        [f"{penalty:g}".replace("-", "−") for penalty in by_penalty],
        [f"{alpha:g}" for alpha in alphas],
        list(by_penalty.values()),
        title,
        said=f"{target.capitalize()}, tokens of the filter {query['filter']}",
        axes=("OOV penalty", "alpha"),
        write="{:.3f}".format,
        unit="",
        missing="no value",
    )
    rows = [(one["oov_penalty"], one["alpha"], one["value"]) for one in found]
    return Figure("lmc-search", title, draw, ("oov_penalty", "alpha", query["target"]), rows, query)


def learning_figure(game: Game, curve: dict[str, Any] | None, keep: str) -> Figure | None:
    """The headline figure by what was learnt before; None for a game without training."""
    points = [one for one in (curve or {}).get("points", []) if one["value"] is not None]
    if curve is None or not points:
        return None
    marks = [_point(one) for one in points]
    has_intervals = any(mark.low is not None for mark in marks)
    title = f"{game.title}: learning curve"
    draw = partial(
        xy_chart,
        [("", marks)],
        title,
        x_label=f"{CURVE_LABELS[curve.get('by', 'trainingChars')]}, middle of a bin",
        y_label=curve["metric"],
        joined=True,
        note="Whiskers: 95% interval." if has_intervals else "",
    )
    header = (
        "from_characters", "to_characters", "lines", "n", curve["metric"], "ci_low_95", "ci_high_95",
    )  # fmt: skip
    rows = [
        (one["from"], one["to"], one["lines"], one["n"], one["value"], *(one["interval"] or (None, None)))
        for one in points
    ]
    return Figure("lmc-learning", title, draw, header, rows, {"game": game.key, "filter": keep})


def _point(one: dict[str, Any]) -> Point:
    low, high = one["interval"] or (None, None)
    label = f"{one['from']:,.0f} to {one['to']:,.0f} characters, n = {one['n']:,}"
    return Point((one["from"] + one["to"]) / 2, one["value"], label, low, high)
