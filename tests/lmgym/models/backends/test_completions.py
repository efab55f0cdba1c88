"""Choices of real servers, read without a server: which tokens belong to the prompt, and which were generated."""

from __future__ import annotations

import pytest

from lmgym.models.backends.completions import Dialect, Unreadable, read_choice

ECHO = Dialect("echo")


def echoed(tokens, offsets=None, new: int | None = 1):
    logprobs = {"tokens": tokens, "token_logprobs": [None, *[-1.0] * (len(tokens) - 1)]}
    usage = None if new is None else {"completion_tokens": new}
    return {"logprobs": logprobs | ({"text_offset": offsets} if offsets else {}), "usage": usage}


def test_llama_cpp_python_may_generate_all_parts_of_a_character():
    tokens = ["ok", " 🙂", "", "", "", "", "", "", "", "", ""]  # " 🙂🙃🫠" and three parts of a new emoji
    offsets = [0, 2, 4, 4, 4, 5, 5, 5, 6, 6, 6]
    prompt = read_choice(echoed(tokens, offsets, new=3), "ok 🙂🙃🫠", ECHO)
    assert prompt.spans == [(0, 2), (2, 4), *[(4, 5)] * 3, *[(5, 6)] * 3]


def test_llama_cpp_python_may_omit_the_generated_token():
    assert len(read_choice(echoed(["a", " 日", "."], new=1), "a 日.", ECHO).tokens) == 3


def test_an_unspelled_token_that_may_be_generated_is_refused():
    with pytest.raises(
        Unreadable, match="may have been generated, or be part of the prompt's last character"
    ):
        read_choice(echoed(["a", "", "", ""]), "a日", ECHO)


@pytest.mark.parametrize("new", [" ", "\n", " And", "", "\ufffd"])
def test_a_generated_token_is_left_out_whatever_its_spelling(new):
    assert len(read_choice(echoed(["The", " end", ".", new]), "The end.", ECHO).tokens) == 3


def test_a_start_token_that_the_server_does_not_spell_is_special():
    prompt = read_choice(echoed(["", "Yes", "."]), "<s>Yes", Dialect("echo", "<s>"))
    assert prompt.spans == [(0, 3), (3, 6)]


def test_negative_offsets_are_no_offsets():
    prompt = read_choice(echoed(["a", "\ufffd", "\ufffd", "x"], [-1, -1, -1, -1]), "aé", ECHO)
    assert prompt.spans == [(0, 1), (1, 2), (1, 2)]


def listed(tokens):
    entries = [
        {str(number): {"logprob": -1.0, "decoded_token": token}} for number, token in enumerate(tokens)
    ]
    return {"prompt_logprobs": [None, *entries]}


def test_a_first_token_that_is_not_listed_may_be_a_part_of_a_character():
    with pytest.raises(Unreadable, match="a start token avoids this"):
        read_choice(listed(["", "本"]), "日本", Dialect("prompt_logprobs"))


def test_after_an_unlisted_start_token_all_parts_are_placed():
    prompt = read_choice(listed(["", "日", "本"]), "<s>日本", Dialect("prompt_logprobs", "<s>"))
    assert prompt.spans == [(0, 3), (3, 4), (3, 4), (4, 5)]
