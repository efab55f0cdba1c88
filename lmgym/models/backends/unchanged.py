"""Whether the files of a model are, after loading, those that were there before it.

Files can be swapped or written over while they are read; what was computed with the old ones would then be kept under
the fingerprint of the new. Names, sizes, times and digests are compared. Weights on a CPU stay mapped from their file:
what is written into it later changes the loaded model, so names, sizes and times are looked at again while it is used.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from lmgym.models.backends.base import Backend, BackendError, BackendUnavailable
from lmgym.models.backends.files import KEPT

State = tuple[int, int, int, int, int]
"""Device, inode, bytes, time of the last write and of the last change of the inode (which nobody can set), in ns."""

_SHA256, _GIT = re.compile(r"[0-9a-f]{64}"), re.compile(r"[0-9a-f]{40}")
"""What the hub's cache calls large files (their sha256) and small ones (the hash that git gives them)."""


class Seen:
    """The files of a model before it is loaded: their states at once, their digests when `read` is called.

    Args:
        place: its folder, or its only file.
        in_cache: the folder is a snapshot in the hub's cache, where large files are named by their digests. These are
            believed by `read`, and held against what was loaded by `confirm`.
    """

    def __init__(self, place: Path, *, in_cache: bool = False) -> None:
        self.place = place
        self._in_cache = in_cache
        self._states = _states(place)
        self._digests: dict[str, str] = {}

    def read(self) -> Seen:
        """Raises BackendError when a small file of the cache is not the one that the hub had. Of files that a mirror
        named otherwise nothing can be told."""
        for path in _paths(self.place):
            name = self._named(path)
            if _GIT.fullmatch(name) and name not in _small_names(path):
                raise self._not_of_the_hub(path.name)
            self._digests[path.name] = name if _SHA256.fullmatch(name) else _digest(path)
        return self

    @property
    def digest(self) -> str:
        """sha256 over names and contents, as 64 hexadecimal digits; of a single file its own."""
        if self.place.is_file():
            return self._digests[self.place.name]
        lines = (f"{name}\0{digest}\n" for name, digest in self._digests.items())
        return hashlib.sha256("".join(lines).encode()).hexdigest()

    def has_changed(self) -> bool:
        """By names, sizes and times alone, so within microseconds."""
        try:
            return _states(self.place) != self._states
        except OSError:
            return True

    def require_unchanged(self) -> None:
        """The same, as an error."""
        if self.has_changed():
            raise BackendUnavailable(
                f"The files of the model in {self.place.name!r} changed while it was used.",
                "Try again when they are all in place.",
            )

    def confirm(self) -> None:
        """Raise BackendUnavailable unless the files are, to the last byte, what they were."""
        if not self.has_changed():
            try:
                others = [path for path in _paths(self.place) if _digest(path) != self._digests[path.name]]
            except (OSError, KeyError):
                others = [self.place]
            if not others:
                return
            if self._named(others[0]):
                raise self._not_of_the_hub(others[0].name)
        raise BackendUnavailable(
            f"The files of the model in {self.place.name!r} changed while it was loaded.",
            "Try again when they are all in place. To replace a model, write the new files into another folder and "
            "rename it.",
        )

    def _named(self, path: Path) -> str:
        """What the hub's cache calls a file of a snapshot, which is a link to it."""
        return path.readlink().name if self._in_cache and path.is_symlink() else ""

    def _not_of_the_hub(self, name: str) -> BackendError:
        return BackendError(
            f"{name} in the cache of the hub is not the file that the hub had there.",
            f"Delete {self.place.parent.parent.name} in the cache (HF_HUB_CACHE) and check the model again.",
        )


def has_changed_files(backend: Backend) -> bool:
    """Whether a loaded model was made of files that are no longer as they were. False for one that keeps none."""
    seen: Seen | None = getattr(backend, "seen", None)
    return seen is not None and seen.has_changed()


def _paths(place: Path) -> list[Path]:
    if place.is_file():
        return [place]
    return sorted({path for pattern in KEPT for path in place.glob(pattern) if path.is_file()})


def _states(place: Path) -> dict[str, State]:
    return {path.name: _state(path) for path in _paths(place)}


def _state(path: Path) -> State:
    at = path.stat()
    return at.st_dev, at.st_ino, at.st_size, at.st_mtime_ns, at.st_ctime_ns


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _small_names(path: Path) -> tuple[str, str]:
    """git's hash of a file, and its plain sha1, by which some mirrors name it."""
    plain, git = (hashlib.sha1(usedforsecurity=False) for _ in range(2))
    git.update(b"blob %d\0" % path.stat().st_size)
    with path.open("rb") as stream:
        while piece := stream.read(1_000_000):
            plain.update(piece)
            git.update(piece)
    return git.hexdigest(), plain.hexdigest()
