"""Use cases for uploaded results: match a file with suites, preview, save, delete."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any

from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction

from gym.accounts.models import AnyUser, User
from gym.jobs import rights
from gym.jobs import services as jobs
from gym.jobs.conf import SHORT
from gym.jobs.context import JobContext
from gym.jobs.errors import PermanentFailure
from gym.jobs.handlers import handler
from gym.runs.models import ResultUpload, SuiteRun, UploadInput
from gym.runs.quotas import RUNS
from gym.runs.work.actors import write_result
from gym.runs.work.deleted_runs import delete_runs
from gym.runs.work.upload_plan import (
    Plan,
    PlannedRun,
    ResultFile,
    notices_of,
    plan_upload,
    planned_run,
    report_of,
    require_target,
    warnings_of,
)
from gym.sharing.models import Visibility
from lmgym import __version__
from lmgym.runs.coverage import coverage_of
from lmgym.runs.uploaded import read_results
from lmgym.suites.formulas import ABSOLUTE_TOLERANCE, RELATIVE_TOLERANCE, ROUNDING_BITS
from lmgym.text import count
from models_registry import permissions as model_permissions
from models_registry.models import UPLOADED, RegisteredModel
from models_registry.names import GROUP
from models_registry.services import edit_card, register_uploaded_model
from suites import permissions as suite_permissions
from suites.models import SuiteRevision
from suites.selectors import document_of

__all__ = [
    "ModelChoice",
    "Plan",
    "PlannedRun",
    "ResultFile",
    "check_choice",
    "delete_upload",
    "may_see",
    "notices_of",
    "plan_upload",
    "planned_run",
    "report_of",
    "retry_upload",
    "save_in_steps",
    "save_runs",
    "save_upload",
    "upload_result",
    "warnings_of",
]
JOB = "results_upload"
"""Kind of job that creates the runs of a large file, a few at a time; a later attempt resumes."""
AT_ONCE = 300
"""Largest number of runs saved within a request; larger files become a job."""
STEP = 20
"""Number of runs saved per transaction; small because on SQLite no other process can write during a
transaction."""


@dataclass(frozen=True)
class ModelChoice:
    """Model for the results: an existing model, or new models, named as in the file by default.

    `group`: name of the model of which they are seeds; `perplexity`: reported perplexity. Both are written to the cards
    of all these models.
    """

    model: RegisteredModel | None = None
    name: str = ""
    slug: str = ""
    visibility: str = Visibility.PRIVATE
    group: str = ""
    perplexity: float | None = None


def save_upload(plan: Plan, choice: ModelChoice, *, actor: User) -> ResultUpload:
    """Save a plan: one run per model and suite, and the upload they belong to, in one transaction. For more than
    AT_ONCE runs, save only the upload, and queue a job that creates the runs. Raises ValidationError (also as
    OverQuota), PermissionDenied and LimitReached."""
    with transaction.atomic():
        upload = _begin(plan, choice, actor=actor)
        if len(plan.good) > AT_ONCE:
            _queue(upload, plan, actor=actor)
        else:
            save_runs(plan.good, upload, actor=actor)
    return upload


def save_in_steps(
    plan: Plan, choice: ModelChoice, *, actor: User, progress: Callable[[int], None] = lambda done: None
) -> ResultUpload:
    """Save a plan in several transactions, for callers that can wait. If that fails or is interrupted, the upload
    and its runs are deleted. `progress(done)` is called after each step."""
    with transaction.atomic():
        upload = _begin(plan, choice, actor=actor)
    try:
        save_runs(plan.good, upload, actor=actor, progress=progress)
    except BaseException:
        delete_upload(upload, actor=actor)
        raise
    return upload


def _begin(plan: Plan, choice: ModelChoice, *, actor: User) -> ResultUpload:
    """Create the upload and its runs' models."""
    for run in plan.good:
        require_target(run.revision, actor)
    RUNS.require_quota(actor, len(plan.good))
    check_choice(plan, choice, actor=actor)
    models = _models(plan.models, choice, actor)
    for run in plan.good:
        run.model = models[run.part.model]
    return ResultUpload.objects.create(
        owner=actor,
        kind=plan.uploaded.kind,
        files=[file.facts() for file in plan.files],
        report=report_of(plan),
    )


def _queue(upload: ResultUpload, plan: Plan, *, actor: User) -> None:
    """Queue a job that creates the runs, on the revisions and for the models that were matched."""
    file, *spec = plan.files
    UploadInput.objects.create(
        upload=upload,
        file=file.data,
        spec=spec[0].data if spec else None,
        unit=plan.unit,
        revision_ids={run.part.suite: run.revision.pk for run in plan.good},
        model_ids={run.part.model: run.model.pk for run in plan.good if run.model},
    )
    upload.job = jobs.enqueue(
        JOB,
        {"upload": upload.pk},
        owner=actor,
        queue=SHORT,
        title=f"Upload {file.name}"[:200],
        total=len(plan.good),
    )
    upload.save(update_fields=["job"])


def save_runs(
    planned: Iterable[PlannedRun],
    upload: ResultUpload,
    *,
    actor: User,
    step: Callable[[], AbstractContextManager[Any]] = transaction.atomic,
    progress: Callable[[int], None] = lambda done: None,
) -> None:
    """Create the planned runs, at most STEP in each `step`. `progress(done)` is called after each step,
    without locks held."""
    rows, done = iter(planned), 0
    while batch := list(islice(rows, STEP)):
        with step():
            RUNS.require_quota(actor, len(batch))
            for run in batch:
                upload_result(run, upload, actor=actor)
        done += len(batch)
        progress(done)


def upload_result(planned: PlannedRun, upload: ResultUpload, *, actor: User) -> SuiteRun:
    """Create one finished run, marked as uploaded. Call inside a transaction."""
    applied, model = planned.applied, planned.model
    assert applied is not None
    assert model is not None
    revision = planned.revision
    policy = {"metric": applied.metric, "eos": applied.end_scored} if applied.metric else {}
    run = SuiteRun.objects.create(
        revision=revision,
        model=model,
        owner=actor,
        source=SuiteRun.Source.UPLOADED,
        upload=upload,
        policy=policy,
        n_sentences=revision.sentences.count(),
    )
    facts = {
        "suite_sha256": revision.sha256,
        "source": "uploaded",
        "kind": planned.part.kind,
        "files": upload.files,
        "model_in_file": planned.part.model,
        "suite_in_file": planned.part.suite,
        "missing": list(applied.missing),
        "notices": notices_of(planned, upload.report),
        "warnings": warnings_of(planned, upload.report),
        "item_shift": applied.shift,
        "gym": __version__,
        "equality_tolerance": {"absolute_bits": ABSOLUTE_TOLERANCE, "relative": RELATIVE_TOLERANCE},
        "formula_reading": "import",
        "rounding_bits": ROUNDING_BITS,
    }
    texts = {row.text for row in applied.result.sentences}
    coverage = coverage_of((row.text, row.tokens) for row in applied.result.sentences)
    facts["spelling"] = coverage.spelling.as_json() if coverage else None
    write_result(run, applied.result, facts, n_unique=len(texts), coverage=coverage)
    run.refresh_from_db()
    return run


def check_choice(plan: Plan, choice: ModelChoice, *, actor: User) -> None:
    """Raise ValidationError or PermissionDenied if the chosen model does not suit the plan's results."""
    names = plan.models
    if choice.model is not None:
        if not model_permissions.can_upload_to(actor, choice.model):
            raise PermissionDenied(
                "results can only be uploaded for models that are not hosted here and that you may edit"
            )
        if len(names) > 1:
            shown = ", ".join(names[:8])
            raise ValidationError(f"The file has {len(names)} models ({shown}). Upload them as new models.")
        return
    if choice.name and len(names) > 1:
        raise ValidationError(
            f"The file has {len(names)} models. Leave the name empty to use the names in the file."
        )
    others = [_known(name, choice, actor) for name in names if choice.name or name.strip()]
    wrong = [row for row in others if row is not None and row.visibility != choice.visibility]
    if wrong:
        shown = ", ".join(f"“{row.name}” ({row.get_visibility_display()})" for row in wrong[:8])
        raise ValidationError(
            {
                "visibility": [
                    f"These results would join a model of yours with a different visibility: {shown}. "
                    "Choose the same visibility, choose that model, or enter a new name."
                ]
            }
        )


def _models(names: Sequence[str], choice: ModelChoice, actor: User) -> dict[str, RegisteredModel]:
    if choice.model is not None:
        models = dict.fromkeys(names, choice.model)
    else:
        models = {name: _known(name, choice, actor) or _new_model(name, choice, actor) for name in names}
    for model in models.values():
        edit_card(model, actor=actor, **_card(model, choice))
    return models


def _card(model: RegisteredModel, choice: ModelChoice) -> dict[str, Any]:
    """Return changes to the model's card: its new group tag and perplexity, if chosen."""
    changes: dict[str, Any] = {}
    if choice.group:
        others = [tag for tag in model.tags if not str(tag).startswith(GROUP)]
        changes["tags"] = [*others, f"{GROUP}{choice.group}"]
    if choice.perplexity is not None:
        changes["perplexity"] = choice.perplexity
    return changes


def _model_name(name: str, choice: ModelChoice) -> str:
    name = " ".join((choice.name or name).split())[:200]
    if not name:
        raise ValidationError("The file does not name a model. Enter a name.")
    return name


def _known(name: str, choice: ModelChoice, actor: User) -> RegisteredModel | None:
    """Return the actor's uploaded model with this name (and slug, if one is chosen), or None."""
    mine = RegisteredModel.objects.filter(owner=actor, backend=UPLOADED, name=_model_name(name, choice))
    known = mine.order_by("pk").first()
    return None if known is not None and choice.slug and choice.slug != known.slug else known


def _new_model(name: str, choice: ModelChoice, actor: User) -> RegisteredModel:
    return register_uploaded_model(
        actor=actor,
        name=_model_name(name, choice),
        slug=choice.slug,
        visibility=choice.visibility,
        tags=["uploaded"],
    )


def may_see(user: AnyUser, upload: ResultUpload) -> bool:
    """Return whether the user may see the upload: only the uploader and staff, because reports name private suites."""
    return bool(user.is_authenticated and (user.is_staff or upload.owner_id == user.pk))


def retry_upload(upload: ResultUpload, *, actor: User) -> None:
    """Resume an upload whose job failed or was cancelled. Saved runs are kept. Raises WrongState, LimitReached,
    PermissionDenied, and ValidationError without a job."""
    if not may_see(actor, upload):
        raise PermissionDenied("these results belong to someone else")
    if upload.job is None:
        raise ValidationError("All runs of this file have been created.")
    jobs.retry(upload.job, actor=actor)


def delete_upload(upload: ResultUpload, *, actor: User) -> int:
    """Stop an upload's job, and delete the upload with its runs; the models are kept. Returns the number of runs.
    Raises PermissionDenied, and InUse if a published collection shows one of them."""
    if not may_see(actor, upload):
        raise PermissionDenied("these results belong to someone else")
    with transaction.atomic():
        jobs.stop(upload.job, actor=actor)
        runs = upload.runs.filter(source=SuiteRun.Source.UPLOADED)
        n = runs.count()
        delete_runs(runs)
        upload.delete()
    return n


UPLOAD_DELETED = "The upload was deleted."


def _gone(number: int, noun: str) -> str:
    exist = "exists" if number == 1 else "exist"
    return f"{count(number, noun)} of this file no longer {exist}. Finished runs are kept."


@handler(JOB)
def results_upload(context: JobContext) -> None:
    waiting = UploadInput.objects.select_related("upload__owner").filter(pk=context.payload["upload"]).first()
    if waiting is None or waiting.upload.owner is None:
        raise PermanentFailure(UPLOAD_DELETED)
    upload, owner = waiting.upload, waiting.upload.owner
    revisions = SuiteRevision.objects.select_related("suite").in_bulk(waiting.revision_ids.values())
    models = RegisteredModel.objects.in_bulk(waiting.model_ids.values())
    if gone := len(set(waiting.revision_ids.values()) - set(revisions)):
        raise PermanentFailure(_gone(gone, "suite"))
    if gone := len(set(waiting.model_ids.values()) - set(models)):
        raise PermanentFailure(_gone(gone, "model"))
    rights.require(
        context,
        {
            f"the suite {row.suite.slug}": lambda person, suite=row.suite: suite_permissions.can_run(
                person, suite
            )
            for row in revisions.values()
        }
        | {
            f"the model {row.slug}": lambda person, model=row: model_permissions.can_upload_to(person, model)
            for row in models.values()
        },
    )
    names = upload.runs.values_list("provenance__model_in_file", "provenance__suite_in_file")
    done = set(names)

    @contextmanager
    def step() -> Iterator[None]:
        with context.transaction(brings_forward=True):
            if not ResultUpload.objects.select_for_update().filter(pk=upload.pk).exists():
                raise PermanentFailure(UPLOAD_DELETED)
            yield

    def progress(more: int) -> None:
        context.progress(len(done) + more, unit="runs")
        context.check()

    progress(0)
    try:
        planned = _remaining_runs(waiting, revisions, models, done)
        save_runs(planned, upload, actor=owner, step=step, progress=progress)
    except ValidationError as error:
        raise PermanentFailure(" ".join(error.messages)) from error
    with context.finish():
        waiting.delete()


def _remaining_runs(
    waiting: UploadInput,
    revisions: dict[int, SuiteRevision],
    models: dict[int, RegisteredModel],
    done: set[tuple[str, str]],
) -> Iterator[PlannedRun]:
    """Yield the runs of the file that are still to be created."""
    spec = bytes(waiting.spec) if waiting.spec is not None else None
    uploaded = read_results(bytes(waiting.file), spec=spec, kind=waiting.upload.kind, unit=waiting.unit)
    documents = {pk: document_of(revision) for pk, revision in revisions.items()}
    for part in uploaded.parts:
        pk = waiting.revision_ids.get(part.suite)
        if pk is None or part.model not in waiting.model_ids or (part.model, part.suite) in done:
            continue
        run = planned_run(part, revisions[pk], documents[pk])
        if run.applied is not None:
            run.model = models[waiting.model_ids[part.model]]
            yield run
