"""Prepare a run's rows for result pages."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Any, Literal, TypeVar

from django.core.paginator import Paginator
from django.db.models import prefetch_related_objects

from gym.accounts.models import AnyUser
from gym.runs.models import PredictionResult, SentenceScore, SuiteRun
from gym.runs.permissions import may_know_owner
from lmgym.runs.against_chance import Verdict, verdicts
from lmgym.runs.coverage import is_low
from lmgym.runs.groups import group_rates
from lmgym.runs.lens import ShownSentence, shown_sentence
from lmgym.runs.region_means import within_item_means
from lmgym.runs.run_differences import MASKED_WORDS
from lmgym.stats import is_skewed_for_its_size
from lmgym.suites.formulas import NOT_EVALUABLE, TIE, TRUE, FormulaError, parse
from lmgym.suites.regions import join
from lmgym.text.number_format import adding_up
from suites.models import SuiteRevision
from suites.presenters import ANONYMOUS, ShownPrediction, critical_regions, shown_prediction
from suites.selectors import item_data_of

Row = TypeVar("Row")
ITEMS_PER_PAGE = 200


@dataclass(frozen=True)
class ShownResult:
    """A prediction with its result: `shown` renders the formula, `result` has the counts; `verdict` is
    corrected for all predictions of the run."""

    shown: ShownPrediction
    result: PredictionResult
    verdict: Verdict

    @property
    def key(self) -> str:
        return prediction_key(self.result)

    @property
    def is_skewed(self) -> bool:
        """Whether the interval of the mean margin is unreliable because of skew."""
        return is_skewed_for_its_size(self.result.margins)


@dataclass(frozen=True)
class ItemRow:
    """One item on the run page: outcome code, margin and "too close to call" per prediction."""

    item: int
    cells: list[tuple[int, float | None, bool]]

    @property
    def is_missing(self) -> bool:
        """Whether a prediction has no value."""
        return any(code == NOT_EVALUABLE for code, _, _ in self.cells)


FILTERS: dict[str, Callable[[ItemRow], bool]] = {
    "held": lambda row: all(code == TRUE for code, _, _ in row.cells),
    "failed": lambda row: not row.is_missing and any(code != TRUE for code, _, _ in row.cells),
    "missing": lambda row: row.is_missing,
    "ties": lambda row: any(code == TIE for code, _, _ in row.cells),
    "close": lambda row: any(close for _, _, close in row.cells),
}
"""Item filters of the run page, by name. Each item is in exactly one of the first three: all predictions held, some
failed, some have no value."""


MARKS = {"ties": "ties", "close": "too close to call"}
"""Filters that overlap with the others, in words."""


def result_context(run: SuiteRun, only: str, sort: str, page: str | None) -> dict[str, Any]:
    revision = run.revision
    prefetch_related_objects([run], "scores")
    results = list(run.prediction_results.select_related("prediction"))
    items = results[0].items if results else revision.item_numbers
    rows = item_rows(results, items)
    chosen, order = in_order(filtered(rows, only), sort, item_orders(results, rows))
    shown = [
        ShownResult(
            shown_prediction(result.prediction, revision.regions, run.policy.get("metric", "sum")),
            result,
            verdict,
        )
        for result, verdict in zip(results, verdicts(results, coverage=run.coverage), strict=True)
    ]
    counts = {name: len(filtered(rows, name)) for name in FILTERS}
    several = len(results) > 1
    shares = {"held": "all held" if several else "held", "failed": "some failed" if several else "failed"}
    return {
        "results": shown,
        "items": Paginator(chosen, ITEMS_PER_PAGE).get_page(page),
        "n_items": len(items),
        "sort": order,
        "only": only if only in FILTERS else "",
        "counts": counts,
        "shares": [*shares.items(), ("missing", "no value")],
        "marks": [(name, words) for name, words in MARKS.items() if counts[name] or name == only],
        "unit": run.score_kind,
        "masked_words": MASKED_WORDS,
        "critical": critical_regions(revision),
        "failures": run.sentence_scores.exclude(failure="").select_related("sentence")[:50],
        "command": "" if run.is_uploaded else reproduce_command(run),
        "undeclared_start": has_undeclared_start(run),
        "has_margins": has_margins(rows),
        "has_tokens": has_tokens(run),
        "low_coverage": is_low(run.coverage),
    }


def grouping(run: SuiteRun, results: Sequence[PredictionResult], name: str) -> dict[str, Any]:
    """Return the pass rates by item data. `name`: the item data to group by; if unknown, the first that divides the
    items. Context: group_names, group_by, groups [(label of the prediction, [GroupRate])]; without such data or
    results, only group_names, which is empty."""
    data = item_data_of(run.revision)
    names = list(data.classes)
    if not names or not results:
        return {"group_names": []}
    chosen = name if name in names else names[0]
    groups = [
        (
            result.prediction.label,
            list(group_rates(result.outcome(), result.items, chosen, data.by_item[chosen])),
        )
        for result in results
    ]
    return {"group_names": names, "group_by": chosen, "groups": groups}


def region_means(run: SuiteRun, *, within: bool = False) -> list[dict[str, Any]]:
    """Return mean bits by condition and region with a 95% interval, in the shape of `SuiteRun.region_summary`:
    Student's t over items, or the within-item interval."""
    summary: list[dict[str, Any]] = run.region_summary
    if not within:
        return summary
    rows = run.sentence_scores.order_by("sentence__position").values_list(
        "sentence__item", "sentence__condition", "sentence__contents", "regions"
    )
    return within_item_means(summary, rows, len(run.revision.region_names))


def in_order(
    rows: Sequence[Row], sort: str, values: Mapping[str, Callable[[Row], float | None]]
) -> tuple[list[Row], str]:
    """Sort by one of `values`, descending with a leading `-`; rows without a value come last. An unknown key keeps the
    order and is returned as an empty string."""
    value = values.get(sort.removeprefix("-"))
    if value is None:
        return list(rows), ""
    known = [(number, row) for row in rows if (number := value(row)) is not None]
    known.sort(key=lambda pair: -pair[0] if sort.startswith("-") else pair[0])
    return [row for _, row in known] + [row for row in rows if value(row) is None], sort


def item_texts(run: SuiteRun, rows: Iterable[Any]) -> dict[int, str]:
    """Map each row's `item` to the text of its first sentence: as the model read it, or as in the suite if no
    text was scored."""
    items = [row.item for row in rows]
    scores = run.sentence_scores.filter(sentence__item__in=items).order_by("sentence__position")
    texts: dict[int, str] = {}
    for item, text in scores.values_list("sentence__item", "text"):
        texts.setdefault(item, text)
    if not texts:  # an upload of outcomes only
        for sentence in run.revision.sentences.filter(item__in=items).order_by("position"):
            texts.setdefault(sentence.item, " ".join(content for content in sentence.contents if content))
    return texts


def item_rows(results: Sequence[PredictionResult], items: Sequence[int]) -> list[ItemRow]:
    return [
        ItemRow(
            item,
            [(result.outcomes[place], result.margins[place], result.is_close(place)) for result in results],
        )
        for place, item in enumerate(items)
    ]


def filtered(rows: Sequence[ItemRow], only: str) -> list[ItemRow]:
    """Return the items that a filter selects; all items if the filter is unknown."""
    matches = FILTERS.get(only)
    return list(rows) if matches is None else [row for row in rows if matches(row)]


def prediction_key(result: PredictionResult) -> str:
    """Return a prediction's key for URLs: p1 for the first."""
    return f"p{result.position + 1}"


def item_orders(results: Sequence[PredictionResult], rows: Sequence[ItemRow]) -> dict[str, Any]:
    """Return the orders for `in_order`: by item number, and by each prediction's margin, or outcome if the run has no
    margins."""
    column = 1 if has_margins(rows) else 0
    orders: dict[str, Any] = {"item": lambda row: row.item}
    for place, result in enumerate(results):
        orders[prediction_key(result)] = lambda row, place=place: row.cells[place][column]
    return orders


def has_margins(rows: Sequence[ItemRow]) -> bool:
    return any(margin is not None for row in rows for _, margin, _ in row.cells)


@dataclass(frozen=True)
class ShownSides:
    """A comparison of one item: both sides and left − right, in bits, rounded so that they add up."""

    left: str
    operator: str
    right: str
    left_bits: str
    right_bits: str
    difference: str


def compared_sides(text: str, revision: SuiteRevision, scores: Sequence[SentenceScore]) -> list[ShownSides]:
    """Evaluate all comparisons in a formula on one item; empty if the formula is malformed or the run has no values."""
    values: dict[tuple[str, int | Literal["*"]], float] = {}
    for row in scores:
        condition = row.sentence.condition
        values[condition, "*"] = math.nan if row.surprisal is None else row.surprisal
        for number, bits in enumerate(row.regions, start=1):
            values[condition, number] = math.nan if bits is None else bits
    if all(math.isnan(value) for value in values.values()):
        return []
    try:
        comparisons = parse(text).compared(values, revision.regions)
    except FormulaError:
        return []
    signs = {">=": "≥", "<=": "≤", "!=": "≠"}
    return [
        ShownSides(
            side.left,
            signs.get(side.operator, side.operator),
            side.right,
            *adding_up(side.left_bits, side.right_bits),
        )
        for side in comparisons
    ]


def owner_name(run: SuiteRun, user: AnyUser) -> str:
    """Return the name of the account that queued or uploaded the run, ANONYMOUS if this user may not know it,
    or "" if the account was deleted."""
    if not may_know_owner(user, run):
        return ANONYMOUS
    return run.owner.display_name if run.owner else ""


def has_tokens(run: SuiteRun) -> bool:
    """Return True for computed runs, and for uploads whose file has tokens."""
    if not run.is_uploaded:
        return True
    return run.sentence_scores.exclude(tokens=[]).exists()


def bare_sentences(revision: SuiteRevision, item: int) -> list[SentenceScore]:
    """Return an item's sentences without values, for a run with only outcomes."""
    blank: list[float | None] = [None] * len(revision.region_names)
    return [
        SentenceScore(
            sentence=row, text=join(row.contents, revision.join_policy).text, regions=blank, tokens=[]
        )
        for row in revision.sentences.filter(item=item).order_by("position")
    ]


def has_undeclared_start(run: SuiteRun) -> bool:
    """Return whether the start token used is not the one that the tokenizer declares."""
    facts = run.provenance
    tried = facts.get("backend") == "causal" and "declared_bos" in facts
    return tried and facts["bos"] != facts["declared_bos"]


def reproduce_command(run: SuiteRun) -> str:
    """Return the command line that reproduces the numbers from the downloaded suite."""
    flags = {
        name: run.policy[name]
        for name in ("bos", "join", "metric", "whitespace", "tokens")
        if name in run.policy
    }
    if flags.get("bos") in ("auto", "always") and has_undeclared_start(run):
        flags["bos"] = run.provenance["bos"] or "never"  # on another site, the model's own token may differ
    words = [f"--{name} {quote(str(value))}" for name, value in flags.items()]
    if run.policy.get("eos"):
        words.append("--eos")
    return (
        f"python manage.py evaluate {run.revision.suite.slug}-r{run.revision.number}.json "
        f"--model {run.model.slug} {' '.join(words)}"
    )


def under_the_lens(scores: Iterable[SentenceScore], revision: SuiteRevision) -> list[ShownSentence]:
    """Prepare sentences of a run on this revision for display, token by token. `scores`: fetched with their
    sentences."""
    critical = critical_regions(revision)
    return [
        shown_sentence(row.result(), revision.region_names, row.sentence.contents, critical) for row in scores
    ]
