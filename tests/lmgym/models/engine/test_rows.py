"""Values do not depend on the length of the row that contains a sentence.

A model that applied its window, or looked up positions, by places in the row would still be right in short
rows. Therefore every call here has more tokens than any window or table of positions of the model.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from lmgym.models.engine.execute import Computed, compute
from lmgym.models.engine.tree_support import make_runner

CPU = torch.device("cpu")
VOCABULARY = 97
CONTEXT = 40
"""Size of the models' tables of positions, if any: more than a sentence, less than a row."""
SHAPE: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": CONTEXT,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
LOCAL: dict[str, Any] = {
    "attention_types": [[["global", "local"], 1]],
    "num_layers": 2,
    "num_heads": 2,
    "num_hidden_layers": 2,
}
DECODER = {"is_decoder": True}
XGLM: dict[str, Any] = {"d_model": 16, "num_layers": 2, "attention_heads": 2, "ffn_dim": 32}
OWN: dict[str, tuple[str, dict[str, Any]]] = {
    "window of 64": ("gpt_neo", {**LOCAL, "window_size": 64, "max_position_embeddings": 512}),
    "window of 100": ("gpt_neo", {**LOCAL, "window_size": 100, "max_position_embeddings": 512}),
    "window of 256": ("gpt_neo", {**LOCAL, "window_size": 256, "max_position_embeddings": 512}),
    "few positions": ("gpt_neo", {**LOCAL, "window_size": 256, "max_position_embeddings": 100}),
    "xglm": ("xglm", XGLM),
    "bloom": ("bloom", {"n_layer": 2, "n_head": 2}),
    "mpt": ("mpt", {"d_model": 16, "n_heads": 2, "n_layers": 2, "max_seq_len": CONTEXT}),
    "openai-gpt": ("openai-gpt", {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": CONTEXT}),
    "rembert": ("rembert", {**DECODER, "input_embedding_size": 16, "output_embedding_size": 16}),
}
BLOCKS: dict[str, tuple[str, dict[str, Any]]] = {
    "gpt2": ("gpt2", {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": CONTEXT}),
    "ctrl": ("ctrl", {"n_embd": 16, "dff": 32, "n_layer": 2, "n_head": 2, "n_positions": CONTEXT}),
    "codegen": ("codegen", {"n_embd": 16, "n_layer": 2, "n_head": 4, "n_ctx": CONTEXT, "rotary_dim": 4}),
    "gptj": ("gptj", {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": CONTEXT, "rotary_dim": 4}),
    "opt": ("opt", {"ffn_dim": 32, "word_embed_proj_dim": 16}),
    "gemma3_text": ("gemma3_text", {"num_key_value_heads": 2, "head_dim": 8, "sliding_window": 45}),
    "biogpt": ("biogpt", {}),
}


def build(kind: str, own: dict[str, Any]) -> Any:
    """Build a random model with clearly uneven predictions, whose attention uses every permitted position."""
    torch.manual_seed(7)
    config = transformers.AutoConfig.for_model(kind, **{**SHAPE, **own})
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() > 1:
                weight.normal_(0, 0.3)
    model.config.get_text_config().use_cache = False
    return model


def sentences() -> list[list[int]]:
    """Return 120 sentences of up to 18 tokens, some 1,500 tokens in total. Some share a beginning."""
    draw = np.random.default_rng(11)
    trunk = draw.integers(3, VOCABULARY, 8).tolist()
    tails = [draw.integers(3, VOCABULARY, int(draw.integers(3, 10))).tolist() for _ in range(60)]
    return [[1, *trunk, *tail] for tail in tails] + [[1, *tail, *trunk] for tail in tails]


def one_at_a_time(model: Any, ids: list[int]) -> list[float]:
    with torch.inference_mode():
        logs = torch.log_softmax(model(input_ids=torch.tensor([ids])).logits[0].double(), -1)
    return [-float(logs[at, token]) / math.log(2) for at, token in enumerate(ids[1:])]


def assert_values_of_one_at_a_time(kind: str, own: dict[str, Any]) -> Any:
    model, rows = build(kind, own), sentences()
    expected = [one_at_a_time(model, ids) for ids in rows]
    runner = make_runner(model, CPU)
    for budget in (512, 8192):
        for one, bits in zip(compute(runner, rows, budget=budget), expected, strict=True):
            assert isinstance(one, Computed)
            np.testing.assert_allclose(one.bits[1:], bits, atol=1e-5)
    return runner


@pytest.mark.parametrize("name", OWN)
def test_attention_of_a_models_own_gets_every_sentence_in_its_own_row(name: str) -> None:
    runner = assert_values_of_one_at_a_time(*OWN[name])
    assert not runner.blocks
    assert any("length-sorted batches" in note for note in runner.notes)


@pytest.mark.parametrize("name", BLOCKS)
def test_registry_attention_takes_rows_longer_than_windows_and_tables_of_positions(name: str) -> None:
    assert assert_values_of_one_at_a_time(*BLOCKS[name]).blocks


def test_attention_scaled_by_places_in_the_row_takes_no_trees() -> None:
    model = build("llama", {"floor_scale": 8192})
    runner = make_runner(model, CPU)
    assert not runner.blocks
    assert any("scaled by positions in the row" in note for note in runner.notes)
