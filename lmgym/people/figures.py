"""Charts of people, and of models against people. Reading times are in ms, judgments in points or shares."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from lmgym.charts.figure import Figure
from lmgym.charts.intervals import RowMark, interval_rows
from lmgym.charts.regions import Markup, region_chart
from lmgym.charts.xy import Point, xy_chart
from lmgym.people.predictions import PeopleResult
from lmgym.people.tables import Effect, Gain, ItemEffect, PeopleMean
from lmgym.runs.figures import Query, region_series
from lmgym.text.columns import header, row
from lmgym.text.number_format import bits, format_interval

_GAIN = "gain in log-likelihood, nats per observation"


def people_figure(
    suite: str,
    names: Sequence[str],
    result: PeopleResult,
    critical: Collection[int] = (),
    *,
    looks: Mapping[str, tuple[int, int]] | None = None,
    query: Query | None = None,
) -> Figure:
    """Draw people's means by region and condition, to stand above the chart of bits (`regions_figure`); by condition
    only, if whole sentences were judged or read."""
    measure = result.measure
    by_region = any(cell["n"] for row in result.summary for cell in row["regions"])
    title = f"{suite}: mean {measure.name} by {'region' if by_region else 'condition'}"
    counted = "participant" if result.n_participants else "item"

    def regions(*, standalone: bool, narrow: bool = False) -> Markup:
        return region_chart(
            list(names),
            region_series(result.summary, looks=looks),
            critical,
            title,
            measure.unit,
            what=f"Mean {measure.name}",
            counted=counted,
            from_zero=False,
            standalone=standalone,
            narrow=narrow,
        )

    def conditions(*, standalone: bool, narrow: bool = False) -> Markup:
        cells = [(row["condition"], row["sentence"]) for row in result.summary]
        marks = [RowMark(name, cell["mean"], cell["low"], cell["high"]) for name, cell in cells]
        unit = f"mean {measure.name}, {measure.unit}"
        domain = measure.scale or ((0.0, 1.0) if measure.unit == "share" else None)
        return interval_rows(marks, title, unit=unit, domain=domain, standalone=standalone, narrow=narrow)

    rows = [row(mean) for mean in result.means(names)]
    return Figure(
        "people-means",
        title,
        regions if by_region else conditions,
        tuple(header(PeopleMean)),
        rows,
        query or {},
        f"Interval: {result.interval}.",
        has_narrow=True,
    )


def gains_figure(suite: str, gains: Sequence[Gain], query: Query | None = None) -> Figure:
    """Draw the gain of every model with its interval, in order of rank."""
    title = f"{suite}: how well models predict reading times"
    marks = [RowMark(gain.model, gain.gain, gain.low, gain.high) for gain in gains]
    note = "Held-out items; baseline without surprisal." if gains else ""

    def draw(*, standalone: bool, narrow: bool = False) -> Markup:
        return interval_rows(
            marks, title, unit=_GAIN, note=note, domain=None, standalone=standalone, narrow=narrow
        )

    rows = [row(gain) for gain in gains]
    return Figure("people-gains", title, draw, tuple(header(Gain)), rows, query or {}, note, has_narrow=True)


def effects_figure(
    suite: str, effect: Effect, items: Sequence[ItemEffect], unit: str, query: Query | None = None
) -> Figure:
    """Draw one point per item: a contrast in one model (x, bits) and in people (y).

    Args:
        items: rows of all contrasts and models; those of `effect` are drawn.
        unit: of people's values.
    """
    key = (effect.model, effect.prediction_number, effect.contrast)
    own = [one for one in items if (one.model, one.prediction_number, one.contrast) == key]
    points = [
        Point(one.bits, one.people, f"item {one.item}")
        for one in own
        if one.bits is not None and one.people is not None
    ]
    title = f"{suite}, {effect.prediction}: {effect.model} and people, by item"
    note = "" if effect.pearson is None else f"r = {bits(effect.pearson)}"
    if note and effect.pearson_low is not None and effect.pearson_high is not None:
        note += f" ({format_interval(effect.pearson_low, effect.pearson_high, bits)})"
    if note and effect.ceiling is not None:
        note += f"; ceiling {bits(effect.ceiling)}"

    def draw(*, standalone: bool, narrow: bool = False) -> Markup:
        return xy_chart(
            [("", points)],
            title,
            x_label="effect in the model, bits",
            y_label=f"effect in people, {unit}",
            domain=None,
            note=note,
            standalone=standalone,
            narrow=narrow,
        )

    rows = [row(one) for one in own]
    return Figure(
        "people-effects", title, draw, tuple(header(ItemEffect)), rows, query or {}, note, has_narrow=True
    )
