"""Parts of the benchmark whose errors no table would show: loads, medians, outcomes, reports."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.engine import measure, outcomes, record, report, shapes, workload
from benchmarks.engine.methods import ALL, Ground
from lmgym.models.engine import TokenScores
from lmgym.suites.formats import read_suite
from lmgym.suites.regions import join


def test_spread_takes_whole_pairs_from_everywhere() -> None:
    assert workload.spread(10, 4, together=2) == [0, 1, 8, 9]
    assert workload.spread(6, 99) == [0, 1, 2, 3, 4, 5]
    assert workload.spread(67, 2) == [0, 66]


def test_the_blimp_shaped_load_is_seeded_pairs_that_differ_in_what_is_needed() -> None:
    load = workload.blimp_shaped(pairs=3)
    assert load == workload.blimp_shaped(pairs=3)
    assert len(load.texts) == workload.PARADIGMS * 3 * 2
    one, other = load.texts[:2]
    (start, end), (same, other_end) = load.needed[0][0], load.needed[1][0]
    assert start == same
    assert one[:start] == other[:start]
    assert one[start:end] != other[start:other_end]
    assert one[end:] == other[other_end:]


def test_without_published_suites_the_demo_suites_are_scored(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GYM_CONFORMANCE_DIR", str(tmp_path))
    load = workload.published(most=2)
    assert "2 demo suites" in load.name
    assert load.texts


@pytest.mark.parametrize("shape", ["smollm2", "gemma3"])
def test_the_floor_counts_shared_keys_gated_layers_and_the_tied_vocabulary_once(
    shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = shapes.build(shape, small=True)
    config = model.config
    queries = config.num_attention_heads * config.head_dim
    keys = config.num_key_value_heads * config.head_dim
    layer = config.hidden_size * (2 * queries + 2 * keys + 3 * config.intermediate_size)
    monkeypatch.setattr(measure, "_tree_work", lambda *_: {ALL: (5, 3)})
    floor = measure.work(Ground(shape, model, None), workload.Workload("", [], [], []))
    assert keys < queries
    assert floor == {
        ALL: 2.0 * (5 * config.num_hidden_layers * layer + 3 * config.vocab_size * config.hidden_size)
    }


def scored(text: str, bits: float) -> TokenScores:
    """Return scores with one token per word, all with the same bits, after a start token."""
    offsets, at = [(0, 0)], 0
    for word in text.split(" "):
        offsets.append((max(at - 1, 0), at + len(word)))
        at += len(word) + 1
    count = len(offsets)
    values: list[float | None] = [None, *[bits] * (count - 1)]
    # Different ids, so that no two sentences share a value.
    ids = [hash((text, number)) % 10**9 for number in range(count)]
    return TokenScores(["x"] * count, ids, offsets, values, [True, *[False] * (count - 1)])


def test_outcomes_that_differ_are_counted_as_marked_or_unmarked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GYM_CONFORMANCE_DIR", str(tmp_path))
    load = workload.published(most=1)
    path = workload.suite_files(1)[1][0]
    document = read_suite(path.read_bytes(), path.name)
    texts = [join(sentence.contents).text for sentence in document.sentences]
    assert texts == load.texts
    scores = [scored(text, 3.0 + number) for number, text in enumerate(texts)]
    same = compared(scores, scores)
    assert same["outcomes"] == len(document.predictions) * len({one.item for one in document.sentences})
    assert (same["differ_marked"], same["differ_unmarked"]) == (0, 0)
    assert compared([mapped(one, lambda bits: 20.0 - bits) for one in scores], scores)["differ_unmarked"] > 0
    hair = [mapped(one, lambda bits: 1e-5 * bits) for one in scores]
    found = compared([mapped(one, lambda bits: 1e-3 - 1e-5 * bits) for one in scores], hair)
    assert found["differ_marked"] > 0
    assert found["differ_unmarked"] == 0


def compared(scores: list[TokenScores], truth: list[TokenScores]) -> dict[str, int]:
    return outcomes.of_suites(scores, truth, 1, left_to_right=True)


def mapped(score: TokenScores, change: Callable[[float], float]) -> TokenScores:
    return outcomes.with_bits(score, [change(bits) for bits in score.bits if bits is not None])


def test_values_are_as_many_as_tokens_that_have_one() -> None:
    one = scored("a b c", 2.0)
    assert outcomes.with_bits(one, [1.0, 2.0, 3.0]).bits == [None, 1.0, 2.0, 3.0]
    with pytest.raises(ValueError, match="more values"):
        outcomes.with_bits(one, [1.0, 2.0, 3.0, 4.0])


def test_pairs_are_judged_by_the_bits_of_whole_sentences() -> None:
    pair = [scored("a b", 2.0), scored("a c", 3.0)]
    turned, near = [pair[1], pair[0]], [scored("a b", 2.0), scored("a c", 2.00001)]
    assert outcomes.of_pairs(pair, pair) == counts()
    assert outcomes.of_pairs(turned, pair) == counts(differ_unmarked=1)
    assert outcomes.of_pairs(near, turned) == counts(too_close=1, differ_marked=1)


def counts(**more: int) -> dict[str, int]:
    return {"outcomes": 1, "too_close": 0, "differ_marked": 0, "differ_unmarked": 0} | more


def facts(**more: Any) -> dict[str, Any]:
    return {
        "facts": {"date": "2026-11-21", "machine": "M", "torch": "2"},
        "machine": "M",
        "load": "L",
        "sentences": 10,
        "tokens": 100,
        "clock": "wall",
        "dtype": "float32",
        **more,
    }


def test_rounds_add_up_over_runs_of_the_same_load_only(tmp_path: Path) -> None:
    one = record.begin(tmp_path, "gpt2", facts(), add=True)
    one["seconds"]["minicons, batch 16"] = [4.0, 6.0]
    record.save(tmp_path, one)
    again = record.begin(tmp_path, "gpt2", facts(), add=True)
    assert again["seconds"] == {"minicons, batch 16": [4.0, 6.0]}
    assert record.begin(tmp_path, "gpt2", facts(), add=False)["seconds"] == {}
    with pytest.raises(SystemExit, match="another load"):
        record.begin(tmp_path, "gpt2", facts(load="other"), add=True)


def test_the_report_shows_medians_ratios_and_what_was_extrapolated(tmp_path: Path) -> None:
    assert "No results" in report.report(tmp_path)
    one = record.begin(tmp_path, "blimp", facts(), add=False)
    one["seconds"] = {
        "minicons, batch 16": [4.0, 6.0, 5.0],
        "lm gym, all tokens": [1.0, 2.0, 3.0],
        "lm gym, needed tokens": [1.0],
    }
    one["shares"] = {"minicons, batch 16": 0.5}
    one["floor"], one["rate"] = {"lm gym, all tokens": 1.0, "lm gym, needed tokens": 0.8}, 2e11
    record.save(tmp_path, one)
    text = report.report(tmp_path)
    assert "| minicons, batch 16* | 3 | 10.00 | 8.00-12.00 | 10 | 1.00 |  |  |" in text
    assert "| lm gym, all tokens | 3 | 2.00 | 1.00-3.00 | 50 | 5.00 | 2.00 |  |" in text
    assert "ran 50.00% of the tokens; seconds extrapolated" in text
    assert "| blimp | 5.0 | 3 | 10.0 | 10.0 | 3 | 12.5 | 2.00, 1.25 |" in text
