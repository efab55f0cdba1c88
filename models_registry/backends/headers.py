"""What the weights of a model are, by the headers of their files: names and shapes of tensors. No torch.

Reading headers takes milliseconds, and building a model by a configuration that does not belong to the weights may take
hours and all memory. So the two are compared first.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from models_registry.backends.base import BackendError

Shapes = Mapping[str, tuple[int, ...]]

MAX_HEADER = 50_000_000
LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
SIDES = {
    "vocabulary": ("vocab_size",),
    "hidden layer": ("hidden_size", "n_embd", "d_model"),
}
_TEXT_PARTS = ("text_config", "llm_config", "language_config")
_HINT = "Use the config.json that was saved with these weights."


def read_shapes(paths: Iterable[Path]) -> dict[str, tuple[int, ...]]:
    """Name -> shape of every tensor in these safetensors files. Raises BackendError."""
    found: dict[str, tuple[int, ...]] = {}
    for path in paths:
        for name, entry in _header(path).items():
            if name != "__metadata__":
                found[name] = _shape(path, name, entry)
    return found


def _header(path: Path) -> dict[str, Any]:
    with path.open("rb") as stream:
        size = int.from_bytes(stream.read(8), "little")
        if size > min(MAX_HEADER, path.stat().st_size - 8):
            raise BackendError(
                f"The weights could not be loaded: the header of {path.name} is cut short or too long."
            )
        try:
            header = json.loads(stream.read(size))
        except (ValueError, RecursionError):
            header = None
    if not isinstance(header, dict):
        raise BackendError(
            f"The weights could not be loaded: the header of {path.name} is not a JSON object."
        )
    return header


def _shape(path: Path, name: str, entry: Any) -> tuple[int, ...]:
    shape = entry.get("shape") if isinstance(entry, dict) else None
    if not isinstance(shape, list) or not all(type(side) is int and side >= 0 for side in shape):
        raise BackendError(
            f"The weights could not be loaded: {path.name} does not say which shape {name[:100]!r} has."
        )
    return tuple(shape)


def compare(config: Mapping[str, Any], shapes: Shapes) -> None:
    """Refuse a configuration that asks for more layers than the weights hold, or for a vocabulary or a hidden layer of
    a size that no tensor has. Of a model that reads more than text, its text part is looked at. Raises BackendError."""
    text = next((config[name] for name in _TEXT_PARTS if isinstance(config.get(name), dict)), config)
    stored = layers_stored(shapes)
    for key in _layer_keys(text):
        asked = text.get(key)
        if type(asked) is int and asked > stored:
            raise BackendError(
                f"config.json asks for {asked:,} layers ({key}), and the weights hold {stored:,}.", _HINT
            )
    sides = {side for shape in shapes.values() for side in shape}
    for what, keys in SIDES.items():
        for key in keys:
            asked = text.get(key)
            if type(asked) is int and asked not in sides:
                raise BackendError(
                    f"config.json says that the {what} has {asked:,} entries ({key}), and no tensor of the weights has "
                    "a side of that length.",
                    _HINT,
                )


def _layer_keys(text: Mapping[str, Any]) -> tuple[str, ...]:
    """Where the number of layers stands. ALBERT applies one layer many times; decoders that were cut out of an
    encoder-decoder count their own."""
    if "num_hidden_groups" in text:
        return ("num_hidden_groups",)
    return ("decoder_layers",) if "decoder_layers" in text else LAYERS


def layers_stored(shapes: Shapes) -> int:
    """The highest number in a tensor's name, and one: layers are numbered from 0. Parts of a layer may be numbered as
    well, so this is never too low."""
    numbers = (
        int(part) for name in shapes for part in name.split(".") if part.isdecimal() and len(part) < 10
    )
    return max(numbers, default=-1) + 1
