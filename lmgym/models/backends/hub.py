"""Hugging Face Hub: pin a model to a commit, check it before fetching, and fetch only harmless files.

`hub_listing` requests file lists. The Hub's own library fetches files, only when a model is loaded and never to render
a page. No access token is sent, so that users cannot read models with the site's permissions; put gated and private
models into the model directory. Every failure is a BackendError. With `HF_HUB_OFFLINE=1`, only cached models work.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from lmgym.models.backends import hub_listing
from lmgym.models.backends.base import BackendError
from lmgym.models.backends.files import FETCHED, KEPT, require_no_gguf
from lmgym.models.backends.hub_listing import BY_HAND

MAX_BYTES = 40 * 10**9
MAX_FILES = 2_000
TIMEOUT_SECONDS = 30.0

_PART = r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,94}[A-Za-z0-9_])?"
_REPO = re.compile(f"{_PART}/{_PART}")
_REVISION = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]{0,199}")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_SKIPPED = ("*/*", "consolidated*")  # subfolders have other formats; "consolidated" repeats the weights


@dataclass(frozen=True)
class HubModel:
    """A model at one commit. `files` maps the files to fetch to their bytes."""

    repo: str
    commit: str
    licence: str
    files: dict[str, int]

    @property
    def total_bytes(self) -> int:
        """Bytes of all files to fetch."""
        return sum(self.files.values())


def is_commit(revision: str) -> bool:
    """Return whether a revision is a full commit id."""
    return _COMMIT.fullmatch(revision) is not None


def check_names(repo: str, revision: str) -> None:
    """Raise BackendError unless both are valid names on the Hub (and never a path)."""
    if not _REPO.fullmatch(repo) or ".." in repo or "--" in repo or repo.endswith((".git", ".ipynb")):
        raise BackendError(
            f"{repo!r} is not a Hub model.", "Write it as organisation/name, for example org/model."
        )
    if not _REVISION.fullmatch(revision) or ".." in revision:
        raise BackendError(f"{revision!r} is not a branch, tag or commit.")


def resolve(repo: str, revision: str = "main", *, max_bytes: int = MAX_BYTES) -> HubModel:
    """Resolve a revision to its commit, licence and files, without fetching any file.

    Raises:
        BackendError: the model does not exist, is gated, has no safetensors or is too large, or the Hub is unreachable.
    """
    model, names = _listing(repo, revision, TIMEOUT_SECONDS)
    _check_listing(model, names, max_bytes)
    return model


def look(repo: str, revision: str, *, seconds: float) -> tuple[HubModel, str]:
    """Resolve a revision like `resolve`, but return the reason to reject the model instead of raising an error.

    If the Hub is unreachable, the cache is searched for a commit.

    Returns:
        The model, and the reason to reject it or "".

    Raises:
        BackendError: the model is unknown.
    """
    try:
        model, names = _listing(repo, revision, seconds)
    except BackendError:
        folder = _local(repo, revision) if is_commit(revision) else None
        if folder is None:
            raise
        names = {path.name: path.stat().st_size for path in sorted(folder.iterdir()) if path.is_file()}
        model = HubModel(repo, revision, "", {name: size for name, size in names.items() if _is_wanted(name)})
    try:
        _check_listing(model, names, MAX_BYTES)
    except BackendError as error:
        return model, str(error)
    return model, ""


def kept(repo: str, commit: str, names: Iterable[str]) -> set[str]:
    """Return the names of the files that are in the cache of this machine."""
    from huggingface_hub import try_to_load_from_cache

    return {name for name in names if isinstance(try_to_load_from_cache(repo, name, revision=commit), str)}


def cache_space() -> tuple[Path, int | None]:
    """Return the folder of downloads, and the free bytes of its disk (None if unknown)."""
    from huggingface_hub import constants

    cache = Path(constants.HF_HUB_CACHE)
    existing = next(folder for folder in (cache, *cache.absolute().parents) if folder.exists())
    try:
        return cache, shutil.disk_usage(existing).free
    except OSError:
        return cache, None


def _listing(repo: str, revision: str, seconds: float) -> tuple[HubModel, dict[str, int]]:
    """Return the model with the files to fetch, and the bytes of all its files."""
    check_names(repo, revision)
    listing = hub_listing.ask(repo, revision, seconds=seconds)
    if not is_commit(listing.commit):
        raise BackendError(f"The Hub returned no commit for {repo} at {revision}.", "Try again later.")
    files = {name: size for name, size in sorted(listing.sizes.items()) if _is_wanted(name)}
    if len(files) > MAX_FILES:
        raise BackendError(
            f"{repo} has {len(files):,} files to download; the limit is {MAX_FILES:,}.", BY_HAND
        )
    hub_listing.require_file_names(repo, list(files))
    return HubModel(repo, listing.commit, listing.licence, files), listing.sizes


def _local(repo: str, commit: str) -> Path | None:
    """Return the folder of a commit in the cache; None if it is missing or incomplete."""
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        return _snapshot(repo, commit, local=True)
    except LocalEntryNotFoundError:
        return None
    except Exception as error:
        raise _in_words(error, repo, commit) from error


def _snapshot(repo: str, commit: str, *, local: bool) -> Path:
    from huggingface_hub import snapshot_download

    return Path(
        snapshot_download(
            repo,
            revision=commit,
            allow_patterns=list(KEPT if local else FETCHED),
            ignore_patterns=list(_SKIPPED),
            local_files_only=local,
            token=False,
        )
    )


def fetch(repo: str, revision: str) -> tuple[Path, str]:
    """Fetch the harmless files of a model (json, safetensors, txt and model files of the top folder).

    A commit that is complete in the cache needs no network; otherwise the file list is checked first, see `resolve`.

    Returns:
        The local folder, and the commit.

    Raises:
        BackendError: see `resolve`; or the files could not be fetched.
    """
    check_names(repo, revision)
    if is_commit(revision) and (folder := _local(repo, revision)):
        return folder, revision
    commit = resolve(repo, revision).commit
    try:
        return _snapshot(repo, commit, local=False), commit
    except Exception as error:
        raise _in_words(error, repo, revision) from error


def _is_wanted(name: str) -> bool:
    def matches(patterns: tuple[str, ...]) -> bool:
        return any(fnmatch(name, pattern) for pattern in patterns)

    return matches(FETCHED) and not matches(_SKIPPED)


def _check_listing(model: HubModel, names: dict[str, int], max_bytes: int) -> None:
    """Check configuration, weights and size without fetching files."""
    if "config.json" not in names or not any(name.endswith(".safetensors") for name in model.files):
        require_no_gguf(*sorted(names))
    if "config.json" not in names:
        raise BackendError(f"{model.repo} has no config.json.", "It is not a transformers model.")
    if not any(name.endswith(".safetensors") for name in model.files):
        raise BackendError(
            f"{model.repo} has no safetensors weights at this revision.",
            "Files in other formats can run code when they are read. Use a copy with model.safetensors.",
        )
    if model.total_bytes > max_bytes:
        raise BackendError(
            f"{model.repo} has {model.total_bytes / 1e9:.1f} GB to download; "
            f"the limit is {max_bytes / 1e9:.1f} GB.",
            BY_HAND,
        )


def _in_words(error: Exception, repo: str, revision: str) -> BackendError:
    """Convert any exception from the Hub's library to a BackendError."""
    from huggingface_hub import errors

    if isinstance(error, BackendError):
        return error
    if isinstance(error, errors.GatedRepoError):
        return hub_listing.gated(repo)
    if isinstance(error, errors.RepositoryNotFoundError):
        return hub_listing.no_model(repo)
    if isinstance(error, errors.RevisionNotFoundError):
        return hub_listing.no_revision(repo, revision)
    if isinstance(error, errors.DisabledRepoError):
        return hub_listing.disabled(repo)
    if isinstance(error, errors.OfflineModeIsEnabled | errors.LocalEntryNotFoundError):
        return hub_listing.not_here(repo, revision)
    if isinstance(error, errors.HfHubHTTPError):
        status = getattr(getattr(error, "response", None), "status_code", "an error")
        return hub_listing.bad_status(repo, status)
    if isinstance(error, OSError) and error.errno == 28:
        return BackendError(f"The disk is full; {repo} could not be stored.", "Free some space.")
    return hub_listing.unreachable(repo, error)
