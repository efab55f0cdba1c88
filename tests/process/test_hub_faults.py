"""Kill workers, web processes, downloads, transfers and the broker while models of the Hub are registered and run.

GYM_TEST_ROUNDS=30 runs more rounds than CI does, GYM_TEST_SEED selects other faults.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from benchmarks.chaos.faults import processes
from lmgym.client import Client, transport
from tests.lmgym.models import tiny
from tests.lmgym.models.hub_server import Fault, HubServer, hub_server
from tests.process.site import ROOT, Site

ROUNDS = int(os.environ.get("GYM_TEST_ROUNDS", "3"))
SEED = int(os.environ.get("GYM_TEST_SEED", "1"))
pytestmark = [pytest.mark.process, pytest.mark.long, pytest.mark.timeout(300 + 60 * ROUNDS)]
CHILD = "lmgym.models.backends.smoke_test"
BYTES_PER_SECOND = 30_000
MOST_CHECKS = 8
LOCKED_SECONDS = 1.0
SUITE = "agreement_orc"


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


class HubSite(Site):
    """A site under `manage.py serve` with two workers and a local Hub. Its broker is its own Redis, if that
    is installed."""

    def __init__(self, folder: Path, hub: HubServer) -> None:
        self.hub, self.cache, self.database = hub, folder / "hub", folder / "gym.sqlite3"
        self.redis_port = free_port()
        self.redis = self._start_redis(folder)
        super().__init__(folder, broker=f"redis://127.0.0.1:{self.redis_port}/0" if self.redis else "")
        self.env |= {"HF_ENDPOINT": hub.url, "HF_HUB_CACHE": str(self.cache), "HF_HUB_OFFLINE": "0"}
        self.token = self.ask("prepare_api")["tokens"]["staff"]
        self.port = free_port()
        words = ["serve", "--workers", "2", "--processes", "1", "--port", str(self.port)]
        self.serve = subprocess.Popen(
            [sys.executable, "manage.py", *words], env=self.env, cwd=ROOT, stdout=self.log, stderr=self.log
        )

    def _start_redis(self, folder: Path) -> subprocess.Popen[bytes] | None:
        if (program := shutil.which("redis-server")) is None:
            return None
        words = [program, "--port", str(self.redis_port), "--save", "", "--dir", str(folder)]
        return subprocess.Popen(words, stdout=subprocess.DEVNULL)

    def faults(self, chance: random.Random) -> dict[str, Any]:
        def kill(pids: list[int]) -> None:
            if pids:
                with suppress(ProcessLookupError):
                    os.kill(chance.choice(sorted(pids)), signal.SIGKILL)

        workers = lambda: processes(self.serve.pid, "worker")  # noqa: E731
        return {
            "kill a worker": lambda: kill(workers()),
            "kill a web process": lambda: kill(processes(self.serve.pid, "web")),
            "kill a download": lambda: kill(
                [pid for worker in workers() for pid in processes(worker, CHILD)]
            ),
            "reset transfers": lambda: self.hub.faults.insert(
                0, Fault("/repos/", cut_after=5_000, reset=True, times=3)
            ),
            "lose the broker": self.lose_the_broker,
        }

    def lose_the_broker(self) -> None:
        """Drop all messages and connections of Redis. If the database is the broker, block all writes for a
        second."""
        if self.redis is not None:
            import redis

            with redis.Redis(port=self.redis_port) as server:
                server.flushall()
                server.client_kill_filter(_type="normal", skipme=True)
            return
        with closing(sqlite3.connect(self.database, isolation_level=None, timeout=30)) as other:
            other.execute("BEGIN IMMEDIATE")
            time.sleep(LOCKED_SECONDS)
            other.execute("ROLLBACK")

    def close(self) -> None:
        self.serve.terminate()
        self.serve.wait(timeout=60)
        if self.redis is not None:
            self.redis.terminate()
            self.redis.wait()
        super().close()


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[HubServer]:
    with hub_server() as server:
        yield server


@pytest.fixture
def weights(tmp_path: Path) -> dict[str, bytes]:
    folder, tokenizer = tmp_path / "model", tiny.train("byte-bpe")
    tiny.fast(tokenizer).save_pretrained(folder)
    tiny.gpt2(tokenizer.get_vocab_size()).save_pretrained(folder, max_shard_size="20kB")
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def register_and_run(gym: Client, slug: str) -> str:
    """Register a model, run it, and return the run's key. A check that a fault ended is requested again, as
    its owner would do."""
    config = {"source": "hub", "repo": f"org/{slug}", "kernels": "stock", "device": "cpu"}
    gym.register_model(slug, "causal", config, visibility="public")
    for _ in range(MOST_CHECKS):
        model = gym.wait_for_model(slug, seconds=240)
        if model.status == "ready":
            break
        assert model.raw["status_reason"]
        gym.check_model(slug)
    assert model.status == "ready", model.raw["status_reason"]
    run = gym.start_run(SUITE, slug)
    done = gym.wait(run.id, seconds=240)
    assert done.state == "done", done
    return run.id


def test_faults_lose_no_model_and_no_run_and_double_none(
    tmp_path: Path, hub: HubServer, weights: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "TRIES", 8)  # a web process may need some seconds to come back
    chance = random.Random(SEED)
    (tmp_path / "site").mkdir()
    injected: Counter[str] = Counter()
    with closing(HubSite(tmp_path / "site", hub)) as site:
        gym = Client(f"http://127.0.0.1:{site.port}", site.token)
        slugs = [f"model-{number}" for number in range(ROUNDS + 1)]
        for slug in slugs:
            hub.add(f"org/{slug}", weights)
        keys = {slugs[0]: register_and_run(gym, slugs[0])}  # without faults
        kinds = site.faults(chance)
        hub.fail("/repos/", method="GET", times=10**9, bytes_per_second=BYTES_PER_SECOND)
        for slug in slugs[1:]:
            ended = threading.Event()

            def disturb(ended: threading.Event = ended) -> None:
                for _ in range(3):
                    if ended.wait(chance.uniform(0.5, 6)):
                        return
                    kind = chance.choice(sorted(kinds))
                    kinds[kind]()
                    injected[kind] += 1

            disturbing = threading.Thread(target=disturb)
            disturbing.start()
            try:
                keys[slug] = register_and_run(gym, slug)
            finally:
                ended.set()
                disturbing.join()

        models = [model for model in gym.models() if model.slug in slugs]
        assert sorted(model.slug for model in models) == sorted(slugs)
        assert {model.status for model in models} == {"ready"}
        runs = Counter(run["model"] for run in gym.rows("runs/") if run["model"] in slugs)
        assert runs == dict.fromkeys(slugs, 1)
        expected = gym.results(keys[slugs[0]])["items"]
        for slug in slugs:
            assert gym.results(keys[slug])["items"] == expected, slug
            [snapshot] = (site.cache / f"models--org--{slug}" / "snapshots").iterdir()
            kept = {path.name: path.read_bytes() for path in snapshot.iterdir()}
            assert kept == weights
        assert len(list(site.cache.glob("models--*/lm-gym/*"))) == len(slugs)
        assert list(site.cache.rglob("*.incomplete")) == []
        assert sum(injected.values()) > 0
        print(f"{ROUNDS} rounds, seed {SEED}: {dict(injected)}")
