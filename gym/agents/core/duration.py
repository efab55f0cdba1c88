"""The minimum time of a test case on the embedded agents, from the SLEEPs in its texts. Pure."""

from __future__ import annotations

import math

from gym.agents.core.cases import TestCase
from gym.agents.core.driver import Options
from gym.agents.core.embedded.agents import PAUSE
from gym.agents.core.embedded.server import MAX_PAUSE


def least_seconds(case: TestCase, options: Options) -> float:
    """Wall-clock seconds for all iterations, limited by timeouts. With early stop the ratio is assumed to be decided as
    soon as possible."""
    iterations = case.ratio.iterations
    if options.early_stop:
        needed = case.ratio.required(options.reading)
        iterations = max(1, min(needed, iterations - needed + 1))
    one = _conversation(case, options) * len(case.connections)
    if case.timeout is not None:
        one = min(one, case.timeout)
    total = one * math.ceil(iterations / max(1, options.parallel))
    if case.timeout is not None and options.reading == "document":
        total = min(total, case.timeout)
    return total


def _conversation(case: TestCase, options: Options) -> float:
    """One connection of one iteration. A turn that times out ends it."""
    seconds = 0.0
    for turn in case.interactions:
        pause = PAUSE.search(turn.text or "")
        asked = min(float(pause[1]), MAX_PAUSE) if pause else 0.0
        limit = (
            options.request_seconds if turn.timeout is None else min(turn.timeout, options.request_seconds)
        )
        seconds += min(asked, limit)
        if asked > limit:
            break
    return seconds
