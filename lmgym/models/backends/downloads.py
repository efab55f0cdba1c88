"""What loading a model would download or read, and how large that is, before anybody asks for it. Fetches no file."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from lmgym.models.backends import BACKENDS, hub
from lmgym.models.backends.base import BackendError, FilesMissing
from lmgym.models.backends.files import KEPT, inside
from lmgym.models.backends.ngram_file import FILE_NAME

ASK_SECONDS = 6.0
"""How long the hub may take: somebody waits for the page."""


class NeededFile(NamedTuple):
    name: str
    bytes: int
    here: bool
    """Nothing has to be downloaded for it."""


@dataclass(frozen=True)
class Download:
    """`place`: "hub", "directory" (the model directory of this site) or "nowhere", where no file is needed."""

    place: str
    repo: str = ""
    revision: str = ""
    commit: str = ""
    files: list[NeededFile] = field(default_factory=list)
    unknown: str = ""
    """Why the size is not known; empty where it is."""
    obstacle: str = ""
    """What the check would refuse the model for, as far as its listing shows."""
    cache: Path | None = None
    free_bytes: int | None = None
    """On the disk that downloads go to; None where that is not known."""

    @property
    def total_bytes(self) -> int | None:
        return None if self.unknown else sum(file.bytes for file in self.files)

    @property
    def download_bytes(self) -> int | None:
        """Less than everything where files are here already."""
        return None if self.unknown else sum(file.bytes for file in self.files if not file.here)

    @property
    def is_too_large(self) -> bool:
        """For the disk that it goes to."""
        return self.free_bytes is not None and (self.download_bytes or 0) > self.free_bytes


def reads_files(kind: str) -> bool:
    """Whether models of this backend lie in files that this site downloads or keeps."""
    spec = BACKENDS[kind]
    return spec.needs_files and not spec.needs_external_access


def download_of(kind: str, config: dict[str, Any], *, model_dir: Path, hub_allowed: bool) -> Download:
    """Of a configuration that fits its schema. Whatever goes wrong is said in `unknown`, never raised."""
    if not reads_files(kind):
        return Download("nowhere")
    if config.get("source") == "hub":
        return _from_hub(config["repo"], config.get("revision", "main"), hub_allowed)
    try:
        found = inside(model_dir, config["path"])
        read = (FILE_NAME,) if kind == "ngram" else KEPT
        paths = (
            sorted({path for pattern in read for path in found.glob(pattern)}) if found.is_dir() else [found]
        )
        files = [NeededFile(path.name, path.stat().st_size, here=True) for path in paths if path.is_file()]
    except BackendError as error:
        return Download("directory", unknown=str(error))
    except OSError as error:
        return Download("directory", unknown=f"It cannot be read ({error.strerror}).")
    unknown = "" if files else "The folder has no file that such a model is loaded from."
    return Download("directory", files=files, unknown=unknown)


def _from_hub(repo: str, revision: str, allowed: bool) -> Download:
    cache, free = hub.room()
    asked = Download("hub", repo, revision, cache=cache, free_bytes=free)
    if not allowed:
        return replace(asked, unknown="This site does not download models from the Hugging Face hub.")
    try:
        model, obstacle = hub.look(repo, revision, seconds=ASK_SECONDS)
    except FilesMissing:
        offline = "The hub could not be asked: this machine is offline (HF_HUB_OFFLINE)."
        return replace(asked, unknown=offline)
    except BackendError as error:
        return replace(asked, unknown=str(error))
    here = hub.kept(repo, model.commit, model.files)
    files = [NeededFile(name, size, name in here) for name, size in model.files.items()]
    return replace(asked, commit=model.commit, files=files, obstacle=obstacle)
