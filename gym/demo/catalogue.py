"""The demo's catalogue: three models, two checkpoints of one of them, and eleven suites."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

DATA_DIR = Path(__file__).parent / "data"
MODELS_DIR = DATA_DIR / "models"
SUITES_DIR = DATA_DIR / "suites"
LICENCE = "CC0-1.0"

_CORPUS = (
    "80,000 sentences (0.76 million words, counting punctuation) from the demo grammar, "
    "none of them from a demo suite"
)


@dataclass(frozen=True)
class DemoModel:
    """A demo model. `config`: configuration of its backend, with paths relative to MODELS_DIR."""

    slug: str
    name: str
    backend: str
    config: dict[str, Any]
    description: str
    corpus: str
    parameters: str
    tags: tuple[str, ...] = ()
    licence: str = LICENCE


DEMO_MODELS: list[DemoModel] = [
    DemoModel(
        slug="demo-gpt2",
        name="Demo GPT-2",
        backend="causal",
        config={"source": "directory", "path": "demo-gpt2"},
        description="A very small GPT-2, trained from scratch on the demo corpus. It reads the whole "
        "sentence, so it can keep track of a subject, a licensor or a filler over any distance that the "
        "grammar produces. Any text can be scored, in any script, but the model knows no English beyond the "
        "demo's 265 words.",
        corpus=_CORPUS,
        parameters="239,040 (3 layers of width 64, 4 heads; vocabulary of 878 byte-level pieces)",
    ),
    DemoModel(
        slug="demo-ngram",
        name="Demo 5-gram",
        backend="ngram",
        config={"path": "demo-ngram"},
        description="A 5-gram model with modified Kneser-Ney smoothing, counted on the demo corpus. It sees "
        "the last four words and nothing else: it knows that kings laugh, but forgets who laughs once four words "
        "intervene.",
        corpus=_CORPUS,
        parameters="678,630 n-grams of one to five words",
        tags=("group:Demo 5-gram", "step:80k"),
    ),
    DemoModel(
        slug="demo-uniform",
        name="Demo uniform",
        backend="uniform",
        config={"vocabulary_size": 267, "unit": "word"},
        description="Gives every word the same probability. Its values differ only with the number of "
        "words, so nearly all comparisons are ties, and a tie fulfils no prediction. It marks the bottom "
        "of every table.",
        corpus="none",
        parameters="none",
    ),
    *(
        DemoModel(
            slug=f"demo-ngram-{count}k",
            name=f"5-gram after {count},000 sentences",
            backend="ngram",
            config={"path": f"demo-ngram-{count}k"},
            description=f"Demo 5-gram, counted on the first {count},000 sentences of its corpus. It is tagged as a "
            f"checkpoint (group:Demo 5-gram, step:{count}k), with sentences as steps.",
            corpus=f"the first {count},000 of {_CORPUS}",
            parameters=f"{parameters} n-grams of one to five words",
            tags=("group:Demo 5-gram", f"step:{count}k"),
        )
        for count, parameters in ((5, "85,048"), (20, "249,386"))
    ),
]

DEMO_SUITES: list[Path] = [
    SUITES_DIR / f"{name}.json"
    for name in (
        "agreement_simple",
        "agreement_pp",
        "agreement_src",
        "agreement_orc",
        "reflexive_orc",
        "npi",
        "filler_gap_object",
        "garden_path_npz",
        "subordination",
        "center_embed",
        "center_embed_mod",
    )
]
"""Files of the demo suites, which contain their titles, tags and other metadata."""
