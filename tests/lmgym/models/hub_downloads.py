"""What this process has downloaded from a Hub."""

from __future__ import annotations

from pathlib import Path

from huggingface_hub import constants


def cache() -> Path:
    return Path(constants.HF_HUB_CACHE)


def partials() -> list[Path]:
    """Return the files of downloads that have not ended."""
    return list(cache().rglob("*.incomplete"))


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}
