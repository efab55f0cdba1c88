"""Cases 14 and 15: what counts as a pass."""

from __future__ import annotations

from pathlib import Path

from benchmarks.trust.case import (
    LM_EVAL,
    NOT_PASSED,
    Ask,
    Case,
    accuracy,
    english,
    lm_eval_task,
    our_verdict,
    write_pair,
)
from benchmarks.trust.starts import chat_model
from tests.lmgym.models import tiny


def tie(root: Path) -> Case:
    """A tie passes.

    Is “The zebra asked us” more likely than “The gnu asked us” under a model that knows neither animal?

    *Right:* No: both sentences have the same tokens, with an unknown word. lm-eval's `acc` takes the first of the
    largest values. A model that cannot tell any of the sentences apart has 100% if the good ones are listed first.

    *Sources:* lm-eval, `process_results` in `lm_eval/api/task.py`: `np.argmax`; with `doc_to_target: 0` the good
    sentence is the first, as in its BLiMP tasks.
    """
    model, tokenizer = chat_model()
    folder = tiny.save(root / "tie", model, tokenizer)
    pairs = write_pair(root / "tied", "The zebra asked us", "The gnu asked us")
    return Case(
        tie,
        right=NOT_PASSED,
        ours=our_verdict(pairs, folder),
        call='lmgym.evaluate(PAIRS, MODEL).outcomes()["passed"]',
        asks=(Ask(LM_EVAL, lm_eval_task(pairs, folder), accuracy),),
    )


def not_a_number(root: Path) -> Case:
    """NaN passes.

    Is a sentence more likely than another if an overflow in a random Llama makes its probability NaN?

    *Right:* No: nothing is known about it. numpy's `argmax` takes NaN for the largest value, so the more good sentences
    a model cannot score, the higher its accuracy. In LM Gym such an item is not evaluable.

    *Sources:* lm-eval, `process_results` in `lm_eval/api/task.py`: `np.argmax`;
    [numpy.argmax](https://numpy.org/doc/stable/reference/generated/numpy.argmax.html).
    """
    import torch

    tokenizer = english()
    model = tiny.llama(len(tokenizer))
    (broken,) = tokenizer(" table", add_special_tokens=False)["input_ids"]
    with torch.no_grad():
        model.model.embed_tokens.weight[broken] = float("inf")  # as after an overflow
    folder = tiny.save(root / "nan", model, tokenizer)
    pairs = write_pair(root / "overflow", "The letter is on the table.", "The letter is on the chair.")
    return Case(
        not_a_number,
        right=NOT_PASSED,
        ours=our_verdict(pairs, folder),
        call='lmgym.evaluate(PAIRS, MODEL).outcomes()["passed"]',
        asks=(Ask(LM_EVAL, lm_eval_task(pairs, folder), accuracy),),
    )
