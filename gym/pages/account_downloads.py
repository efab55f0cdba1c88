"""Use cases of the page *Download your data*: a job creates the zip of `account_export`, which is kept for a while for
the account alone."""

from __future__ import annotations

import tempfile
from typing import Any

from django.db import transaction
from django.dispatch import receiver
from django.urls import reverse
from django.utils import timezone

from gym import stored_files
from gym.accounts.models import User
from gym.jobs import rights
from gym.jobs import services as jobs
from gym.jobs.conf import SHORT
from gym.jobs.context import JobContext
from gym.jobs.errors import PermanentFailure
from gym.jobs.handlers import handler
from gym.jobs.models import Batch, Job, State
from gym.jobs.signals import batch_ended
from gym.notices.models import Notice
from gym.notices.services import forget, notify
from gym.pages.account_export import export_account
from gym.pages.models import AccountExport

KIND = "account_export"
ABOUT = "download of data"


def export_of(user: User) -> AccountExport | None:
    """Return the account's zip in any state, or None."""
    return AccountExport.objects.select_related("job", "user").filter(user=user).first()


def request_export(*, actor: User) -> AccountExport:
    """Queue the zip of the actor's data in place of an earlier one, or return the one in progress. Raises
    LimitReached."""
    with transaction.atomic():
        actor.lock()
        current = export_of(actor)
        if current is not None and current.job is not None and current.job.is_active:
            return current
        drop_old()
        AccountExport.objects.filter(user=actor).delete()
        export = AccountExport.objects.create(user=actor)
        export.job = jobs.enqueue(
            KIND,
            {"export": export.pk},
            owner=actor,
            queue=SHORT,
            title="Download of account data",
            batch=jobs.batch_alone(actor),
        )
        export.save(update_fields=["job"])
    return export


def delete_export(*, actor: User) -> None:
    """Delete the actor's zip, and cancel its job."""
    with transaction.atomic():
        actor.lock()
        if (export := export_of(actor)) is not None:
            jobs.stop(export.job, actor=actor)
            export.delete()
            forget(actor, ABOUT)


def drop_old() -> int:
    """Delete zips that have expired. Return how many were deleted."""
    return stored_files.drop_old(AccountExport.objects.all())


@handler(KIND, seconds=4 * 3600)
def make(context: JobContext) -> None:
    """Write the zip to a temporary file, then to the database."""
    export = AccountExport.objects.select_related("user").filter(pk=context.payload["export"]).first()
    if export is None:
        raise PermanentFailure("The download was deleted.")
    rights.require(context, {})
    with tempfile.TemporaryFile() as file:

        def on_file(n_files: int) -> None:
            context.progress(n_files, unit="files")
            stored_files.require_space(file.tell())

        n_files = export_account(export.user, file, on_file=on_file, on_piece=context.check)
        size = stored_files.store(context, export, file)
    with context.finish():
        AccountExport.objects.filter(pk=export.pk).update(
            n_files=n_files, size=size, completed_at=timezone.now()
        )


@receiver(batch_ended, dispatch_uid="notices of downloads of data")
def notify_owner(batch: Batch, jobs: list[Job], **_: Any) -> None:
    for job in jobs:
        if job.kind != KIND or job.state not in (State.DONE, State.FAILED):
            continue
        text = (
            "Your data is ready to download."
            if job.state == State.DONE
            else "Your data could not be exported."
        )
        notify(batch.owner, Notice.Kind.ACCOUNT, text, reverse("account-export"), about=ABOUT)
