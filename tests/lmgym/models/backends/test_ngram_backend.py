"""Tokens, offsets, policies and files of the n-gram backend. Model files are untrusted."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmgym.models.backends import BackendError, load_backend, probe
from lmgym.models.backends.ngram import NgramBackend
from lmgym.models.backends.ngram_file import FILE_NAME, dump_model, load_model, save_model
from lmgym.models.backends.ngram_model import tokenize, train_ngram
from lmgym.models.engine.policy import ScoringPolicy
from lmgym.models.engine.scores import TokenScores
from tests.lmgym.conftest import ROOT

TEXTS = ["The cat sat.", "The dog sat.", "The cat saw the dog, again.", "A cat saw the cat."] * 2


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "small").mkdir()
    save_model(train_ngram(TEXTS, 3), tmp_path / "small" / FILE_NAME)
    return tmp_path


@pytest.fixture
def backend(folder: Path) -> NgramBackend:
    loaded = load_backend("ngram", {"path": "small"}, model_dir=folder, hub_allowed=False)
    assert isinstance(loaded, NgramBackend)
    return loaded


def one(backend: NgramBackend, text: str, **policy: Any) -> TokenScores:
    (result,) = backend.score([text], ScoringPolicy(**policy))
    assert isinstance(result, TokenScores)
    return result


# ---- tokens and policies ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The cat sat.", ["The", "cat", "sat", "."]),
        ("Don't go , please !", ["Don't", "go", ",", "please", "!"]),
        ("l’été, 3.5 well-known", ["l’été", ",", "3", ".", "5", "well", "-", "known"]),
        ("e\u0301te\u0301 日本語 🙂x", ["e\u0301te\u0301", "日本語", "🙂", "x"]),
        ("<s> a", ["<", "s", ">", "a"]),
        (" \t\n", []),
    ],
)
def test_tokenize(text: str, words: list[str]) -> None:
    assert [word.text for word in tokenize(text)] == words


@given(st.text())
def test_tokens_cover_all_that_is_visible(text: str) -> None:
    found = tokenize(text)
    covered = {at for word in found for at in range(word.start, word.end)}
    assert all(text[word.start : word.end] == word.text for word in found)
    assert [word.start for word in found] == sorted(word.start for word in found)
    assert covered == {at for at, character in enumerate(text) if not character.isspace()}


def test_start_and_end_tokens(backend: NgramBackend) -> None:
    score = one(backend, "The cat", eos=True)
    assert score.tokens == ["<s>", "The", "cat", "</s>"]
    assert score.offsets == [(0, 0), (0, 3), (4, 7), (7, 7)]
    assert score.special == [True, False, False, True]
    assert score.bits[0] is None
    assert all(value is not None and value > 0 for value in score.bits[1:])


def test_without_start_token_the_first_word_is_unscored(backend: NgramBackend) -> None:
    score = one(backend, "The cat sat", bos="never")
    assert score.tokens == ["The", "cat", "sat"]
    assert score.bits[0] is None
    assert not any(score.special)
    full = one(backend, "The cat sat", bos="always")
    assert score.bits[2] == full.bits[3]  # a trigram model uses the same two words
    assert score.bits[1] != full.bits[2]


def test_empty_text(backend: NgramBackend) -> None:
    assert one(backend, "").tokens == ["<s>"]
    assert one(backend, "", bos="never") == TokenScores([], [], [], [], [])
    assert backend.score([], ScoringPolicy()) == []


def test_unknown_words_are_visible(backend: NgramBackend) -> None:
    score = one(backend, "The zebra sat")
    assert score.tokens == ["<s>", "The", "<unk>", "sat"]
    assert score.ids[2] == 0
    assert score.offsets[2] == (4, 9)
    assert score.bits[2] is not None


def test_case_counts(backend: NgramBackend) -> None:
    assert one(backend, "the").ids != one(backend, "The").ids
    assert one(backend, "CAT").tokens[1] == "<unk>"


def test_blanks_before_signs_change_nothing(backend: NgramBackend) -> None:
    assert one(backend, "The cat , again .").bits == one(backend, "The cat, again.").bits


def test_facts_and_probe(backend: NgramBackend, folder: Path) -> None:
    facts = backend.facts
    assert facts.architecture.startswith("3-gram")
    assert facts.parameters == backend.model.parameters > facts.vocabulary_size
    assert facts.vocabulary_size == len(backend.model.words) - 1
    assert len(facts.fingerprint) == 64
    assert json.loads(json.dumps(facts.to_dict())) == facts.to_dict()
    assert probe(backend)["batch_difference"] == 0
    save_model(train_ngram(TEXTS, 2), folder / "other.ngram")
    other = load_backend("ngram", {"path": "other.ngram"}, model_dir=folder, hub_allowed=False)
    assert other.facts.fingerprint != facts.fingerprint


def test_needs_no_torch(folder: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from lmgym.models.backends import load_backend\n"
        "load_backend('ngram', {'path': 'small'}, model_dir=Path(sys.argv[1]), hub_allowed=False)\n"
        "assert not {'torch', 'transformers', 'django'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code, str(folder)], check=True, cwd=ROOT)


# ---- files ----


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_round_trip(order: int, tmp_path: Path) -> None:
    model = train_ngram(TEXTS, order)
    path = tmp_path / "m.ngram"
    save_model(model, path)
    again = load_model(path)
    assert dump_model(again) == path.read_bytes() == dump_model(train_ngram(TEXTS, order))
    assert again.words == model.words
    assert again.discounts == model.discounts
    assert again.distribution([2, 3]).tolist() == model.distribution([2, 3]).tolist()


@pytest.mark.parametrize("path", ["../small", "/etc/passwd", "small/../small", "missing", "small/none"])
def test_paths_stay_inside(folder: Path, path: str) -> None:
    with pytest.raises(BackendError):
        load_backend("ngram", {"path": path}, model_dir=folder, hub_allowed=False)


def test_links_stay_inside(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    save_model(train_ngram(TEXTS, 2), outside / FILE_NAME)
    (folder / "link").mkdir()
    (folder / "link" / FILE_NAME).symlink_to(outside / FILE_NAME)
    with pytest.raises(BackendError, match="is outside"):
        load_backend("ngram", {"path": "link"}, model_dir=folder, hub_allowed=False)


def test_folder_without_a_model(folder: Path) -> None:
    (folder / "empty").mkdir()
    with pytest.raises(BackendError, match="There is no"):
        load_backend("ngram", {"path": "empty"}, model_dir=folder, hub_allowed=False)


def _unpack(data: bytes) -> tuple[dict[str, Any], bytes]:
    line, payload = gzip.decompress(data).split(b"\n", 1)
    return json.loads(line), payload


def _pack(header: object, payload: bytes) -> bytes:
    return gzip.compress(json.dumps(header).encode() + b"\n" + payload)


HEADERS: list[dict[str, Any]] = [
    {"format": "pickle"},
    {"version": 2},
    {"order": 0},
    {"order": 99},
    {"order": 2.0},
    {"order": 2},
    {"order": True},
    {"sizes": [1]},
    {"sizes": [-1, 5]},
    {"sizes": [10**9, 10**9]},
    {"sizes": [2, 10**12]},
    {"sizes": ["2", 5]},
    {"sizes": None},
    {"words": "cat"},
    {"words": ["cat", "cat"]},
    {"words": ["<s>"]},
    {"words": ["cat"]},
    {"words": [""]},
    {"words": [1]},
    {"id_bytes": 8},
    {"id_bytes": 3},
    {"count_bytes": 3},
    {"count_bytes": None},
    {"min_count": 0},
    {"tokens": -1},
    {"sentences": "many"},
]


@pytest.mark.parametrize("change", HEADERS, ids=str)
def test_bad_headers(tmp_path: Path, change: dict[str, Any]) -> None:
    header, payload = _unpack(dump_model(train_ngram(TEXTS, 3)))
    path = tmp_path / "bad.ngram"
    path.write_bytes(_pack({**header, **change}, payload))
    with pytest.raises(BackendError, match=r"bad\.ngram is not a valid n-gram model"):
        load_model(path)


def _two(at: int, value: int) -> Callable[[bytes], bytes]:
    def change(payload: bytes) -> bytes:
        return payload[:at] + value.to_bytes(2, "little") + payload[at + 2 :]

    return change


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda payload: payload[:-1], id="short"),
        pytest.param(lambda payload: payload + b"x", id="long"),
        pytest.param(_two(0, 5), id="initial not at the beginning"),
        pytest.param(_two(0, 60000), id="number out of range"),
        pytest.param(_two(-2, 0), id="count of zero"),
        pytest.param(lambda payload: bytes(len(payload)), id="zeros"),
        pytest.param(lambda payload: bytes(reversed(payload)), id="backwards"),
        pytest.param(lambda payload: b"\xff" * len(payload), id="ones"),
    ],
)
def test_bad_payloads(tmp_path: Path, change: Callable[[bytes], bytes]) -> None:
    header, payload = _unpack(dump_model(train_ngram(TEXTS, 3)))
    path = tmp_path / "bad.ngram"
    path.write_bytes(_pack(header, change(payload)))
    with pytest.raises(BackendError, match="is not a valid n-gram model"):
        load_model(path)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x80\x04K\x01.",
        gzip.compress(b"", mtime=0),
        gzip.compress(b"[]\n", mtime=0),
        gzip.compress(b"{}", mtime=0),
        gzip.compress(b"{\n", mtime=0),
    ],
)
def test_other_files(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "other.ngram"
    path.write_bytes(data)
    with pytest.raises(BackendError, match="is not a valid n-gram model"):
        load_model(path)


def test_sentences_shorter_than_the_order(tmp_path: Path) -> None:
    """Without any n-gram of the highest order, the model still works and can be saved."""
    model = train_ngram(["a", "a"], 5)
    save_model(model, tmp_path / "short.ngram")
    again = load_model(tmp_path / "short.ngram")
    assert again.distribution([2]).tolist() == model.distribution([2]).tolist()
    header, _ = _unpack(dump_model(model))
    (tmp_path / "void.ngram").write_bytes(_pack({**header, "sizes": [0] * 4}, b""))
    with pytest.raises(BackendError, match="it has no words"):
        load_model(tmp_path / "void.ngram")


def test_truncated_and_damaged_files(tmp_path: Path) -> None:
    data = dump_model(train_ngram(TEXTS, 3))
    path = tmp_path / "cut.ngram"
    for broken in (data[:-9], data[: len(data) // 2], data[:40] + b"\0\0\0\0" + data[44:]):
        path.write_bytes(broken)
        with pytest.raises(BackendError, match="is not a valid n-gram model"):
            load_model(path)


def test_an_ngram_whose_beginning_is_missing(tmp_path: Path) -> None:
    """A trigram at the start of a sentence without its bigram cannot come from counting."""
    header, payload = _unpack(dump_model(train_ngram(TEXTS, 3)))
    bigrams = header["sizes"][0]
    assert bigrams == 2  # "<s> A" and "<s> The"
    first, second = payload[0:2] + payload[4:6] + payload[8:10], payload[12:]
    path = tmp_path / "hole.ngram"
    path.write_bytes(_pack({**header, "sizes": [1, header["sizes"][1]]}, first + second))
    with pytest.raises(BackendError, match="the prefix of an n-gram is missing"):
        load_model(path)


@given(st.binary(max_size=200))
def test_random_bytes_never_crash(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("random", numbered=True) / "r.ngram"
    path.write_bytes(gzip.compress(data, mtime=0))
    with pytest.raises(BackendError):
        load_model(path)
