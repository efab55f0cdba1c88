"""Pages of runs and results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from gym.evaluations import permissions, report, services
from gym.evaluations.charts import Series, region_chart
from gym.evaluations.forms import RunForm
from gym.evaluations.models import PredictionResult, SentenceScore, SuiteRun
from gym.evaluations.selectors import listed_runs, matrix, visible_to
from gym.exports import csv_download, download, json_download
from gym.jobs.errors import TooManyJobs, WrongState
from gym.jobs.selectors import position_in_queue
from suites.models import SuiteRevision
from suites.selectors import document_of, listed_for, tags_of
from suites.selectors import visible_to as visible_suites
from suites.views import ShownPrediction, critical_regions, shown_prediction

PER_PAGE = 50
STOP_POLLING = 286
FILTERS = {"failed": {0, 2, 3}, "ties": {2}, "missing": {3}}
"""Item filters of the run page: name -> outcome codes."""


@require_safe
def run_list(request: HttpRequest) -> HttpResponse:
    """Context: page (of SuiteRun), mine (only this user's?)."""
    runs = listed_runs(request.user).prefetch_related("prediction_results")
    mine = request.user.is_authenticated and "mine" in request.GET
    if mine:
        runs = runs.filter(owner=request.user)
    page = Paginator(runs, PER_PAGE).get_page(request.GET.get("page"))
    return render(request, "evaluations/run_list.html", {"page": page, "mine": mine})


@login_required
@require_POST
def run_start(request: HttpRequest) -> HttpResponse:
    """Queue the chosen models on one revision."""
    revision = get_object_or_404(
        SuiteRevision.objects.select_related("suite").filter(suite__in=visible_suites(request.user)),
        pk=_number(request.POST.get("revision", "")),
    )
    form = RunForm(request.POST, revision=revision, user=request.user)
    if not form.is_valid():
        for problems in form.errors.values():
            messages.error(request, " ".join(problems))
        return redirect(revision)
    runs = []
    try:
        for model in form.cleaned_data["models"]:
            runs.append(services.queue_run(revision, model, form.policy(), actor=request.user))
    except (ValidationError, TooManyJobs) as error:
        messages.error(
            request, " ".join(error.messages) if isinstance(error, ValidationError) else str(error)
        )
    if len(runs) == 1:
        return redirect(runs[0])
    if runs:
        messages.success(request, f"{len(runs)} runs are queued.")
    return redirect(revision)


@dataclass(frozen=True)
class ShownResult:
    """A prediction with its result: `shown` renders the formula, `result` has the counts."""

    shown: ShownPrediction
    result: PredictionResult


@dataclass(frozen=True)
class ItemRow:
    """One item of the run page: outcome code and margin per prediction."""

    item: int
    cells: list[tuple[int, float | None]]


@require_safe
def run_detail(request: HttpRequest, pk: int) -> HttpResponse:
    """Context: run, suite, revision, job, position, may_steer; when done also results (ShownResult), items
    (ItemRow), only ("" or a name of FILTERS), counts (items per filter), chart (svg), summary (rows of the table beside
    it), critical, failures (SentenceScore without scores), command (reproduces the run)."""
    run = _visible(request, pk)
    context: dict[str, Any] = {
        "run": run,
        "suite": run.revision.suite,
        "revision": run.revision,
        "model": run.model,
        "may_steer": permissions.can_steer(request.user, run),
        **_progress(run),
    }
    if run.is_done:
        context.update(_result_context(run, request.GET.get("only", "")))
    return render(request, "evaluations/run_detail.html", context)


@require_safe
def run_progress(request: HttpRequest, pk: int) -> HttpResponse:
    """The live part of a run's page; status 286 tells htmx to stop polling. Context: run, job, position."""
    run = _visible(request, pk)
    context = {"run": run, "may_steer": permissions.can_steer(request.user, run), **_progress(run)}
    final = run.state in {"done", "failed", "cancelled"}
    response = render(request, "evaluations/_progress.html", context, status=STOP_POLLING if final else 200)
    if final:
        response["HX-Refresh"] = "true"
    return response


@login_required
@require_POST
def run_cancel(request: HttpRequest, pk: int) -> HttpResponse:
    run = _visible(request, pk)
    return _steer(request, run, services.cancel_run, "The run stops after the sentences it is working on.")


@login_required
@require_POST
def run_retry(request: HttpRequest, pk: int) -> HttpResponse:
    run = _visible(request, pk)
    return _steer(request, run, services.retry_run, "The run is queued again.")


@dataclass(frozen=True)
class ShownToken:
    text: str
    token: str
    token_id: int
    start: int
    end: int
    bits: float | None
    straddles: bool
    special: bool


@dataclass(frozen=True)
class ShownRegion:
    number: int
    name: str
    content: str
    bits: float | None
    critical: bool
    tokens: list[ShownToken]


@dataclass(frozen=True)
class ShownSentence:
    condition: str
    score: SentenceScore
    regions: list[ShownRegion]
    specials: list[ShownToken]


@require_safe
def run_item(request: HttpRequest, pk: int, item: str) -> HttpResponse:
    """One item under the lens. Context: run, suite, revision, model, item, sentences (ShownSentence), outcomes
    [(ShownPrediction, code, margin)], previous, next (item numbers or None)."""
    run = _visible(request, pk)
    number = _number(item)
    scores = list(
        run.sentence_scores.filter(sentence__item=number)
        .select_related("sentence")
        .order_by("sentence__position")
    )
    if not scores:
        raise Http404("This run has no such item.")
    results = list(run.prediction_results.select_related("prediction"))
    items = results[0].items if results else run.revision.item_numbers
    place = items.index(number)
    critical = critical_regions(run.revision)
    context = {
        "run": run,
        "suite": run.revision.suite,
        "revision": run.revision,
        "model": run.model,
        "item": number,
        "sentences": [_shown_sentence(row, run.revision, critical) for row in scores],
        "outcomes": [
            (
                shown_prediction(result.prediction, run.revision.regions),
                result.outcomes[place],
                result.margins[place],
            )
            for result in results
        ],
        "previous": items[place - 1] if place > 0 else None,
        "next": items[place + 1] if place + 1 < len(items) else None,
    }
    return render(request, "evaluations/run_item.html", context)


@require_safe
def run_chart(request: HttpRequest, pk: int) -> HttpResponse:
    """The region chart as a file that stands alone."""
    run = _done(request, pk)
    svg = _chart(run, standalone=True)
    return download(str(svg), f"{_stem(run)}-regions.svg", "image/svg+xml")


@require_safe
def run_download(request: HttpRequest, pk: int, form: str) -> HttpResponse:
    """json (everything), regions.csv, tokens.csv, outcomes.csv."""
    run = _done(request, pk)
    document, result = document_of(run.revision), report.result_of(run)
    suite, model = run.revision.suite.slug, run.model.slug
    if form == "json":
        return json_download(f"{_stem(run)}.json", report.as_dict(document, result, report.run_head(run)))
    tables = {
        "regions.csv": (report.REGION_HEADER, lambda: report.region_rows(document, result, suite, model)),
        "tokens.csv": (report.TOKEN_HEADER, lambda: report.token_rows(result, suite, model)),
        "outcomes.csv": (report.OUTCOME_HEADER, lambda: report.outcome_rows(result, suite, model)),
    }
    if form not in tables:
        raise Http404(f"Downloads are json, {', '.join(tables)}.")
    header, rows = tables[form]
    return csv_download(f"{_stem(run)}-{form}", header, rows())


@require_safe
def matrix_page(request: HttpRequest) -> HttpResponse:
    """Context: matrix (selectors.Matrix), tags [{"name", "n"}], current_tag."""
    tag = request.GET.get("tag", "")
    context = {
        "matrix": matrix(request.user, tag),
        "tags": tags_of(listed_for(request.user)),
        "current_tag": tag,
    }
    return render(request, "evaluations/matrix.html", context)


@require_safe
def matrix_download(request: HttpRequest, form: str) -> HttpResponse:
    """Long CSV of the matrix: one row per suite x model x prediction."""
    if form != "csv":
        raise Http404("The matrix can be had as csv.")
    table = matrix(request.user, request.GET.get("tag", ""))
    header = (
        "suite",
        "revision",
        "model",
        "prediction",
        "passed",
        "n",
        "rate",
        "ci_low",
        "ci_high",
        "chance",
        "ties",
        "not_evaluable",
    )
    rows = [
        (
            suite.slug,
            revision.number,
            score.run.model.slug,
            result.prediction.label,
            result.passed,
            result.total,
            result.rate,
            result.ci_low,
            result.ci_high,
            result.chance,
            result.ties,
            result.not_evaluable,
        )
        for suite, revision, cells in table.rows()
        for score in cells
        if score is not None
        for result in score.results
    ]
    return csv_download("matrix.csv", header, rows)


def _result_context(run: SuiteRun, only: str) -> dict[str, Any]:
    revision = run.revision
    results = list(run.prediction_results.select_related("prediction"))
    items = results[0].items if results else revision.item_numbers
    rows = [
        ItemRow(item, [(result.outcomes[place], result.margins[place]) for result in results])
        for place, item in enumerate(items)
    ]
    wanted = FILTERS.get(only)
    counts = {
        name: sum(any(code in codes for code, _ in row.cells) for row in rows)
        for name, codes in FILTERS.items()
    }
    if wanted:
        rows = [row for row in rows if any(code in wanted for code, _ in row.cells)]
    return {
        "results": [
            ShownResult(shown_prediction(result.prediction, revision.regions), result) for result in results
        ],
        "items": rows,
        "n_items": len(items),
        "only": only if wanted else "",
        "counts": counts,
        "chart": _chart(run),
        "summary": run.region_summary,
        "critical": critical_regions(revision),
        "failures": run.sentence_scores.exclude(failure="").select_related("sentence")[:50],
        "command": reproduce_command(run),
    }


def reproduce_command(run: SuiteRun) -> str:
    """The command line that computes the same numbers from the downloaded suite."""
    flags = {name: run.policy[name] for name in ("bos", "join", "metric") if name in run.policy}
    words = [f"--{name} {value}" for name, value in flags.items()]
    if run.policy.get("eos"):
        words.append("--eos")
    return (
        f"python manage.py evaluate {run.revision.suite.slug}-r{run.revision.number}.json "
        f"--model {run.model.slug} {' '.join(words)}"
    )


def _chart(run: SuiteRun, *, standalone: bool = False) -> Any:
    series = [
        Series(
            name=row["condition"],
            means=[cell["mean"] for cell in row["regions"]],
            lows=[cell["low"] for cell in row["regions"]],
            highs=[cell["high"] for cell in row["regions"]],
            n=max((cell["n"] for cell in row["regions"]), default=0),
        )
        for row in run.region_summary
    ]
    title = f"{run.model.name} on {run.revision.suite.title}: mean surprisal by region"
    return region_chart(
        list(run.revision.region_names), series, critical_regions(run.revision), title, standalone=standalone
    )


def _shown_sentence(score: SentenceScore, revision: SuiteRevision, critical: set[int]) -> ShownSentence:
    by_region: dict[int, list[ShownToken]] = {}
    for token, token_id, start, end, bits, region, straddles in score.tokens:
        shown = ShownToken(
            score.text[start:end], token, token_id, start, end, bits, bool(straddles), region < 0
        )
        by_region.setdefault(region, []).append(shown)
    contents = score.sentence.contents
    return ShownSentence(
        condition=score.sentence.condition,
        score=score,
        regions=[
            ShownRegion(
                number,
                name,
                contents[number - 1],
                score.regions[number - 1],
                number in critical,
                by_region.get(number - 1, []),
            )
            for number, name in revision.regions.items()
        ],
        specials=by_region.get(-1, []),
    )


def _progress(run: SuiteRun) -> dict[str, Any]:
    job = run.job
    waiting = job is not None and job.state == "queued"
    return {"job": job, "position": position_in_queue(job) if waiting else None}


def _steer(request: HttpRequest, run: SuiteRun, use_case: Any, done: str) -> HttpResponse:
    try:
        use_case(run, actor=request.user)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    except (WrongState, TooManyJobs) as error:
        messages.error(request, str(error))
    else:
        messages.success(request, done)
    return redirect(run)


def _visible(request: HttpRequest, pk: int) -> SuiteRun:
    return get_object_or_404(visible_to(request.user), pk=pk)


def _done(request: HttpRequest, pk: int) -> SuiteRun:
    run = _visible(request, pk)
    if not run.is_done:
        raise Http404("This run has no results yet.")
    return run


def _stem(run: SuiteRun) -> str:
    return f"{run.revision.suite.slug}-r{run.revision.number}-{run.model.slug}"


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise Http404("This is not a number.") from error
