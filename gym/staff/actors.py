"""Work that staff asks for: the doctor's checks on a worker's machine, and tidying up."""

from __future__ import annotations

from gym.jobs.context import JobContext
from gym.jobs.registry import handler
from gym.runs.work.cache_budget import drop_spent_chunks, trim

DOCTOR, TIDY, CLEAN = "doctor", "tidy_storage", "clean_up"


@handler(DOCTOR)
def doctor(context: JobContext) -> None:
    """The checks of `manage.py doctor`, where the models run. What they find is the job's log."""
    from gym.doctor import findings

    for level, text in findings():
        context.log(f"{level.strip()}: {text}")


@handler(TIDY)
def tidy_storage(context: JobContext) -> None:
    """Bring the score cache back to its budget and drop the plans of finished runs."""

    def tell(done: int, total: int) -> None:
        context.check()
        context.progress(done, total, "sentences")

    trimmed = trim(tell=tell)
    chunks = drop_spent_chunks()
    context.log(
        f"{trimmed.removed} scored sentences taken away, {trimmed.left} left; {chunks} plans of finished runs dropped."
    )


@handler(CLEAN)
def clean_up(context: JobContext) -> None:
    """Delete old jobs and runs, as the payload says."""
    from gym.staff.cleaning import clean_up

    clean_up(context)
