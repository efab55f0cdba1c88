"""Loaded models that stay loaded: the last few, so that the next run of the same model starts at once.

Worker and command line only; the web process never calls this.
"""

from __future__ import annotations

import json
import logging
import threading
from collections import OrderedDict
from time import perf_counter

from django.conf import settings

from models_registry.backends import Backend, BackendError, load_backend
from models_registry.models import RegisteredModel
from models_registry.surroundings import surroundings_of

logger = logging.getLogger(__name__)
KEEP = 2
_loaded: OrderedDict[str, Backend] = OrderedDict()
_lock = threading.Lock()


def load_registered(model: RegisteredModel) -> Backend:
    """The model's backend, from memory when it was used lately. Raises BackendError."""
    key = json.dumps([model.backend, effective_config(model), model.secrets], sort_keys=True)
    with _lock:
        if key in _loaded:
            _loaded.move_to_end(key)
            return _loaded[key]
        while len(_loaded) >= KEEP:
            _loaded.popitem(last=False)
        started = perf_counter()
        backend = load_backend(
            model.backend,
            effective_config(model),
            model_dir=settings.GYM_MODEL_DIR,
            hub_allowed=settings.GYM_HUB_ALLOWED,
            surroundings=surroundings_of(model),
        )
        logger.info("loaded %s in %.1f s", model.slug, perf_counter() - started)
        _loaded[key] = backend
        return backend


def load_pinned(model: RegisteredModel) -> Backend:
    """As `load_registered`, but only if the weights are those that the check saw."""
    backend = load_registered(model)
    if model.fingerprint and backend.facts.fingerprint != model.fingerprint:
        forget()  # loaded before the files changed, perhaps: look at them as they are now
        backend = load_registered(model)
    if model.fingerprint and backend.facts.fingerprint != model.fingerprint:
        forget()
        raise BackendError(
            f"The files of {model.slug} are not those that were checked.",
            "Check the model again: its results until now belong to the old files.",
        )
    return backend


def effective_config(model: RegisteredModel) -> dict[str, object]:
    """The configuration with the hub commit that the check pinned."""
    config = dict(model.config)
    if config.get("source") == "hub" and model.source_revision:
        config["revision"] = model.source_revision
    if model.backend in {"causal", "masked"} and "device" not in config:
        config["device"] = settings.GYM_DEVICE
    if model.backend == "causal" and model.facts.get("kernels"):
        config.setdefault(
            "kernels", model.facts["kernels"]
        )  # timed by the check; another worker must not differ
    return config


def forget() -> None:
    """Drop every loaded model."""
    with _lock:
        _loaded.clear()
