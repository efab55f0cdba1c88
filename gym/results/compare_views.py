"""The compare page: models on all suites, models on one suite, one item, or revisions under one model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core.paginator import Paginator
from django.db.models import Count, Prefetch
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from gym.evaluations.models import PredictionResult, SuiteRun
from gym.evaluations.selectors import latest_done
from gym.evaluations.selectors import visible_to as visible_runs
from gym.evaluations.shown import bare_sentences, has_tokens, shown_sentence
from gym.results.compare import MAX_SIDES, Side, item_rows, over_suites, pairs_of, side_of, suite_rows
from gym.results.leaderboard import newest_revisions
from gym.results.options import Options, read_options
from gym.results.rules import RULES
from models_registry.models import RegisteredModel
from models_registry.selectors import visible_to as visible_models
from suites.models import Prediction, Suite, SuiteRevision
from suites.selectors import listed_for
from suites.selectors import visible_to as visible_suites
from suites.shown import critical_regions

ITEMS_PER_PAGE = 200


@require_safe
def compare_page(request: HttpRequest) -> HttpResponse:
    """`?model=a&model=b` all suites; `&suite=s` one; `&r=1&r=2` two revisions; `&item=3` one item to the tokens.

    Context: options, rules, models, all_models, too_many; with a suite: suite, revisions, sides, pairs, items
    (a page of ItemRow), only, n_differ; with an item also lenses; without: suite_rows, total."""
    options = read_options(request.GET)
    models = _models(request, options)
    context: dict[str, Any] = {
        "options": options,
        "rules": list(RULES.values()),
        "models": models,
        "all_models": visible_models(request.user)
        .filter(runs__completed_at__isnull=False)
        .distinct()
        .order_by("name"),
        "too_many": len(options.models) > MAX_SIDES,
        "unknown": [slug for slug in options.models if slug not in {model.slug for model in models}],
    }
    if len(options.suites) == 1:
        return _on_a_suite(request, options, models, context)
    if len(models) > 1:
        context |= _on_all_suites(request, options, models)
    return render(request, "results/compare.html", context)


def _models(request: HttpRequest, options: Options) -> list[RegisteredModel]:
    wanted = options.models[:MAX_SIDES]
    found = {model.slug: model for model in visible_models(request.user).filter(slug__in=wanted)}
    return [found[slug] for slug in wanted if slug in found]


def _with_results(runs: Any) -> list[SuiteRun]:
    """The newest finished run of each revision and model, outcomes included."""
    rows = PredictionResult.objects.select_related("prediction").order_by("position")
    newest = [run.pk for run in latest_done(runs)]
    found = SuiteRun.objects.filter(pk__in=newest).select_related("revision__suite", "model")
    return list(found.defer("provenance").prefetch_related(Prefetch("prediction_results", queryset=rows)))


def _on_all_suites(
    request: HttpRequest, options: Options, models: Sequence[RegisteredModel]
) -> dict[str, Any]:
    revisions = newest_revisions(listed_for(request.user))
    if options.tag:
        revisions = [row for row in revisions if options.tag in {tag.name for tag in row.suite.tags.all()}]
    runs = _with_results(visible_runs(request.user).filter(revision__in=revisions, model__in=models))
    by_cell = {(run.revision_id, run.model_id): run for run in runs}
    counts = Prediction.objects.filter(revision__in=revisions).values_list("revision").annotate(n=Count("pk"))
    rows = suite_rows(revisions, models, by_cell, options.rule, dict(counts))
    return {
        "suite_rows": rows,
        "total": over_suites(rows),
        "n_both": sum(row.pair is not None for row in rows),
    }


def _on_a_suite(
    request: HttpRequest, options: Options, models: Sequence[RegisteredModel], context: dict[str, Any]
) -> HttpResponse:
    suite = get_object_or_404(visible_suites(request.user), slug=options.suites[0])
    revisions = _revisions(request, suite)
    sides = _sides(request, options, revisions, models)
    rows = item_rows(sides)
    only = "differ" if request.GET.get("only") == "differ" else ""
    shown = [row for row in rows if row.differs] if only else rows
    context |= {
        "suite": suite,
        "revision": revisions[0],
        "revisions": revisions,
        "all_revisions": suite.revisions.filter(state=SuiteRevision.State.FROZEN).order_by("-number"),
        "sides": sides,
        "not_run": _not_run(revisions, models, sides),
        "pairs": pairs_of(sides),
        "items": Paginator(shown, ITEMS_PER_PAGE).get_page(request.GET.get("page")),
        "n_items": len(rows),
        "n_differ": sum(row.differs for row in rows),
        "only": only,
    }
    if "item" in request.GET:
        return _on_an_item(request, sides, context)
    return render(request, "results/compare_suite.html", context)


def _revisions(request: HttpRequest, suite: Suite) -> list[SuiteRevision]:
    """The revisions of `r=`, at most two; the newest frozen one without."""
    frozen = suite.revisions.filter(state=SuiteRevision.State.FROZEN)
    numbers = [int(text) for text in request.GET.getlist("r")[:2] if text.isdecimal() and len(text) < 9]
    found = list(frozen.filter(number__in=numbers).order_by("number")) if numbers else []
    newest = frozen.order_by("-number").first()
    if newest is None:
        raise Http404("This suite has no frozen revision, and so no results.")
    return found or [newest]


def _sides(
    request: HttpRequest,
    options: Options,
    revisions: Sequence[SuiteRevision],
    models: Sequence[RegisteredModel],
) -> list[Side]:
    runs = _with_results(visible_runs(request.user).filter(revision__in=revisions, model__in=models))
    by_cell = {(run.revision_id, run.model_id): run for run in runs}
    counts = dict(
        Prediction.objects.filter(revision__in=revisions).values_list("revision").annotate(n=Count("pk"))
    )
    wanted = [(revision, model) for model in models for revision in revisions]
    return [
        side_of(
            by_cell[revision.pk, model.pk],
            model.name if len(revisions) == 1 else f"{model.name}, r{revision.number}",
            options.rule,
            counts.get(revision.pk, 0),
        )
        for revision, model in wanted
        if (revision.pk, model.pk) in by_cell
    ][:MAX_SIDES]


def _not_run(
    revisions: Sequence[SuiteRevision], models: Sequence[RegisteredModel], sides: Sequence[Side]
) -> list[str]:
    seen = {(side.run.revision_id, side.run.model_id) for side in sides}
    return [
        f"{model.name} on r{revision.number}"
        for model in models
        for revision in revisions
        if (revision.pk, model.pk) not in seen
    ]


def _on_an_item(request: HttpRequest, sides: Sequence[Side], context: dict[str, Any]) -> HttpResponse:
    text = request.GET["item"]
    numbers = list(dict.fromkeys(row.item for row in item_rows(sides)))
    if not text.lstrip("-").isdecimal() or len(text) > 12 or int(text) not in numbers:
        raise Http404("No run of this comparison has such an item.")
    item = int(text)
    place = numbers.index(item)
    context |= {
        "item": item,
        "row": next(row for row in item_rows(sides) if row.item == item),
        "lenses": [_lens(side, item) for side in sides],
        "previous": numbers[place - 1] if place else None,
        "next": numbers[place + 1] if place + 1 < len(numbers) else None,
    }
    return render(request, "results/compare_item.html", context)


def _lens(side: Side, item: int) -> dict[str, Any]:
    run, revision = side.run, side.run.revision
    scores = list(
        run.sentence_scores.filter(sentence__item=item)
        .select_related("sentence")
        .order_by("sentence__position")
    ) or bare_sentences(revision, item)
    critical = critical_regions(revision)
    return {
        "side": side,
        "run": run,
        "revision": revision,
        "sentences": [shown_sentence(row, revision, critical) for row in scores],
        "has_bits": bool(run.region_summary),
        "has_tokens": has_tokens(run),
    }
