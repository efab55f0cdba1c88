"""Tables for papers, of models against people and of predictions in people. Numbers are rounded as on pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lmgym.people.tables import Coefficient, Fit, Gain
from lmgym.runs.outcomes import PredictionOutcome
from lmgym.runs.paper import percent_cell, rate_cell
from lmgym.stats.intervals import Interval
from lmgym.text.number_format import bits, grouped, signed
from lmgym.text.paper_tables import Cell, Estimate, PaperTable

GAIN_PLACES = 5
WALD = "Brackets: 95% Wald intervals."


def places_of(*, log: bool) -> int:
    """Decimals of slopes and standard deviations: of ms, or of log ms."""
    return 5 if log else 2


def gains_table(
    gains: Sequence[Gain],
    coefficients: Sequence[Coefficient],
    labels: Mapping[str, str],
    notes: str,
    *,
    log: bool,
) -> PaperTable:
    """Build the table of models (rows) with their gain and their slope of surprisal.

    Args:
        labels: of the models, by name.
        notes: data, suite, models and date.
        log: logarithms of times were fitted.
    """
    slopes = {row.model: row for row in coefficients if row.term == "surprisal"}
    rows = tuple(
        (
            labels.get(gain.model, gain.model),
            _estimate(gain.gain, gain.low, gain.high, GAIN_PLACES),
            _slope(slopes.get(gain.model), places_of(log=log)),
        )
        for gain in gains
    )
    size = f"n = {grouped(gains[0].n)} observations of {grouped(gains[0].n_items)} items." if gains else ""
    about = (
        "Gain: log-likelihood of held-out items over that of the baseline without surprisal, by cross-validation. "
        "Brackets: 95% intervals, of gains by bootstrap over items, of slopes Wald."
    )
    return PaperTable(
        "Gain in log-likelihood by surprisal, and slope of surprisal",
        ("Model", "Gain, nats per observation", f"Slope, {_unit(log=log)} per bit"),
        rows,
        " ".join(filter(None, [about, size, notes])),
        label="people-gains",
    )


def coefficients_table(
    fits: Sequence[Fit],
    coefficients: Sequence[Coefficient],
    labels: Mapping[str, str],
    notes: str,
    *,
    log: bool,
) -> PaperTable:
    """Build the table of terms (rows) by models (columns), with variance components. Arguments: see `gains_table`."""
    places = places_of(log=log)
    by_place = {(row.term, row.model): row for row in coefficients}
    body: list[tuple[Cell, ...]] = [
        (term, *(_slope(by_place.get((term, fit.model)), places) for fit in fits))
        for term in dict.fromkeys(row.term for row in coefficients)
    ]
    components: dict[str, list[float | None]] = {
        "SD of participants": [fit.participant_sd for fit in fits],
        "SD of items": [fit.item_sd for fit in fits],
        "SD of slopes by participant": [fit.participant_slope_sd for fit in fits],
        "SD of slopes by item": [fit.item_slope_sd for fit in fits],
        "SD of residuals": [fit.residual_sd for fit in fits],
    }
    for name, values in components.items():
        if any(value is not None for value in values):
            body.append((name, *(None if value is None else bits(value, places) for value in values)))
    body.append(("Observations", *(str(fit.n) for fit in fits)))
    return PaperTable(
        f"Linear mixed models of reading times (REML), in {_unit(log=log)}",
        ("Term", *(labels.get(fit.model, fit.model) for fit in fits)),
        tuple(body),
        f"{WALD} {notes}",
        label="people-coefficients",
    )


def people_predictions_table(
    data: str,
    outcomes: Sequence[PredictionOutcome],
    names: Sequence[str],
    crossed: Sequence[Interval | None],
    unit: str,
    notes: str,
    unevaluable: Sequence[str] = (),
) -> PaperTable:
    """Build the table of predictions (rows), evaluated on one data set. `data`: name of the data; `names`: labels of
    the predictions; `unevaluable`: labels of those that the data cannot evaluate."""
    body = tuple(
        (
            name,
            str(outcome.n),
            rate_cell(outcome.rate, *((limits.low, limits.high) if limits else ())),
            percent_cell(outcome.chance),
            None if outcome.mean_margin is None else signed(outcome.mean_margin),
        )
        for name, outcome, limits in zip(names, outcomes, crossed, strict=True)
    )
    about = (
        "Brackets: 95% intervals over participants and items (of means over participants: over items). "
        "Ties count as failed."
    )
    if unevaluable:
        about += f" Not evaluable with these data: {', '.join(unevaluable)}."
    return PaperTable(
        f"Share of items in which each prediction holds in people, in percent: {data}",
        ("Prediction", "n", "Items", "Chance", f"Mean margin, {unit}"),
        body,
        f"{about} {notes}",
        label="people-predictions",
    )


def _unit(*, log: bool) -> str:
    return "log ms" if log else "ms"


def _slope(row: Coefficient | None, places: int) -> Estimate | None:
    return None if row is None else _estimate(row.estimate, row.low, row.high, places)


def _estimate(value: float, low: float | None, high: float | None, places: int) -> Estimate:
    limits = () if low is None or high is None else (bits(low, places), bits(high, places))
    return Estimate(bits(value, places), *limits)
