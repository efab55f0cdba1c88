"""lmgym serve: the whole site with one command."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import uuid
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection

from gym.accounts.models import User
from gym.env import EnvError
from gym.jobs import conf
from gym.jobs.management.commands import init
from gym.jobs.supervisor import Child, Supervisor, print_line
from gym.jobs.web_server import bound_socket, usual_processes
from gym.reachability import only_here, require_own_secret
from gym.site_command import database_problem

LEAST_SILENCE = 10.0
"""Seconds: a worker that is alive may wait so long for the database."""


class Command(BaseCommand):
    help = "Prepare the database, then run the web server and a worker until Ctrl-C."
    requires_system_checks = []  # they may touch the database; the children run them

    def add_arguments(self, parser: CommandParser) -> None:
        add_web_arguments(parser)
        parser.add_argument("--workers", type=number, default=1, help="worker processes (default 1)")
        parser.add_argument("--demo", action="store_true", help="load the demo suites, models and accounts")

    def handle(self, *args: Any, **options: Any) -> None:
        host, port = options["host"], options["port"]
        refuse_published_key(host)
        bound = bind("serve", host, port)
        # Until the supervisor takes over, SIGTERM must end us through the normal way out, like Ctrl-C.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            self.prepare(demo=options["demo"])
            os.environ["GYM_WORKERS"] = str(options["workers"])  # they share the processor's cores
            children = web_children(bound, host, threads=options["threads"], processes=options["processes"])
            children += [worker_child(f"worker{number}") for number in range(1, options["workers"] + 1)]
            note = getattr(settings, "GYM_DEMO_LINE", "") if options["demo"] else ""
            supervisor = Supervisor(children, on_tick=Announcement(host, port, note))
            supervisor.run()
            code = 0
        except KeyboardInterrupt:
            code = 130
        print_line("stopped")
        if code:
            sys.exit(code)

    def prepare(self, *, demo: bool) -> None:
        """Bring the database up to date in a child process, before anything serves."""
        ready = not database_problem() and User.objects.filter(is_superuser=True).exists()
        connection.close()
        if ready and not demo:
            return
        match run_child(["init", "--demo"] if demo else ["init"]):
            case 0:
                pass
            case init.NO_DEMO:
                self.stderr.write("The site starts without its demo.")
            case _:
                raise CommandError("The database could not be prepared; the reason is above.")


def run_child(arguments: list[str]) -> int:
    """Run `manage.py ...` to its end; Ctrl-C reaches it through the terminal's process group."""
    process = subprocess.Popen(manage(*arguments))  # noqa: S603  our own command line, no shell
    try:
        return process.wait()
    except KeyboardInterrupt:
        process.terminate()
        process.wait()
        raise


def manage(*arguments: str) -> list[str]:
    return [sys.executable, "-u", str(settings.BASE_DIR / "manage.py"), *arguments]


def web_children(bound: socket.socket, host: str, *, threads: int, processes: int) -> list[Child]:
    """Web processes that share the socket: while one is started again, the others take its connections."""
    given = ["--host", host, "--threads", str(threads), "--socket", str(bound.fileno())]
    command = manage("web", *given, "--parent", str(os.getpid()))
    numbers = range(1, processes + 1)
    return [Child(f"web{number}", lambda: command, pass_fds=(bound.fileno(),)) for number in numbers]


def worker_child(name: str) -> Child:
    """A worker under a name of ours, so that the next one can take back the jobs of one that died."""
    takes_over: list[str] = []

    def command() -> list[str]:
        nonlocal takes_over
        if child.process is not None and child.was_ready:  # else it had no job, and had not taken over either
            takes_over = ["--replaces", child.worker_id]
            takes_over += [] if child.was_silent else [f"--exit-code={child.process.returncode}"]
        child.worker_id = f"{name}-{uuid.uuid4().hex[:12]}"
        return [*manage("worker", "--id", child.worker_id, "--parent", str(os.getpid())), *takes_over]

    child = Child(name, command, silent_seconds=max(LEAST_SILENCE, 2 * conf.lease_seconds()))
    return child


def refuse_published_key(host: str) -> None:
    """Refuse what the published key must not guard; say where the site listens, to this process and its children."""
    is_local = only_here(settings.ALLOWED_HOSTS, host)
    try:
        require_own_secret(settings.SECRET_KEY, settings.INSECURE_SECRET_KEY, is_local=is_local)
    except EnvError as error:
        raise CommandError(str(error)) from error
    os.environ["GYM_LISTENS_ON"] = settings.GYM_LISTENS_ON = host


def add_web_arguments(parser: CommandParser) -> None:
    """Those of the web server, which `serve` and `web` share."""
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=port, default=8000)
    parser.add_argument("--threads", type=number, default=8, help="threads of a web process (default 8)")
    usual = usual_processes()
    parser.add_argument(
        "--processes", type=number, default=usual, help=f"web processes (default on this machine: {usual})"
    )


def number(text: str) -> int:
    found = int(text)
    if found < 1:
        raise ValueError(text)
    return found


def port(text: str) -> int:
    found = number(text)
    if found > 65535:
        raise ValueError(text)
    return found


def bind(command: str, host: str, port: int) -> socket.socket:
    try:
        return bound_socket(host, port)
    except OSError as error:
        raise CommandError(
            f"Cannot listen on {host}:{port} ({error.strerror}). Is LM Gym already running there? "
            f"Stop it, or choose another port: lmgym {command} --port {port + 1}"
        ) from error


class Announcement:
    """Called by the supervisor now and then; says once, when the web server answers, where the site is."""

    def __init__(self, host: str, port: int, note: str) -> None:
        self.address = ({"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}.get(host, host), port)  # noqa: S104
        self.note = note
        self.made = False

    def __call__(self) -> None:
        if self.made or not self.answers():
            return
        self.made = True
        host, port = self.address
        name = f"[{host}]" if ":" in host else host
        print_line(f"\n  LM Gym is at http://{name}:{port}/   (Ctrl-C stops it)")
        if self.note:
            print_line(f"  {self.note}")
        print_line("")

    def answers(self) -> bool:
        try:
            socket.create_connection(self.address, timeout=0.2).close()
        except OSError:
            return False
        return True
