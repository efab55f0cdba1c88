"""What this worker was found to lack. Jobs that wait for it are left to others for a while; then it looks again."""

from __future__ import annotations

from time import monotonic

from gym.jobs import conf

_until: dict[str, float] = {}


def note(what: str) -> None:
    _until[what] = monotonic() + float(conf.get("GYM_JOB_LOOK_AGAIN_SECONDS"))


def now() -> list[str]:
    return [what for what, until in list(_until.items()) if until > monotonic()]
