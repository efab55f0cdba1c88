"""How much main memory this machine has, and how much of it is free. Linux; elsewhere nobody says."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

MEMINFO = Path("/proc/meminfo")
GROUP = Path("/sys/fs/cgroup")


class MachineMemory(NamedTuple):
    """In bytes. `free`: what processes can get without swapping, file caches that can go counted in."""

    total: int
    free: int


def machine_memory() -> MachineMemory | None:
    """Of the machine, or of the container where that allows less; None where the system does not say."""
    try:
        rows = dict(row.split(":", 1) for row in MEMINFO.read_text().splitlines() if ":" in row)
        found = MachineMemory(*(int(rows[name].split()[0]) * 1024 for name in ("MemTotal", "MemAvailable")))
    except (OSError, ValueError, KeyError, IndexError):
        return None
    inner = _group_memory()
    return (
        found if inner is None else MachineMemory(min(found.total, inner.total), min(found.free, inner.free))
    )


def _group_memory() -> MachineMemory | None:
    """The limit of a container (cgroup version 2); None where there is none."""
    try:
        most, used = (int((GROUP / f"memory.{name}").read_text()) for name in ("max", "current"))
        rows = dict(row.split() for row in (GROUP / "memory.stat").read_text().splitlines())
        return MachineMemory(most, max(0, most - used + int(rows.get("inactive_file", 0))))
    except (OSError, ValueError):
        return None  # "max": no limit
