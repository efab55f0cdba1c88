"""Handlers that compute, hang, crash or stop on request."""

from __future__ import annotations

import os
import signal
import time

from gym.jobs.context import JobContext
from gym.jobs.errors import MissingResource, PermanentFailure
from gym.jobs.handlers import handler
from tests.jobs.lab.models import Chunk, Receipt
from tests.jobs.lab.values import value_of


@handler("lab.chunks")
def work_off_chunks(context: JobContext) -> None:
    """Process the missing chunks. A killed run loses at most its current chunk."""
    n, seconds = context.payload["n"], context.payload.get("seconds", 0.0)
    have = set(Chunk.objects.filter(job_id=context.job_id).values_list("number", flat=True))
    for number in range(n):
        if number in have:
            continue
        context.check()
        time.sleep(seconds)
        with context.transaction(brings_forward=True):
            Chunk.objects.create(
                job_id=context.job_id, number=number, value=value_of(number), attempt=context.attempt
            )
        context.progress(number + 1, total=n, unit="chunks")
    with context.finish():
        checksum = sum(Chunk.objects.filter(job_id=context.job_id).values_list("value", flat=True))
        Receipt.objects.create(job_id=context.job_id, checksum=checksum)


@handler("lab.deaf")
def sleep_without_listening(context: JobContext) -> None:
    """Simulate a hung kernel or download: never call check()."""
    time.sleep(context.payload["seconds"])
    with context.finish():
        Receipt.objects.create(job_id=context.job_id, checksum=-1)


@handler("lab.frozen")
def freeze_while_writing(context: JobContext) -> None:
    """Simulate a suspended machine. The first attempt freezes in a transaction, the second does not."""
    with context.finish():
        Receipt.objects.create(job_id=context.job_id, checksum=context.attempt)
        if context.attempt == 1:
            os.kill(os.getpid(), signal.SIGSTOP)
            time.sleep(1)  # the process stops only when one of its threads receives the signal


@handler("lab.poison")
def kill_the_worker(context: JobContext) -> None:
    """Simulate a segmentation fault or the out-of-memory killer."""
    os.kill(os.getpid(), signal.SIGKILL)


@handler("lab.picky")
def need_files(context: JobContext) -> None:
    """Require files that only some workers of the lab have."""
    if "LAB_FILES" not in os.environ:
        raise MissingResource("the files of the model x")


@handler("lab.fail")
def fail_as_told(context: JobContext) -> None:
    if context.attempt > context.payload.get("times", 99):
        return
    message = context.payload["message"].encode().decode("unicode_escape")
    if context.payload.get("permanent"):
        raise PermanentFailure(message)
    raise ValueError(message)
