"""Load a model folder: locate it, and read its configuration, tokenizer and weights.

torch and transformers are imported inside functions. Code that comes with a model is never run, and only safetensors
weights are read (see `files.check_folder`).
"""

from __future__ import annotations

import copy
import gc
import hashlib
import platform
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmgym.models.backends import files, gguf_file, hub
from lmgym.models.backends.base import BackendError, BackendUnavailable, DeviceMissing, first_line
from lmgym.models.backends.memory_check import require_memory
from lmgym.models.backends.tokenizer_file import matching_tokenizer, no_tokenizer
from lmgym.models.backends.unchanged import FileSnapshot
from lmgym.models.engine.batching import Unscorable
from lmgym.models.engine.device_errors import reports_device_failure
from lmgym.models.engine.lengths import full_attention_limit
from lmgym.models.engine.scores import ScoringFailure

if TYPE_CHECKING:
    import torch

SAFE: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}


@dataclass(frozen=True)
class Folder:
    """A checked model folder or GGUF file.

    Attributes:
        snapshot: state of the files before they were read.
        revision: commit of a Hub model.
        commit: hash of repository and commit, which identifies the contents.
    """

    path: Path
    snapshot: FileSnapshot
    revision: str = ""
    commit: str = ""

    @property
    def content(self) -> str:
        """Hash that identifies weights, configuration and tokenizer, computed after loading.

        Reads all files, which takes about a second per one to two gigabytes. Raises BackendUnavailable if they changed.
        """
        self.snapshot.confirm()
        return self.commit or self.snapshot.digest


def find(config: dict[str, Any], *, model_dir: Path, hub_allowed: bool) -> Folder:
    """Locate and check a model folder, and fetch it if needed.

    Args:
        config: {"source": "hub", "repo", "revision"} or {"source": "directory", "path"}.

    Raises:
        BackendError: the folder cannot be used.
    """
    if config["source"] == "hub":
        if not hub_allowed:
            raise BackendError(
                "This site does not download models from the Hugging Face Hub.",
                "Put the model into the model directory, or enable the Hub in the settings.",
            )
        fetched = hub.fetch(config["repo"], config.get("revision", "main"))
        snapshot = FileSnapshot(fetched.folder, in_cache=True)
        files.check_folder(fetched.folder, None)
        commit = hashlib.sha256(f"{fetched.repo}@{fetched.commit}".encode()).hexdigest()
        return Folder(fetched.folder, snapshot.read(), fetched.commit, commit)
    path = files.inside(model_dir, config["path"])
    if (gguf := gguf_file.find(path)) is not None:
        gguf = files.inside(model_dir, str(gguf.relative_to(Path(model_dir).resolve())))
        snapshot = FileSnapshot(gguf)
        gguf_file.read_header(gguf)
        return Folder(gguf, snapshot.read())
    snapshot = FileSnapshot(path)
    files.check_folder(path, model_dir)
    return Folder(path, snapshot.read())


EVERY_GPU = "cuda:all"
"""Device setting for a model larger than one GPU: accelerate distributes its layers over all GPUs."""

SPREAD: dict[str, Any] = {"device_map": "auto"}
"""Arguments of from_pretrained to distribute a model."""

_one_at_a_time = threading.Lock()
"""transformers uses process-wide settings to build a model on the meta device. If two models were loaded at
once, one of them might be left without weights."""


def choose_device(name: str) -> torch.device:
    """Choose a device.

    Args:
        name: "auto" means the first CUDA device, else the CPU; for "cuda:all" the device of the inputs is returned.

    Raises:
        DeviceMissing: this machine does not have the device.
    """
    import torch

    if name == EVERY_GPU:
        if not torch.cuda.is_available():
            raise DeviceMissing(
                "This machine has no GPU to distribute the model over.", 'Use "auto" or "cpu".', "a GPU"
            )
        return torch.device("cuda", 0)
    if name == "auto":
        return torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    device = torch.device(name)
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise DeviceMissing(
            f"This machine has no device {name}.", 'Use "auto" or "cpu".', f"the device {name}"
        )
    return torch.device("cuda", device.index or 0) if device.type == "cuda" else device


def _source(path: Path) -> tuple[Path, dict[str, Any]]:
    """Return the arguments of from_pretrained for a model folder or GGUF file."""
    return (path.parent, SAFE | {"gguf_file": path.name}) if path.suffix == gguf_file.SUFFIX else (path, SAFE)


def read_settings(path: Path, hint: str) -> tuple[Any, str]:
    """Read the model's configuration. Returns it with its architectures, or its model type if it names none.

    Raises BackendError if it cannot be read.
    """
    from transformers import AutoConfig

    folder, how = _source(path)
    try:
        settings = AutoConfig.from_pretrained(folder, **how)
    except Exception as error:
        name = "config.json" if folder == path else path.name
        raise BackendError(f"{name} could not be read: {first_line(error, folder)}", hint) from error
    return settings, ", ".join(settings.architectures or ()) or settings.model_type


def read_tokenizer(folder: Path, notes: list[str] | None = None, *, framed: bool = False) -> Any:
    """Load a fast tokenizer that gives the same ids as tokenizer.json (see `tokenizer_file.matching_tokenizer`).

    Args:
        notes: receives a note if the tokenizer of transformers differs from the file.
        framed: texts are placed between the tokenizer's special tokens.

    Raises:
        BackendError: there is no valid tokenizer, or it is not a fast one.
    """
    from transformers import AutoTokenizer

    try:
        source, how = _source(folder)
        tokenizer = AutoTokenizer.from_pretrained(source, use_fast=True, **how)
    except Exception as error:
        raise no_tokenizer(folder, first_line(error, folder)) from error
    if not tokenizer.is_fast:
        raise BackendError(
            f"{type(tokenizer).__name__} does not report which characters a token covers.",
            "A fast tokenizer (tokenizer.json) is needed to sum tokens by region.",
        )
    return matching_tokenizer(tokenizer, folder, [] if notes is None else notes, framed=framed)


def read_model(
    folder: Path,
    settings: Any,
    dtype: torch.dtype,
    device: torch.device,
    auto: Any = None,
    *,
    spread: bool = False,
) -> Any:
    """Load a model in eval mode.

    Args:
        auto: transformers class that builds it; None = AutoModelForCausalLM.
        spread: distribute the layers over all GPUs and then main memory; accelerate moves the inputs of each layer.

    Raises:
        BackendError: the weights are incomplete, do not fit into memory, or cannot be loaded.
    """
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    quiet: Any = logging
    quiet.disable_progress_bar()
    auto = auto or AutoModelForCausalLM
    try:
        with _one_at_a_time:
            _freeze_libraries()
            require_memory(folder, dtype, device, spread=spread)
            full_precision()
            source, how = _source(folder)
            if source == folder:
                _require_layers(folder, settings, auto)
            else:
                gguf_file.hide_progress()
            model, report = auto.from_pretrained(
                source,
                config=settings,
                dtype=dtype,
                use_safetensors=True,
                output_loading_info=True,
                **how,
                **(SPREAD if spread else {}),
            )
        model = model if spread else model.to(device)
    except BackendError:
        raise
    except Exception as error:
        raise _loading_error(error, folder, device) from error
    absent = sorted(map(str, [*report["missing_keys"], *report["mismatched_keys"]]))
    if absent:
        raise BackendError(
            f"The files lack {len(absent)} of the model's weights, for example {absent[0]}.",
            "They would be initialised at random. Save the model with its language-model head.",
        )
    model.config.get_text_config().use_cache = False
    return model.eval()


def _require_layers(folder: Path, settings: Any, auto: Any) -> None:
    """Check that the weights have all layers that the configuration declares.

    Fewer stored than configured layers may be correct: some models run the same layers several times. The model is
    therefore built on the meta device to see which weights are missing. Loading it normally would initialise every
    missing layer before reporting it.

    Raises:
        BackendError: layers are missing.
    """
    missing = files.missing_layers(folder)
    if not missing:
        return
    _, report = auto.from_pretrained(
        folder,
        config=copy.deepcopy(settings),
        device_map="meta",
        use_safetensors=True,
        output_loading_info=True,
        **SAFE,
    )
    if report["missing_keys"]:
        raise BackendError(missing, files.HINT)


def full_precision() -> None:
    """Make GPUs compute float32 products in full precision; TF32 keeps only 10 of 23 fraction bits.

    An import or an environment variable (TORCH_ALLOW_TF32_CUBLAS_OVERRIDE) may have enabled TF32.
    """
    import torch

    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.allow_tf32 = False


@cache
def _freeze_libraries() -> None:
    """Exclude the 370,000 objects of torch and transformers from garbage collection, which saves 0.3 s per full
    collection.

    Called before the first model is loaded, so that no model is kept alive.
    """
    gc.collect()
    gc.freeze()


def _loading_error(error: Exception, folder: Path, device: torch.device) -> BackendError:
    from lmgym.models.engine.memory import is_out_of_memory

    if is_out_of_memory(error):
        return BackendError(
            f"The model does not fit into the memory of {device}.", "Use a smaller model or dtype."
        )
    if reports_device_failure(error):
        return BackendUnavailable(f"The device {device} reported an error: {first_line(error, folder)}")
    return BackendError(f"The weights could not be loaded: {first_line(error, folder)}")


@contextmanager
def refuse_unscorable(hint: str) -> Iterator[None]:
    """Raise BackendError for a model that fails the engine's tests."""
    try:
        yield
    except Unscorable as error:
        raise BackendError(str(error), hint) from error


def context_length(settings: Any) -> int | None:
    """Return the maximum number of tokens in the configuration; None = no limit."""
    text = settings.get_text_config()
    for name in (
        "max_position_embeddings",
        "n_positions",
        "n_ctx",
        "max_sequence_length",
        "max_seq_len",
        "seq_length",
    ):
        value = getattr(text, name, None)
        if isinstance(value, int) and value > 0:
            return value
    return None


def readable_length(settings: Any, model: Any) -> int | None:
    """Return the maximum number of tokens that the model can read, or None for no limit.

    It is the smallest of `context_length`, `full_attention_limit` and the number of position embeddings that are left
    after padding (as in RoBERTa).
    """
    limits = [context_length(settings), full_attention_limit(settings)]
    limits += [
        int(layer.weight.shape[0]) - layer.padding_idx - 1
        for name, layer in model.named_modules()
        if name.endswith("position_embeddings") and getattr(layer, "padding_idx", None) is not None
    ]
    return min((limit for limit in limits if limit is not None), default=None)


def unreadable(text: str, ids: Sequence[int], limit: int | None, vocabulary: int) -> ScoringFailure | None:
    """Return why a model cannot read the tokens of a text; None if it can."""
    if limit is not None and len(ids) > limit:
        shown = text if len(text) <= 60 else text[:57] + "..."
        return ScoringFailure(
            f"The text is too long: {len(ids)} tokens, but the model reads at most {limit}: {shown!r}."
        )
    if ids and max(ids) >= vocabulary:
        return ScoringFailure("The tokenizer returned a token for which the model has no embedding.")
    return None


def device_name(device: torch.device, model: Any) -> str:
    """Name the device for display; for a distributed model, all its devices."""
    import torch

    devices = sorted({str(part) for part in getattr(model, "hf_device_map", {}).values()})
    if len(devices) > 1:
        return f"{device.type}, spread over {', '.join(devices)}"
    return f"{device} ({torch.cuda.get_device_name(device)})" if device.type == "cuda" else str(device)


def describe_device(name: str) -> str:
    """Name the device that a device setting selects, for display. Raises DeviceMissing."""
    import torch

    device = choose_device(name)
    if name != EVERY_GPU:
        return device_name(device, None)
    names = (device_name(torch.device("cuda", number), None) for number in range(torch.cuda.device_count()))
    return f"cuda, models spread over {', '.join(names)}"


def versions() -> dict[str, str]:
    """Return the versions of libraries that can change values."""
    import tokenizers
    import torch
    import transformers

    from lmgym.models.engine import ENGINE_VERSION

    return {
        "engine": ENGINE_VERSION,
        "python": platform.python_version(),
        "tokenizers": str(tokenizers.__version__),
        "torch": str(torch.__version__),
        "transformers": str(transformers.__version__),
    }
