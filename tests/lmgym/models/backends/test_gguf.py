"""GGUF files as the weights of a model."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
import pytest

import lmgym
from lmgym.models.backends import BackendError
from lmgym.models.given import open_model
from tests.lmgym.models import gguf_writer, tiny

pytest.importorskip("gguf", reason="the package gguf is not installed")
TEXTS = ["The woman plays all day.", "Don't  sing, 3 of café 🙂"]


@pytest.fixture(scope="module")
def model():
    tokenizer = tiny.train("byte-bpe")
    return tiny.llama(tokenizer.get_vocab_size()), tiny.fast(tokenizer)


@pytest.fixture(scope="module")
def file(model, tmp_path_factory) -> Path:
    return gguf_writer.write(tmp_path_factory.mktemp("gguf") / "tiny.gguf", *model)


def test_it_gives_the_bits_of_the_weights_that_it_was_made_from(model, file, tmp_path):
    folder = tiny.save(tmp_path / "tiny", *model)
    pd.testing.assert_frame_equal(lmgym.score(TEXTS, file), lmgym.score(TEXTS, folder), atol=1e-5, rtol=0)


def test_quantised_weights_are_rounded_and_the_facts_say_so(model, file, tmp_path, capfd):
    quantised = gguf_writer.write(tmp_path / "tiny.Q4_1.gguf", *model, quantised="Q4_1")
    loaded = open_model(quantised)
    assert loaded.name == "tiny.Q4_1"
    assert (
        "GGUF file tiny.Q4_1.gguf (F32, Q4_1), dequantised to float32; tokenizer built from its vocabulary."
        in loaded.backend.facts.notes[0]
    )
    exact, rounded = (lmgym.score(TEXTS, path)["surprisal"].dropna() for path in (file, quantised))
    assert 0.001 < (exact - rounded).abs().max() < 3
    assert "quantizing" not in capfd.readouterr().err


def test_a_folder_stands_for_its_only_file_but_not_for_one_of_several(file, tmp_path):
    (tmp_path / "first.gguf").write_bytes(file.read_bytes())
    assert open_model(tmp_path).backend.facts.parameters == open_model(file).backend.facts.parameters
    (tmp_path / "second.gguf").write_bytes(file.read_bytes())
    with pytest.raises(BackendError, match=r"contains 2 GGUF files: first\.gguf, second\.gguf"):
        open_model(tmp_path)


def test_safetensors_in_the_same_folder_come_first(model, file, tmp_path):
    folder = tiny.save(tmp_path / "tiny", *model)
    (folder / "tiny.gguf").write_bytes(file.read_bytes())
    assert not any("GGUF" in note for note in open_model(folder).backend.facts.notes)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"architecture": "wavelet"}, "wavelet"),
        ({"more": {"split.count": 2}}, "is one of 2 parts of a model"),
        ({"more": {"general.type": "adapter"}}, "is not a model (adapter)"),
    ],
)
def test_what_cannot_be_read_is_refused_by_name(model, tmp_path, change, message):
    path = gguf_writer.write(tmp_path / "odd.gguf", *model, **change)
    with pytest.raises(BackendError) as caught:
        open_model(path)
    assert message in caught.value.message
    assert "odd.gguf" in caught.value.message


@pytest.mark.parametrize("content", [b"", b"GGUF", b"GGUF" + b"\xff" * 64, b"nothing of the kind" * 9])
def test_a_broken_file_is_refused(tmp_path, content):
    (tmp_path / "broken.gguf").write_bytes(content)
    with pytest.raises(BackendError, match=r"broken\.gguf is not a readable GGUF file"):
        open_model(tmp_path / "broken.gguf")


def test_a_file_that_is_cut_short_is_refused(file, tmp_path):
    (tmp_path / "cut.gguf").write_bytes(file.read_bytes()[:-100])
    with pytest.raises(BackendError, match=r"cut\.gguf"):
        open_model(tmp_path / "cut.gguf")


def test_a_model_too_large_for_the_memory_is_refused_before_it_is_read(file, monkeypatch):
    monkeypatch.setattr("lmgym.models.backends.memory_check.machine_memory", lambda: (1000, 1000))
    with pytest.raises(BackendError, match=r"The model takes .* in float32, and the main memory has"):
        open_model(file)


def test_without_the_package_the_install_line_is_named(file, monkeypatch):
    monkeypatch.setitem(sys.modules, "gguf", None)
    with pytest.raises(BackendError) as caught:
        open_model(file)
    assert caught.value.hint == 'pip install "lm-gym[hf]"'
