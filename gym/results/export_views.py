"""`/exports/`: long tables of any choice of runs, and files for other programs."""

from __future__ import annotations

import io
import zipfile
from typing import Any

from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from gym.evaluations import report
from gym.evaluations.models import SuiteRun
from gym.evaluations.selectors import latest_done, listed_runs
from gym.evaluations.selectors import visible_to as visible_runs
from gym.exports import csv_stream, download, file_download
from gym.results.exports.cite import citation
from gym.results.exports.evaluated import evaluated_json
from gym.results.exports.frames import FRAMES, parquet_file, rows_of
from gym.results.exports.pairs import blimp_jsonl, lm_eval_files
from gym.results.exports.refusal import Refused
from suites.models import SuiteRevision
from suites.selectors import document_of
from suites.selectors import visible_to as visible_suites

SUITE_FORMS = ("blimp.jsonl", "lm-eval.zip", "bib")


@require_safe
def export_table(request: HttpRequest, what: str, form: str) -> HttpResponse:
    """regions, tokens, outcomes or scores as csv or parquet. `?run=`, `?suite=&r=`, `?model=`; nothing: everything
    listed. Of each model on each revision the newest finished run, and with `?all=1` every run."""
    if what not in FRAMES or form not in {"csv", "parquet"}:
        raise Http404(f"Tables are {', '.join(FRAMES)}, as csv or parquet.")
    runs, stem = _runs(request)
    frame = FRAMES[what]
    if form == "csv":
        return csv_stream(f"{stem}-{what}.csv", frame.header, rows_of(frame, runs))
    return file_download(
        parquet_file(frame, runs), f"{stem}-{what}.parquet", "application/vnd.apache.parquet"
    )


def _runs(request: HttpRequest) -> tuple[Any, str]:
    def given(name: str) -> str:
        return request.GET.get(name, "").replace("\0", "\ufffd")[:200]

    if key := given("run"):
        run = get_object_or_404(visible_runs(request.user).filter(completed_at__isnull=False), key=key[:24])
        return [run], f"{run.revision.suite.slug}-r{run.revision.number}-{run.model.slug}"
    named = given("suite") or given("model")
    runs: QuerySet[SuiteRun] = (visible_runs if given("suite") else listed_runs)(request.user)
    if given("suite"):
        runs = runs.filter(revision__suite__slug=given("suite"))
    if given("r"):
        runs = runs.filter(revision__number=_number(given("r")))
    if given("model"):
        runs = runs.filter(model__slug=given("model"))
    if "all" in request.GET:
        wanted = [run.pk for run in runs.filter(completed_at__isnull=False)]
    else:
        wanted = [run.pk for run in latest_done(runs)]
    if named and not wanted:
        raise Http404("No finished run fits, or none that you may see.")
    found = visible_runs(request.user).filter(pk__in=wanted).order_by("pk").prefetch_related("scores")
    return found.iterator(chunk_size=20), named or "everything"


@require_safe
def export_evaluated(request: HttpRequest, key: str) -> HttpResponse:
    """The run as evaluated suite JSON for syntaxgym-core."""
    run = get_object_or_404(visible_runs(request.user).filter(completed_at__isnull=False), key=key)
    metric = str(run.policy.get("metric", "sum"))
    try:
        if run.filling:
            raise Refused(
                "evaluated JSON",
                ["The regions that no prediction looks at are still being scored. Try again when they are."],
            )
        text = evaluated_json(
            document_of(run.revision), report.result_of(run), metric=metric, model=run.model.name
        )
    except Refused as refusal:
        return _refuse(request, refusal, run.revision)
    stem = f"{run.revision.suite.slug}-r{run.revision.number}-{run.model.slug}"
    return download(text, f"{stem}-evaluated.json", "application/json")


@require_safe
def export_suite(request: HttpRequest, slug: str, number: int, form: str) -> HttpResponse:
    """blimp.jsonl, lm-eval.zip (a task folder) or bib, of one frozen revision."""
    revision = get_object_or_404(
        SuiteRevision.objects.select_related("suite__owner").filter(
            suite__in=visible_suites(request.user), state=SuiteRevision.State.FROZEN
        ),
        suite__slug=slug,
        number=number,
    )
    stem, address = f"{slug}-r{number}", request.build_absolute_uri(revision.get_absolute_url())
    if form == "bib":
        return download(citation(revision, address), f"{stem}.bib", "application/x-bibtex")
    document = document_of(revision)
    try:
        if form == "blimp.jsonl":
            text = blimp_jsonl(document, slug, number, revision.join_policy)
            return download(text, f"{stem}.jsonl", "application/jsonl")
        if form == "lm-eval.zip":
            files = lm_eval_files(document, slug, number, revision.join_policy, address)
            return file_download(io.BytesIO(zipped(files)), f"{stem}-lm-eval.zip", "application/zip")
    except Refused as refusal:
        return _refuse(request, refusal, revision)
    raise Http404(f"A revision can be had as {', '.join(SUITE_FORMS)} here.")


def zipped(files: dict[str, str]) -> bytes:
    """The same files give the same bytes: no clock goes in."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, text in files.items():
            archive.writestr(zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0)), text.encode())
    return packed.getvalue()


def _refuse(request: HttpRequest, refusal: Refused, revision: SuiteRevision) -> HttpResponse:
    """409: the thing is there, but this format cannot say it. Context: refusal, revision, suite."""
    context = {"refusal": refusal, "revision": revision, "suite": revision.suite}
    return render(request, "results/refused.html", context, status=409)


def _number(text: str) -> int:
    if not text.isdecimal() or len(text) > 9:
        raise Http404("This is not a number.")
    return int(text)
