"""Hugging Face Hub: pin a model to a commit, check it before fetching, and fetch only harmless files.

`hub_listing` requests file lists. The Hub's own library fetches files, only when a model is loaded and never to render
a page. No access token is sent, so that users cannot read models with the site's permissions; put gated and private
models into the model directory. Every failure is a BackendError. With `HF_HUB_OFFLINE=1`, only cached models work.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NamedTuple

from lmgym.models.backends import hub_cache, hub_listing
from lmgym.models.backends.base import BackendError, BackendUnavailable
from lmgym.models.backends.files import FETCHED, KEPT, require_no_gguf
from lmgym.models.backends.hub_listing import BY_HAND
from lmgym.models.backends.unchanged import fits_name
from lmgym.net import is_broken_transfer

MAX_BYTES = 40 * 10**9
MAX_FILES = 2_000
TIMEOUT_SECONDS = 30.0
REPORT_SECONDS = 0.5
_PAUSES = (1.0, 5.0)
"""Seconds before a transfer that broke is tried again. huggingface_hub (2.4) resumes one whose server hung up, but not
after a reset connection or an error of the storage."""

_PART = r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,94}[A-Za-z0-9_])?"
_REPO = re.compile(f"({_PART}/)?{_PART}")  # a name without organisation is an old one, such as gpt2
_REVISION = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]{0,199}")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_SKIPPED = ("*/*", "consolidated*")  # subfolders have other formats; "consolidated" repeats the weights


@dataclass(frozen=True)
class HubModel:
    """A model at one commit. `repo` is its present name, `files` maps the files to fetch to their bytes."""

    repo: str
    commit: str
    licence: str
    files: dict[str, int]
    is_gated: bool = False

    @property
    def total_bytes(self) -> int:
        """Bytes of all files to fetch."""
        return sum(self.files.values())


class Fetched(NamedTuple):
    """A model on this machine: its folder, the present name of its repository, its commit, and its licence if the Hub
    was asked."""

    folder: Path
    repo: str
    commit: str
    licence: str = ""


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
    model, names = _listing(repo, revision, TIMEOUT_SECONDS, patient=True)
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


def _listing(
    repo: str, revision: str, seconds: float, *, patient: bool = False
) -> tuple[HubModel, dict[str, int]]:
    """Return the model with the files to fetch, and the bytes of all its files."""
    check_names(repo, revision)
    listing = hub_listing.ask(repo, revision, seconds=seconds, patient=patient)
    check_names(listing.repo, revision)
    if not is_commit(listing.commit):
        raise BackendError(f"The Hub returned no commit for {repo} at {revision}.", "Try again later.")
    files = {name: size for name, size in sorted(listing.sizes.items()) if _is_wanted(name)}
    if len(files) > MAX_FILES:
        raise BackendError(
            f"{repo} has {len(files):,} files to download; the limit is {MAX_FILES:,}.", BY_HAND
        )
    hub_listing.require_file_names(repo, list(files))
    model = HubModel(listing.repo, listing.commit, listing.licence, files, listing.is_gated)
    return model, listing.sizes


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


Report = Callable[[int, int], None]
"""Called during a download with the bytes downloaded so far and in total, in another thread."""


def fetch(repo: str, revision: str, *, report: Report | None = None, budget: int | None = None) -> Fetched:
    """Fetch the harmless files of a model (json, safetensors, txt and model files of the top folder).

    A commit that is complete in the cache needs no network; otherwise the file list and the space are checked first.

    Args:
        report: called every REPORT_SECONDS.
        budget: bytes that downloads of this site may take up in the cache; 0 = no limit. The commit is marked as one of
            the site's, see `hub_cache`. None: not for a site.

    Raises:
        BackendUnavailable: the Hub or the network failed; trying again may help.
        BackendError: see `resolve`; or there is no room, or the files are not those of the Hub.
    """
    check_names(repo, revision)
    if is_commit(revision) and (folder := _local(repo, revision)):
        return Fetched(folder, repo, revision)
    model = resolve(repo, revision)
    if folder := _local(model.repo, model.commit):
        return Fetched(folder, model.repo, model.commit, model.licence)
    hub_cache.drop_partials(model.repo)
    here = hub_cache.kept(model.repo, model.commit, model.files)
    missing = {name: size for name, size in model.files.items() if name not in here}
    _require_room(model, sum(missing.values()), budget)
    if budget is not None:
        hub_cache.mark(model.repo, model.commit, is_new=not here)
    with _reporting(model, missing, report):
        folder = _download(model)
    _require_names(model, folder, missing)
    return Fetched(folder, model.repo, model.commit, model.licence)


def _require_room(model: HubModel, needed: int, budget: int | None) -> None:
    _, free = hub_cache.space()
    if free is not None and needed > free:
        raise BackendError(
            f"{model.repo} needs {_size(needed)}, and the disk of the download cache has {_size(free)} free.",
            "Free some space; staff can delete weights that no model uses.",
        )
    if budget and needed + (used := hub_cache.used_bytes()) > budget:
        raise BackendError(
            f"{model.repo} needs {_size(needed)}. This site may keep {_size(budget)} of downloaded models on this "
            f"machine, and {_size(used)} are there.",
            "Staff can delete weights that no model uses, or raise the limit (GYM_HUB_CACHE_GB).",
        )


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 1e9:.1f} GB" if n_bytes >= 10**9 else f"{n_bytes / 1e6:.1f} MB"


@contextmanager
def _reporting(model: HubModel, missing: Mapping[str, int], report: Report | None) -> Iterator[None]:
    """Call `report` while the block downloads the missing files."""
    if report is None:
        yield
        return
    ended, total = threading.Event(), sum(missing.values())

    def watch() -> None:
        done = 0
        while not ended.wait(REPORT_SECONDS):
            done = max(done, min(total, hub_cache.arrived(model.repo, model.commit, missing)))
            report(done, total)

    watching = threading.Thread(target=watch, name="hub progress", daemon=True)
    watching.start()
    try:
        yield
    finally:
        ended.set()
        watching.join()
    report(total, total)


def _download(model: HubModel) -> Path:
    """Fetch the files of a model by plain HTTP: Xet transfers were never tried."""
    from huggingface_hub import constants

    constants.HF_HUB_DISABLE_XET = True
    with _no_long_waits(model.repo):
        for pause in (*_PAUSES, None):
            try:
                return _snapshot(model.repo, model.commit, local=False)
            except Exception as error:
                if pause is None or not _may_be_repeated(error):
                    raise _in_words(error, model.repo, model.commit) from error
                time.sleep(pause)
    raise AssertionError("the last try returns or raises")


@contextmanager
def _no_long_waits(repo: str) -> Iterator[None]:
    """Fail when a status 429 demands a longer wait than MAX_WAIT_SECONDS: huggingface_hub would wait for hours."""
    from huggingface_hub import get_session

    def refuse(response: Any) -> None:
        pause = hub_listing.pause_seconds(response.headers) if response.status_code == 429 else None
        if pause is not None and pause > hub_listing.MAX_WAIT_SECONDS:
            raise hub_listing.rate_limited(repo, pause)

    hooks = get_session().event_hooks["response"]
    hooks.append(refuse)
    try:
        yield
    finally:
        hooks.remove(refuse)


def _may_be_repeated(error: Exception) -> bool:
    """Return whether a transfer broke off or the storage refused a signed address, which may have expired."""
    from huggingface_hub import constants, errors

    if isinstance(error, errors.HfHubHTTPError):
        is_storage = not str(error.response.url).startswith(constants.ENDPOINT)
        return is_storage and error.response.status_code != 429
    return is_broken_transfer(error)


def _require_names(model: HubModel, folder: Path, names: Mapping[str, int]) -> None:
    """Compare downloaded files with the digests by which the Hub names them. Wrong ones are deleted.

    huggingface_hub compares only sizes.
    """
    for name in names:
        path = folder / name
        if path.is_symlink() and not fits_name(path, path.readlink().name):
            (path.parent / path.readlink()).unlink(missing_ok=True)
            path.unlink()
            raise BackendUnavailable(
                f"{name} of {model.repo} arrived damaged: its digest is not that of the Hub. It was deleted.",
                "Try again; if it happens again, something on the way to the Hub changes files.",
            )


def _is_wanted(name: str) -> bool:
    def matches(patterns: tuple[str, ...]) -> bool:
        return any(fnmatch(name, pattern) for pattern in patterns)

    return matches(FETCHED) and not matches(_SKIPPED)


def _check_listing(model: HubModel, names: dict[str, int], max_bytes: int) -> None:
    """Check configuration, weights and size without fetching files."""
    if model.is_gated:
        raise hub_listing.gated(model.repo)
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
            f"{model.repo} has {_size(model.total_bytes)} to download; the limit is {_size(max_bytes)}.",
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
    if isinstance(error, errors.OfflineModeIsEnabled):
        return hub_listing.not_here(repo, revision)
    if isinstance(error, errors.LocalEntryNotFoundError):  # raised by what kept the Hub from answering
        cause = error.__cause__
        return (
            _in_words(cause, repo, revision)
            if isinstance(cause, Exception)
            else hub_listing.not_here(repo, revision)
        )
    if isinstance(error, errors.FileMetadataError):
        return BackendError(
            f"The Hub's responses for {repo} name no commit or no digest.",
            "Check HF_ENDPOINT and proxies: the server does not answer like the Hub.",
        )
    if isinstance(error, errors.RemoteEntryNotFoundError):
        return BackendError(f"A file on the Hub's list of {repo} is not there.", BY_HAND)
    if isinstance(error, errors.HfHubHTTPError):
        return hub_listing.bad_status(repo, error.response.status_code, error.response.headers)
    if isinstance(error, OSError) and error.errno == 28:
        return BackendError(f"The disk is full; {repo} could not be stored.", "Free some space.")
    if isinstance(error, OSError) and "Consistency check failed" in str(error):
        return BackendUnavailable(f"A file of {repo} arrived with a wrong size.", "Try again.")
    if is_broken_transfer(error):
        return hub_listing.interrupted(repo, error)
    return hub_listing.unreachable(repo, error)
