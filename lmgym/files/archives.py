"""Untrusted zip archives, read in memory.

Entries are counted before they are listed and unpacked block by block up to a limit, whatever their headers declare.
Nothing is written to disk.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from lmgym.files.bounded import BLOCK, Refused

ENTRY = b"PK\x01\x02"
"""Signature of each entry in the central directory of an archive."""
MAGIC = b"PK\x03\x04"
LINK = 0o120000


class Damaged(Refused):
    """The file is not a whole zip archive."""


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """Limits of an archive.

    Attributes:
        entries: number of entries in the central directory.
        file_bytes: unpacked size of one file.
        bytes: unpacked size of all files that are read.
    """

    entries: int
    file_bytes: int
    bytes: int


class Archive:
    """A zip archive in memory. The constructor, `read` and `measure` raise Refused."""

    def __init__(self, data: bytes, limits: ArchiveLimits) -> None:
        self._limits = limits
        self._left = limits.bytes
        if data.count(ENTRY) > limits.entries:  # checked before zipfile creates an object for each entry
            raise Refused(f"the archive has more than {limits.entries:,} entries", "Split it.")
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError, struct.error):
            raise Damaged("this is not a zip archive", "Create the archive again.") from None

    def files(self) -> Iterator[zipfile.ZipInfo]:
        """Yield entries that are files, except those added by macOS."""
        for info in self._zip.infolist():
            if not info.is_dir() and "__MACOSX" not in info.filename:
                yield info

    def read(self, info: zipfile.ZipInfo) -> bytes:
        """Return the unpacked bytes of one file."""
        return b"".join(self._blocks(info))

    def measure(self, tags: int) -> None:
        """Unpack all files and discard them, to refuse a file that is too large before a parser loads it.

        Args:
            tags: limit on XML tags in all files; a 4-byte element costs a parser about 100 bytes.
        """
        for info in self._zip.infolist():
            for block in self._blocks(info):
                tags -= block.count(b"<")
                if tags < 0:
                    raise Refused("the archive contains too many XML tags", "Split it.")

    def _blocks(self, info: zipfile.ZipInfo) -> Iterator[bytes]:
        name = repr(info.filename[:100])
        if info.flag_bits & 1:
            raise Refused(f"{name} is encrypted", "Create the archive without a password.")
        if (info.external_attr >> 16) & 0o170000 == LINK:
            raise Refused(f"{name} is a link", "Add the file itself to the archive.")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise Refused(
                f"{name} uses a compression method that is not supported",
                "Create the archive as an ordinary zip file.",
            )
        size = 0
        try:
            with self._zip.open(info) as file:
                while block := file.read(BLOCK):
                    size += len(block)
                    self._left -= len(block)
                    if size > self._limits.file_bytes:
                        raise Refused(f"{name} is larger than {self._limits.file_bytes:,} bytes", "Split it.")
                    if self._left < 0:
                        raise Refused(
                            f"the archive contains more than {self._limits.bytes // 1_000_000} MB",
                            "Split it.",
                        )
                    yield block
        except (
            zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, struct.error, UnicodeDecodeError,
        ):  # fmt: skip
            raise Damaged(f"{name} is damaged", "Create the archive again.") from None
