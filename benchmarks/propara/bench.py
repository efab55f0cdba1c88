"""Time the ProPara evaluator on generated processes, and compare it with the reference if available.

    .venv/bin/python benchmarks/propara/bench.py
    .venv/bin/python benchmarks/propara/bench.py --reference /path/to/aristo-leaderboard/propara/evaluator/evaluator.py

The reference (allenai/aristo-leaderboard, Apache-2.0) is not part of this repository. Both programs run as whole
processes, in turn, on the same files. Prints the minimum wall time and the minimum CPU time (user + system) over all
rounds. The goal is not to be slower than the reference on files of 1 MB and more (about 1,100 processes). With
--diagnostics both also write a diagnostics file; all of these must be identical (PYTHONHASHSEED is 0).
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMPILED = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""Environment in which both programs keep their compiled modules, as usual."""
ADJECTIVES = [
    "warm",
    "cold",
    "deep",
    "small",
    "outer",
    "inner",
    "upper",
    "lower",
    "wet",
    "dry",
    "open",
    "narrow",
]
NOUNS = [
    *(
        "leaf",
        "root",
        "soil",
        "river",
        "sea",
        "cloud",
        "rock",
        "cave",
        "kettle",
        "factory",
        "pipe",
        "lake",
        "lung",
    ),
    *(
        "cell",
        "tree",
        "branch",
        "ground",
        "sky",
        "valley",
        "oven",
        "tank",
        "filter",
        "engine",
        "wire",
        "screen",
    ),
    *("town", "house", "field", "pond", "vein", "heart", "stomach", "mouth"),
]


def place(rng: random.Random) -> str:
    """Draw a place. No two places are variants of each other, because the reference would then divide by zero."""
    return rng.choice(["", f"{rng.choice(ADJECTIVES)} "]) + rng.choice(NOUNS)


def track(rng: random.Random, steps: int) -> list[str]:
    """Draw the locations before and after each step. Most participants stay in place, as in the published test set."""
    location = rng.choice(["-", "-", "?", place(rng)])
    where = [location]
    for _ in range(steps):
        if rng.random() < 0.2:
            location = place(rng) if location == "-" else rng.choice(["-", place(rng), place(rng)])
        where.append(location)
    return where


def rows(process: int, name: str, where: list[str]) -> list[str]:
    table_rows = []
    for step in range(1, len(where)):
        before, after = where[step - 1 : step + 1]
        action = (
            "NONE"
            if before == after
            else "CREATE"
            if before == "-"
            else "DESTROY"
            if after == "-"
            else "MOVE"
        )
        table_rows.append(f"{process}\t{step}\t{name}\t{action}\t{before}\t{after}\n")
    return table_rows


def make(n: int, folder: Path, seed: int = 1) -> tuple[Path, Path]:
    """Generate about 27 rows per process, as in the published splits; a fifth of the predicted tracks differ from the
    answers.
    """
    rng = random.Random(seed)
    answers, predictions = folder / f"answers-{n}.tsv", folder / f"predictions-{n}.tsv"
    with answers.open("w") as a, predictions.open("w") as p:
        for process in range(1, n + 1):
            steps = rng.randint(4, 10)
            for k in range(rng.randint(2, 6)):
                name = f"{rng.choice(NOUNS)} {k}" + rng.choice(["", f"; thing {k}"])
                where = track(rng, steps)
                a.writelines(rows(process, name, where))
                p.writelines(rows(process, name, track(rng, steps) if rng.random() < 0.2 else where))
    return answers, predictions


def measure(command: list[str], cwd: Path) -> tuple[float, float, float, str]:
    """Run a command; return its CPU seconds, wall seconds, peak memory in MB and output."""
    start = time.perf_counter()
    with tempfile.TemporaryFile("w+") as out:
        environment = {**COMPILED, "PYTHONHASHSEED": "0"}
        process = subprocess.Popen(command, stdout=out, cwd=cwd, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        text = out.read()
    if process.returncode:
        sys.exit(f"{command} ended with {process.returncode} after {wall:.1f} s")
    return usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1024, text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reference", type=Path, metavar="EVALUATOR.PY")
    parser.add_argument("--python", default=sys.executable, help="the Python that runs the reference")
    parser.add_argument("--sizes", type=int, nargs="+", default=[54, 500, 10_000])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--diagnostics", action="store_true", help="also write diagnostics files")
    options = parser.parse_args()
    commands = {"lmgym propara": ([sys.executable, "-m", "lmgym", "propara", "evaluate"], ROOT)}
    if options.reference:
        reference = options.reference.resolve()
        commands["reference"] = ([options.python, str(reference)], reference.parent)
    print(
        f"{'processes':>9} {'program':<18} {'wall s':>7} {'CPU s':>7} {'peak MB':>8}  times as quick: wall  CPU"
    )
    with tempfile.TemporaryDirectory() as folder:
        for n in options.sizes:
            files = make(n, Path(folder))
            arguments = ["-a", str(files[0]), "-p", str(files[1])]
            if options.diagnostics:
                arguments += ["-d", str(Path(folder) / "diagnostics.txt")]
            compare(n, commands, arguments, options.rounds)
    bootstrap()


def compare(n: int, commands: dict[str, tuple[list[str], Path]], files: list[str], rounds: int) -> None:
    """Run all programs in turn on the same files, print the minimum times over all rounds, and require equal output."""
    written: set[int] = set()
    done: dict[str, list[tuple[float, float, float, str]]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, (command, cwd) in commands.items():
            done[name].append(measure([*command, *files], cwd))
            if "-d" in files:
                written.add(zlib.crc32(Path(files[-1]).read_bytes()))
    assert len({one[3] for measurements in done.values() for one in measurements}) == 1, "the reports differ"
    assert len(written) <= 1, "the diagnostics differ"
    least = {
        name: [min(one[k] for one in measurements) for k in range(3)] for name, measurements in done.items()
    }
    for name, (cpu, wall, megabytes) in least.items():
        ratios = ""
        if "reference" in least and name != "reference":
            ratios = f"{least['reference'][1] / wall:20.1f} {least['reference'][0] / cpu:5.1f}"
        print(f"{n:>9} {name:<18} {wall:>7.3f} {cpu:>7.3f} {megabytes:>8.1f}{ratios}")


def bootstrap() -> None:
    sys.path.insert(0, str(ROOT))
    import numpy as np

    from lmgym.propara.bootstrap import _overall, _resampled

    values = np.random.default_rng(0).random((54, 8))
    times = []
    for _ in range(5):
        start = time.process_time()
        _overall(_resampled(values, 10_000, np.random.default_rng(0)))
        times.append(time.process_time() - start)
    print(f"10,000 bootstrap resamples of 54 processes: {min(times):.3f} CPU s")


if __name__ == "__main__":
    main()
