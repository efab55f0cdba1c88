"""Interface of players, and a wrapper that measures latency."""

from __future__ import annotations

import time
from array import array
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

Prediction: TypeAlias = tuple[str, float]
Reply: TypeAlias = list[Prediction]


class Request(NamedTuple):
    """A request to predict what follows `context` or, with candidates, to score each candidate. Texts are sent
    unchanged.
    """

    context: str
    candidates: Sequence[str] | None = None


class Player(Protocol):
    """Interface between a language model and the games.

    `together`: number of lines that may be played together if nothing is learnt in between; 1 for a model that handles
    one call at a time.
    """

    @property
    def together(self) -> int:
        """Number of lines that may be played together, 1 or more."""

    def predict(self, requests: Sequence[Request]) -> list[Reply]:
        """Return one reply per request, in order. A reply may omit candidates, repeat texts and be in any order; higher
        scores are better. Raises PlayerError.
        """

    def train(self, text: str) -> None:
        """Learn from a line."""

    def clear(self) -> None:
        """Forget all training."""

    def check(self, now: bool = False) -> bool:
        """Check the replies so far. Returns True while their validity is unknown and lines must be held back. With
        `now`, waits until their validity is known and returns False. Raises PlayerError if the replies are invalid.
        """

    def close(self) -> None:
        """Close the player; repeated calls do nothing. Raises PlayerError if closing fails."""


class Latency:
    """Durations of calls in milliseconds. The time of a batch is divided evenly among its calls."""

    def __init__(self) -> None:
        self.first: float | None = None
        self._times: dict[str, array[float]] = {
            "predict": array("f"),
            "train": array("f"),
            "clear": array("f"),
        }

    def add(self, kind: str, seconds: float, calls: int = 1) -> None:
        """Record `calls` calls that took `seconds` together. The very first predict is recorded separately, because it
        includes the time a process takes to load its model.
        """
        if kind == "predict" and self.first is None and calls:
            self.first = seconds * 1000 / calls
        if calls == 1:
            self._times[kind].append(seconds * 1000)
        else:
            self._times[kind].extend([seconds * 1000 / calls] * calls)

    def calls(self, kind: str) -> int:
        """Return the number of calls of this kind."""
        return len(self._times[kind])

    def as_dict(self) -> dict[str, Any]:
        """Return {"first_predict_ms", "predict": {"calls", "mean_ms", "p50_ms", "p90_ms", "p99_ms", "max_ms"}, …}."""
        import numpy as np  # only needed for a report

        result: dict[str, Any] = {"first_predict_ms": self.first}
        for kind, times in self._times.items():
            values = np.frombuffer(times, dtype=np.float32) if len(times) else np.empty(0, dtype=np.float32)
            result[kind] = {"calls": len(values)}
            if len(values):
                p50, p90, p99 = np.percentile(values, [50, 90, 99])
                result[kind] |= {
                    "mean_ms": float(values.mean()),
                    "p50_ms": float(p50),
                    "p90_ms": float(p90),
                    "p99_ms": float(p99),
                    "max_ms": float(values.max()),
                }
        return result


class Timed:
    """Wrapper around a player that records call times in `latency`."""

    def __init__(self, player: Player) -> None:
        self.player = player
        self.latency = Latency()

    @property
    def together(self) -> int:
        """`together` of the wrapped player."""
        return self.player.together

    def predict(self, requests: Sequence[Request]) -> list[Reply]:
        """Time the calls, one by one if the player handles one call at a time."""
        if self.player.together == 1 and len(requests) > 1:
            return [reply for request in requests for reply in self.predict([request])]
        start = time.perf_counter()
        replies = self.player.predict(requests)
        self.latency.add("predict", time.perf_counter() - start, len(requests))
        return replies

    def train(self, text: str) -> None:
        """Time the call."""
        start = time.perf_counter()
        self.player.train(text)
        self.latency.add("train", time.perf_counter() - start)

    def clear(self) -> None:
        """Time the call."""
        start = time.perf_counter()
        self.player.clear()
        self.latency.add("clear", time.perf_counter() - start)

    def check(self, now: bool = False) -> bool:
        """Delegate to the player."""
        return self.player.check(now)

    def close(self) -> None:
        """Delegate to the player."""
        self.player.close()
