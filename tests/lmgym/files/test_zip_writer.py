"""Writing zip archives."""

from __future__ import annotations

import io
import zipfile
from hashlib import sha256

from lmgym.files.zip_writer import add_to_zip


def test_the_manifest_entry_describes_the_file_and_no_clock_is_kept():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        entry = add_to_zip(archive, "a/b.txt", ["één\n", b"\x00", "\udcff"])
    data = "één\n".encode() + b"\x00" + "\udcff".encode("utf-8", "surrogatepass")
    assert entry == {"path": "a/b.txt", "bytes": len(data), "sha256": sha256(data).hexdigest()}
    with zipfile.ZipFile(out) as archive:
        (info,) = archive.infolist()
        assert archive.read(info) == data
        assert info.date_time == (1980, 1, 1, 0, 0, 0)
