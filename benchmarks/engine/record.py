"""Results on disk: one JSON file per part, which can be extended by later rounds."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"

Record = dict[str, Any]


def load(folder: Path, part: str) -> Record | None:
    path = folder / f"{part}.json"
    return json.loads(path.read_text()) if path.exists() else None


def save(folder: Path, record: Record) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{record['part']}.json"
    path.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")


def begin(folder: Path, part: str, facts: Record, *, add: bool) -> Record:
    """Return an empty record of a part or, with `add`, the record on disk. Raises SystemExit if the stored
    record is from another machine or load."""
    old = load(folder, part) if add else None
    fresh: Record = {"part": part, "seconds": {}, **facts}
    if old is None:
        return fresh
    for key in ("machine", "load", "tokens", "clock", "dtype"):
        if old[key] != fresh[key]:
            raise SystemExit(f"{folder / part}.json has another {key}: {old[key]!r}. Omit --add.")
    return fresh | old | {"facts": facts["facts"]}


def medians(record: Record) -> dict[str, float]:
    """Return the median seconds for the whole load, by method. Partial runs are extrapolated by tokens."""
    shares = record.get("shares", {})
    return {
        name: statistics.median(values) / shares.get(name, 1.0) for name, values in record["seconds"].items()
    }
