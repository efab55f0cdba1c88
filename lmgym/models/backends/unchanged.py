"""Detect changes to model files while they are loaded and used.

Files can be replaced or overwritten while they are read; scores computed with the old files would then be cached under
the fingerprint of the new ones. Names, sizes, times and digests are compared. Weights on a CPU stay mapped from their
file, so a later write changes the loaded model: names, sizes and times are compared again whenever it is used.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from lmgym.models.backends.base import Backend, BackendError, BackendUnavailable
from lmgym.models.backends.files import KEPT

State = tuple[int, int, int, int, int]
"""Device, inode, bytes, and times in ns of the last write and the last change of the inode (which cannot be set)."""

_SHA256, _GIT = re.compile(r"[0-9a-f]{64}"), re.compile(r"[0-9a-f]{40}")
"""Names of files in the Hub's cache: SHA-256 for large files, git's hash for small ones."""


class FileSnapshot:
    """State of a model's files before it is loaded; digests are added by `read`.

    Args:
        place: the model's folder, or its only file.
        in_cache: the folder is a snapshot in the Hub's cache, where large files are named by their digests. `read`
            trusts these names; `confirm` compares them with the loaded files.
    """

    def __init__(self, place: Path, *, in_cache: bool = False) -> None:
        self.place = place
        self._in_cache = in_cache
        self._states = _states(place)
        self._digests: dict[str, str] = {}

    def read(self) -> FileSnapshot:
        """Compute the digests.

        Raises:
            BackendError: a small file in the Hub's cache does not match the hash in its name. Files that are not named
                by a hash (from some mirrors) are not checked.
        """
        for path in _paths(self.place):
            name = self._named(path)
            if _GIT.fullmatch(name) and not fits_name(path, name):
                raise self._not_of_the_hub(path.name)
            self._digests[path.name] = name if _SHA256.fullmatch(name) else _digest(path)
        return self

    @property
    def digest(self) -> str:
        """SHA-256 of names and contents, or of a single file, as 64 hexadecimal digits."""
        if self.place.is_file():
            return self._digests[self.place.name]
        lines = (f"{name}\0{digest}\n" for name, digest in self._digests.items())
        return hashlib.sha256("".join(lines).encode()).hexdigest()

    def has_changed(self) -> bool:
        """Return whether names, sizes or times changed; takes microseconds."""
        try:
            return _states(self.place) != self._states
        except OSError:
            return True

    def require_unchanged(self) -> None:
        """Raise BackendUnavailable if the files changed."""
        if self.has_changed():
            raise BackendUnavailable(
                f"The files of the model in {self.place.name!r} changed while it was in use.",
                "Try again when all files are in place.",
            )

    def confirm(self) -> None:
        """Compare the contents of all files. Raises BackendUnavailable if they changed."""
        if not self.has_changed():
            try:
                changed = [path for path in _paths(self.place) if _digest(path) != self._digests[path.name]]
            except (OSError, KeyError):
                changed = [self.place]
            if not changed:
                return
            if self._named(changed[0]):
                raise self._not_of_the_hub(changed[0].name)
        raise BackendUnavailable(
            f"The files of the model in {self.place.name!r} changed while it was being loaded.",
            "Try again when all files are in place. To replace a model, write the new files to another folder and "
            "rename it.",
        )

    def _named(self, path: Path) -> str:
        """Return the name of the blob in the Hub's cache that a snapshot's file links to, or ""."""
        return path.readlink().name if self._in_cache and path.is_symlink() else ""

    def _not_of_the_hub(self, name: str) -> BackendError:
        return BackendError(
            f"{name} in the Hub's cache differs from the file on the Hub.",
            f"Delete {self.place.parent.parent.name} in the cache (HF_HUB_CACHE) and check the model again.",
        )


def fits_name(path: Path, name: str) -> bool:
    """Return whether a file's digest matches its name in the Hub's cache.

    Names that are not digests, as some mirrors use, match any file.
    """
    if _SHA256.fullmatch(name):
        return _digest(path) == name
    return not _GIT.fullmatch(name) or name in _small_names(path)


def has_changed_files(backend: Backend) -> bool:
    """Return whether the files of a loaded model changed; False for a model without files."""
    snapshot: FileSnapshot | None = getattr(backend, "snapshot", None)
    return snapshot is not None and snapshot.has_changed()


def _paths(model: Path) -> list[Path]:
    if model.is_file():
        return [model]
    return sorted({path for pattern in KEPT for path in model.glob(pattern) if path.is_file()})


def _states(model: Path) -> dict[str, State]:
    return {path.name: _state(path) for path in _paths(model)}


def _state(path: Path) -> State:
    at = path.stat()
    return at.st_dev, at.st_ino, at.st_size, at.st_mtime_ns, at.st_ctime_ns


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _small_names(path: Path) -> tuple[str, str]:
    """Return git's hash of a file, and its plain SHA-1, which some mirrors use as the name."""
    plain, git = (hashlib.sha1(usedforsecurity=False) for _ in range(2))
    git.update(b"blob %d\0" % path.stat().st_size)
    with path.open("rb") as stream:
        while piece := stream.read(1_000_000):
            plain.update(piece)
            git.update(piece)
    return git.hexdigest(), plain.hexdigest()
