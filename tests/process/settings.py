"""Settings of the whole site with short queue intervals and small chunks, for worker processes that tests
kill."""

from gym.settings import *  # noqa: F403

GYM_JOB_LEASE_SECONDS = 1.5
GYM_REAPER_SECONDS = 0.3
GYM_JOB_RETRY_SECONDS = 0.1
GYM_CHUNK_SENTENCES = 4
INSTALLED_APPS += ["tests.process"]  # noqa: F405
