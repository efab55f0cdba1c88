"""Pages that compare submissions with a baseline, overall, by question, by process and by line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from gym.downloads import csv_download
from gym.propara import presenters, selectors
from gym.propara.models import Submission
from gym.propara.submission_views import process_of, scored
from gym.propara.views import first_sentences, neighbours
from lmgym.propara.mistakes import mistakes
from lmgym.propara.scoring import QUESTIONS

MAX_COMPARED = 5
MAX_OFFERED = 500


def not_comparable(submissions: Sequence[Submission]) -> str:
    """Return why submissions cannot be compared, or an empty string."""
    if len(submissions) < 2:
        return "Choose at least two different submissions."
    if len(submissions) > MAX_COMPARED:
        return f"At most {MAX_COMPARED} submissions can be compared at once."
    if len({row.version_id for row in submissions}) > 1:
        return "These submissions were scored on different reference answers, so they cannot be compared."
    without = [row.system for row in submissions if row.reference is None]
    return f"Without a score to compare: {', '.join(without)}." if without else ""


def requested_submissions(request: HttpRequest) -> list[Submission]:
    """Return the distinct submissions of `?first=a&second=b&second=c`, baseline first. Raises Http404."""
    requested = [request.GET.get("first", ""), *request.GET.getlist("second")]
    keys = [key.replace("\0", "") for key in dict.fromkeys(requested) if key]
    return [scored(request, key) for key in keys[: MAX_COMPARED + 1]]


def comparable_or_404(request: HttpRequest) -> list[Submission]:
    submissions = requested_submissions(request)
    if wrong := not_comparable(submissions):
        raise Http404(wrong)
    return submissions


@require_safe
def compare_page(request: HttpRequest) -> HttpResponse:
    """Compare submissions. Selected rows (`submission`) redirect to `?first=a&second=b&second=c`.

    Context: rows (to choose from), chosen (submissions), wrong; for two or more: version, answer_set, comparison
    (presenters.Compared), table (rows of systems), rows_shown, questions, query, swapped.
    """
    if ticked := [key for key in request.GET.getlist("submission") if key]:
        query = [("first", ticked[0]), *(("second", key) for key in ticked[1:])]
        return redirect(f"{request.path}?{urlencode(query)}")
    submissions = requested_submissions(request)
    wrong = not_comparable(submissions) if "second" in request.GET else ""
    context: dict[str, Any] = {"chosen": submissions, "wrong": wrong}
    rows = selectors.known_submissions(request.user).filter(state=Submission.State.SCORED)
    if submissions:
        rows = rows.filter(version=submissions[0].version_id)
    rows = rows.order_by("version__answer_set__title", "-version__number", "-f1")
    context["rows"] = list(rows.defer(*selectors.HEAVY, "report")[:MAX_OFFERED])
    if wrong or len(submissions) < 2:
        return render(request, "propara/compare_pick.html", context, status=400 if wrong else 200)
    version = submissions[0].version
    result = presenters.compare_submissions(*submissions, sentences=first_sentences(version))
    context |= {
        "version": version,
        "answer_set": version.answer_set,
        "comparison": result,
        "table": list(zip(result.names, submissions, (None, *result.pairs), strict=True)),
        "rows_shown": [
            {**row, "scores": list(zip(row["f1"], row["corrected_f1"], strict=True))} for row in result.rows
        ],
        "questions": QUESTIONS,
        "query": _query(submissions),
        "swapped": _query(submissions[::-1]) if len(submissions) == 2 else "",
    }
    return render(request, "propara/compare.html", context)


def _query(submissions: list[Submission]) -> str:
    return urlencode([("first", submissions[0].key), *(("second", row.key) for row in submissions[1:])])


@require_safe
def compare_download(request: HttpRequest, form: str) -> HttpResponse:
    """Download differences.csv (overall and by question) or processes.csv."""
    submissions = comparable_or_404(request)
    result = presenters.compare_submissions(*submissions, sentences=first_sentences(submissions[0].version))
    tables = {"differences.csv": result.differences_table, "processes.csv": result.processes_table}
    if form not in tables:
        raise Http404("This download does not exist.")
    return csv_download(f"{submissions[0].version.answer_set.slug}-compared-{form}", *tables[form]())


@require_safe
def compare_process(request: HttpRequest, process_id: int) -> HttpResponse:
    """Compare a process: all grids in one table, and lines that differ. Context: version, answer_set, process_id, first
    (its first sentence), table, lines, columns, names, query; place, n_listed and neighbours in the order of the
    comparison."""
    submissions = comparable_or_404(request)
    version = submissions[0].version
    reports = [process_of(submission, process_id) for submission in submissions]
    names = presenters.distinct_names(submissions)
    listed = presenters.greatest_difference_first(submissions)
    grids = [report.prediction_grid for report in reports]
    answer = reports[0].answer_grid
    context: dict[str, Any] = {
        "version": version,
        "answer_set": version.answer_set,
        "process_id": process_id,
        "first": first_sentences(version).get(process_id, ""),
        "place": listed.index(process_id) + 1,
        "n_listed": len(listed),
        "neighbours": neighbours(listed, process_id),
        "names": names,
        "query": _query(submissions),
        "table": presenters.grid_table(answer, reports[0].sentences, list(zip(names, grids, strict=True))),
        "lines": presenters.differing_lines(answer, grids),
        "columns": [
            (
                name,
                submission,
                next(row for row in submission.report["processes"] if row["process_id"] == process_id),
                presenters.questions(report),
                mistakes(report.answer_grid, report.prediction_grid),
            )
            for name, submission, report in zip(names, submissions, reports, strict=True)
        ],
    }
    return render(request, "propara/compare_process.html", context)


@require_safe
def former_address(
    request: HttpRequest, first: str, second: str, process_id: int | None = None
) -> HttpResponse:
    """Redirect from former addresses of comparisons between two submissions."""
    place = (
        reverse("propara-compare")
        if process_id is None
        else reverse("propara-compare-process", args=[process_id])
    )
    return redirect(f"{place}?{urlencode({'first': first, 'second': second})}", permanent=True)
