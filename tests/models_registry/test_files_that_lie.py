"""Model folders whose configuration contradicts their weights, or whose check takes too long."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from gym.jobs import runner, states
from gym.jobs.context import JobContext
from gym.jobs.errors import Cancelled
from lmgym.models.backends import BackendError, load_backend, probe
from lmgym.models.backends.files import check_folder, layers_stored, missing_layers
from models_registry import actors, services
from models_registry.actors import inspect
from models_registry.models import RegisteredModel
from tests.factories import make_model
from tests.lmgym.models import tiny

SHAPES = {
    "transformer.wte.weight": [300, 16],
    "transformer.h.0.ln_1.weight": [16],
    "transformer.h.1.ln_1.weight": [16],
}
TRUE = {"model_type": "gpt2", "n_layer": 2, "n_embd": 16, "vocab_size": 300}


def write(folder: Path, config: dict[str, Any], shapes: dict[str, list[int]] = SHAPES) -> Path:
    """Write a folder with this configuration, and with weights that consist of a header only."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    header = {
        name: {"dtype": "F32", "shape": shape, "data_offsets": [0, 0]} for name, shape in shapes.items()
    }
    text = json.dumps({"__metadata__": {"format": "pt"}, **header}).encode()
    (folder / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text)
    return folder


@pytest.mark.parametrize(
    "config",
    [
        TRUE,
        {"model_type": "gpt2"},
        TRUE | {"num_hidden_layers": 2, "hidden_size": 16},
        {"text_config": TRUE, "num_hidden_layers": 70, "vocab_size": 9},
        {"model_type": "albert", "num_hidden_layers": 12, "num_hidden_groups": 1, "vocab_size": 300},
        {"model_type": "bart", "num_hidden_layers": 12, "decoder_layers": 2, "d_model": 16},
    ],
)
def test_a_configuration_that_belongs_to_the_weights_is_accepted(tmp_path, config):
    assert check_folder(write(tmp_path / "m", config)) == config


@pytest.mark.parametrize(
    ("lie", "message"),
    [
        (
            {"n_layer": 1_000_000},
            "config.json has 1,000,000 layers (n_layer), but the weights have 2.",
        ),
        ({"num_hidden_layers": 257}, "has 257 layers (num_hidden_layers), but the weights have 2."),
        ({"n_embd": 10**9}, "the size of the hidden layer as 1,000,000,000 (n_embd), but no tensor"),
        (
            {"vocab_size": 10**12},
            "the size of the vocabulary as 1,000,000,000,000 (vocab_size), but no tensor",
        ),
        ({"text_config": {"num_hidden_layers": 10**6}}, "has 1,000,000 layers"),
    ],
)
def test_a_configuration_that_differs_from_the_weights_is_refused_with_what_differs(tmp_path, lie, message):
    with pytest.raises(BackendError) as caught:
        check_folder(write(tmp_path / "m", TRUE | lie))
    assert message in str(caught.value)
    assert "saved with these weights" in caught.value.hint


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "truncated"),
        ((10**15).to_bytes(8, "little") + b"{}", "truncated or too long"),
        ((2).to_bytes(8, "little") + b"[]", "not a JSON object"),
        ((9).to_bytes(8, "little") + b'{"a": {}}', "no valid shape for"),
        ((20).to_bytes(8, "little") + b'{"a":{"shape":[-1]}}', "no valid shape for"),
    ],
)
def test_a_header_that_is_none_is_refused(tmp_path, content, message):
    (write(tmp_path / "m", TRUE) / "model.safetensors").write_bytes(content)
    with pytest.raises(BackendError, match=message):
        check_folder(tmp_path / "m")


def test_layers_are_counted_by_the_numbers_in_names():
    assert layers_stored({"h.11.mlp.weight": (1,), "h.2.experts.7.w": (1,)}) == 12
    assert layers_stored({"h.99999999999.weight": (1,), "wte": (2,)}) == 0


@pytest.mark.parametrize("kind", ["gpt2", "llama", "neox", "opt", "bloom", "mamba", "gpt-neo-local"])
def test_no_family_of_models_is_taken_for_a_lie(tmp_path, kind):
    pytest.importorskip("torch")
    tiny.causal(kind, 90).save_pretrained(tmp_path / kind)
    assert check_folder(tmp_path / kind)["model_type"]


def load(folder: Path) -> Any:
    tokenizer = tiny.fast(tiny.train("character"))
    tokenizer.save_pretrained(folder)
    config = {"source": "directory", "path": folder.name, "device": "cpu", "kernels": "stock"}
    return load_backend("causal", config, model_dir=folder.parent, hub_allowed=False)


def test_a_few_layers_too_many_are_refused_before_they_are_made_up(tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    vocabulary = len(tiny.fast(tiny.train("character")))
    tiny.llama(vocabulary).save_pretrained(tmp_path / "m")
    tiny.edit_json(tmp_path / "m" / "config.json", num_hidden_layers=3)
    made = []
    monkeypatch.setattr(torch.Tensor, "normal_", lambda one, *given, **more: made.append(one.device.type))
    with pytest.raises(BackendError) as caught:
        load(tmp_path / "m")
    assert str(caught.value) == (
        "config.json has 3 layers (num_hidden_layers), but the weights have 2. "
        "Use the config.json that was saved with these weights."
    )
    assert set(made) <= {"meta"}


def test_a_model_that_runs_its_layers_several_times_is_loaded(tmp_path):
    pytest.importorskip("torch")
    from transformers import HrmTextConfig, HrmTextForCausalLM

    shape = {"hidden_size": 16, "intermediate_size": 32, "num_attention_heads": 2, "num_key_value_heads": 2}
    config = HrmTextConfig(vocab_size=len(tiny.fast(tiny.train("character"))), num_hidden_layers=2, **shape)
    HrmTextForCausalLM(config).eval().save_pretrained(tmp_path / "m")
    asked = json.loads((tmp_path / "m" / "config.json").read_text())["num_hidden_layers"]
    assert asked > 2
    assert "layers (num_hidden_layers)" in missing_layers(tmp_path / "m")
    assert probe(load(tmp_path / "m"))["parameters"] > 0


# --- the check, in a separate process ---


@pytest.fixture
def liar(db, people, settings) -> RegisteredModel:
    """A model with a million layers. Its weights have a tensor of the last layer, so that their header does
    not contradict the configuration."""
    shapes = SHAPES | {"transformer.h.999999.ln_1.weight": [16]}
    folder = write(settings.GYM_MODEL_DIR / "liar", TRUE | {"n_layer": 1_000_000}, shapes)
    tiny.fast(tiny.train("character")).save_pretrained(folder)
    return make_model(
        people.staff,
        slug="liar",
        ready=False,
        backend="causal",
        config={"source": "directory", "path": "liar", "device": "cpu"},
    )


def test_a_check_that_takes_too_long_ends_and_says_so(liar, settings):
    pytest.importorskip("torch")
    settings.GYM_MODEL_CHECK_SECONDS = 0.2
    found = inspect(liar)
    assert found["status"] == "broken"
    assert found["status_reason"].startswith(
        "Loading and probing the model took longer than 0.2 seconds and was stopped."
    )


def test_a_check_that_takes_too_much_memory_ends_and_says_so(liar, settings):
    pytest.importorskip("torch")
    settings.GYM_MODEL_CHECK_MEMORY_MB = 20
    found = inspect(liar)
    assert found["status"] == "broken"
    assert "took more than 20 MB of memory and was stopped" in found["status_reason"]


def test_a_cancelled_check_ends_its_process(liar, people, monkeypatch):
    pytest.importorskip("torch")
    services.check_model(liar, actor=people.staff)
    context = JobContext(states.claim_next("short", "w"))
    started = []
    popen = actors.subprocess.Popen
    monkeypatch.setattr(
        actors.subprocess, "Popen", lambda *given, **more: started.append(popen(*given, **more)) or started[0]
    )

    def cancelled():
        if started:
            raise Cancelled

    monkeypatch.setattr(context, "check", cancelled)
    with pytest.raises(Cancelled):
        runner.get_handler("check_model")(context)
    assert started[0].returncode == -9


def test_a_process_that_dies_is_a_finding(liar, monkeypatch):
    def die(child, tick):
        child.kill()
        child.wait()

    monkeypatch.setattr(actors, "_wait", die)
    found = inspect(liar)
    assert found["status"] == "broken"
    assert "died: killed by signal 9: often out of memory" in found["status_reason"]


def test_a_folder_that_lies_is_broken_with_what_differs(liar):
    shutil.rmtree(actors.settings.GYM_MODEL_DIR / "liar")
    write(actors.settings.GYM_MODEL_DIR / "liar", TRUE | {"n_layer": 1_000_000})
    found = inspect(liar)
    assert found["status"] == "broken"
    assert "has 1,000,000 layers" in found["status_reason"]
