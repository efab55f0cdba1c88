"""The site as `serve` runs it, with leases of five seconds and small chunks."""

from tests.process.settings import *  # noqa: F403

GYM_JOB_LEASE_SECONDS = 5.0
GYM_REAPER_SECONDS = 1.0
GYM_JOB_RETRY_SECONDS = 0.5
GYM_JOB_QUIET_SECONDS = 5.0
