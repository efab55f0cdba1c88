"""Settings of a site as `serve` runs it, with leases of five seconds, small chunks, and an adjustable clock.

The file `clock` in the site's folder contains the offset of the clock in seconds.
"""

import time
from datetime import timedelta

from django.utils import timezone

from benchmarks.chaos import LEASE
from tests.process.settings import *  # noqa: F403

GYM_JOB_LEASE_SECONDS = LEASE
GYM_REAPER_SECONDS = 1.0
GYM_JOB_RETRY_SECONDS = 0.5
GYM_JOB_QUIET_SECONDS = 5.0

CLOCK = VAR_DIR / "clock"  # noqa: F405


def _is_off_by() -> float:
    return float(CLOCK.read_text()) if CLOCK.exists() else 0.0


_time, _now = time.time, timezone.now
time.time = lambda: _time() + _is_off_by()
timezone.now = lambda: _now() + timedelta(seconds=_is_off_by())
