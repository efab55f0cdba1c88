"""Rebuild the demo models: `python -m gym.demo.train` (minutes on one core).

Writes the n-gram model with its checkpoints, the transformer, the manifest and the model cards to gym/demo/data, and
prints the table for docs/demo.md. `--only ngram,gpt2` limits it, `--out DIR` writes elsewhere, `--check` only measures
the existing models.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gym.demo import corpus, gpt2
from gym.demo.catalogue import DATA_DIR, DEMO_MODELS, DEMO_SUITES
from lmgym.models.backends import Backend, load_backend
from lmgym.models.backends.ngram_file import FILE_NAME, save_model
from lmgym.models.backends.ngram_model import tokenize, train_ngram
from lmgym.models.engine import ScoringFailure, ScoringPolicy
from lmgym.runs.compute import evaluate_document, joined_sentences
from lmgym.runs.outcomes import PredictionOutcome
from lmgym.suites.formats import SuiteDocument, read_suite
from lmgym.suites.formulas import TIE, TRUE, parse

NGRAM_ORDER = 5
CHECKPOINTS = {"demo-ngram-5k": 5_000, "demo-ngram-20k": 20_000, "demo-ngram": corpus.SENTENCES}
"""Number of training sentences of the n-gram model and of each checkpoint."""
PARTS = ("ngram", "gpt2")
UNLISTED = ("manifest.json", "README.md", "sentences.txt")
HELD_OUT_SENTENCES = 2_000
HELD_OUT_SEED = corpus.SEED + 1_000
DEFAULT = ScoringPolicy()


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def make(data: Path, parts: Sequence[str]) -> None:
    """Train these parts ("ngram", "gpt2"), and update the manifest and the model cards."""
    manifest = _read_manifest(data)
    training = corpus.generate()
    texts = list(training.texts())
    manifest["corpus"] = {
        "sentences": len(training.sentences),
        "words": sum(len(sentence.words) for sentence in training.sentences),
        "left_out": training.held_out,
        "seed": corpus.SEED,
        "sha256": training.sha256,
    }
    say(f"corpus of {len(texts)} sentences, sha256 {training.sha256[:16]}")
    if "ngram" in parts:
        for slug, count in CHECKPOINTS.items():
            model = train_ngram(texts[:count], NGRAM_ORDER)
            folder = data / "models" / slug
            folder.mkdir(parents=True, exist_ok=True)
            save_model(model, folder / FILE_NAME)
            say(f"{slug}: {model.parameters} n-grams of {min(count, len(texts))} sentences")
        manifest["ngram"] = {"order": NGRAM_ORDER, "parameters": model.parameters, "checkpoints": CHECKPOINTS}
    if "gpt2" in parts:
        import tokenizers
        import torch
        import transformers

        recipe = gpt2.Recipe()
        trained, tokenizer = gpt2.train(texts, recipe, say)
        gpt2.save(trained, tokenizer, data / "models" / "demo-gpt2", recipe)
        manifest["gpt2"] = {
            "recipe": asdict(recipe),
            "parameters": trained.num_parameters(),
            "vocabulary": tokenizer.get_vocab_size(),
            "versions": {
                "python": platform.python_version(),
                "torch": torch.__version__,
                "transformers": transformers.__version__,
                "tokenizers": tokenizers.__version__,
            },
        }
    _write_cards(data, manifest)
    _write_manifest(data, manifest)


def _read_manifest(data: Path) -> dict[str, Any]:
    path = data / "manifest.json"
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}


def _write_manifest(data: Path, manifest: dict[str, Any]) -> None:
    files = sorted(path for path in data.rglob("*") if path.is_file() and path.name not in UNLISTED)
    manifest["files"] = {
        path.relative_to(data).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files
    }
    text = json.dumps(manifest, indent=1, sort_keys=True) + "\n"
    (data / "manifest.json").write_text(text, encoding="utf-8")


def _write_cards(data: Path, manifest: dict[str, Any]) -> None:
    """Write one README.md per model."""
    for model in DEMO_MODELS:
        folder = data / "models" / model.slug
        folder.mkdir(parents=True, exist_ok=True)
        lines = [
            f"# {model.name}",
            "",
            model.description,
            "",
            f"* Backend: `{model.backend}`, configuration `{json.dumps(model.config)}`",
            f"* Parameters: {model.parameters}",
            f"* Training corpus: {model.corpus}",
            f"* Licence: {model.licence}",
            f"* Corpus sha256: `{manifest['corpus']['sha256']}`" if model.corpus != "none" else "",
            "",
            "Made by `python -m gym.demo.train`; see docs/demo.md.",
        ]
        text = "\n".join(line for at, line in enumerate(lines) if line or at in (1, 3, 9))
        (folder / "README.md").write_text(text + "\n", encoding="utf-8")


@dataclass(frozen=True)
class Measured:
    """Results of one model on one suite: predictions in the suite's order."""

    predictions: list[PredictionOutcome]

    @property
    def outcomes(self) -> list[Sequence[int]]:
        """Outcome codes of the items by prediction."""
        return [prediction.outcomes for prediction in self.predictions]

    @property
    def n(self) -> int:
        return self.predictions[0].n

    @property
    def passed(self) -> int:
        """Number of items for which every prediction is true."""
        return sum(set(codes) == {TRUE} for codes in zip(*self.outcomes, strict=True))

    @property
    def rate(self) -> float:
        return self.passed / self.n


def measure(backend: Backend, suite: SuiteDocument, policy: ScoringPolicy = DEFAULT) -> Measured:
    """Score a suite in memory, as a run would."""
    scores = backend.score([sentence.text for sentence in joined_sentences(suite, policy)], policy)
    left_to_right = backend.facts.left_to_right
    return Measured(evaluate_document(suite, scores, policy, left_to_right=left_to_right).predictions)


def chance(suite: SuiteDocument) -> float:
    """Return the probability that all predictions hold together if all values are i.i.d."""
    joint = " & ".join(f"[{prediction.formula}]" for prediction in suite.predictions)
    return float(parse(joint).chance_level(n_regions=len(suite.region_names)).value)


def table(columns: Sequence[str], rows: Sequence[tuple[str, int, float, Sequence[Measured]]]) -> str:
    """Format a Markdown table with a row per suite: number of items, chance level, and each model's pass rate
    and ties."""
    lines = [
        "| suite | n | chance | " + " | ".join(columns) + " |",
        "| --- | ---: | ---: | " + " | ".join("---:" for _ in columns) + " |",
    ]
    for name, items, level, results in rows:
        cells = []
        for result in results:
            ties = sum(TIE in codes for codes in zip(*result.outcomes, strict=True))
            cells.append(f"{100 * result.rate:.0f}%" + (f" ({ties} ties)" if ties else ""))
        lines.append(f"| {name} | {items} | {100 * level:.0f}% | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def total_bits(backend: Backend, texts: Sequence[str]) -> float:
    """Return the total bits of the texts without start and end tokens. Raises ValueError if a text cannot be
    scored."""
    total = 0.0
    for score in backend.score(texts, ScoringPolicy()):
        if isinstance(score, ScoringFailure):
            raise ValueError(score.reason)
        pairs = zip(score.bits, score.special, strict=True)
        total += sum(value for value, special in pairs if value is not None and not special)
    return total


def report(data: Path) -> str:
    """Return the table of pass rates, and each model's bits per word on held-out sentences."""
    backends = [
        load_backend(model.backend, model.config, model_dir=data / "models", hub_allowed=False)
        for model in DEMO_MODELS
    ]
    rows = []
    for path in DEMO_SUITES:
        suite = read_suite(path.read_bytes(), path.name)
        results = [measure(backend, suite) for backend in backends]
        rows.append((suite.name, results[0].n, chance(suite), results))
    fresh = corpus.generate(HELD_OUT_SENTENCES, HELD_OUT_SEED)
    known = set(corpus.generate().sentences)
    texts = [corpus.to_text(s.words, spaced=False) for s in fresh.sentences if s not in known]
    words = sum(len(tokenize(text)) for text in texts)
    lines = [
        f"{model.slug}: {total_bits(backend, texts) / words:.3f} bits per word on new sentences"
        for model, backend in zip(DEMO_MODELS, backends, strict=True)
    ]
    return "\n".join([table([model.slug for model in DEMO_MODELS], rows), "", *lines])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m gym.demo.train", description=__doc__)
    parser.add_argument("--only", default=",".join(PARTS), help="comma-separated: ngram, gpt2")
    parser.add_argument("--out", type=Path, default=DATA_DIR, help="data folder (default: the shipped one)")
    parser.add_argument("--check", action="store_true", help="only measure the existing models")
    options = parser.parse_args(arguments)
    parts = [part for part in options.only.split(",") if part]
    if unknown := set(parts) - set(PARTS):
        parser.error(f"unknown part {', '.join(sorted(unknown))}")
    if not options.check:
        make(options.out, parts)
    say(report(options.out))


if __name__ == "__main__":
    # One thread fixes the order of summation, so that the same machine reproduces the weights.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
