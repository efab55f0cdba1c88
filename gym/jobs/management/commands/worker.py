"""lmgym worker: run queued jobs."""

from __future__ import annotations

import signal
from typing import Any

from django.core.management.base import CommandError, CommandParser

from gym.jobs import conf, fairness, runner
from gym.jobs.sessions import limit_sessions
from gym.jobs.worker import WorkerProcess, drain
from gym.site_command import SiteCommand


class Command(SiteCommand):
    help = "Run queued jobs until stopped (Ctrl-C or SIGTERM), or until none is left with --drain."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--threads", type=int, default=1, help="jobs run at the same time (default 1)")
        parser.add_argument("--queues", nargs="+", metavar="QUEUE", help="serve only these queues")
        parser.add_argument("--once", action="store_true", help="run one job and end")
        parser.add_argument("--drain", action="store_true", help="end when no job is queued any more")
        parser.add_argument("--id", default="", help="the name under which this worker claims jobs")
        parser.add_argument("--parent", type=int, metavar="PID", help="end when this parent is gone")
        pipe = "a pipe for a sign of life every second, by its number"
        parser.add_argument("--alive", type=int, metavar="FD", help=pipe)
        pipe = "a pipe with the names and exit codes of other workers that died, by its number"
        parser.add_argument("--deaths", type=int, metavar="FD", help=pipe)
        parser.add_argument("--replaces", default="", metavar="ID", help="take over from a dead worker")
        parser.add_argument(
            "--exit-code", type=int, metavar="CODE", help="how it ended: an exit code, or minus the signal"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        queues = options["queues"] or list(conf.queues())
        if unknown := set(queues) - set(conf.queues()):
            raise CommandError(
                f"GYM_JOB_QUEUES has {', '.join(conf.queues())}, but not {', '.join(sorted(unknown))}."
            )
        if options["threads"] < 1:
            raise CommandError("--threads must be at least 1.")
        limit_sessions()
        if options["id"]:
            runner.set_worker_id(options["id"])
        if options["once"] or options["drain"]:
            signal.signal(signal.SIGTERM, lambda number, frame: runner.stopping.set())
            ran = drain(queues, once=options["once"])
            self.stdout.write(f"{ran} job attempt{'' if ran == 1 else 's'} run")
            for what in fairness.lacking():
                self.stdout.write(f"Left for a worker with {what}.")
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
