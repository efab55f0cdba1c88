"""Text lengths above which a model's computation changes, read from its configuration."""

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
"""Settings that limit how far back a query attends."""
_KEPT = ("keep_window_size", "index_topk")
"""Settings that limit how many keys of a long text are kept. Among keys of equal rank, the choice depends on the number
of keys."""

_CHUNKED = ("local_attn_chunk_length",)
"""Settings that cut a longer text into chunks, where the first chunk sees the last one, padding included (Reformer)."""

_COUNTED = ("floor_scale",)
"""Settings that scale attention by a query's index in the row (Llama 4) instead of its position id."""


class Turns(NamedTuple):
    """Lengths in tokens above which a forward pass computes all its values differently.

    Attributes:
        steps: lengths at which the computation changes (longrope's two sets of factors).
        fluid: length above which the computation is different for every length (dynamic frequencies, selection of
            keys); None = never.
    """

    steps: tuple[int, ...] = ()
    fluid: int | None = None

    @classmethod
    def of(cls, config: Any) -> Turns:
        """Read the lengths from a configuration; objects of other types have none."""
        if not hasattr(config, "get_text_config"):
            return cls()
        text = config.get_text_config()
        steps, fluid = set[int](), _numbers(text, (*_KEPT, *_CHUNKED))
        most = min(_numbers(text, ("max_position_embeddings",)), default=None)
        for rope in _ropes(text):
            kind = str(rope.get("rope_type") or rope.get("type") or "")
            start = rope.get("original_max_position_embeddings") or getattr(
                text, "original_max_position_embeddings", most
            )
            if kind == "longrope" and isinstance(start, int):
                steps.add(start)
            elif "dynamic" in kind and most is not None:
                # A text of exactly this length does not reset the frequencies set by a longer text.
                fluid.append(most - 1)
        return cls(tuple(sorted(steps)), min(fluid, default=None))

    def kind(self, length: int) -> tuple[int, int]:
        """Return the kind of a text with `length` tokens.

        Texts of different kinds must not share a forward pass. (0, 0) is the usual kind. Texts of other kinds
        are run whole, because the kind depends on the whole length.
        """
        passed = sum(length > step for step in self.steps)
        return passed, length if self.fluid is not None and length > self.fluid else 0

    @property
    def first(self) -> int | None:
        """Length of the longest text of the usual kind; None = unlimited."""
        return min([*self.steps, *([] if self.fluid is None else [self.fluid])], default=None)


def reach(config: Any) -> int | None:
    """Return the length of the longest text of the usual kind that fits the attention window of every layer.

    None = unlimited.
    """
    windows = _numbers(config.get_text_config(), _WINDOWS)
    first = Turns.of(config).first
    return min(windows if first is None else [*windows, first], default=None)


def full_attention_limit(config: Any) -> int | None:
    """Return the length of the longest text without random attention; None = unlimited.

    Above it, BigBird replaces full attention by blocks, some of them random, which as a decoder see later tokens; it
    never returns to them after a shorter text. Reformer then hashes tokens at random.
    """
    text = config.get_text_config()
    if text.model_type == "big_bird" and text.attention_type == "block_sparse":
        return int((5 + 2 * text.num_random_blocks) * text.block_size)
    if "lsh" in getattr(text, "attn_layers", ()):
        return int(text.lsh_attn_chunk_length)
    return None


def counts_places(config: Any) -> bool:
    """Return True if values depend on a token's index in its row, so that texts cannot share a row."""
    return bool(_numbers(config.get_text_config(), _COUNTED))


def _numbers(text: Any, names: tuple[str, ...]) -> list[int]:
    """Return the values of the named settings that are positive integers."""
    values = [getattr(text, name, None) for name in names]
    return [value for value in values if isinstance(value, int) and value > 0]


def _ropes(text: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the rotary settings: one set, or one for each kind of layer."""
    rope = getattr(text, "rope_parameters", None) or getattr(text, "rope_scaling", None)
    if not isinstance(rope, Mapping):
        return
    by_layer_kind = [value for value in rope.values() if isinstance(value, Mapping)]
    yield from by_layer_kind or [rope]
