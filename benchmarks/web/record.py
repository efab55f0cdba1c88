"""Measure pages, save the results as one JSON file per benchmark, and put them into the docs.

python -m benchmarks.web.record             # print the saved results as Markdown tables
python -m benchmarks.web.record --write     # write them between the marks in docs/performance.md
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import statistics
import sys
import time
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
DOCS = Path(__file__).parents[2] / "docs"
PAGES = {"pages": "performance.md", "leaderboard": "performance.md"}

Row = dict[str, Any]
"""Measurements of one address: name, address, queries (including session and account), median_ms, slowest_ms,
repeats, bytes."""


def measure_address(client: Any, name: str, address: str, repeats: int) -> Row:
    """Request an address once to compile templates and warm caches, then `repeats` times while measuring time and
    queries.
    """
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    _body(client.get(address))
    times = []
    for _ in range(repeats):
        with CaptureQueriesContext(connection) as log:
            start = time.perf_counter()
            answer = client.get(address)
            body = _body(answer)
            times.append(1000 * (time.perf_counter() - start))
    assert answer.status_code == 200, (name, address, answer.status_code)
    return {
        "name": name,
        "address": address,
        "queries": len(log),
        "median_ms": round(statistics.median(times), 1),
        "slowest_ms": round(max(times), 1),
        "repeats": repeats,
        "bytes": len(body),
    }


def _body(answer: Any) -> bytes:
    return b"".join(answer) if answer.streaming else answer.content


def facts() -> dict[str, str]:
    """Return date, machine and versions of this process and its database."""
    import django
    from django.db import connection

    connection.ensure_connection()
    with open("/proc/cpuinfo") as lines:
        cpu = next((line.split(":")[1].strip() for line in lines if "model name" in line), platform.machine())
    number = ".".join(map(str, connection.get_database_version()))
    return {
        "date": time.strftime("%Y-%m-%d"),
        "machine": f"{cpu}, {len(os.sched_getaffinity(0))} cores",
        "Python": platform.python_version(),
        "Django": django.get_version(),
        "database": f"{connection.display_name} {number}",
    }


def save(part: str, load: dict[str, int], rows: list[Row], folder: Path = RESULTS) -> Path:
    """Save results as `folder/part.json`, replacing an older record."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{part}.json"
    path.write_text(json.dumps({"facts": facts(), "load": load, "rows": rows}, indent=1) + "\n")
    return path


def table(record: dict[str, Any]) -> str:
    """Format a record as Markdown: what was measured and where, and a row per address."""
    about = dict(record["facts"])
    load = ", ".join(f"{number:,} {noun}" for noun, number in record["load"].items())
    head = (
        f"{load}; {about.pop('date')}, {about.pop('machine')}, Python {about['Python']}, Django {about['Django']}, "
        f"{about['database']}. Session and account are among the queries."
    )
    lines = [head, "", "| page | queries | median ms | kB |", "| :- | -: | -: | -: |"]
    for row in record["rows"]:
        lines.append(
            f"| {row['name']} | {row['queries']} | {row['median_ms']:.0f} | {row['bytes'] / 1000:,.0f} |"
        )
    return "\n".join(lines)


def put(text: str, part: str, new: str) -> str:
    """Replace the text between `<!-- part -->` and `<!-- /part -->`. Raises LookupError if the marks are missing."""
    marks = re.compile(f"(<!-- {part} -->\n).*?(<!-- /{part} -->)", re.DOTALL)
    if not marks.search(text):
        raise LookupError(f"There are no marks <!-- {part} --> and <!-- /{part} -->.")
    return marks.sub(lambda match: f"{match[1]}\n{new}\n\n{match[2]}", text)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true")
    write, kept = parser.parse_args().write, 0
    for part, page in PAGES.items():
        path = RESULTS / f"{part}.json"
        if not path.exists():
            print(
                f"{part}: no record; make one with python -m benchmarks.web.{part} --record", file=sys.stderr
            )
            continue
        kept += 1
        new = table(json.loads(path.read_text()))
        print(f"{part}: {new}\n")
        if write:
            doc = DOCS / page
            doc.write_text(put(doc.read_text(), part, new))
    return int(kept == 0)


if __name__ == "__main__":
    sys.exit(main())
