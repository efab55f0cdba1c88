"""Folders of test cases as zip archives: reading with limits, writing reproducibly. Pure.

Names with `..` are refused, although nothing is unpacked to a disk.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import PurePosixPath

from gym.agents.core.hocon import MAX_BYTES, HoconError, decode

MAX_FILES = 500
MAX_TOTAL = 20_000_000
MAX_ENTRIES = 5_000
ENTRY = b"PK\x01\x02"
"""Begins every entry of an archive's list of contents."""
SUFFIXES = (".hocon", ".conf", ".json")
LINK = 0o120000


class ArchiveError(ValueError):
    """Why an archive is refused."""


def name_of(path: str) -> str:
    """The name of a case from the path of its file: without .hocon, with other endings. Raises ArchiveError for paths
    that lead out of the archive."""
    pure = PurePosixPath(path.replace("\\", "/"))
    if pure.is_absolute() or ".." in pure.parts or ":" in path or any(ord(sign) < 32 for sign in path):
        raise ArchiveError(f"{path!r} leads out of the archive.")
    name = str(pure).removesuffix(SUFFIXES[0])
    if not name or len(name) > 200:
        raise ArchiveError(f"{path[:60]!r} is no name for a case.")
    return name


def read_archive(data: bytes) -> dict[str, str]:
    """{name: text} of the cases in a zip archive; files of other kinds are passed over. Raises ArchiveError."""
    if data.count(ENTRY) > MAX_ENTRIES:  # before zipfile makes an object of each
        raise ArchiveError(f"The archive has more than {MAX_ENTRIES:,} entries.")
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError):
        raise ArchiveError("This is no zip archive.") from None
    files: dict[str, str] = {}
    total = 0
    for info in archive.infolist():
        if info.is_dir() or not info.filename.endswith(SUFFIXES) or "__MACOSX" in info.filename:
            continue
        name = name_of(info.filename)
        content = _content(archive, info)
        total += len(content)
        if total > MAX_TOTAL or len(files) >= MAX_FILES:
            raise ArchiveError(
                f"The archive holds more than {MAX_FILES} cases or {MAX_TOTAL // 1_000_000} MB."
            )
        if name in files:
            raise ArchiveError(f"The archive holds {name!r} twice.")
        files[name] = text_of(content, info.filename)
    if not files:
        raise ArchiveError(f"The archive holds no file that ends in {', '.join(SUFFIXES)}.")
    return files


def _content(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """The bytes of one entry, up to the limit of a case, whatever its header says."""
    if info.flag_bits & 1:
        raise ArchiveError(f"{info.filename!r} is encrypted.")
    if (info.external_attr >> 16) & 0o170000 == LINK:
        raise ArchiveError(f"{info.filename!r} is a link.")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ArchiveError(f"{info.filename!r} is packed in a way that is not read here.")
    try:
        with archive.open(info) as file:
            data = file.read(MAX_BYTES + 1)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, RuntimeError):
        raise ArchiveError(f"{info.filename!r} is damaged.") from None
    if len(data) > MAX_BYTES:
        raise ArchiveError(f"{info.filename!r} has more than {MAX_BYTES:,} bytes.")
    return data


def file_of(name: str) -> str:
    """The path of the file of a case: the inverse of `name_of`."""
    return name if name.endswith(SUFFIXES[1:]) else name + SUFFIXES[0]


def text_of(content: bytes, path: str) -> str:
    """The text of a file, its line ends and byte order mark included, so that exports give the same bytes."""
    try:
        decode(content)
    except HoconError as error:
        raise ArchiveError(f"{path}: {error}") from None
    text = content.decode()
    if "\0" in text:
        raise ArchiveError(f"{path}: Text cannot hold the character U+0000.")
    return text


def write_archive(files: Mapping[str, str]) -> bytes:
    """A zip archive of the cases, byte for byte the same for the same cases."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            info = zipfile.ZipInfo(file_of(name), (1980, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            archive.writestr(info, files[name].encode())
    return out.getvalue()
