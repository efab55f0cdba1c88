"""A human data set as a participant of the suite page: the suite's predictions on people's means.

Region values are means over participants of the human measure in place of surprisal. A participant's time for a region
is the sum over its words, and missing if a word is missing. `*` is the sum of the regions' means, or the value of the
sentence where that was observed. An empty region takes 0 ms. **Judgments are negated**: higher surprisal is worse, a
higher rating is better, so that a formula about surprisals holds for people if it holds for the negated ratings.
"""

from __future__ import annotations

from dataclasses import dataclass

from lmgym.people.observations import Measure, Observations
from lmgym.runs.outcomes import PredictionOutcome
from lmgym.runs.region_means import Summary
from lmgym.stats.intervals import Interval
from lmgym.suites.formats import SuiteDocument


@dataclass(frozen=True)
class PeopleResult:
    """People on a suite, as `RunResult` for a model.

    Attributes:
        items: item numbers, in the suite's order.
        predictions: outcomes by prediction, with Wilson's interval over items as for models; margins are in
            `measure.unit`.
        crossed: for each prediction, the 95% interval of its rate over participants and items (crossed bootstrap); over
            items for means over participants; None without evaluable items.
        summary: means by condition and region, as `RunResult.region_summary`, with 95% intervals over participants. Of
            judgments: not negated.
    """

    measure: Measure
    items: tuple[int, ...]
    n_participants: int
    predictions: tuple[PredictionOutcome, ...]
    crossed: tuple[Interval | None, ...]
    summary: Summary
    interval: str


def people_result(observations: Observations, document: SuiteDocument) -> PeopleResult:
    """Evaluate the suite's predictions on people's means, and average the measure by condition and region."""
    raise NotImplementedError
