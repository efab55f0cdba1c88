"""Several threads load models at the same time."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM

from lmgym.models.backends.loading import read_model
from tests.lmgym.models import tiny


def test_models_are_read_one_at_a_time(tmp_path: Path) -> None:
    model = tiny.gpt2(29)
    model.save_pretrained(tmp_path)
    busy, most = threading.Semaphore(), []

    class Watched:
        @staticmethod
        def from_pretrained(*args: Any, **kwargs: Any) -> Any:
            alone = busy.acquire(blocking=False)
            most.append(alone)
            time.sleep(0.05)
            try:
                return AutoModelForCausalLM.from_pretrained(*args, **kwargs)
            finally:
                if alone:
                    busy.release()

    def read(_: int) -> Any:
        return read_model(tmp_path, None, torch.float32, torch.device("cpu"), Watched)

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(read, range(4)))
    assert most == [True] * 4
    for one in found:
        torch.testing.assert_close(one.state_dict(), model.state_dict())
