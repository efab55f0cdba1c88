"""lmgym web: the web server without workers."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
import time
from typing import Any

from django.core.management.base import CommandParser
from django.db import connection

from gym.jobs.management.commands.serve import bind, refuse_published_key, web_children
from gym.jobs.supervisor import Supervisor
from gym.jobs.web_server import serve_here
from gym.site_command import SiteCommand
from lmgym.cli.site_options import add_web_options


class Command(SiteCommand):
    help = "Serve the site with waitress (a threaded WSGI server). `serve` also starts workers."
    waits_for_database = True
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        add_web_options(parser)
        parser.add_argument("--parent", type=int, metavar="PID", help="exit when this parent process exits")
        bound = "file descriptor of a socket that the parent has bound; serve on it in this process"
        parser.add_argument("--socket", type=int, metavar="FD", help=bound)

    def handle(self, *args: Any, **options: Any) -> None:
        refuse_published_key(options["host"])
        if options["parent"]:
            threading.Thread(target=_watch, args=(options["parent"],), daemon=True).start()
        if options["socket"] is not None:
            logging.getLogger("waitress.queue").setLevel(logging.ERROR)  # waitress warns on every burst
            serve_here(socket.socket(fileno=options["socket"]), options["threads"])
            return
        connection.close()  # the parent only supervises and needs no database
        with bind("web", options["host"], options["port"]) as bound:
            children = web_children(
                bound, options["host"], threads=options["threads"], processes=options["processes"]
            )
            Supervisor(children).run()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGTERM)
