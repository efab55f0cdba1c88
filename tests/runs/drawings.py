"""A small world of results to draw, and helpers to inspect drawings."""

from __future__ import annotations

from urllib.parse import urlencode

from django.urls import reverse

from gym.jobs.testing import run_pending
from gym.pages.figure_views import KINDS
from gym.people.services import set_visibility, start_comparison
from gym.runs.work import services
from suites.services import set_tags
from tests.agents import site as agents
from tests.factories import make_model, make_revision
from tests.human_data import experiments
from tests.lmchallenge import worlds as lmc
from tests.propara import worlds as propara
from tests.runs.boards import finished_run


def make_world(people):
    """Create two checkpoints of one model, with sizes and perplexities, and their runs on four suites, among
    them `embed` and its counterpart with a modifier; and a scored run. Return the query of each kind of
    figure.
    """
    models = [
        make_model(people.alice, slug=f"m{k}", parameters=10**k * 5000, perplexity=90.0 - 10 * k,
                   tags=["group:ours", f"step:{k}000"])
        for k in (1, 2)
    ]  # fmt: skip
    for name, tag in (("embed", "a"), ("embed_mod", "a"), ("npi", "b"), ("npi_two", "b")):
        revision = make_revision(people.alice, name=name, items=4)
        set_tags(revision.suite, [tag])
        finished_run(revision, models[0], [1, 0, 0, 1])
        finished_run(revision, models[1], [1, 1, 0, 1])
    revision = make_revision(people.alice, name="scored")
    run = services.queue_run(revision, models[0], actor=people.alice)
    run_pending()
    of_run = {"run": run.key, "prediction": "0", "item": "1"}
    queries = {kind: {"of": "m1"} for kind in KINDS} | {
        kind: of_run for kind in KINDS if kind.startswith("run-")
    }
    queries["compare-suites"] = {"model": "m1,m2"}
    queries["compare-items"] = {"model": "m1,m2", "suite": "npi"}
    queries |= {"suite-models": {"suite": "scored", "r": "1"}, **_neighbours(people)}
    return queries | _human_data(people) | {"run": run.key}


def _human_data(people):
    """Create a data set and its comparison with a model."""
    revision = experiments.make_revision(people.alice)
    reader = experiments.finished_run(revision, people.alice)
    data = experiments.import_file(revision, people.alice)
    set_visibility(data, "public", actor=people.alice, confirmed=True)
    comparison = start_comparison(data, [reader], actor=people.alice)
    run_pending()
    compared = {"comparison": comparison.key}
    return {
        "people-means": {"data": data.slug},
        "people-gains": compared,
        "people-effects": compared | {"effect": "0"},
    }


def _neighbours(people):
    """Create a game with a mixture, one with training, submissions of two systems, and a tested agent."""
    corpus = lmc.make_corpus(people.alice, lmc.USERS.replace("u1", "u0").replace("u2", "u0"))
    game = lmc.play(corpus, people.alice, "ic")
    learner = lmc.play(corpus, people.alice, "wp", train=True)
    version = propara.make_version(people.alice)
    submissions = [propara.hand_in(version, people.alice, system=name) for name in ("late", "later")]
    run_pending()
    suite = agents.make_suite(people.alice)
    server = agents.make_server(people.alice)
    for _ in range(2):
        agents.make_run(suite, server)
    return {
        "lmc-search": {"game": game.key},
        "lmc-learning": {"game": learner.key},
        **{kind: {"game": learner.key} for kind in ("lmc-hits", "lmc-ranks")},
        "propara-board": {"set": version.answer_set.slug, "v": "1"},
        "propara-actions": {"submission": submissions[0].key},
        "agent-suite-trend": {"suite": suite.slug},
        "agent-trend": {"suite": suite.slug, "case": str(agents.make_case(suite).pk)},
    }


def address(kind, form, world):
    return f"{reverse('figure', args=[kind, form])}?{urlencode(world[kind])}"
