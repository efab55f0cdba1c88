"""Pages of submissions: hand in, generate, agree to repairs, scores, edit, downloads."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from gym.accounts.errors import TooManyJobs
from gym.jobs.errors import WrongState
from gym.jobs.selectors import position_in_queue
from gym.propara.core.errors import ProParaError
from gym.propara.core.grid import ACTIONS
from gym.propara.core.mistakes import CODES as MISTAKE_CODES
from gym.propara.core.mistakes import label
from gym.propara.core.report import EVALUATOR
from gym.propara.core.scoring import QUESTIONS
from gym.propara.core.stored_report import digest
from gym.propara.core.submission_files import KINDS
from gym.propara.core.submission_warnings import CODES as WARNING_CODES
from gym.propara.models import AnswerSetVersion, Submission
from gym.propara.site import exports, generation, permissions, selectors, services
from gym.propara.site.charts import confusion_figure
from gym.propara.site.forms import AboutForm, GenerateForm, SubmitForm
from gym.propara.site.views import form_status, problems_of, version_of
from gym.runs.pages.figures import Figure

STOP_POLLING = 286


@login_required
def submit(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Context: version, answer_set, form, problems, and after “Check only” checked (a digest or None), repairs."""
    version = version_of(request, slug, number)
    form = SubmitForm(request.POST or None, request.FILES or None)
    context: dict[str, Any] = {"version": version, "answer_set": version.answer_set, "form": form}
    status = form_status(request)
    if request.method == "POST" and form.is_valid():
        data, name = form.cleaned_data["file_bytes"], form.cleaned_data["file"].name
        try:
            if "check" in request.POST:
                intake, report = services.preview(version, data, name, actor=request.user)
                found = None if intake.repairs else digest(report, 2_000)
                context |= {
                    "checked": True,
                    "report": found,
                    "repairs": intake.repairs,
                    "questions": QUESTIONS,
                }
                context["warnings"] = _warnings(found, version) if found else []
                status = 200
            else:
                made = services.submit(version, data, name, form.about(), actor=request.user)
                return redirect(made)
        except ProParaError as error:
            context["problems"] = problems_of(error)
        except ValidationError as error:
            form.add_error(None, error)
    return render(request, "propara/submit.html", context, status=status)


@login_required
def generate(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Context: version, answer_set, form."""
    version = version_of(request, slug, number)
    form = GenerateForm(request.POST or None, user=request.user)
    if request.method == "POST" and form.is_valid():
        try:
            model = form.cleaned_data["model"]
            return redirect(generation.queue_generation(version, model, form.about(), actor=request.user))
        except (ValidationError, TooManyJobs) as error:
            form.add_error(None, error if isinstance(error, ValidationError) else str(error))
    context = {"version": version, "answer_set": version.answer_set, "form": form}
    return render(request, "propara/generate.html", context, status=form_status(request))


@require_safe
def submission_detail(request: HttpRequest, key: str) -> HttpResponse:
    """Scores, or what it waits for. See `_scored` for the context of scored ones."""
    submission = visible(request, key)
    if submission.key != key:
        return redirect(submission)
    context = {**_about(request, submission), "repairs": submission.repairs}
    if submission.is_scored:
        context |= _scored(request, submission)
    return render(request, "propara/submission.html", context)


def _about(request: HttpRequest, submission: Submission) -> dict[str, Any]:
    job = submission.job
    waits = job is not None and job.state == "queued"
    return {
        "submission": submission,
        "version": submission.version,
        "answer_set": submission.version.answer_set,
        "may_steer": permissions.can_steer(request.user, submission),
        "kind": KINDS.get(submission.kind, submission.kind),
        "job": job,
        "position": position_in_queue(job) if waits else None,
    }


def _scored(request: HttpRequest, submission: Submission) -> dict[str, Any]:
    """Context: report, rows (worst first, filtered), only, question, mistakes, warnings, confusion, samples."""
    report = submission.report
    only, question = request.GET.get("only", ""), request.GET.get("question", "")
    question = question if question in QUESTIONS else ""
    rows = exports.process_rows(report, question)
    if only:
        rows = [row for row in rows if row["mistakes"].get(only) or (only == "no-score" and row["error"])]
    counts = {
        code: report["mistake_counts"][code] for code in MISTAKE_CODES if code in report["mistake_counts"]
    }
    return {
        "report": report,
        "confusion_figure": confusion_figure(submission),
        "questions": QUESTIONS,
        "actions": ACTIONS,
        "rows": sorted(rows, key=lambda row: (row["f1"] is not None, row["f1"] or 0.0, row["id"])),
        "total": len(report["processes"]),
        "only": only,
        "only_label": label(only),
        "question": question,
        "mistakes": [(code, label(code), MISTAKE_CODES[code], n) for code, n in counts.items()],
        "warnings": _warnings(report, submission.version),
        "recalls": {
            right: row[right] / sum(row.values()) if sum(row.values()) else None
            for right, row in report["confusion"].items()
        },
        "several": exports.samples_summary(submission),
        "outdated": submission.evaluator != EVALUATOR,
        "others": selectors.listed_submissions(request.user)
        .filter(version=submission.version, state=Submission.State.SCORED)
        .exclude(pk=submission.pk)
        .defer(*selectors.HEAVY, "report"),
    }


def actions_chart(request: HttpRequest) -> Figure:
    """Actions of the submission that the address names."""
    submission = visible(request, request.GET.get("submission", "").replace("\0", ""))
    if not submission.is_scored:
        raise Http404("This submission is not scored.")
    return confusion_figure(submission)


def _warnings(
    report: dict[str, Any], version: AnswerSetVersion
) -> list[tuple[str, int, list[tuple[int, bool]]]]:
    """Meaning, how many, and the processes with whether the answers have them; none for one about the whole file."""
    known = set(version.process_ids)
    found = []
    for code, n in report["warning_counts"].items():
        listed = [row["process_id"] for row in report["warnings"] if row["code"] == code]
        where = [(pid, pid in known) for pid in dict.fromkeys(listed) if pid is not None]
        found.append((WARNING_CODES[code], n, where))
    return found


@require_safe
def submission_progress(request: HttpRequest, key: str) -> HttpResponse:
    """The live part of a page; status 286 tells htmx to stop polling."""
    submission = visible(request, key)
    context = _about(request, submission)
    job = submission.job
    final = submission.is_scored or job is None or not job.is_active
    status = STOP_POLLING if final else 200
    response = render(request, "propara/_progress.html", context, status=status)
    if final:
        response["HX-Refresh"] = "true"
    return response


@login_required
@require_POST
def submission_agree(request: HttpRequest, key: str) -> HttpResponse:
    return _act(request, key, services.agree, "Scored as repaired. The file is kept as it came, too.")


@login_required
@require_POST
def submission_cancel(request: HttpRequest, key: str) -> HttpResponse:
    return _act(request, key, generation.cancel_generation, "It stops after the process it is working on.")


@login_required
@require_POST
def submission_retry(request: HttpRequest, key: str) -> HttpResponse:
    return _act(request, key, generation.retry_generation, "It is queued again and goes on where it stopped.")


def _act(request: HttpRequest, key: str, use_case: Any, done: str) -> HttpResponse:
    submission = steered(request, key)
    try:
        use_case(submission, actor=request.user)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    except (WrongState, TooManyJobs) as error:
        messages.error(request, str(error))
    else:
        messages.success(request, done)
    return redirect(submission)


@login_required
def submission_edit(request: HttpRequest, key: str) -> HttpResponse:
    submission = steered(request, key)
    form = AboutForm(request.POST or None, instance=Submission.objects.get(pk=submission.pk))
    if request.method == "POST" and form.is_valid():
        services.edit_submission(submission, form.about(), actor=request.user)
        return redirect(submission)
    context = {**_about(request, submission), "form": form}
    return render(request, "propara/submission_edit.html", context, status=form_status(request))


@login_required
@require_POST
def submission_delete(request: HttpRequest, key: str) -> HttpResponse:
    submission = steered(request, key)
    version = submission.version
    services.delete_submission(submission, actor=request.user)
    messages.success(request, f"{submission.system} is deleted, with its file and scores.")
    return redirect(version)


@require_safe
def submission_download(request: HttpRequest, key: str, form: str) -> HttpResponse:
    """file (as it came), actions.tsv, json, processes.csv, report.txt, metrics.json, diagnostics.txt."""
    submission = visible(request, key)
    response = exports.response_of(submission, form)
    if response is None:
        raise Http404("There is no such download.")
    return response


def visible(request: HttpRequest, key: str) -> Submission:
    return get_object_or_404(selectors.submission_at(request.user, key))


def steered(request: HttpRequest, key: str) -> Submission:
    submission = visible(request, key)
    if not permissions.can_steer(request.user, submission):
        raise PermissionDenied("this belongs to somebody else")
    return submission
