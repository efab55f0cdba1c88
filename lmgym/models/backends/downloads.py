"""List of files, with sizes, that would be downloaded or read to load a model. Does not fetch any file."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

from lmgym.models.backends import BACKENDS, hub, hub_cache
from lmgym.models.backends.base import BackendError, FilesMissing
from lmgym.models.backends.files import KEPT, inside
from lmgym.models.backends.hub_listing import AccessDenied, HubToken
from lmgym.models.backends.ngram_file import FILE_NAME

ASK_SECONDS = 6.0
"""Time limit for requests to the Hub: a user is waiting for the page."""
_AT_ONCE = 8


class NeededFile(NamedTuple):
    """A file of a model. `here` is True if the file is on this machine and need not be downloaded."""

    name: str
    bytes: int
    here: bool


@dataclass(frozen=True)
class Download:
    """Files that loading a model needs.

    Attributes:
        place: "hub", "directory" (the model directory of this site) or "nowhere" if no file is needed.
        repo: current name of the repository; `requested_repo` may be an old name.
        needs_token: the Hub hides the model or its files without a token that has access, or the model does
            not exist.
        unknown: why the size is unknown, or "".
        obstacle: why the check would reject the model, judging by the file list, or "".
        cache: folder of downloads.
        free_bytes: free space on its disk; None = unknown.
    """

    place: str
    repo: str = ""
    requested_repo: str = ""
    revision: str = ""
    commit: str = ""
    files: list[NeededFile] = field(default_factory=list)
    needs_token: bool = False
    unknown: str = ""
    obstacle: str = ""
    cache: Path | None = None
    free_bytes: int | None = None

    @property
    def total_bytes(self) -> int | None:
        return None if self.unknown else sum(file.bytes for file in self.files)

    @property
    def download_bytes(self) -> int | None:
        """Bytes of files that are not on this machine yet; None if the files are unknown."""
        return None if self.unknown else sum(file.bytes for file in self.files if not file.here)

    @property
    def is_too_large(self) -> bool:
        """True if the download does not fit on the disk."""
        return self.free_bytes is not None and (self.download_bytes or 0) > self.free_bytes


def reads_files(kind: str) -> bool:
    """Return whether models of this backend are loaded from files of this site."""
    spec = BACKENDS[kind]
    return spec.needs_files and not spec.needs_external_access


def download_of(
    kind: str,
    config: dict[str, Any],
    *,
    model_dir: Path,
    hub_allowed: bool,
    token: HubToken | None = None,
) -> Download:
    """List the files for a configuration that fits its schema. Problems are reported in `unknown`, never raised.

    Args:
        token: used if the Hub does not list the files without one.
    """
    if not reads_files(kind):
        return Download("nowhere")
    if config.get("source") == "hub":
        return _from_hub(config["repo"], config.get("revision", "main"), hub_allowed, token)
    try:
        source = inside(model_dir, config["path"])
        patterns = (FILE_NAME,) if kind == "ngram" else KEPT
        paths = (
            sorted({path for pattern in patterns for path in source.glob(pattern)})
            if source.is_dir()
            else [source]
        )
        files = [NeededFile(path.name, path.stat().st_size, here=True) for path in paths if path.is_file()]
    except BackendError as error:
        return Download("directory", unknown=str(error))
    except OSError as error:
        return Download("directory", unknown=f"The model cannot be read ({error.strerror}).")
    unknown = "" if files else "The folder has no files for this kind of model."
    return Download("directory", files=files, unknown=unknown)


def downloads_of(
    configs: Sequence[dict[str, Any]], *, hub_allowed: bool, token: HubToken | None, seconds: float
) -> list[Download]:
    """List the files of several Hub models in parallel. Sizes not received within `seconds` are unknown."""
    pool = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="hub listing")
    until = monotonic() + seconds
    try:
        asked = [
            pool.submit(_from_hub, config["repo"], config.get("revision", "main"), hub_allowed, token)
            for config in configs
        ]
        return [_within(task, config, until) for task, config in zip(asked, configs, strict=True)]
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _within(task: Future[Download], config: dict[str, Any], until: float) -> Download:
    try:
        return task.result(max(0.0, until - monotonic()))
    except TimeoutError:
        cache, free = hub_cache.space()
        return Download(
            "hub",
            config["repo"],
            config["repo"],
            config.get("revision", "main"),
            unknown="The Hub took too long to list the model's files.",
            cache=cache,
            free_bytes=free,
        )


def _from_hub(repo: str, revision: str, allowed: bool, token: HubToken | None) -> Download:
    cache, free = hub_cache.space()
    download = Download("hub", repo, repo, revision, cache=cache, free_bytes=free)
    if not allowed:
        return replace(download, unknown="This site does not download models from the Hugging Face Hub.")
    try:
        model, obstacle = hub.inspect_revision(repo, revision, seconds=ASK_SECONDS, token=token)
    except FilesMissing:
        offline = "The Hub was not contacted: this machine is offline (HF_HUB_OFFLINE)."
        return replace(download, unknown=offline)
    except AccessDenied as error:
        return replace(download, needs_token=True, unknown=str(error))
    except BackendError as error:
        return replace(download, unknown=str(error))
    here = hub_cache.cached_files(model.repo, model.commit, model.files)
    files = [NeededFile(name, size, name in here) for name, size in model.files.items()]
    return replace(
        download,
        repo=model.repo,
        commit=model.commit,
        files=files,
        needs_token=model.is_gated and model.token is None,
        obstacle=obstacle,
    )
