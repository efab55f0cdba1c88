"""First start: check the demo models, then queue every demo model on every demo suite."""

from __future__ import annotations

from gym.demo.loader import demo_models, demo_revisions, demo_user, queue_games
from gym.jobs.context import JobContext
from gym.jobs.handlers import handler
from gym.runs.models import SuiteRun
from gym.runs.work.services import queue_run
from models_registry.actors import inspect
from models_registry.models import RegisteredModel


@handler("demo_runs")
def demo_runs(context: JobContext) -> None:
    """Runs that exist already, finished or not, are left alone."""
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
