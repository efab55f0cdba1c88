"""The device under test, and models of well-known shapes with random weights, in full size on a GPU and small
on a CPU.

`pytest tests/gpu` takes the first GPU, and skips without one. `--device cpu` (or GYM_GPU_TEST_DEVICE=cpu) runs the same
code with small models.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks.engine import shapes, workload
from benchmarks.engine.workload import Workload
from lmgym.models.backends import Backend, load_backend

NONE = "no GPU: torch {} finds none. `pytest tests/gpu --device cpu` runs the same code with small models"


@pytest.fixture(scope="session")
def device(request: pytest.FixtureRequest) -> str:
    """Device under test: "cuda:0", or the value of `--device`."""
    named: str = request.config.getoption("--device")
    if not named and not torch.cuda.is_available():
        pytest.skip(NONE.format(torch.__version__))
    return named or "cuda:0"


@pytest.fixture(scope="session")
def on_gpu(device: str) -> bool:
    return device.startswith("cuda")


@pytest.fixture
def gpu(on_gpu: bool) -> None:
    """Skip the test unless the device is a GPU."""
    if not on_gpu:
        pytest.skip("needs a GPU")


@pytest.fixture(scope="session")
def load(on_gpu: bool) -> Workload:
    """Sentences of the published suites if available, else of the demo's; on a CPU, of a single suite."""
    return workload.published(most=None if on_gpu else 1)


@pytest.fixture(scope="session")
def tokenizers(load: Workload, on_gpu: bool) -> Callable[[str], Any]:
    """Function that returns the tokenizer for a shape, trained on the load."""
    made: dict[bool, Any] = {}

    def find(shape: str) -> Any:
        gaps = shape == "bert"
        if gaps not in made:
            size = workload.VOCABULARY if on_gpu else 1_500
            made[gaps] = workload.tokenizer(load.texts, gaps=gaps, vocabulary=size)
        return made[gaps]

    return find


@pytest.fixture(scope="session")
def folder_of(
    tmp_path_factory: pytest.TempPathFactory, tokenizers: Callable[[str], Any], on_gpu: bool
) -> Callable[[str, str], Path]:
    """Function that creates the model folder of a shape. The weights are stored in `dtype`, so that all
    loaders get the same values.
    """
    root = tmp_path_factory.mktemp("models")

    def make(shape: str, dtype: str = "float32") -> Path:
        folder = root / f"{shape}-{dtype}"
        if not folder.exists():
            model = shapes.build(shape, small=not on_gpu).to(getattr(torch, dtype))
            model.save_pretrained(folder)
            tokenizers(shape).save_pretrained(folder)
        return folder

    return make


def load_from(folder: Path, device: str, dtype: str = "float32", **config: Any) -> Backend:
    """Load a model as a worker does, with stock kernels on a CPU."""
    kind = "masked" if folder.name.startswith("bert") else "causal"
    given = {"source": "directory", "path": folder.name, "device": device, "dtype": dtype, "kernels": "stock"}
    return load_backend(kind, given | config, model_dir=folder.parent, hub_allowed=False)
