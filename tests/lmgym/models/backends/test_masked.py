"""Masked models compared with a slow reference: one masked copy at a time, full log-softmax, in float64."""

from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from lmgym.models.backends import BackendError, load_backend, probe
from lmgym.models.backends.masked import MaskedBackend
from lmgym.models.engine import ScoringFailure, ScoringPolicy, TokenScores, packing
from lmgym.models.engine.masked import Copy, distinct_copies, make_masked_runner, masked_copies
from tests.lmgym.models import tiny

TEXTS = ["The keys to the cabinet are on the table .", "nobodysaw Käsekuchenhorse", "No", "", "The keys"]
TOLERANCE = 5e-4


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny BERT with a word-piece tokenizer, and a RoBERTa with a byte-level one."""
    root = tmp_path_factory.mktemp("masked")
    for family, name in (("wordpiece", "bert"), ("byte-bpe", "roberta")):
        tokenizer = tiny.framed(tiny.train(family))
        tiny.save(root / name, tiny.gap_filler(name, len(tokenizer)), tokenizer)
    return root


@cache
def load(root: Path, name: str, method: str) -> MaskedBackend:
    config = {"source": "directory", "path": name, "method": method}
    backend = load_backend("masked", config, model_dir=root, hub_allowed=False)
    assert isinstance(backend, MaskedBackend)
    return backend


@cache
def exact_model(folder: Path) -> Any:
    """Load the model of a folder in float64."""
    from transformers import AutoModelForMaskedLM

    return AutoModelForMaskedLM.from_pretrained(folder).double().eval()


def reference(backend: MaskedBackend, folder: Path, text: str, method: str) -> list[float | None]:
    """Return the bits of each token, one masked copy at a time; None for special tokens."""
    model = exact_model(folder)
    batch = backend._tokenizer(text)
    ids, words = batch["input_ids"], batch.word_ids()
    bits: list[float | None] = []
    for at, word in enumerate(words):
        if word is None:
            bits.append(None)
            continue
        masked = list(ids)
        for place in range(at, len(ids)):
            if place == at or (method == "within_word_l2r" and words[place] == word):
                masked[place] = backend._tokenizer.mask_token_id
        with torch.no_grad():
            logs = torch.log_softmax(model(torch.tensor([masked])).logits[0, at], dim=-1)
        bits.append(-float(logs[ids[at]]) / math.log(2))
    return bits


@pytest.mark.parametrize("name", ["bert", "roberta"])
@pytest.mark.parametrize("method", ["original", "within_word_l2r"])
def test_every_token_equals_its_float64_value(folder: Path, name: str, method: str) -> None:
    backend = load(folder, name, method)
    for text, score in zip(TEXTS, backend.score(TEXTS, ScoringPolicy()), strict=True):
        assert isinstance(score, TokenScores)
        expected = reference(backend, folder / name, text, method)
        assert [bit is None for bit in score.bits] == [bit is None for bit in expected]
        assert score.special == [bit is None for bit in expected]
        got = [bit for bit in score.bits if bit is not None]
        assert got == pytest.approx([bit for bit in expected if bit is not None], abs=TOLERANCE)
        assert score.complete
        assert score.offsets[0] == (0, 0)
        assert score.offsets[-1] == (len(text), len(text))


def test_the_methods_differ_for_words_of_several_pieces(folder: Path) -> None:
    (plain,) = load(folder, "bert", "original").score(TEXTS[1:2], ScoringPolicy())
    (within,) = load(folder, "bert", "within_word_l2r").score(TEXTS[1:2], ScoringPolicy())
    assert isinstance(plain, TokenScores)
    assert isinstance(within, TokenScores)
    assert plain.ids == within.ids
    assert plain.bits != within.bits
    assert load(folder, "bert", "original").facts.fingerprint != (
        load(folder, "bert", "within_word_l2r").facts.fingerprint
    )


def test_needed_tokens_are_computed_and_the_others_are_flagged(folder: Path) -> None:
    backend = load(folder, "bert", "original")
    (all_at_once,) = backend.score(TEXTS[:1], ScoringPolicy())
    (first,) = backend.score(TEXTS[:1], ScoringPolicy(), [[(4, 8)]])
    assert isinstance(first, TokenScores)
    assert isinstance(all_at_once, TokenScores)
    assert [first.offsets[at] for at, bit in enumerate(first.bits) if bit is not None] == [(4, 8)]
    known = [full for full, bit in zip(all_at_once.bits, first.bits, strict=True) if bit is not None]
    assert [bit for bit in first.bits if bit is not None] == pytest.approx(known, abs=TOLERANCE)
    flags = zip(first.not_computed, first.bits, first.special, strict=True)
    assert all(skip == (bit is None and not odd) for skip, bit, odd in flags)


def test_facts_say_that_the_bits_are_of_another_kind(folder: Path) -> None:
    facts = load(folder, "bert", "within_word_l2r").facts
    assert facts.score_kind == "pseudo-log-likelihood within_word_l2r"
    assert "not comparable" in facts.notes[0]
    assert any("only for the tokens that are scored" in note for note in facts.notes)
    seen = probe(load(folder, "roberta", "original"))
    assert seen["score_kind"] == "pseudo-log-likelihood original"


@pytest.mark.parametrize(
    ("policy", "says"),
    [
        (ScoringPolicy(bos="never"), "bos=never"),
        (ScoringPolicy(eos=True), "end token"),
        (ScoringPolicy(whitespace="trailing"), "whitespace correction"),
    ],
)
def test_a_policy_that_cannot_be_followed_is_refused(folder: Path, policy: ScoringPolicy, says: str) -> None:
    with pytest.raises(BackendError, match=says):
        load(folder, "bert", "original").score(["The keys"], policy)


def test_a_start_token_that_is_asked_for_is_the_frame(folder: Path) -> None:
    backend = load(folder, "bert", "original")
    asked, usual = (backend.score(["The keys"], ScoringPolicy(bos=bos)) for bos in ("always", "auto"))
    assert asked == usual


def test_bad_texts_fail_alone(folder: Path) -> None:
    backend = load(folder, "bert", "original")
    long, odd, good = backend.score(["The keys " * 60, "a\ud800", "keys"], ScoringPolicy())
    assert isinstance(long, ScoringFailure)
    assert "the model reads at most 64" in long.reason
    assert isinstance(odd, ScoringFailure)
    assert isinstance(good, TokenScores)


@pytest.mark.parametrize("name", ["bert", "roberta", "camembert", "mpnet"])
def test_a_text_is_refused_by_name_from_the_first_token_that_has_no_position(
    name: str, tmp_path: Path
) -> None:
    tokenizer = tiny.framed(tiny.train("byte-bpe"))
    tiny.save(tmp_path / name, tiny.gap_filler(name, len(tokenizer)), tokenizer)
    config = {"source": "directory", "path": name}
    backend = load_backend("masked", config, model_dir=tmp_path, hub_allowed=False)
    assert backend.facts.context_length == 64
    texts = ["x" * count for count in (62, 63)]
    assert [len(tokenizer(text)["input_ids"]) for text in texts] == [64, 65]
    fits, long = backend.score(texts, ScoringPolicy())
    assert isinstance(fits, TokenScores)
    assert isinstance(long, ScoringFailure)
    assert "65 tokens, but the model reads at most 64" in long.reason


def test_a_text_is_refused_from_the_length_at_which_attention_becomes_random(tmp_path: Path) -> None:
    tokenizer = tiny.framed(tiny.train("byte-bpe"))
    tiny.save(tmp_path / "big_bird", tiny.gap_filler("big_bird", len(tokenizer)), tokenizer)
    config = {"source": "directory", "path": "big_bird"}
    backend = load_backend("masked", config, model_dir=tmp_path, hub_allowed=False)
    fits, long = backend.score(["x" * 12, "x" * 13], ScoringPolicy())
    assert isinstance(fits, TokenScores)
    assert isinstance(long, ScoringFailure)
    assert "15 tokens, but the model reads at most 14" in long.reason


@pytest.fixture
def fnet(tmp_path: Path) -> Path:
    """A model that mixes all positions, including padding, by a Fourier transform, without an attention
    mask."""
    tokenizer = tiny.framed(tiny.train("wordpiece"))
    return tiny.save(tmp_path / "fnet", tiny.gap_filler("fnet", len(tokenizer)), tokenizer)


def require_exact(backend: MaskedBackend, folder: Path) -> None:
    for text, score in zip(TEXTS, backend.score(TEXTS, ScoringPolicy()), strict=True):
        assert isinstance(score, TokenScores)
        expected = [bit for bit in reference(backend, folder, text, "original") if bit is not None]
        assert [bit for bit in score.bits if bit is not None] == pytest.approx(expected, abs=TOLERANCE)
    probe(backend)


def test_a_model_that_takes_padding_for_text_is_scored_in_equal_lengths(fnet: Path) -> None:
    backend = load(fnet.parent, "fnet", "original")
    assert backend._runner.batching == "equal"
    assert any("Scored in batches of equal-length texts" in note for note in backend.facts.notes)
    require_exact(backend, fnet)


def test_a_model_whose_batches_mix_is_scored_one_copy_at_a_time(
    fnet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from transformers import FNetForMaskedLM

    forward = FNetForMaskedLM.forward

    def mixing(self: Any, input_ids: torch.Tensor, **more: Any) -> Any:
        out = forward(self, input_ids, **more)
        out.logits = out.logits + out.logits.mean() * len(input_ids)
        out.logits[:, :, 5] += len(input_ids) - 1
        return out

    monkeypatch.setattr(FNetForMaskedLM, "forward", mixing)
    config = {"source": "directory", "path": "fnet", "method": "original"}
    backend = load_backend("masked", config, model_dir=fnet.parent, hub_allowed=False)
    assert isinstance(backend, MaskedBackend)
    assert backend._runner.batching == "alone"
    assert any(
        note.startswith("Scored one text at a time: in batches, the values of probe tokens differ by")
        for note in backend.facts.notes
    )
    require_exact(backend, fnet)


@pytest.mark.parametrize("name", ["bert", "roberta"])
def test_others_are_scored_in_padded_batches(folder: Path, name: str) -> None:
    assert load(folder, name, "original")._runner.batching == "padded"


def test_a_causal_model_is_refused(tiny_models: Path) -> None:
    with pytest.raises(BackendError, match="not a masked language model"):
        load_backend(
            "masked", {"source": "directory", "path": "llama"}, model_dir=tiny_models, hub_allowed=False
        )


def test_copies() -> None:
    words, wanted = [[-1, 0, 1, 1, -1]], [[True, True, True, False, True]]
    assert masked_copies(words, wanted, "original") == [Copy(0, 1, (1,)), Copy(0, 2, (2,))]
    assert masked_copies(words, wanted, "within_word_l2r")[1] == Copy(0, 2, (2, 3))
    with pytest.raises(ValueError, match="method"):
        masked_copies(words, wanted, "magic")


def test_a_shortcut_that_changes_values_is_not_taken(folder: Path) -> None:
    backend = load(folder, "bert", "original")
    runner, rows = make_masked_runner(backend._runner.model, torch.device("cpu"), 4, np.zeros(5))
    assert (runner.body, rows) == (None, None)
    assert json.dumps(runner.notes)


def test_sentences_that_differ_in_one_token_are_one_input_where_it_is_masked() -> None:
    rows = [[1, 5, 7], [1, 6, 7], [1, 5, 7]]
    copies = masked_copies([[-1, 0, 1]] * 3, [[True] * 3] * 3, "original")
    inputs, places = distinct_copies(rows, copies, 99)
    assert inputs == [((1, 99, 7), 1, [5, 6]), ((1, 5, 99), 2, [7]), ((1, 6, 99), 2, [7])]
    assert places == [(0, 0), (1, 0), (0, 1), (2, 0), (0, 0), (1, 0)]


@pytest.mark.parametrize("name", ["bert", "roberta"])
def test_the_kernels_are_those_that_are_named_and_the_facts_say_which(folder, name):
    config = {"source": "directory", "path": name}
    stock, packed = (
        load_backend("masked", config | {"kernels": kernels}, model_dir=folder, hub_allowed=False)
        for kernels in ("stock", "packed")
    )
    assert stock.facts.kernels == "stock"
    assert packed.facts.kernels == ("packed" if packing.available() else "stock")
    policy = ScoringPolicy()
    for one, other in zip(stock.score(TEXTS[:1], policy), packed.score(TEXTS[:1], policy), strict=True):
        assert isinstance(one, TokenScores)
        assert isinstance(other, TokenScores)
        pairs = [(a, b) for a, b in zip(one.bits, other.bits, strict=True) if a is not None and b is not None]
        assert pairs
        assert all(abs(a - b) < TOLERANCE for a, b in pairs)
