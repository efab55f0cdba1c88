"""Start tokens: the candidates that the check tries, and the one it chooses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, normalizers

from lmgym.models.backends import BackendError, load_backend, probe, start_tokens
from lmgym.models.backends.loading import read_tokenizer
from lmgym.models.backends.start_tokens import Candidate, candidates, decide, sentences
from lmgym.models.engine import ScoringPolicy
from tests.lmgym.models import tiny

CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{% endfor %}"
)
LLAMA2 = (
    "{% for message in messages %}{% if message['role'] == 'user' %}"
    "{{ bos_token + '[INST] ' + message['content'] + ' [/INST]' }}"
    "{% else %}{{ ' ' + message['content'] + ' ' + eos_token }}{% endif %}{% endfor %}"
)
LLAMA3 = (
    "{{ bos_token }}{% for message in messages %}{{ '<|header|>' + message['role'] + '<|end|>' + message['content'] }}"
    "{% endfor %}"
)
REFUSING = CHATML + "{{ raise_exception('no such conversation') }}"
MANY_BITS = {"<|im_start|>": 9.82, "<|endoftext|>": 8.95, None: 9.57}


def tried(bits: dict[str | None, float], **more: Any) -> list[Candidate]:
    """Return candidates with these bits, the first of which is the declared token."""
    roles = dict.fromkeys(bits, "end of text")
    roles |= {next(iter(bits)): "declared", None: "none"}
    return [
        Candidate(token, roles[token], value, **more.get(token or "", {})) for token, value in bits.items()
    ]


def chat_tokenizer(
    template: str | None, bos: str | None = "<|im_start|>", eos: str | None = "<|im_end|>"
) -> Any:
    tokenizer = tiny.train("byte-bpe")
    tokenizer.add_special_tokens(["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
    found = tiny.fast(tokenizer, bos=bos, eos=eos)
    found.chat_template = template
    return found


def folder_of(root: Path, tokenizer: Any) -> dict[str, Any]:
    tiny.save(root / "chat", tiny.gpt2(len(tokenizer)), tokenizer)
    return {"source": "directory", "path": "chat", "device": "cpu"}


@pytest.fixture(autouse=True)
def _few_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start_tokens, "sentences", lambda: sentences()[:10])


@pytest.fixture
def knowing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let random models count as models that know the language."""
    monkeypatch.setattr(start_tokens, "MAX_UNIFORM_SHARE", 10.0)


@pytest.fixture
def chat(tmp_path: Path) -> Any:
    config = folder_of(tmp_path, chat_tokenizer(CHATML))

    def load(**more: Any) -> Any:
        return load_backend("causal", config | more, model_dir=tmp_path, hub_allowed=False)

    return load


def test_there_are_a_hundred_different_sentences():
    assert len(set(sentences())) == 100


def test_a_declared_token_that_opens_a_chat_turn_gives_way_to_the_end_of_text():
    opens = {"<|im_start|>": {"in_chat_template": True, "opens_turn": True}}
    token, reason = decide(tried(MANY_BITS, **opens))
    assert (token, "opens a chat turn" in reason) == ("<|endoftext|>", True)
    nearly = {"<|im_start|>": 8.96, "<|endoftext|>": 8.95, None: 9.57}
    assert decide(tried(nearly, **opens))[0] == "<|endoftext|>"


@pytest.mark.parametrize(
    ("other", "token"), [(9.85, "<s>"), (9.79, "</s>")], ids=["1.5 % better", "2.1 % better"]
)
def test_another_token_is_taken_if_it_saves_more_than_two_percent(other, token):
    assert decide(tried({"<s>": 10.0, "</s>": other, None: 12.0}))[0] == token


def test_no_token_never_takes_the_place_of_a_declared_one():
    assert decide(tried({"<s>": 10.0, "</s>": 10.1, None: 5.0})) == ("<s>", "")


def test_a_model_that_declares_none_gets_the_end_of_text_where_that_is_better():
    better = [Candidate("<|endoftext|>", "end of text", 5.2), Candidate(None, "none", 6.1)]
    token, reason = decide(better)
    assert (token, "the tokenizer declares none" in reason) == ("<|endoftext|>", True)
    alike = [Candidate("<|endoftext|>", "end of text", 6.05), Candidate(None, "none", 6.1)]
    assert decide(alike)[0] is None


def test_tokens_of_the_chat_template_are_tried_and_not_taken():
    inside = {"<|im_end|>": {"in_chat_template": True}}
    assert decide(tried({"<s>": 10.0, "<|im_end|>": 5.0, None: 9.0}, **inside))[0] == "<s>"


@pytest.mark.parametrize(
    ("template", "bos", "inside", "opens"),
    [
        (CHATML, "<|im_start|>", True, True),
        (REFUSING, "<|im_start|>", True, True),
        (LLAMA2, "<s>", True, False),
        (LLAMA3, "<s>", True, False),
        (CHATML, "<s>", False, False),
        ("{{ nothing.at.all() }}", "<s>", False, False),
        (None, "<|im_start|>", False, False),
    ],
    ids=["chatml", "refuses", "llama-2", "llama-3", "apart", "broken", "no template"],
)
def test_which_tokens_open_a_turn_is_read_off_the_chat_template(template, bos, inside, opens):
    [declared] = [one for one in candidates(chat_tokenizer(template, bos)) if one.role == "declared"]
    assert (declared.token, declared.in_chat_template, declared.opens_turn) == (bos, inside, opens)


def test_declared_token_ends_of_text_and_no_token_are_candidates():
    found = [(one.token, one.role) for one in candidates(chat_tokenizer(CHATML))]
    assert found == [
        ("<|im_start|>", "declared"),
        ("<|im_end|>", "end of text"),
        ("<|endoftext|>", "end of text"),
        ("</s>", "end of text"),
        (None, "none"),
    ]
    assert [one.token for one in candidates(chat_tokenizer(None, None, None))] == [
        "<|endoftext|>",
        "</s>",
        None,
    ]


def test_the_check_takes_the_end_of_text_and_scores_with_it(chat, knowing):
    model = chat()
    assert model.facts.bos == "<|im_start|>"
    found = probe(model)["start_tokens"]
    assert found["reason"] == "the declared token, <|im_start|>, opens a chat turn"
    assert model.facts.bos == found["token"] in ("<|endoftext|>", "</s>", None)
    assert (model.facts.declared_bos, found["declared"]) == ("<|im_start|>", "<|im_start|>")
    assert (found["language"], found["n_sentences"]) == ("en", 10)
    [scores] = model.score(["The keys"], ScoringPolicy())
    assert (scores.tokens[0] if scores.special[0] else None) == found["token"]


def test_bits_are_those_of_the_same_tokens_from_the_second_one_on(chat):
    model = chat()
    found = model.choose_start_token()
    for one in found["candidates"]:
        rows = model.score(start_tokens.sentences(), ScoringPolicy(bos=one["token"] or "never"))
        values = [
            [bits for bits, special in zip(row.bits, row.special, strict=True) if not special][1:]
            for row in rows
        ]
        flat = [bits for row in values for bits in row]
        assert len(flat) == found["n_tokens"]
        assert one["bits"] == pytest.approx(sum(flat) / len(flat), abs=1e-3)


def test_a_model_that_does_not_know_the_sentences_keeps_its_declared_token(chat):
    model = chat()
    found = model.choose_start_token()
    assert min(one["bits"] for one in found["candidates"]) > 0.8 * 8.65
    assert model.facts.bos == found["token"] == "<|im_start|>"
    assert "well enough" in found["reason"]


def test_a_tokenizer_without_another_token_is_not_tried(tmp_path, monkeypatch):
    tokenizer = tiny.train("byte-bpe")
    config = folder_of(tmp_path, tiny.fast(tokenizer, bos="<s>", eos="<s>"))
    model = load_backend("causal", config, model_dir=tmp_path, hub_allowed=False)
    monkeypatch.setattr(model, "_bits_from", lambda *_: pytest.fail("scored"))
    monkeypatch.setattr(start_tokens, "_ENDS", ())
    found = model.choose_start_token()
    assert (found["token"], found["n_tokens"], model.facts.bos) == ("<s>", 0, "<s>")


@pytest.mark.parametrize("named", ["<|endoftext|>", "</s>", "t", ""])
def test_the_configuration_may_name_the_start_token(chat, knowing, named):
    model = chat(bos_token=named)
    assert model.facts.bos == (named or None)
    assert probe(model)["start_tokens"]["candidates"]
    assert model.facts.bos == (named or None)
    [scores] = model.score(["The keys"], ScoringPolicy())
    assert (scores.tokens[0] if scores.special[0] else "") == named


def test_a_start_token_that_is_not_in_the_vocabulary_is_refused(chat):
    with pytest.raises(BackendError, match=r"no token '<\|nowhere\|>'"):
        chat(bos_token="<|nowhere|>")
    with pytest.raises(BackendError, match=r"no token '<\|nowhere\|>'"):
        chat().score(["The keys"], ScoringPolicy(bos="<|nowhere|>"))


def test_a_run_may_put_any_token_of_the_vocabulary_first(chat):
    model = chat()
    own, named, other = (
        model.score(["The keys"], ScoringPolicy(bos=bos))[0]
        for bos in ("auto", "<|im_start|>", "<|endoftext|>")
    )
    assert own == named
    assert (other.tokens[0], other.special[0], other.bits[0]) == ("<|endoftext|>", True, None)
    assert other.ids[1:] == own.ids[1:]
    assert other.bits[1] != own.bits[1]


def test_models_without_a_start_token_can_be_given_one(tmp_path):
    config = folder_of(tmp_path, chat_tokenizer(None, None, None))
    model = load_backend("causal", config, model_dir=tmp_path, hub_allowed=False)
    [without] = model.score(["The keys"], ScoringPolicy())
    [with_one] = model.score(["The keys"], ScoringPolicy(bos="<|endoftext|>"))
    assert (without.bits[0], with_one.tokens[0]) == (None, "<|endoftext|>")
    assert with_one.bits[1] is not None
    assert with_one.ids[1:] == without.ids


def test_a_tokenizer_made_of_its_file_keeps_the_chat_template(tmp_path):
    tokenizer = chat_tokenizer(CHATML)
    tiny.save(tmp_path, tiny.gpt2(len(tokenizer)), tokenizer)
    tiny.edit_json(tmp_path / "tokenizer_config.json", tokenizer_class="GPT2Tokenizer")
    made = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    made.normalizer = normalizers.Lowercase()
    made.save(str(tmp_path / "tokenizer.json"))
    notes: list[str] = []
    assert read_tokenizer(tmp_path, notes).chat_template == CHATML
    assert "the file is used" in notes[0]
