"""Sentences to score: the published suites of GYM_CONFORMANCE_DIR (or the demo's), a load shaped like BLiMP, and a
tokenizer.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lmgym.suites.formats import SuiteDocument, read_suite
from lmgym.suites.formulas import parse
from lmgym.suites.regions import join

VOCABULARY = 50257
BOS = "<|endoftext|>"
DEMO = Path(__file__).parents[2] / "gym" / "demo" / "data" / "suites"
PARADIGMS = 67


class Workload(NamedTuple):
    """Sentences in file order. needed[k]: character ranges that predictions refer to; groups[k]: suite of the sentence;
    `documents`: the suites, if the sentences come from suites.
    """

    name: str
    texts: list[str]
    needed: list[list[tuple[int, int]]]
    groups: list[int]
    documents: tuple[SuiteDocument, ...] = ()


def suite_files(most: int | None = None) -> tuple[str, list[Path]]:
    """Return a name for the suites, and their files: the published suites if available, else those of the demo."""
    root = Path(os.environ.get("GYM_CONFORMANCE_DIR", "../shared/conformance")) / "suites"
    kind = "published suites"
    if not root.is_dir():
        root, kind = DEMO, "demo suites (the published ones are absent: set GYM_CONFORMANCE_DIR)"
    files = sorted(root.glob("*.json"))[:most]
    return f"{len(files)} {kind}", files


def published(most: int | None = None) -> Workload:
    """Load all sentences of the suites, or of the first `most`."""
    name, files = suite_files(most)
    documents = tuple(read_suite(path.read_bytes(), path.name) for path in files)
    load = Workload(name, [], [], [], documents)
    for number, document in enumerate(documents):
        regions_by_condition = looked_at(document)
        for sentence in document.sentences:
            joined = join(sentence.contents)
            regions = regions_by_condition.get(sentence.condition, set())
            load.texts.append(joined.text)
            load.needed.append(
                [(span.start, span.end) for at, span in enumerate(joined.spans, start=1) if at in regions]
            )
            load.groups.append(number)
    return load


def part_of(load: Workload, chosen: Sequence[int], name: str = "") -> Workload:
    """Return a load of some of the sentences."""
    return Workload(
        name or load.name,
        [load.texts[at] for at in chosen],
        [load.needed[at] for at in chosen],
        [load.groups[at] for at in chosen],
    )


def spread(count: int, most: int, together: int = 1) -> list[int]:
    """Return about `most` of `count` indices, evenly spread, in runs of `together`."""
    runs, wanted_runs = count // together, max(1, most // together)
    firsts = np.unique(np.linspace(0, runs - 1, min(wanted_runs, runs)).astype(int))
    return [int(first) * together + at for first in firsts for at in range(together)]


def looked_at(document: SuiteDocument) -> dict[str, set[int]]:
    """Return the region numbers that predictions refer to, by condition; "*" stands for all regions."""
    regions: dict[str, set[int]] = {}
    every = set(range(1, len(document.region_names) + 1))
    for prediction in document.predictions:
        for condition, region in parse(prediction.formula).references:
            regions.setdefault(condition, set()).update(every if region == "*" else {int(region)})
    return regions


def blimp_shaped(pairs: int = 1000, seed: int = 0) -> Workload:
    """Generate 67 paradigms of 1,000 minimal pairs: a frame per paradigm, words from small lists, and two sentences
    that differ in one word, which is the only one needed.
    """
    draw = np.random.default_rng(seed)
    words = pseudo_words(3000, seed=1)
    load = Workload(f"BLiMP-shaped, {PARADIGMS} x {pairs:,} pairs", [], [], [])
    for paradigm in range(PARADIGMS):
        lists = [draw.choice(words, int(draw.integers(6, 60))) for _ in range(int(draw.integers(7, 12)))]
        critical = int(draw.integers(2, len(lists) - 1))
        for _ in range(pairs):
            row = [str(draw.choice(options)) for options in lists]
            for word in draw.choice(words, 2, replace=False):
                sentence = [*row[:critical], str(word), *row[critical + 1 :]]
                start = len(" ".join(sentence[:critical]))
                load.texts.append(" ".join(sentence) + ".")
                load.needed.append([(start, start + 1 + len(str(word)))])
                load.groups.append(paradigm)
    return load


def pseudo_words(count: int, seed: int) -> list[str]:
    """Generate distinct pronounceable words."""
    draw = np.random.default_rng(seed)
    onsets = ["", *"bdfgklmnprstvwz", "br", "st", "tr", "pl", "sh", "th"]
    rimes = [
        v + c for v in ("a", "e", "i", "o", "u", "ai", "ou") for c in ("", "n", "r", "s", "t", "ng", "lk")
    ]
    words: dict[str, None] = {}
    while len(words) < count:
        size = int(draw.integers(1, 5))
        words["".join(str(draw.choice(onsets)) + str(draw.choice(rimes)) for _ in range(size))] = None
    return list(words)


def tokenizer(texts: list[str], *, gaps: bool = False, vocabulary: int = VOCABULARY) -> Any:
    """Train a byte-level BPE of 50,257 tokens (or of `vocabulary`): on the sentences to be scored, so that their words
    are mostly whole tokens as in GPT-2's vocabulary, and on pseudo-words that fill the rest. With `gaps`, it has a mask
    token and adds start and end tokens to sentences.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    specials = [BOS, "[CLS]", "[SEP]", "[MASK]"] if gaps else [BOS]
    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    trainer: Any = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=specials,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    filling = [" ".join(pseudo_words(30_000 * vocabulary // VOCABULARY, seed=1))]
    inner.train_from_iterator([*texts, *texts, *filling], trainer)
    ends = {"bos_token": BOS, "eos_token": BOS, "unk_token": BOS, "pad_token": BOS}
    if gaps:
        inner.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
        )
        ends |= {"cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]"}
    return PreTrainedTokenizerFast(tokenizer_object=inner, **ends)
