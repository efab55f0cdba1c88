"""Commands that the benchmark sends to its site, as JSON lines; see tests.process.ask."""

from __future__ import annotations

import hashlib
import json
import sys
import time
from typing import Any

import django
from django.apps import apps

if not apps.ready:
    django.setup()

import numpy as np
from django.db import connections

from benchmarks.engine.shapes import build
from benchmarks.engine.workload import pseudo_words, tokenizer
from gym.demo.loader import demo_user
from gym.jobs import services, states
from gym.jobs.models import Job, WorkerHeartbeat
from gym.runs.models import RunChunk, ScoreCache, SuiteRun
from gym.runs.work import cache
from gym.runs.work.services import queue_run
from lmgym.models.engine import TokenScores
from lmgym.suites.formats import read_suite
from models_registry.actors import inspect
from models_registry.models import RegisteredModel
from suites.models import SuiteRevision
from suites.options import SuiteOptions
from suites.services import freeze, import_suite
from tests.factories import make_model

CONDITIONS = 4
WORDS = 12
OWNERS = 10


def prepare(sentences: int, folder: str) -> int:
    """Create a suite of different sentences, and a model of GPT-2's smallest shape with random weights in `folder`.
    Returns the model's number of parameters.
    """
    for name, number in (("warm", CONDITIONS), ("large", sentences)):
        document = read_suite(json.dumps(suite_of(number, name)).encode(), f"{name}.json")
        revision = freeze(
            import_suite(document, SuiteOptions(visibility="public"), actor=demo_user()), actor=demo_user()
        )
    texts = [" ".join(sentence.contents) for sentence in revision.sentences.all()]
    build("gpt2").save_pretrained(folder)
    tokenizer(texts).save_pretrained(folder)
    config = {"source": "directory", "path": "small", "kernels": "stock"}
    model = make_model(demo_user(), slug="small", backend="causal", config=config)
    RegisteredModel.objects.filter(pk=model.pk).update(**inspect(model))
    model.refresh_from_db()
    assert model.is_ready, model.status_reason
    return int(model.parameters or 0)


def suite_of(sentences: int, name: str = "large") -> dict[str, Any]:
    """Return a suite in which the conditions of an item differ in the last word."""
    draw = np.random.default_rng(0)
    words = pseudo_words(3000, seed=1)
    items = []
    for number in range(sentences // CONDITIONS):
        beginning = " ".join(draw.choice(words, WORDS - 1))
        endings = draw.choice(words, CONDITIONS, replace=False)
        items.append(
            {
                "item_number": number + 1,
                "conditions": [
                    {
                        "condition_name": f"c{place}",
                        "regions": [
                            {"region_number": 1, "content": beginning},
                            {"region_number": 2, "content": str(word)},
                        ],
                    }
                    for place, word in enumerate(endings)
                ],
            }
        )
    return {
        "meta": {"name": name, "metric": "sum"},
        "predictions": [{"type": "formula", "formula": "(2;%c0%) > (2;%c1%)"}],
        "region_meta": {"1": "Beginning", "2": "End"},
        "items": items,
    }


def workers() -> int:
    return WorkerHeartbeat.objects.count()


def with_model() -> int:
    """Count the workers that have loaded the model."""
    held = [row.memory.get("held", []) for row in WorkerHeartbeat.objects.all()]
    return sum(any(loaded["name"] == "small" for loaded in models) for models in held)


def warm_up(runs: int) -> None:
    """Queue short runs so that workers load the model."""
    waiting = [queue("warm") for _ in range(runs)]
    while SuiteRun.objects.filter(pk__in=waiting, completed_at=None).exists():
        time.sleep(0.1)


def queue(suite: str = "large") -> int:
    """Clear the stored scores and queue a run."""
    ScoreCache.objects.all().delete()
    revision = SuiteRevision.objects.get(suite__slug=suite)
    return queue_run(revision, RegisteredModel.objects.get(slug="small"), actor=demo_user()).pk


def state(run: int) -> dict[str, Any]:
    job = SuiteRun.objects.select_related("job").get(pk=run).job
    assert job is not None
    return {"state": job.state, "error": job.error, "done": job.done, "seconds": job.seconds, "log": job.log}


def shares(run: int) -> list[int]:
    """Count the chunks that each worker scored, largest first."""
    chunks: dict[str, int] = {}
    jobs = dict(Job.objects.values_list("pk", "title"))
    for job, attempt in RunChunk.objects.filter(run=run).values_list("taken_by", "taken_attempt"):
        chunks[f"{jobs.get(job)} {job} {attempt}"] = chunks.get(f"{jobs.get(job)} {job} {attempt}", 0) + 1
    return sorted(chunks.values(), reverse=True)


def digest(run: int) -> str:
    """Return a sha256 over the stored bits of all tokens and regions."""
    rows = SuiteRun.objects.get(pk=run).sentence_scores.order_by("sentence__position")
    sha256 = hashlib.sha256()
    for row in rows.values_list("tokens", "regions", "total_bits").iterator():
        sha256.update(json.dumps(row, sort_keys=True).encode())
    return sha256.hexdigest()


def store(sentences: int) -> float:
    """Return the seconds to store scores of `sentences` sentences in this process, 200 per transaction."""
    tokens = [f"word{number}" for number in range(10)]
    offsets = [(6 * number, 6 * number + 5) for number in range(10)]
    bits = [float(number) + 0.123456789 for number in range(10)]
    scores = TokenScores(tokens, list(range(10)), offsets, bits, [False] * 10)
    key = hashlib.sha256(str(time.time_ns()).encode()).hexdigest()
    begun = time.monotonic()
    for start in range(0, sentences, 200):
        cache.write(key, {f"{key} {number}": scores for number in range(start, start + 200)})
    return time.monotonic() - begun


def claim(jobs: int, waiting: int) -> float:
    """Return the seconds to claim a job and end the attempt, with `waiting` jobs of ten accounts queued."""
    from gym.accounts.models import User

    owners = [User.objects.get_or_create(username=f"owner{number}")[0] for number in range(OWNERS)]
    rows = [
        Job(kind="suite_run_help", owner=owners[number % OWNERS], queue="preview")
        for number in range(waiting)
    ]
    Job.objects.bulk_create(rows, batch_size=1000)
    begun = time.monotonic()
    for _ in range(jobs):
        job = states.claim_next("preview", "bench")
        assert job is not None
        states.complete(job.pk, job.attempt)
    seconds = time.monotonic() - begun
    Job.objects.filter(queue="preview").delete()
    return seconds / jobs


def enqueue_seconds(jobs: int) -> float:
    """Return the seconds to queue one job."""
    begun = time.monotonic()
    for _ in range(jobs):
        services.enqueue("suite_run_help", {"run": 0}, queue="preview")
    seconds = time.monotonic() - begun
    Job.objects.filter(queue="preview").delete()
    return seconds / jobs


if __name__ == "__main__":
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        print(json.dumps(globals()[name](*arguments)), flush=True)
        connections.close_all()
