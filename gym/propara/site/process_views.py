"""Pages of one process, and of two systems side by side."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from gym.propara.core.grid import read_grids
from gym.propara.core.mistakes import mistakes
from gym.propara.core.process_report import ProcessReport, evaluate_process
from gym.propara.core.scoring import QUESTIONS
from gym.propara.models import Submission
from gym.propara.site import compare, presenters, selectors
from gym.propara.site.submission_views import visible
from gym.propara.site.views import neighbours, sentences_of


@require_safe
def process_detail(request: HttpRequest, key: str, process_id: int) -> HttpResponse:
    """Context: submission, version, answer_set, process (ProcessReport), row (stored scores), table, questions, events,
    mistakes, warnings, neighbours, sample, n_samples."""
    submission = scored(request, key)
    sample = _sample(request, submission)
    process = process_of(submission, process_id, sample)
    context = {
        **_head(submission, process_id),
        "process": process,
        "row": next((row for row in submission.report["processes"] if row["id"] == process_id), None),
        "table": presenters.grid_table(
            process.answer_grid, process.sentences, [("prediction", process.prediction_grid)]
        ),
        "questions": presenters.questions(process),
        "events": presenters.events(process),
        "mistakes": mistakes(process.answer_grid, process.prediction_grid),
        "warnings": [row for row in submission.report["warnings"] if row["process_id"] == process_id],
        "sample": sample,
        "samples": range(1, len(submission.samples) + 1),
    }
    return render(request, "propara/process.html", context)


@require_safe
def compare_pick(request: HttpRequest) -> HttpResponse:
    """?first=…&second=… leads to the comparison; without both, a page to choose them."""
    first, second = (request.GET.get(name, "").replace("\0", "") for name in ("first", "second"))
    rows = list(
        selectors.known_submissions(request.user)
        .filter(state=Submission.State.SCORED)
        .order_by("version__answer_set__title", "-version__number", "-f1")
        .defer(*selectors.HEAVY, "report")[:500]
    )
    wrong = ""
    if first and second:
        if first == second:
            wrong = "Choose two different submissions."
        else:
            pair = [visible(request, key) for key in (first, second)]
            if len({row.version_id for row in pair}) == 1:
                return redirect("propara-compare", first, second)
            wrong = "These two were scored against different answers, so their numbers cannot be compared."
    if not second:  # offer two that can be compared
        of_first = next((row for row in rows if row.key == first), rows[0] if rows else None)
        other = (
            row for row in rows if of_first and row.version_id == of_first.version_id and row != of_first
        )
        second = next((row.key for row in other), "")
    context = {"rows": rows, "first": first, "second": second, "wrong": wrong}
    return render(request, "propara/compare_pick.html", context, status=400 if wrong else 200)


@require_safe
def compare_detail(request: HttpRequest, first: str, second: str) -> HttpResponse:
    """Context: first, second (Submission), version, answer_set, found (compare.Compared)."""
    pair = both(request, first, second)
    context = {
        "first": pair[0],
        "second": pair[1],
        "version": pair[0].version,
        "answer_set": pair[0].version.answer_set,
        "found": compare.compare_submissions(*pair),
        "questions": QUESTIONS,
    }
    return render(request, "propara/compare.html", context)


@require_safe
def compare_process(request: HttpRequest, first: str, second: str, process_id: int) -> HttpResponse:
    """Both systems' grids in one. Context: first, second, table, rows (stored scores of both)."""
    pair = both(request, first, second)
    reports = [process_of(one, process_id) for one in pair]
    others = [("first", reports[0].prediction_grid), ("second", reports[1].prediction_grid)]
    context: dict[str, Any] = {
        **_head(pair[0], process_id),
        "first": pair[0],
        "second": pair[1],
        "table": presenters.grid_table(reports[0].answer_grid, reports[0].sentences, others),
        "columns": [
            (
                one,
                next(row for row in one.report["processes"] if row["id"] == process_id),
                presenters.questions(report),
                mistakes(report.answer_grid, report.prediction_grid),
            )
            for one, report in zip(pair, reports, strict=True)
        ],
    }
    return render(request, "propara/compare_process.html", context)


def _head(submission: Submission, process_id: int) -> dict[str, Any]:
    version = submission.version
    return {
        "submission": submission,
        "version": version,
        "answer_set": version.answer_set,
        "process_id": process_id,
        "neighbours": neighbours(version, process_id),
    }


def process_of(submission: Submission, process_id: int, sample: int = 1) -> ProcessReport:
    version = submission.version
    if process_id not in version.process_ids:
        raise Http404("There is no such process.")
    answers = read_grids(version.answers, "answers")
    predictions = read_grids(submission.samples[sample - 1]["text"], "predictions")
    return evaluate_process(answers[process_id], predictions[process_id], sentences_of(version, process_id))


def _sample(request: HttpRequest, submission: Submission) -> int:
    text = request.GET.get("sample", "1")
    n = int(text) if text.isascii() and text.isdigit() and len(text) < 4 else 0
    if not 1 <= n <= len(submission.samples):
        raise Http404("There is no such sample.")
    return n


def scored(request: HttpRequest, key: str) -> Submission:
    submission = visible(request, key)
    if not submission.is_scored:
        raise Http404("This submission is not scored yet.")
    return submission


def both(request: HttpRequest, first: str, second: str) -> tuple[Submission, Submission]:
    """Two scored submissions to one version, both with a score."""
    one, other = scored(request, first), scored(request, second)
    if one.version_id != other.version_id or one.pk == other.pk:
        raise Http404("These two cannot be compared.")
    if one.reference is None or other.reference is None:
        raise Http404("One of the two has no score.")
    return one, other
