"""Cases 1 to 4: the token before the first word."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lmgym
from benchmarks.trust.case import (
    BITS,
    END,
    LM_EVAL,
    MINICONS,
    TEXT,
    Ask,
    Case,
    Value,
    english,
    exact,
    first_bits,
    lm_eval,
    minicons,
    number,
    our_sum,
    suite,
    token_sum,
)
from lmgym.models.backends.start_tokens import sentences
from tests.lmgym.models import tiny

TURN = "<|im_start|>"
STEPS = 30
CHAT = "{% for message in messages %}{{ '<|im_start|>' + message['role'] + ' ' + message['content'] }}{% endfor %}"


def doubled(root: Path) -> Case:
    """The start token is doubled.

    Bits of “The keys to the cabinet are on the table.” under a random Llama whose tokenizer adds the start token
    itself, as Llama's does.

    *Right:* One start token, as in training. A second one is a context that the model never saw, and the sums here also
    contain its surprisal, although it is not in the text.

    minicons needs `bos_token=True` for GPT-2 and `bos_token=False` here; a study with both models has to know which is
    which. lm-eval computes perplexities with `loglikelihood_rolling`.

    *Sources:* [lm-eval #3333](https://github.com/EleutherAI/lm-evaluation-harness/issues/3333): “bos token gets added 2
    times for gemma models for loglikelihood_rolling”; minicons, docstring of `word_score_tokenized`: “specify this as
    True for GPT2 and Pythia, for other they do it by default”.
    """
    from tokenizers import processors

    tokenizer = english()
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{END} $A", special_tokens=[(END, tokenizer.bos_token_id)]
    )
    model = tiny.llama(len(tokenizer))
    folder = tiny.save(root / "doubled", model, tokenizer)
    return Case(
        doubled,
        right=sum(exact(model, tokenizer, TEXT)),
        ours=our_sum(TEXT, folder),
        call="lmgym.score(TEXT, MODEL)",
        asks=(
            Ask(MINICONS, minicons(folder, "token_score", TEXT, bos_token=True, **BITS), token_sum),
            Ask(MINICONS, minicons(folder, "token_score", TEXT, **BITS), token_sum, "without `bos_token`"),
            Ask(LM_EVAL, lm_eval(folder, "loglikelihood_rolling", [TEXT]), first_bits),
            Ask(LM_EVAL, lm_eval(folder, "loglikelihood", ["", TEXT]), first_bits, "by `loglikelihood`"),
        ),
    )


def minus_first(result: Any) -> Value:
    return number(-result[0])


def missing(root: Path) -> Case:
    """The start token is missing.

    Bits of “are on the table.” after “The keys to the cabinet”, under a random GPT-2, whose tokenizer adds no start
    token.

    *Right:* By the chain rule, the bits of the whole sentence minus those of its beginning, both after the start token.
    A program that puts the start token before whole sentences, but not before a context, breaks this rule.

    `reduction='sum'` stands for `lambda scores: scores.sum(0).item()`; the default is the mean over tokens.

    *Sources:* [lm-eval #1465](https://github.com/EleutherAI/lm-evaluation-harness/pull/1465): without it, LAMBADA's
    perplexity under Gemma 7B was 5.9 billion instead of 3.5; [minicons
    #51](https://github.com/kanishkamisra/minicons/issues/51): “IncrementalLMScorer discards probability of first
    token”.
    """
    tokenizer = english()
    model = tiny.gpt2(len(tokenizer))
    folder = tiny.save(root / "missing", model, tokenizer)
    context, rest = "The keys to the cabinet", " are on the table."
    document = suite({"only": [context, rest.strip()]}, "(2;%only%) > 0")
    given = ("conditional_score", [context], [rest.strip()])
    bits: dict[str, Any] = {"base_two": True, "reduction": "sum"}
    regions = lmgym.evaluate(document, str(folder), device="cpu").regions()
    return Case(
        missing,
        right=sum(exact(model, tokenizer, context + rest)) - sum(exact(model, tokenizer, context)),
        ours=number(regions[regions["region_number"] == 2]["surprisal"].item()),
        call="lmgym.evaluate(SUITE, MODEL).regions()",
        asks=(
            Ask(MINICONS, minicons(folder, *given, **bits), minus_first),
            Ask(
                MINICONS,
                minicons(folder, *given, **bits, bos_token=True),
                minus_first,
                "with `bos_token=True`",
            ),
            Ask(LM_EVAL, lm_eval(folder, "loglikelihood", [context, rest]), first_bits),
            Ask(
                LM_EVAL,
                lm_eval(folder, "loglikelihood", [END + context, rest]),
                first_bits,
                f"with `{END}` in the context",
            ),
        ),
    )


def chat_turn(root: Path) -> Case:
    """A text begins like a chat turn.

    Bits of “The teacher asked us” under a tiny GPT-2, trained on the spot. Its texts began after `<|endoftext|>`;
    `<|im_start|>`, the declared start token, precedes only the names of roles.

    *Right:* The bits after `<|endoftext|>`. Many chat models declare the token that opens a turn as their start token;
    after it, a plain sentence is unlike anything in their training data.

    *Sources:* [surprisal.md](surprisal.md#the-start-token): SmolLM2-135M-Instruct passes 8% of a suite after its
    declared `<|im_start|>` and 100% after `<|endoftext|>`.
    """
    text = "The teacher asked us"
    model, tokenizer = chat_model()
    folder = tiny.save(root / "chat", model, tokenizer)
    return Case(
        chat_turn,
        right=sum(exact(model, tokenizer, text)),
        ours=our_sum(text, folder),
        call="lmgym.score(TEXT, MODEL)",
        asks=(
            Ask(MINICONS, minicons(folder, "token_score", text, bos_token=True, **BITS), token_sum),
            Ask(
                MINICONS,
                minicons(folder, "token_score", f"{END} {text}", **BITS),
                token_sum,
                f"with `{END}` in the text, without `bos_token`",
            ),
            Ask(LM_EVAL, lm_eval(folder, "loglikelihood", ["", text]), first_bits),
            Ask(
                LM_EVAL,
                lm_eval(
                    folder, "loglikelihood", ["", text], prefix_token_id=tokenizer.convert_tokens_to_ids(END)
                ),
                first_bits,
                "with `prefix_token_id`",
            ),
        ),
    )


def chat_model() -> tuple[Any, Any]:
    """Train (model, tokenizer of words): a tiny GPT-2 for which texts begin after END, and chat turns with TURN, a role
    and words in an odd order. The texts are those on which LM Gym compares start tokens.
    """
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    split, roles = pre_tokenizers.Whitespace(), ("user", "assistant")
    texts = [[word for word, _ in split.pre_tokenize_str(text)] for text in sentences()]
    words = ["<unk>", END, TURN, *roles, *sorted({word for text in texts for word in text})]
    at = {word: number for number, word in enumerate(words)}
    turns = [[TURN, roles[n % 2], *sorted(text, key=lambda word: word[::-1])] for n, text in enumerate(texts)]
    rows = [[at[word] for word in row] for row in [*([END, *text, END] for text in texts), *turns]]
    length = max(map(len, rows))
    ids = torch.tensor([row + [0] * (length - len(row)) for row in rows])
    torch.manual_seed(5)
    config = GPT2Config(
        vocab_size=len(words),
        n_positions=64,
        n_embd=48,
        n_layer=1,
        n_head=2,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=at[TURN],
        eos_token_id=at[END],
    )
    model = GPT2LMHeadModel(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for _ in range(STEPS):
        optimizer.zero_grad()
        model(ids, labels=ids.masked_fill(ids == 0, -100)).loss.backward()
        optimizer.step()
    inner = Tokenizer(models.WordLevel(at, unk_token="<unk>"))
    inner.pre_tokenizer = split
    inner.add_special_tokens([END, TURN])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=inner, bos_token=TURN, eos_token=END, unk_token="<unk>", chat_template=CHAT
    )
    return model.eval(), tokenizer


def scored_as_zero(root: Path) -> Case:
    """The first token has 0 bits.

    Bits of the first word of “Who left” under a random GPT-2 without a start token.

    *Right:* No value: nothing precedes the word, so the model gives it no probability. 0 bits would mean that the word
    is certain, and no region can have less in a comparison.

    lm-eval stops with an error, so the other texts of the call have no values either. Without `bos_token=True` minicons
    gives 0 for the first token under models with a start token, too; cases 5 to 13 set it.

    *Sources:* [lm-zoo #56](https://github.com/cpllab/lm-zoo/issues/56): a user asks why “This” has a surprisal of 0.0;
    [minicons #51](https://github.com/kanishkamisra/minicons/issues/51): the first token's value is discarded.
    """
    tokenizer = english(bos_token=None, eos_token=None)
    folder = tiny.save(root / "zero", tiny.gpt2(len(tokenizer)), tokenizer)
    words = ["Who", "left"]
    document = suite({"only": words}, "(1;%only%) > 0")
    regions = lmgym.evaluate(document, str(folder), device="cpu").regions()
    return Case(
        scored_as_zero,
        right=None,
        ours=number(regions[regions["region_number"] == 1]["surprisal"].item()),
        call="lmgym.evaluate(SUITE, MODEL).regions()",
        asks=(
            Ask(
                MINICONS,
                minicons(folder, "token_score", " ".join(words), **BITS),
                lambda result: number(result[0][0][1]),
            ),
            Ask(LM_EVAL, lm_eval(folder, "loglikelihood", ["", words[0]]), first_bits),
        ),
    )
