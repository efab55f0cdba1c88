"""Models that compute differently above some length: each text has the value that it has alone."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from lmgym.models.engine.execute import Computed, compute
from lmgym.models.engine.lengths import Turns, full_attention_limit, reach
from lmgym.models.engine.tree_support import make_runner

CPU = torch.device("cpu")
VOCABULARY = 97
START = 64
LENGTHS = (20, 30, 100, START, START + 1, 130)
LONGROPE = {
    "rope_type": "longrope",
    "rope_theta": 10000.0,
    "short_factor": [1.0, 1.0],
    "long_factor": [4.0, 8.0],
    "original_max_position_embeddings": START,
}
DYNAMIC = {"rope_type": "dynamic", "factor": 4.0, "rope_theta": 10000.0}
OWN: dict[str, dict[str, Any]] = {
    "phi3": {"rope_parameters": LONGROPE, "original_max_position_embeddings": START},
    "llama": {"rope_parameters": DYNAMIC, "max_position_embeddings": START},
    "doge": {"keep_window_size": START},
}


def config(name: str, **changes: Any) -> Any:
    shape = {
        "vocab_size": VOCABULARY,
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 4,
        "intermediate_size": 32,
        "max_position_embeddings": 512,
        "initializer_range": 0.5,
        "pad_token_id": 0,
    }
    return transformers.AutoConfig.for_model(name, **{**shape, **OWN.get(name, {}), **changes})


def build(name: str) -> Any:
    """Build a random model. Doge's selection of keys is randomised as well."""
    torch.manual_seed(3)
    model = transformers.AutoModelForCausalLM.from_config(config(name)).eval()
    for layer in model.modules():
        if name == "doge" and hasattr(layer, "A"):
            torch.nn.init.normal_(layer.A)
    model.config.use_cache = False
    return model


def alone(name: str, ids: list[int]) -> list[float]:
    """Compute bits with a new model that has read nothing before."""
    with torch.inference_mode():
        logs = torch.log_softmax(build(name)(input_ids=torch.tensor([ids])).logits[0].double(), -1)
    return [-float(logs[at, token]) / math.log(2) for at, token in enumerate(ids[1:])]


@pytest.mark.parametrize("name", sorted(OWN))
@pytest.mark.parametrize("tree", [True, False])
def test_long_and_short_texts_get_what_the_model_gives_each_alone(name: str, tree: bool) -> None:
    found = make_runner(build(name), CPU)
    found = found if tree else replace(found, blocks=0)
    draw = np.random.default_rng(5)
    trunk = draw.integers(3, VOCABULARY, max(LENGTHS)).tolist()
    rows = [
        trunk[:length] if at % 2 else draw.integers(3, VOCABULARY, length).tolist()
        for at, length in enumerate(LENGTHS)
    ]
    expected = [alone(name, ids) for ids in rows]
    ways = [compute(found, rows, budget=budget) for budget in (64, 512)]
    ways.append([compute(found, [ids], budget=512)[0] for ids in reversed(rows)][::-1])
    for way in ways:
        for one, bits in zip(way, expected, strict=True):
            assert isinstance(one, Computed)
            np.testing.assert_allclose(one.bits[1:], bits, atol=1e-4)


def test_a_long_text_of_which_little_is_wanted_is_still_read_as_a_long_text() -> None:
    ids = np.random.default_rng(6).integers(3, VOCABULARY, 90).tolist()
    wanted = [at == 5 for at in range(len(ids))]
    (one,) = compute(make_runner(build("phi3"), CPU), [ids], budget=512, needed=[wanted])
    assert isinstance(one, Computed)
    assert one.bits[5] == pytest.approx(alone("phi3", ids)[4], abs=1e-4)
    assert np.isnan(np.delete(one.bits, 5)).all()


def test_memory_that_runs_out_on_a_long_text_does_not_change_its_kind() -> None:
    found = make_runner(build("phi3"), CPU)
    body, rows = found.body, [[7] * 80, list(range(3, 93)), [5, 6, 7]]
    assert body is not None

    def hungry(*, input_ids: torch.Tensor, **inputs: torch.Tensor) -> Any:
        if input_ids.numel() > 90:
            raise MemoryError
        return body(input_ids=input_ids, **inputs)

    found.body = hungry
    for one, ids in zip(compute(found, rows, budget=512), rows, strict=True):
        assert isinstance(one, Computed)
        np.testing.assert_allclose(one.bits[1:], alone("phi3", ids), atol=1e-4)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (config("phi3"), START),
        (config("phi3", sliding_window=40), 40),
        (config("llama"), START - 1),
        (config("doge"), START),
        (config("deepseek_v32", index_topk=50), 50),
        (config("mistral", sliding_window=30), 30),
        (config("llama", rope_parameters=None, max_position_embeddings=512), None),
    ],
)
def test_trees_reach_as_far_as_every_layer_works_alike(settings: Any, expected: int | None) -> None:
    assert reach(settings) == expected


@pytest.mark.parametrize(
    ("name", "changes", "limit"),
    [
        ("big_bird", {"block_size": 2, "num_random_blocks": 1}, 14),
        ("big_bird", {"attention_type": "original_full"}, None),
        ("reformer", {"attn_layers": ["local", "lsh"], "lsh_attn_chunk_length": 32}, 32),
        ("reformer", {"attn_layers": ["local"]}, None),
        ("llama", {}, None),
    ],
)
def test_texts_are_read_up_to_the_length_at_which_attention_becomes_random(
    name: str, changes: dict[str, Any], limit: int | None
) -> None:
    assert full_attention_limit(transformers.AutoConfig.for_model(name, **changes)) == limit


def test_turns_of_several_kinds_of_layers() -> None:
    class Settings:
        max_position_embeddings = 512
        rope_parameters = {"full": LONGROPE, "wide": {**LONGROPE, "original_max_position_embeddings": 128}}

        def get_text_config(self) -> Settings:
            return self

    turns = Turns.of(Settings())
    assert turns.first == START
    assert [turns.kind(length) for length in (64, 65, 128, 129)] == [(0, 0), (1, 0), (1, 0), (2, 0)]
    assert Turns.of(object()).kind(10**6) == (0, 0)


def test_below_the_turn_nothing_changes_and_above_it_lengths_stay_apart() -> None:
    turns = Turns.of(config("llama"))
    assert [turns.kind(length) for length in (1, 63, 64, 65)] == [(0, 0), (0, 0), (0, 64), (0, 65)]
