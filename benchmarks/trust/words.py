"""Cases 5 to 8: which tokens a text has, and which of them are a word's."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import lmgym
from benchmarks.real_model import bits_of
from benchmarks.trust.case import (
    BITS,
    LM_EVAL,
    MINICONS,
    TEXT,
    Ask,
    Case,
    english,
    exact,
    first_bits,
    good_bits,
    lm_eval,
    lm_eval_task,
    minicons,
    number,
    our_sum,
    suite,
    token_sum,
    write_pair,
)
from tests.lmgym.models import tiny
from tests.lmgym.models.backends.test_tokenizer_file import digits_tokenizer


def space_before(root: Path) -> Case:
    """A space before the first word.

    Bits of “The keys to the cabinet are on the table.”, the good sentence of a pair, under a random GPT-2.

    *Right:* The bits of the sentence as the data set has it. “ The” and “The” are different tokens, and texts begin
    with the second.

    *Sources:* [lm-eval #2346](https://github.com/EleutherAI/lm-evaluation-harness/issues/2346): `target_delimiter` is a
    space by default, also in its BLiMP tasks.
    """
    tokenizer = english()
    model = tiny.gpt2(len(tokenizer))
    folder = tiny.save(root / "space", model, tokenizer)
    good, bad = TEXT, TEXT.replace("are", "is")
    return Case(
        space_before,
        right=sum(exact(model, tokenizer, good)),
        ours=our_sum(good, folder),
        call="lmgym.score(TEXT, MODEL)",
        asks=(
            Ask(MINICONS, minicons(folder, "token_score", good, bos_token=True, **BITS), token_sum),
            Ask(LM_EVAL, lm_eval_task(write_pair(root / "delimiter", good, bad), folder), good_bits),
            Ask(
                LM_EVAL,
                lm_eval_task(write_pair(root / "no-delimiter", good, bad, target_delimiter=""), folder),
                good_bits,
                'with `target_delimiter: ""` in the task',
            ),
        ),
    )


def shifted(root: Path) -> Case:
    """A word gets another word's tokens.

    Bits of “table” in “The letter (from the doctor) is on the table now” under a random GPT-2.

    *Right:* The sum over the tokens of the sentence that cover “table”. minicons tokenizes each word separately, after
    a space, to learn how many tokens it has. “from” has one token after a space and two after the bracket, so every
    later word gets tokens of another one.

    `wordpunct` stands for a function that splits words and punctuation marks, like NLTK's tokenizer of this name.

    *Source:* minicons, `IncrementalLMScorer.word_spans_tokenized`.
    """
    tokenizer = english()
    model = tiny.gpt2(len(tokenizer))
    folder = tiny.save(root / "shifted", model, tokenizer)
    before, word, after = "The letter (from the doctor) is on the", "table", "now"
    text = f"{before} {word} {after}"
    offsets = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
    values = zip(exact(model, tokenizer, text), offsets, strict=True)
    document = suite({"only": [before, word, after]}, "(2;%only%) > 0")
    regions = lmgym.evaluate(document, str(folder), device="cpu").regions()
    return Case(
        shifted,
        right=sum(bits for bits, (_, end) in values if len(before) < end <= len(before) + 1 + len(word)),
        ours=number(regions[regions["region_number"] == 2]["surprisal"].item()),
        call="lmgym.evaluate(SUITE, MODEL).regions()",
        asks=(
            Ask(
                MINICONS,
                minicons(
                    folder,
                    "word_score_tokenized",
                    [text],
                    tokenize_function="wordpunct",
                    bos_token=True,
                    **BITS,
                ),
                lambda result: number(dict(result[0])[word]),
            ),
        ),
    )


def other_tokenizer(root: Path) -> Case:
    """A tokenizer is replaced when it is loaded.

    Bits of “650841823” under a random GPT-2, whose `tokenizer.json` keeps three digits together and whose configuration
    names GPT2Tokenizer.

    *Right:* The bits of the tokens of `tokenizer.json`, the tokenizer that a model was trained with. transformers 5
    builds the named class from the vocabulary, with the rules of GPT-2, and drops those of the file.

    *Sources:* [transformers #45920](https://github.com/huggingface/transformers/issues/45920): OLMo 2, DeepSeek R1, Yi;
    [transformers #45812](https://github.com/huggingface/transformers/issues/45812): all Granite models.
    """
    from transformers import PreTrainedTokenizerFast

    text, inner = "650841823", digits_tokenizer()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=inner, bos_token="<s>", eos_token="<s>", unk_token="<unk>"
    )
    model = tiny.gpt2(len(tokenizer))
    model.config.bos_token_id = model.config.eos_token_id = 0
    folder = tiny.save(root / "tokenizer", model, tokenizer)
    tiny.edit_json(folder / "tokenizer_config.json", tokenizer_class="GPT2Tokenizer")
    return Case(
        other_tokenizer,
        right=sum(bits_of(model.double(), [[0, *inner.encode(text, add_special_tokens=False).ids]])[0]),
        ours=our_sum(text, folder),
        call="lmgym.score(TEXT, MODEL)",
        asks=(
            Ask(MINICONS, minicons(folder, "token_score", text, bos_token=True, **BITS), token_sum),
            Ask(LM_EVAL, lm_eval(folder, "loglikelihood", ["", text]), first_bits),
        ),
    )


def within_word(root: Path) -> Case:
    """Pieces of a word give it away.

    Pseudo-log-likelihood of “nobody saw the cabinet .”, in bits, under a random BERT, for which “cabinet” has three
    pieces.

    *Right:* While a piece is predicted, the later pieces of its word are masked as well. If they are visible, rare
    words, which have several pieces, look likely.

    minicons 0.3.39 calls `batch_encode_plus`, which transformers 5 has removed; the version in its repository does not.
    For the first two calls the method was put back; the third is the program as installed. lm-eval does not score
    masked models.

    *Source:* [Kauf & Ivanova 2023](https://arxiv.org/abs/2305.10588).
    """
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers

    text = "nobody saw the cabinet ."
    pieces = ["<unk>", "<s>", "</s>", "nobody", "saw", "the", "cab", "##in", "##et", "."]
    inner = Tokenizer(models.WordPiece({piece: at for at, piece in enumerate(pieces)}, unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    inner.add_special_tokens(pieces[:3])
    tokenizer = tiny.framed(inner)
    model = tiny.gap_filler("bert", len(tokenizer))
    folder = tiny.save(root / "within", model, tokenizer)
    masked: dict[str, Any] = {"scorer": "MaskedLMScorer", **BITS}
    restored = {**masked, "restored": "batch_encode_plus"}
    batch, bits = tokenizer(text), 0.0
    ids, words = batch["input_ids"], batch.word_ids()
    for at, word in enumerate(words):
        if word is None:
            continue
        hidden = [
            tokenizer.mask_token_id if place >= at and words[place] == word else token
            for place, token in enumerate(ids)
        ]
        with torch.no_grad():
            logs = torch.log_softmax(model.double()(torch.tensor([hidden])).logits[0, at], dim=-1)
        bits -= float(logs[ids[at]]) / math.log(2)
    return Case(
        within_word,
        right=bits,
        ours=our_sum(text, folder),
        call="lmgym.score(TEXT, MODEL)",
        asks=(
            Ask(MINICONS, minicons(folder, "token_score", text, **restored), token_sum),
            Ask(
                MINICONS,
                minicons(folder, "token_score", text, **restored, PLL_metric="within_word_l2r"),
                token_sum,
                'with `PLL_metric="within_word_l2r"`',
            ),
            Ask(MINICONS, minicons(folder, "token_score", text, **masked), token_sum, "as installed"),
        ),
    )
