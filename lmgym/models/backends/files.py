"""Checks of model files on disk: allowed locations and contents. Does not need torch.

A model folder is untrusted input. Weights are read only from safetensors, and no file may contain or name code. Names
and shapes of tensors are read from the headers and compared with the configuration before a model is built. This takes
milliseconds, whereas building a model from a configuration that does not match the weights may take hours and use all
memory.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from lmgym.models.backends.base import BackendError, FilesMissing

KEPT = ("*.json", "*.safetensors", "*.txt", "*.model")
"""Files of a model that are fetched, loaded and hashed."""
FETCHED = (*KEPT, "chat_template.jinja")
"""Files of a model that are fetched. The chat template affects no score; it shows which tokens open chat turns."""

_NAME = re.compile(r"\w[\w .+=,@()-]*(/\w[\w .+=,@()-]*)*")
_SHARD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*\.safetensors")
_PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle", ".msgpack", ".h5")
_MAX_JSON = 2_000_000
_CHOSEN_CODE = {
    "attn_implementation": ("attention", (None, "eager", "sdpa")),
    "experts_implementation": ("mixture-of-experts", (None, "eager", "batched_mm", "grouped_mm")),
}
"""Suffixes of keys that select code, possibly from a Hub repository, each with a label and the accepted values.
transformers stores them under names that end in `_internal`; before 5.3, it accepted such names from a configuration
(CVE-2026-4372)."""
_CODE = (
    "use_kernels",
    "kernel_config",
    "kernel_mapping",
    "custom_pipelines",
    "custom_generate",
    "trust_remote_code",  # accepted from LightGlue configurations before 5.5 (CVE-2026-5241)
    "transformers_weights",
    "configuration_files",
    "fast_tokenizer_files",
)
"""Keys that name or allow code, or name files other than those checked here."""
_CONVERT = (
    "If you trust the files, load the model on another machine, save it with "
    "`model.save_pretrained(folder, safe_serialization=True)`, and use that folder."
)

Shapes = Mapping[str, tuple[int, ...]]

MAX_HEADER = 50_000_000
LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
SIDES = {
    "vocabulary": ("vocab_size",),
    "hidden layer": ("hidden_size", "n_embd", "d_model"),
}
_TEXT_PARTS = ("text_config", "llm_config", "language_config")
HINT = "Use the config.json that was saved with these weights."
MAX_LOOPED_LAYERS = 256
"""Some models run their layers several times and count each pass as a layer (HRM). If the configuration has more layers
than the weights, the model is built on the meta device to recognise this case, in 40 ms per layer."""


def inside(model_dir: Path, name: str) -> Path:
    """Resolve a file or folder below `model_dir`.

    Raises:
        BackendError: an absolute name, `..`, a hidden or unusual name, or a link out of the directory.
        FilesMissing: it does not exist.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name) or ".." in name:
        raise BackendError(
            f"{name!r} is not a valid name in the model directory.",
            "Use a relative name of letters, digits, spaces and _ - . + = , @ ( ), with '/' between folders.",
        )
    root = Path(model_dir).resolve()
    path = (root / name).resolve()
    if not path.is_relative_to(root) or path == root:
        raise BackendError(
            f"{name!r} is outside the model directory.",
            "Copy the model into the directory; links out of it are not followed.",
        )
    if not path.exists():
        raise FilesMissing(
            f"There is no {name!r} in the model directory.", "Check the name, or copy the model there."
        )
    return path


def check_folder(folder: Path, root: Path | None = None) -> dict[str, Any]:
    """Check a model folder without unpickling, importing or executing anything.

    Args:
        root: folder that links may not leave; None skips this check (the Hub cache consists of links).

    Returns:
        The contents of config.json.

    Raises:
        BackendError: the folder could run code, has links that leave `root`, lacks files needed for scoring, holds an
            adapter or quantised weights, or its configuration does not match the weights.
    """
    if not folder.is_dir():
        raise BackendError(
            "This is neither a model folder nor a GGUF file.", "Use the folder that contains config.json."
        )
    if root is not None:
        base = Path(root).resolve()
        for entry in folder.iterdir():
            if not entry.resolve().is_relative_to(base):
                raise BackendError(
                    f"{entry.name!r} is a link out of the model directory.",
                    "Replace it with a copy of its target.",
                )
    if (folder / "adapter_config.json").exists():
        raise BackendError(
            "This is an adapter, not a model.", "Merge it into its base model and save the result."
        )
    config = _read_json(folder / "config.json")
    _refuse_code(config, "config.json")
    for name in ("tokenizer_config.json", "generation_config.json"):
        if (folder / name).exists():
            _refuse_code(_read_json(folder / name), name)
    _compare(config, _read_shapes(_weights(folder)))
    return config


def require_no_gguf(*names: str) -> None:
    """Raise BackendError if any of these files is a GGUF file. Called for models without safetensors."""
    for name in names:
        if name.endswith(".gguf"):
            raise BackendError(
                f"The weights exist only as GGUF ({name}), and GGUF files are not fetched from the Hub.",
                "Use the safetensors weights that the file was converted from, or download it into the model "
                "directory and enter its path.",
            )


def _read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object of bounded size."""
    if not path.is_file():
        raise BackendError(f"The model has no {path.name}.", "Use a folder in the format of transformers.")
    if path.stat().st_size > _MAX_JSON:
        raise BackendError(
            f"{path.name} is larger than {_MAX_JSON:,} bytes.", "An ordinary configuration is much smaller."
        )
    try:
        data = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise BackendError(f"{path.name} is not valid JSON: {error}.") from error
    if not isinstance(data, dict):
        raise BackendError(f"{path.name} does not contain a JSON object.")
    return data


def _entries(data: Any) -> Iterator[tuple[str, Any]]:
    """Yield every key with its value, at any depth."""
    stack = [data]
    while stack:
        here = stack.pop()
        if isinstance(here, dict):
            yield from here.items()
            stack.extend(here.values())
        elif isinstance(here, list):
            stack.extend(here)


def _refuse_code(data: dict[str, Any], name: str) -> None:
    """Reject keys by which a configuration contains or fetches code, or refers to other files."""
    for key, value in _entries(data):
        if key == "auto_map" and value:
            raise BackendError(
                f"{name} requires code that comes with the model (auto_map).",
                "Code from models is never run. Use a model whose architecture is part of transformers.",
            )
        for ending, (label, plain) in _CHOSEN_CODE.items():
            if key.removesuffix("_internal").endswith(ending) and value not in plain:
                raise BackendError(
                    f"{name} selects custom {label} code ({value!r}).", f"Remove {key!r} from {name}."
                )
        if key in _CODE and value:
            raise BackendError(f"{name} sets {key!r}, which is not accepted.", f"Remove {key!r} from {name}.")
        if key in ("quantization_config", "compression_config") and value:
            raise BackendError(
                "Quantised safetensors weights are not supported.", "Use the unquantised weights."
            )


def _weights(folder: Path) -> list[Path]:
    """List the safetensors files: a single one, or the shards of an index in the same folder."""
    index = folder / "model.safetensors.index.json"
    if (folder / "model.safetensors").is_file():
        return [folder / "model.safetensors"]
    if not index.is_file():
        require_no_gguf(*sorted(entry.name for entry in folder.iterdir()))
        pickles = sorted(entry.name for entry in folder.iterdir() if entry.suffix in _PICKLES)
        if pickles:
            raise BackendError(
                f"The weights exist only as {pickles[0]}, a format that can run code when a file is read.",
                _CONVERT,
            )
        raise BackendError("The model has no model.safetensors.", _CONVERT)
    if index.stat().st_size > 50_000_000:
        raise BackendError(f"{index.name} is too large to be an index.")
    try:
        shards = set(json.loads(index.read_bytes())["weight_map"].values())
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
        raise BackendError(f"{index.name} is not a valid weight index.") from error
    for shard in sorted(map(str, shards)):
        if not _SHARD.fullmatch(shard):
            raise BackendError(
                f"{index.name} names {shard!r}, which is not a safetensors file in the same folder."
            )
        if not (folder / shard).is_file():
            raise BackendError(
                f"The weights are not complete: {shard} is missing.", "Copy all parts of the model."
            )
    return [folder / shard for shard in sorted(map(str, shards))]


def count_numbers(folder: Path) -> int:
    """Count the parameters of the model in a checked folder, from the headers of its weight files."""
    return sum(math.prod(shape) for shape in _read_shapes(_weights(folder)).values())


# ---- the headers of the weights ----


def _read_shapes(paths: Iterable[Path]) -> dict[str, tuple[int, ...]]:
    """Read name and shape of every tensor in safetensors files. Raises BackendError."""
    shapes: dict[str, tuple[int, ...]] = {}
    for path in paths:
        for name, entry in _header(path).items():
            if name != "__metadata__":
                shapes[name] = _shape(path, name, entry)
    return shapes


def _header(path: Path) -> dict[str, Any]:
    with path.open("rb") as stream:
        size = int.from_bytes(stream.read(8), "little")
        if size > min(MAX_HEADER, path.stat().st_size - 8):
            raise BackendError(
                f"The weights could not be loaded: the header of {path.name} is truncated or too long."
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
            f"The weights could not be loaded: {path.name} has no valid shape for {name[:100]!r}."
        )
    return tuple(shape)


def _compare(config: Mapping[str, Any], shapes: Shapes) -> None:
    """Reject a configuration with many more layers than the weights, or with a vocabulary or hidden size that no tensor
    has.

    For a multimodal model, only the text part is checked.

    Raises:
        BackendError: the configuration does not match the weights.
    """
    text = _text_part(config)
    if missing := _missing_layers(text, shapes, more_than=MAX_LOOPED_LAYERS):
        raise BackendError(missing, HINT)
    sides = {side for shape in shapes.values() for side in shape}
    for label, keys in SIDES.items():
        for key in keys:
            size = text.get(key)
            if type(size) is int and size not in sides:
                raise BackendError(
                    f"config.json gives the size of the {label} as {size:,} ({key}), but no tensor of the weights has "
                    "a dimension of that size.",
                    HINT,
                )


def missing_layers(folder: Path) -> str:
    """Return a message if the configuration of a checked folder has more layers than the weights, else "".

    A model that runs its layers several times may still be complete.
    """
    return _missing_layers(
        _text_part(_read_json(folder / "config.json")), _read_shapes(_weights(folder)), more_than=0
    )


def _missing_layers(text: Mapping[str, Any], shapes: Shapes, *, more_than: int) -> str:
    stored = layers_stored(shapes)
    for key in _layer_keys(text):
        configured = text.get(key)
        if type(configured) is int and configured > max(stored, more_than):
            return f"config.json has {configured:,} layers ({key}), but the weights have {stored:,}."
    return ""


def _text_part(config: Mapping[str, Any]) -> Mapping[str, Any]:
    return next((config[name] for name in _TEXT_PARTS if isinstance(config.get(name), dict)), config)


def _layer_keys(text: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the configuration keys that hold the number of layers.

    ALBERT applies one layer many times; decoders taken from an encoder-decoder have a separate key.
    """
    if "num_hidden_groups" in text:
        return ("num_hidden_groups",)
    return ("decoder_layers",) if "decoder_layers" in text else LAYERS


def layers_stored(shapes: Shapes) -> int:
    """Return one plus the highest number in a tensor's name, an upper bound on the number of layers.

    Layers are numbered from 0; parts of a layer may be numbered as well.
    """
    numbers = (
        int(part) for name in shapes for part in name.split(".") if part.isdecimal() and len(part) < 10
    )
    return max(numbers, default=-1) + 1
