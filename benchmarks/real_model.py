"""Record the values of SmolLM2-135M-Instruct (Q4_1) in transformers and float64, for tests to compare with.

    python -m benchmarks.real_model SmolLM2-135M-Instruct.Q4_1.gguf SUITE.json … --out RECORD.json

The record has, by suite: sha256 of the suite, bits of every region (4 decimals), and outcomes. It is saved
after each suite, and suites already in it are skipped. Token bits and region sums are computed without lmgym;
outcomes use its formulas.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lmgym.runs.compute import SentenceResult, result_of_rows
from lmgym.suites.formats import SuiteDocument, read_suite

START = "<|endoftext|>"
BATCH = 16


def load(file: Path) -> tuple[Any, Any]:
    """Load (model in float64, tokenizer) from a GGUF file with transformers."""
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(
        file.parent, gguf_file=file.name, local_files_only=True, dtype=torch.float32
    )
    return model.double().eval(), read_tokenizer(file)


def read_tokenizer(file: Path) -> Any:
    """Build the tokenizer from a GGUF file with transformers."""
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name, local_files_only=True)


def bits_of(model: Any, rows: Sequence[Sequence[int]]) -> list[list[float]]:
    """Compute -log2 p of every token but the first, for rows of token ids. Only rows of equal length share a pass, so
    nothing is padded."""
    import torch

    by_length: dict[int, list[int]] = defaultdict(list)
    for at, ids in enumerate(rows):
        by_length[len(ids)].append(at)
    bits: list[list[float]] = [[] for _ in rows]
    with torch.inference_mode():
        for same in by_length.values():
            for first in range(0, len(same), BATCH):
                places = same[first : first + BATCH]
                ids = torch.tensor([list(rows[at]) for at in places])
                logs = torch.log_softmax(model(ids).logits[:, :-1], dim=-1)
                picked = logs.gather(2, ids[:, 1:, None])[..., 0] / -math.log(2)
                for at, values in zip(places, picked.tolist(), strict=True):
                    bits[at] = values
    return bits


def encode(tokenizer: Any, texts: Sequence[str], start: str = START) -> list[list[int]]:
    """Encode texts, each after the start token ("" = none)."""
    first = [tokenizer.convert_tokens_to_ids(start)] if start else []
    return [[*first, *ids] for ids in tokenizer(list(texts), add_special_tokens=False)["input_ids"]]


def pieces_of(contents: Sequence[str]) -> list[str]:
    """Return regions with their joining spaces: the sentence is their concatenation."""
    pieces: list[str] = []
    for content in contents:
        pieces.append(" " + content if content and any(pieces) else content)
    return pieces


def regions_of(tokenizer: Any, pieces: Sequence[str]) -> list[int]:
    """Return the region index of every token of a sentence: the region of its first non-blank character."""
    text, ends = "".join(pieces), np.cumsum([len(piece) for piece in pieces])
    offsets = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
    firsts = [start + len(text[start:end]) - len(text[start:end].lstrip()) for start, end in offsets]
    return [int(np.flatnonzero(first < ends)[0]) for first in firsts]


def region_sums(tokenizer: Any, contents: Sequence[str], bits: Sequence[float]) -> list[float]:
    """Sum token bits by region of a sentence whose regions are joined with spaces."""
    sums = [0.0] * len(contents)
    for region, value in zip(regions_of(tokenizer, pieces_of(contents)), bits, strict=True):
        sums[region] += value
    return sums


def values_of(model: Any, tokenizer: Any, document: SuiteDocument) -> tuple[list[list[float]], list[str]]:
    """Compute the bits of every region of every sentence, and the outcome codes of every prediction, one
    digit per item.
    """
    texts = ["".join(pieces_of(row.contents)) for row in document.sentences]
    unique = list(dict.fromkeys(texts))
    by_text = dict(zip(unique, bits_of(model, encode(tokenizer, unique)), strict=True))
    regions = [
        region_sums(tokenizer, row.contents, by_text[text])
        for row, text in zip(document.sentences, texts, strict=True)
    ]
    return regions, outcomes_of(document, regions)


def outcomes_of(document: SuiteDocument, regions: Sequence[Sequence[float]]) -> list[str]:
    """Evaluate the predictions; return their outcome codes, one digit per item."""
    rows = [
        SentenceResult(at, row.item, row.condition, "", list(values), 0.0, math.fsum(values), [])
        for at, (row, values) in enumerate(zip(document.sentences, regions, strict=True))
    ]
    return [
        "".join(str(int(code)) for code in prediction.outcomes)
        for prediction in result_of_rows(document, rows).predictions
    ]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.real_model")
    parser.add_argument("model", type=Path)
    parser.add_argument("suites", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    record = json.loads(options.out.read_text()) if options.out.exists() else {}
    model, tokenizer = load(options.model)
    for path in options.suites:
        document = read_suite(path.read_bytes(), path.name)
        if path.stem in record:
            continue
        regions, outcomes = values_of(model, tokenizer, document)
        rounded = [np.round(row, 4).tolist() for row in regions]
        record[path.stem] = {"sha256": document.sha256(), "outcomes": outcomes, "regions": rounded}
        lines = ",\n".join(
            f"{json.dumps(name)}: {json.dumps(suite, separators=(',', ':'))}"
            for name, suite in record.items()
        )
        options.out.write_text("{\n" + lines + "\n}\n")
        print(path.stem, [f"{row.count('1')}/{len(row)}" for row in outcomes], flush=True)


if __name__ == "__main__":
    main()
