"""lmgym serve: web server and workers in one command."""

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

from gym import request_counts
from gym.accounts.models import User
from gym.env import EnvError
from gym.jobs import conf
from gym.jobs.management.commands import init
from gym.jobs.supervisor import Child, Supervisor, print_line
from gym.jobs.web_server import bound_socket
from gym.reachability import is_local_only, is_loopback, require_own_secret
from gym.site_command import database_problem
from lmgym.cli.site_options import add_serve_options

LEAST_SILENCE = 10.0
"""Minimum silence in seconds before a worker is killed as frozen. A shorter silence can mean that it is
waiting for the database."""


class Command(BaseCommand):
    help = "Prepare the database, then run the web server and a worker until Ctrl-C."
    requires_system_checks = []  # the checks may use the database; child processes run them

    def add_arguments(self, parser: CommandParser) -> None:
        add_serve_options(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        host, port = options["host"], options["port"]
        refuse_published_key(host)
        bound = bind("serve", host, port)
        # Until the supervisor takes over, SIGTERM must exit like Ctrl-C.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            self.prepare(demo=options["demo"])
            os.environ["GYM_WORKERS"] = str(options["workers"])  # the workers share the CPU cores
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
        """Prepare the database in a child process before anything is served. Does nothing if it is ready and
        no demo is requested."""
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
                raise CommandError("The database could not be prepared. The reason is printed above.")


def run_child(arguments: list[str]) -> int:
    """Run `manage.py …` and return its exit code. Ctrl-C reaches it through the terminal's process group."""
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
    """Return web processes that share the socket: while one restarts, the others serve its connections."""
    request_counts.share_between_children()
    options = ["--host", host, "--threads", str(threads), "--socket", str(bound.fileno())]
    command = manage("web", *options, "--parent", str(os.getpid()))
    numbers = range(1, processes + 1)
    return [Child(f"web{number}", lambda: command, pass_fds=(bound.fileno(),)) for number in numbers]


def worker_child(name: str) -> Child:
    """Return a worker process. Its name is chosen here, so that its replacement can release its jobs."""
    takeover: list[str] = []

    def command() -> list[str]:
        nonlocal takeover
        if (
            child.process is not None and child.was_ready
        ):  # if it was never ready, the earlier takeover is still to be done
            takeover = ["--replaces", child.worker_id]
            takeover += [] if child.was_silent else [f"--exit-code={child.process.returncode}"]
        child.worker_id = f"{name}-{uuid.uuid4().hex[:12]}"
        return [*manage("worker", "--id", child.worker_id, "--parent", str(os.getpid())), *takeover]

    child = Child(name, command, silent_seconds=max(LEAST_SILENCE, 2 * conf.lease_seconds()))
    return child


def refuse_published_key(host: str) -> None:
    """Refuse the published secret key on a public address, and store the address for this process and its children."""
    is_local = is_local_only(settings.ALLOWED_HOSTS, host)
    try:
        require_own_secret(settings.SECRET_KEY, settings.INSECURE_SECRET_KEY, is_local=is_local)
    except EnvError as error:
        raise CommandError(str(error)) from error
    os.environ["GYM_LISTENS_ON"] = settings.GYM_LISTENS_ON = host


def bind(command: str, host: str, port: int) -> socket.socket:
    try:
        return bound_socket(host, port)
    except OSError as error:
        raise CommandError(
            f"Cannot listen on {host}:{port} ({error.strerror}). If LM Gym is already running there, stop it; "
            f"or choose another port: lmgym {command} --port {port + 1}"
        ) from error


class Announcement:
    """Callback for the supervisor that prints the address of the site once the web server responds."""

    def __init__(self, host: str, port: int, note: str) -> None:
        self.is_open = not is_loopback(host)
        self.address = ({"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}.get(host, host), port)  # noqa: S104
        self.note = note
        self.is_printed = False

    def __call__(self) -> None:
        if self.is_printed or not self.responds():
            return
        self.is_printed = True
        host, port = self.address
        name = f"[{host}]" if ":" in host else host
        print_line(f"\n  LM Gym is at http://{name}:{port}/   (Ctrl-C stops it)")
        if note := self.for_others():
            print_line(f"  {note}")
        if self.note:
            print_line(f"  {self.note}")
        print_line("")

    def for_others(self) -> str:
        """Return where other machines open the site; "" if it listens only here or behind a proxy."""
        if not self.is_open or settings.GYM_BEHIND_PROXY or settings.HTTPS:
            return ""
        names = [name for name in settings.ALLOWED_HOSTS if not is_loopback(name)]
        if not names:
            return "Other machines are refused: add this machine's name or address to GYM_ALLOWED_HOSTS."
        addresses = [f"http://{name}:{self.address[1]}/" for name in names if name[0] not in "*."]
        return f"On other machines: {', '.join(addresses)}" if addresses else ""

    def responds(self) -> bool:
        try:
            socket.create_connection(self.address, timeout=0.2).close()
        except OSError:
            return False
        return True
