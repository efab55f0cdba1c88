"""How much memory a process takes."""

from __future__ import annotations

import os
from pathlib import Path


def process_bytes(pid: int | str = "self") -> int:
    """Memory of a process that is not shared with files, in bytes; 0 where the system does not say."""
    try:
        resident, shared = Path(f"/proc/{pid}/statm").read_text().split()[1:3]
    except OSError:
        return 0
    return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")
