"""Total and free main memory of this machine (Linux only)."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

MEMINFO = Path("/proc/meminfo")
GROUP = Path("/sys/fs/cgroup")


class MachineMemory(NamedTuple):
    """Bytes of main memory. `free` can be used without swapping and includes reclaimable file caches."""

    total: int
    free: int


def machine_memory() -> MachineMemory | None:
    """Return the memory of the machine, or of the container if that is less; None if unknown."""
    try:
        rows = dict(row.split(":", 1) for row in MEMINFO.read_text().splitlines() if ":" in row)
        machine = MachineMemory(*(int(rows[name].split()[0]) * 1024 for name in ("MemTotal", "MemAvailable")))
    except (OSError, ValueError, KeyError, IndexError):
        return None
    group = _group_memory()
    if group is None:
        return machine
    return MachineMemory(min(machine.total, group.total), min(machine.free, group.free))


def _group_memory() -> MachineMemory | None:
    """Return the container's memory limit and its free part (cgroup version 2); None without a limit."""
    try:
        limit, used = (int((GROUP / f"memory.{name}").read_text()) for name in ("max", "current"))
        rows = dict(row.split() for row in (GROUP / "memory.stat").read_text().splitlines())
        return MachineMemory(limit, max(0, limit - used + int(rows.get("inactive_file", 0))))
    except (OSError, ValueError):
        return None  # "max": no limit
