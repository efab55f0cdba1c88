"""The causal player's probabilities of continuations equal a sum over all token sequences."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
import torch

from lmgym.lmchallenge.errors import PlayerError
from lmgym.lmchallenge.play import candidate_scoring
from lmgym.lmchallenge.play.backend_players import CausalPlayer
from lmgym.lmchallenge.play.beam_search import distributions, log_masses
from lmgym.lmchallenge.play.player import Request
from lmgym.lmchallenge.play.token_strings import ALONE, TokenStrings, extends, kind_of
from lmgym.models.backends import load_backend
from tests.lmgym.models import tiny

ALPHABET = ["a", "b", "ab", "ba", "Ġ", "Ġa", "Ġab", "!", "aĠ", "Ġb!", "b!"]


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory):
    """A random model with a dozen tokens, some of which extend beyond the end of a word."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    words = ["<unk>", "<s>", "</s>", *ALPHABET]
    merges = [("a", "b"), ("b", "a"), ("Ġ", "a"), ("Ġ", "ab"), ("a", "Ġ"), ("b", "!"), ("Ġ", "b!")]
    tokenizer = Tokenizer(models.BPE({word: at for at, word in enumerate(words)}, merges, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    root = tmp_path_factory.mktemp("toy")
    tiny.save(root / "toy", tiny.gpt2(len(words)), tiny.fast(tokenizer))
    return load_backend("causal", {"source": "directory", "path": "toy"}, model_dir=root, hub_allowed=False)


def by_hand(backend, context: str, candidate: str) -> float:
    """Return log P(the text starts with context + candidate, and the game's token ends there) / P(the text
    starts with context), by following every token sequence until it is decided."""
    with backend.exclusive() as (runner, tokenizer):
        token_strings = TokenStrings.of(tokenizer, runner.vocabulary)
        known: dict[tuple[int, ...], list[float]] = {}

        def after(path: tuple[int, ...]) -> list[float]:
            if path not in known:
                ((_, logs),) = list(distributions(runner, [(1, *path)]))
                known[path] = logs[0].exp().tolist()
            return known[path]

        def mass(path: tuple[int, ...], text: str, wanted: str, over: str | None) -> float:
            """Return the probability that a text with the tokens `path` starts with `wanted`, and that a
            token of the kind `over`, if any, ends there."""
            if len(text) > len(wanted) or (len(text) == len(wanted) and over is None):
                fits = text.startswith(wanted) and (over is None or not extends(over, text[len(wanted)]))
                return float(fits)
            if not wanted.startswith(text):
                return 0.0
            total = 0.0
            for number, chance in enumerate(after(path)):
                piece = token_strings.texts[number]
                if piece:
                    total += chance * mass((*path, number), text + piece, wanted, over)
                elif number == tokenizer.eos_token_id and text == wanted:
                    total += chance
            return total

        kind = kind_of(candidate)
        above = mass((), "", context + candidate, None if kind == ALONE else kind)
        return math.log(above / mass((), "", context, None))


CONTEXTS = ["", "a", "ab", "ab ", "a b", "ba ab", "a!", "b! "]
CANDIDATES = ["a", "ab", "b", "ba", "!", "bab"]


@pytest.mark.parametrize("context", ["", "a", "ab", "ba", "b!"])
def test_a_candidate_is_worth_what_all_token_sequences_give(toy, context):
    player = CausalPlayer(toy, paths=10_000)
    (reply,) = player.predict([Request(context, CANDIDATES)])
    for word, score in reply:
        assert score == pytest.approx(by_hand(toy, context, word), abs=1e-4)
    assert [word for word, _ in reply] == CANDIDATES


@pytest.mark.parametrize("context", ["ab ", "a b", "ba ab", "b! "])
def test_the_same_holds_over_several_words_when_the_whole_context_is_spelled_anew(toy, context):
    player = CausalPlayer(toy, paths=10_000, whole=True)
    (reply,) = player.predict([Request(context, CANDIDATES)])
    for word, score in reply:
        assert score == pytest.approx(by_hand(toy, context, word), abs=1e-4)


def test_chances_of_all_words_after_a_context_add_up_to_no_more_than_one(toy):
    player = CausalPlayer(toy, paths=10_000)
    words = ["".join(parts) for length in range(1, 5) for parts in itertools.product("ab", repeat=length)]
    for context in CONTEXTS:
        (reply,) = player.predict([Request(context, words)])
        assert 0 < sum(math.exp(score) for _, score in reply) <= 1 + 1e-5


def test_a_batch_gives_what_single_calls_give(toy):
    player = CausalPlayer(toy)
    requests = [Request(context, given) for context in CONTEXTS for given in (None, CANDIDATES)]
    together = player.predict(requests)
    for request, reply in zip(requests, together, strict=True):
        (alone,) = player.predict([request])
        assert [text for text, _ in alone] == [text for text, _ in reply]
        assert [score for _, score in alone] == pytest.approx([score for _, score in reply], abs=1e-4)


def test_contexts_that_are_run_one_after_the_other_are_worth_the_same(toy, monkeypatch):
    requests = [Request(context, ["ab", "a b", "!"]) for context in ("", "ab", "ab b", "ab ab ")]
    together = CausalPlayer(toy).predict(requests)
    monkeypatch.setattr(candidate_scoring, "MAX_SPELLINGS", 1)
    for one, other in zip(CausalPlayer(toy).predict(requests), together, strict=True):
        assert dict(one) == pytest.approx(dict(other), abs=1e-4)


def test_predictions_have_the_scores_of_candidates_where_no_way_is_cut(toy):
    player = CausalPlayer(toy, paths=10_000, beam=300, steps=5, predictions=5_000)
    for context in ("", "a", "ba"):
        (free,) = player.predict([Request(context)])
        free = free[:10]
        words = [text for text, _ in free if not text.startswith(" ")]
        (held,) = player.predict([Request(context, words)])
        scores = dict(free)
        assert len(words) >= 3
        for word, score in held:
            assert scores[word] <= score + 1e-4
            assert scores[word] == pytest.approx(score, abs=0.05)
        assert free[0][1] == max(score for _, score in free)


@pytest.mark.parametrize("folder", ["byte-bpe", "unigram"])
@pytest.mark.parametrize("beam", [1, 4, 16])
def test_ways_that_would_be_given_up_at_once_are_left_out_without_changing_a_prediction(
    tiny_models: Path, folder: str, beam: int
):
    backend = load_backend(
        "causal", {"source": "directory", "path": folder}, model_dir=tiny_models, hub_allowed=False
    )
    requests = [
        Request(text) for text in ("", "The keys to ", "The c", "The cab, ", "猫が ", "wait--", "a  ")
    ]
    short, full = (CausalPlayer(backend, beam=beam, steps=4) for _ in range(2))
    # If no token is known to be plain, every continuation is examined.
    full._search._token_strings.plain = lambda kind: np.zeros(full._search._token_strings.size, np.bool_)
    assert short.predict(requests) == full.predict(requests)


def test_what_is_too_improbable_for_a_number_of_fp32_keeps_its_logarithm():
    logs = torch.tensor([[0.0, -50.0, -112.0, -112.0], [-1.0, -300.0, -88.0, -0.5]])
    sets = [np.array([False, False, True, True]), np.array([False, True, True, False])]
    for flags, expected in (
        (sets, [-112 + math.log(2), -88]),
        (sets[1:] * 2, [-50, -88]),
        ([np.zeros(4, np.bool_)] * 2, [-math.inf] * 2),
    ):
        assert log_masses(logs, flags) == pytest.approx(expected, abs=1e-4)


def test_predictions_after_a_context_that_is_next_to_impossible_are_told_apart(tmp_path: Path):
    tokenizer = tiny.train("byte-bpe")
    model = tiny.gpt2(tokenizer.get_vocab_size())
    model.transformer.ln_f.weight.data *= 40
    tiny.save(tmp_path / "m", model, tiny.fast(tokenizer))
    backend = load_backend(
        "causal", {"source": "directory", "path": "m"}, model_dir=tmp_path, hub_allowed=False
    )
    for reply in CausalPlayer(backend).predict([Request(text) for text in ("猫", "!", "ca", "q")]):
        scores = [score for _, score in reply]
        assert len(set(scores)) > 1
        assert all(map(math.isfinite, scores))
        assert math.fsum(map(math.exp, scores)) < 1.001


@pytest.mark.parametrize("cached", [False, True])
def test_the_same_answers_written_plainly_are_the_same(tmp_path: Path, cached: bool):
    """The benchmark compares the batched player with `same_answers`."""
    from transformers import AutoModelForCausalLM

    from benchmarks.lmchallenge.plain import same_answers

    tokenizer = tiny.train("byte-bpe")
    tiny.save(tmp_path / "m", tiny.gpt2(tokenizer.get_vocab_size()), tiny.fast(tokenizer))
    backend = load_backend(
        "causal", {"source": "directory", "path": "m"}, model_dir=tmp_path, hub_allowed=False
    )
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "m").eval()
    given = ["the", "cabinet", "猫", "--"] * 20
    long = " ".join(tiny.CORPUS[:2]) + " "
    requests = [Request(text, words) for text in (long, "The ke", "") for words in (None, given)]
    plainly = same_answers(CausalPlayer(backend), model, cached=cached)
    projected = []
    model.lm_head.register_forward_hook(lambda _, given, found: projected.append(found.shape[1]))
    for request, reply in zip(requests, CausalPlayer(backend).predict(requests), strict=True):
        found = plainly(request)
        assert [text for text, _ in found] == [text for text, _ in reply]
        assert [score for _, score in found] == pytest.approx([score for _, score in reply], abs=1e-4)
    # The context is not projected onto the vocabulary needlessly.
    assert max(projected) < 16 < len(tokenizer.encode(long).ids)


def test_a_context_that_memory_runs_out_on_ends_the_game_with_the_reason(toy, monkeypatch):
    def full(**inputs):
        raise MemoryError

    with toy.exclusive() as (runner, _):
        monkeypatch.setattr(runner, "body", full)
    for given in (None, CANDIDATES[:2]):
        with pytest.raises(PlayerError, match=r"does not fit into the memory of cpu"):
            CausalPlayer(toy).predict([Request("ab ", given)])


def test_values_that_memory_does_not_hold_at_once_are_read_in_smaller_blocks() -> None:
    import torch

    from lmgym.models.engine.model_runner import ModelRunner

    model = tiny.gpt2(29)
    sequences = [(1, 5), (1, 5, 7), (2,), (1, 5), (3, 4), (6, 6, 6)]

    def found(most: int) -> dict[int, torch.Tensor]:
        def head(states: torch.Tensor) -> torch.Tensor:
            if len(states) > most:
                raise MemoryError
            return model.lm_head(states)

        runner = ModelRunner(model, torch.device("cpu"), 29, body=model.transformer, head=head)
        rows = {}
        for numbers, logs in distributions(runner, sequences):
            assert not torch.is_inference_mode_enabled(), "the mode is for the model alone"
            rows.update(zip(numbers, logs, strict=True))
        return rows

    whole = found(100)
    assert sorted(whole) == list(range(len(sequences)))
    for most in (1, 2):
        for number, row in found(most).items():
            torch.testing.assert_close(row, whole[number], atol=1e-5, rtol=0)
    with pytest.raises(PlayerError, match=r"A single text does not fit into the memory of cpu"):
        found(0)


def test_a_prediction_continues_a_word_that_was_begun(tiny_models: Path):
    backend = load_backend(
        "causal", {"source": "directory", "path": "byte-bpe"}, model_dir=tiny_models, hub_allowed=False
    )
    (inside, after) = CausalPlayer(backend).predict([Request("The cab"), Request("The cab ")])
    assert inside
    assert after
    assert not any(text.startswith(" ") for text, _ in after)


@pytest.mark.parametrize("folder", ["byte-bpe", "unigram", "llama", "no-bos"])
def test_models_of_all_families_play(tiny_models: Path, folder: str):
    backend = load_backend(
        "causal", {"source": "directory", "path": folder}, model_dir=tiny_models, hub_allowed=False
    )
    player = CausalPlayer(backend)
    replies = player.predict(
        [
            Request("The keys to "),
            Request("The keys to ", ["the", "cabinet"]),
            Request("", ["The"]),
            Request("猫が "),
        ]
    )
    assert replies[0]
    assert [text for text, _ in replies[1]] == ["the", "cabinet"]
    assert all(score <= 0 for reply in replies for _, score in reply)


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory):
    """A model of 64 positions whose tokens are single bytes."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    words = ["<unk>", "<s>", "</s>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    tokenizer = Tokenizer(models.BPE({word: at for at, word in enumerate(words)}, [], unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    root = tmp_path_factory.mktemp("narrow")
    model = tiny.gpt2(len(words), context=64)
    tiny.save(root / "narrow", model, tiny.fast(tokenizer))
    return load_backend(
        "causal", {"source": "directory", "path": "narrow"}, model_dir=root, hub_allowed=False
    )


@pytest.mark.parametrize("context", ["ba di " * 40, "x" * 400, "ba " * 20 + "di", "猫 " * 30])
def test_a_context_longer_than_the_window_loses_its_beginning(narrow, context):
    player = CausalPlayer(narrow)
    (free, held) = player.predict([Request(context), Request(context, ["di", "q" * 20, "ab"])])
    assert free
    assert [word for word, _ in held] == ["di", "q" * 20, "ab"]


@pytest.mark.parametrize("context", ["", "ba ", "猫が好きです" * 60])
def test_a_candidate_that_does_not_fit_into_the_window_is_left_out_and_the_others_are_not(narrow, context):
    player = CausalPlayer(narrow)
    (held,) = player.predict([Request(context, ["q" * 300, "猫が好き" * 20])])
    assert held == []
    (held,) = player.predict([Request("ba ", ["q" * 300, "ab"])])
    assert [word for word, _ in held] == ["ab"]


def test_a_prediction_may_hold_characters_of_several_tokens_and_none_ends_inside_one(narrow):
    player = CausalPlayer(narrow, beam=4_000, predictions=100_000, steps=3)
    (free,) = player.predict([Request("ba ")])
    found = dict(free)
    wide = [text for text in found if len(text.encode()) > len(text)]
    assert len(wide) > 20
    assert all(text.encode().decode() == text for text in found)
    (held,) = CausalPlayer(narrow, paths=10).predict([Request("ba ", wide[:20])])
    assert len(held) == 20
    for text, score in held:
        assert found[text] <= score + 1e-4


def test_a_long_context_does_not_change_what_follows_a_short_one() -> None:
    import torch

    from lmgym.models.engine.model_runner import ModelRunner

    model = tiny.causal("phi3-longrope", 29)
    sequences = [(1, 5, 7), tuple(range(1, 17)), tuple(range(1, 18)), tuple(range(1, 25))]
    for numbers, logs in distributions(ModelRunner(model, torch.device("cpu")), sequences):
        for number, row in zip(numbers, logs, strict=True):
            with torch.no_grad():
                alone = model(input_ids=torch.tensor([sequences[number]])).logits[0, -1].log_softmax(-1)
            torch.testing.assert_close(row, alone, atol=1e-4, rtol=0)


@pytest.mark.parametrize("name", ["gpt2", "mamba"])
def test_what_follows_a_stem_alone_is_what_follows_the_stem(name) -> None:
    import torch

    from lmgym.models.engine.tree_support import make_runner

    runner = make_runner(tiny.causal(name, 29), torch.device("cpu"))
    stems, paths, after = [(1, 2), (1, 5, 7)], [(), (3, 4), (), (6,)], [0, 1, 1, -1]
    written = [(1, 2), (1, 5, 7, 3, 4), (1, 5, 7), (6,)]
    for numbers, logs in distributions(runner, paths, stems, after):
        for number, row in zip(numbers, logs, strict=True):
            with torch.no_grad():
                alone = runner.model(input_ids=torch.tensor([written[number]])).logits[0, -1].log_softmax(-1)
            torch.testing.assert_close(row, alone, atol=1e-4, rtol=0)
