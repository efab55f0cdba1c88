"""SmolLM2-135M-Instruct (Q4_1): every token and every scoring policy against transformers in float64."""

from __future__ import annotations

import math
import re
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np
import pytest

import lmgym
from benchmarks import real_model as plain
from lmgym.models.engine import ERROR_BITS
from lmgym.models.given import LoadedModel, open_model
from tests.lmgym.conftest import ROOT
from tests.lmgym.models import tiny

pytestmark = pytest.mark.real_model

DEMO = ROOT / "gym" / "demo" / "data" / "suites"
TOLERANCE_BITS = 1e-4
START, OTHER_START = "<|endoftext|>", "<|im_start|>"
SUITE = {
    "meta": {"name": "small", "metric": "sum"},
    "region_meta": {"1": "Subject", "2": "Verb", "3": "Gap", "4": "Rest"},
    "predictions": [
        {"type": "formula", "formula": "(2;%good%) < (2;%bad%)"},
        {"type": "formula", "formula": "(2;%good%) + (4;%good%) < (2;%bad%) + (4;%bad%)"},
    ],
    "items": [
        {
            "item_number": number,
            "conditions": [
                {
                    "condition_name": name,
                    "regions": [
                        {"region_number": at, "content": content}
                        for at, content in enumerate([subject, verb, "", rest], start=1)
                    ],
                }
                for name, verb in (("good", good), ("bad", bad))
            ],
        }
        for number, (subject, good, bad, rest) in enumerate(
            [
                ("The keys to the cabinet", "are", "is", "on the kitchen table ."),
                ("The cat", "sleeps", "sleep", "all day long ."),
                ("Nobody", "has ever", "have ever", "been to Timbuktu , I think ."),
            ],
            start=1,
        )
    ],
}
POLICIES: list[dict[str, Any]] = [
    {},
    {"bos": "always"},
    {"bos": "never"},
    {"bos": START},
    {"bos": OTHER_START},
    {"eos": True},
    {"join": "natural"},
    {"join": "none"},
    *({"metric": metric} for metric in ("mean", "median", "range", "max", "min")),
    {"bos": "never", "eos": True, "join": "natural", "metric": "mean"},
]
AGGREGATES = {
    "sum": math.fsum,
    "mean": mean,
    "median": median,
    "range": lambda values: max(values) - min(values),
    "max": max,
    "min": min,
}


@pytest.fixture(scope="module")
def loaded(real_model: Path) -> LoadedModel:
    return open_model(real_model, device="cpu")


@pytest.fixture(scope="module")
def exact(real_model: Path) -> tuple[Any, Any]:
    """(model in float64, tokenizer) as transformers loads them."""
    return plain.load(real_model)


def sentences() -> list[str]:
    """Return sixty sentences: of the demo, in several scripts, short, long, with odd spaces and symbols."""
    demo: list[str] = []
    for path in sorted(DEMO.glob("*.json")):
        items = lmgym.load_suite(path).sentences
        demo += [
            "".join(plain.pieces_of(items[at].contents))
            for at in np.linspace(0, len(items) - 1, 4).astype(int)
        ]
    own = [
        "a", "Yes.", "  Two blanks before and  between", "def f(x):\n    return x ** 2\n",
        "3.14159 + 2.71828 = 5.85987",
        "It cost $1,299.99 (excl. VAT)!", "I'm sure they'd've gone, wouldn't they?",
        "Supercalifragilisticexpialidocious",
        "The keys to the old wooden cabinet that nobody ever opened " * 12,
    ]  # fmt: skip
    return [*demo, *tiny.CORPUS[:7], *own]


def test_every_token_has_the_bits_of_float64(loaded, exact):
    model, tokenizer = exact
    texts = sentences()
    assert len(texts) == 60
    frame = lmgym.score(texts, loaded)
    rows = plain.encode(tokenizer, texts)
    gaps: list[float] = []
    for number, (ids, bits) in enumerate(zip(rows, plain.bits_of(model, rows), strict=True), start=1):
        ours = frame[frame["text_number"] == number]
        assert ours["token_id"].tolist() == ids
        gaps += np.abs(ours["surprisal"].iloc[1:].to_numpy(dtype=float) - bits).tolist()
    assert max(gaps) < ERROR_BITS["float32"]  # 1.7e-4 was seen in the first token of a text
    assert np.quantile(gaps, 0.9) < TOLERANCE_BITS


def pieces_of(contents: tuple[str, ...], join: str) -> list[str]:
    """Return the regions with the spaces that join them."""
    if join == "none":
        return list(contents)
    pieces = plain.pieces_of(contents)
    return [re.sub(r" +(?=[.,])", "", piece) for piece in pieces] if join == "natural" else pieces


@pytest.mark.parametrize(
    "policy", POLICIES, ids=lambda policy: "-".join(map(str, policy.values())) or "default"
)
def test_every_policy_gives_the_values_of_a_plain_computation(loaded, exact, policy):
    model, tokenizer = exact
    start = {"auto": START, "always": START, "never": ""}.get(policy.get("bos", "auto"), policy.get("bos"))
    document = lmgym.load_suite(SUITE)
    [run] = lmgym.evaluate(document, loaded, policy=policy).runs
    for sentence, row in zip(document.sentences, run.result.sentences, strict=True):
        pieces = pieces_of(sentence.contents, policy.get("join", "space"))
        [ids] = plain.encode(tokenizer, ["".join(pieces)], start)
        if policy.get("eos"):
            ids.append(tokenizer.eos_token_id)
        [bits] = plain.bits_of(model, [ids])
        valued = bits if start else [math.nan, *bits]
        homes = plain.regions_of(tokenizer, pieces)
        aggregate = AGGREGATES[policy.get("metric", "sum")]
        expected = []
        for region in range(len(pieces)):
            values = [value for home, value in zip(homes, valued, strict=False) if home == region]
            empty = 0.0 if policy.get("metric", "sum") == "sum" else math.nan
            expected.append(
                empty if not values else math.nan if math.isnan(sum(values)) else aggregate(values)
            )
        assert row.text == "".join(pieces)
        np.testing.assert_allclose(
            np.array(row.regions, dtype=float), expected, rtol=0, atol=len(ids) * TOLERANCE_BITS
        )
        ends = bits[-1] if policy.get("eos") else 0.0
        assert row.special_surprisal == pytest.approx(ends, abs=TOLERANCE_BITS)


def test_the_whitespace_correction_gives_the_values_of_a_plain_computation(loaded, exact):
    """A word's bits, minus -log2 P(a space or the end follows) at the previous word, plus the same term at
    the word. At the start token, the term is -log2 P(no space follows)."""
    import torch

    model, tokenizer = exact
    spellings = tokenizer.convert_ids_to_tokens(range(model.config.vocab_size))
    specials = set(tokenizer.all_special_ids)
    blank = torch.tensor([text.startswith(("Ġ", "Ċ", "ĉ", "č")) for text in spellings])
    plain_text = ~blank
    for number in specials:
        blank[number], plain_text[number] = number == tokenizer.eos_token_id, False
    document = lmgym.load_suite(SUITE)
    [run] = lmgym.evaluate(document, loaded, policy={"whitespace": "trailing"}).runs
    for sentence, row in zip(document.sentences, run.result.sentences, strict=True):
        [ids] = plain.encode(tokenizer, [row.text])
        with torch.inference_mode():
            chances = model(torch.tensor([ids])).logits[0].softmax(-1)
        followed = [-math.log2(chances[at, blank].sum()) for at in range(len(ids))]
        followed[0] = -math.log2(chances[0, plain_text].sum())
        bits = [-math.log2(chances[at, after]) for at, after in enumerate(ids[1:])]
        homes = np.array(plain.regions_of(tokenizer, plain.pieces_of(sentence.contents)))
        for region, value in enumerate(row.regions):
            places = np.flatnonzero(
                homes == region
            )  # of tokens after the start token; followed[0] is the start's
            if not len(places):
                assert value == 0.0
                continue
            expected = sum(bits[at] for at in places) - followed[places[0]] + followed[places[-1] + 1]
            assert value == pytest.approx(expected, abs=len(ids) * TOLERANCE_BITS)


@pytest.mark.parametrize(
    "policy", [{}, {"bos": "never"}, {"eos": True}, {"metric": "mean"}, {"whitespace": "trailing"}]
)
def test_needed_tokens_give_the_outcomes_and_margins_of_all(loaded, policy):
    every, needed = (
        lmgym.evaluate(SUITE, loaded, policy={**policy, "tokens": tokens}).outcomes()
        for tokens in ("all", "needed")
    )
    assert every["outcome"].tolist() == needed["outcome"].tolist()
    np.testing.assert_allclose(every["margin"], needed["margin"], rtol=0, atol=10 * TOLERANCE_BITS)


def test_the_demo_suites_have_the_results_that_the_docs_print(loaded):
    text = (
        (ROOT / "docs" / "demo.md").read_text(encoding="utf-8").split("## A trained model for comparison")[1]
    )
    rows = re.findall(
        r"^\| (\w+) \| ([\w ]+) \| (\d+)/(\d+) \| (\d+)% \| (\d+)% to (\d+)% \|", text, re.MULTILINE
    )
    rates = lmgym.evaluate(str(DEMO / "*.json"), loaded, policy={"bos": START}).rates()
    percent = [
        (
            row.suite,
            row.prediction,
            *map(
                str, (row.passed, row.n, round(100 * row.rate), round(100 * row.low), round(100 * row.high))
            ),
        )
        for row in rates.itertuples()
    ]
    assert sorted(rows) == sorted(percent)
    assert len({suite for suite, *_ in rows}) == 11
