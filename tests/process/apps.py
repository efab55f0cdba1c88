"""Slow down every handler between its chunks, so that a test can kill it between two chunks or within one."""

from __future__ import annotations

import os
import time

from django.apps import AppConfig

PACE = float(os.environ.get("TEST_PACE", "0.15"))
"""Seconds before each chunk."""


class SlowConfig(AppConfig):
    name = "tests.process"
    label = "slow"

    def ready(self) -> None:
        from gym.jobs.context import JobContext

        check = JobContext.check

        def slow_check(context: JobContext) -> None:
            time.sleep(PACE)
            check(context)

        JobContext.check = slow_check  # type: ignore[method-assign]
