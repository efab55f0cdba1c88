"""Prepare human data for pages: predictions, figures, items, and numbers of participants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gym.people.models import HumanData
from gym.people.results import exclusions_of, result_of
from gym.people.storage import load
from gym.runs.models import SentenceScore, SuiteRun
from lmgym.charts.figure import Figure
from lmgym.people.exclusions import exclude
from lmgym.people.figures import people_figure
from lmgym.people.intake.participants import SMALL_GROUP
from lmgym.people.predictions import people_summary
from lmgym.runs.against_chance import Verdict, verdicts
from lmgym.runs.outcomes import PredictionOutcome
from lmgym.stats.intervals import Interval
from lmgym.suites.formats.designs import looks
from lmgym.suites.formulas import NOT_EVALUABLE
from lmgym.text.problems import InvalidArgument
from models_registry.names import disambiguate
from suites.models import Sentence
from suites.presenters import ShownPrediction, critical_regions, shown_prediction
from suites.selectors import design_of, document_of


@dataclass(frozen=True)
class ShownPeople:
    """A prediction with its outcome in people. `crossed`: interval over participants and items; `verdict` is corrected
    for all predictions."""

    shown: ShownPrediction
    outcome: PredictionOutcome
    crossed: Interval | None
    verdict: Verdict


def shown_predictions(data: HumanData) -> list[ShownPeople]:
    """Return the predictions with outcomes; others are in `shown_unevaluable`."""
    result = result_of(data)
    if result is None:
        return []
    predictions = list(data.revision.predictions.all())
    rows = zip(result.predictions, result.crossed, verdicts(result.predictions, coverage=None), strict=True)
    return [
        ShownPeople(
            shown_prediction(predictions[outcome.position], data.revision.regions), outcome, crossed, verdict
        )
        for outcome, crossed, verdict in rows
    ]


@dataclass(frozen=True)
class ShownUnevaluable:
    """A prediction that the data cannot evaluate, and why."""

    shown: ShownPrediction
    reason: str


def shown_unevaluable(data: HumanData) -> list[ShownUnevaluable]:
    result, revision = result_of(data), data.revision
    if result is None:
        return []
    predictions = list(revision.predictions.all())
    return [
        ShownUnevaluable(shown_prediction(predictions[one.position], revision.regions), one.reason)
        for one in result.unevaluable
    ]


def data_figure(data: HumanData) -> Figure | None:
    """Draw people's means by region and condition, or by condition if sentences were judged; None without a result."""
    result, revision = result_of(data), data.revision
    if result is None:
        return None
    return people_figure(
        f"{data.title}, {revision.suite.title}",
        revision.region_names,
        result,
        critical_regions(revision),
        looks=looks(design_of(revision), revision.condition_names),
        query={"data": data.slug},
    )


@dataclass(frozen=True)
class ItemRow:
    """An item with the outcome code and margin of each prediction."""

    item: int
    cells: list[tuple[int, float | None]]


def item_rows(data: HumanData) -> list[ItemRow]:
    """Return the items that people have values of."""
    result = result_of(data)
    if result is None:
        return []
    rows = [
        ItemRow(item, [(row.outcomes[place], row.margins[place]) for row in result.predictions])
        for place, item in enumerate(result.items)
    ]
    return [row for row in rows if any(code != NOT_EVALUABLE for code, _ in row.cells)] or rows


@dataclass(frozen=True)
class RegionCell:
    """A region of a sentence: text, people's mean with its interval (None without observations), and bits by run."""

    text: str
    people: dict[str, Any] | None
    bits: list[float | None]


@dataclass(frozen=True)
class SentenceRow:
    """A sentence of an item. `whole`: people's mean of the sentence; `models`: labels of the runs, as in the cells."""

    condition: str
    cells: list[RegionCell]
    whole: dict[str, Any] | None
    bits: list[float | None]
    models: list[str]


def item_values(data: HumanData, item: int, runs: Sequence[SuiteRun]) -> list[SentenceRow]:
    """Return people's means and the bits of runs for the sentences of an item. Prefetch `sentences` and `predictions`
    of the revision."""
    sentences = [sentence for sentence in data.revision.sentences.all() if sentence.item == item]
    if not sentences:
        return []
    means = _means(data, item)
    disambiguate(run.model for run in runs)
    models = [run.model.label for run in runs]
    scores: list[dict[int, SentenceScore]] = [{} for _ in runs]
    place_of = {run.pk: place for place, run in enumerate(runs)}
    for row in SentenceScore.objects.filter(run__in=runs, sentence__item=item):
        scores[place_of[row.run_id]][row.sentence_id] = row
    return [_sentence_row(sentence, means.get(sentence.condition), scores, models) for sentence in sentences]


def _sentence_row(
    sentence: Sentence, means: dict[str, Any] | None, scores: Sequence[dict[int, Any]], models: list[str]
) -> SentenceRow:
    of_runs = [rows.get(sentence.pk) for rows in scores]
    cells = [
        RegionCell(
            text,
            _known(means["regions"][place]) if means else None,
            [row.regions[place] if row else None for row in of_runs],
        )
        for place, text in enumerate(sentence.contents)
    ]
    whole = _known(means["sentence"]) if means else None
    return SentenceRow(
        sentence.condition, cells, whole, [row.surprisal if row else None for row in of_runs], models
    )


def _known(cell: dict[str, Any]) -> dict[str, Any] | None:
    return cell if cell["n"] else None


def _means(data: HumanData, item: int) -> dict[str, Any]:
    """Return people's means of one item by condition, after exclusions."""
    observations, accuracy = load(data)
    kept = exclude(observations, exclusions_of(data.exclusions), accuracy).observations
    own = kept.take(kept.item == item)
    if not len(own):
        return {}
    try:
        summary = people_summary(own, document_of(data.revision))
    except InvalidArgument:
        return {}
    return {row["condition"]: row for row in summary}


def counted_participants(data: HumanData, *, names_small: bool) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return the chosen demographic columns with the number of participants by value. Values that fewer than
    SMALL_GROUP participants share are put together unless `names_small`."""
    shown = []
    for column, counts in data.demographics.items():
        values = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        large = [(value or "not stated", str(n)) for value, n in values if n >= SMALL_GROUP or names_small]
        hidden = sum(n for _, n in values if n < SMALL_GROUP) if not names_small else 0
        more = [(f"values of fewer than {SMALL_GROUP} participants", str(hidden))] if hidden else []
        shown.append((column, large + more))
    return shown
