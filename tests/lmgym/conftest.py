"""Fixtures and settings of the library's tests, which need no Django."""

from __future__ import annotations

import os
from pathlib import Path

import hypothesis
import pytest

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
# One thread a computation, here and in every process a test starts: sums made by two threads differ in their last
# digits from sums made by one, and several test processes share the processors anyway.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("GYM_TORCH_THREADS", "1")

# How long the property tests search; pytest's --hypothesis-profile chooses, and CI=true takes the longer one.
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
