"""Folders of test cases as zip archives: read with limits, written reproducibly.

Names with `..` are rejected, although nothing is unpacked to disk.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import PurePosixPath

from lmgym.agents.hocon import MAX_BYTES, HoconError, decode
from lmgym.files.archives import Archive, ArchiveLimits
from lmgym.files.bounded import Refused

MAX_FILES = 500
MAX_TOTAL = 20_000_000
MAX_ENTRIES = 5_000
SUFFIXES = (".hocon", ".conf", ".json")
LIMITS = ArchiveLimits(MAX_ENTRIES, MAX_BYTES, MAX_TOTAL)


class ArchiveError(ValueError):
    """Raised for an archive that is rejected."""


def name_of(path: str) -> str:
    """Return the name of a case: the path of its file without .hocon. Other extensions are kept.

    Raises ArchiveError for paths outside the archive and for empty or too long names.
    """
    pure = PurePosixPath(path.replace("\\", "/"))
    if pure.is_absolute() or ".." in pure.parts or ":" in path or any(ord(sign) < 32 for sign in path):
        raise ArchiveError(
            f"{path!r} is not a path inside the archive: it is absolute, or has .., a colon or a control character."
        )
    name = str(pure).removesuffix(SUFFIXES[0])
    if not name or len(name) > 200:
        raise ArchiveError(f"{path[:60]!r} is not a valid name for a case: a name has 1 to 200 characters.")
    return name


def read_archive(data: bytes) -> dict[str, str]:
    """Return the cases in a zip archive as {name: text}; other files are ignored. Raises ArchiveError."""
    try:
        archive = Archive(data, LIMITS)
        return _cases(archive)
    except Refused as error:
        raise ArchiveError(str(error)) from None


def _cases(archive: Archive) -> dict[str, str]:
    files: dict[str, str] = {}
    for info in archive.files():
        if not info.filename.endswith(SUFFIXES):
            continue
        name = name_of(info.filename)
        content = archive.read(info)
        if len(files) >= MAX_FILES:
            raise ArchiveError(f"The archive contains more than {MAX_FILES} cases.")
        if name in files:
            raise ArchiveError(f"The archive contains {name!r} twice.")
        files[name] = text_of(content, info.filename)
    if not files:
        raise ArchiveError(f"The archive contains no file with an extension of {', '.join(SUFFIXES)}.")
    return files


def file_of(name: str) -> str:
    """Return the path of a case's file. Inverse of `name_of`."""
    return name if name.endswith(SUFFIXES[1:]) else name + SUFFIXES[0]


def text_of(content: bytes, path: str) -> str:
    """Decode a file, keeping line endings and byte order mark so that exports reproduce the same bytes.

    Raises:
        ArchiveError: the file is not UTF-8, or contains U+0000.
    """
    try:
        decode(content)
    except HoconError as error:
        raise ArchiveError(f"{path}: {error}") from None
    text = content.decode()
    if "\0" in text:
        raise ArchiveError(f"{path}: Text cannot contain the character U+0000.")
    return text


def write_archive(files: Mapping[str, str]) -> bytes:
    """Return the cases as a zip archive. Equal cases give identical bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            info = zipfile.ZipInfo(file_of(name), (1980, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            archive.writestr(info, files[name].encode())
    return out.getvalue()
