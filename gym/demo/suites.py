"""The demo suites: SyntaxGym-style test suites over the words of the demo grammar, generated from one seed.

`build()` gives name -> JSON document (the current SyntaxGym dialect), `render()` its text as it is shipped in
data/suites. The designs follow published experiments (each suite's `reference`); all sentences are our own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

from gym.demo.grammar import Dice
from gym.demo.suite_parts import SEED, SUITES_DIR, Document
from gym.demo.suites_agreement import (
    agreement_orc,
    agreement_pp,
    agreement_simple,
    agreement_src,
    reflexive_orc,
)
from gym.demo.suites_dependencies import (
    center_embed,
    center_embed_mod,
    filler_gap_object,
    garden_path_npz,
    npi,
    subordination,
)

BUILDERS: tuple[Callable[[Dice], Document], ...] = (
    agreement_simple,
    agreement_pp,
    agreement_src,
    agreement_orc,
    reflexive_orc,
    npi,
    filler_gap_object,
    garden_path_npz,
    subordination,
    center_embed,
    center_embed_mod,
)


def build(seed: int = SEED) -> dict[str, Document]:
    """All demo suites. Each draws from its own dice, so that changing one leaves the others alone; a suite with a
    modifier draws as the one without, and so has its items."""
    names = [builder.__name__ for builder in BUILDERS]
    plain = {name: names.index(name.removesuffix("_mod")) for name in names}
    return {builder.__name__: builder(Dice(seed + plain[builder.__name__])) for builder in BUILDERS}


def render(suite: Document) -> str:
    """JSON with one sentence per line, for people who read it and for version control."""

    def flat(value: object) -> str:
        return json.dumps(value, ensure_ascii=False)

    items = []
    for item in suite["items"]:  # type: ignore[attr-defined]
        lines = ",\n".join(f"   {flat(condition)}" for condition in item["conditions"])
        items.append(f'  {{"item_number": {item["item_number"]}, "conditions": [\n{lines}\n  ]}}')
    head = json.dumps({key: suite[key] for key in suite if key != "items"}, ensure_ascii=False, indent=1)
    return head.removesuffix("\n}") + ',\n "items": [\n' + ",\n".join(items) + "\n ]\n}\n"


def write(directory: Path = SUITES_DIR, seed: int = SEED) -> list[Path]:
    directory.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, suite in build(seed).items():
        path = directory / f"{name}.json"
        path.write_text(render(suite), encoding="utf-8")
        paths.append(path)
    return paths


def sentences(suite: Document) -> Iterator[tuple[str, ...]]:
    """The words of every sentence of a suite; punctuation marks are words of their own."""
    for item in suite["items"]:  # type: ignore[attr-defined]
        for condition in item["conditions"]:
            yield tuple(" ".join(region["content"] for region in condition["regions"]).split())
