"""Inside one checkout: serve its site in this process and record it. Started by record.py, which sets the environment.

python -m benchmarks.record.inside CHECKOUT OUT VAR
"""

from __future__ import annotations

import io
import os
import platform
import sys
import time
from pathlib import Path

from benchmarks.record import addresses, commands, seeded
from benchmarks.record.shapes import Scrubber
from benchmarks.record.world import World, make

OURS = Path(__file__).resolve().parents[2]


def main() -> None:
    checkout, out, var = (Path(argument).resolve() for argument in sys.argv[1:4])
    perf_counter = time.perf_counter  # the real one
    seeded.seed_everything()
    children = var / "children"
    children.mkdir()
    (children / "sitecustomize.py").write_text(seeded.IN_CHILDREN)
    os.environ["PYTHONPATH"] = f"{children}{os.pathsep}{checkout}"
    os.chdir(checkout)
    sys.path[:] = [str(checkout)] + [
        folder for folder in sys.path if folder and Path(folder).resolve() not in (OURS, checkout)
    ]
    import django

    os.environ["DJANGO_SETTINGS_MODULE"] = "gym.settings"
    django.setup()
    from django.core.management import call_command

    words = {
        str(var): "<var>",
        str(checkout): "<checkout>",
        sys.executable: "<python>",
        platform.node(): "<host>",
    }
    scrubber = Scrubber(words)
    began = perf_counter()
    call_command("migrate", verbosity=0)
    seeded.step("demo", hours=0)
    call_command("demo", stdout=io.StringIO())
    print(f"demo: {perf_counter() - began:.0f} s", flush=True)
    world = World(out, scrubber)
    make(world)
    print(f"world: {perf_counter() - began:.0f} s, {world.count} steps", flush=True)
    addresses.record(world, out / "site")
    print(f"addresses: {perf_counter() - began:.0f} s", flush=True)
    inputs = var / "inputs"
    inputs.mkdir()
    commands.record(world, out / "commands", inputs)
    print(f"commands: {perf_counter() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
