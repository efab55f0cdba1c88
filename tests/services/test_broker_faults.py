"""Redis or RabbitMQ fails in the middle of 40 jobs: no worker idles beside a job, and none is lost or run twice."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.jobs.lab.bench import PATIENCE, Lab
from tests.jobs.lab.values import expected_chunks
from tests.services.conftest import BROKERS, missing, need

pytestmark = [pytest.mark.service, pytest.mark.process, pytest.mark.long]
JOBS, WORKERS = 40, 3
IDLE_SECONDS = 5.0
"""How long a worker may idle beside a job that it could run."""


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


class RedisServer:
    """A Redis server of the test's own, which can be killed and started again."""

    def __init__(self, folder: Path) -> None:
        if shutil.which("redis-server") is None:
            missing("redis-server is not installed")
        self.folder = folder
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.start()

    def start(self) -> None:
        command = [
            "redis-server",
            "--bind",
            "127.0.0.1",
            "--port",
            str(self.port),
            "--save",
            "",
            "--dir",
            ".",
        ]
        self.process = subprocess.Popen(command, cwd=self.folder, stdout=subprocess.DEVNULL)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def call(self, *words: str) -> None:
        import redis

        with redis.Redis.from_url(self.url, socket_timeout=5) as client:
            client.execute_command(*words)


class RabbitServer:
    """A RabbitMQ node of the test's own, with its own name daemon, which can be killed and started again."""

    PROGRAM = Path(
        "/usr/lib/rabbitmq/bin/rabbitmq-server"
    )  # without Debian's wrapper, which changes the user

    def __init__(self, folder: Path) -> None:
        if not self.PROGRAM.exists():
            missing("rabbitmq-server is not installed")
        self.port, names = free_port(), free_port()
        self.url = f"amqp://guest:guest@127.0.0.1:{self.port}/%2F"
        (folder / "env.conf").touch()
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),  # of the Erlang cookie
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "ERL_EPMD_PORT": str(names),
            "RABBITMQ_CONF_ENV_FILE": str(folder / "env.conf"),
            "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq"),
            "RABBITMQ_DIST_PORT": str(free_port()),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
            "RABBITMQ_LOG_BASE": str(folder),
            "RABBITMQ_MNESIA_BASE": str(folder),
            "RABBITMQ_NODENAME": f"gym{self.port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self.port),
        }
        self.names = subprocess.Popen(["epmd", "-port", str(names), "-address", "127.0.0.1"])
        self.start()
        self.wait()

    def start(self) -> None:
        self.process = subprocess.Popen(
            [str(self.PROGRAM)], env=self.env, stdout=subprocess.DEVNULL, start_new_session=True
        )

    def wait(self) -> None:
        end = time.monotonic() + 60 * PATIENCE
        while True:
            with suppress(OSError):
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            assert time.monotonic() < end, "RabbitMQ does not start"
            time.sleep(0.2)

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def close(self) -> None:
        self.kill()
        self.names.kill()
        self.names.wait()


class Proxy:
    """A TCP proxy before a server. While it is cut, connections are closed and refused."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.target = (parts.hostname, parts.port)
        self.server = socket.create_server(("127.0.0.1", 0))
        self.url = url.replace(f"{parts.hostname}:{parts.port}", f"127.0.0.1:{self.server.getsockname()[1]}")
        self.is_cut = False
        self.sockets: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self.server.accept()
                if self.is_cut:
                    client.close()
                    continue
                other = socket.create_connection(self.target)
                self.sockets += [client, other]
                for source, sink in ((client, other), (other, client)):
                    threading.Thread(target=self._copy, args=(source, sink), daemon=True).start()

    @staticmethod
    def _copy(source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
        with suppress(OSError):
            sink.shutdown(socket.SHUT_RDWR)

    def cut(self) -> None:
        self.is_cut = True
        for one in self.sockets:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        self.sockets.clear()

    def close(self) -> None:
        self.cut()
        self.server.close()


@pytest.fixture
def redis_server(tmp_path) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path)
    yield server
    server.kill()


@pytest.fixture
def rabbit_server(tmp_path) -> Iterator[RabbitServer]:
    folder = tmp_path / "rabbit"
    folder.mkdir()
    server = RabbitServer(folder)
    yield server
    server.close()


@pytest.fixture
def rabbit() -> Iterator[Proxy]:
    need(BROKERS["rabbitmq"])
    proxy = Proxy(BROKERS["rabbitmq"])
    yield proxy
    proxy.close()


def work_through(lab: Lab, faults: list) -> None:
    """Run the jobs, with a fault after each quarter of them. Half of the jobs are queued between faults."""
    queue = [lab.enqueue("lab.chunks", {"n": 3, "seconds": 0.1}) for _ in range(JOBS // 2)]
    for _ in range(WORKERS):
        lab.worker()
    idle_since: float | None = None
    longest = 0.0
    end = time.monotonic() + 60 * PATIENCE
    pending = list(faults)
    while (states := lab.ask("states")).get("done", 0) < len(queue) or len(queue) < JOBS:
        assert time.monotonic() < end, (states, lab.read_log()[-4000:])
        if states.get("done", 0) >= (len(faults) - len(pending) + 1) * JOBS // 10 and pending:
            pending.pop(0)()
        if len(queue) < JOBS:
            queue.append(lab.enqueue("lab.chunks", {"n": 3, "seconds": 0.1}))
        is_idle = lab.ask("states").get("running", 0) < WORKERS and lab.ask("ready", lab.queue) > 0
        if not is_idle or len(lab.ask("workers")) < WORKERS:
            idle_since = None
        else:
            idle_since = idle_since or time.monotonic()
            longest = max(longest, time.monotonic() - idle_since)
        time.sleep(0.05)
    assert not pending
    assert longest < IDLE_SECONDS
    for job in queue:
        assert lab.ask("chunks", job) == expected_chunks(3)
        assert lab.job(job)["attempt"] == 1
    assert "Traceback" not in lab.read_log()


def test_redis_that_is_flushed_full_killed_and_restarted(tmp_path, redis_server):
    lab = Lab(tmp_path, broker=redis_server.url, queue="default").prepare()
    try:
        work_through(
            lab,
            [
                lambda: redis_server.call("FLUSHALL"),
                lambda: redis_server.call("CONFIG", "SET", "maxmemory", "1"),
                lambda: redis_server.call("CONFIG", "SET", "maxmemory", "0"),
                redis_server.kill,
                redis_server.start,
            ],
        )
    finally:
        lab.close()


def test_rabbitmq_whose_connections_are_cut_and_come_back(rabbit, make_lab, monkeypatch):
    monkeypatch.setitem(BROKERS, "rabbitmq", rabbit.url)
    lab = make_lab("postgresql", "rabbitmq")
    try:
        work_through(lab, [rabbit.cut, lambda: setattr(rabbit, "is_cut", False), rabbit.cut])
    finally:
        rabbit.is_cut = False
    lab.wait_for(lab.enqueue("lab.chunks", {"n": 1}), "done")


def test_rabbitmq_that_is_killed_and_restarted(rabbit_server, make_lab, monkeypatch):
    monkeypatch.setitem(BROKERS, "rabbitmq", rabbit_server.url)
    lab = make_lab("postgresql", "rabbitmq")
    work_through(lab, [rabbit_server.kill, rabbit_server.start])
    rabbit_server.wait()
    lab.wait_for(lab.enqueue("lab.chunks", {"n": 1}), "done")
