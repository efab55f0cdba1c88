"""Charts of one game, or of several games on one text: hit@k over k, and the distribution of ranks.

They use counts that are stored with the games, so no log is read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from typing import Any

from gym.lmchallenge import counting
from gym.lmchallenge.models import Game
from lmgym.charts.figure import Figure
from lmgym.charts.xy import Point, xy_chart
from lmgym.stats.intervals import wilson

PLOT_WIDTH = 280.0
"""Width in pixels at which two charts fit side by side, or one on a phone."""
MOST_RANK = 20
"""Highest rank in the charts."""


@dataclass(frozen=True)
class _Share:
    """A point: the share `count` / `n` of a game's tokens at `x` (k of hit@k, or a rank)."""

    x: int
    count: int
    n: int

    @property
    def value(self) -> float:
        return self.count / self.n

    @property
    def interval(self) -> tuple[float | None, float | None]:
        rate = wilson(self.count, self.n)
        return (rate.low, rate.high) if rate else (None, None)


def of_games(games: Sequence[Game], keep: str) -> list[tuple[str, Figure]]:
    """Return (heading, chart) for each chart for which all games have counts."""
    charts = (build(games, keep) for build in BUILDERS.values())
    return [(_heading(figure.title), figure) for figure in charts if figure is not None]


def _heading(title: str) -> str:
    """Return the title without the games' names, as a heading."""
    words = title.rpartition(": ")[2]
    return words if words.startswith("hit@") else words[:1].upper() + words[1:]


def _figure(
    kind: str,
    title: str,
    games: Sequence[Game],
    keep: str,
    shares: Sequence[Sequence[_Share]],
    names: tuple[str, str],
    label: str,
    **chart: Any,
) -> Figure:
    """Draw one line per game. `names`: columns of x and of the share; `label`: format of a point's label."""
    series = [
        (game.title, [Point(share.x, share.value, label.format(share.x), *share.interval) for share in row])
        for game, row in zip(games, shares, strict=True)
    ]
    rows = [
        (game.title, share.x, share.value, *share.interval, share.n)
        for game, row in zip(games, shares, strict=True)
        for share in row
    ]
    title = f"{games[0].title if len(games) == 1 else f'{len(games)} games'}: {title}"
    draw = partial(
        xy_chart,
        series,
        title,
        joined=True,
        plot_width=PLOT_WIDTH,
        note="Whiskers: 95% interval.",
        counted_x=True,
        **chart,
    )
    query: dict[str, str | list[str]] = {"game": games[0].key, "filter": keep}
    if len(games) > 1:
        query["second"] = [game.key for game in games[1:]]
    columns = ("game", *names, "low", "high", "n")
    return Figure(kind, title, draw, columns, rows, query, has_narrow=len(games) > 1)


def _ranks(games: Sequence[Game], keep: str) -> list[dict[str, Any]] | None:
    """Return the stored distribution of ranks of each game; None if a game lacks it or has no tokens."""
    keep = counting.keep_of(keep, *games)
    stored = [counting.statistics_of(game, keep).get("more", {}).get("ranks") for game in games]
    return stored if games and all(ranks and ranks["n"] for ranks in stored) else None


def hits(games: Sequence[Game], keep: str) -> Figure | None:
    """Draw hit@k over k; None if a game has no counts."""
    stored = _ranks(games, keep)
    if stored is None:
        return None
    shares = []
    for ranks in stored:
        counts = dict(ranks["counts"])
        sums = accumulate(counts.get(rank, 0) for rank in range(1, MOST_RANK + 1))
        shares.append([_Share(k, count, ranks["n"]) for k, count in enumerate(sums, 1)])
    return _figure(
        "lmc-hits", "hit@k", games, keep, shares, ("k", "hit_at_k"), "hit@{}", x_label="k", y_label="hit@k"
    )


def ranks(games: Sequence[Game], keep: str) -> Figure | None:
    """Draw the share of tokens at each rank; None if a game has no counts."""
    stored = _ranks(games, keep)
    if stored is None:
        return None
    shares = []
    for ranks in stored:
        counts = dict(ranks["counts"])
        shares.append([_Share(rank, counts.get(rank, 0), ranks["n"]) for rank in range(1, MOST_RANK + 1)])
    figure = _figure(
        "lmc-ranks", "distribution of ranks", games, keep, shares, ("rank", "share_of_tokens"), "rank {}",
        x_label="rank", y_label="share of tokens", domain=None,
    )  # fmt: skip
    missed = [
        f"{ranks['missed'] / ranks['n']:.3f}{f' ({game.title})' if len(games) > 1 else ''}"
        for game, ranks in zip(games, stored, strict=True)
    ]
    return replace(figure, note=f"Not predicted: {', '.join(missed)}.")


BUILDERS: dict[str, Callable[[Sequence[Game], str], Figure | None]] = {
    "lmc-hits": hits,
    "lmc-ranks": ranks,
}
