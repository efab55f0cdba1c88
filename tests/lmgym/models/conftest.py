"""Tiny models on disk, created once per test run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lmgym.models import tiny


@pytest.fixture(scope="session")
def tiny_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model directory with one GPT-2 per tokenizer family, a Llama, and a GPT-2 without a start token."""
    root = tmp_path_factory.mktemp("models")
    for family in tiny.FAMILIES:
        tokenizer = tiny.train(family)
        tiny.save(root / family, tiny.gpt2(tokenizer.get_vocab_size()), tiny.fast(tokenizer))
    tokenizer = tiny.train("byte-bpe")
    size = tokenizer.get_vocab_size()
    tiny.save(root / "no-bos", tiny.gpt2(size), tiny.fast(tokenizer, bos=None, eos=None))
    tiny.save(root / "llama", tiny.llama(size), tiny.fast(tokenizer))
    return root
