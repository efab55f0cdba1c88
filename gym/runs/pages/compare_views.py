"""The compare page: models on all suites, on one suite, or on one item, or two revisions under one model. Choices that
cannot be met are named on the page; nothing is left out silently."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from gym.runs.pages import paper
from gym.runs.pages.methods import compared_methods
from gym.runs.pages.run_figures import item_figure
from gym.runs.read import comparison_selectors as selectors
from gym.runs.read.comparison import RunSide, SuiteRow
from gym.runs.read.comparison_selectors import OnAllSuites, OnASuite
from gym.runs.read.leaderboard.address import read_options
from gym.runs.read.presenters import bare_sentences, has_tokens, in_order, item_texts, under_the_lens
from lmgym.charts.figure import Figure
from lmgym.charts.intervals import RowMark, interval_rows
from lmgym.charts.xy import Point, xy_chart
from lmgym.runs.comparison import MAX_SIDES, Pair, RateComparison, tests_in_words
from lmgym.runs.leaderboard.options import Options
from lmgym.runs.methods import Methods
from lmgym.runs.rules import RULES, rule_json
from lmgym.runs.run_differences import counted_differences, in_words
from lmgym.stats import CORRECTIONS, Correction, correction_of
from lmgym.text import count
from lmgym.text.columns import header as names_of
from lmgym.text.columns import row as values_of
from lmgym.text.paper_tables import PaperTable
from models_registry.models import RegisteredModel
from suites.models import Suite, SuiteRevision
from suites.selectors import listed_for as listed_suites
from suites.selectors import tags_of
from suites.selectors import visible_to as visible_suites

ITEMS_PER_PAGE = 200
PAIRS_PER_PAGE = 100


MAX_REVISIONS = 2


@dataclass(frozen=True)
class Choices:
    """Choices in the query string. `models`: the visible models, starting with the baseline if the query
    names one; `baseline`: None if the query names none."""

    options: Options
    correction: Correction
    names: Sequence[str]
    models: list[RegisteredModel]
    baseline: RegisteredModel | None
    numbers: Sequence[str]
    bound_points: str

    @property
    def left_out(self) -> Sequence[str]:
        """Models beyond MAX_SIDES."""
        return self.names[MAX_SIDES:]

    @cached_property
    def unknown(self) -> list[str]:
        visible = {model.slug for model in self.models}
        return [name for name in self.names[:MAX_SIDES] if name not in visible]

    @cached_property
    def bound(self) -> float | None:
        """Equivalence bound, 0..1; None if missing or invalid."""
        try:
            points = float(self.bound_points)
        except ValueError:
            return None
        return points / 100 if 0 < points < 100 else None

    def revisions_of(self, suite: Suite) -> tuple[list[SuiteRevision], list[str]]:
        """Return the revisions in `r=` (default: the newest frozen one), and the parts of `r=` that are
        unknown or too many."""
        requested = self.numbers[:MAX_REVISIONS]
        numbers = [int(text) for text in requested if text.isascii() and text.isdecimal() and len(text) < 9]
        revisions = selectors.chosen_revisions(suite, numbers)
        known_numbers = {row.number for row in revisions}
        wrong = [
            text
            for text in requested
            if not text.isascii() or not text.isdecimal() or int(text) not in known_numbers
        ]
        return revisions, [*wrong, *self.numbers[MAX_REVISIONS:]]

    def query(self) -> dict[str, str | list[str]]:
        """Return the query parameters for the URLs of files, without revisions."""
        query: dict[str, str | list[str]] = {"model": ",".join(model.slug for model in self.models)}
        if self.baseline:
            query["base"] = self.baseline.slug
        if self.options.rule.key != "each":
            query["rule"] = self.options.rule.key
        if self.options.tag:
            query["tag"] = self.options.tag
        if self.options.suites:
            query["suite"] = ",".join(self.options.suites)
        return query | {"correction": self.correction.key}


def read_choices(request: HttpRequest) -> Choices:
    """Read `?model=a&model=b&base=b&r=1,2&bound=10`, and rule, suite and tag of Options. The baseline need not be
    repeated as a model."""
    options = read_options(request.GET)
    named = request.GET.get("base", "").replace("\0", "")[:80]
    names = tuple(dict.fromkeys([named, *options.models] if named else options.models))
    models = selectors.models_named(request.user, names)
    return Choices(
        options=options,
        correction=correction_of(request.GET.get("correction", "")),
        names=names,
        models=models,
        baseline=next((model for model in models if model.slug == named), None),
        numbers=_numbers(request),
        bound_points=request.GET.get("bound", "").replace("\0", "").strip()[:20],
    )


def _numbers(request: HttpRequest) -> tuple[str, ...]:
    values: Any = request.GET.getlist("r")[:20]
    return tuple(
        dict.fromkeys(
            text.strip()[:20] for value in values for text in value[:200].split(",") if text.strip()
        )
    )


@require_safe
def compare_page(request: HttpRequest) -> HttpResponse:
    """Compare models. `?model=a&model=b`: on all suites; `&suite=s&suite=t`: on these; `&suite=s`: on one; `&base=a`:
    with a as the baseline; `&r=1&r=2`: two revisions; `&item=3`: one item with its tokens.

    Context: choices, options, rules, correction, corrections, models, all_models, choosing (is the form open?),
    all_suites and all_tags (callables). With a suite: suite, revision, revisions, wrong_revisions, all_revisions, found
    (OnASuite), sides, pairs, has_skewed_margins, items (a page of ItemRow), n_items, n_differ, texts (by item), only,
    sort, orders; with an item, instead of texts, item, row, lenses, previous, next. Without a suite, for two or more
    models: found (OnAllSuites), suite_rows (a page of SuiteRow). In both cases unlike [(sentence, number)], tests,
    figure (None if there is nothing to draw, or more suites than one page has), paper and
    methods_files (PaperFiles).
    """
    choices = read_choices(request)
    all_models = selectors.models_to_compare(request.user)
    context: dict[str, Any] = {
        "choices": choices,
        "options": choices.options,
        "rules": list(RULES.values()),
        "correction": choices.correction,
        "corrections": list(CORRECTIONS.values()),
        "models": choices.models,
        "all_models": all_models,
        "choosing": len(choices.models) < 2 or "choose" in request.GET,
        "all_suites": lambda: selectors.suites_to_compare(request.user, choices.options.suites),
        "all_tags": lambda: tags_of(listed_suites(request.user)),
    }
    if len(choices.options.suites) == 1:
        return _on_a_suite(request, choices, context)
    if len(choices.models) > 1:
        comparison = _on_all_suites(request, choices)
        per_page = suites_per_page(choices)
        few = len(comparison.rows) <= per_page
        labels = [model.label for model in comparison.models]
        context |= {
            "found": comparison,
            "suite_rows": Paginator(comparison.rows, per_page).get_page(request.GET.get("page")),
            "unlike": [
                (in_words(row, labels), n)
                for row, n in counted_differences(row.unlike for row in comparison.rows)
            ],
            "tests": tests_in_words(comparison.pairs),
            "figure": suites_figure(comparison, choices) if few else None,
            "paper": paper.PaperFiles("compare-suites", choices.query()),
            "methods_files": paper.methods_files("compare-methods", choices.query()),
        }
    return render(request, "runs/compare.html", context)


def suites_per_page(choices: Choices) -> int:
    """Return the number of suites that fit on a page with at most PAIRS_PER_PAGE differences."""
    return max(1, PAIRS_PER_PAGE // max(1, len(choices.models) - 1))


def _on_all_suites(request: HttpRequest, choices: Choices) -> OnAllSuites:
    return selectors.on_all_suites(
        request.user,
        choices.models,
        choices.options.rule,
        choices.correction,
        tag=choices.options.tag,
        suites=choices.options.suites,
    )


def suites_chart(request: HttpRequest) -> Figure:
    """Return the chart that compares the models in `?model=a,b` on the suites they share."""
    choices, comparison = _comparison_on_suites(request)
    if len(comparison.rows) > suites_per_page(choices):
        raise Http404(
            f"A chart can show at most {PAIRS_PER_PAGE} differences. Choose a tag to compare fewer suites."
        )
    figure = suites_figure(comparison, choices)
    if figure is None:
        raise Http404("These models have no suite in common.")
    return figure


def suites_table(request: HttpRequest) -> PaperTable:
    """Return the table for a paper of the models in `?model=a,b` on the suites they share."""
    choices, comparison = _comparison_on_suites(request)
    return paper.compared_suites(comparison, choices.options.rule, choices.correction)


def comparison_methods(request: HttpRequest) -> Methods:
    """Return the methods paragraph of the comparison that the query selects."""
    one_suite = len(read_choices(request).options.suites) == 1
    choices, comparison = _chosen_comparison(request) if one_suite else _comparison_on_suites(request)
    return compared_methods(request, comparison, choices.options.rule, choices.correction)


def _comparison_on_suites(request: HttpRequest) -> tuple[Choices, OnAllSuites]:
    """Read the comparison on several suites for a file; 404 for choices that cannot be met."""
    choices = read_choices(request)
    _require_all(choices.unknown, choices.left_out)
    if len(choices.models) < 2:
        raise Http404("Choose at least two models.")
    comparison = _on_all_suites(request, choices)
    _require_all(comparison.unknown)
    return choices, comparison


def predictions_table(request: HttpRequest) -> PaperTable:
    """Return the table for a paper of the predictions of `?suite=s` by the models in `?model=a,b`."""
    choices, comparison = _chosen_comparison(request)
    return paper.compared_predictions(comparison, choices.options.rule)


def items_chart(request: HttpRequest) -> Figure:
    """Return the chart of margins by item for `?model=a,b&suite=s`, or for two revisions of the suite."""
    choices, comparison = _chosen_comparison(request)
    figure = items_figure(comparison, choices)
    if figure is None:
        raise Http404("These runs have no margins to compare.")
    return figure


def _chosen_comparison(request: HttpRequest) -> tuple[Choices, OnASuite]:
    """Read the comparison on `?suite=s` for a file; 404 for choices that cannot be met."""
    choices = read_choices(request)
    if len(choices.options.suites) != 1:
        raise Http404("Select exactly one suite.")
    suite = get_object_or_404(visible_suites(request.user), slug=choices.options.suites[0])
    revisions, wrong = choices.revisions_of(suite)
    _require_all(choices.unknown, choices.left_out, wrong)
    comparison = _comparison_of(request, choices, revisions)
    _require_all(comparison.left_out)
    return choices, comparison


def _require_all(*left_out: Sequence[str]) -> None:
    """Raise 404 for choices that cannot be met, because a chart cannot state what it leaves out."""
    names = [name for some in left_out for name in some]
    if names:
        raise Http404(f"Unknown, or too many for one chart: {', '.join(names)[:200]}.")


def _comparison_of(request: HttpRequest, choices: Choices, revisions: list[SuiteRevision]) -> OnASuite:
    if not revisions:
        raise Http404("This suite has no frozen revision, so it has no results.")
    return selectors.on_a_suite(
        request.user,
        revisions,
        choices.models,
        choices.options.rule,
        choices.correction,
        baseline=choices.baseline,
        bound=choices.bound,
    )


def _on_a_suite(request: HttpRequest, choices: Choices, context: dict[str, Any]) -> HttpResponse:
    suite = get_object_or_404(visible_suites(request.user), slug=choices.options.suites[0])
    revisions, wrong = choices.revisions_of(suite)
    comparison = _comparison_of(request, choices, revisions)
    only = "differ" if request.GET.get("only") == "differ" else ""
    chosen = [row for row in comparison.items if row.differs] if only else comparison.items
    shown, sort = in_order(chosen, request.GET.get("sort", ""), _orders(comparison))
    labels = [side.label for side in comparison.sides]
    context |= {
        "suite": suite,
        "revision": revisions[0],
        "revisions": revisions,
        "wrong_revisions": wrong,
        "all_revisions": selectors.frozen_of(suite),
        "found": comparison,
        "sides": comparison.sides,
        "pairs": comparison.pairs,
        "unlike": [(in_words(row, labels), 1) for row in comparison.unlike],
        "tests": tests_in_words(comparison.pairs),
        "has_skewed_margins": any(pair.margin_is_skewed for pair in comparison.pairs),
        "figure": items_figure(comparison, choices),
        "paper": paper.PaperFiles("compare-predictions", choices.query() | _revisions(revisions)),
        "methods_files": paper.methods_files("compare-methods", choices.query() | _revisions(revisions)),
        "items": Paginator(shown, ITEMS_PER_PAGE).get_page(request.GET.get("page")),
        "n_items": len(comparison.items),
        "n_differ": comparison.n_differ,
        "only": only,
        "sort": sort,
        "orders": [f"s{k}" for k in range(1, len(comparison.sides) + 1)],
    }
    if "item" in request.GET:
        return _on_an_item(request, comparison, context)
    if comparison.sides:
        context["texts"] = item_texts(comparison.sides[0].run, context["items"])
    return render(request, "runs/compare_suite.html", context)


def _revisions(revisions: Sequence[SuiteRevision]) -> dict[str, str | list[str]]:
    """Return the query parameter of these revisions."""
    return {"r": [str(revision.number) for revision in revisions]}


def _orders(comparison: OnASuite) -> dict[str, Any]:
    """Return the sort orders: by item number, or by the margin on side `s1` etc. (by pass share if margins are not
    comparable)."""
    has_margins = any(side and side.margin is not None for row in comparison.items for side in row.sides)
    column = "margin" if comparison.same_bits and has_margins else "counts"
    orders: dict[str, Any] = {"item": lambda row: row.item}
    for k in range(len(comparison.sides)):
        orders[f"s{k + 1}"] = lambda row, k=k: row.sides[k] and getattr(row.sides[k], column)
    return orders


def _on_an_item(request: HttpRequest, comparison: OnASuite, context: dict[str, Any]) -> HttpResponse:
    text = request.GET["item"]
    rows = {row.item: row for row in comparison.items}
    if not text.lstrip("-").isdecimal() or len(text) > 12 or int(text) not in rows:
        raise Http404("No run in this comparison has this item.")
    item, numbers = int(text), list(rows)
    place = numbers.index(item)
    context |= {
        "item": item,
        "row": rows[item],
        "lenses": [_lens(side, item) for side in comparison.sides],
        "previous": numbers[place - 1] if place else None,
        "next": numbers[place + 1] if place + 1 < len(numbers) else None,
    }
    return render(request, "runs/compare_item.html", context)


def _lens(side: RunSide, item: int) -> dict[str, Any]:
    run, revision = side.run, side.run.revision
    scores = list(
        run.sentence_scores.filter(sentence__item=item)
        .select_related("sentence")
        .order_by("sentence__position")
    ) or bare_sentences(revision, item)
    sentences = under_the_lens(scores, revision)
    return {
        "figure": item_figure(run, item, sentences),
        "side": side,
        "run": run,
        "revision": revision,
        "sentences": sentences,
        "has_bits": bool(run.region_summary),
        "has_tokens": has_tokens(run),
    }


def suites_figure(comparison: OnAllSuites, choices: Choices) -> Figure | None:
    """Draw each model’s difference from the baseline on every suite that both have run; None without such a
    suite."""
    base, *others = comparison.models
    known = [(row, pair, k) for row in comparison.rows for k, pair in enumerate(row.pairs) if pair]
    if not known:
        return None
    marks = [
        RowMark(
            row.revision.suite.title,
            pair.rate.difference,
            pair.rate.low,
            pair.rate.high,
            reference=0.0,
            series=k,
            note=f"items that favour {base.label}: {pair.rate.only_first}, {others[k].label}: {pair.rate.only_second}",
        )
        for row, pair, k in known
    ]
    labels = [model.label for model in comparison.models]
    differing = " ".join(
        f"{in_words(row, labels)}, {n} of {count(len(comparison.rows), 'suite')}."
        for row, n in counted_differences(suite_row.unlike for suite_row in comparison.rows)
    )
    title = f"{others[0].label} − {base.label}" if len(others) == 1 else f"Difference from {base.label}"
    draw = partial(
        interval_rows,
        marks,
        title,
        unit="difference of pass rates",
        domain=None,
        reference="no difference",
        series=[model.label for model in others] if len(others) > 1 else (),
        note=f"Newcombe’s paired interval. Scoring rule: {choices.options.rule.label}"
        + (f". {differing}" if differing else ""),
    )
    settings = ("made_differently", "first_whitespace", "second_whitespace")
    header = ("suite", "revision", *names_of(RateComparison), *settings)
    table = [_table_row(row, pair) for row, pair, _ in known]
    return Figure(
        "compare-suites",
        title,
        draw,
        header,
        table,
        choices.query(),
        differing,
        rule_json(choices.options.rule),
        has_narrow=True,
    )


def _table_row(row: SuiteRow, pair: Pair[RunSide]) -> tuple[object, ...]:
    labels = [side.label if side else "" for side in row.sides]
    first, second = pair.first.run.model.slug, pair.second.run.model.slug
    return (
        row.revision.suite.slug, row.revision.number, *values_of(replace(pair.rate, first=first, second=second)),
        ". ".join(in_words(difference, labels) for difference in row.unlike) or None,
        pair.first.run.whitespace, pair.second.run.whitespace,
    )  # fmt: skip


def items_figure(comparison: OnASuite, choices: Choices) -> Figure | None:
    """Draw the margins of the other runs against those of the first run, one point per item; None without
    margins, or if the values are different quantities."""
    if not comparison.same_bits:
        return None
    sides, rows = comparison.sides, comparison.items
    series = []
    for k, side in enumerate(sides[1:], start=1):
        points = [
            Point(
                ours.margin,
                theirs.margin,
                f"item {row.item}, {ours.margin:+.2f} and {theirs.margin:+.2f} bits",
            )
            for row in rows
            if (ours := row.sides[0]) and (theirs := row.sides[k])
            if ours.margin is not None and theirs.margin is not None
        ]
        if points:
            series.append((side.label, points))
    if not series:
        return None
    title = f"{comparison.revisions[0].suite.title}: margins by item"
    labels = [side.label for side in sides]
    left_out = comparison.not_compared_in_words
    differing = " ".join(f"{in_words(row, labels)}." for row in comparison.unlike)
    n = len(comparison.not_compared)
    drawn = f"{n} {'prediction is' if n == 1 else 'predictions are'} not compared." if n else ""
    other = "the other" if len(sides) == 2 else "the others"
    note = (
        f"To the right of zero, predictions hold for {sides[0].label}; above zero, for {other}. "
        f"Scoring rule: {choices.options.rule.label}."
    )
    draw = partial(
        xy_chart,
        series,
        title,
        x_label=f"{sides[0].label}: margin, bits",
        y_label="margin, bits" if len(series) > 1 else f"{series[0][0]}: margin, bits",
        domain=None,
        note=" ".join(filter(None, (note, drawn, differing))),
    )
    header = ("item", *(f"margin_{label}" for label in labels), "whitespace", "not_compared")
    common = (
        sides[0].run.whitespace,
        left_out or None,
    )  # equal for all sides, since their bits are the same quantity
    table = [(row.item, *(side.margin if side else None for side in row.sides), *common) for row in rows]
    query = choices.query() | _revisions(comparison.revisions)
    note = f"{differing} {left_out}".strip()
    rule = rule_json(choices.options.rule)
    return Figure("compare-items", title, draw, header, table, query, note, rule, has_narrow=True)
