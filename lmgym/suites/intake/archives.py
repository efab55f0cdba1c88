"""Several suite files in one import, with zip archives unpacked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

from lmgym.files.archives import MAGIC, Archive, ArchiveLimits
from lmgym.files.bounded import Refused
from lmgym.files.workbooks import is_workbook
from lmgym.suites.formats import MAX_BYTES

MAX_FILES = 200
"""Maximum number of files in one import, including those in archives."""
MAX_TOTAL = 20_000_000
"""Maximum total size of the unpacked files, in bytes."""
ENDINGS = (".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".txt", ".xlsx", ".xlsm", ".ods", ".js", ".parquet")
LIMITS = ArchiveLimits(entries=5_000, file_bytes=MAX_BYTES, bytes=MAX_TOTAL)


@dataclass(frozen=True)
class SourceFile:
    """A file to import. `problem`: why it was not unpacked, or ""."""

    name: str
    data: bytes
    problem: str = ""


def unpacked(files: Iterable[SourceFile]) -> list[SourceFile]:
    """Replace zip archives with their suite files. Raises Refused beyond the limits of one import, and for an archive
    that is damaged or has no suite files."""
    members: list[SourceFile] = []
    for file in files:
        members += _members(file) if is_archive(file) else [file]
        if len(members) > MAX_FILES:
            raise Refused(f"more than {MAX_FILES} files in one import", "Import them in several parts.")
    if sum(len(file.data) for file in members) > MAX_TOTAL:
        raise Refused(
            f"the files are larger than {MAX_TOTAL // 1_000_000} MB in total", "Import them in several parts."
        )
    return members


def is_archive(file: SourceFile) -> bool:
    """Return whether a file is a zip archive but not a workbook."""
    return file.data.startswith(MAGIC) and not is_workbook(file.data, file.name)


def _members(file: SourceFile) -> list[SourceFile]:
    archive = Archive(file.data, LIMITS)
    members: list[SourceFile] = []
    for info in archive.files():
        path = PurePosixPath(info.filename.replace("\\", "/"))
        if path.name.startswith(".") or path.suffix.lower() not in ENDINGS:
            continue
        if len(members) >= MAX_FILES:
            raise Refused(f"{file.name} has more than {MAX_FILES} suite files", "Split the archive.")
        name = str(path)[-200:]
        if info.file_size > MAX_BYTES:
            members.append(SourceFile(name, b"", f"the file is larger than {MAX_BYTES // 1_000_000} MB"))
        else:
            members.append(SourceFile(name, archive.read(info)))
    if not members:
        kinds = ", ".join(ENDINGS)
        raise Refused(
            f"{file.name} has no file whose name ends in {kinds}", "Add the suite files to the archive."
        )
    return members
