"""Startup time of `import lmgym` and of the command `lmgym` in new processes, compared with Python and torch.

python -m benchmarks.startup [--rounds 15]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time

STARTS = {
    "python": ["-c", "pass"],
    "import lmgym": ["-c", "import lmgym"],
    "lmgym --help": ["-m", "lmgym", "--help"],
    "lmgym.evaluate, not called": ["-c", "import lmgym; lmgym.evaluate"],
    "import pandas": ["-c", "import pandas"],
    "import torch": ["-c", "import torch"],
}


def seconds(arguments: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    times: dict[str, list[float]] = {name: [] for name in STARTS}
    for _ in range(rounds + 1):  # the first round fills the disk cache
        for name, arguments in STARTS.items():
            times[name].append(seconds(arguments))
    print(f"| start | seconds (median of {rounds}) |\n|---|---|")
    for name, measured in times.items():
        print(f"| `{name}` | {statistics.median(measured[1:]):.2f} |")


if __name__ == "__main__":
    main()
