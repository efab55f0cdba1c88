"""`/exports/`: tables of any selection of runs, files for other programs, and citations."""

from __future__ import annotations

import io
from collections.abc import Iterable
from contextlib import closing
from typing import Any

from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from gym.accounts.models import AnyUser
from gym.downloads import csv_stream, download, file_download
from gym.runs.models import SuiteRun
from gym.runs.read.report import result_of
from gym.runs.read.selectors import listed_runs, newest_done, run_at
from gym.runs.read.selectors import visible_to as visible_runs
from gym.runs.tables.registry import (
    FRAMES,
    Budget,
    Frame,
    TooMuch,
    frame_for,
    parquet_file,
    require_row_limit,
    rows_at_least,
    rows_of,
    with_more_columns,
)
from lmgym.runs.evaluation_tasks import FOLDERS, task_folder
from lmgym.runs.other_programs import Refused, blimp_jsonl, evaluated_json
from lmgym.text.bibtex import bibtex
from suites.models import SuiteRevision
from suites.permissions import may_know_owner
from suites.presenters import ANONYMOUS, authors_of
from suites.selectors import document_of, export_document, revisions_for

AS_CSV = "Export it as CSV, which has no limit, or in parts: ?suite=, ?suite=&r=, ?model=, ?tag= or ?run=."
SUITE_FORMS = ("blimp.jsonl", *(f"{form}.zip" for form in FOLDERS), "bib")


@require_safe
def export_table(request: HttpRequest, what: str, form: str) -> HttpResponseBase:
    """Export regions, tokens, outcomes, predictions or scores as csv or parquet. `?run=`, `?suite=&r=`, `?model=`,
    `?tag=`, several suites or models joined by commas; default: everything listed. By default the run that counts
    for each model on each revision; `?all=1`: every finished run."""
    if what not in FRAMES or form not in {"csv", "parquet"}:
        raise Http404(f"Available tables: {', '.join(FRAMES)}, as csv or parquet.")
    selection = {
        name: request.GET.get(name, "").replace("\0", "\ufffd")
        for name in ("run", "suite", "r", "model", "tag")
    }
    try:
        return table_file(request.user, what, form, selection, every=is_on(request, "all"))
    except TooMuch as error:
        return too_much(request, error)


def is_within(request: HttpRequest) -> bool:
    """Return whether within-item intervals are requested."""
    return request.GET.get("interval") == "within"


def is_on(request: HttpRequest, name: str) -> bool:
    """Return True for `?name` and `?name=1`, False for `?name=0`."""
    return request.GET.get(name, "0").lower() not in {"0", "false"}


def table_file(
    user: Any,
    what: str,
    form: str,
    selection: dict[str, str],
    *,
    every: bool,
    revisions: QuerySet[SuiteRevision] | None = None,
) -> HttpResponseBase:
    """Build the file for a table. `selection`: run, suite, r, model, tag as sent; `revisions` restricts the runs.
    Raises TooMuch, and Http404 (e.g. NoRuns) if nothing matches."""
    key = selection.get("run", "")
    if key:
        return run_table(finished_run(user, key[:24]), what, form)
    runs, stem = _runs(user, selection, every, revisions)
    streamed_runs: Any = runs.iterator(chunk_size=100)
    frame = frame_for(what, with_more_columns(runs))
    if form == "csv":
        return _table(frame, what, form, streamed_runs, stem)
    require_row_limit(rows_at_least(what, runs), AS_CSV)
    with closing(streamed_runs):  # an exception would keep the cursor open
        return _table(frame, what, form, streamed_runs, stem)


def run_table(run: SuiteRun, what: str, form: str) -> HttpResponseBase:
    """Build the table for one finished run; its file name states the kind of values, and whether some are missing.
    Raises TooMuch."""
    stem = f"{run.revision.suite.slug}-r{run.revision.number}-{run.model.slug}"
    if run.score_kind != "surprisal":
        stem += "-pseudo-log-likelihood"
    if not run.has_all_tokens and what in {"regions", "tokens"}:
        stem += "-needed-tokens"
    return _table(frame_for(what, [run.revision]), what, form, [run], stem)


def _table(frame: Frame, what: str, form: str, runs: Iterable[SuiteRun], stem: str) -> HttpResponseBase:
    if form == "csv":
        return csv_stream(f"{stem}-{what}.csv", frame.header, rows_of(frame, runs))
    file = parquet_file(frame, Budget(AS_CSV).through(rows_of(frame, runs)))
    return file_download(file, f"{stem}-{what}.parquet", "application/vnd.apache.parquet")


def _runs(
    user: Any, selection: dict[str, str], every: bool, revisions: QuerySet[SuiteRevision] | None
) -> tuple[QuerySet[SuiteRun], str]:
    """Return the selected runs and the beginning of the file name. Raises NoRuns, a 404 that names the suites
    or models without a finished run."""
    suites, models = (_names(selection.get(name, "")) for name in ("suite", "model"))
    number, tag = selection.get("r", ""), selection.get("tag", "")
    runs: QuerySet[SuiteRun] = (visible_runs if suites else listed_runs)(user)
    if revisions is not None:
        runs = runs.filter(revision__in=revisions.order_by().values("pk"))
    if suites:
        runs = runs.filter(revision__suite__slug__in=suites)
    if number:
        runs = runs.filter(revision__number=_number(number))
    if models:
        runs = runs.filter(model__slug__in=models)
    if tag:
        runs = runs.filter(revision__suite__tags__name=tag)
    selected = runs.filter(completed_at__isnull=False) if every else newest_done(runs)
    _require_all(selected, suites, "revision__suite__slug")
    _require_all(selected, models, "model__slug")
    if (tag or revisions is not None) and not selected.exists():
        raise NoRuns("No finished run matches, or you may not see it.")
    light = selected.select_related(None).select_related("revision__suite", "model")
    light = light.defer("region_summary").order_by("pk").prefetch_related("scores")
    parts = [_in_file_name(suites, "suites"), f"r{number}" if number else "", _in_file_name(models, "models")]
    chosen = bool(tag) or revisions is not None
    return light, "-".join(part for part in parts if part) or ("selection" if chosen else "everything")


class NoRuns(Http404):
    """No finished run matches the query."""


def _names(text: str) -> list[str]:
    return list(dict.fromkeys(filter(None, (name.strip() for name in text.split(",")))))


def _require_all(runs: QuerySet[SuiteRun], names: Iterable[str], field: str) -> None:
    """Raise 404 for names without a run: a typo must not silently shrink a table."""
    available = set(runs.order_by().values_list(field, flat=True).distinct()) if names else set()
    if missing := [name for name in names if name not in available]:
        raise NoRuns(f"No finished run of {', '.join(missing[:5])} matches, or you may not see it.")


def _in_file_name(names: list[str], many: str) -> str:
    return names[0] if len(names) == 1 else f"{len(names)}-{many}" if names else ""


@require_safe
def export_evaluated(request: HttpRequest, key: str) -> HttpResponse:
    """Export a run as evaluated suite JSON for syntaxgym-core."""
    run = finished_run(request.user, key)
    try:
        return evaluated_file(run, request.user)
    except Refused as refusal:
        return _refuse(request, refusal, run.revision)


def finished_run(user: Any, key: str) -> SuiteRun:
    return get_object_or_404(run_at(user, key), completed_at__isnull=False)


def evaluated_file(run: SuiteRun, user: Any) -> HttpResponse:
    """Return a run as evaluated suite JSON. Raises Refused."""
    if not run.has_all_tokens:
        reason = (
            "This run computed only the regions that its predictions refer to. Start a run with all tokens."
        )
        raise Refused("evaluated JSON", [reason])
    metric = str(run.policy.get("metric", "sum"))
    text = evaluated_json(
        export_document(run.revision, names_author=may_know_owner(user, run.revision.suite)),
        result_of(run),
        metric=metric,
        model=run.model.name,
    )
    stem = f"{run.revision.suite.slug}-r{run.revision.number}-{run.model.slug}"
    return download(text, f"{stem}-evaluated.json", "application/json")


@require_safe
def export_suite(request: HttpRequest, slug: str, number: int, form: str) -> HttpResponseBase:
    """Export one frozen revision as blimp.jsonl, as a folder of tasks (lm-eval.zip, inspect-ai.zip), or as bib."""
    revision = get_object_or_404(
        revisions_for(request.user).filter(state=SuiteRevision.State.FROZEN).select_related("suite__owner"),
        suite__slug=slug,
        number=number,
    )
    try:
        address = request.build_absolute_uri(revision.get_absolute_url())
        return suite_file(revision, form, address, request.user)
    except Refused as refusal:
        return _refuse(request, refusal, revision)


def suite_file(revision: SuiteRevision, form: str, address: str, user: Any) -> HttpResponseBase:
    """Export a frozen revision in one of SUITE_FORMS for this reader. `address`: URL of its page. Raises Refused, and
    Http404 for another form."""
    if form not in SUITE_FORMS:
        raise Http404(f"A revision is available as {', '.join(SUITE_FORMS)} here.")
    slug, number = revision.suite.slug, revision.number
    stem = f"{slug}-r{number}"
    if form == "bib":
        return download(citation(revision, address, user), f"{stem}.bib", "application/x-bibtex")
    document = document_of(revision)
    if form == "blimp.jsonl":
        text = blimp_jsonl(document, slug, number, revision.join_policy)
        return download(text, f"{stem}-blimp.jsonl", "application/jsonl")
    packed = task_folder(form.removesuffix(".zip"), document, slug, number, revision.join_policy, address)
    return file_download(io.BytesIO(packed), f"{stem}-{form}", "application/zip")


def _refuse(request: HttpRequest, refusal: Refused, revision: SuiteRevision) -> HttpResponse:
    """Respond 409: the revision exists but has no counterpart in this format. Context: refusal, revision, suite."""
    context = {"refusal": refusal, "revision": revision, "suite": revision.suite}
    return render(request, "runs/refused.html", context, status=409)


def too_much(request: HttpRequest, error: TooMuch) -> HttpResponse:
    """Respond 413 with a remedy. Context: error."""
    return render(request, "runs/too_much.html", {"error": error}, status=413)


def _number(text: str) -> int:
    if not text.isdecimal() or len(text) > 9:
        raise Http404("A number is missing or invalid.")
    return int(text)


EXPORT_TABLES = (
    ("scores", "Pass rates"),
    ("predictions", "Pass rates by prediction"),
    ("outcomes", "Outcomes and margins"),
    ("regions", "Bits by region"),
    ("tokens", "Bits by token"),
)
"""Tables of /exports/ and their titles."""


def citation(revision: SuiteRevision, address: str, user: AnyUser) -> str:
    """Return the BibTeX entry of a revision at its permanent URL, for this reader."""
    suite = revision.suite
    when = revision.frozen_at or timezone.now()
    return bibtex(
        key=f"{suite.slug}-r{revision.number}",
        title=f"{suite.title}, revision {revision.number}",
        authors=[author.name for author in authors_of(suite, user)]
        or [suite.owner.author_name if may_know_owner(user, suite) else ANONYMOUS],
        year=when.year,
        address=address,
        note=f"Test suite on LM Gym, frozen {when:%Y-%m-%d}, sha256 {revision.sha256}",
    )
