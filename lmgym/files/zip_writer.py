"""Write reproducible zip archives: equal contents give equal bytes."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable
from hashlib import sha256
from typing import Any

EPOCH = (1980, 1, 1, 0, 0, 0)
"""Time stamp of every entry, the earliest a zip archive can express."""


def add_to_zip(archive: zipfile.ZipFile, path: str, pieces: Iterable[str | bytes]) -> dict[str, Any]:
    """Add a compressed file with a fixed time stamp. Returns its entry for a manifest: path, bytes and sha256."""
    info = zipfile.ZipInfo(path, EPOCH)
    info.compress_type = zipfile.ZIP_DEFLATED
    digest, size = sha256(), 0
    with archive.open(info, "w", force_zip64=True) as target:
        for piece in pieces:
            data = piece if isinstance(piece, bytes) else piece.encode("utf-8", "surrogatepass")
            target.write(data)
            digest.update(data)
            size += len(data)
    return {"path": path, "bytes": size, "sha256": digest.hexdigest()}
