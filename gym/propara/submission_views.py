"""Pages for submissions: submit, check, agree to repairs, scores, processes, edit, delete, downloads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from gym.accounts.requests import SignedInRequest
from gym.jobs.pages import act
from gym.propara import exports, permissions, presenters, selectors, services
from gym.propara.charts import confusion_figure
from gym.propara.forms import AboutForm, SubmitForm
from gym.propara.models import AnswerSetVersion, Submission
from gym.propara.views import (
    first_sentences,
    form_status,
    grouped_problems,
    neighbours,
    sentences_of,
    version_of,
)
from lmgym.charts.figure import Figure
from lmgym.propara.errors import ProParaError
from lmgym.propara.grid import ACTIONS, read_grids
from lmgym.propara.groups import reason, repair_groups
from lmgym.propara.mistakes import CODES as MISTAKE_CODES
from lmgym.propara.mistakes import label, mistakes
from lmgym.propara.process_report import ProcessReport, evaluate_process
from lmgym.propara.report import EVALUATOR
from lmgym.propara.scoring import QUESTIONS
from lmgym.propara.submission_warnings import CODES as WARNING_CODES
from lmgym.propara.uploads import KINDS


@login_required
def submit(request: SignedInRequest, slug: str, number: int) -> HttpResponse:
    """Score and save a file or, with `check`, only show the result. Context: version, answer_set, form, problems."""
    version = version_of(request, slug, number)
    form = SubmitForm(request.POST or None, request.FILES or None)
    context: dict[str, Any] = {"version": version, "answer_set": version.answer_set, "form": form}
    if request.method == "POST" and form.is_valid():
        data, name = form.cleaned_data["file_bytes"], form.cleaned_data["file"].name
        submit_file = services.check_first if "check" in request.POST else services.submit
        try:
            return redirect(submit_file(version, data, name, form.about(), actor=request.user))
        except ProParaError as error:
            context["problems"] = grouped_problems(error)
        except ValidationError as error:
            form.add_error(None, error)
    return render(request, "propara/submit.html", context, status=form_status(request))


@require_safe
def submission_detail(request: HttpRequest, key: str) -> HttpResponse:
    """Show the scores, or the repairs that require agreement.

    Context: that of `_about`, repairs, repair_groups, duplicate (an earlier submission of the same file, or None),
    on_others (the same file on other versions), newest (version), offers_newest; with scores, also that of `_results`.
    """
    submission = visible(request, key)
    if submission.key != key:
        return redirect(submission)
    duplicate = (
        selectors.with_duplicate(Submission.objects.filter(pk=submission.pk), request.user).get().same_file_as
    )
    others = selectors.submissions_for(request.user).filter(pk__in=services.on_other_versions(submission))
    on_others = list(others.defer(*selectors.HEAVY, "report"))
    newest = submission.version.answer_set.latest
    context = {
        **_about(request, submission),
        "repairs": submission.repairs,
        "repair_groups": repair_groups(submission.repairs),
        "duplicate": Submission.objects.filter(key=duplicate).select_related("owner", "version").first()
        if duplicate
        else None,
        "on_others": on_others,
        "newest": newest,
        "offers_newest": newest
        and submission.is_scored
        and newest.number > submission.version.number
        and newest.pk not in {row.version_id for row in on_others},
    }
    if submission.has_scores:
        context |= _results(request, submission)
    return render(request, "propara/submission.html", context)


def _about(request: HttpRequest, submission: Submission) -> dict[str, Any]:
    return {
        "submission": submission,
        "version": submission.version,
        "answer_set": submission.version.answer_set,
        "may_steer": permissions.can_steer(request.user, submission),
        "kind": KINDS.get(submission.kind, submission.kind),
    }


def _results(request: HttpRequest, submission: Submission) -> dict[str, Any]:
    """Return the context for scores: report, confusion_figure, questions, actions, rows (worst first, filtered),
    list_query, total (number of processes), only, only_label, question, mistakes, warnings, recalls and precisions (by
    action), samples_summary, outdated, others (scored submissions to the same version)."""
    report = submission.report
    only, question = _filters(request)
    first = first_sentences(submission.version)
    rows = [
        {**row, "first": first.get(row["process_id"], "")} for row in _worst_first(submission, only, question)
    ]
    counts = {
        code: report["mistake_counts"][code] for code in MISTAKE_CODES if code in report["mistake_counts"]
    }
    return {
        "report": report,
        "confusion_figure": confusion_figure(submission),
        "questions": QUESTIONS,
        "actions": ACTIONS,
        "rows": rows,
        "list_query": _list_query(only, question),
        "total": len(report["processes"]),
        "only": only,
        "only_label": label(only),
        "question": question,
        "mistakes": [(code, label(code), MISTAKE_CODES[code], n) for code, n in counts.items()],
        "warnings": _warnings(report, submission.version),
        "recalls": {action: _share(row[action], row.values()) for action, row in report["confusion"].items()},
        "precisions": {
            action: _share(
                report["confusion"][action][action], [row[action] for row in report["confusion"].values()]
            )
            for action in ACTIONS
        },
        "samples_summary": exports.samples_summary(submission),
        "outdated": submission.evaluator != EVALUATOR,
        "others": selectors.listed_submissions(request.user)
        .filter(version=submission.version, state=Submission.State.SCORED)
        .exclude(pk=submission.pk)
        .defer(*selectors.HEAVY, "report"),
    }


def _share(n: int, counts: Iterable[int]) -> float | None:
    total = sum(counts)
    return n / total if total else None


def _filters(request: HttpRequest) -> tuple[str, str]:
    """Return the filters of the list of processes: kind of mistake and question; empty strings mean all."""
    question = request.GET.get("question", "")
    return request.GET.get("only", "")[:40], question if question in QUESTIONS else ""


def _list_query(only: str, question: str) -> str:
    """Return the query string that keeps a process list's filters on the pages of single processes."""
    filters = {name: value for name, value in (("only", only), ("question", question)) if value}
    return f"?{urlencode(filters)}" if filters else ""


def _worst_first(submission: Submission, only: str, question: str) -> list[dict[str, Any]]:
    """Return the processes in the order of the submission's page: processes without a
    score first, then by F1."""
    rows = exports.process_rows(submission.report, question)
    if only:
        rows = [row for row in rows if row["mistakes"].get(only) or (only == "no-score" and row["error"])]
    return sorted(rows, key=lambda row: (row["f1"] is not None, row["f1"] or 0.0, row["process_id"]))


def actions_chart(request: HttpRequest) -> Figure:
    """Draw the actions of the submission named in the query. Raises Http404."""
    submission = visible(request, request.GET.get("submission", "").replace("\0", ""))
    if not submission.has_scores:
        raise Http404("This submission has no scores.")
    return confusion_figure(submission)


def _warnings(
    report: dict[str, Any], version: AnswerSetVersion
) -> list[tuple[str, int, list[tuple[int, bool]]]]:
    """Return meaning, count and processes of each kind of warning, with True for processes in the answers. Warnings
    about the whole file have no processes."""
    known = set(version.process_ids)
    rows = []
    for code, n in report["warning_counts"].items():
        listed = [row["process_id"] for row in report["warnings"] if row["code"] == code]
        where = [(pid, pid in known) for pid in dict.fromkeys(listed) if pid is not None]
        rows.append((WARNING_CODES[code], n, where))
    return rows


@login_required
@require_POST
def submission_agree(request: HttpRequest, key: str) -> HttpResponse:
    done = "The repaired file was scored. The original file is also kept."
    return act(request, steered(request, key), services.agree, done)


@login_required
@require_POST
def submission_save(request: HttpRequest, key: str) -> HttpResponse:
    return act(request, steered(request, key), services.save_checked, "Saved.")


@login_required
@require_POST
def submission_score_on(request: SignedInRequest, key: str, number: int) -> HttpResponse:
    """Score the file on another version of the reference answers."""
    submission = steered(request, key)
    version = version_of(request, submission.version.answer_set.slug, number)
    try:
        return redirect(services.score_on_version(submission, version, actor=request.user))
    except ProParaError as error:
        messages.error(request, f"The file does not fit version {number}: {reason(error)}")
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    return redirect(submission)


@login_required
def submission_edit(request: SignedInRequest, key: str) -> HttpResponse:
    submission = steered(request, key)
    form = AboutForm(request.POST or None, instance=Submission.objects.get(pk=submission.pk))
    if request.method == "POST" and form.is_valid():
        services.edit_submission(submission, form.about(), actor=request.user)
        return redirect(submission)
    context = {**_about(request, submission), "form": form}
    return render(request, "propara/submission_edit.html", context, status=form_status(request))


@login_required
@require_POST
def submission_delete(request: SignedInRequest, key: str) -> HttpResponse:
    submission = steered(request, key)
    version = submission.version
    services.delete_submission(submission, actor=request.user)
    messages.success(request, f"{submission.system} was deleted with its file and scores.")
    return redirect(version)


@require_safe
def submission_download(request: HttpRequest, key: str, form: str) -> HttpResponse:
    """Download file (the original), actions.tsv, json, processes.csv, report.txt, metrics.json or diagnostics.txt."""
    return exports.response_of(visible(request, key), form)


def visible(request: HttpRequest, key: str) -> Submission:
    return get_object_or_404(selectors.submission_at(request.user, key))


def steered(request: HttpRequest, key: str) -> Submission:
    submission = visible(request, key)
    if not permissions.can_steer(request.user, submission):
        raise PermissionDenied("you may not change this submission")
    return submission


# --- pages of single processes ---


@require_safe
def process_detail(request: HttpRequest, key: str, process_id: int) -> HttpResponse:
    """Show a process. Context: that of `_head`, list_query, only_label, question, process (ProcessReport), row (stored
    scores), table, questions, events, mistakes, warnings, sample, samples (their numbers)."""
    submission = scored(request, key)
    sample = _sample(request, submission)
    process = process_of(submission, process_id, sample)
    only, question = _filters(request)
    listed = [row["process_id"] for row in _worst_first(submission, only, question)]
    if process_id not in listed:
        only, question = "", ""
        listed = [row["process_id"] for row in _worst_first(submission, "", "")]
    context = {
        **_head(submission, process_id, listed),
        "list_query": _list_query(only, question),
        "only_label": label(only),
        "question": question,
        "process": process,
        "row": next((row for row in submission.report["processes"] if row["process_id"] == process_id), None),
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


def _head(submission: Submission, process_id: int, listed: Sequence[int]) -> dict[str, Any]:
    """Return the context for the header. `listed`: processes in the order of the list that led to the page."""
    version = submission.version
    return {
        "place": listed.index(process_id) + 1,
        "n_listed": len(listed),
        "submission": submission,
        "version": version,
        "answer_set": version.answer_set,
        "process_id": process_id,
        "neighbours": neighbours(listed, process_id),
        "first": first_sentences(version).get(process_id, ""),
    }


def process_of(submission: Submission, process_id: int, sample: int = 1) -> ProcessReport:
    version = submission.version
    if process_id not in version.process_ids:
        raise Http404("This process does not exist.")
    answers = read_grids(version.answers, "answers")
    predictions = read_grids(submission.samples[sample - 1]["text"], "predictions")
    return evaluate_process(answers[process_id], predictions[process_id], sentences_of(version, process_id))


def _sample(request: HttpRequest, submission: Submission) -> int:
    text = request.GET.get("sample", "1")
    n = int(text) if text.isascii() and text.isdigit() and len(text) < 4 else 0
    if not 1 <= n <= len(submission.samples):
        raise Http404("This sample does not exist.")
    return n


def scored(request: HttpRequest, key: str) -> Submission:
    submission = visible(request, key)
    if not submission.has_scores:
        raise Http404("This submission is not scored yet.")
    return submission
