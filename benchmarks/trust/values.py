"""Cases 9 to 13: units, batches, contexts, caches and precision."""

from __future__ import annotations

from pathlib import Path

import lmgym
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
    token_sum,
    write_pair,
)
from tests.lmgym.models import tiny


def nats(root: Path) -> Case:
    """Nats where bits are meant.

    Surprisal of “The keys to the cabinet are on the table.” under a random GPT-2.

    *Right:* Surprisal in bits, −log2 P, the unit of SyntaxGym and most papers. Nats are documented in both programs;
    the numbers are 0.693 times as large, and nothing in a table of numbers shows which unit it has.

    *Sources:* minicons, docstring of `token_score`: `base_two`, “log base 2 instead of natural-log”; lm-eval,
    `_loglikelihood_tokens` in `lm_eval/models/huggingface.py`: `log_softmax`.
    """
    tokenizer = english()
    model = tiny.gpt2(len(tokenizer))
    folder = tiny.save(root / "nats", model, tokenizer)
    return Case(
        nats,
        right=sum(exact(model, tokenizer, TEXT)),
        ours=our_sum(TEXT, folder),
        call="lmgym.score(TEXT, MODEL)",
        asks=(
            Ask(MINICONS, minicons(folder, "token_score", TEXT, bos_token=True, surprisal=True), token_sum),
            Ask(
                MINICONS,
                minicons(folder, "token_score", TEXT, bos_token=True, **BITS),
                token_sum,
                "with `base_two=True`",
            ),
            Ask(LM_EVAL, lm_eval(folder, "loglikelihood", ["", TEXT]), lambda result: number(-result[0])),
        ),
    )


def neighbours(root: Path) -> Case:
    """Values depend on the other texts of a batch.

    Bits of “The keys are here” in one call with a longer text, under a random Phi-3 with two sets of rotary factors
    (longrope), the second for texts of over 16 tokens.

    *Right:* The bits of the text alone. transformers chooses the factors by the length of the padded row, so a short
    text in a batch with a long one is computed with the factors for long texts.

    The default batch size of lm-eval is 1.

    *Sources:* [lm-eval #704](https://github.com/EleutherAI/lm-evaluation-harness/issues/704),
    [#1625](https://github.com/EleutherAI/lm-evaluation-harness/issues/1625): values change with the batch size.
    """
    tokenizer = english()
    model = tiny.causal("phi3-longrope", len(tokenizer))
    folder = tiny.save(root / "neighbours", model, tokenizer)
    text, long = "The keys are here", " ".join([TEXT] * 3)
    both = ["", text], ["", long]
    frame = lmgym.score([text, long], str(folder), device="cpu")
    own = frame[(frame["text_number"] == 1) & ~frame["special"]]
    return Case(
        neighbours,
        right=sum(exact(model, tokenizer, text)),
        ours=number(own["surprisal"].sum(skipna=False)),
        call="lmgym.score([TEXT, LONG_TEXT], MODEL)",
        asks=(
            Ask(MINICONS, minicons(folder, "token_score", [text, long], bos_token=True, **BITS), token_sum),
            Ask(
                MINICONS,
                minicons(folder, "token_score", text, bos_token=True, **BITS),
                token_sum,
                "without the long text",
            ),
            Ask(LM_EVAL, lm_eval(folder, "loglikelihood", *both, batch_size=2), first_bits),
            Ask(
                LM_EVAL,
                lm_eval(folder, "loglikelihood", *both, batch_size=1),
                first_bits,
                "with `batch_size=1`",
            ),
        ),
    )


def cut(root: Path) -> Case:
    """A long text is cut.

    Bits of the last word of a text of more tokens than the 16 that a random GPT-2 can read.

    *Right:* No value: the model has too few positions for the words before it, and without them it scores another text.
    LM Gym refuses the text, unless the policy `overlap` asks for [windows](surprisal.md#long-texts).

    lm-eval logs a warning with the number of tokens that it drops; the result itself does not show it.

    *Sources:* [lm-eval #3115](https://github.com/EleutherAI/lm-evaluation-harness/issues/3115),
    [#3421](https://github.com/EleutherAI/lm-evaluation-harness/issues/3421): long contexts are cut on the left.
    """
    tokenizer = english()
    folder = tiny.save(root / "cut", tiny.gpt2(len(tokenizer), context=16), tokenizer)
    context, last = f"{TEXT} {TEXT} The keys are on the", " table"
    return Case(
        cut,
        right=None,
        ours=our_sum(context + last, folder),
        call="lmgym.score(TEXT, MODEL)",
        asks=(
            Ask(
                MINICONS,
                minicons(folder, "token_score", context + last, bos_token=True, **BITS),
                lambda result: number(result[0][-1][1]),
            ),
            Ask(LM_EVAL, lm_eval(folder, "loglikelihood", [context, last]), first_bits),
        ),
    )


def stale(root: Path) -> Case:
    """A cache keeps the values of another model.

    Bits of “The keys to the cabinet are on the table.” under a random GPT-2, after the same call for a model with other
    weights, with the same cache.

    *Right:* The bits of the model that is loaded now. The key of lm-eval's cache has the texts of a request, but
    nothing of the model. A cache of LM Gym knows the weights, also when training overwrites a checkpoint in place.

    *Sources:* lm-eval, `CachingLM` in `lm_eval/api/model.py`: the key is `hash_args(attr, req.args)`; its README offers
    the cache for “runs of the same (model, task) pairs”.
    """
    tokenizer = english()
    old, new = tiny.gpt2(len(tokenizer), seed=1), tiny.gpt2(len(tokenizer), seed=2)
    pairs = write_pair(root / "cached", TEXT, TEXT.replace("are", "is"), target_delimiter="")
    folder, cache = root / "checkpoint" / "model", root / "scores.sqlite3"
    for model in (old, new):
        tiny.save(folder, model, tokenizer)
        regions = lmgym.evaluate(pairs, str(folder), cache=cache, device="cpu").regions()
    older = tiny.save(root / "older" / "model", old, tokenizer)
    named = {"use_cache": str(root / "responses")}
    return Case(
        stale,
        right=sum(exact(new, tokenizer, TEXT)),
        ours=number(regions[regions["condition"] == "good"]["surprisal"].item()),
        call="lmgym.evaluate(PAIRS, MODEL, cache=FILE).regions(), twice",
        asks=(
            Ask(LM_EVAL, lm_eval_task(pairs, older, folder, **named), good_bits),
            Ask(LM_EVAL, lm_eval_task(pairs, older, folder), good_bits, "without `use_cache`"),
        ),
    )


def half(root: Path) -> Case:
    """A checkpoint in bfloat16 is computed in bfloat16.

    Bits of “The keys to the cabinet are on the table.” under a random Llama that was saved in bfloat16.

    *Right:* The bits of the saved weights, computed in float64. Rounding each intermediate result to 8 bits as well
    gives values that differ between programs, batches and machines.

    *Sources:* [transformers #26869](https://github.com/huggingface/transformers/issues/26869);
    [surprisal.md](surprisal.md#computing): up to 1.9 bits per token.
    """
    import torch
    from transformers import AutoModelForCausalLM

    tokenizer = english()
    folder = tiny.save(root / "half", tiny.llama(len(tokenizer)).to(torch.bfloat16), tokenizer)
    call, single, with_single = ("token_score", TEXT), {"dtype": "float32"}, 'with `dtype="float32"`'
    saved = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64)
    return Case(
        half,
        right=sum(exact(saved, tokenizer, TEXT)),
        ours=our_sum(TEXT, folder),
        call="lmgym.score(TEXT, MODEL)",
        asks=(
            Ask(MINICONS, minicons(folder, *call, bos_token=True, **BITS), token_sum),
            Ask(
                MINICONS, minicons(folder, *call, bos_token=True, init=single, **BITS), token_sum, with_single
            ),
            Ask(LM_EVAL, lm_eval(folder, "loglikelihood", ["", TEXT]), first_bits),
            Ask(LM_EVAL, lm_eval(folder, "loglikelihood", ["", TEXT], **single), first_bits, with_single),
        ),
    )
