"""Pages for uploading results: form, preview, report."""

from __future__ import annotations

import json
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from gym.accounts.errors import LimitReached
from gym.accounts.requests import SignedInRequest
from gym.jobs.pages import act, progress_of, show_error
from gym.runs.models import ResultUpload, SuiteRun
from gym.runs.pages.forms import ResultsForm
from gym.runs.read.scores import scored
from gym.runs.read.selectors import known_runs
from gym.runs.work import uploads
from gym.runs.work.uploads import Plan, PlannedRun
from lmgym.runs.rules import RULES, Rule, rule_of, score
from lmgym.text import listing
from lmgym.text.problems import FormatError
from suites.models import SuiteRevision
from suites.selectors import revisions_for

LISTED_FAILURES = 50
LISTED_MODELS = 4
PER_PAGE = 100


@login_required
def upload_results(request: SignedInRequest, slug: str = "", number: int = 0) -> HttpResponse:
    """Upload a file of results, for one revision or for the suites it names. Context: form, revision, suite, problems;
    after “Check only” also checked, rows (the first PER_PAGE), n_runs, rule, report, refused (see `upload_report`)."""
    revision = _revision(request, slug, number) if slug else None
    form = ResultsForm(request.POST or None, request.FILES or None, user=request.user)
    context: dict[str, Any] = {"form": form, "revision": revision, "suite": revision and revision.suite}
    status = 200
    if request.method == "POST":
        status = 400
        if form.is_valid():
            try:
                plan = uploads.plan_upload(actor=request.user, revision=revision, **form.source())
                uploads.check_choice(plan, form.choice(), actor=request.user)
                if "check" in request.POST:
                    rule = rule_of(request.GET.get("rule", ""))
                    context |= {"rows": _planned(plan, rule), "n_runs": len(plan.good), "rule": rule}
                    context["checked"] = True
                    context["report"] = uploads.report_of(plan)
                    context["refused"] = _group_refusals(context["report"]["refused"])
                    status = 200
                else:
                    return redirect(uploads.save_upload(plan, form.choice(), actor=request.user))
            except FormatError as error:
                context["problems"] = error.problems
            except ValidationError as error:
                form.add_error(None, error.messages)
            except LimitReached as error:
                form.add_error(None, str(error))
    return render(request, "runs/upload.html", context, status=status)


@login_required
@require_safe
def upload_report(request: HttpRequest, key: str) -> HttpResponse:
    """Show the report on an upload.

    Context: upload, job, state, behind, report (unmatched, notices), refused (see `_group_refusals`), page (of runs),
    n_runs, n_hidden (runs this user may not know of, see `known_runs`), rows (of the page; see `_stored_row`), rule,
    rules.
    """
    upload = _own(request, key)
    rule = rule_of(request.GET.get("rule", ""))
    runs = known_runs(request.user).filter(upload=upload).prefetch_related("scores").order_by("pk")
    page = Paginator(runs, PER_PAGE).get_page(request.GET.get("page"))
    n_runs = upload.runs.count()
    context = {
        "upload": upload,
        **progress_of(upload.job, request.user),
        "report": upload.report,
        "refused": _group_refusals(upload.report.get("refused", [])),
        "page": page,
        "n_runs": n_runs,
        "n_hidden": n_runs - page.paginator.count,
        "rows": [_stored_row(run, rule) for run in page],
        "rule": rule,
        "rules": list(RULES.values()),
    }
    return render(request, "runs/upload_report.html", context)


@login_required
@require_POST
def upload_retry(request: HttpRequest, key: str) -> HttpResponse:
    return act(request, _own(request, key), uploads.retry_upload)


@login_required
@require_POST
def upload_delete(request: SignedInRequest, key: str) -> HttpResponse:
    upload = _own(request, key)
    try:
        n = uploads.delete_upload(upload, actor=request.user)
    except ValidationError as error:
        show_error(request, error)
        return redirect(upload)
    messages.success(request, f"Withdrawn: {n} run{'' if n == 1 else 's'}. The models’ pages are kept.")
    return redirect("run-list")


def _stored_row(run: SuiteRun, rule: Rule) -> dict[str, Any]:
    """Build the row of a stored run in a report."""
    failed = run.sentence_scores.exclude(failure="").select_related("sentence")[:LISTED_FAILURES]
    return {
        "run": run,
        "suite": run.revision.suite,
        "revision": run.revision,
        "model": run.model.name,
        "score": scored(run, rule).score,
        "n_sentences": run.n_sentences if run.region_summary else 0,
        "n_failed": run.n_unscored,
        "failures": [(row.sentence.item, row.sentence.condition, row.failure) for row in failed]
        if run.n_unscored
        else [],
        "missing": run.provenance["missing"],
        "notices": run.provenance["notices"],
        "warnings": run.provenance.get("warnings", []),  # absent in older runs
    }


def _planned(plan: Plan, rule: Rule) -> list[dict[str, Any]]:
    """Build the rows of a preview, at most PER_PAGE."""
    report = uploads.report_of(plan)
    return [_planned_row(run, rule, report) for run in plan.good[:PER_PAGE]]


def _planned_row(run: PlannedRun, rule: Rule, report: dict[str, Any]) -> dict[str, Any]:
    applied = run.applied
    assert applied is not None
    return {
        "run": None,
        "suite": run.revision.suite,
        "revision": run.revision,
        "model": run.part.model or "the new model",
        "score": score(
            applied.result.predictions,
            rule,
            run.revision.predictions.count(),
            len(run.revision.region_names),
        ),
        "n_sentences": len(applied.result.sentences),
        "n_failed": len(applied.failures),
        "failures": [(row.item, row.condition, row.failure) for row in applied.failures[:LISTED_FAILURES]],
        "missing": applied.missing,
        "notices": uploads.notices_of(run, report),
        "warnings": uploads.warnings_of(run, report),
    }


def _group_refusals(refused: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Group refused runs by suite and problems; each group has suite, models (in words) and problems."""
    models: dict[str, list[str]] = {}
    rows: dict[str, dict[str, Any]] = {}
    for row in refused:
        key = json.dumps([row["suite"], row["problems"]])
        rows[key] = row
        models.setdefault(key, []).append(row["model"])
    return [
        {"suite": row["suite"], "models": listing(models[key], LISTED_MODELS), "problems": row["problems"]}
        for key, row in rows.items()
    ]


def _revision(request: HttpRequest, slug: str, number: int) -> SuiteRevision:
    revisions = revisions_for(request.user).select_related("suite")
    revision = get_object_or_404(revisions, suite__slug=slug, number=number)
    if not revision.is_frozen:
        raise Http404("Results can be uploaded only for frozen revisions.")
    return revision


def _own(request: HttpRequest, key: str) -> ResultUpload:
    upload = get_object_or_404(ResultUpload.objects.select_related("owner", "job"), key=key)
    if not uploads.may_see(request.user, upload):
        raise Http404("This upload belongs to someone else.")
    return upload
