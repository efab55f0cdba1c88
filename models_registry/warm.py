"""LRU cache of loaded models under a memory budget, so that the next run of a model starts right away.

For workers and the command line; never called in the web process. A model in use is never evicted, even if the budget
is exceeded."""

from __future__ import annotations

import gc
import json
import logging
import os
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, TypeVar

from django.conf import settings
from django.db import connection
from django.dispatch import receiver

from gym.jobs.process_memory import process_bytes
from gym.jobs.worker import report, worker_replaced, worker_signed_in, worker_threads
from gym.outbound_policy import net_policy
from gym.secrets import SecretError, reveal
from lmgym.models.backends import (
    BACKENDS,
    Backend,
    BackendError,
    DeviceMissing,
    ExternalAccess,
    MemoryInUse,
    load_backend,
)
from lmgym.models.backends.unchanged import has_changed_files
from lmgym.models.engine.scores import HALF_TYPES
from models_registry.hub_tokens import token_for
from models_registry.models import BYTES_PER_NUMBER, RegisteredModel
from models_registry.weights import fetched

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

SHARE_OF_RAM = 0.5
SHARE_OF_GPU = 0.8
MEGABYTE = 1_000_000


@dataclass
class _CacheEntry:
    """A model that is loaded or being loaded. During loading, `backend` is None; `ready` is set when loading ends."""

    slug: str
    needed_bytes: int
    backend: Backend | None = None
    bytes: int = 0
    seconds: float = 0.0
    users: int = 0
    ready: threading.Event = field(default_factory=threading.Event)


_cache: OrderedDict[str, _CacheEntry] = OrderedDict()
_lock = threading.Lock()  # guards `_cache`; never held while a model loads
_threads = 0


@contextmanager
def loaded_model(model: RegisteredModel) -> Iterator[Backend]:
    """Keep the model's backend in memory while the block runs. Raises BackendError if it cannot be loaded or its files
    differ from those that were checked."""
    entry = _pinned(model)
    try:
        yield _backend(entry)
    finally:
        with _lock:
            entry.users -= 1
            _make_room(0)


def load_pinned(model: RegisteredModel) -> Backend:
    """Return the model's backend like `loaded_model`, for short-lived processes."""
    with loaded_model(model) as backend:
        return backend


def load_registered(model: RegisteredModel) -> Backend:
    """Return the model's backend, from the cache if loaded, without comparing it with the check's results. Raises
    BackendError."""
    entry = _acquire(model)
    with _lock:
        entry.users -= 1
    return _backend(entry)


def fetching(model: RegisteredModel) -> Callable[[], object]:
    """Return a function, for another thread, that downloads the model's files from the Hub unless this
    machine has them. The function makes no database query and may raise BackendError."""
    config, token = effective_config(model), token_for(model)
    return lambda: fetched(config, token)


@receiver(worker_replaced, dispatch_uid="models_registry.warm")
def import_libraries(**kwargs: Any) -> None:
    """Import transformers in advance if any ready model needs it, because this takes seven seconds of CPU
    time."""
    kinds = [kind for kind, spec in BACKENDS.items() if spec.needs_torch]
    if RegisteredModel.objects.filter(backend__in=kinds, status=RegisteredModel.Status.READY).exists():
        from transformers import PreTrainedModel  # noqa: F401


GPU_FILES = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")
"""Device files of GPU drivers: NVIDIA, AMD, Windows Subsystem for Linux."""


@receiver(worker_signed_in, dispatch_uid="models_registry.warm")
def report_device(**kwargs: Any) -> None:
    """Report the device before the first model is loaded, if there may be a GPU."""
    if any(os.path.exists(path) for path in GPU_FILES):
        threading.Thread(target=_report_device, name="device", daemon=True).start()


def _report_device() -> None:
    from lmgym.models.backends.loading import describe_device

    try:
        _report({describe_device(settings.GYM_DEVICE)})
    except DeviceMissing as error:
        _report({error.message})
    finally:
        connection.close()


def forget(model: RegisteredModel | None = None) -> None:
    """Evict one model, or all. Code that is using a model keeps its reference."""
    with _lock:
        evicted = [
            key
            for key, entry in _cache.items()
            if entry.backend is not None and (model is None or entry.slug == model.slug or key == _key(model))
        ]
        for key in evicted:
            del _cache[key]
    _free_memory()


def retry_after_eviction(load: Callable[[], Result]) -> Result:
    """Call `load`. If the device's memory is full, evict this worker's idle models and try once more."""
    try:
        return load()
    except MemoryInUse:
        if not _evict_idle():
            raise
    return load()


def _evict_idle() -> bool:
    """Evict all idle models. Return True if any was evicted."""
    with _lock:
        idle = [key for key, entry in _cache.items() if entry.backend is not None and not entry.users]
        for key in idle:
            logger.info("evicted %s to free memory", _cache.pop(key).slug)
    _free_memory()
    return bool(idle)


def _free_memory() -> None:
    """Release the memory of evicted models. torch would keep GPU memory that other workers and the child process of a
    check need."""
    gc.collect()
    if "torch" in sys.modules:
        import torch  # blocks while another thread imports it

        if torch.cuda.is_initialized():
            torch.cuda.empty_cache()


def _pinned(model: RegisteredModel) -> _CacheEntry:
    entry = _acquire(model)
    if _differs(entry, model):
        _drop(entry)  # it may have been loaded before the files changed: load them again
        entry = _acquire(model)
    if _differs(entry, model):
        _drop(entry)
        raise files_changed(model)
    return entry


def files_changed(model: RegisteredModel) -> BackendError:
    """Return the error for a model whose files differ from those that were checked."""
    return BackendError(
        f"The files of {model.slug} are not those that were checked.",
        "Check the model again. Its results so far belong to the old files.",
    )


def _differs(entry: _CacheEntry, model: RegisteredModel) -> bool:
    return bool(model.fingerprint) and _backend(entry).facts.fingerprint != model.fingerprint


def _backend(entry: _CacheEntry) -> Backend:
    assert entry.backend is not None
    return entry.backend


def _drop(entry: _CacheEntry) -> None:
    with _lock:
        entry.users -= 1
        for key in [key for key, other in _cache.items() if other is entry]:
            del _cache[key]


def _acquire(model: RegisteredModel) -> _CacheEntry:
    """Return the loaded model after counting one more user. While one thread loads a model, others that need it wait.
    Other models load concurrently, except for reading weights (`loading.read_model`)."""
    config, key = effective_config(model), _key(model)
    while True:
        with _lock:
            entry = _cache.get(key)
            if entry is None or _is_stale(entry, model, config):
                _make_room(model.weight_bytes)
                entry = _cache[key] = _CacheEntry(model.slug, model.weight_bytes, users=1)
                break
            if entry.backend is not None:
                _cache.move_to_end(key)
                entry.users += 1
                return entry
        entry.ready.wait()  # loaded, or failed, in another thread: check again
    return _load(key, entry, model, config)


def _key(model: RegisteredModel) -> str:
    """Return the cache key, which identifies the model without the kernels and start token that the check chose."""
    return json.dumps([model.backend, _pinned_config(model), model.secrets], sort_keys=True)


def _is_stale(entry: _CacheEntry, model: RegisteredModel, config: dict[str, object]) -> bool:
    """Return True if a loaded model has other kernels or another start token than its last check, or other files."""
    if entry.backend is None:
        return False
    facts = entry.backend.facts
    has_other_start = bool(model.start_tokens) and facts.bos != model.facts["bos"]
    has_other_kernels = config.get("kernels") not in (None, facts.kernels)
    return has_other_start or has_other_kernels or has_changed_files(entry.backend)


def _load(key: str, entry: _CacheEntry, model: RegisteredModel, config: dict[str, object]) -> _CacheEntry:
    try:
        before, started = process_bytes(), perf_counter()
        if BACKENDS[model.backend].needs_torch:
            set_threads()
            _require_gpu(model, config)
        backend = retry_after_eviction(
            lambda: load_backend(
                model.backend,
                fetched(config, token_for(model)),
                model_dir=settings.GYM_MODEL_DIR,
                hub_allowed=settings.GYM_HUB_ALLOWED,
                external_access=_external_access(model),
            )
        )
    except BaseException:
        with _lock:
            del _cache[key]
        entry.ready.set()
        raise
    facts = backend.facts
    weights = (facts.parameters or 0) * BYTES_PER_NUMBER.get(facts.dtype, 4)
    with _lock:
        entry.seconds = perf_counter() - started
        # Weights are counted exactly; other backends by the growth of the process.
        entry.bytes = weights if BACKENDS[model.backend].needs_torch else max(0, process_bytes() - before)
        entry.backend = backend
    entry.ready.set()
    logger.info("loaded %s in %.1f s, %.0f MB", model.slug, entry.seconds, entry.bytes / MEGABYTE)
    RegisteredModel.objects.filter(pk=model.pk).update(load_seconds=round(entry.seconds, 2))
    _report()
    return entry


def _require_gpu(model: RegisteredModel, config: dict[str, object]) -> None:
    """Raise DeviceMissing if the model was checked in half precision on a GPU and this worker has no GPU: in float32 it
    would compute different numbers."""
    dtype = str(model.facts.get("dtype"))
    if dtype not in HALF_TYPES or config.get("cpu_bfloat16"):
        return
    from lmgym.models.backends.loading import choose_device

    if choose_device(str(config["device"])).type == "cpu":
        raise DeviceMissing(
            f"{model.slug} was checked in {dtype}, which needs a GPU, and this worker has none.",
            "Start a worker on a machine with a GPU; or choose float32 and check the model again.",
            "a GPU",
        )


# --- the budget ---


def _make_room(needed: int) -> None:
    """Evict idle models, least recently used first, until `needed` more bytes fit the budget. Call with the lock."""
    budget = budget_bytes()
    for key, entry in list(_cache.items()):
        if sum(_size(other) for other in _cache.values()) + needed <= budget:
            return
        if entry.backend is not None and not entry.users:
            del _cache[key]
            entry.backend = None
            logger.info("evicted %s to free memory", entry.slug)
            del entry
            _free_memory()
    if needed and (total := sum(_size(other) for other in _cache.values()) + needed) > budget:
        logger.warning(
            "models in use and the next one take %.0f MB; the budget is %.0f MB",
            total / MEGABYTE,
            budget / MEGABYTE,
        )


def _size(entry: _CacheEntry) -> int:
    return entry.bytes if entry.backend is not None else entry.needed_bytes


def budget_bytes() -> int:
    """Return the memory budget in bytes: GYM_MODEL_MEMORY_MB; by default half of the RAM, or 80% of the GPU's memory
    divided among the worker processes."""
    if settings.GYM_MODEL_MEMORY_MB:
        return int(settings.GYM_MODEL_MEMORY_MB) * MEGABYTE
    if (on_gpu := _gpu_bytes()) is not None:
        return int(on_gpu * SHARE_OF_GPU / settings.GYM_WORKERS)
    return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * SHARE_OF_RAM)


def _gpu_bytes() -> int | None:
    """Return the memory in bytes of the GPU that models run on; None on the CPU, or before torch is imported."""
    if "torch" not in sys.modules or settings.GYM_DEVICE == "cpu":
        return None
    import torch  # blocks while another thread imports it: sys.modules may contain a half-initialised module

    if not torch.cuda.is_available():
        return None
    if settings.GYM_DEVICE == "cuda:all":
        devices = range(torch.cuda.device_count())
        return sum(int(torch.cuda.get_device_properties(number).total_memory) for number in devices)
    number = torch.device("cuda:0" if settings.GYM_DEVICE == "auto" else settings.GYM_DEVICE).index or 0
    if number >= torch.cuda.device_count():
        return None  # loading raises the error
    return int(torch.cuda.get_device_properties(number).total_memory)


def set_threads() -> None:
    """Set torch's number of threads per computation."""
    global _threads
    if _threads:
        return
    import torch

    _threads = thread_count()
    torch.set_num_threads(_threads)


def thread_count() -> int:
    """Return the number of threads per computation: GYM_TORCH_THREADS, else the available cores divided among the
    worker processes and their threads."""
    sharers = settings.GYM_WORKERS * worker_threads()
    return settings.GYM_TORCH_THREADS or max(1, len(os.sched_getaffinity(0)) // sharers)


def _report(device: Iterable[str] = ()) -> None:
    """Report loaded models and their devices to the list of workers. If no model is loaded, report `device`."""
    with _lock:
        held: list[dict[str, Any]] = [
            {"name": row.slug, "bytes": row.bytes, "seconds": round(row.seconds, 2)}
            for row in _cache.values()
            if row.backend is not None
        ]
        devices = {row.backend.facts.device for row in _cache.values() if row.backend is not None}
    report(
        {
            "held": held,
            "budget_bytes": budget_bytes(),
            "threads": _threads,
        },
        devices - {""} or device,
    )


def effective_config(model: RegisteredModel) -> dict[str, object]:
    """Return the configuration with the values pinned by the check: hub commit, dtype, kernels and start token."""
    config = _pinned_config(model)
    if BACKENDS[model.backend].needs_torch and model.facts.get("dtype"):
        config["dtype"] = model.facts["dtype"]  # a half type that was checked on a CPU is float32 everywhere
    if model.facts.get("kernels"):
        config.setdefault(
            "kernels", model.facts["kernels"]
        )  # timed by the check; another worker must not differ
    if model.start_tokens:
        config.setdefault("bos_token", model.facts["bos"] or "")
    return config


def _pinned_config(model: RegisteredModel) -> dict[str, object]:
    config: dict[str, object] = dict(model.config)
    if config.get("source") == "hub" and model.source_revision:
        config["revision"] = model.source_revision
    if model.backend in {"causal", "masked"} and "device" not in config:
        config["device"] = settings.GYM_DEVICE
    return config


def _external_access(model: RegisteredModel) -> ExternalAccess:
    """Return the network rules, secrets and commands that a remote model may use. Raises BackendError if a secret
    cannot be decrypted."""
    try:
        secrets = {name: reveal(model.secrets, name) for name in model.secrets}
    except SecretError as error:
        raise BackendError(str(error)) from error
    return ExternalAccess(net=net_policy(), secrets=secrets, commands=settings.GYM_LMZOO_COMMANDS)
