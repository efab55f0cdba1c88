"""Local cache of the Hub: disk space, interrupted downloads, and deletion of commits that a site downloaded.

The cache is shared with other programs of the same account. A site therefore marks the commits that it
downloads, counts only marked commits against its limit, and deletes only marked commits. The layout is
huggingface_hub's: `models--org--name/{blobs,snapshots}`, with locks of running downloads in `.locks`. Marks
are files in `models--org--name/lm-gym` and record whether a token was needed.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

_MARKS = "lm-gym"
_RESTRICTED = "restricted"
_PARTIAL = re.compile(r"(?P<etag>.+)\.[0-9a-f]{8}\.incomplete")


@dataclass(frozen=True, order=True)
class Cached:
    """A commit in the cache that a site downloaded.

    Attributes:
        bytes: size of its files, some of which other commits may share.
        begun: start of its last download, in seconds since 1970.
    """

    repo: str
    commit: str
    bytes: int
    begun: float


def cached_files(repo: str, commit: str, names: Iterable[str]) -> set[str]:
    """Return the names of the files that are in this machine's cache."""
    from huggingface_hub import try_to_load_from_cache

    return {name for name in names if isinstance(try_to_load_from_cache(repo, name, revision=commit), str)}


def space() -> tuple[Path, int | None]:
    """Return the folder of downloads, and the free bytes of its disk (None if unknown)."""
    cache = _cache()
    existing = next(folder for folder in (cache, *cache.absolute().parents) if folder.exists())
    try:
        return cache, shutil.disk_usage(existing).free
    except OSError:
        return cache, None


def downloaded_bytes(repo: str, commit: str, sizes: Mapping[str, int]) -> int:
    """Return the number of bytes downloaded so far, including partial files. `sizes`: bytes by file name."""
    here = cached_files(repo, commit, sizes)
    return sum(sizes[name] for name in here) + sum(map(_size, _partials(_folder(repo))))


def drop_partials(repo: str = "*") -> None:
    """Delete partial files left by killed downloads of one or all repositories.

    Files of running downloads are locked and kept. huggingface_hub (2.4) resumes a partial file only in the
    process that created it.
    """
    from filelock import FileLock, Timeout

    for path in _partials(_folder(repo)):
        try:
            with FileLock(_lock_of(path), timeout=0):
                path.unlink(missing_ok=True)
        except Timeout:
            continue  # a running download holds the lock


def is_busy(repo: str) -> bool:
    """Delete leftovers of killed downloads and return whether a download of the repository is running."""
    drop_partials(repo)
    return bool(_partials(_folder(repo)))


# --- commits downloaded by a site ---


def mark(repo: str, commit: str, *, is_new: bool, restricted: bool = False) -> None:
    """Mark a commit as a site's, before the site downloads it.

    Args:
        is_new: no file of the commit was in the cache. An unmarked commit that is not new belongs to another
            program and is not marked.
        restricted: the Hub requires a token to download the files.
    """
    path = _folder(repo) / _MARKS / commit
    if is_new or path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_RESTRICTED if restricted else "", encoding="ascii")


def is_restricted(repo: str, commit: str) -> bool:
    """Return whether a site downloaded this commit with a token."""
    path = _folder(repo) / _MARKS / commit
    return path.is_file() and path.read_text(encoding="ascii") == _RESTRICTED


def marked() -> list[Cached]:
    """Return the commits that sites downloaded to this machine."""
    found = []
    for path in _cache().glob(f"models--*/{_MARKS}/*"):
        folder = path.parents[1]
        repo = folder.name.removeprefix("models--").replace("--", "/")
        size = sum(map(_size, _blobs(folder, path.name)))
        found.append(Cached(repo, path.name, size, path.stat().st_mtime))
    return sorted(found)


def used_bytes() -> int:
    """Return the total size in bytes of the commits that sites downloaded; shared files count once."""
    blobs = {
        blob for path in _cache().glob(f"models--*/{_MARKS}/*") for blob in _blobs(path.parents[1], path.name)
    }
    return sum(map(_size, blobs))


def delete(commits: Iterable[Cached]) -> int:
    """Delete marked commits and the files that no other commit shares. Return the number of bytes freed."""
    freed = 0
    for cached in commits:
        folder = _folder(cached.repo)
        snapshots = folder / "snapshots"
        others = {
            blob
            for other in snapshots.glob("*")
            if other.name != cached.commit
            for blob in _blobs(folder, other.name)
        }
        gone = _blobs(folder, cached.commit) - others
        freed += sum(map(_size, gone))
        shutil.rmtree(snapshots / cached.commit, ignore_errors=True)
        for path in (*gone, folder / "trees" / f"{cached.commit}.json", folder / _MARKS / cached.commit):
            path.unlink(missing_ok=True)
        if not any(snapshots.glob("*")):
            shutil.rmtree(folder, ignore_errors=True)
    return freed


def _cache() -> Path:
    from huggingface_hub import constants

    return Path(constants.HF_HUB_CACHE)


def _folder(repo: str) -> Path:
    return _cache() / f"models--{repo.replace('/', '--')}"


def _partials(folder: Path) -> list[Path]:
    """Return the partial files of running and killed downloads. `folder` may be a glob pattern."""
    paths = _cache().glob(f"{folder.name}/blobs/*.incomplete")
    return [path for path in sorted(paths) if _PARTIAL.fullmatch(path.name)]


def _lock_of(partial: Path) -> Path:
    locks = _cache() / ".locks" / partial.parents[1].name
    locks.mkdir(parents=True, exist_ok=True)
    return locks / _PARTIAL.sub(r"\g<etag>.lock", partial.name)


def _blobs(folder: Path, commit: str) -> set[Path]:
    """Return the files with the contents of a commit.

    Links are followed only to the blob. The blob may itself be a link to a store shared by several
    repositories, which does not belong to the site.
    """
    snapshot = folder / "snapshots" / commit
    return {
        Path(os.path.abspath(path.parent / path.readlink())) if path.is_symlink() else path
        for path in snapshot.rglob("*")
        if path.is_file()
    }


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0
