"""Keys, random numbers, times and measured durations that are the same in every record.

`seed_everything` comes before the first import of Django. Each step of the record has a time of its own and a stream of
random bytes of its own, so a step that draws one key more than before changes no key of the steps after it.
"""

from __future__ import annotations

import hashlib
import os
import random
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

START = datetime(2026, 12, 7, 9, 0, tzinfo=UTC)
TICK = timedelta(microseconds=100)
"""Each look at the clock, so that things made one after the other keep their order in lists sorted by time."""


class _World:
    time = START
    name = "start"
    drawn = 0
    slept = 0.0
    measured = 0


_real_urandom, _real_sleep = os.urandom, time.sleep
IN_CHILDREN = """\
import itertools, time

ticks = itertools.count()
time.perf_counter = lambda: next(ticks) / 1024
"""
"""A sitecustomize.py for programs that the site starts: the time that something takes decides which kernels a model
has."""


def seed_everything() -> None:
    """Replace the clock and the sources of random bytes of the standard library and of Django."""
    import django.utils.timesince
    import django.utils.timezone

    os.urandom = _urandom
    random._urandom = _urandom  # type: ignore[attr-defined]  # the source of `secrets`
    time.time = partial(_time)  # like the builtin, it does not become a method where a class keeps it
    time.sleep = _sleep
    time.monotonic = _monotonic
    time.perf_counter = _perf_counter
    django.utils.timezone.now = _now
    django.utils.timesince.timesince = _timesince(django.utils.timesince.timesince)
    step("start", hours=0)


def step(name: str, *, hours: float) -> None:
    """Everything from here on happens `hours` after the start, with random numbers that follow from the name."""
    _World.time, _World.name, _World.drawn = START + timedelta(hours=hours), name, 0
    random.seed(name)


def later(minutes: float) -> None:
    """Time passes within a step."""
    _World.time += timedelta(minutes=minutes)


def _timesince(real: Callable[..., str]) -> Callable[..., str]:
    def timesince(moment: Any, now: Any = None, **how: Any) -> str:
        return real(moment, now or _World.time, **how)

    return timesince


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()


def _urandom(size: int) -> bytes:
    if not _is_main():  # the order of threads is chance
        return _real_urandom(size)
    _World.drawn += 1
    return hashlib.shake_256(f"{_World.name} {_World.drawn}".encode()).digest(size)


def _now() -> datetime:
    if _is_main():
        _World.time += TICK
    return _World.time


def _time() -> float:
    return _now().timestamp()


def _sleep(seconds: float) -> None:
    _real_sleep(seconds)
    _World.slept += seconds


def _monotonic() -> float:
    """Only sleeping takes time, so that durations are the same on a busy machine."""
    return 1000 + _World.slept


def _perf_counter() -> float:
    _World.measured += _is_main()
    return _World.measured / 1024  # a power of two: differences are exact
