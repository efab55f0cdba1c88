"""The list of suites, and a suite's page with its results."""

from __future__ import annotations

from typing import Any

from django.core.paginator import Paginator
from django.db.models import Exists, OuterRef, prefetch_related_objects
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe
from django_htmx.http import trigger_client_event

from gym.jobs.models import ACTIVE_STATES
from gym.jobs.selectors import note_silence
from gym.people.models import HumanData
from gym.people.presenters import data_figure
from gym.people.results import scored_people
from gym.people.selectors import of_revision
from gym.runs.pages.export_views import EXPORT_TABLES, citation
from gym.runs.pages.paper import PaperFiles
from gym.runs.pages.run_figures import models_figure, regions_figure
from gym.runs.read.comparison_selectors import on_another
from gym.runs.read.leaderboard.build import field_scores
from gym.runs.read.scores import Scored, scored_runs
from gym.runs.read.selectors import UNFINISHED, newest_and_unfinished, under_way
from gym.runs.read.selectors import visible_to as visible_runs
from gym.sharing.permissions import may_read
from lmgym.runs.compute import metric_of
from lmgym.runs.evaluation_tasks import evaluation_tasks
from lmgym.runs.other_programs import Refused, minimal_pairs
from lmgym.runs.rules import RULES, rule_of
from lmgym.suites.formats import SuiteDocument
from lmgym.suites.formats.files import FORMS
from lmgym.text import MOST_CHARACTERS
from suites import permissions
from suites.forms import FreezeForm
from suites.models import LintIgnore, Suite, SuiteRevision
from suites.presenters import critical_regions, design_table, shown_prediction
from suites.selectors import (
    SuiteFilter,
    design_of,
    document_of,
    findings_of,
    listed_for,
    revisions_for,
    tags_of,
    visible_to,
    with_shape,
)

PER_PAGE = 50


@require_safe
def suite_detail(request: HttpRequest, slug: str, number: int | None = None) -> HttpResponse:
    """Show a revision of a suite with its results. Context: suite, revision, revisions, predictions
    (ShownPrediction), example (Sentence rows of the first item), critical (region numbers that formulas refer to),
    design (DesignTable or None), findings and dismissed (lint), scores (Scored, best first), rule, rules,
    models_figure and regions_figure (Figure), people (HumanData of the revision), people_scores (ScoredPeople),
    people_figure (Figure or None), shown_run, drawable (runs), on_both (OnBoth or None), runs_under_way (queued or
    running, on any revision), runs_stopped (failed or cancelled), freeze_form, may_edit, may_see_people,
    may_delete, may_run, n_items, n_sentences, export_tables, citation, downloads, pairs_refused (reasons why it cannot
    be exported as minimal pairs), tasks_exported and tasks_refused (number of predictions exported as tasks, and
    reasons why others are not), paper (PaperFiles)."""
    revisions = _revisions(request, slug)
    suite = revisions[0].suite
    revision = _chosen(suite, revisions, number)
    prefetch_related_objects([revision], "sentences", "predictions")
    document = document_of(revision)
    metric = metric_of(document)
    shown = [shown_prediction(row, revision.regions, metric) for row in revision.predictions.all()]
    by_prediction = len(shown) > 1
    done, unfinished = newest_and_unfinished(request.user, revision, revisions, results=by_prediction)
    first_item = document.sentences[0].item if document.sentences else None
    may_run = permissions.can_run(request.user, suite)
    may_see_people = may_read(request.user, suite)
    rule = rule_of(request.GET.get("rule", ""))
    findings = findings_of(revision, may_be_dismissed=revision.has_dismissals)
    scores = scored_runs(done, rule, results=by_prediction)
    people = of_revision(request.user, revision) if revision.has_human_data else []
    people_scores = scored_people(people, rule)
    active = [run for run in unfinished if run.state in ACTIVE_STATES]
    note_silence(run.job for run in active)
    context = {
        "suite": suite,
        "revision": revision,
        "revisions": revisions,
        "predictions": shown,
        "example": [row for row in revision.sentences.all() if row.item == first_item],
        "critical": critical_regions(revision),
        "design": design_table(design_of(revision), revision.condition_names),
        "findings": [finding for finding in findings if not finding["ignored"]],
        "dismissed": [finding for finding in findings if finding["ignored"]],
        "scores": scores,
        "people": people,
        "people_scores": people_scores,
        "people_figure": data_figure(people_scores[0].data) if people_scores else None,
        "paper": PaperFiles(
            "suite-predictions", {"suite": suite.slug, "r": str(revision.number), "rule": rule.key}
        ),
        **_figures(revision, scores, request.GET.get("model", "")),
        "on_both": on_another(request.user, suite, revision.number) if done and len(revisions) > 1 else None,
        "rule": rule,
        "rules": list(RULES.values()),
        "runs_under_way": active,
        "runs_stopped": [run for run in unfinished if run.state not in ACTIVE_STATES],
        "freeze_form": FreezeForm(),
        "may_edit": may_see_people and permissions.can_edit(request.user, suite),
        "may_see_people": may_see_people,
        "may_delete": permissions.can_delete(request.user, suite),
        "may_run": may_run,
        "n_items": len({row.item for row in document.sentences}),
        "n_sentences": len(document.sentences),
        "export_tables": EXPORT_TABLES,
        "citation": citation(revision, request.build_absolute_uri(revision.get_absolute_url()), request.user),
        "pairs_refused": _no_pairs(document) if revision.is_frozen else [],
        **_exported_tasks(document),
        "downloads": [(form, one.label) for form, one in FORMS.items()],
    }
    return render(request, "suites/detail.html", context)


def _no_pairs(document: SuiteDocument) -> list[str]:
    try:
        minimal_pairs(document)
    except Refused as refusal:
        return refusal.reasons
    return []


def _exported_tasks(document: SuiteDocument) -> dict[str, Any]:
    try:
        chosen = evaluation_tasks(document, "")
    except Refused as refusal:
        return {"tasks_exported": 0, "tasks_refused": refusal.reasons}
    whole = [task for task in chosen.tasks if not task.is_part]
    return {"tasks_exported": len(whole), "tasks_refused": chosen.left_out}


@require_safe
def suite_under_way(request: HttpRequest, slug: str) -> HttpResponse:
    """Render the polled part of a suite's page. `known`: runs that the page shows; if one of them has ended, the event
    `run-ended` makes the page reload its results. Context: suite, runs_under_way."""
    suite = get_object_or_404(visible_to(request.user), slug=slug)
    runs = list(
        under_way(visible_runs(request.user).filter(revision__suite=suite)).order_by("-pk")[:UNFINISHED]
    )
    note_silence(run.job for run in runs)
    response = render(request, "suites/_under_way.html", {"suite": suite, "runs_under_way": runs})
    known = set(request.GET.get("known", "").split(",")) - {""}
    if known - {str(run.pk) for run in runs}:
        trigger_client_event(response, "run-ended", after="settle")
    return response


def _figures(revision: SuiteRevision, scores: list[Scored], slug: str) -> dict[str, Any]:
    """Return the context of the figures: models_figure (pass rates of all models; None for fewer than two), shown_run
    (the chosen run, else the best of `drawable`, or None), regions_figure (its bits by region, or None), drawable (runs
    with surprisals)."""
    drawable = [score.run for score in scores if score.run.has_surprisals]
    run = next((run for run in drawable if run.model.slug == slug), drawable[0] if drawable else None)
    rated = [score for score in scores if score.rate is not None]
    return {
        "models_figure": models_figure(revision, scores, scores[0].rule) if len(rated) > 1 else None,
        "regions_figure": regions_figure(run) if run is not None and run.region_summary else None,
        "shown_run": run,
        "drawable": drawable,
    }


def _revisions(request: HttpRequest, slug: str) -> list[Any]:
    """Return the revisions of a suite that this user may read, newest first, with the suite, `has_human_data` and
    `has_dismissals` (of lint findings)."""
    rows = (
        revisions_for(request.user)
        .filter(suite__slug=slug)
        .annotate(
            has_human_data=Exists(HumanData.objects.filter(revision=OuterRef("pk"))),
            has_dismissals=Exists(LintIgnore.objects.filter(suite=OuterRef("suite"))),
        )
    )
    revisions: list[Any] = list(
        rows.select_related("suite__owner").prefetch_related("suite__tags").order_by("-number")
    )
    if not revisions:
        raise Http404("Suite not found.")
    return revisions


def _chosen(suite: Suite, revisions: list[Any], number: int | None) -> Any:
    """Return the requested revision; without a number, the newest frozen revision, else the draft."""
    if number is not None:
        revision = next((row for row in revisions if row.number == number), None)
    else:
        revision = next((row for row in revisions if row.is_frozen), revisions[0] if revisions else None)
    if revision is None:
        raise Http404("This suite has no such revision.")
    for row in revisions:
        row.suite = suite
    return revision


NARROWING = ("q", "tag", "language", "mine")


@require_safe
def suite_list(request: HttpRequest) -> HttpResponse:
    """List suites. Context: page (of Suite with n_items, n_sentences, n_predictions, last_revision, last_state),
    filter, wrong, tags [{"name", "n"}], current_tag, query, sort, total, is_narrowed, scores {suite.pk: FieldScores},
    rule, rules."""
    listed = listed_for(request.user)
    shown = with_shape(listed, request.user).select_related("owner")
    filtered = SuiteFilter(request.GET, queryset=shown, request=request)
    wrong = [message for name in NARROWING for message in filtered.errors.get(name, ())]
    page = Paginator(Suite.objects.none() if wrong else filtered.qs, PER_PAGE).get_page(
        request.GET.get("page")
    )
    rule = rule_of(request.GET.get("rule", ""))
    is_narrowed = any(request.GET.get(name) for name in NARROWING)
    context = {
        "page": page,
        "filter": filtered,
        "tags": tags_of(listed),
        "current_tag": request.GET.get("tag", ""),
        "query": request.GET.get("q", "")[:MOST_CHARACTERS],
        "wrong": wrong,
        "sort": request.GET.get("sort", ""),
        "is_narrowed": is_narrowed,
        "total": listed.count() if is_narrowed else page.paginator.count,
        "scores": field_scores(request.user, list(page), rule),
        "rule": rule,
        "rules": list(RULES.values()),
    }
    return render(request, "suites/list.html", context, status=400 if wrong else 200)
