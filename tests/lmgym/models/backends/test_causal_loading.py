"""Models that CausalBackend refuses to load; refused files are never run."""

from __future__ import annotations

import json
import pickle  # noqa: TID251  the tests write the hostile files
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from lmgym.models.backends import BackendError, load_backend
from lmgym.models.backends.base import Backend
from tests.lmgym.conftest import ROOT
from tests.lmgym.models import tiny


def load(root: Path, name: str, **more: Any) -> Backend:
    return load_backend(
        "causal", {"source": "directory", "path": name, **more}, model_dir=root, hub_allowed=False
    )


@pytest.fixture
def folder(tiny_models: Path, tmp_path: Path) -> Path:
    """A valid model that a test may damage."""
    return Path(shutil.copytree(tiny_models / "character", tmp_path / "models" / "m"))


class Canary:
    """Object that writes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.write_text, (self.path, "ran")


def forbid_pickle(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("something was unpickled")

    monkeypatch.setattr(torch, "load", fail)
    monkeypatch.setattr(pickle, "load", fail)
    monkeypatch.setattr(pickle, "loads", fail)


def test_the_canary_reports_unpickling(tmp_path: Path) -> None:
    pickle.loads(pickle.dumps(Canary(tmp_path / "canary")))
    assert (tmp_path / "canary").read_text() == "ran"


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "tf_model.h5"])
def test_pickled_weights_are_refused_and_not_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    canary = folder.parent / "canary"
    (folder / "model.safetensors").unlink()
    (folder / name).write_bytes(pickle.dumps(Canary(canary)))
    forbid_pickle(monkeypatch)
    with pytest.raises(BackendError, match="format that can run code") as caught:
        load(folder.parent, "m")
    assert "safe_serialization=True" in caught.value.hint
    assert not canary.exists()


def test_pickles_next_to_safetensors_are_not_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    canary = folder.parent / "canary"
    for name in ("pytorch_model.bin", "training_args.bin", "optimizer.pt"):
        (folder / name).write_bytes(pickle.dumps(Canary(canary)))
    forbid_pickle(monkeypatch)
    load(folder.parent, "m")
    assert not canary.exists()


@pytest.mark.parametrize("file", ["config.json", "tokenizer_config.json"])
def test_code_that_comes_with_a_model_is_refused_and_not_run(folder: Path, file: str) -> None:
    canary = folder.parent / "canary"
    (folder / "evil.py").write_text(f"open({str(canary)!r}, 'w').write('ran')\nclass Evil: pass\n")
    classes = {
        "AutoConfig": "evil.Evil",
        "AutoModelForCausalLM": "evil.Evil",
        "AutoTokenizer": ["evil.Evil", None],
    }
    tiny.edit_json(folder / file, auto_map=classes)
    with pytest.raises(BackendError, match="auto_map"):
        load(folder.parent, "m")
    assert not canary.exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"text_config": {"auto_map": {"AutoConfig": "x.Y"}}}, "auto_map"),
        ({"attn_implementation": "someone/kernel"}, "attention code"),
        ({"_attn_implementation": {"": "someone/kernel"}}, "attention code"),
        ({"transformers_weights": "../other.safetensors"}, "transformers_weights"),
        ({"quantization_config": {"quant_method": "bitsandbytes"}}, "Quantised"),
        ({"use_kernels": True}, "use_kernels"),
        ({"kernel_config": {"kernel_mapping": {"RMSNorm": "someone/kernel:RMSNorm"}}}, "kernel_config"),
        ({"_attn_implementation_internal": "someone/kernel"}, "attention code"),
        ({"text_config": {"_attn_implementation_internal": "flash_attention_2"}}, "attention code"),
        ({"_experts_implementation_internal": "someone/kernel"}, "custom mixture-of-experts code"),
        ({"experts_implementation": "someone/kernel"}, "custom mixture-of-experts code"),
        ({"custom_generate": "someone/code"}, "custom_generate"),
        ({"keypoint_detector_config": {"trust_remote_code": True}}, "trust_remote_code"),
        ({"configuration_files": ["config.5.0.0.json"]}, "configuration_files"),
    ],
)
def test_configurations_that_fetch_code_or_other_files_are_refused(
    folder: Path, changes: dict[str, Any], message: str
) -> None:
    tiny.edit_json(folder / "config.json", **changes)
    with pytest.raises(BackendError, match=message):
        load(folder.parent, "m")


def test_attention_and_experts_of_torch_are_accepted(folder: Path) -> None:
    plain = {
        "_attn_implementation": "sdpa",
        "_attn_implementation_autoset": True,
        "attn_implementation": None,
    }
    tiny.edit_json(folder / "config.json", **plain, _experts_implementation="eager")
    load(folder.parent, "m")


def test_adapters_are_refused(folder: Path) -> None:
    (folder / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": "org/model"}))
    with pytest.raises(BackendError, match="adapter"):
        load(folder.parent, "m")


@pytest.mark.parametrize(
    "name",
    [
        "../outside",
        "m/../../outside",
        "/etc",
        "..",
        ".",
        ".hidden",
        "m//x",
        "a\\b",
        "m/",
        "~root",
        "m\n",
        "a\0b",
        "",
        "a" * 201,
    ],
)
def test_names_outside_the_model_directory_are_refused(folder: Path, name: str) -> None:
    (folder.parent.parent / "outside").mkdir()
    with pytest.raises(BackendError):
        load(folder.parent, name)


def test_paths_are_checked_again_after_the_schema(folder: Path) -> None:
    from lmgym.models.backends.files import inside

    for name in ("../outside", "m/../..", str(folder.resolve()), "..", ".", "", "m/..", "missing"):
        with pytest.raises(BackendError):
            inside(folder.parent, name)
    assert inside(folder.parent, "m") == folder.resolve()


def test_links_out_of_the_model_directory_are_refused(folder: Path) -> None:
    root = folder.parent
    outside = shutil.copytree(folder, root.parent / "outside")
    (root / "linked").symlink_to(outside)
    with pytest.raises(BackendError, match="is outside"):
        load(root, "linked")
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").symlink_to(outside / "model.safetensors")
    with pytest.raises(BackendError, match="link out"):
        load(root, "m")
    (root / "inner").symlink_to(root / "m")
    (folder / "model.safetensors").unlink()
    shutil.copy(outside / "model.safetensors", folder)
    load(root, "inner")


@pytest.mark.parametrize("shard", ["../outside.safetensors", "/etc/x.safetensors", "weights.bin", "", 5])
def test_an_index_may_only_name_safetensors_in_its_folder(folder: Path, shard: Any) -> None:
    (folder / "model.safetensors").rename(folder.parent / "outside.safetensors")
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": shard}}))
    with pytest.raises(BackendError, match="not a safetensors file in the same folder"):
        load(folder.parent, "m")


def test_sharded_weights_load_and_a_missing_shard_is_refused(folder: Path, tiny_models: Path) -> None:
    from transformers import GPT2LMHeadModel

    model = GPT2LMHeadModel.from_pretrained(tiny_models / "character")
    (folder / "model.safetensors").unlink()
    model.save_pretrained(folder, max_shard_size="20KB")
    shards = sorted(folder.glob("model-*.safetensors"))
    assert len(shards) > 1
    load(folder.parent, "m")
    shards[0].unlink()
    with pytest.raises(BackendError, match="not complete"):
        load(folder.parent, "m")


@pytest.mark.parametrize("broken", ["{", "[1]", '"x"', "[" * 100_000])
def test_broken_configurations_are_refused(folder: Path, broken: str) -> None:
    (folder / "config.json").write_text(broken)
    with pytest.raises(BackendError, match=r"config\.json"):
        load(folder.parent, "m")


def test_missing_files_are_named(folder: Path) -> None:
    (folder.parent / "file").write_text("x")
    with pytest.raises(BackendError, match="neither a model folder nor a GGUF file"):
        load(folder.parent, "file")
    with pytest.raises(BackendError, match="There is no 'gone'"):
        load(folder.parent, "gone")
    (folder / "tokenizer.json").unlink()
    with pytest.raises(BackendError, match="tokenizer"):
        load(folder.parent, "m")
    (folder / "model.safetensors").unlink()
    with pytest.raises(BackendError, match=r"no model\.safetensors"):
        load(folder.parent, "m")
    (folder / "config.json").unlink()
    with pytest.raises(BackendError, match=r"no config\.json"):
        load(folder.parent, "m")


@pytest.mark.parametrize("content", [b"", b"not safetensors", b"\xff" * 64])
def test_broken_weights_are_refused_without_the_path(folder: Path, content: bytes) -> None:
    (folder / "model.safetensors").write_bytes(content)
    with pytest.raises(BackendError, match="weights could not be loaded") as caught:
        load(folder.parent, "m")
    assert str(folder.parent) not in str(caught.value)


def test_missing_weights_are_refused_and_not_initialised(folder: Path) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    del weights["transformer.h.1.mlp.c_fc.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(
        BackendError, match=r"lack 1 of the model's weights, for example transformer\.h\.1\.mlp"
    ):
        load(folder.parent, "m")


def test_weights_of_another_shape_are_refused(folder: Path) -> None:
    tiny.edit_json(folder / "config.json", n_embd=8)
    with pytest.raises(BackendError):
        load(folder.parent, "m")


def encoder(kind: str) -> Any:
    from transformers import (
        BertConfig,
        BertForMaskedLM,
        BertLMHeadModel,
        T5Config,
        T5ForConditionalGeneration,
    )

    small = {
        "vocab_size": 90,
        "hidden_size": 8,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 8,
    }
    if kind == "masked":
        return BertForMaskedLM(BertConfig(**small))
    if kind == "two-way":
        return BertLMHeadModel(BertConfig(**small))
    return T5ForConditionalGeneration(
        T5Config(
            vocab_size=90, d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2, decoder_start_token_id=0
        )
    )


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("masked", "BertForMaskedLM is not a causal"),
        ("two-way", "BertLMHeadModel is not a causal"),
        ("seq2seq", "T5ForConditionalGeneration is an encoder-decoder"),
    ],
)
def test_models_that_are_not_causal_are_refused(folder: Path, kind: str, message: str) -> None:
    encoder(kind).save_pretrained(folder)
    with pytest.raises(BackendError, match=message) as caught:
        load(folder.parent, "m")
    assert "causal language model" in caught.value.hint


@pytest.mark.parametrize("architectures", [["GPT2ForSequenceClassification"], ["SomethingForMaskedLM"]])
def test_models_with_other_heads_are_refused(folder: Path, architectures: list[str]) -> None:
    tiny.edit_json(folder / "config.json", architectures=architectures)
    with pytest.raises(BackendError, match="is not a causal language model"):
        load(folder.parent, "m")


def test_an_unknown_architecture_is_refused(folder: Path) -> None:
    tiny.edit_json(folder / "config.json", model_type="brand_new")
    with pytest.raises(BackendError, match=r"config\.json could not be read"):
        load(folder.parent, "m")


def test_slow_tokenizers_are_refused(folder: Path) -> None:
    for path in folder.glob("tokenizer*"):
        path.unlink()
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "ByT5Tokenizer"}))
    with pytest.raises(BackendError, match="does not report which characters") as caught:
        load(folder.parent, "m")
    assert "fast tokenizer" in caught.value.hint


def test_the_fingerprint_depends_on_the_model_files_alone(folder: Path) -> None:
    first = load(folder.parent, "m").facts.fingerprint
    (folder / "README.md").write_text("notes")
    assert load(folder.parent, "m").facts.fingerprint == first
    shutil.copytree(folder, folder.parent / "copy")
    assert load(folder.parent, "copy").facts.fingerprint == first
    tiny.edit_json(folder / "config.json", note="changed")
    assert load(folder.parent, "m").facts.fingerprint != first


def test_a_package_that_is_not_installed_is_named(folder: Path) -> None:
    code = (
        "import sys; sys.modules['torch'] = None; import lmgym\n"
        f"try: lmgym.score('A', {str(folder)!r})\n"
        "except lmgym.errors.BackendError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "needs the package 'torch', which is not installed" in done.stdout
