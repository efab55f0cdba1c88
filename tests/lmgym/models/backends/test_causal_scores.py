"""CausalBackend's values compared with a plain reference that shares none of its code."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from lmgym.models.backends import BackendError, load_backend, probe
from lmgym.models.backends.causal import CausalBackend
from lmgym.models.engine import ScoringFailure, ScoringPolicy, TokenScores, share_prefix_scores
from lmgym.suites.regions import align, join, region_values
from tests.lmgym.models import tiny

TOLERANCE = 5e-4

SENTENCES = [
    ["The", "keys", "", "to the cabinet", "are", "on the table", "."],
    ["", "The", "keys", "to the cabinet", "is", "on the table", "."],
    ["The horse", ", raced", "past the barn", "", "", "fell !"],
    ["Das Mädchen", "aß", "ein Stück", "Käsekuchen", ""],
    ["猫が", "魚を", "食べた", "。"],
    ["smile", "🙂", "and 👩‍👩‍👧", "e\u0301 a\u0308"],
    ["zqj", "xxyy", "?"],
]


@cache
def load(root: Path, name: str) -> CausalBackend:
    backend = load_backend("causal", {"source": "directory", "path": name}, model_dir=root, hub_allowed=False)
    assert isinstance(backend, CausalBackend)
    return backend


def only_scores(results: Any) -> list[TokenScores]:
    assert all(isinstance(result, TokenScores) for result in results)
    return list(results)


@cache
def raw_model(folder: Path) -> tuple[Any, Any]:
    """Load tokenizer and model of a folder without our code and without AutoModel."""
    from tokenizers import Tokenizer
    from transformers import GPT2LMHeadModel, LlamaForCausalLM

    kind = LlamaForCausalLM if folder.name == "llama" else GPT2LMHeadModel
    return Tokenizer.from_file(str(folder / "tokenizer.json")), kind.from_pretrained(folder).eval()


def reference(folder: Path, text: str, *, bos: bool, eos: bool) -> tuple[list[int], list[float]]:
    """Return ids and bits of one text: one forward pass, full log-softmax, float64."""
    tokenizer, model = raw_model(folder)
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    ids = [1] * bos + ids + [2] * eos
    if not ids:
        return [], []
    with torch.no_grad():
        logs = torch.log_softmax(model(torch.tensor([ids])).logits[0].double(), dim=-1)
    return ids, [math.nan] + [-float(logs[at, token]) / math.log(2) for at, token in enumerate(ids[1:])]


def reference_regions(folder: Path, parts: list[str], policy: str, bits: list[float]) -> list[float]:
    """Sum bits by region: each token counts in the region of its first visible character."""
    tokenizer, _ = raw_model(folder)
    owner: list[int] = []
    text = ""
    for number, part in enumerate(parts):
        blank = (
            " "
            if part and text and policy != "none" and not (policy == "natural" and part[0] in ".,;:!?")
            else ""
        )
        if policy == "natural":
            part = part.replace(" !", "!")
        text += blank + part
        owner += [number] * len(blank + part)
    sums = [0.0] * len(parts)
    for (start, end), value in zip(
        tokenizer.encode(text, add_special_tokens=False).offsets, bits, strict=True
    ):
        while start < len(text) - 1 and text[start].isspace() and start < max(end, start + 1):
            start += 1
        sums[owner[start]] += value
    return sums


@pytest.mark.parametrize("name", [*tiny.FAMILIES, "llama"])
@pytest.mark.parametrize("eos", [False, True])
def test_tokens_regions_and_totals(tiny_models: Path, name: str, eos: bool) -> None:
    backend, folder = load(tiny_models, name), tiny_models / name
    for policy in (ScoringPolicy(join=how, eos=eos) for how in ("space", "natural", "none")):
        joined = [join(parts, policy.join) for parts in SENTENCES]
        scores = only_scores(backend.score([sentence.text for sentence in joined], policy))
        for parts, sentence, score in zip(SENTENCES, joined, scores, strict=True):
            ids, bits = reference(folder, sentence.text, bos=True, eos=eos)
            assert score.ids == ids
            assert score.bits[0] is None
            assert score.bits[1:] == pytest.approx(bits[1:], abs=TOLERANCE)
            aligned = align(sentence, score.offsets, score.special)
            values = region_values(aligned, score.bits, len(parts))
            inner = bits[1:-1] if eos else bits[1:]
            expected = np.array(reference_regions(folder, parts, policy.join, inner))
            expected[list(aligned.swallowed)] = math.nan
            np.testing.assert_allclose(values.values, expected, atol=TOLERANCE * 20)
            assert values.special == pytest.approx(bits[-1] if eos else 0.0, abs=TOLERANCE)
            assert values.total == pytest.approx(sum(bits[1:]), abs=TOLERANCE * 20)


@pytest.mark.parametrize("name", [*tiny.FAMILIES, "llama"])
def test_a_batch_gives_what_single_texts_give(tiny_models: Path, name: str) -> None:
    backend = load(tiny_models, name)
    texts = [join(parts).text for parts in SENTENCES] + ["The keys", "The keys"]
    together = only_scores(backend.score(texts, ScoringPolicy()))
    for text, score in zip(texts, together, strict=True):
        (alone,) = only_scores(backend.score([text], ScoringPolicy()))
        assert (score.tokens, score.ids, score.offsets, score.special) == (
            alone.tokens,
            alone.ids,
            alone.offsets,
            alone.special,
        )
        assert score.bits[1:] == pytest.approx(alone.bits[1:], abs=TOLERANCE)


def test_minimal_pairs_share_their_prefix_exactly(tiny_models: Path) -> None:
    texts = [
        "The keys to the cabinet are on the table .",
        "The keys to the cabinet is on the table , she said .",
    ]
    a, b = share_prefix_scores(only_scores(load(tiny_models, "byte-bpe").score(texts, ScoringPolicy())))
    common = next(at for at, (x, y) in enumerate(zip(a.ids, b.ids, strict=False)) if x != y)
    assert common > 5
    assert a.bits[:common] == b.bits[:common]


def test_start_policies(tiny_models: Path) -> None:
    backend = load(tiny_models, "byte-bpe")
    (auto,), (always,), (never,) = (
        only_scores(backend.score(["The keys"], ScoringPolicy(bos=bos)))
        for bos in ("auto", "always", "never")
    )
    assert auto == always
    assert (auto.tokens[0], auto.offsets[0], auto.bits[0], auto.special[0]) == ("<s>", (0, 0), None, True)
    assert auto.special[1:] == [False] * (len(auto) - 1)
    assert auto.bits[1] is not None
    assert never.ids == auto.ids[1:]
    assert (never.bits[0], never.special[0]) == (None, False)
    values = region_values(align(join(["The", "keys"]), never.offsets, never.special), never.bits, 2)
    assert math.isnan(values.values[0])
    assert not math.isnan(values.values[1])


def test_a_tokenizer_without_start_and_end_tokens(tiny_models: Path) -> None:
    backend = load(tiny_models, "no-bos")
    assert (backend.facts.bos, backend.facts.eos) == (None, None)
    (score,) = only_scores(backend.score(["The keys"], ScoringPolicy(eos=True)))
    assert (score.bits[0], score.special[0], score.tokens[0]) == (None, False, "The")
    assert not any(score.special)
    with pytest.raises(BackendError, match="this model has none") as caught:
        backend.score(["The keys"], ScoringPolicy(bos="always"))
    assert "auto" in caught.value.hint


def test_the_end_token_is_scored_last_and_special(tiny_models: Path) -> None:
    backend = load(tiny_models, "byte-bpe")
    (plain,) = only_scores(backend.score(["The keys"], ScoringPolicy()))
    (ended,) = only_scores(backend.score(["The keys"], ScoringPolicy(eos=True)))
    assert ended.tokens == [*plain.tokens, "</s>"]
    assert (ended.offsets[-1], ended.special[-1]) == ((8, 8), True)
    assert ended.bits[-1] is not None
    assert ended.bits[1:-1] == pytest.approx(plain.bits[1:], abs=TOLERANCE)


def test_a_tokenizer_that_adds_its_own_start_token_does_not_double_it(
    tiny_models: Path, tmp_path: Path
) -> None:
    from tokenizers import Tokenizer, processors

    # Training twice can number equal pieces differently, so the trained file is used again.
    tokenizer = Tokenizer.from_file(str(tiny_models / "unigram" / "tokenizer.json"))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)]
    )
    # Settings of a past training run must not pad or cut what is scored.
    tokenizer.enable_truncation(3)
    tokenizer.enable_padding(length=50)
    wrapped = tiny.fast(tokenizer)
    assert wrapped("The")["input_ids"][0] == 1
    tiny.save(tmp_path / "own", tiny.gpt2(tokenizer.get_vocab_size()), wrapped)
    (score,) = only_scores(load(tmp_path, "own").score(["The keys are on the table ."], ScoringPolicy()))
    (same,) = only_scores(
        load(tiny_models, "unigram").score(["The keys are on the table ."], ScoringPolicy())
    )
    assert score.ids == same.ids
    assert score.ids.count(1) == 1
    assert 2 not in score.ids


def test_empty_texts(tiny_models: Path) -> None:
    backend = load(tiny_models, "byte-bpe")
    assert backend.score([], ScoringPolicy()) == []
    (given,) = only_scores(backend.score([""], ScoringPolicy()))
    assert (given.ids, given.bits, given.special) == ([1], [None], [True])
    (nothing,) = only_scores(backend.score([""], ScoringPolicy(bos="never")))
    assert nothing.ids == []
    (end,) = only_scores(backend.score([""], ScoringPolicy(eos=True)))
    assert end.ids == [1, 2]
    assert end.bits[1] is not None


def test_one_bad_text_does_not_stop_the_others(tmp_path: Path) -> None:
    tokenizer = tiny.train("byte-bpe")
    tiny.save(tmp_path / "short", tiny.gpt2(tokenizer.get_vocab_size(), context=16), tiny.fast(tokenizer))
    backend = load(tmp_path, "short")
    assert backend.facts.context_length == 16
    good, long, broken, last = backend.score(["The", "The keys " * 20, "a\ud800b", "keys"], ScoringPolicy())
    assert isinstance(good, TokenScores)
    assert isinstance(last, TokenScores)
    assert isinstance(long, ScoringFailure)
    assert "the model reads at most 16" in long.reason
    assert "The keys The keys" in long.reason
    assert isinstance(broken, ScoringFailure)
    fits = "aaaaaaaaaaaaaaaaaaaaa"
    width = len(backend._tokenizer(fits)["input_ids"])
    assert width > 15  # one token too many with the start token
    assert isinstance(backend.score([fits], ScoringPolicy())[0], ScoringFailure)


def test_the_context_limit_counts_start_and_end_tokens(tmp_path: Path) -> None:
    tokenizer = tiny.train("character")
    tiny.save(tmp_path / "five", tiny.gpt2(tokenizer.get_vocab_size(), context=5), tiny.fast(tokenizer))
    backend = load(tmp_path, "five")

    def fits(text: str, policy: ScoringPolicy) -> bool:
        return isinstance(backend.score([text], policy)[0], TokenScores)

    assert fits("abcde", ScoringPolicy(bos="never"))
    assert fits("abcd", ScoringPolicy())
    assert not fits("abcde", ScoringPolicy())
    assert not fits("abcd", ScoringPolicy(eos=True))


def test_a_token_without_a_vector_fails_its_text(tmp_path: Path) -> None:
    tokenizer = tiny.train("byte-bpe")
    wrapped = tiny.fast(tokenizer)
    wrapped.add_tokens(["<extra>"])
    tiny.save(tmp_path / "extra", tiny.gpt2(tokenizer.get_vocab_size()), wrapped)
    good, bad = load(tmp_path, "extra").score(["The", "The <extra>"], ScoringPolicy())
    assert isinstance(good, TokenScores)
    assert isinstance(bad, ScoringFailure)
    assert "no embedding" in bad.reason


def test_facts(tiny_models: Path) -> None:
    facts = load(tiny_models, "llama").facts
    assert facts.architecture == "LlamaForCausalLM"
    assert facts.parameters == sum(p.numel() for p in tiny.llama(facts.vocabulary_size).parameters())
    assert facts.tokenizer.endswith("(BPE)")
    assert (facts.context_length, facts.bos, facts.eos) == (256, "<s>", "</s>")
    assert facts.dtype == "float32"
    assert len(facts.fingerprint) == 64
    assert set(facts.versions) == {"engine", "python", "tokenizers", "torch", "transformers"}


@pytest.mark.parametrize("name", [*tiny.FAMILIES, "llama", "no-bos"])
def test_probe(tiny_models: Path, name: str) -> None:
    seen = probe(load(tiny_models, name))
    assert seen["batch_difference"] <= TOLERANCE
    assert seen["first_token_scored"] is (name != "no-bos")
    assert seen["seconds"] > 0
    assert seen["sample"]["tokens"]
    assert seen["fingerprint"] == load(tiny_models, name).facts.fingerprint


def test_a_decoder_that_counts_positions_behind_its_padding_refuses_what_has_none(tmp_path: Path) -> None:
    from transformers import RobertaConfig, RobertaForCausalLM

    tokenizer = tiny.fast(tiny.train("byte-bpe"))
    config = RobertaConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        pad_token_id=0,
        max_position_embeddings=65,
        is_decoder=True,
    )
    tiny.save(tmp_path / "decoder", RobertaForCausalLM(config), tokenizer)
    backend = load(tmp_path, "decoder")
    assert backend.facts.context_length == 64
    fits, long = backend.score(["x" * 63, "x" * 64], ScoringPolicy())
    assert isinstance(fits, TokenScores)
    assert len(fits) == 64
    assert isinstance(long, ScoringFailure)
    assert "the model reads at most 64" in long.reason
