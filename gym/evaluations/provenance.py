"""Everything needed to have a run's numbers again."""

from __future__ import annotations

from typing import Any

from gym import __version__
from models_registry.backends import Backend
from models_registry.engine import ENGINE_VERSION


def provenance(suite_sha256: str, kind: str, backend: Backend) -> dict[str, Any]:
    facts = backend.facts
    return {
        "suite_sha256": suite_sha256,
        "model_fingerprint": facts.fingerprint,
        "model_revision": facts.revision,
        "backend": kind,
        "dtype": facts.dtype,
        "device": facts.device,
        "bos": facts.bos,
        "eos": facts.eos,
        "versions": facts.versions,
        "engine": ENGINE_VERSION,
        "gym": __version__,
        "log_base": 2,
    }
