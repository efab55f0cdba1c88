"""Completion servers: log-probabilities of prompts become bits, in every dialect, or a failure with its reason."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path

import pytest

from lmgym.models.backends import BackendError, BackendUnavailable, ExternalAccess, load_backend, probe
from lmgym.models.backends.openai import load
from lmgym.models.engine import ScoringFailure, ScoringPolicy, TokenScores
from tests.lmgym.models.backends.completion_server import completion_server, log_of, tokens_of

TEXT = "The keys to the old cabinet are on the table ."
DIALECTS = [
    {},
    {"offsets": False},
    {"new_token": False},
    {"lists": False},
    {"adds_bos": True},
    {"adds_bos": True, "offsets": False},
    {"early": True},
    {"early": True, "adds_bos": True},
    {"echoes": False, "prompt_logprobs": True},
    {"echoes": False, "prompt_logprobs": True, "adds_bos": True},
    {"fragments": True, "offsets": False},
]


def backend(there, sleep=lambda seconds: None, key: str = "", **config):
    config = {"base_url": there.url, "model": "tiny", **config}
    external_access = there.external_access(**({"api_key": key} if key else {}))
    return load(config, model_dir=Path("x"), hub_allowed=False, external_access=external_access, sleep=sleep)


def bits_by_hand(text: str, before: str = "") -> list[float | None]:
    """Return the bits of each token by the server's model; None for the first token."""
    tokens = ([before] if before else []) + tokens_of(text)
    return [
        None if k == 0 else -log_of("".join(tokens[:k]), tokens[k]) / math.log(2) for k in range(len(tokens))
    ]


@pytest.mark.parametrize("how", DIALECTS, ids=str)
def test_every_dialect_passes_the_check_and_gives_the_same_bits_at_the_same_places(how):
    with completion_server(**how) as there:
        loaded = backend(there)
        facts = probe(loaded)
        [found] = loaded.score([TEXT], ScoringPolicy())
    assert facts["sample"]["text"]
    assert facts["first_token_scored"] is bool(how.get("adds_bos"))
    assert isinstance(found, TokenScores)
    started = bool(how.get("adds_bos"))
    assert found.special == [started, *([False] * (len(found) - 1))]
    assert found.bits == pytest.approx(bits_by_hand(TEXT, "<s>" if started else ""))
    spelled = [TEXT[start:end] for start, end in found.offsets[int(started) :]]
    assert [piece.strip() for piece in spelled] == [piece.strip() for piece in tokens_of(TEXT)]


def test_a_start_token_makes_the_first_word_count():
    with completion_server() as there:
        loaded = backend(there, bos_token="<s>")
        [auto] = loaded.score([TEXT], ScoringPolicy())
        [never] = loaded.score([TEXT], ScoringPolicy(bos="never"))
    assert auto.bits == pytest.approx(bits_by_hand(TEXT, "<s>"))
    assert (auto.special[0], auto.offsets[0], auto.offsets[1]) == (True, (0, 0), (0, 3))
    assert never.bits == pytest.approx(bits_by_hand(TEXT))


def test_an_end_token_is_scored_when_it_is_known():
    with completion_server() as there:
        [found] = backend(there, eos_token="</s>").score([TEXT], ScoringPolicy(eos=True))
        with pytest.raises(BackendError, match="end token"):
            backend(there).score([TEXT], ScoringPolicy(eos=True))
    assert (found.special[-1], found.offsets[-1]) == (True, (len(TEXT), len(TEXT)))
    assert found.bits[-1] == pytest.approx(-log_of(TEXT, "</s>") / math.log(2))


@pytest.mark.parametrize(
    ("how", "policy", "says"),
    [
        ({"adds_bos": True}, ScoringPolicy(bos="never"), "by itself|every text"),
        ({}, ScoringPolicy(bos="always"), "start token"),
        ({}, ScoringPolicy(whitespace="trailing"), "whitespace"),
    ],
)
def test_a_policy_that_cannot_be_followed_is_refused(how, policy, says):
    with completion_server(**how) as there:
        loaded = backend(there)
        with pytest.raises(BackendError, match=says):
            loaded.score([TEXT], policy)


def test_texts_go_in_batches_once_each_and_come_back_in_order():
    texts = [f"Sentence number {number} ." for number in range(10)] * 2 + ["", TEXT]
    with completion_server() as there:
        loaded = backend(there, batch=4)
        before = len(there.seen)
        found = loaded.score(texts, ScoringPolicy())
        asked = [request["prompt"] for request in there.seen[before:]]
    assert max(map(len, asked)) == 4
    assert [len(result) for result in found] == [len(tokens_of(text)) for text in texts]
    for text, result in zip(texts, found, strict=True):
        assert result.bits == pytest.approx(bits_by_hand(text))


def test_letters_in_parts_get_the_place_of_their_letter():
    text = "Café naïve — 日本語 🙂 ."
    for how in ({"fragments": True}, {"fragments": True, "adds_bos": True}):
        with completion_server(**how, offsets=False) as there:
            [found] = backend(there).score([text], ScoringPolicy())
        places = [text[start:end] for start, end in found.offsets]
        assert places.count("日") == 3
        assert places.count("🙂") == 4


def test_a_sentence_the_server_refuses_fails_alone():
    with completion_server(longest=600) as there:
        found = backend(there).score([TEXT, "long " * 300, "Short ."], ScoringPolicy())
    assert isinstance(found[1], ScoringFailure)
    assert "too long" in found[1].reason
    assert isinstance(found[0], TokenScores)
    assert isinstance(found[2], TokenScores)


def change(answer, text, **more):
    for choice in answer["choices"]:
        if choice["text"].startswith(text):
            choice["logprobs"] |= more
    return answer


UNMAPPED = [
    ({"tokens": ["Other", " words"], "token_logprobs": [None, -1.0]}, "do not spell the sentence"),
    ({"tokens": ["Two", " words"], "token_logprobs": [None, -9999.0]}, "probability 0"),
    ({"tokens": ["Two", " words"], "token_logprobs": [None, 0.5]}, "above 1"),
    ({"tokens": ["Two", " words"], "token_logprobs": [None, None]}, "no value"),
    ({"tokens": ["Two", " words"], "token_logprobs": [None, "x"]}, "not a log-probability"),
    ({"tokens": ["Two", " words"], "token_logprobs": [None]}, "not lists of equal length"),
    ({"tokens": [], "token_logprobs": []}, "tokens"),
    ({"tokens": [1, 2], "token_logprobs": [None, -1.0]}, "not a string"),
    ({"tokens": ["Two"], "token_logprobs": [None]}, "do not spell"),
]


def test_what_cannot_be_mapped_is_a_failure_of_that_sentence():
    with completion_server() as there:
        loaded = backend(there)
        for more, says in UNMAPPED:
            there.spoil = partial(change, text="Two words", **more)
            found = loaded.score(["Two words", TEXT], ScoringPolicy())
            assert isinstance(found[0], ScoringFailure), more
            assert says in found[0].reason
            assert isinstance(found[1], TokenScores), more


def test_a_busy_server_is_asked_again_with_patience():
    waits = []
    with completion_server(busy=3) as there:
        backend(there, sleep=waits.append)
    assert waits == [0, 0, 0]  # as the server asks
    with completion_server(busy=99) as there, pytest.raises(BackendUnavailable, match="429"):
        backend(there, sleep=waits.append)
    assert there.busy == 99 - 5


def test_only_busy_answers_are_repeated():
    with completion_server(key="right") as there, pytest.raises(BackendError, match="rejects the API key"):
        backend(there, key="wrong")
    assert len(there.seen) == 1


def test_the_key_is_sent_and_told_nowhere():
    with completion_server(key="hush") as there:
        loaded = backend(there, key="hush")
        assert there.keys[-1] == "Bearer hush"
        with pytest.raises(BackendError) as failed:
            backend(there, key="hush", model="absent")
    assert "hush" not in f"{loaded.facts} {failed.value} {there.external_access(api_key='hush')!r}"


@pytest.mark.parametrize(
    ("how", "config", "says"),
    [
        ({}, {"model": "absent"}, "Models on this server: tiny, other"),
        ({"echoes": False}, {}, "does not return log-probabilities of prompts"),
        ({"echoes": False, "prompt_logprobs": True}, {"method": "echo"}, "does not return"),
        ({}, {"method": "prompt_logprobs"}, "does not return"),
    ],
)
def test_a_server_that_cannot_be_used_says_why(how, config, says):
    with completion_server(**how) as there, pytest.raises(BackendError, match=says):
        backend(there, **config)


def test_a_server_that_is_not_there_may_come_back_and_one_that_is_not_allowed_may_not():
    with completion_server() as there:
        pass
    with pytest.raises(BackendUnavailable, match="No connection to"):
        backend(there)
    config = {"base_url": "http://127.0.0.1:1/v1", "model": "tiny"}
    with pytest.raises(BackendError, match="may not send requests"):
        load_backend("openai", config, model_dir=Path("x"), hub_allowed=False)
    from lmgym.net import NetPolicy

    shut = ExternalAccess(net=NetPolicy.allowing("public"))
    with pytest.raises(BackendError, match="GYM_NET_ALLOW") as refused:
        load_backend("openai", config, model_dir=Path("x"), hub_allowed=False, external_access=shut)
    assert not isinstance(refused.value, BackendUnavailable)


def notes_of(**how) -> str:
    with completion_server(**how) as there:
        return " ".join(backend(there).facts.notes)


@pytest.mark.parametrize(
    ("how", "says"),
    [
        (
            {"next_place": True},
            "do not belong to the tokens.*has .* bits as the next token and .* in the prompt",
        ),
        ({"next_place": True, "lists": False, "new_token": False}, "only after the start token that"),
        ({"caches": True}, "change when a prompt is sent again.*prefix caching"),
        ({"caches": True, "early": True}, "change when a prompt is sent again"),
        ({"caches": True, "echoes": False, "prompt_logprobs": True}, "change when a prompt is sent again"),
        ({"continues": False}, "does not list likely next tokens"),
        ({"ends": 2}, "are listed with: too few of the likely next words are single tokens in the prompt"),
    ],
    ids=str,
)
def test_a_server_whose_values_are_not_proven_is_refused_with_the_reason(how, says):
    with completion_server(**how) as there, pytest.raises(BackendError, match=says):
        backend(there)


def test_a_server_that_is_stale_from_the_start_is_refused():
    with completion_server(caches=True) as there:
        for _ in range(2):
            with pytest.raises(BackendError, match="values"):
                backend(there)


def test_a_server_right_behind_a_start_token_only_scores_nothing_without_one():
    with completion_server(next_place=True, leaves_out=True) as there:
        loaded = backend(there, bos_token="<s>")
        [found] = loaded.score([TEXT], ScoringPolicy())
        with pytest.raises(BackendError, match="do not belong to the tokens"):
            loaded.score([TEXT], ScoringPolicy(bos="never"))
        with pytest.raises(BackendError, match="only after the start token that"):
            backend(there)
    assert found.bits == pytest.approx([None, *bits_by_hand(TEXT, "<s>")[2:]])
    assert (found.special[0], found.offsets[0]) == (False, (0, 3))
    assert "omits the start token" in " ".join(loaded.facts.notes)


def test_a_start_token_that_the_answer_lacks_is_counted():
    with completion_server(adds_bos=True, leaves_out=True, counts=True) as there:
        loaded = backend(there, bos_token="<s>")
        [found] = loaded.score([TEXT], ScoringPolicy())
        with pytest.raises(BackendError, match="every text"):
            loaded.score([TEXT], ScoringPolicy(bos="never"))
    assert found.bits == pytest.approx([None, *bits_by_hand(TEXT, "<s>")[2:]])
    assert "omits it from its response" in loaded.facts.notes[0]


def test_a_text_that_the_server_ends_is_one_place_fewer():
    assert "Verified on 4 words" in notes_of(ends=1)


def test_values_one_place_early_are_moved_and_the_facts_name_it():
    plain, moved = notes_of(), notes_of(early=True)
    assert "Verified on 6 words" in plain
    assert "reassigned to the right tokens" not in plain
    assert "Verified on 6 words" in moved
    assert "reassigned to the right tokens" in moved
    with completion_server() as there:
        before = backend(there).facts.fingerprint
        there.early = True
        assert backend(there).facts.fingerprint != before


def test_a_server_that_fails_on_lists_is_asked_one_by_one():
    with completion_server(lists=False) as there:
        loaded = backend(there)
        before = len(there.seen)
        found = loaded.score([TEXT, "Two words"], ScoringPolicy())
        assert [request["prompt"] for request in there.seen[before:]] == [[TEXT], ["Two words"]]
    assert all(isinstance(one, TokenScores) for one in found)
    assert "one by one: the server fails on a list (status 500)" in " ".join(loaded.facts.notes)


def test_a_server_that_fails_on_everything_may_come_back():
    with completion_server() as there:
        loaded = backend(there)
        there.lists = False
        assert len(loaded.score([TEXT, "Two words"], ScoringPolicy())) == 2
        there.busy, there.busy_status = 1000, 500
        with pytest.raises(BackendUnavailable, match="500"):
            loaded.score([TEXT, "Two words"], ScoringPolicy())


@pytest.mark.parametrize(("sharpness", "warned"), [(1.0, False), (0.05, True)])
def test_an_implausibly_sure_server_gets_a_warning(sharpness, warned):
    assert ("implausibly confident" in notes_of(sharpness=sharpness)) is warned
