"""GGUF files of llama.cpp, often quantised: which file is meant, and what its header says.

transformers reads them and computes with dequantised weights, so a quantised file gives the numbers of its rounded
weights in the number format of the model's card. The package gguf is imported when a file is opened.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmgym.models.backends.base import BackendError, first_line

SUFFIX = ".gguf"
_USE = "Use a file with the whole model, or the safetensors weights that it was converted from."


@dataclass(frozen=True)
class Header:
    """`numbers`: how many the weights hold; `types`: their formats, the most frequent (by tensors) first."""

    architecture: str
    numbers: int
    types: tuple[str, ...]


def find(place: Path) -> Path | None:
    """The GGUF file that `place` is, or the one that holds the weights of the folder `place`; None where safetensors
    do, or nothing does. Raises BackendError where several files could be meant."""
    if place.is_file():
        return place if place.suffix == SUFFIX else None
    found = sorted(place.glob(f"*{SUFFIX}"))
    if not found or any(place.glob("*.safetensors")):
        return None
    if len(found) > 1:
        names = ", ".join(path.name for path in found[:5])
        raise BackendError(
            f"{place.name} holds {len(found)} GGUF files: {names}.",
            f"Name one of them, for example {place.name}/{found[0].name}.",
        )
    return found[0]


def hide_progress() -> None:
    """Hide the progress bar of the conversion, which ignores transformers' own setting."""
    from functools import partial

    import transformers.modeling_gguf_pytorch_utils
    from tqdm import tqdm

    reader: Any = transformers.modeling_gguf_pytorch_utils
    reader.tqdm = partial(tqdm, disable=True)


def read_header(path: Path) -> Header:
    """Raises BackendError for a file that is broken, a part of a model or no language model."""
    try:
        from gguf import GGUFReader
    except ModuleNotFoundError as error:
        raise BackendError("GGUF files need the package gguf.", 'pip install "lm-gym[hf]"') from error
    try:
        reader = GGUFReader(path)
        kind, parts, architecture = (
            None if (field := reader.get_field(name)) is None else field.contents()
            for name in ("general.type", "split.count", "general.architecture")
        )
        types = Counter(tensor.tensor_type.name for tensor in reader.tensors)
        numbers = sum(int(tensor.n_elements) for tensor in reader.tensors)
    except Exception as error:  # the package raises whatever the bytes lead it to
        raise BackendError(f"{path.name} is not a readable GGUF file: {first_line(error, path)}") from error
    if parts not in (None, 0, 1):
        raise BackendError(f"{path.name} is one of {parts} parts of a model.", _USE)
    if kind not in (None, "model"):
        raise BackendError(f"{path.name} holds no model ({kind}).", _USE)
    if not architecture or not numbers:
        raise BackendError(f"{path.name} holds no weights of a language model.", _USE)
    return Header(str(architecture), numbers, tuple(name for name, _ in types.most_common()))
