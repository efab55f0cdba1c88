"""manage.py web: the site behind waitress, without workers."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from importlib import import_module
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser


class Command(BaseCommand):
    help = "Serve the site with waitress (a threaded WSGI server). `serve` also starts workers."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument("--threads", type=int, default=8)
        parser.add_argument("--parent", type=int, metavar="PID", help="end when this parent process is gone")

    def handle(self, *args: Any, **options: Any) -> None:
        import waitress

        signal.signal(signal.SIGTERM, _stop)
        if options["parent"]:
            threading.Thread(target=_watch, args=(options["parent"],), daemon=True).start()
        module, _, name = settings.WSGI_APPLICATION.rpartition(".")
        application = getattr(import_module(module), name)
        logging.getLogger("waitress.queue").setLevel(logging.ERROR)  # "task queue depth" on every short burst
        waitress.serve(
            application,
            host=options["host"],
            port=options["port"],
            threads=options["threads"],
            ident=None,
            clear_untrusted_proxy_headers=not settings.GYM_BEHIND_PROXY,
            _quiet=True,
        )


def _stop(number: int, frame: object) -> None:
    raise SystemExit(0)  # waitress finishes what its threads are at


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGTERM)
