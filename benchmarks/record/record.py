"""Record everything that the site of a checkout answers.

    python -m benchmarks.record.record --commit-dir DIR --out FOLDER

DIR may be of any commit: it needs nothing of this package. Its site runs with DIR/.venv/bin/python if there is one,
else with this Python.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

OURS = Path(__file__).resolve().parents[2]
ENVIRONMENT = {
    "PYTHONHASHSEED": "0",
    "GYM_TORCH_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "GYM_CHUNK_SENTENCES": "64",
    "GYM_API_REQUESTS_PER_MINUTE": "1000000",
    "GYM_LOG_LEVEL": "ERROR",
    "GYM_HUB_ALLOWED": "0",
    "HF_HUB_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "COLUMNS": "100",
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--commit-dir", type=Path, required=True, help="a checkout")
    parser.add_argument("--out", type=Path, required=True, help="the folder of the record; made anew")
    arguments = parser.parse_args()
    checkout, out = arguments.commit_dir.resolve(), arguments.out.resolve()
    if not (checkout / "manage.py").is_file():
        parser.error(f"{checkout} has no manage.py")
    if out.exists() and any(out.iterdir()) and not (out / "steps").is_dir():
        parser.error(f"{out} holds something that is no record")
    shutil.rmtree(out, ignore_errors=True)
    python = checkout / ".venv" / "bin" / "python"
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="record-") as var:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GYM_")}
        environment = kept | ENVIRONMENT | {"GYM_VAR_DIR": var, "PYTHONPATH": str(checkout)}
        words = [str(python if python.exists() else sys.executable), "-m", "benchmarks.record.inside"]
        subprocess.run([*words, str(checkout), str(out), var], cwd=OURS, env=environment, check=True)
    files = sum(1 for path in out.rglob("*.txt"))
    print(f"{files} files in {out}, {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
