"""This machine's Python, torch, GPU and packages of pyproject.toml. `prepare` collects wheels of missing
packages on a machine with network access; `install` installs them on a machine without it."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
GIVEN = {
    "torch",
    "transformers",
    "accelerate",
    "safetensors",
    "tokenizers",
    "numpy",
    "scipy",
    "regex",
    "tqdm",
    "pyarrow",
}
"""Packages that must already be installed, because they are large or built for one machine."""
UNUSED = {"lm-gym", "vl-convert-python"}
TESTS = ("pytest", "pytest-django", "hypothesis")
PEERS = ("minicons", "lm-eval", "vllm")
SHOWN = (*sorted(GIVEN), "Django", "pytest", *PEERS)
PLATFORMS = (
    "manylinux_2_28_x86_64",
    "manylinux_2_27_x86_64",
    "manylinux_2_24_x86_64",
    "manylinux_2_17_x86_64",
)
PLATFORMS += ("manylinux2014_x86_64", "manylinux1_x86_64", "manylinux_2_34_x86_64", "manylinux_2_31_x86_64")


def plain(name: str) -> str:
    """Normalise a package name as package indexes do."""
    return re.sub(r"[-_.]+", "-", name).lower()


def required() -> list[str]:
    """Return the packages of the library, the site and the tests."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    rows = [*project["dependencies"], *extras["hf"], *extras["parquet"], *extras["site"]]
    names = [re.split(r"[=<>\[]", row, maxsplit=1)[0] for row in rows]
    return [name for name in names if plain(name) not in UNUSED] + list(TESTS)


def is_there(name: str) -> bool:
    try:
        version(name)
    except PackageNotFoundError:
        return False
    return True


def missing() -> list[str]:
    return [name for name in required() if not is_there(name)]


def install(wheels: Path | None, into: Path) -> str:
    """Install the wheels of missing packages into a folder for PYTHONPATH. Returns a description of what was done."""
    if wheels is None or not wheels.is_dir():
        return "no folder of wheels was passed"
    new = [
        path
        for path in sorted(wheels.glob("*.whl"))
        if not is_there(path.name.split("-")[0].replace("_", "-"))
    ]
    if not new:
        return "nothing had to be installed"
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "-q",
        "--no-index",
        "--no-deps",
        "--no-compile",
        "--upgrade",
    ]
    subprocess.run([*pip, "--target", str(into), *map(str, new)], check=True)
    return f"{len(new)} wheels installed into {into}"


def environment(extra: Path, suites: Path | None) -> dict[str, str]:
    """Return the environment variables of the steps' processes."""
    paths = [str(ROOT), str(extra), os.environ.get("PYTHONPATH", "")]
    variables = {
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "PYTHONUNBUFFERED": "1",
        "HF_HUB_OFFLINE": "1",
    }
    variables |= {"TOKENIZERS_PARALLELISM": "false"}
    if suites is not None and suites.is_dir():
        variables["GYM_CONFORMANCE_DIR"] = str(suites.resolve())
    return os.environ | variables


FACTS = """
import json, sys, torch
device = sys.argv[1]
found = {"torch": torch.__version__, "cuda": str(torch.version.cuda)}
if device.startswith("cuda"):
    about = torch.cuda.get_device_properties(device)
    found |= {"gpu": about.name, "memory_gb": round(about.total_memory / 1e9, 1), "gpus": torch.cuda.device_count()}
print(json.dumps(found))
"""


def facts(device: str, env: dict[str, str]) -> dict[str, Any]:
    """Describe the device and the software. A separate process queries the device, so that this one holds no memory on
    it.
    """
    import json

    done = subprocess.run(
        [sys.executable, "-c", FACTS, device], env=env, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{device} cannot be used:\n{done.stderr[-1500:]}")
    facts_of_device: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    facts_of_device |= {
        "date": time.strftime("%Y-%m-%d"),
        "python": platform.python_version(),
        "device": device,
    }
    facts_of_device |= {"cores": len(os.sched_getaffinity(0)), "commit": _commit()}
    facts_of_device["packages"] = {name: version(name) if is_there(name) else "absent" for name in SHOWN}
    if shutil.which("nvidia-smi"):
        command = ["nvidia-smi", "--query-gpu=driver_version,clocks.sm,clocks.mem", "--format=csv,noheader"]
        facts_of_device["driver"] = subprocess.run(
            command, capture_output=True, text=True, check=False
        ).stdout.strip()
    return facts_of_device


def _commit() -> str:
    command = ["git", "rev-parse", "--short", "HEAD"]
    return (
        subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
        or "unknown"
    )


# --- on a machine with network access ---


def prepare(folder: Path, python: str, suites: Path | None, more: Iterable[str]) -> None:
    """Create a folder to copy to a machine that has torch and transformers. It holds the published suites,
    and wheels of the missing packages in the versions of this environment, for that machine's version of
    Python."""
    wheels = folder / "wheels"
    wheels.mkdir(parents=True, exist_ok=True)
    pins = [f"{name}=={version(name)}" for name in sorted(_closure([*required()]))] + list(more)
    target = ["--only-binary=:all:", "--python-version", python, "--implementation", "cp"]
    for name in PLATFORMS:
        target += ["--platform", name]
    download = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", *target, "-d", str(wheels)]
    if subprocess.run(
        [*download, *pins], check=False
    ).returncode:  # one package has no wheel: download the others
        lost = [pin for pin in pins if subprocess.run([*download, pin], check=False).returncode]
        print(f"no wheel for Python {python}: {', '.join(lost)}", file=sys.stderr)
    if suites is not None and (suites / "suites").is_dir():
        shutil.copytree(suites / "suites", folder / "conformance" / "suites", dirs_exist_ok=True)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    print(f"{folder}: {len(list(wheels.glob('*.whl')))} wheels, {size / 2**20:.0f} MiB in all")


def _closure(names: Iterable[str]) -> Iterator[str]:
    """Yield those of these packages and their dependencies that are installed here and not in GIVEN."""
    from packaging.requirements import Requirement

    waiting, seen = list(names), set[str]()
    while waiting:
        name = plain(waiting.pop())
        if name in seen or name in GIVEN or not is_there(name):
            continue
        seen.add(name)
        yield name
        for row in distribution(name).requires or ():
            needed = Requirement(row)
            if needed.marker is None or needed.marker.evaluate({"extra": ""}):
                waiting.append(needed.name)
