"""Memory use of a process."""

from __future__ import annotations

import os
from pathlib import Path


def process_bytes(pid: int | str = "self") -> int:
    """Return the unshared resident memory of a process in bytes; 0 if unknown."""
    try:
        resident, shared = Path(f"/proc/{pid}/statm").read_text().split()[1:3]
    except OSError:
        return 0
    return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")
