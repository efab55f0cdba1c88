"""Pages for runs and results."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from gym.accounts.errors import LimitReached
from gym.accounts.requests import SignedInRequest
from gym.downloads import json_download
from gym.jobs.models import FINAL_STATES, Job
from gym.jobs.pages import act, polled, progress_of, show_error
from gym.runs import permissions
from gym.runs.filters import RunFilter
from gym.runs.models import SentenceScore, SuiteRun
from gym.runs.pages.export_views import is_within, run_table
from gym.runs.pages.figures import figure_file
from gym.runs.pages.forms import RunForm
from gym.runs.pages.paper import PaperFiles, methods_files
from gym.runs.pages.run_figures import item_figure, margins_figure, regions_figure
from gym.runs.read.comparison_selectors import others_on
from gym.runs.read.presenters import (
    bare_sentences,
    compared_sides,
    grouping,
    has_tokens,
    item_texts,
    region_means,
    result_context,
    under_the_lens,
)
from gym.runs.read.report import result_of, run_head
from gym.runs.read.scores import under_every_rule
from gym.runs.read.selectors import listed_runs, rows_of, run_at
from gym.runs.tables.registry import FRAMES
from gym.runs.work import many, services
from gym.runs.work.deleted_runs import deleted_run_at
from gym.sharing.forms import note_in
from gym.sharing.models import Visibility
from lmgym.runs import report
from lmgym.runs.coverage import coverage_of
from lmgym.runs.rules import RULES, rule_of
from lmgym.suites.formats.designs import looks
from lmgym.text import count, listing
from suites.models import SuiteRevision
from suites.presenters import shown_prediction
from suites.selectors import design_of, document_of, listed_for, revisions_for, sentence_data, tags_of

PER_PAGE = 50
SHOWN_BEFORE_CHANGE = 20


@require_safe
def run_list(request: HttpRequest) -> HttpResponse:
    """List runs; `run=KEY` of ticked runs redirects to their comparison. Context: page (of SuiteRun), mine (only this
    user's runs?), filters, wrong (messages), tags [{"name", "n"}], states, is_narrowed, actions (on all of these
    runs), rule, rules."""
    if "run" in request.GET:
        return _compare(request)
    runs = listed_runs(request.user)
    mine = request.user.is_authenticated and "mine" in request.GET
    if mine:
        runs = runs.filter(owner=request.user.pk)
    filters = _filters(request.GET)
    filtered = RunFilter(filters, queryset=runs)
    wrong = [message for messages_ in filtered.errors.values() for message in messages_]
    keys = (runs.none() if wrong else filtered.qs).values("pk")
    page: Any = Paginator(keys, PER_PAGE).get_page(request.GET.get("page"))
    page.object_list = rows_of(page.object_list)
    context = {
        "page": page,
        "mine": mine,
        "filters": filters,
        "wrong": wrong,
        "tags": tags_of(listed_for(request.user)),
        "states": Job.State.choices,
        "is_narrowed": any(filters.values()),
        "actions": list(many.ACTIONS) if request.user.is_authenticated and not wrong else [],
        "rule": rule_of(request.GET.get("rule", "")),
        "rules": list(RULES.values()),
    }
    return render(request, "runs/run_list.html", context, status=400 if wrong else 200)


def _filters(query: QueryDict) -> dict[str, str]:
    return {name: str(query[name]) for name in ("q", "tag", "state", "owner") if name in query}


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def runs_change(request: SignedInRequest, action: str) -> HttpResponse:
    """Ask whether to cancel, retry or delete all runs that match the filters of the list, and do it. Ask again if
    there are more than the page showed. Context: action, total, shown (the first SuiteRuns), more (not shown), limit
    (of one request), has_grown, filters, mine, back (query of the list)."""
    if action not in many.ACTIONS:
        raise Http404("There is no such action.")
    query = request.POST if request.method == "POST" else request.GET
    runs = listed_runs(request.user)
    if "mine" in query:
        runs = runs.filter(owner=request.user.pk)
    filters = _filters(query)
    filtered = RunFilter(filters, queryset=runs)
    matching = filtered.qs if filtered.is_valid() else runs.none()
    affected = many.affected(matching, action, actor=request.user)
    total = affected.count()
    confirmed = query.get("total", "")
    has_grown = request.method == "POST" and total > (int(confirmed) if confirmed.isdecimal() else 0)
    back = urlencode(filters | ({"mine": "1"} if "mine" in query else {}))
    if request.method == "POST" and not has_grown:
        changed = many.act_on_runs(matching, action, actor=request.user)
        report = messages.warning if changed.refused else messages.success
        report(request, changed.sentence(action))
        return redirect(f"{reverse('run-list')}?{back}")
    context = {
        "action": action,
        "total": total,
        "more": max(0, total - SHOWN_BEFORE_CHANGE),
        "limit": many.MAX_RUNS,
        "shown": affected.select_related("model", "revision__suite", "job", "owner")[:SHOWN_BEFORE_CHANGE],
        "has_grown": has_grown,
        "filters": filters,
        "mine": "mine" in query,
        "back": back,
    }
    return render(request, "runs/runs_change.html", context, status=409 if has_grown else 200)


def _compare(request: HttpRequest) -> HttpResponse:
    """Redirect to the comparison of the ticked runs: their models on their suites; to the list if fewer than two of
    them are finished."""
    keys = [key.replace("\0", "")[:24] for key in request.GET.getlist("run")[:PER_PAGE]]
    ticked = list(listed_runs(request.user).filter(key__in=keys, completed_at__isnull=False).order_by("pk"))
    if len(ticked) < 2:
        messages.info(request, "Tick two or more finished runs to compare them.")
        return redirect("run-list")
    filters: dict[str, list[Any]] = {
        "model": list(dict.fromkeys(run.model.slug for run in ticked)),
        "suite": list(dict.fromkeys(run.revision.suite.slug for run in ticked)),
    }
    if len(filters["suite"]) == 1:
        filters["r"] = list(dict.fromkeys(run.revision.number for run in ticked))
    return redirect(f"{reverse('compare')}?{urlencode(filters, doseq=True)}")


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def run_start(request: SignedInRequest, slug: str, number: int) -> HttpResponse:
    """Choose models and queue them on one revision. Context: form (RunForm), suite, revision."""
    revisions = revisions_for(request.user).select_related("suite")
    revision = get_object_or_404(revisions, suite__slug=slug, number=number)
    if not revision.is_frozen:
        raise Http404("Models can be run only on frozen revisions.")
    data = request.POST if request.method == "POST" else None
    form = RunForm(data, revision=revision, user=request.user)
    if form.is_valid() and (queued := _queue_models(request, revision, form)):
        return redirect(queued[0] if len(queued) == 1 else revision)
    context = {"form": form, "suite": revision.suite, "revision": revision}
    return render(request, "runs/start.html", context, status=400 if form.errors else 200)


def _queue_models(request: SignedInRequest, revision: SuiteRevision, form: RunForm) -> list[SuiteRun]:
    """Queue the chosen models and return their runs, new or existing. Stop at the first refusal, which becomes an
    error of the form, and a message if some runs are queued."""
    runs: list[SuiteRun] = []
    existing: list[SuiteRun] = []
    policy, again = form.policy(), form.cleaned_data["again"]
    try:
        for model in form.cleaned_data["models"]:
            outcome = services.queue_once(revision, model, policy, actor=request.user, again=again)
            (runs if outcome.is_new else existing).append(outcome.run)
    except (ValidationError, LimitReached) as error:
        if runs or existing:
            show_error(request, error)
        else:
            form.add_error(None, getattr(error, "messages", [str(error)]))
    if existing:
        names = listing([run.model.name for run in existing])
        messages.info(
            request,
            f"Runs with the same model files and settings already exist and were not repeated: {names}.",
        )
    if runs and len(runs) + len(existing) > 1:
        messages.success(request, f"{count(len(runs), 'run')} {'is' if len(runs) == 1 else 'are'} queued.")
    return runs + existing


@require_safe
def run_detail(request: HttpRequest, key: str) -> HttpResponse:
    """Show a run. Context: run, suite, revision, model, job, state, behind, may_steer, may_delete, is_public. When done
    also that of `result_context`, texts (by item), summary (see `region_means`), by_rule (Scored under each rule),
    margin_figures (by prediction), figure (of regions, if the run has surprisals), with_items, within (within-item
    intervals?), looks (of conditions, see `designs.looks`), predictions_paper, regions_paper and methods_files
    (PaperFiles), and those of `grouping`. Deleted runs: see _deleted."""
    runs = run_at(request.user, key).select_related("revision__suite__owner", "model__owner")
    run = runs.annotate(has_sentence_data=sentence_data("revision")).first()
    if run is None:
        return _deleted(request, key)
    if run.key != key:
        query = request.META.get("QUERY_STRING", "")
        return redirect(f"{run.get_absolute_url()}?{query}" if query else run)
    context: dict[str, Any] = {
        "run": run,
        "suite": run.revision.suite,
        "revision": run.revision,
        "model": run.model,
        "may_steer": permissions.can_steer(request.user, run),
        "may_delete": permissions.can_delete(request.user, run) and not (run.job and run.job.is_active),
        **progress_of(run.job, request.user, run.state),
    }
    shown = (run.revision.suite.visibility, run.model.visibility)
    context["is_public"] = run.is_done and set(shown) == {Visibility.PUBLIC}
    if run.is_done:
        chosen = (request.GET.get(name, "") for name in ("only", "sort", "page"))
        context.update(result_context(run, *chosen))
        if run.has_sentence_data or "items" in run.revision.extra:
            results = [row.result for row in context["results"]]
            context.update(grouping(run, results, request.GET.get("by", "")))
        context["texts"] = item_texts(run, context["items"])
        context["by_rule"] = under_every_rule(run)
        context["with_items"] = "items" in request.GET
        context["margin_figures"] = {
            row.result.position: margins_figure(run, row.result) for row in context["results"]
        }
        context["within"] = is_within(request)
        context["predictions_paper"] = PaperFiles("run-predictions", {"run": run.key})
        context["methods_files"] = methods_files("run-methods", {"run": run.key})
        context["regions_paper"] = PaperFiles(
            "run-regions", {"run": run.key} | ({"interval": "within"} if context["within"] else {})
        )
        context["summary"] = region_means(run, within=context["within"])
        if run.region_summary:
            context["looks"] = looks(design_of(run.revision), run.revision.condition_names)
            context["figure"] = regions_figure(run, items=context["with_items"], within=context["within"])
    return render(request, "runs/run_detail.html", context)


@require_safe
def run_progress(request: HttpRequest, key: str) -> HttpResponse:
    """Render the live part of a run's page. Context: run, job, state, behind."""
    run = _visible(request, key)
    context = {"run": run, **progress_of(run.job, request.user, run.state)}
    return polled(request, "runs/_progress.html", context, final=run.state in FINAL_STATES)


@login_required
@require_POST
def run_cancel(request: HttpRequest, key: str) -> HttpResponse:
    run = _visible(request, key)
    return act(request, run, services.cancel_run, "The run will stop after the current sentences.")


@login_required
@require_POST
def run_retry(request: HttpRequest, key: str) -> HttpResponse:
    run = _visible(request, key)
    return act(request, run, services.retry_run, "The run is queued again.")


@login_required
@require_POST
def run_delete(request: HttpRequest, key: str) -> HttpResponse:
    run = _visible(request, key)
    done = "The run and its results were deleted."

    def delete(run: SuiteRun, *, actor: Any) -> None:
        services.delete_run(run, actor=actor, note=note_in(request.POST))

    return act(request, run, delete, done, to=run.revision)


@require_safe
def run_item(request: HttpRequest, key: str, item: str) -> HttpResponse:
    """Show one item in detail. Context: run, suite, revision, model, item, has_bits, has_tokens, sentences
    (ShownSentence), figure (token strips, or None), outcomes [(ShownPrediction, code, margin, too close to call?,
    sides)], previous, next (item numbers or None), unknown_words (of this item), others (a few other models with
    results on the revision)."""
    run = _visible(request, key)
    number = _number(item)
    scores = list(
        run.sentence_scores.filter(sentence__item=number)
        .select_related("sentence")
        .order_by("sentence__position")
    )
    if not scores and run.is_done and run.is_uploaded:
        scores = bare_sentences(run.revision, number)
    if not scores:
        raise Http404("This run has no such item.")
    results = list(run.prediction_results.select_related("prediction"))
    items = results[0].items if results else run.revision.item_numbers
    place = items.index(number)
    sentences = under_the_lens(scores, run.revision)
    context = {
        "run": run,
        "suite": run.revision.suite,
        "revision": run.revision,
        "model": run.model,
        "item": number,
        "has_bits": bool(run.region_summary) or not run.has_all_tokens,
        "has_tokens": has_tokens(run),
        "sentences": sentences,
        "figure": item_figure(run, number, sentences),
        "outcomes": [
            (
                shown_prediction(result.prediction, run.revision.regions, run.policy.get("metric", "sum")),
                result.outcomes[place],
                result.margins[place],
                result.is_close(place),
                compared_sides(result.prediction.formula, run.revision, scores),
            )
            for result in results
        ],
        "unknown_words": _unknown_words(run, scores),
        "previous": items[place - 1] if place > 0 else None,
        "next": items[place + 1] if place + 1 < len(items) else None,
        "others": others_on(request.user, run) if run.is_done else [],
    }
    return render(request, "runs/run_item.html", context)


@require_safe
def run_chart(request: HttpRequest, key: str) -> HttpResponse:
    """Return the region chart as a standalone file."""
    run = _done(request, key)
    if not run.region_summary:
        raise Http404("This run has no surprisals to draw.")
    return figure_file(regions_figure(run), "svg")


@require_safe
def run_download(request: HttpRequest, key: str, form: str) -> HttpResponseBase:
    """Download json (everything), or one table as .csv: outcomes, predictions, scores, regions or tokens."""
    run = _done(request, key)
    if form == "json":
        data = report.as_dict(document_of(run.revision), result_of(run), run_head(run))
        return json_download(f"{_stem(run)}.json", data)
    what, _, kind = form.partition(".")
    if what not in FRAMES or kind != "csv":
        raise Http404(f"Available as json, and as csv: {', '.join(FRAMES)}.")
    return run_table(run, what, kind)


def _unknown_words(run: SuiteRun, scores: Iterable[SentenceScore]) -> list[str]:
    """Return the unknown words of one item; empty if the run does not count them."""
    if run.n_words is None:
        return []
    coverage = coverage_of(
        ((row.text, row.tokens) for row in scores),
        vocabulary_size=run.provenance.get("vocabulary_size"),
        in_pieces=run.spelling.is_in_pieces,
    )
    return list(coverage.unknown) if coverage else []


def _deleted(request: HttpRequest, key: str) -> HttpResponse:
    """Respond 410 with a description if the run was public when it was deleted; else 404. Context: deleted, revision
    (or None)."""
    deleted = deleted_run_at(request.user, key)
    if deleted is None:
        raise Http404("This run does not exist.")
    revision = revisions_for(request.user).filter(suite__slug=deleted.suite, number=deleted.revision).first()
    context = {"deleted": deleted, "revision": revision}
    return render(request, "runs/run_deleted.html", context, status=410)


def _visible(request: HttpRequest, key: str) -> SuiteRun:
    return get_object_or_404(run_at(request.user, key))


def _done(request: HttpRequest, key: str) -> SuiteRun:
    run = _visible(request, key)
    if not run.is_done:
        raise Http404("This run has no results yet.")
    return run


def _stem(run: SuiteRun) -> str:
    return f"{run.revision.suite.slug}-r{run.revision.number}-{run.model.slug}"


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise Http404("A number is missing or invalid.") from error
