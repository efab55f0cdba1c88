"""Pages for answer sets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied, ValidationError
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from gym.accounts.requests import SignedInRequest
from gym.downloads import download
from gym.propara import permissions, selectors, services
from gym.propara.board import leaderboard
from gym.propara.charts import board_figure
from gym.propara.forms import AboutSetForm, AnswerFilesForm, PublishedForm, SubmitForm, VersionForm
from gym.propara.models import AnswerSet, AnswerSetVersion, PublishedResult, Submission
from gym.propara.presenters import grid_table
from gym.sharing.forms import note_in
from gym.sharing.permissions import may_read
from gym.sharing.redirects import ask_before_leaving
from gym.sharing.shareable import Shareable
from lmgym.charts.figure import Figure
from lmgym.propara import convert
from lmgym.propara.errors import ProParaError
from lmgym.propara.grid import read_grids, read_sentences
from lmgym.propara.groups import problem_groups
from lmgym.propara.published import SPLITS
from lmgym.propara.report import EVALUATOR
from lmgym.text import count

PER_PAGE = 50
TYPES = {
    "tsv": "text/tab-separated-values",
    "json": "application/json",
    "jsonl": "application/x-ndjson",
}
SHAREABLE = Shareable("propara", "propara-list", "ProPara", selectors.visible_to)


@require_safe
def set_list(request: HttpRequest) -> HttpResponse:
    """List answer sets. Context: page (of AnswerSet with newest, n_submissions, best), first_set (with the most
    submissions), splits, n_outdated (for staff), evaluator (its version)."""
    sets = selectors.with_counts(selectors.listed_for(request.user), request.user)
    page: Any = Paginator(sets, PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "page": page,
        "first_set": max(page, key=lambda row: row.n_submissions or 0, default=None),
        "splits": SPLITS,
        "n_outdated": services.outdated().count() if _is_staff(request) else 0,
        "evaluator": EVALUATOR,
    }
    return render(request, "propara/list.html", context)


@login_required
def set_new(request: SignedInRequest) -> HttpResponse:
    """Create an answer set. Context: about, files (forms), problems."""
    about = AboutSetForm(request.POST or None)
    files = AnswerFilesForm(request.POST or None, request.FILES or None)
    context: dict[str, Any] = {"about": about, "files": files}
    if request.method == "POST" and all([about.is_valid(), files.is_valid()]):
        try:
            made = services.create_answer_set(*files.file_bytes(), actor=request.user, **about.values())
            messages.success(request, f"{made.title} was saved as version 1.")
            return redirect(made)
        except ProParaError as error:
            context["problems"] = grouped_problems(error)
        except ValidationError as error:
            about.add_error(None, error)
    return render(request, "propara/new.html", context, status=400 if request.method == "POST" else 200)


@require_safe
def set_detail(request: HttpRequest, slug: str, number: int = 0) -> HttpResponse:
    """Show a version of an answer set. Context: answer_set, version, versions, board, figure (of the board), sort,
    n_submissions, n_comparable, has_published, waiting (this user's submissions without scores), processes, may_edit,
    may_see_people, may_submit, n_unscored and incompatible (for staff, on the newest version), form, splits."""
    version = version_of(request, slug, number)
    answer_set = version.answer_set
    sort = request.GET.get("sort", "-f1")
    rows = list(_submissions(request, version))
    board = leaderboard(version, rows, sort)
    mine = [row for row in rows if not row.is_scored and row.owner_id == request.user.pk]
    grids = read_grids(version.answers, "answers")
    versions = list(answer_set.versions.defer("answers", "sentences"))
    offers_scoring = _is_staff(request) and len(versions) > 1 and version.number == versions[0].number
    context = {
        "answer_set": answer_set,
        "version": version,
        "versions": versions,
        "board": board,
        "has_published": any(row.published for row in board),
        "n_submissions": sum(row.submission is not None for row in board),
        "figure": board_figure(version, board, sort),
        "n_comparable": sum(row.submission is not None and row.reference is not None for row in board),
        "sort": sort,
        "waiting": mine,
        "processes": _processes(version, grids),
        "may_edit": permissions.can_edit(request.user, answer_set),
        "may_see_people": may_read(request.user, answer_set),
        "may_submit": permissions.can_submit(request.user, answer_set),
        "n_unscored": services.unscored_on(version).count() if offers_scoring else 0,
        "incompatible": services.incompatible(version) if offers_scoring else {},
        "form": SubmitForm(),
        "splits": SPLITS,
    }
    return render(request, "propara/set.html", context)


def board_chart(request: HttpRequest) -> Figure:
    """Draw the leaderboard of the set and version in the query. Raises Http404."""
    number = request.GET.get("v", "0")
    if not number.isdecimal() or len(number) > 9:
        raise Http404("The version must be a number.")
    version = version_of(request, request.GET.get("set", "").replace("\0", ""), int(number))
    sort = request.GET.get("sort", "-f1")
    figure = board_figure(version, leaderboard(version, _submissions(request, version), sort), sort)
    if figure is None:
        raise Http404("No system has a score yet.")
    return figure


def _submissions(request: HttpRequest, version: AnswerSetVersion) -> QuerySet[Submission]:
    return selectors.listed_submissions(request.user).filter(version=version).defer(*selectors.HEAVY)


def _is_staff(request: HttpRequest) -> bool:
    return request.user.is_authenticated and request.user.is_staff


def _processes(version: AnswerSetVersion, grids: Any) -> list[dict[str, Any]]:
    first = first_sentences(version)
    return [
        {
            "id": pid,
            "first": first.get(pid, ""),
            "steps": grid.steps,
            "participants": list(grid.participants),
        }
        for pid, grid in grids.items()
    ]


@require_safe
def set_process(request: HttpRequest, slug: str, number: int, process_id: int) -> HttpResponse:
    """Show the answers about one process. Context: version, answer_set, process_id, table, neighbours, first (its first
    sentence)."""
    version = version_of(request, slug, number)
    grids = read_grids(version.answers, "answers")
    if process_id not in grids:
        raise Http404("This process does not exist.")
    context = {
        "version": version,
        "answer_set": version.answer_set,
        "process_id": process_id,
        "table": grid_table(grids[process_id], sentences_of(version, process_id)),
        "neighbours": neighbours(version.process_ids, process_id),
        "first": first_sentences(version).get(process_id, ""),
    }
    return render(request, "propara/answers.html", context)


@login_required
def set_edit(request: SignedInRequest, slug: str) -> HttpResponse:
    """Edit metadata. Context: answer_set, form, may_manage."""
    answer_set = editable(request, slug)
    may_manage = permissions.can_manage(request.user, answer_set)
    unsaved = AnswerSet.objects.get(pk=answer_set.pk)
    form = AboutSetForm(request.POST or None, instance=unsaved, may_manage=may_manage)
    if request.method == "POST" and form.is_valid():
        if (confirmation := ask_before_leaving(request, answer_set, form)) is not None:
            return confirmation
        try:
            services.edit_answer_set(answer_set, actor=request.user, **form.values())
            return redirect(answer_set)
        except ValidationError as error:
            form.add_error(None, error)
    context = {"answer_set": answer_set, "form": form, "may_manage": may_manage}
    return render(request, "propara/edit.html", context, status=form_status(request))


@login_required
def version_new(request: SignedInRequest, slug: str) -> HttpResponse:
    """Add a version. Context: answer_set, form, problems."""
    answer_set = editable(request, slug)
    form = VersionForm(request.POST or None, request.FILES or None)
    context: dict[str, Any] = {"answer_set": answer_set, "form": form}
    if request.method == "POST" and form.is_valid():
        try:
            note = form.cleaned_data["note"]
            return redirect(
                services.add_version(answer_set, *form.file_bytes(), actor=request.user, note=note)
            )
        except ProParaError as error:
            context["problems"] = grouped_problems(error)
        except ValidationError as error:
            form.add_error(None, error)
    return render(request, "propara/version_new.html", context, status=form_status(request))


@login_required
@require_POST
def score_earlier(request: SignedInRequest, slug: str, number: int) -> HttpResponse:
    """Queue scoring of submissions to other versions on this version."""
    version = _editable_version(request, slug, number)
    job = services.queue_scoring_on(version, actor=request.user)
    done = (
        f"{count(job.total or 0, 'earlier submission')} queued for scoring on v{number}."
        if job
        else "All submissions are already scored on this version."
    )
    messages.success(request, done)
    return redirect(version)


@login_required
def published(request: SignedInRequest, slug: str, number: int, pk: int = 0) -> HttpResponse:
    """Add a published result, or change the result with `pk`. Context: version, answer_set, form, row (or None), rows,
    offers_known."""
    version = _editable_version(request, slug, number)
    row = get_object_or_404(version.published, pk=pk) if pk else None
    unsaved = version.published.get(pk=pk) if pk else PublishedResult(version=version)
    form = PublishedForm(request.POST or None, instance=unsaved)
    if request.method == "POST" and form.is_valid():
        try:
            if row:
                services.edit_published(row, actor=request.user, **form.cleaned_data)
            else:
                services.add_published(version, actor=request.user, **form.cleaned_data)
            return redirect("propara-published", slug, number)
        except ValidationError as error:
            form.add_error(None, ValidationError(error.messages))
    context = {
        "version": version,
        "answer_set": version.answer_set,
        "form": form,
        "row": row,
        "rows": list(version.published.all()),
        "offers_known": services.unlisted_published_results(version),
    }
    return render(request, "propara/published.html", context, status=form_status(request))


@login_required
@require_POST
def published_delete(request: SignedInRequest, slug: str, number: int, pk: int) -> HttpResponse:
    row = get_object_or_404(_editable_version(request, slug, number).published, pk=pk)
    services.delete_published(row, actor=request.user)
    messages.success(request, f"{row.system} is no longer on the leaderboard.")
    return redirect("propara-published", slug, number)


@login_required
@require_POST
def published_known(request: SignedInRequest, slug: str, number: int) -> HttpResponse:
    """Add published results on the official test split."""
    version = _editable_version(request, slug, number)
    try:
        n = services.add_known_published(version, actor=request.user)
        added = f"Added {count(n, 'published result')}." if n else "All known results are already listed."
        messages.success(request, added)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    return redirect("propara-published", slug, number)


def _editable_version(request: HttpRequest, slug: str, number: int) -> AnswerSetVersion:
    version = version_of(request, slug, number)
    if not permissions.can_edit(request.user, version.answer_set):
        raise PermissionDenied("you may not change these reference answers")
    return version


@login_required
@require_POST
def set_delete(request: SignedInRequest, slug: str) -> HttpResponse:
    answer_set = get_object_or_404(selectors.visible_to(request.user), slug=slug)
    try:
        services.delete_answer_set(answer_set, actor=request.user, note=note_in(request.POST))
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
        return redirect(answer_set)
    messages.success(request, f"{answer_set.title} was deleted with its versions and their submissions.")
    return redirect("propara-list")


@login_required
@require_POST
def rescore(request: SignedInRequest) -> HttpResponse:
    job = services.queue_rescore(actor=request.user)
    messages.success(
        request,
        f"{count(job.total or 0, 'submission')} queued for scoring." if job else "All scores are current.",
    )
    return redirect("propara-list")


@require_safe
def set_download(request: HttpRequest, slug: str, number: int, form: str) -> HttpResponse:
    """Download answers.tsv, sentences.tsv, template.tsv, answers.json or prompts.jsonl."""
    return version_file(version_of(request, slug, number), form)


def version_file(version: AnswerSetVersion, form: str) -> HttpResponse:
    """Return a download by name. Raises Http404 for an unknown name, or if the download requires sentences and the
    version has none."""
    content = download_of(version, form)
    if content is None:
        raise Http404("This download does not exist.")
    name = f"{version.answer_set.slug}-v{version.number}-{form}"
    return download(content, name, TYPES[form.rpartition(".")[2]])


def download_of(version: AnswerSetVersion, form: str) -> str | None:
    """Return the text of a download, or None."""
    if form == "answers.tsv":
        return version.answers
    if form == "sentences.tsv":
        return version.sentences or None
    grids = read_grids(version.answers, "answers")
    if form == "template.tsv":
        return convert.template(grids)
    if form == "answers.json":
        return convert.grids_to_json(grids)
    if form == "prompts.jsonl" and version.sentences:
        return convert.prompt_lines(grids, read_sentences(version.sentences, "sentences"))
    return None


# --- shared by several pages ---


def version_of(request: HttpRequest, slug: str, number: int = 0) -> AnswerSetVersion:
    """Return a visible version; the newest without a number. Raises Http404."""
    rows = selectors.versions_for(request.user).filter(answer_set__slug=slug).order_by("-number")
    version = (rows.filter(number=number) if number else rows).first()
    if version is None:
        raise Http404("These reference answers do not exist.")
    return version


def editable(request: HttpRequest, slug: str) -> AnswerSet:
    answer_set = get_object_or_404(selectors.visible_to(request.user), slug=slug)
    if not permissions.can_edit(request.user, answer_set):
        raise PermissionDenied("you may not change these reference answers")
    return answer_set


def sentences_of(version: AnswerSetVersion, process_id: int) -> tuple[str, ...]:
    return read_sentences(version.sentences, "sentences").get(process_id, ()) if version.sentences else ()


def neighbours(listed: Sequence[int], process_id: int) -> tuple[int | None, int | None]:
    """Return the previous and the next process in a list."""
    at = listed.index(process_id)
    return listed[at - 1] if at else None, listed[at + 1] if at + 1 < len(listed) else None


def first_sentences(version: AnswerSetVersion) -> dict[int, str]:
    """Return the first sentence of each process; empty without sentences."""
    texts = read_sentences(version.sentences, "sentences") if version.sentences else {}
    return {pid: sentences[0] for pid, sentences in texts.items() if sentences}


def problems_of(error: ProParaError) -> list[dict[str, Any]]:
    """Return problems for includes/problems.html: message, hint, where."""
    if not error.problems:
        return [{"message": str(error), "hint": "", "where": ""}]
    return [
        {"message": problem.message, "hint": problem.hint, "where": problem.place}
        for problem in error.problems
    ]


def grouped_problems(error: ProParaError) -> list[dict[str, Any]]:
    """Return problems grouped by kind for includes/problems.html."""
    if not error.problems:
        return problems_of(error)
    return [
        {"message": group.message, "hint": group.hint, "where": group.place}
        for group in problem_groups(error.problems)
    ]


def form_status(request: HttpRequest) -> int:
    return 400 if request.method == "POST" else 200
