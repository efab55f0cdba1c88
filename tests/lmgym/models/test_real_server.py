"""llama-cpp-python's server with SmolLM2-135M-Instruct (Q4_1), beside the same file in the local backend.

GYM_LLAMA_CPP_PYTHON names a Python with llama-cpp-python[server], built without instructions of this processor only.
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lmgym.models.backends import Backend, BackendError, ExternalAccess, load_backend
from lmgym.models.backends.reference import compare_with_reference
from lmgym.models.engine import ScoringPolicy, TokenScores
from lmgym.models.given import open_model
from lmgym.net import NetError, NetPolicy, request

pytestmark = [pytest.mark.real_model, pytest.mark.foreign]

START = "<|im_start|>"
"""The start token that the file declares."""
SECONDS_TO_START = 120
POLICY = NetPolicy.allowing("127.0.0.1", seconds=300)
TEXTS = [
    "The keys to the cabinet are on the table.",
    "Café naïve, déjà vu: e\u0301t.",
    "Příliš žluťoučký kůň.",
    "日本語の文法。",
    "我喜欢吃苹果。",
    "Русский язык.",
    "मैं घर जा रहा हूँ।",
    "ok 🙂🙃🫠",  # the server generates several tokens after these
]
MEAN_BITS, LARGEST_BITS = 0.3, 1.5
"""0.14 and 0.68 on 176 tokens: llama.cpp rounds activations to 8 bits where weights are quantised."""


@pytest.fixture(scope="module")
def url(real_model: Path) -> Iterator[str]:
    python = os.environ.get("GYM_LLAMA_CPP_PYTHON", "")
    if not python:
        pytest.skip("GYM_LLAMA_CPP_PYTHON names no Python with llama-cpp-python[server]")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [python, "-m", "llama_cpp.server", "--model", str(real_model), "--model_alias", "smollm2"]
    command += ["--host", "127.0.0.1", "--port", str(port), "--logits_all", "true", "--n_ctx", "512"]
    # Threads of llama.cpp wait for each other in loops, which takes minutes if other programs use the processors.
    command += ["--n_threads", "1", "--n_threads_batch", "1", "--verbose", "false"]
    with subprocess.Popen(command) as process:
        try:
            address = f"http://127.0.0.1:{port}/v1"
            wait_for(address, process)
            yield address
        finally:
            process.terminate()


def wait_for(address: str, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < until and process.poll() is None:
        try:
            request("GET", f"{address}/models", policy=POLICY).raise_for_status()
        except NetError:
            time.sleep(0.5)
        else:
            return
    pytest.fail(f"llama-cpp-python's server did not start within {SECONDS_TO_START} s")


@pytest.fixture(scope="module")
def local(real_model: Path) -> Backend:
    return open_model(real_model, device="cpu").backend


def served(url: str, **more: Any) -> Backend:
    config = {"base_url": url, "model": "smollm2", "seconds": 300, **more}
    access = ExternalAccess(net=POLICY)
    return load_backend("openai", config, model_dir=Path(), hub_allowed=False, external_access=access)


@pytest.fixture(scope="module")
def server(url: str) -> Backend:
    return served(url, bos_token=START)


@pytest.mark.parametrize("more", [{}, {"bos_token": "<|endoftext|>"}], ids=str)
def test_values_that_belong_to_other_tokens_are_refused(url, more):
    with pytest.raises(BackendError, match="do not belong to the tokens they are listed with"):
        served(url, **more)


def test_values_after_the_declared_start_token_are_those_of_the_local_model(server, local):
    found = compare_with_reference(server, local)
    assert (found.sentences, found.other_tokens) == (20, 0)
    assert found.mean_difference < MEAN_BITS
    assert found.largest_difference < LARGEST_BITS


@pytest.mark.parametrize("text", TEXTS)
def test_tokens_and_parts_of_characters_get_the_places_of_the_local_model(server, local, text):
    [ours] = server.score([text], ScoringPolicy())
    [theirs] = local.score([text], ScoringPolicy(bos=START))
    assert isinstance(ours, TokenScores)
    assert first_letters(text, ours) == first_letters(text, theirs)


def first_letters(text: str, scores: TokenScores) -> list[int]:
    """The first character of each token that is not blank, which decides its region."""
    pairs = zip(scores.offsets, scores.special, strict=True)
    return [len(text) - len(text[start:].lstrip()) for (start, _), special in pairs if not special]
