"""Where a model begins to work otherwise because a text is long, read off its configuration. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

_WINDOWS = (
    "sliding_window",
    "sliding_window_size",
    "attention_window_size",
    "window_size",
    "attention_chunk_size",
)
"""Settings that say how far back a query sees."""
_KEPT = ("keep_window_size", "index_topk")
"""Settings that say how many keys are kept of a longer text. Keys of one token may be equal in rank; which of them are
kept then depends on the number of all keys."""

_COUNTED = ("floor_scale",)
"""Settings of attention that is scaled by a query's place in the row (Llama 4), whatever its position is."""


class Turns(NamedTuple):
    """Lengths in tokens above which one forward pass treats all that is in it otherwise.

    steps  one way up to each of these lengths, another above (longrope's two sets of factors)
    fluid  above this length every length has a way of its own (dynamic frequencies, a choice of keys); None = never
    """

    steps: tuple[int, ...] = ()
    fluid: int | None = None

    @classmethod
    def of(cls, config: Any) -> Turns:
        """As the configuration says; none for something that is no configuration."""
        if not hasattr(config, "get_text_config"):
            return cls()
        text = config.get_text_config()
        steps, fluid = set[int](), _numbers(text, _KEPT)
        most = min(_numbers(text, ("max_position_embeddings",)), default=None)
        for rope in _ropes(text):
            kind = str(rope.get("rope_type") or rope.get("type") or "")
            start = rope.get("original_max_position_embeddings") or getattr(
                text, "original_max_position_embeddings", most
            )
            if kind == "longrope" and isinstance(start, int):
                steps.add(start)
            elif "dynamic" in kind and most is not None:
                # A text of exactly this length does not undo what a longer one has left behind.
                fluid.append(most - 1)
        return cls(tuple(sorted(steps)), min(fluid, default=None))

    def kind(self, length: int) -> tuple[int, int]:
        """Texts of different kinds must not share a forward pass. (0, 0) = nothing has turned; a text of any other
        kind is run whole, because its kind follows from its length."""
        passed = sum(length > step for step in self.steps)
        return passed, length if self.fluid is not None and length > self.fluid else 0

    @property
    def first(self) -> int | None:
        """The longest text for which nothing turns; None = any."""
        found = [*self.steps, *([] if self.fluid is None else [self.fluid])]
        return min(found, default=None)


def reach(config: Any) -> int | None:
    """The longest text that every layer sees whole and that nothing turns for; None = any."""
    found = _numbers(config.get_text_config(), _WINDOWS)
    first = Turns.of(config).first
    return min(found if first is None else [*found, first], default=None)


def counts_places(config: Any) -> bool:
    """Whether a value depends on where in the row its text stands."""
    return bool(_numbers(config.get_text_config(), _COUNTED))


def _numbers(text: Any, names: tuple[str, ...]) -> list[int]:
    """Those of these settings that are positive numbers."""
    found = [getattr(text, name, None) for name in names]
    return [value for value in found if isinstance(value, int) and value > 0]


def _ropes(text: Any) -> Iterator[Mapping[str, Any]]:
    """The rotary settings: one set, or one for each kind of layer."""
    rope = getattr(text, "rope_parameters", None) or getattr(text, "rope_scaling", None)
    if not isinstance(rope, Mapping):
        return
    own = [value for value in rope.values() if isinstance(value, Mapping)]
    yield from own or [rope]
