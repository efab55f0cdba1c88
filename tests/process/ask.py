"""Console of a site for tests: reads calls of these functions as JSON lines, and prints their results as
JSON."""

from __future__ import annotations

import json
import os
import sys
import time
import uuid
from collections import Counter
from typing import Any

import django
from django.apps import apps
from django.db import connections

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.process.settings")
if not apps.ready:
    django.setup()

from gym.accounts.models import User
from gym.accounts.tokens import create_token
from gym.agents import services as conversations
from gym.agents.models import AgentRun, AgentSuite
from gym.collections.services import create_collection
from gym.demo.loader import demo_user, load_demo
from gym.jobs.models import Job, WorkerHeartbeat
from gym.jobs.reaper import reap
from gym.jobs.testing import run_pending
from gym.pages.account_deletion import delete_account
from gym.runs.models import RunChunk, ScoreCache, SuiteRun
from gym.runs.read.report import result_of
from gym.runs.work import services
from gym.runs.work.deleted_runs import delete_runs
from gym.runs.work.score_requests import queue_scores
from gym.runs.work.shared_chunks import HELP
from lmgym.models.engine import ScoringPolicy
from lmgym.runs import report
from lmgym.suites.formats import read_suite
from models_registry.actors import inspect
from models_registry.models import RegisteredModel
from suites.models import Suite
from suites.options import SuiteOptions
from suites.selectors import document_of
from suites.services import freeze, import_suite, open_draft, set_visibility
from tests.at_once import together
from tests.factories import make_model, make_suite
from tests.lmchallenge.worlds import make_corpus, play
from tests.process.site import ENDED
from tests.propara.worlds import LIGHT, hand_in, make_version


def prepare(slug: str) -> None:
    """Create the demo suites and models without runs, and check this model. Its kernels are fixed: two sites
    that choose them by timing could choose differently, and the last digits would differ."""
    list(load_demo(queue_runs=False))
    model = RegisteredModel.objects.get(slug=slug)
    if model.backend == "causal":
        model.config["kernels"] = "stock"
        model.save(update_fields=["config"])
    RegisteredModel.objects.filter(pk=model.pk).update(**inspect(model))


def add_program(slug: str) -> None:
    """Create a model that runs an external program; its slug is the name of the command."""
    model = make_model(demo_user(), slug=slug, backend="lmzoo", config={"command": slug, "seconds": 2})
    RegisteredModel.objects.filter(pk=model.pk).update(**inspect(model))


def add_weights(slug: str, file: str) -> None:
    """Create a model from a file in GYM_MODEL_DIR, with fixed kernels (see `prepare`)."""
    config = {"source": "directory", "path": file, "device": "cpu", "kernels": "stock"}
    model = make_model(demo_user(), slug=slug, backend="causal", config=config)
    RegisteredModel.objects.filter(pk=model.pk).update(**inspect(model))


def queue(suite: str, model: str) -> int:
    revision = Suite.objects.get(slug=suite).latest_frozen
    assert revision is not None
    return services.queue_run(revision, RegisteredModel.objects.get(slug=model), actor=demo_user()).pk


def state(run: int) -> dict[str, Any]:
    row = SuiteRun.objects.select_related("job").get(pk=run)
    job = row.job
    assert isinstance(job, Job)
    chunks = RunChunk.objects.filter(run=row)
    return {
        "state": job.state,
        "attempt": job.attempt,
        "error": job.error,
        "chunks": chunks.count(),
        "done": chunks.filter(done=True).count(),
        "has_results": row.completed_at is not None,
    }


def results(run: int) -> dict[str, Any]:
    row = SuiteRun.objects.get(pk=run)
    return report.as_dict(document_of(row.revision), result_of(row), {}) | {
        "sentences": row.sentence_scores.count(),
        "cached": ScoreCache.objects.count(),
    }


LONG = 200
"""Number of sentences. They take a hundred chunks."""


def make_long_suite(name: str) -> None:
    numbers = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
    items = [
        {
            "item_number": number + 1,
            "conditions": [
                {"condition_name": word, "regions": [{"region_number": 1, "content": f"{words} cats {word}"}]}
                for word in ("sleep", "sleeps")
            ],
        }
        for number in range(LONG // 2)
        for words in [f"{numbers[number // 100]} {numbers[number // 10 % 10]} {numbers[number % 10]}"]
    ]
    suite = {
        "meta": {"name": name, "metric": "sum"},
        "predictions": [{"type": "formula", "formula": "(1;%sleeps%) > (1;%sleep%)"}],
        "region_meta": {"1": "Sentence"},
        "items": items,
    }
    document = read_suite(json.dumps(suite).encode(), f"{name}.json")
    freeze(import_suite(document, SuiteOptions(visibility="public"), actor=demo_user()), actor=demo_user())


def at_least_workers(number: int) -> bool:
    """Return whether this many workers have signed in."""
    return WorkerHeartbeat.objects.count() >= number


def pid_of_a_helper_at_work(run: int) -> int | None:
    """Return the process id of a worker that helps with this run and has scored a chunk of it, or None."""
    helping = Job.objects.filter(kind=HELP, state="running", payload__run=run)
    scored = RunChunk.objects.filter(run=run, done=True, taken_by__in=helping.values("pk"))
    names = helping.filter(pk__in=scored.values("taken_by")).values("claimed_by")
    return WorkerHeartbeat.objects.filter(pk__in=names).values_list("pid", flat=True).first()


def who_scored(run: int) -> dict[str, int]:
    """Count the scored chunks by kind of job."""
    chunks = RunChunk.objects.filter(run=run, done=True)
    kinds = dict(Job.objects.filter(pk__in=chunks.values("taken_by")).values_list("pk", "kind"))
    return dict(Counter(kinds[job] for job in chunks.values_list("taken_by", flat=True)))


def unfinished(runs: list[int]) -> list[int]:
    """Return the runs that are queued or running."""
    active = SuiteRun.objects.filter(pk__in=runs, job__state__in=("queued", "running"))
    return list(active.values_list("pk", flat=True))


def running(runs: list[int]) -> list[int]:
    """Return the runs that a worker is running."""
    return list(SuiteRun.objects.filter(pk__in=runs, job__state="running").values_list("pk", flat=True))


def steps(runs: list[int]) -> dict[str, int]:
    """Return the number of scored chunks of each run; ENDED if it has ended."""
    found = {}
    for run in SuiteRun.objects.filter(pk__in=runs).select_related("job"):
        assert run.job is not None
        ended = run.job.state in ("done", "failed", "cancelled")
        found[str(run.pk)] = ENDED if ended else RunChunk.objects.filter(run=run, done=True).count()
    return found


def retry(run: int) -> None:
    services.retry_run(SuiteRun.objects.get(pk=run), actor=demo_user())


def queue_as_guest(suite: str, model: str) -> int:
    """Queue a run of a new account's private model on the account's private suite. Return the run's id."""
    name = f"guest-{uuid.uuid4().hex[:12]}"
    revision = Suite.objects.get(slug=suite).latest_frozen
    assert revision is not None
    guest = User.objects.create_user(name)
    own = import_suite(document_of(revision), SuiteOptions(title=name), actor=guest)
    its_model = RegisteredModel.objects.get(slug=model)
    its_model.pk, its_model.slug, its_model.owner, its_model.visibility = None, name, guest, "private"
    its_model.save()
    return services.queue_run(freeze(own, actor=guest), its_model, actor=guest).pk


def delete_account_of(run: int) -> str:
    """Delete the account that owns a run. Return the job's id."""
    row = SuiteRun.objects.get(pk=run)
    delete_account(row.owner)
    return str(row.job_id)


def delete_run(run: int) -> str:
    """Delete a run as staff may, without cancelling it first. Return the job's id."""
    row = SuiteRun.objects.get(pk=run)
    delete_runs(SuiteRun.objects.filter(pk=run))
    return str(row.job_id)


def active(jobs: list[str]) -> list[str]:
    """Return the jobs that are queued or running."""
    return [str(job.pk) for job in Job.objects.filter(pk__in=jobs) if job.is_active]


def remains(runs: list[int]) -> int:
    """Count the rows that these runs still have."""
    return SuiteRun.objects.filter(pk__in=runs).count() + RunChunk.objects.filter(run__in=runs).count()


def reap_at_once(reapers: int, seconds: float) -> None:
    """Run this many reapers for this many seconds, each with its own connection."""
    until = time.monotonic() + seconds

    def work() -> None:
        while time.monotonic() < until:
            reap()
            time.sleep(0.05)

    assert not together(*[work] * reapers)


def forget_scores() -> None:
    """Clear the stored scores, so that the next run computes them again."""
    ScoreCache.objects.all().delete()


def queue_game(player: str) -> int:
    """Queue a game with training on 40 lines by two users."""
    from gym.lmchallenge import playing
    from gym.lmchallenge.models import Corpus
    from gym.lmchallenge.services import create_corpus
    from lmgym.lmchallenge.play.games import GameOptions

    owner = demo_user()
    rows = [
        {
            "userId": f"u{number // 20}",
            "timestamp": number // 3,
            "text": f"the cat number {number} sat on the mat",
        }
        for number in range(40)
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    corpus = Corpus.objects.first() or create_corpus(text.encode(), actor=owner, title="Cats")
    game_request = playing.GameRequest(player, GameOptions("wp", train=True))
    return playing.start_game(corpus, game_request, actor=owner).pk


def game_state(game: int) -> dict[str, Any]:
    from gym.lmchallenge.models import Game

    row = Game.objects.select_related("job").get(pk=game)
    assert row.job is not None
    return {
        "state": row.job.state,
        "attempt": row.job.attempt,
        "lines": row.lines,
        "problem": row.problem,
    }


def game_log(game: int) -> list[str]:
    from gym.lmchallenge import storage
    from gym.lmchallenge.models import Game

    return [raw.decode() for raw in storage.log_lines(Game.objects.get(pk=game))]


AGENT_CASE = "agent: echo\ninteractions: [{text: hello, response: {text: {keywords: hello}}}]\n"


def prepare_api() -> dict[str, Any]:
    """Create alice with suites (each with a draft and a finished run), two uniform models under slugs that
    the docs use, an agent with tests and a run, a collection, games and ProPara submissions; bob and staff;
    and a token for each user.
    """
    people = {
        name: User.objects.create_user(name, password=name, is_staff=name == "staff")
        for name in ("alice", "bob", "staff")
    }
    model = make_model(people["alice"], slug="demo-gpt2")
    make_model(people["alice"], slug="demo-ngram")
    RegisteredModel.objects.filter(pk=model.pk).update(**inspect(model))
    suites = [
        make_suite(people["alice"], name=name, items=4) for name in ("agreement_orc", "binding", "islands")
    ]
    runs = [services.queue_run(suite.latest_frozen, model, actor=people["alice"]).key for suite in suites]
    run_pending()
    for suite in suites:
        open_draft(suite, actor=people["alice"])
    agent = conversations.register_server(
        actor=people["alice"], name="Echoes", slug="echoes", kind="embedded", visibility="public"
    )
    tests = AgentSuite(slug="manners", title="Manners", visibility="public")
    conversations.save_suite(tests, actor=people["alice"], variables=None)
    conversations.import_cases(tests, {"hello": AGENT_CASE}, actor=people["alice"])
    create_collection(
        actor=people["alice"],
        slug="kept",
        title="Kept",
        description="",
        reference="",
        revisions=[suite.latest_frozen for suite in suites],
    )
    run_pending()
    agent.refresh_from_db()
    agent_run = conversations.queue_run(tests, agent, actor=people["alice"])
    run_pending()
    neighbours = _neighbours(people["alice"])
    tokens = {
        name: create_token(actor=user, name="test", scopes=["read", "write", "run"])[1]
        for name, user in people.items()
    }
    return {
        "tokens": tokens,
        "suites": [suite.slug for suite in suites],
        "model": model.slug,
        "runs": runs,
        "agents": ["echoes", "manners", "kept"],
        "agent_run": agent_run.key,
        "ids": [agent_run.case_runs.get().pk, tests.cases.get().pk],
        **neighbours,
    }


def prepare_tutorials() -> dict[str, Any]:
    """Create the demo without its runs, and a token for alice and the administrator, who can sign in."""
    for _ in load_demo(queue_runs=False):
        pass
    run_pending()
    people = User.objects.filter(username__in=("alice", "admin"))
    scopes = ["read", "write", "run"]
    return {
        "tokens": {one.username: create_token(actor=one, name="test", scopes=scopes)[1] for one in people}
    }


def prepare_schema() -> dict[str, Any]:
    """Call `prepare_api`, and add objects that have been deleted, are not ready, or belong to another
    user."""
    things = prepare_api()
    alice, bob = (User.objects.get(username=name) for name in ("alice", "bob"))
    model = RegisteredModel.objects.get(slug=things["model"])
    suites = {
        name: make_suite(bob, name=name, visibility="private" if name == "secret" else "public")
        for name in ("secret", "hidden", "moved")
    }
    deleted, queued = (
        services.queue_run(Suite.objects.get(slug=slug).latest_frozen, model, actor=owner)
        for slug, owner in (("moved", bob), ("agreement_orc", alice))
    )
    run_pending(limit=1)
    services.delete_run(SuiteRun.objects.get(pk=deleted.pk), actor=bob)
    set_visibility(suites["hidden"], "private", actor=bob)
    suites["moved"].slug = "moved_on"
    suites["moved"].save()
    scores = queue_scores(["The cat sleeps."], model, actor=alice, policy=ScoringPolicy())
    run_pending("preview")
    done = SuiteRun.objects.get(key=things["runs"][0])
    return things | {
        "tokens": things["tokens"] | {"owner": things["tokens"]["alice"]},
        "suites": [*things["suites"], *suites],
        "runs": [*things["runs"], deleted.key, queued.key],
        "scores": [scores.key],
        "jobs": [str(job) for job in (done.job_id, queued.job_id, scores.job_id)],
    }


def _neighbours(owner: User) -> dict[str, Any]:
    """Create a corpus with two games, one of them input correction, and reference answers with two
    submissions."""
    corpus = make_corpus(owner, slug="cats")
    games = [play(corpus, owner), play(corpus, owner, "ic")]
    version = make_version(owner, slug="answers")
    submissions = [hand_in(version, owner), hand_in(version, owner, LIGHT, system="right")]
    return {
        "corpus": corpus.slug,
        "games": [game.key for game in games],
        "answer_set": version.answer_set.slug,
        "submissions": [submission.key for submission in submissions],
    }


def queue_agent_run(url: str, iterations: int, parallel: int) -> int:
    """Queue a run of one case against the agent server at `url`, `parallel` iterations at a time."""
    alice = User.objects.create_user("alice", password="alice")
    server = conversations.register_server(
        actor=alice, name="Slow", slug="slow", kind="server", url=url, visibility="public"
    )
    run_pending()
    server.refresh_from_db()
    suite = AgentSuite(slug="killed", title="Killed")
    conversations.save_suite(suite, actor=alice, variables=None)
    turn = "{text: q, response: {text: {keywords: ok}}}"
    case = f'agent: a, success_ratio: "{iterations}/{iterations}", interactions: [{turn}]'
    conversations.import_cases(suite, {"case": case}, actor=alice)
    return conversations.queue_run(suite, server, actor=alice, parallel=parallel).pk


def agent_state(run: int) -> dict[str, Any]:
    row = AgentRun.objects.select_related("job").get(pk=run)
    case_run = row.case_runs.get()
    assert isinstance(row.job, Job)
    return {
        "state": row.job.state,
        "attempt": row.job.attempt,
        "error": row.job.error,
        "numbers": list(case_run.iterations.order_by("number").values_list("number", flat=True)),
        "outcome": case_run.outcome,
        "made": case_run.n,
        "passed": case_run.passed,
    }


if __name__ == "__main__":
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        print(json.dumps(globals()[name](*arguments)), flush=True)
        connections.close_all()  # the next call opens new connections, as a fault may cut these
