"""A model's tokenizer returns the ids of tokenizer.json, whatever class transformers chooses for the folder."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from lmgym.models.backends import BackendError, load_backend, tokenizer_file
from lmgym.models.backends.loading import read_tokenizer
from tests.lmgym.models import tiny

TEXTS = ("650841823", "cafe\u0301", "plain words")
REPLACED = (
    ("GPT2Tokenizer", "llama"),
    ("GPT2TokenizerFast", "gpt2"),
    ("GPT2Tokenizer", "gpt_neox"),
    (None, "gpt2"),
    (None, "opt"),
    ("PreTrainedTokenizerFast", "qwen2"),
    ("Qwen2Tokenizer", "llama"),
    ("GPTNeoXTokenizerFast", "llama"),
    ("RobertaTokenizerFast", "llama"),
)
KEPT = (
    ("PreTrainedTokenizerFast", "llama"),
    ("LlamaTokenizerFast", "llama"),
    ("GPT2Tokenizer", "olmo2"),
)


def digits_tokenizer() -> Tokenizer:
    """Build a byte-level BPE tokenizer with NFC and a split that keeps runs of up to three digits."""
    signs = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = [(a, b) for a in "0123456789" for b in "0123456789"] + [("Ã", "©")]
    words = ["<s>", "<unk>", *signs, *(a + b for a, b in merges)]
    made = Tokenizer(models.BPE(vocab={word: at for at, word in enumerate(words)}, merges=merges))
    made.normalizer = normalizers.NFC()
    split = pre_tokenizers.Split(Regex(r"\p{N}{1,3}| ?\p{L}+|[^\p{L}\p{N}]+"), "isolated")
    byte = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.pre_tokenizer = pre_tokenizers.Sequence([split, byte])
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens(["<s>", "<unk>"])
    return made


def write(folder: Path, made: Tokenizer, name: str | None, kind: str, **settings: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    made.save(str(folder / "tokenizer.json"))
    settings = {"bos_token": "<s>", "eos_token": "<s>", "unk_token": "<unk>", **settings}
    settings |= {"tokenizer_class": name} if name else {}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    (folder / "config.json").write_text(json.dumps({"model_type": kind}))
    return folder


@pytest.mark.parametrize(("name", "kind"), [*REPLACED, *KEPT])
def test_ids_are_those_of_the_file(tmp_path: Path, name: str | None, kind: str) -> None:
    made, notes = digits_tokenizer(), list[str]()
    found = read_tokenizer(write(tmp_path, made, name, kind), notes)
    for text in TEXTS:
        batch = found(text, add_special_tokens=False, return_offsets_mapping=True)
        expected = made.encode(text, add_special_tokens=False)
        assert (batch["input_ids"], batch["offset_mapping"]) == (expected.ids, expected.offsets)
    assert (found.bos_token_id, found.eos_token_id, found.unk_token_id) == (0, 0, 1)
    assert len(notes) == ((name, kind) in REPLACED)


def test_a_class_that_has_only_other_parts_gives_way_as_well(tmp_path: Path) -> None:
    made = digits_tokenizer()
    merged = json.loads(made.to_str())
    merged["model"]["ignore_merges"] = True
    notes: list[str] = []
    read_tokenizer(write(tmp_path, Tokenizer.from_str(json.dumps(merged)), "GPT2Tokenizer", "gpt2"), notes)
    assert "normalizer, pre-tokenizer, model" in notes[0]


def test_special_tokens_that_only_transformers_knows_are_kept(tmp_path: Path) -> None:
    folder = write(tmp_path, digits_tokenizer(), "GPT2Tokenizer", "gpt2", pad_token="<pad>")
    found = read_tokenizer(folder)
    assert (
        found("650<pad>", add_special_tokens=False)["input_ids"][-1] == found.pad_token_id == len(found) - 1
    )


def test_a_frame_that_transformers_changes_is_that_of_the_file(tmp_path: Path) -> None:
    made = digits_tokenizer()
    made.post_processor = processors.TemplateProcessing(
        single="<unk> $A <s>", special_tokens=[("<s>", 0), ("<unk>", 1)]
    )
    notes: list[str] = []
    frame = {"cls_token": "<s>", "sep_token": "<s>"}
    folder = write(tmp_path, made, "RobertaTokenizerFast", "roberta", **frame)
    found = read_tokenizer(folder, notes, framed=True)
    assert found("650")["input_ids"] == made.encode("650").ids
    assert "post-processor" in notes[0]


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    folder = write(tmp_path, digits_tokenizer(), "PreTrainedTokenizerFast", "llama")
    found = read_tokenizer(folder)
    (folder / "tokenizer.json").write_text('{"model": {"type": "none"}}')
    with pytest.raises(BackendError, match=r"tokenizer\.json could not be read"):
        tokenizer_file.matching_tokenizer(found, folder, [], framed=False)


def test_a_tokenizer_that_cannot_follow_the_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write(tmp_path, digits_tokenizer(), "GPT2Tokenizer", "gpt2")
    monkeypatch.setattr(tokenizer_file, "_wrapped", lambda raw, tokenizer: tokenizer)
    with pytest.raises(BackendError, match="its tokenizer differs in normalizer, pre-tokenizer"):
        read_tokenizer(folder)


def test_the_facts_of_a_model_say_that_the_file_is_used(tiny_models: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny_models / "byte-bpe", tmp_path / "models" / "m"))
    made = Tokenizer.from_file(str(folder / "tokenizer.json"))
    made.normalizer = normalizers.Lowercase()
    made.save(str(folder / "tokenizer.json"))
    tiny.edit_json(folder / "tokenizer_config.json", tokenizer_class="GPT2Tokenizer")
    config = {"source": "directory", "path": "m"}
    backend = load_backend("causal", config, model_dir=folder.parent, hub_allowed=False)
    assert "GPT2Tokenizer of transformers differs from tokenizer.json in normalizer" in backend.facts.notes[0]


def test_a_vocabulary_without_an_unknown_token_is_no_reason_to_refuse(tmp_path: Path) -> None:
    made, notes = Tokenizer(models.WordLevel({"<s>": 0, "keys": 1}, unk_token="<unk>")), list[str]()
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    found = read_tokenizer(write(tmp_path, made, "PreTrainedTokenizerFast", "llama", unk_token=None), notes)
    assert (found("keys", add_special_tokens=False)["input_ids"], notes) == ([1], [])


# --- errors name the missing files ---


@pytest.fixture
def folder(tiny_models: Path, tmp_path: Path) -> Path:
    """A model without a tokenizer file."""
    folder = Path(shutil.copytree(tiny_models / "byte-bpe", tmp_path / "models" / "m"))
    for path in folder.glob("*token*"):
        path.unlink()
    return folder


def refusal(folder: Path) -> BackendError:
    config = {"source": "directory", "path": folder.name}
    with pytest.raises(BackendError) as caught:
        load_backend("causal", config, model_dir=folder.parent, hub_allowed=False)
    return caught.value


@pytest.mark.parametrize("name", [None, "GPT2Tokenizer", "LlamaTokenizer"])
def test_a_folder_without_a_tokenizer_says_which_file_is_missing(folder: Path, name: str | None) -> None:
    if name:
        (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": name}))
    error = refusal(folder)
    assert error.message == "The folder has no tokenizer: tokenizer.json is missing."
    assert "save_pretrained" in error.hint


@pytest.mark.parametrize("name", ["tokenizer.model", "spiece.model"])
def test_sentencepiece_alone_says_how_to_convert_it(folder: Path, name: str) -> None:
    (folder / name).write_bytes(b"\n\x0e\n\x05<unk>\x15\x00\x00\x00\x00\x18\x02")
    error = refusal(folder)
    assert error.message == f"The tokenizer exists only as {name}; tokenizer.json is missing."
    assert "sentencepiece" in error.hint
    assert "AutoTokenizer.from_pretrained(folder).save_pretrained(folder)" in error.hint


def test_a_vocabulary_that_makes_no_tokenizer_is_named(folder: Path) -> None:
    (folder / "vocab.json").write_text("{}")
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "GPT2Tokenizer"}))
    error = refusal(folder)
    assert error.message.startswith(
        "tokenizer.json is missing, and no tokenizer could be built from vocab.json"
    )


def test_a_vocabulary_without_tokenizer_json_is_used(folder: Path) -> None:
    tiny.train("byte-bpe").model.save(str(folder))
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "GPT2Tokenizer"}))
    found = read_tokenizer(folder)
    assert found("The keys")["input_ids"]


def test_dropout_of_merges_is_refused_by_name(folder: Path, tiny_models: Path) -> None:
    shutil.copy(tiny_models / "byte-bpe" / "tokenizer.json", folder)
    made = json.loads((folder / "tokenizer.json").read_text())
    made["model"]["dropout"] = 0.1
    (folder / "tokenizer.json").write_text(json.dumps(made))
    error = refusal(folder)
    assert "drops merges at random (BPE dropout 0.1)" in error.message
    assert error.hint == 'Dropout is only for training. Set "dropout" of "model" in tokenizer.json to null.'
