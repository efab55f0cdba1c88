"""Hugging Face Hub: pin a model to a commit, check it before fetching, and fetch only harmless files.

`hub_listing` requests file lists. The Hub's own library fetches files, only when a model is loaded and never
to render a page. The caller decides which access token may be used; tokens in the environment or stored by
huggingface_hub are ignored. A token is sent only for a model that requires one, and only to the Hub's
endpoint. Every failure is a BackendError. With `HF_HUB_OFFLINE=1`, only cached models work.
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
from urllib.parse import urlsplit

from lmgym.models.backends import hub_cache, hub_listing
from lmgym.models.backends.base import BackendError, BackendUnavailable
from lmgym.models.backends.files import FETCHED, KEPT, require_no_gguf
from lmgym.models.backends.hub_listing import BY_HAND, AccessDenied, HubToken
from lmgym.models.backends.unchanged import fits_name
from lmgym.net import is_broken_transfer

MAX_BYTES = 40 * 10**9
MAX_FILES = 2_000
TIMEOUT_SECONDS = 30.0
REPORT_SECONDS = 0.5
_PAUSES = (1.0, 5.0)
"""Seconds before each retry of a broken transfer. huggingface_hub (2.4) resumes a transfer if the server
hangs up, but not after a connection reset or a storage error."""

_PART = r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,94}[A-Za-z0-9_])?"
_REPO = re.compile(f"({_PART}/)?{_PART}")  # old names have no organisation, such as gpt2
_REVISION = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]{0,199}")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_SKIPPED = ("*/*", "consolidated*")  # subfolders have other formats; "consolidated" repeats the weights


@dataclass(frozen=True)
class HubModel:
    """A model at one commit.

    Attributes:
        repo: current name of its repository.
        files: bytes of the files to fetch, by name.
        token: token required to download the files; None = not needed or not available.
    """

    repo: str
    commit: str
    licence: str
    files: dict[str, int]
    is_gated: bool = False
    token: HubToken | None = None

    @property
    def total_bytes(self) -> int:
        """Bytes of all files to fetch."""
        return sum(self.files.values())


class Fetched(NamedTuple):
    """A model on this machine: its folder, the current name of its repository, its commit, and its licence.

    The licence is "" if the Hub was not contacted.
    """

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
            f"{repo!r} is not the name of a model on the Hub.",
            "Write it as organisation/name, for example org/model.",
        )
    if not _REVISION.fullmatch(revision) or ".." in revision:
        raise BackendError(f"{revision!r} is not a branch, tag or commit.")


def resolve(
    repo: str, revision: str = "main", *, max_bytes: int = MAX_BYTES, token: HubToken | None = None
) -> HubModel:
    """Resolve a revision to its commit, licence and files, without fetching any file.

    Raises:
        AccessDenied: the model does not exist, or is private or gated and the token does not permit reading it.
        BackendUnavailable: the Hub is unreachable, overloaded or down.
        BackendError: the model has no safetensors or is too large, or this machine is offline.
    """
    model, names = _listing(repo, revision, TIMEOUT_SECONDS, token, patient=True)
    _check_listing(model, names, max_bytes)
    return model


def inspect_revision(
    repo: str, revision: str, *, seconds: float, token: HubToken | None = None
) -> tuple[HubModel, str]:
    """Resolve a revision like `resolve`, but return the reason to reject the model instead of raising an error.

    If the Hub is unreachable, the cache is searched for a commit that needs no token.

    Returns:
        The model, and the reason to reject it or "".

    Raises:
        AccessDenied: see `resolve`.
        BackendError: the Hub did not list the model, and the cache does not have it.
    """
    try:
        model, names = _listing(repo, revision, seconds, token)
    except AccessDenied:
        raise
    except BackendError:
        is_open = is_commit(revision) and not hub_cache.is_restricted(repo, revision)
        folder = _local(repo, revision) if is_open else None
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
    repo: str, revision: str, seconds: float, token: HubToken | None, *, patient: bool = False
) -> tuple[HubModel, dict[str, int]]:
    """Return the model, and the sizes of all files in its repository. Tries without the token first."""
    check_names(repo, revision)
    used = None
    try:
        listing = hub_listing.fetch_listing(repo, revision, seconds=seconds, patient=patient)
    except AccessDenied:
        if token is None:
            raise
        used = token
        listing = hub_listing.fetch_listing(repo, revision, seconds=seconds, patient=patient, token=token)
    check_names(listing.repo, revision)
    if not is_commit(listing.commit):
        raise BackendError(f"The Hub returned no commit for {repo} at {revision}.", "Try again later.")
    files = {name: size for name, size in sorted(listing.sizes.items()) if _is_wanted(name)}
    if len(files) > MAX_FILES:
        raise BackendError(
            f"{repo} has {len(files):,} files to download; the limit is {MAX_FILES:,}.", BY_HAND
        )
    hub_listing.require_file_names(repo, list(files))
    if listing.is_gated and token is not None:
        hub_listing.require_access(listing.repo, token, seconds=seconds, patient=patient)
        used = token
    model = HubModel(listing.repo, listing.commit, listing.licence, files, listing.is_gated, used)
    return model, listing.sizes


def _local(repo: str, commit: str) -> Path | None:
    """Return the folder of a commit in the cache; None if it is missing or incomplete."""
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        return _snapshot(repo, commit, local=True, token=None)
    except LocalEntryNotFoundError:
        return None
    except Exception as error:
        raise _backend_error(error, repo, commit) from error


def _snapshot(repo: str, commit: str, *, local: bool, token: HubToken | None) -> Path:
    from huggingface_hub import snapshot_download

    return Path(
        snapshot_download(
            repo,
            revision=commit,
            allow_patterns=list(KEPT if local else FETCHED),
            ignore_patterns=list(_SKIPPED),
            local_files_only=local,
            token=token.value if token else False,
        )
    )


Report = Callable[[int, int], None]
"""Callback (bytes downloaded so far, total bytes), called from another thread during a download."""


def fetch(
    repo: str,
    revision: str,
    *,
    report: Report | None = None,
    budget: int | None = None,
    token: HubToken | None = None,
    ask_access: bool = False,
) -> Fetched:
    """Fetch the harmless files in the top folder of a model's repository: *.json, *.safetensors, *.txt, *.model and the
    chat template.

    A commit that is complete in the cache needs no network; otherwise the file list and the space are checked first.

    Args:
        report: called every REPORT_SECONDS.
        budget: limit in bytes on this site's downloads in the cache; 0 = no limit. The commit is marked as
            the site's (see `hub_cache`). None = the caller is not a site, and nothing is marked.
        token: used if the Hub requires one.
        ask_access: check with the Hub that `token` may read a cached commit that was downloaded with a token.

    Raises:
        BackendUnavailable: the Hub or the network failed, or a file is damaged; a retry may succeed.
        AccessDenied: see `resolve`.
        BackendError: see `resolve`; or the disk or the budget has too little space.
    """
    check_names(repo, revision)
    must_ask = ask_access and hub_cache.is_restricted(repo, revision)
    if is_commit(revision) and not must_ask and (folder := _local(repo, revision)):
        return Fetched(folder, repo, revision)
    model = resolve(repo, revision, token=token)
    if folder := _local(model.repo, model.commit):
        return Fetched(folder, model.repo, model.commit, model.licence)
    hub_cache.drop_partials(model.repo)
    here = hub_cache.cached_files(model.repo, model.commit, model.files)
    missing = {name: size for name, size in model.files.items() if name not in here}
    _require_room(model, sum(missing.values()), budget)
    if budget is not None:
        hub_cache.mark(model.repo, model.commit, is_new=not here, restricted=model.token is not None)
    with _reporting(model, missing, report):
        folder = _download(model)
    _require_names(model, folder, missing)
    return Fetched(folder, model.repo, model.commit, model.licence)


def _require_room(model: HubModel, needed: int, budget: int | None) -> None:
    _, free = hub_cache.space()
    if free is not None and needed > free:
        raise BackendError(
            f"{model.repo} needs {_size(needed)}, and the disk of the download cache has {_size(free)} free.",
            "Free some space. On a site, staff can delete weights that no model uses.",
        )
    if budget and needed + (used := hub_cache.used_bytes()) > budget:
        raise BackendError(
            f"{model.repo} needs {_size(needed)}. This site may keep {_size(budget)} of downloaded models on this "
            f"machine, and already keeps {_size(used)}.",
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
            done = max(done, min(total, hub_cache.downloaded_bytes(model.repo, model.commit, missing)))
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
    """Download a model's files over plain HTTP, with retries. Xet is disabled because it was never tested."""
    from huggingface_hub import constants

    constants.HF_HUB_DISABLE_XET = True
    with _no_long_waits(model.repo), _keep_token_on_hub():
        for pause in (*_PAUSES, None):
            try:
                return _snapshot(model.repo, model.commit, local=False, token=model.token)
            except Exception as error:
                if pause is None or not _may_be_repeated(error):
                    raise _backend_error(error, model.repo, model.commit, model.token) from error
                time.sleep(pause)
    raise AssertionError("the last try returns or raises")


@contextmanager
def _no_long_waits(repo: str) -> Iterator[None]:
    """Raise an error if a status 429 demands a wait of more than MAX_WAIT_SECONDS.

    huggingface_hub would wait for hours.
    """
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


@contextmanager
def _keep_token_on_hub() -> Iterator[None]:
    """Remove tokens from requests to servers other than the Hub's endpoint.

    huggingface_hub removes them for storage servers, but not if the next page of a list is on another server,
    as with some mirrors.
    """
    from huggingface_hub import constants, get_session

    endpoint = urlsplit(constants.ENDPOINT)

    def drop(request: Any) -> None:
        target = urlsplit(str(request.url))
        if (target.scheme, target.netloc) != (endpoint.scheme, endpoint.netloc):
            request.headers.pop("authorization", None)

    hooks = get_session().event_hooks["request"]
    hooks.append(drop)
    try:
        yield
    finally:
        hooks.remove(drop)


def _may_be_repeated(error: Exception) -> bool:
    """Return whether a transfer broke off, or the storage rejected a signed URL, which may have expired."""
    from huggingface_hub import constants, errors

    if isinstance(error, errors.HfHubHTTPError):
        is_storage = not str(error.response.url).startswith(constants.ENDPOINT)
        return is_storage and error.response.status_code != 429
    return is_broken_transfer(error)


def _require_names(model: HubModel, folder: Path, names: Mapping[str, int]) -> None:
    """Check that downloaded files match the digests in their cache names, and delete files that differ.

    huggingface_hub compares only sizes.

    Raises:
        BackendUnavailable: a file differs.
    """
    for name in names:
        path = folder / name
        if path.is_symlink() and not fits_name(path, path.readlink().name):
            (path.parent / path.readlink()).unlink(missing_ok=True)
            path.unlink()
            raise BackendUnavailable(
                f"{name} of {model.repo} arrived damaged: its digest differs from the Hub's. The file was deleted.",
                "Try again; if it happens again, something on the way to the Hub changes files.",
            )


def _is_wanted(name: str) -> bool:
    def matches(patterns: tuple[str, ...]) -> bool:
        return any(fnmatch(name, pattern) for pattern in patterns)

    return matches(FETCHED) and not matches(_SKIPPED)


def _check_listing(model: HubModel, names: dict[str, int], max_bytes: int) -> None:
    """Check configuration, weights and size without fetching files."""
    if model.is_gated and model.token is None:
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


def _backend_error(error: Exception, repo: str, revision: str, token: HubToken | None = None) -> BackendError:
    """Convert any exception from the Hub's library to a BackendError."""
    from huggingface_hub import errors

    if isinstance(error, BackendError):
        return error
    if isinstance(error, errors.GatedRepoError):
        return hub_listing.gated(repo, token)
    if isinstance(error, errors.RepositoryNotFoundError):
        return hub_listing.no_model(repo, token)
    if isinstance(error, errors.RevisionNotFoundError):
        return hub_listing.no_revision(repo, revision)
    if isinstance(error, errors.DisabledRepoError):
        return hub_listing.disabled(repo)
    if isinstance(error, errors.OfflineModeIsEnabled):
        return hub_listing.not_cached(repo, revision)
    if isinstance(error, errors.LocalEntryNotFoundError):  # its cause is the failed request
        cause = error.__cause__
        return (
            _backend_error(cause, repo, revision, token)
            if isinstance(cause, Exception)
            else hub_listing.not_cached(repo, revision)
        )
    if isinstance(error, errors.FileMetadataError):
        return BackendError(
            f"The Hub's responses for {repo} lack a commit or a digest.",
            "Check HF_ENDPOINT and proxies: the server does not answer like the Hub.",
        )
    if isinstance(error, errors.RemoteEntryNotFoundError):
        return BackendError(f"The Hub lists a file of {repo} that it does not have.", BY_HAND)
    if isinstance(error, errors.HfHubHTTPError):
        return hub_listing.bad_status(repo, error.response.status_code, error.response.headers, token)
    if isinstance(error, OSError) and error.errno == 28:
        return BackendError(f"The disk is full; {repo} could not be stored.", "Free some space.")
    if isinstance(error, OSError) and "Consistency check failed" in str(error):
        return BackendUnavailable(f"A file of {repo} arrived with the wrong size.", "Try again.")
    if is_broken_transfer(error):
        return hub_listing.interrupted(repo, error)
    return hub_listing.unreachable(repo, error)
