"""Run suites on a site while its processes and its database are killed, frozen and starved of resources.

    python -m benchmarks.chaos [--faults 100] [--database sqlite | postgresql] [--broker database | redis] [--seed 1]
        [--weights MODEL.gguf]

Injects one random fault at a time, as soon as the site has recovered from the previous one. At the end every run must
be done, and every stored number must equal that of an undisturbed run: lost, duplicated and different results are
counted. No data of deleted runs may remain. The site has leases of five seconds. Exits with 1 if any result was lost,
duplicated or different. With --weights, every other run is of that model (a GGUF file).

PostgreSQL is at GYM_TEST_POSTGRES_URL, by default postgresql://postgres@127.0.0.1:5432; the benchmark's database is
dropped. Redis is at GYM_TEST_REDIS_URL, by default redis://127.0.0.1:6379/0; only keys and connections of the benchmark
are removed.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path

from benchmarks.chaos import LEASE
from benchmarks.chaos.bench import bench


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--faults", type=int, default=100)
    parser.add_argument("--kinds", nargs="+", default=[], metavar="FAULT", help="only these kinds of faults")
    parser.add_argument("--database", choices=["sqlite", "postgresql"], default="sqlite")
    parser.add_argument("--broker", choices=["database", "redis"], default="database")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--weights", type=Path, metavar="FILE", help="a real model")
    options = parser.parse_args()
    outcome = bench(**vars(options))
    print("\n| fault | times | median s | longest s |\n|---|---|---|---|")
    for kind, seconds in sorted(outcome.took.items()):
        print(f"| {kind} | {len(seconds)} | {statistics.median(seconds):.1f} | {max(seconds):.1f} |")
    print(
        f"\n{options.database}, {options.broker}: {options.faults} faults in {outcome.minutes:.1f} minutes, ",
        end="",
    )
    print(f"{outcome.runs} runs, {outcome.deleted} more deleted; leases of {LEASE:g} s")
    print(f"lost {outcome.lost}, doubled {outcome.doubled}, different {outcome.different}")
    return 0 if outcome.is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
