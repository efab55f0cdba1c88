"""The compare page: models on all suites, models on one suite, one item, or revisions under one model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from gym.lib.stats import CORRECTIONS
from gym.runs.core.rules import RULES
from gym.runs.pages.compare_figures import items_figure, suites_figure
from gym.runs.pages.figures import Figure
from gym.runs.pages.run_figures import item_figure
from gym.runs.read.comparability import counted, in_words
from gym.runs.read.comparison import selectors
from gym.runs.read.comparison.choices import Choices, read_choices
from gym.runs.read.comparison.model import Side, tests_in_words
from gym.runs.read.comparison.selectors import OnAllSuites, OnASuite
from gym.runs.read.presenters import bare_sentences, has_tokens, in_order, shown_sentence
from models_registry.names import tell_apart
from models_registry.selectors import visible_to as visible_models
from suites.models import SuiteRevision
from suites.presenters import critical_regions
from suites.selectors import visible_to as visible_suites

ITEMS_PER_PAGE = 200
PAIRS_PER_PAGE = 100


@require_safe
def compare_page(request: HttpRequest) -> HttpResponse:
    """`?model=a&model=b` all suites, or `&suite=s&suite=t` these; `&suite=s` one; `&base=a` against that model;
    `&r=1&r=2` two revisions; `&item=3` one item to the tokens.

    Context: choices, options, rules, correction, corrections, models, all_models; with a suite: suite, revisions,
    wrong_revisions, found (OnASuite), items (a page of ItemRow), only, sort, orders; with an item also lenses;
    without: found (OnAllSuites), suite_rows (a page of SuiteRow), unlike (sentences), tests; figure (or None, as for
    more suites than a page has)."""
    choices = read_choices(request)
    with_results = visible_models(request.user).filter(runs__completed_at__isnull=False).distinct()
    all_models = list(with_results.order_by("name"))
    tell_apart(all_models)
    context: dict[str, Any] = {
        "choices": choices,
        "options": choices.options,
        "rules": list(RULES.values()),
        "correction": choices.correction,
        "corrections": list(CORRECTIONS.values()),
        "models": choices.models,
        "all_models": all_models,
    }
    if len(choices.options.suites) == 1:
        return _on_a_suite(request, choices, context)
    if len(choices.models) > 1:
        found = _on_all_suites(request, choices)
        per_page = suites_per_page(choices)
        few = len(found.rows) <= per_page
        labels = [model.label for model in found.models]
        context |= {
            "found": found,
            "suite_rows": Paginator(found.rows, per_page).get_page(request.GET.get("page")),
            "unlike": [(in_words(row, labels), n) for row, n in counted(row.unlike for row in found.rows)],
            "tests": tests_in_words(found.pairs),
            "figure": suites_figure(found, choices) if few else None,
        }
    return render(request, "runs/compare.html", context)


def suites_per_page(choices: Choices) -> int:
    """Every pair of runs on a page takes ten thousand resamples."""
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
    """The chart of `?model=a,b`."""
    choices = read_choices(request)
    _require_all(choices.unknown, choices.left_out)
    if len(choices.models) < 2:
        raise Http404("Name two models at least.")
    found = _on_all_suites(request, choices)
    _require_all(found.unknown)
    if len(found.rows) > suites_per_page(choices):
        raise Http404(f"A chart has at most {PAIRS_PER_PAGE} differences; choose a tag.")
    figure = suites_figure(found, choices)
    if figure is None:
        raise Http404("There is no suite that these models have both run.")
    return figure


def items_chart(request: HttpRequest) -> Figure:
    """The chart of `?model=a,b&suite=s`, or of two revisions."""
    choices = read_choices(request)
    if len(choices.options.suites) != 1:
        raise Http404("Name one suite.")
    suite = get_object_or_404(visible_suites(request.user), slug=choices.options.suites[0])
    revisions, wrong = choices.revisions_of(suite)
    _require_all(choices.unknown, choices.left_out, wrong)
    found = _found(request, choices, revisions)
    _require_all(found.left_out)
    figure = items_figure(found, choices)
    if figure is None:
        raise Http404("These runs have no margins to compare.")
    return figure


def _require_all(*left_out: Sequence[str]) -> None:
    """A chart has nobody to tell what it leaves out."""
    names = [name for some in left_out for name in some]
    if names:
        raise Http404(f"Not there, or too much for one chart: {', '.join(names)[:200]}.")


def _found(request: HttpRequest, choices: Choices, revisions: list[SuiteRevision]) -> OnASuite:
    if not revisions:
        raise Http404("This suite has no frozen revision, and so no results.")
    return selectors.on_a_suite(
        request.user,
        revisions,
        choices.models,
        choices.options.rule,
        choices.correction,
        baseline=choices.baseline,
    )


def _on_a_suite(request: HttpRequest, choices: Choices, context: dict[str, Any]) -> HttpResponse:
    suite = get_object_or_404(visible_suites(request.user), slug=choices.options.suites[0])
    revisions, wrong = choices.revisions_of(suite)
    found = _found(request, choices, revisions)
    only = "differ" if request.GET.get("only") == "differ" else ""
    wanted = [row for row in found.items if row.differs] if only else found.items
    shown, sort = in_order(wanted, request.GET.get("sort", ""), _orders(found))
    labels = [side.label for side in found.sides]
    context |= {
        "suite": suite,
        "revision": revisions[0],
        "revisions": revisions,
        "wrong_revisions": wrong,
        "all_revisions": selectors.frozen_of(suite),
        "found": found,
        "sides": found.sides,
        "pairs": found.pairs,
        "unlike": [(in_words(row, labels), 1) for row in found.unlike],
        "tests": tests_in_words(found.pairs),
        "figure": items_figure(found, choices),
        "items": Paginator(shown, ITEMS_PER_PAGE).get_page(request.GET.get("page")),
        "n_items": len(found.items),
        "n_differ": found.n_differ,
        "only": only,
        "sort": sort,
        "orders": [f"s{k}" for k in range(1, len(found.sides) + 1)],
    }
    if "item" in request.GET:
        return _on_an_item(request, found, context)
    return render(request, "runs/compare_suite.html", context)


def _orders(found: OnASuite) -> dict[str, Any]:
    """Items by number, or under side `s1` by margin, by what they count where there is no common margin."""
    column = (
        2
        if found.same_bits
        and any(cell and cell.margin is not None for row in found.items for cell in row.cells)
        else 1
    )
    orders: dict[str, Any] = {"item": lambda row: row.item}
    for k in range(len(found.sides)):
        orders[f"s{k + 1}"] = lambda row, k=k: row.cells[k][column] if row.cells[k] else None
    return orders


def _on_an_item(request: HttpRequest, found: OnASuite, context: dict[str, Any]) -> HttpResponse:
    text = request.GET["item"]
    rows = {row.item: row for row in found.items}
    if not text.lstrip("-").isdecimal() or len(text) > 12 or int(text) not in rows:
        raise Http404("No run of this comparison has such an item.")
    item, numbers = int(text), list(rows)
    place = numbers.index(item)
    context |= {
        "item": item,
        "row": rows[item],
        "lenses": [_lens(side, item) for side in found.sides],
        "previous": numbers[place - 1] if place else None,
        "next": numbers[place + 1] if place + 1 < len(numbers) else None,
    }
    return render(request, "runs/compare_item.html", context)


def _lens(side: Side, item: int) -> dict[str, Any]:
    run, revision = side.run, side.run.revision
    scores = list(
        run.sentence_scores.filter(sentence__item=item)
        .select_related("sentence")
        .order_by("sentence__position")
    ) or bare_sentences(revision, item)
    critical = critical_regions(revision)
    sentences = [shown_sentence(row, revision, critical) for row in scores]
    return {
        "figure": item_figure(run, item, sentences),
        "side": side,
        "run": run,
        "revision": revision,
        "sentences": sentences,
        "has_bits": bool(run.region_summary),
        "has_tokens": has_tokens(run),
    }
