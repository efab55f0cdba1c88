"""A request waits a moment for the job it queued: most are done before their answer could be read.

It holds a thread of the web server, so at most MOST wait at a time in a process; the others are answered at once.
"""

from __future__ import annotations

import threading
import time
import uuid

from gym.jobs.models import FINAL_STATES, Job

MOST = 2
WAIT_SECONDS = 3.0
LOOK_SECONDS = 0.03
_places = threading.BoundedSemaphore(MOST)


def wait_for_job(job_id: uuid.UUID | None, seconds: float = WAIT_SECONDS) -> None:
    """Return when the job has ended, when the time is up, or at once where enough others wait."""
    if not _places.acquire(blocking=False):
        return
    try:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            state = Job.objects.filter(pk=job_id).values_list("state", flat=True).first()
            if state is None or state in FINAL_STATES:
                return
            time.sleep(LOOK_SECONDS)
    finally:
        _places.release()
