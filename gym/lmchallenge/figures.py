"""Charts of games, one or several on one text: hit@k over k, the distribution of ranks, figures over the course of the
log and by the place of a word in its line. What they draw was counted with the game."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate
from typing import Any

from gym.lmchallenge import counting
from gym.lmchallenge.models import Game
from gym.lmchallenge.presenters import metric_words
from lmgym.charts.figure import Figure
from lmgym.charts.xy import Point, xy_chart
from lmgym.lmchallenge.logs.measures import LOWER_IS_BETTER
from lmgym.lmchallenge.logs.stats import LAST_INDEX
from lmgym.stats.intervals import wilson
from lmgym.text.number_format import grouped

PLOT_WIDTH = 280.0
"""Of two charts beside each other, or of one on a telephone."""
MOST_RANK = 20
"""Ranks that are drawn; the log may have more."""


def of_games(games: Sequence[Game], keep: str) -> list[tuple[str, Figure]]:
    """(heading, chart) of those that all of these games have numbers for."""
    found = (build(games, keep) for build in BUILDERS.values())
    return [(_heading(figure.title), figure) for figure in found if figure is not None]


def _heading(title: str) -> str:
    """A title without the names of the games."""
    words = title.rpartition(": ")[2]
    return words if words.startswith("hit@") else words[:1].upper() + words[1:]


def _figure(
    kind: str,
    title: str,
    games: Sequence[Game],
    keep: str,
    points: Sequence[Sequence[tuple[Any, ...]]],
    header: tuple[str, ...],
    **chart: Any,
) -> Figure:
    """`points` of each game: (x, value, low, high, n, what a point is called, more columns of the table)."""
    series = [
        (
            game.title,
            [
                Point(x, value, said, low, high)
                for x, value, low, high, _, said, *_ in row
                if value is not None
            ],
        )
        for game, row in zip(games, points, strict=True)
    ]
    rows = [
        (game.title, *more, value, low, high, n)
        for game, row in zip(games, points, strict=True)
        for _, value, low, high, n, _, *more in row
    ]
    whole = games[0].title if len(games) == 1 else f"{len(games)} games"
    title = f"{whole}: {title}"
    has_intervals = any(point.low is not None for _, marks in series for point in marks)
    draw = partial(
        xy_chart,
        series,
        title,
        joined=True,
        plot_width=PLOT_WIDTH,
        note="Whiskers: 95% interval." if has_intervals else "",
        **chart,
    )
    query: dict[str, str | list[str]] = {"game": games[0].key, "filter": keep}
    if len(games) > 1:
        query["second"] = [game.key for game in games[1:]]
    columns = ("game", *header, "ci_low_95", "ci_high_95", "n")
    return Figure(kind, title, draw, columns, rows, query, has_narrow=len(games) > 1)


def _more(games: Sequence[Game], keep: str, name: str) -> list[dict[str, Any]] | None:
    found = [
        counting.statistics_of(game, counting.keep_of(keep, *games)).get("more", {}).get(name)
        for game in games
    ]
    return found if games and all(found) else None


def _interval(n: float, of: int) -> tuple[float | None, float | None]:
    found = wilson(round(n), of)
    return (found.low, found.high) if found else (None, None)


def _ranks(games: Sequence[Game], keep: str) -> list[tuple[dict[int, int], int, int]] | None:
    """Of each game: tokens by rank, all of them, and those that were not predicted."""
    found = _more(games, keep, "ranks")
    if found is None or not all(one["n"] for one in found):
        return None
    return [(dict(one["counts"]), one["n"], one["missed"]) for one in found]


def hits(games: Sequence[Game], keep: str) -> Figure | None:
    """hit@k over k."""
    found = _ranks(games, keep)
    if found is None:
        return None
    points = []
    for counts, n, _ in found:
        sums = accumulate(counts.get(rank, 0) for rank in range(1, MOST_RANK + 1))
        points.append(
            [(k, right / n, *_interval(right, n), n, f"hit@{k}", k) for k, right in enumerate(sums, 1)]
        )
    return _figure(
        "lmc-hits", "hit@k", games, keep, points, ("k", "hit_at_k"),
        x_label="k", y_label="hit@k", counted_x=True,
    )  # fmt: skip


def ranks(games: Sequence[Game], keep: str) -> Figure | None:
    """The share of tokens at each rank."""
    found = _ranks(games, keep)
    if found is None:
        return None
    points = []
    for counts, n, _ in found:
        at = [(rank, counts.get(rank, 0)) for rank in range(1, MOST_RANK + 1)]
        points.append([(rank, at / n, *_interval(at, n), n, f"rank {rank}", rank) for rank, at in at])
    figure = _figure(
        "lmc-ranks", "distribution of ranks", games, keep, points, ("rank", "share_of_tokens"),
        x_label="rank", y_label="share of tokens", counted_x=True, domain=None,
    )  # fmt: skip
    missed = [
        f"{missed / n:.3f}{f' ({game.title})' if len(games) > 1 else ''}"
        for game, (_, n, missed) in zip(games, found, strict=True)
    ]
    return replace(figure, note=f"Not predicted: {', '.join(missed)}.")


def course(games: Sequence[Game], keep: str) -> Figure | None:
    """The main figure by the number of the line."""
    unit = "message" if games and games[0].version == 5 else "line"

    def place(one: dict[str, Any]) -> tuple[Any, ...]:
        low, high = one["from"], one["to"]
        return (
            (low + high) / 2,
            f"{unit}s {grouped(low)} to {grouped(high)}, n = {grouped(one['n'])}",
            low,
            high,
        )

    return _of_main_figure(
        "lmc-course", "over the course of the log", games, keep, "course", place, (f"from_{unit}", f"to_{unit}"),
        x_label=f"number of the {unit}, middle of a bin",
    )  # fmt: skip


def positions(games: Sequence[Game], keep: str) -> Figure | None:
    """The main figure by the place of a counted token in its line."""
    unit = "character" if games and games[0].game == "ce" else "word"

    def place(one: dict[str, Any]) -> tuple[Any, ...]:
        at = one["position"] + 1
        return at, f"{unit} {at}{' and later' if at > LAST_INDEX else ''}", at

    return _of_main_figure(
        "lmc-positions", "by place in the line", games, keep, "by_position", place, ("place",),
        x_label=f"counted {unit} of the line; {LAST_INDEX + 1}: and later", counted_x=True,
    )  # fmt: skip


def _of_main_figure(
    kind: str,
    title: str,
    games: Sequence[Game],
    keep: str,
    counted: str,
    place: Callable[[dict[str, Any]], tuple[Any, ...]],
    header: tuple[str, ...],
    **chart: Any,
) -> Figure | None:
    """What was counted under `counted` of the main figure, which must be the same of all games. `place` of a point: x,
    what it is called, columns of the table."""
    found = _more(games, keep, counted)
    if found is None or len({one["metric"] for one in found}) > 1:
        return None
    points = [
        [
            (x, one["value"], *(one["interval"] or (None, None)), one["n"], said, *columns)
            for one in row["points"]
            for x, said, *columns in [place(one)]
        ]
        for row in found
    ]
    metric = found[0]["metric"]
    return _figure(
        kind, f"{metric_words(metric)} {title}", games, keep, points, (*header, metric.replace(".", "_")),
        y_label=metric, domain=_domain(metric), **chart,
    )  # fmt: skip


def _domain(metric: str) -> tuple[float, float] | None:
    return None if metric in LOWER_IS_BETTER else (0.0, 1.0)


BUILDERS: dict[str, Callable[[Sequence[Game], str], Figure | None]] = {
    "lmc-hits": hits,
    "lmc-ranks": ranks,
    "lmc-course": course,
    "lmc-positions": positions,
}
