"""The job that makes the runs of a large file of results: a few at a time, and a later attempt goes on from there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.core.exceptions import ValidationError

from gym.jobs import rights
from gym.jobs.context import JobContext
from gym.jobs.errors import PermanentFailure
from gym.jobs.registry import handler
from gym.runs.core.uploaded import read_results
from gym.runs.models import ResultUpload, UploadInput
from gym.runs.work import uploads
from gym.runs.work.uploads import PlannedRun
from models_registry import permissions as model_permissions
from models_registry.models import RegisteredModel
from suites import permissions as suite_permissions
from suites.models import SuiteRevision
from suites.selectors import document_of

TAKEN_BACK = "The upload was taken back."


@handler(uploads.JOB)
def results_upload(context: JobContext) -> None:
    waiting = UploadInput.objects.select_related("upload__owner").filter(pk=context.payload["upload"]).first()
    if waiting is None or waiting.upload.owner is None:
        raise PermanentFailure(TAKEN_BACK)
    upload, owner = waiting.upload, waiting.upload.owner
    revisions = SuiteRevision.objects.select_related("suite").in_bulk(waiting.revision_ids.values())
    models = RegisteredModel.objects.in_bulk(waiting.model_ids.values())
    if gone := len(set(waiting.revision_ids.values()) - set(revisions)):
        raise PermanentFailure(f"{gone} of the suites were deleted. What was done before is kept.")
    if gone := len(set(waiting.model_ids.values()) - set(models)):
        raise PermanentFailure(f"{gone} of the models were deleted. What was done before is kept.")
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
                raise PermanentFailure(TAKEN_BACK)
            yield

    def tell(more: int) -> None:
        context.progress(len(done) + more, unit="runs")
        context.check()

    tell(0)
    try:
        planned = _left(waiting, revisions, models, done)
        uploads.keep(planned, upload, actor=owner, step=step, tell=tell)
    except ValidationError as error:
        raise PermanentFailure(" ".join(error.messages)) from error
    with context.finish():
        waiting.delete()


def _left(
    waiting: UploadInput,
    revisions: dict[int, SuiteRevision],
    models: dict[int, RegisteredModel],
    done: set[tuple[str, str]],
) -> Iterator[PlannedRun]:
    """The runs of the file that are not made yet."""
    spec = bytes(waiting.spec) if waiting.spec is not None else None
    uploaded = read_results(bytes(waiting.file), spec=spec, kind=waiting.upload.kind, unit=waiting.unit)
    documents = {pk: document_of(revision) for pk, revision in revisions.items()}
    for part in uploaded.parts:
        pk = waiting.revision_ids.get(part.suite)
        if pk is None or part.model not in waiting.model_ids or (part.model, part.suite) in done:
            continue
        run = uploads.planned_run(part, revisions[pk], documents[pk])
        if run.applied is not None:
            run.model = models[waiting.model_ids[part.model]]
            yield run
