"""A suite with finished runs, and a PCIbex results file of simulated readers of it."""

from __future__ import annotations

from functools import cache

import numpy as np
from django.utils import timezone

from gym.accounts.models import User
from gym.jobs.testing import run_pending
from gym.people import services
from gym.people.models import HumanData
from gym.runs.models import SuiteRun
from gym.runs.work.actors import write_result
from lmgym.models.engine import ScoringPolicy
from lmgym.people.predictors import unit_surprisals, units_of
from lmgym.people.simulate import Experiment, pcibex_results, simulate
from suites.models import SuiteRevision
from suites.options import SuiteOptions
from suites.services import freeze, import_suite
from tests.factories import make_model
from tests.lmgym.people import worlds

SLOPE = 12.0
PEOPLE = 12


def make_revision(owner: User, visibility: str = "public") -> SuiteRevision:
    suite = import_suite(worlds.suite(), SuiteOptions(visibility=visibility, language="en"), actor=owner)
    return freeze(suite, actor=owner)


def finished_run(
    revision: SuiteRevision, owner: User, slug: str = "reader", seed: int = 5, visibility: str = "public"
) -> SuiteRun:
    """Make a finished run whose words are tokens; the run with seed 5 is the one that people were simulated with."""
    run = SuiteRun.objects.create(
        revision=revision,
        model=make_model(owner, slug=slug, visibility=visibility),
        owner=owner,
        policy=ScoringPolicy().to_dict(),
        completed_at=timezone.now(),
    )
    write_result(run, worlds.run(worlds.suite(), seed), {}, n_unique=16, coverage=None)
    return run


@cache
def results_file() -> bytes:
    """A PCIbex results file of readers whose times grow by SLOPE ms a bit."""
    document = worlds.suite()
    run = worlds.run(document)
    units = units_of(document, "word", language="")
    bits = unit_surprisals(document, units, run.sentences)
    words = np.split(bits, units.starts[1:-1])
    surprisals = {
        (sentence.item, sentence.condition): values.tolist()
        for sentence, values in zip(document.sentences, words, strict=True)
    }
    experiment = Experiment(n_participants=PEOPLE, slope=SLOPE, sd_noise=30.0, sd_participants=20.0)
    return pcibex_results(simulate(document, surprisals, experiment, seed=1), document).encode()


def import_file(
    revision: SuiteRevision,
    owner: User,
    data: bytes | None = None,
    filename: str = "results.csv",
    **answers: str,
) -> HumanData:
    """Import a file as its page does, and return the data set."""
    row = services.upload(revision, data or results_file(), filename, actor=owner, title="Readers")
    services.answer(row, answers, actor=owner)
    run_pending("short")
    row.refresh_from_db()
    assert row.made is not None, row.reading or row.job.error
    return row.made
