"""Jobs for human data: read and import a file, recompute a result with other exclusions, compare models with people."""

from __future__ import annotations

from dataclasses import asdict

from django.core.exceptions import ValidationError
from django.utils import timezone

from gym.jobs import rights
from gym.jobs.context import JobContext
from gym.jobs.errors import PermanentFailure
from gym.jobs.handlers import handler
from gym.people import comparing, reading, services
from gym.people.models import HumanData, HumanDataImport, PeopleComparison
from gym.people.permissions import can_edit
from gym.people.results import exclusions_of
from gym.people.selectors import visible_to
from gym.runs.permissions import can_view as can_view_run
from lmgym.text.problems import InvalidArgument
from suites import permissions as suite_permissions

STEPS = 3


@handler(services.IMPORT, seconds=1800)
def human_data_import(context: JobContext) -> None:
    """Read a file. With `is_final` and without open questions, save the data set in the last transaction, so that
    nothing is half imported."""
    rows = HumanDataImport.objects.select_related("revision__suite", "owner")
    row = rows.filter(pk=context.payload["import"]).first()
    if row is None:
        raise PermanentFailure("The uploaded file was deleted.")
    suite = row.revision.suite
    rights.require(context, {"the suite": lambda person: suite_permissions.can_run(person, suite)})
    context.progress(0, STEPS, "steps")
    imported = reading.parse(row, row.answers)
    context.check()
    context.progress(1, STEPS, "steps")
    if not context.payload["is_final"] or imported.asks or imported.problems or not imported.matched:
        row.reading = reading.reading_of(imported)
        with context.finish():
            row.save(update_fields=["reading"])
        return
    data, columns = services.prepare(row, imported)
    context.check()
    context.progress(2, STEPS, "steps")
    try:
        with context.finish():
            row.pieces.all().delete()  # first, because the quota counts the file as well as the data set
            row.size, row.salt, row.reading = 0, b"", {}
            row.save(update_fields=["size", "salt", "reading"])
            row.made = services.save(data, columns)
            row.save(update_fields=["made"])
    except ValidationError as error:  # the quota
        raise PermanentFailure(" ".join(error.messages)) from error


@handler(services.RECOMPUTE, seconds=1800)
def human_data_result(context: JobContext) -> None:
    """Recompute the result of a data set with other exclusions."""
    data = HumanData.objects.select_related("revision__suite").filter(pk=context.payload["data"]).first()
    if data is None:
        raise PermanentFailure("The data were deleted.")
    rights.require(context, {"these data": lambda person: can_edit(person, data)})
    exclusions = exclusions_of(context.payload["exclusions"])
    try:
        result = services.recomputed(data, exclusions)
    except ValueError as error:
        message = str(error)
        raise PermanentFailure(f"{message[:1].upper()}{message[1:]}.") from error
    data.exclusions, data.result = asdict(exclusions), result
    with context.finish():
        data.save(update_fields=["exclusions", "result", "updated"])


@handler(services.COMPARE, seconds=4 * 3600)
def people_comparison(context: JobContext) -> None:
    """Fit the models of a comparison, and store its tables."""
    rows = PeopleComparison.objects.select_related("human_data__revision__suite")
    comparison = rows.filter(pk=context.payload["comparison"]).first()
    if comparison is None:
        raise PermanentFailure("The comparison was deleted.")
    data = comparison.human_data
    runs = list(comparison.runs.select_related("model", "revision__suite").order_by("model__name", "pk"))
    if len(runs) != comparison.n_runs:
        raise PermanentFailure("A run of this comparison was deleted. Start it again without it.")
    rights.require(
        context,
        {"these data": lambda person: visible_to(person).filter(pk=data.pk).exists()}
        | {f"the model {run.model.slug}": lambda person, run=run: can_view_run(person, run) for run in runs},
    )

    def progress(done: int, total: int) -> None:
        context.check()
        context.progress(done, total, "steps")

    progress(0, comparing.STEPS * len(runs))
    try:
        result = comparing.compare(data, comparison.exclusions, runs, comparison.options, progress)
    except (InvalidArgument, ValueError) as error:
        raise PermanentFailure(str(error)) from error
    comparison.result, comparison.completed_at = result, timezone.now()
    with context.finish():
        comparison.save(update_fields=["result", "completed_at"])
