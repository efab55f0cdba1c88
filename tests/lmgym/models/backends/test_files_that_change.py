"""Scores always come from the files that the fingerprint covers, even if files are replaced or overwritten
meanwhile.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from lmgym.models.backends import BackendError, BackendUnavailable, causal, hub, load_backend, ngram
from lmgym.models.backends.unchanged import FileSnapshot, has_changed_files
from lmgym.models.engine.policy import ScoringPolicy
from tests.lmgym.models import tiny

COMMIT = "0123456789abcdef0123456789abcdef01234567"
TEXT = "The keys to the cabinet are here"


def load(folder: Path, kind: str = "causal") -> Any:
    config = {"source": "directory", "path": folder.name, "kernels": "stock"}
    return load_backend(kind, config, model_dir=folder.parent, hub_allowed=False)


@pytest.fixture
def folder(tiny_models: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_models / "character", tmp_path / "models" / "m"))


def other_weights(folder: Path) -> Path:
    """Save other weights with the same names and shapes next to the folder."""
    from safetensors.torch import load_file, save_file

    path = folder.parent / "other.safetensors"
    weights = {name: 1.5 * value for name, value in load_file(folder / "model.safetensors").items()}
    save_file(weights, path, metadata={"format": "pt"})
    return path


def swap(folder: Path) -> None:
    os.replace(other_weights(folder), folder / "model.safetensors")


def overwrite(folder: Path) -> None:
    """Overwrite a file in place and restore its modification time."""
    path = folder / "model.safetensors"
    times = path.stat()
    content = other_weights(folder).read_bytes()
    with path.open("r+b") as stream:
        stream.write(content)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


@pytest.mark.parametrize("change", [swap, overwrite])
@pytest.mark.parametrize("moment", ["read_tokenizer", "_tuned"])
def test_weights_swapped_while_a_model_is_loaded_are_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, moment: str, change: Callable[[Path], None]
) -> None:
    step = getattr(causal, moment)
    monkeypatch.setattr(causal, moment, lambda *given, **more: (change(folder), step(*given, **more))[1])
    with pytest.raises(BackendUnavailable, match="'m' changed while it was being loaded"):
        load(folder)
    monkeypatch.setattr(causal, moment, step)
    load(folder)


def test_content_is_compared_where_a_file_system_keeps_no_times(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = FileSnapshot(folder).read()
    overwrite(folder)
    monkeypatch.setattr(FileSnapshot, "has_changed", lambda self: False)
    with pytest.raises(BackendUnavailable, match="changed while it was being loaded"):
        seen.confirm()


def test_an_n_gram_model_swapped_while_it_is_loaded_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "m.ngram").write_bytes(b"old")

    def load_model(path: Path) -> None:
        path.write_bytes(b"new")

    monkeypatch.setattr(ngram, "load_model", load_model)
    with pytest.raises(BackendUnavailable, match="changed while it was being loaded"):
        load_backend("ngram", {"path": "m.ngram"}, model_dir=tmp_path, hub_allowed=False)


def test_weights_overwritten_under_a_loaded_model_give_no_score(folder: Path) -> None:
    backend = load(folder)
    backend.score([TEXT], ScoringPolicy())
    overwrite(folder)
    with pytest.raises(BackendUnavailable, match="'m' changed while it was in use"):
        backend.score([TEXT], ScoringPolicy())
    assert has_changed_files(backend)
    assert not has_changed_files(load(folder))


def test_the_fingerprint_of_a_folder_is_what_it_was(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_bytes(b"{}")
    (tmp_path / "README.md").write_bytes(b"not part of it")
    line = f"config.json\0{hashlib.sha256(b'{}').hexdigest()}\n"
    assert FileSnapshot(tmp_path).read().digest == hashlib.sha256(line.encode()).hexdigest()


# --- the Hub's cache: snapshots are folders of links to blobs, which are named by their hash ---


def git_name(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def cached(folder: Path, names: Callable[[bytes], str] = git_name) -> Path:
    """Copy the folder into the layout of the Hub's cache, and return the snapshot. Blobs of weights are named
    by their sha256, other blobs by `names`.
    """
    root = folder.parent / "models--org--name"
    snapshot = root / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    (root / "blobs").mkdir()
    for path in folder.iterdir():
        content = path.read_bytes()
        is_large = path.suffix == ".safetensors"
        blob = root / "blobs" / (hashlib.sha256(content).hexdigest() if is_large else names(content))
        blob.write_bytes(content)
        (snapshot / path.name).symlink_to(Path("../../blobs") / blob.name)
    return snapshot


def load_cached(snapshot: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(hub, "fetch", lambda repo, revision: hub.Fetched(snapshot, repo, COMMIT))
    config = {"source": "hub", "repo": "org/name", "revision": COMMIT, "kernels": "stock"}
    return load_backend("causal", config, model_dir=snapshot, hub_allowed=True)


@pytest.mark.parametrize(
    "names",
    [git_name, lambda content: hashlib.sha1(content).hexdigest(), lambda content: f"W-{len(content)}"],
    ids=["git", "sha1", "of a mirror"],
)
def test_a_cache_whose_files_have_their_names_is_loaded(
    folder: Path, monkeypatch: pytest.MonkeyPatch, names: Callable[[bytes], str]
) -> None:
    backend = load_cached(cached(folder, names), monkeypatch)
    commit = hashlib.sha256(f"org/name@{COMMIT}".encode()).hexdigest()
    assert backend.facts.fingerprint == hashlib.sha256(f"{commit} float32".encode()).hexdigest()


def test_weights_in_the_cache_that_are_not_those_of_their_name_are_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = cached(folder)
    shutil.copy(other_weights(folder), (snapshot / "model.safetensors").resolve())
    with pytest.raises(BackendError, match="differs from the file on the Hub") as caught:
        load_cached(snapshot, monkeypatch)
    assert caught.value.message.startswith("model.safetensors in the Hub's cache")
    assert "Delete models--org--name" in caught.value.hint


def test_a_tokenizer_in_the_cache_that_is_not_that_of_its_name_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = cached(folder)
    tiny.edit_json((snapshot / "tokenizer.json").resolve(), version="1.0 ")
    with pytest.raises(BackendError, match=r"tokenizer\.json in the Hub's cache differs"):
        load_cached(snapshot, monkeypatch)


def test_a_cache_that_is_swapped_while_a_model_is_loaded_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot, step = cached(folder), causal.read_tokenizer
    blob, content = (snapshot / "model.safetensors").resolve(), other_weights(folder).read_bytes()
    monkeypatch.setattr(causal, "read_tokenizer", lambda *given: (blob.write_bytes(content), step(*given))[1])
    with pytest.raises(BackendUnavailable, match="changed while it was being loaded"):
        load_cached(snapshot, monkeypatch)
