"""Attack: staff register model folders whose configuration contradicts the weights, while bob requests scores.

python -m benchmarks.attacks.model_folders --models VAR/models [--url http://127.0.0.1:8000]

Pass the model folder of the served site (GYM_MODEL_DIR). The script creates folders in it and removes them at the end.
Each model must be reported as broken within the time limit, and the worker must keep running.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.attacks.people import admin, bob, made, seconds_for_a_score
from benchmarks.attacks.watching import DEFAULT_URL, Watching
from benchmarks.edit.site import Person

GOAL_SECONDS = 30.0
"""Time limit from registration to verdict."""
SHAPES = {"transformer.wte.weight": [300, 16], "transformer.h.0.ln_1.weight": [16]}
TRUE: dict[str, Any] = {"model_type": "gpt2", "n_layer": 1, "n_embd": 16, "n_head": 2, "vocab_size": 300}
TOKENIZER = {
    "version": "1.0",
    "added_tokens": [],
    "pre_tokenizer": {
        "type": "ByteLevel",
        "add_prefix_space": False,
        "trim_offsets": True,
        "use_regex": True,
    },
    "decoder": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
    "model": {"type": "BPE", "vocab": {chr(number): number for number in range(300)}, "merges": []},
}
LIES: dict[str, dict[str, Any]] = {
    "layers": {"n_layer": 1_000_000},
    "width": {"n_embd": 10**9},
    "vocabulary": {"vocab_size": 10**12},
    "inner-layer": {"n_inner": 10**10},
    "positions": {"n_positions": 10**10},
    "heads": {"n_head": 0},
    "no-kind": {"model_type": "none-such"},
}


def write(folder: Path, config: dict[str, Any]) -> None:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config))
    offsets = 0
    header: dict[str, Any] = {}
    for name, shape in SHAPES.items():
        size = 4
        for length in shape:
            size *= length
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [offsets, offsets + size]}
        offsets += size
    text = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + bytes(offsets))
    (folder / "tokenizer.json").write_text(json.dumps(TOKENIZER))


def seconds_to_a_verdict(person: Person, slug: str, patience: float = 120) -> tuple[float, str]:
    began = time.monotonic()
    while time.monotonic() - began < patience:
        _, card = person.ask("GET", f"/api/v1/models/{slug}/")
        if card["status"] != "unchecked":
            return time.monotonic() - began, f"{card['status']}: {card['status_reason'][:120]}"
        time.sleep(0.2)
    return patience, "no verdict"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--url", default=DEFAULT_URL)
    parser.add_argument("--models", type=Path, required=True, help="GYM_MODEL_DIR of the site")
    options = parser.parse_args()
    person, other = admin(options.url), bob(options.url)
    stamp = f"{time.time():.0f}"
    folder = options.models / f"lies-{stamp}"
    worst, scores, accepted = 0.0, [], []
    try:
        for name, lie in LIES.items():
            write(folder / name, TRUE | lie)
        with Watching(options.url) as watching:
            for name in LIES:
                slug = f"lies-{stamp}-{name}"
                config = {"source": "directory", "path": f"{folder.name}/{name}"}
                made(
                    person,
                    "/api/v1/models/",
                    {"slug": slug, "name": slug, "backend": "causal", "config": config},
                )
                scores.append(seconds_for_a_score(other, patience=120))
                took, verdict = seconds_to_a_verdict(person, slug)
                worst = max(worst, took)
                accepted += [] if verdict.startswith("broken") else [name]
                print(f"{took:6.2f} s  {name}: {verdict}")
    finally:
        shutil.rmtree(folder)
    print(
        f"slowest verdict {worst:.2f} s; slowest score {max(scores):.2f} s; not rejected: {accepted or 'none'}"
    )
    sys.exit(not (watching.ends_well() and worst < GOAL_SECONDS and not accepted))


if __name__ == "__main__":
    main()
