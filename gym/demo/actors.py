"""Jobs for the first start: check the demo models, run each on every demo suite, start the demo games, and download the
trained model."""

from __future__ import annotations

import logging

from django.conf import settings

from gym.demo.loader import demo_models, demo_revisions, demo_user, queue_games
from gym.jobs.context import JobContext
from gym.jobs.handlers import handler
from gym.jobs.services import enqueue
from gym.runs.models import SuiteRun
from gym.runs.work.services import queue_run
from gym.sharing.models import Visibility
from lmgym.models.packaged import PACKAGED, FetchError
from models_registry import packaged
from models_registry.actors import inspect
from models_registry.models import RegisteredModel

logger = logging.getLogger(__name__)

TRAINED = PACKAGED["smollm2"]
TRAINED_KIND = "demo_trained_model"


@handler("demo_runs")
def demo_runs(context: JobContext) -> None:
    """Check the demo models, and queue their runs on the demo suites, the demo games and the download of the trained
    model. Runs and games that exist, finished or not, are not repeated."""
    models = list(demo_models())
    for number, model in enumerate(models):
        context.check()
        if not model.is_ready:
            findings = inspect(model, tick=context.check)
            with context.transaction():
                RegisteredModel.objects.filter(pk=model.pk).update(**findings)
        context.progress(number + 1, len(models), "models")
    with context.finish():
        user = demo_user()
        for revision in demo_revisions():
            for model in demo_models().filter(status=RegisteredModel.Status.READY):
                if not SuiteRun.objects.filter(revision=revision, model=model).exists():
                    queue_run(revision, model, actor=user)
        queue_games(user)
        if settings.GYM_DEMO_TRAINED_MODEL and not RegisteredModel.objects.filter(slug=TRAINED.name).exists():
            enqueue(TRAINED_KIND, {}, owner=user, title=f"Download {TRAINED.title} for the demo")


@handler(TRAINED_KIND)
def demo_trained_model(context: JobContext) -> None:
    """Download the demo's trained model and run it on the demo suites. If the download fails, log one warning: the demo
    works without this model."""
    try:
        packaged.download(TRAINED, context)
    except FetchError as error:
        logger.warning("The demo has no trained model: %s", error)
        context.log(str(error))
        with context.finish():
            return
    with context.finish():
        user = demo_user()
        if not RegisteredModel.objects.filter(slug=TRAINED.name).exists():
            RegisteredModel.objects.create(
                owner=user,
                visibility=Visibility.PUBLIC,
                tags=["demo"],
                **packaged.source(TRAINED),
                **packaged.card(TRAINED),
            )
        enqueue("demo_runs", {}, owner=user, title=f"Run {TRAINED.title} on the demo suites")
