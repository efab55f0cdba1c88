"""lmgym worker: run queued jobs."""

from __future__ import annotations

import signal
from typing import Any

from django.core.management.base import CommandError, CommandParser

from gym.jobs import conf, fairness, lifecycle, runner
from gym.jobs.selectors import ALIVE
from gym.jobs.sessions import limit_sessions
from gym.jobs.versions import leave_to_newer
from gym.jobs.worker import WorkerProcess, drain
from gym.site_command import SiteCommand
from lmgym.cli.site_options import add_worker_options


class Command(SiteCommand):
    help = "Run queued jobs until stopped (Ctrl-C or SIGTERM) or, with --drain, until none is left."
    waits_for_database = True

    def add_arguments(self, parser: CommandParser) -> None:
        add_worker_options(parser)
        parser.add_argument("--id", default="", help="name under which this worker claims jobs")
        parser.add_argument("--parent", type=int, metavar="PID", help="exit when this parent process exits")
        pipe = "file descriptor of a pipe to which a sign of life is written every second"
        parser.add_argument("--alive", type=int, metavar="FD", help=pipe)
        pipe = "file descriptor of a pipe from which names and exit codes of dead workers are read"
        parser.add_argument("--deaths", type=int, metavar="FD", help=pipe)
        parser.add_argument(
            "--replaces", default="", metavar="ID", help="release the jobs of this dead worker"
        )
        parser.add_argument(
            "--exit-code",
            type=int,
            metavar="CODE",
            help="exit code of the dead worker; if a signal killed it, the negated signal number",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        queues = options["queues"] or list(conf.queues())
        if unknown := set(queues) - set(conf.queues()):
            raise CommandError(
                f"Not in GYM_JOB_QUEUES: {', '.join(sorted(unknown))}. Choose from: {', '.join(conf.queues())}."
            )
        if options["threads"] < 1:
            raise CommandError("--threads must be at least 1.")
        if problem := leave_to_newer(queues, ALIVE):
            raise CommandError(problem)
        limit_sessions()
        if options["id"]:
            runner.set_worker_id(options["id"])
        if options["once"] or options["drain"]:
            signal.signal(signal.SIGTERM, lambda number, frame: lifecycle.stopping.set())
            ran = drain(queues, once=options["once"])
            self.stdout.write(f"Job attempts run: {ran}")
            for what in fairness.missing_resources():
                self.stdout.write(f"Some jobs were left for a worker with {what}.")
            return
        WorkerProcess(
            queues,
            threads=options["threads"],
            parent=options["parent"],
            replaces=options["replaces"],
            exit_code=options["exit_code"],
            alive=options["alive"],
            deaths=options["deaths"],
        ).run()
