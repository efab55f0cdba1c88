"""Helpers for tests: the files in the Hub cache of this process."""

from __future__ import annotations

from pathlib import Path

from huggingface_hub import constants


def cache() -> Path:
    return Path(constants.HF_HUB_CACHE)


def partials() -> list[Path]:
    """Return the files of unfinished downloads."""
    return list(cache().rglob("*.incomplete"))


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}
