"""Simulated readers of a demo suite, whose times grow by a known number of ms per bit of a demo model, and the
comparison that recovers it."""

from __future__ import annotations

from typing import Any

import numpy as np
from django.dispatch import receiver

from gym.demo.catalogue import LICENCE
from gym.demo.loader import demo_models, demo_user
from gym.jobs.context import JobContext
from gym.jobs.handlers import handler
from gym.jobs.services import enqueue
from gym.people import services
from gym.people.models import HumanData
from gym.runs.models import SuiteRun
from gym.runs.read.selectors import newest_done
from gym.runs.signals import results_written
from gym.sharing.models import Visibility
from lmgym.people.predictors import unit_surprisals, units_of
from lmgym.people.simulate import Experiment, simulate
from suites.selectors import document_of

KIND = "demo_people"
SUITE = "garden_path_npz"
READER = "demo-gpt2"
EXPERIMENT = Experiment(n_participants=40, slope=12.0, spill_over=(4.0,))
SEED = 44
TITLE = f"Simulated reading times (slope {EXPERIMENT.slope:g} ms per bit)"
DESCRIPTION = (
    f"Made up by a program, not measured: {EXPERIMENT.n_participants} readers whose time for a word grows by "
    f"{EXPERIMENT.slope:g} ms with each bit of its surprisal in Demo GPT-2, and by {EXPERIMENT.spill_over[0]:g} "
    "ms with each bit of the word before it, with noise, fast and slow readers, and easy and hard items. The "
    "comparison with models recovers these slopes within their intervals."
)


@receiver(results_written, dispatch_uid="gym.demo.people")
def _queue(run: SuiteRun, **kwargs: Any) -> None:
    """Queue the simulation after each result of a demo model on SUITE; the last one carries it out."""
    suite = run.revision.suite
    if suite.slug == SUITE and suite.owner == demo_user() and not _exists():
        enqueue(KIND, {"revision": run.revision_id}, owner=suite.owner, title="Simulate readers for the demo")


@handler(KIND)
def demo_people(context: JobContext) -> None:
    """Create the simulated data set and queue its comparison, once all ready demo models have run on SUITE."""
    runs = SuiteRun.objects.filter(
        revision=context.payload["revision"], model__in=demo_models().filter(status="ready")
    )
    done = list(newest_done(runs).select_related("model", "revision__suite").order_by("pk"))
    reader = next((run for run in done if run.model.slug == READER), None)
    if reader is None or _exists() or runs.filter(completed_at=None).exists():
        with context.finish():
            return
    data, columns = _simulated(reader)
    with context.finish():
        if not _exists():
            services.save(data, columns)
            services.start_comparison(data, done, actor=data.owner)


def _exists() -> bool:
    return HumanData.objects.filter(title=TITLE, owner=demo_user()).exists()


def _simulated(run: SuiteRun) -> tuple[HumanData, bytes]:
    document = document_of(run.revision)
    units = units_of(document, "word", language="")
    sentences = [row.result() for row in run.sentence_scores.select_related("sentence")]
    bits = np.split(unit_surprisals(document, units, sentences), units.starts[1:-1])
    surprisals = {
        (sentence.item, sentence.condition): values.tolist()
        for sentence, values in zip(document.sentences, bits, strict=True)
    }
    observations = simulate(document, surprisals, EXPERIMENT, seed=SEED)
    accuracy = np.full(len(observations.participants), np.nan)
    data, columns = services.new_data_set(run.revision, demo_user(), TITLE, observations, accuracy)
    data.visibility, data.licence, data.description = Visibility.PUBLIC, LICENCE, DESCRIPTION
    data.is_simulated = True
    return data, columns
