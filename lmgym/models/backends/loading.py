"""Reading a model folder: where it is, its tokenizer, its weights, and what is known about it then.

torch and transformers are imported inside functions. Code that comes with a model is never run, and nothing
but safetensors is read (see `files.check_folder`).
"""

from __future__ import annotations

import copy
import gc
import hashlib
import platform
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmgym.models.backends import files, gguf_file, hub
from lmgym.models.backends.base import BackendError, BackendUnavailable, DeviceMissing, first_line
from lmgym.models.backends.memory_check import require_memory
from lmgym.models.backends.tokenizer_file import hold_to_file, no_tokenizer
from lmgym.models.backends.unchanged import Seen
from lmgym.models.engine.device_errors import says_broken
from lmgym.models.engine.scores import ScoringFailure

if TYPE_CHECKING:
    import torch

SAFE: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}


@dataclass(frozen=True)
class Folder:
    """A checked model folder, or a GGUF file. `seen` are its files before anything was read; `commit` is that of the
    hub, which names what it holds."""

    path: Path
    seen: Seen
    revision: str = ""
    commit: str = ""

    @property
    def content(self) -> str:
        """A name for weights, configuration and tokenizer, once they are all loaded. All files are read for it, which
        takes a second per gigabyte or two. Raises BackendUnavailable when they are no longer what was loaded."""
        self.seen.confirm()
        return self.commit or self.seen.digest


def find(config: dict[str, Any], *, model_dir: Path, hub_allowed: bool) -> Folder:
    """The folder that {"source": "hub", "repo", "revision"} or {"source": "directory", "path"} names, fetched
    if need be. Raises BackendError."""
    if config["source"] == "hub":
        if not hub_allowed:
            raise BackendError(
                "This site does not fetch models from the Hugging Face Hub.",
                "Put the model into the model directory, or allow the Hub in the settings.",
            )
        folder, revision = hub.fetch(config["repo"], config.get("revision", "main"))
        seen = Seen(folder, in_cache=True)
        files.check_folder(folder, None)
        commit = hashlib.sha256(f"{config['repo']}@{revision}".encode()).hexdigest()
        return Folder(folder, seen.read(), revision, commit)
    place = files.inside(model_dir, config["path"])
    if (gguf := gguf_file.find(place)) is not None:
        gguf = files.inside(model_dir, str(gguf.relative_to(Path(model_dir).resolve())))
        seen = Seen(gguf)
        gguf_file.read_header(gguf)
        return Folder(gguf, seen.read())
    seen = Seen(place)
    files.check_folder(place, model_dir)
    return Folder(place, seen.read())


EVERY_GPU = "cuda:all"
"""The device of a model that is larger than one GPU: accelerate spreads its layers over all of them."""

SPREAD: dict[str, Any] = {"device_map": "auto"}
"""How from_pretrained is told to spread a model."""

_one_at_a_time = threading.Lock()
"""transformers builds a model on no device by settings of the whole process: of two that are read at once, one may stay
without weights."""


def choose_device(name: str) -> torch.device:
    """ "auto" is the first CUDA device, else the CPU; for "cuda:all" the one that inputs go to. DeviceMissing for one
    that is not there."""
    import torch

    if name == EVERY_GPU:
        if not torch.cuda.is_available():
            raise DeviceMissing(
                "There is no GPU on this machine to spread the model over.", 'Use "auto" or "cpu".', "a GPU"
            )
        return torch.device("cuda", 0)
    if name == "auto":
        return torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    device = torch.device(name)
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise DeviceMissing(
            f"There is no device {name} on this machine.", 'Use "auto" or "cpu".', f"the device {name}"
        )
    return torch.device("cuda", device.index or 0) if device.type == "cuda" else device


def _source(place: Path) -> tuple[Path, dict[str, Any]]:
    """Arguments of from_pretrained for a model folder or a GGUF file."""
    return (
        (place.parent, SAFE | {"gguf_file": place.name})
        if place.suffix == gguf_file.SUFFIX
        else (place, SAFE)
    )


def read_settings(place: Path, hint: str) -> tuple[Any, str]:
    """The model's configuration, and what it says the model is."""
    from transformers import AutoConfig

    folder, how = _source(place)
    try:
        settings = AutoConfig.from_pretrained(folder, **how)
    except Exception as error:
        name = "config.json" if folder == place else place.name
        raise BackendError(f"{name} could not be read: {first_line(error, folder)}", hint) from error
    return settings, ", ".join(settings.architectures or ()) or settings.model_type


def read_tokenizer(folder: Path, notes: list[str] | None = None, *, framed: bool = False) -> Any:
    """A tokenizer that knows which characters each token came from, and gives the ids of tokenizer.json
    (`tokenizer_file.hold_to_file`, which adds to `notes`)."""
    from transformers import AutoTokenizer

    try:
        source, how = _source(folder)
        tokenizer = AutoTokenizer.from_pretrained(source, use_fast=True, **how)
    except Exception as error:
        raise no_tokenizer(folder, first_line(error, folder)) from error
    if not tokenizer.is_fast:
        raise BackendError(
            f"{type(tokenizer).__name__} does not say which characters a token covers.",
            "A fast tokenizer (tokenizer.json) is needed to sum tokens by region.",
        )
    return hold_to_file(tokenizer, folder, [] if notes is None else notes, framed=framed)


def read_model(
    folder: Path,
    settings: Any,
    dtype: torch.dtype,
    device: torch.device,
    auto: Any = None,
    *,
    spread: bool = False,
) -> Any:
    """The model in eval mode on its device, with every weight found in the files. `auto` is the transformers
    class that builds it; None = AutoModelForCausalLM. With `spread` its layers are put where there is room, on
    all GPUs and then in main memory, and move their inputs themselves."""
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    quiet: Any = logging
    quiet.disable_progress_bar()
    auto = auto or AutoModelForCausalLM
    try:
        with _one_at_a_time:
            _set_libraries_aside()
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
            f"The files lack {len(absent)} of the model's weights, for instance {absent[0]}.",
            "They would be random numbers. Save the model with its language-model head.",
        )
    model.config.get_text_config().use_cache = False
    return model.eval()


def _require_layers(folder: Path, settings: Any, auto: Any) -> None:
    """Where the weights hold fewer layers than the configuration asks for, build the model without memory and look what
    it lacks: nothing, if it runs its layers several times. Otherwise all layers that are missing would be made up
    before transformers says so. Raises BackendError."""
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
    """Products of float32 matrices stay float32 on GPUs: TF32 keeps 10 of the 23 bits of their fractions. An import or
    an environment variable (TORCH_ALLOW_TF32_CUBLAS_OVERRIDE) may have switched it on."""
    import torch

    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.allow_tf32 = False


@cache
def _set_libraries_aside() -> None:
    """The 370,000 objects of torch and transformers live as long as the process, and each full garbage collection takes
    0.3 s to walk through them. Called before the first model is there, so that none is kept alive by it."""
    gc.collect()
    gc.freeze()


def _loading_error(error: Exception, folder: Path, device: torch.device) -> BackendError:
    from lmgym.models.engine.memory import is_out_of_memory

    if is_out_of_memory(error):
        return BackendError(
            f"The model does not fit into the memory of {device}.", "Use a smaller model or dtype."
        )
    if says_broken(error):
        return BackendUnavailable(f"{device} does not work: {first_line(error, folder)}")
    return BackendError(f"The weights could not be loaded: {first_line(error, folder)}")


def context_length(settings: Any) -> int | None:
    """Most tokens that the configuration allows; None when it states no limit."""
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
    """`context_length`, less what a table of positions holds for padding: RoBERTa and its relatives count positions
    from behind the padding's row, so a text gets those that are left."""
    stated = context_length(settings)
    left = [
        int(layer.weight.shape[0]) - layer.padding_idx - 1
        for name, layer in model.named_modules()
        if name.endswith("position_embeddings") and getattr(layer, "padding_idx", None) is not None
    ]
    return min(left if stated is None else [*left, stated], default=None)


def unreadable(text: str, ids: Sequence[int], limit: int | None, vocabulary: int) -> ScoringFailure | None:
    """Why a model of this context length and vocabulary cannot read a text's tokens; None if it can."""
    if limit is not None and len(ids) > limit:
        shown = text if len(text) <= 60 else text[:57] + "..."
        return ScoringFailure(
            f"The text is too long: {len(ids)} tokens, and the model reads {limit}: {shown!r}."
        )
    if ids and max(ids) >= vocabulary:
        return ScoringFailure("The tokenizer gives a token that the model has no vector for.")
    return None


def device_name(device: torch.device, model: Any) -> str:
    """The device in words; for a spread model all that hold a part of it."""
    import torch

    held = sorted({str(place) for place in getattr(model, "hf_device_map", {}).values()})
    if len(held) > 1:
        return f"{device.type}, spread over {', '.join(held)}"
    return f"{device} ({torch.cuda.get_device_name(device)})" if device.type == "cuda" else str(device)


def describe_device(name: str) -> str:
    """The device that models run on whose cards name none, in words. Raises DeviceMissing."""
    import torch

    device = choose_device(name)
    if name != EVERY_GPU:
        return device_name(device, None)
    named = (device_name(torch.device("cuda", number), None) for number in range(torch.cuda.device_count()))
    return f"cuda, models spread over {', '.join(named)}"


def versions() -> dict[str, str]:
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
