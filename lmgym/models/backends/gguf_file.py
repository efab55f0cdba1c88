"""GGUF files of llama.cpp, which are often quantised: locate a file and read its header.

transformers loads them and computes with dequantised weights, so a quantised file gives the values of its rounded
weights in the configured number format. The package gguf is imported when a file is opened.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmgym.models.backends.base import BackendError, first_line
from lmgym.text import listing

SUFFIX = ".gguf"
_USE = "Use a file with the whole model, or the safetensors weights that it was converted from."


@dataclass(frozen=True)
class Header:
    """Header of a GGUF file.

    Attributes:
        numbers: number of parameters.
        types: formats of the tensors, most frequent first.
    """

    architecture: str
    numbers: int
    types: tuple[str, ...]


def find(path: Path) -> Path | None:
    """Locate the GGUF file at a path: the file itself, or the only one in a folder without safetensors.

    Returns:
        The file, or None if the path has no GGUF file.

    Raises:
        BackendError: the folder has several GGUF files.
    """
    if path.is_file():
        return path if path.suffix == SUFFIX else None
    candidates = sorted(path.glob(f"*{SUFFIX}"))
    if not candidates or any(path.glob("*.safetensors")):
        return None
    if len(candidates) > 1:
        names = listing([candidate.name for candidate in candidates], 5)
        raise BackendError(
            f"{path.name} contains {len(candidates)} GGUF files: {names}.",
            f"Choose one of them, for example {path.name}/{candidates[0].name}.",
        )
    return candidates[0]


def hide_progress() -> None:
    """Hide the progress bar of the conversion, which ignores transformers' setting."""
    from functools import partial
    from importlib import import_module

    from tqdm import tqdm

    # Not `transformers.modeling_gguf_pytorch_utils`: the lazy package may lack it when loaded a second time.
    reader: Any = import_module("transformers.modeling_gguf_pytorch_utils")
    reader.tqdm = partial(tqdm, disable=True)


def read_header(path: Path) -> Header:
    """Read the header of a GGUF file. Raises BackendError if the file is invalid or does not hold a whole language
    model, or if the package gguf is not installed."""
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
    except Exception as error:  # the package raises all kinds of exceptions for broken files
        raise BackendError(f"{path.name} is not a readable GGUF file: {first_line(error, path)}") from error
    if parts not in (None, 0, 1):
        raise BackendError(f"{path.name} is one of {parts} parts of a model.", _USE)
    if kind not in (None, "model"):
        raise BackendError(f"{path.name} is not a model ({kind}).", _USE)
    if not architecture or not numbers:
        raise BackendError(f"{path.name} contains no language model weights.", _USE)
    return Header(str(architecture), numbers, tuple(name for name, _ in types.most_common()))
