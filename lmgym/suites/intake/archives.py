"""Several suite files in one go, those of zip archives in their place."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

from lmgym.files.archives import MAGIC, Archive, ArchiveLimits
from lmgym.files.bounded import Refused
from lmgym.files.workbooks import is_workbook
from lmgym.suites.formats import MAX_BYTES

MAX_FILES = 200
"""Of one import, those in archives included."""
MAX_TOTAL = 20_000_000
"""Their bytes, unpacked."""
ENDINGS = (".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".txt", ".xlsx", ".xlsm", ".ods")
LIMITS = ArchiveLimits(entries=5_000, file_bytes=MAX_BYTES, bytes=MAX_TOTAL)


@dataclass(frozen=True)
class GivenFile:
    """`problem`: why it was not even unpacked."""

    name: str
    data: bytes
    problem: str = ""


def unpacked(files: Iterable[GivenFile]) -> list[GivenFile]:
    """The files, those of zip archives in their place. Raises Refused for more than is read in one go."""
    found: list[GivenFile] = []
    for file in files:
        found += _members(file) if is_archive(file) else [file]
        if len(found) > MAX_FILES:
            raise Refused(f"more than {MAX_FILES} files in one import", "Split them.")
    if sum(len(file.data) for file in found) > MAX_TOTAL:
        raise Refused(f"the files hold more than {MAX_TOTAL // 1_000_000} MB together", "Split them.")
    return found


def is_archive(file: GivenFile) -> bool:
    return file.data.startswith(MAGIC) and not is_workbook(file.data)


def _members(file: GivenFile) -> list[GivenFile]:
    archive = Archive(file.data, LIMITS)
    found: list[GivenFile] = []
    for info in archive.files():
        path = PurePosixPath(info.filename.replace("\\", "/"))
        if path.name.startswith(".") or path.suffix.lower() not in ENDINGS:
            continue
        if len(found) >= MAX_FILES:
            raise Refused(f"{file.name} has more than {MAX_FILES} suite files", "Split it.")
        name = str(path)[-200:]
        if info.file_size > MAX_BYTES:
            found.append(GivenFile(name, b"", f"the file has more than {MAX_BYTES // 1_000_000} MB"))
        else:
            found.append(GivenFile(name, archive.read(info)))
    if not found:
        kinds = ", ".join(ENDINGS)
        raise Refused(f"{file.name} has no file that ends in {kinds}", "Pack the suite files themselves.")
    return found
