"""Pages of models against people: choose models, the comparison with its tables and figures, downloads."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from gym.accounts.errors import LimitReached
from gym.accounts.requests import SignedInRequest
from gym.downloads import csv_stream, download, file_download, json_download
from gym.jobs.pages import progress_of
from gym.people import permissions, services
from gym.people.comparing import OBSERVATIONS, TABLES, observation_table, rows_in
from gym.people.forms import ModelsForm
from gym.people.models import HumanData, PeopleComparison
from gym.people.pages.paper import comparison_files
from gym.people.pages.views import data_at
from gym.people.selectors import comparable_runs, comparisons_of, models_of, recent_comparisons
from gym.runs.pages.export_views import too_much
from gym.runs.tables.registry import TooMuch, parquet_of, require_row_limit
from lmgym.charts.figure import Figure
from lmgym.people.figures import effects_figure, gains_figure
from lmgym.people.tables import Effect
from lmgym.text.columns import columns, row
from lmgym.text.problems import InvalidArgument
from models_registry.names import disambiguate
from suites.models import SuiteRevision

FEWER_MODELS = "Compare fewer models at once, or download the observations from the page of the data."
MAX_POINTS = 4
"""Maximum number of charts of effects by item on one page."""


@require_http_methods(["GET", "HEAD", "POST"])
def data_models(request: HttpRequest, slug: str) -> HttpResponse:
    """List comparisons of models with a data set. POST starts one. Context: data, suite, revision, form (None for
    readers who are not signed in), has_models, comparisons."""
    data = data_at(request, slug)
    runs = list(comparable_runs(data, request.user))
    form = ModelsForm(request.POST if request.method == "POST" else None, data_set=data, runs=runs)
    if request.method == "POST":
        if not request.user.is_authenticated:
            return redirect("login")
        if form.is_valid():
            chosen = {
                name: form.cleaned_data[name]
                for name in ("spill_over", "regions", "slopes")
                if name in form.fields
            }
            try:
                made = services.start_comparison(data, form.chosen(), actor=request.user, **chosen)
            except (ValidationError, LimitReached) as error:
                form.add_error(None, " ".join(getattr(error, "messages", [str(error)])))
            else:
                return redirect(made)
    context = {
        "data": data,
        "suite": data.revision.suite,
        "revision": data.revision,
        "form": form if request.user.is_authenticated else None,
        "has_models": bool(runs),
        "comparisons": recent_comparisons(data, request.user),
    }
    return render(request, "people/models.html", context, status=400 if request.method == "POST" else 200)


@require_safe
def data_models_result(request: HttpRequest, slug: str, key: str) -> HttpResponse:
    """Show a comparison, or the progress of its job. Context: data, suite, revision, comparison, labels (slug of
    a model -> label), gains, differences, slopes (coefficient of surprisal by model), coefficients [(model,
    rows)], fits, digits, effects, cells, gains_figure, effect_figures, left_out, notices, r_call, tables,
    gains_paper, coefficients_paper and methods_files (PaperFiles), may_delete, and the job's."""
    data = data_at(request, slug)
    comparison = comparison_at(request, data, key)
    labels = _labels(comparison)
    context: dict[str, Any] = {
        "data": data,
        "suite": data.revision.suite,
        "revision": data.revision,
        "comparison": comparison,
        "labels": labels,
        "may_delete": request.user.is_authenticated
        and (comparison.owner_id == request.user.pk or permissions.can_manage(request.user, data)),
        **progress_of(comparison.job, request.user, comparison.state),
    }
    if comparison.is_done:
        context |= _result_context(comparison, labels) | comparison_files(comparison)
    return render(request, "people/models_result.html", context)


def _result_context(comparison: PeopleComparison, labels: dict[str, str]) -> dict[str, Any]:
    """Return the tables, ordered by the models' rank; those without a rank come last."""
    result = comparison.result
    gains = rows_in(result, "gains")
    rank = {gain.model: gain.rank for gain in gains}

    def ranked(name: str) -> list[Any]:
        return sorted(rows_in(result, name), key=lambda one: rank.get(one.model, len(labels) + 1))

    coefficients, effects = ranked("coefficients"), ranked("effects")
    best = effects[0].model if effects else ""
    return {
        "gains": gains,
        "differences": rows_in(result, "differences"),
        "coefficients": [(model, list(rows)) for model, rows in groupby(coefficients, lambda one: one.model)],
        "slopes": {one.model: one for one in coefficients if one.term == "surprisal"},
        "digits": 5 if comparison.options.get("log") else 2,
        "fits": rows_in(result, "fits"),
        "effects": effects,
        "cells": ranked("cells"),
        "gains_figure": gains_chart(comparison),
        "effect_figures": [
            effects_chart(comparison, effect)
            for effect in effects[:MAX_POINTS]
            if effect.model == best and effect.pearson is not None
        ],
        "left_out": result.get("left_out", {}),
        "models_left_out": result.get("models_left_out", {}),
        "notices": result.get("notices", []),
        "r_call": result.get("r_call", ""),
        "exclusions_changed": comparison.exclusions != comparison.human_data.exclusions,
        "tables": [(name, label) for name, (label, _) in TABLES.items() if result.get(name)],
    }


def _labels(comparison: PeopleComparison) -> dict[str, str]:
    """Map the slugs of the models to their labels."""
    runs = list(comparison.runs.select_related("model"))
    disambiguate(run.model for run in runs)
    return {name: run.model.label for name, run in models_of(runs).items()}


def gains_chart(comparison: PeopleComparison) -> Figure | None:
    labels = _labels(comparison)
    gains = [
        replace(gain, model=labels.get(gain.model, gain.model))
        for gain in rows_in(comparison.result, "gains")
    ]
    if not gains:
        return None
    return gains_figure(_name(comparison.human_data.revision), gains, {"comparison": comparison.key})


def effects_chart(comparison: PeopleComparison, effect: Effect) -> Figure:
    rows = rows_in(comparison.result, "effects")
    query = {"comparison": comparison.key, "effect": str(rows.index(effect))}
    return effects_figure(
        _name(comparison.human_data.revision),
        effect,
        rows_in(comparison.result, "item-effects"),
        comparison.human_data.unit,
        query,
    )


def _name(revision: SuiteRevision) -> str:
    return f"{revision.suite.title} r{revision.number}"


@login_required
@require_POST
def data_models_delete(request: SignedInRequest, slug: str, key: str) -> HttpResponse:
    data = data_at(request, slug)
    services.delete_comparison(comparison_at(request, data, key), actor=request.user)
    messages.success(request, "The comparison was deleted.")
    return redirect("human-data-models", data.slug)


@require_safe
def data_models_download(request: HttpRequest, slug: str, key: str, what: str, form: str) -> HttpResponseBase:
    """Download a table of a comparison as csv or parquet, everything as json (`what`: all), or the R code (`what`:
    lme4, `form`: R)."""
    data = data_at(request, slug)
    try:
        return comparison_file(comparison_at(request, data, key), what, form)
    except TooMuch as error:
        return too_much(request, error)


def comparison_file(comparison: PeopleComparison, what: str, form: str) -> HttpResponseBase:
    """Return a file of a finished comparison. Raises Http404 and TooMuch."""
    if not comparison.is_done:
        raise Http404("This comparison has no results yet.")
    stem = f"{comparison.human_data.slug}-models-{what}"
    if (what, form) == ("all", "json"):
        return json_download(f"{stem}.json", comparison.result)
    if (what, form) == ("lme4", "R"):
        return download(comparison.result["r_call"], "lme4.R", "text/plain")
    if form not in ("csv", "parquet") or what not in (*TABLES, OBSERVATIONS):
        raise Http404(
            f"Available: all.json, lme4.R, and as csv or parquet: {', '.join((*TABLES, OBSERVATIONS))}."
        )
    if what == OBSERVATIONS:
        require_row_limit(comparison.human_data.n_observations * comparison.n_runs, FEWER_MODELS)
        runs = list(comparison.runs.select_related("model", "revision").order_by("model__name", "pk"))
        try:
            header, rows = observation_table(
                comparison.human_data, comparison.exclusions, runs, comparison.options
            )
        except InvalidArgument as error:
            raise Http404(str(error)) from error
        stem = OBSERVATIONS  # the name in the R code
    else:
        header = columns(TABLES[what][1])
        rows = map(row, rows_in(comparison.result, what))
    if form == "csv":
        return csv_stream(f"{stem}.csv", [name for name, _ in header], rows)
    return file_download(parquet_of(header, rows), f"{stem}.parquet", "application/vnd.apache.parquet")


def comparison_at(request: HttpRequest, data: HumanData, key: str) -> PeopleComparison:
    comparison = get_object_or_404(comparisons_of(data, request.user), key=key)
    comparison.human_data = data
    return comparison
