"""A site that runs suites while its processes and its database are killed, frozen and starved.

    python -m benchmarks.chaos [--faults 100] [--database sqlite | postgresql] [--broker database | redis] [--seed 1]

One fault after the other, by chance, each as soon as the site works again. In the end every run must be done, and every
stored number must equal that of an undisturbed run: lost, doubled and different are counted. Of a run that was deleted
nothing may be left. The site has leases of five seconds. Exits with 1 if anything was lost, doubled or different.

PostgreSQL is that of GYM_TEST_POSTGRES_URL, by default postgresql://postgres@127.0.0.1:5432; the database is dropped.
Redis is that of GYM_TEST_REDIS_URL, by default redis://127.0.0.1:6379/0; only the bench's keys and connections go.
"""

from __future__ import annotations

import argparse
import statistics
import sys

from benchmarks.chaos import LEASE
from benchmarks.chaos.bench import bench


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--faults", type=int, default=100)
    parser.add_argument("--kinds", nargs="+", default=[], metavar="FAULT", help="only these")
    parser.add_argument("--database", choices=["sqlite", "postgresql"], default="sqlite")
    parser.add_argument("--broker", choices=["database", "redis"], default="database")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    found = bench(**vars(given))
    print("\n| fault | times | median s | longest s |\n|---|---|---|---|")
    for kind, seconds in sorted(found.took.items()):
        print(f"| {kind} | {len(seconds)} | {statistics.median(seconds):.1f} | {max(seconds):.1f} |")
    print(
        f"\n{given.database}, {given.broker}: {given.faults} faults in {found.minutes:.1f} minutes, ", end=""
    )
    print(f"{found.runs} runs, {found.deleted} more deleted; leases of {LEASE:g} s")
    print(f"lost {found.lost}, doubled {found.doubled}, different {found.different}")
    return 0 if found.is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
