"""A case: a question with one right answer, LM Gym's answer to it, and calls of other programs that answer it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from inspect import getdoc
from pathlib import Path
from typing import Any

from benchmarks.engine import workload
from benchmarks.real_model import bits_of
from lmgym.models.backends.start_tokens import sentences

Value = float | str | None
"""Bits, a verdict, or None: there is no value, or the program refuses or stops."""

FILES = {"use_cache": "FILE"}
TOLERANCE_BITS = 1e-3
"""float32 and float64 differ by less, also in sums; see "Noise" in docs/surprisal.md."""
PASSED, NOT_PASSED = "pass", "no pass"
MINICONS, LM_EVAL = "minicons", "lm-eval"
END = workload.BOS
"""Start and end token of the tokenizer of the cases, as GPT-2's."""
TEXT = "The keys to the cabinet are on the table."
BITS: dict[str, Any] = {"surprisal": True, "base_two": True}
"""Options of minicons for surprisals in bits."""


@dataclass(frozen=True, eq=False)
class Ask:
    """A call of another program.

    Attributes:
        program: MINICONS or LM_EVAL.
        request: see ask_minicons.py and ask_lm_eval.py.
        read: reads the value from the result.
        instead: in a few words, what this call has that the first call of the program has not.
    """

    program: str
    request: dict[str, Any]
    read: Callable[[Any], Value]
    instead: str = ""

    def call(self) -> str:
        """The call as code, with texts shortened."""
        request = self.request
        init = f", {_arguments([], request['init'])}" if request["init"] else ""
        method = f"{request['method']}({_arguments(request.get('arguments', []), request.get('named', {}))})"
        if self.program == MINICONS:
            return f"{request['scorer']}(MODEL{init}).{method}"
        if "task" in request:
            return method.replace("(", "(MODEL, TASK" + ", " * bool(request["named"]), 1)
        return f"HFLM(MODEL{init}).{method}"


def _arguments(values: Sequence[Any], named: dict[str, Any]) -> str:
    shown = [_shown(value) for value in values]
    return ", ".join([*shown, *(f"{name}={FILES.get(name, _shown(value))}" for name, value in named.items())])


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_shown, value))}]"
    return repr(shorten(value) if isinstance(value, str) else value)


def shorten(text: str, most: int = 45) -> str:
    return text if len(text) <= most else f"{text[: most - 10]}…{text[-9:]}"


@dataclass(frozen=True)
class Case:
    """A case, with the right value and LM Gym's.

    Attributes:
        function: the function that made it; its docstring says what goes wrong, in the first line, then what is asked,
            why the right value is right, and where the fault was reported or is documented.
        right: computed by the function, with a plain forward pass in float64 or by hand.
        ours: LM Gym's answer.
        call: LM Gym's call.
        asks: calls of other programs. If the fault shows in a call of a program, that is its first one; a further one
            has an option that may give the right value. A program without calls is not concerned.
    """

    function: Callable[[Path], Case]
    right: Value
    ours: Value
    call: str
    asks: tuple[Ask, ...]

    @property
    def title(self) -> str:
        return title_of(self.function)

    @property
    def text(self) -> str:
        return (getdoc(self.function) or "").partition("\n\n")[2]


def title_of(function: Callable[[Path], Case]) -> str:
    return (getdoc(function) or "").partition(".\n")[0]


def is_right(case: Case, value: Value) -> bool:
    if isinstance(case.right, float) and isinstance(value, float):
        return abs(case.right - value) <= TOLERANCE_BITS
    return case.right == value


def minicons(
    folder: Path,
    method: str,
    *arguments: Any,
    scorer: str = "IncrementalLMScorer",
    init: dict[str, Any] | None = None,
    restored: str = "",
    **named: Any,
) -> dict[str, Any]:
    """Build a request for minicons. `restored`: see ask_minicons.py."""
    return {
        "folder": str(folder),
        "scorer": scorer,
        "init": init or {},
        "restored": restored,
        "method": method,
        "arguments": list(arguments),
        "named": named,
    }


def lm_eval(folder: Path, method: str, *texts: Sequence[str], **init: Any) -> dict[str, Any]:
    """Build a request for a method of HFLM, for one or several tuples of texts."""
    return {"folder": str(folder), "init": init, "method": method, "arguments": [list(one) for one in texts]}


def token_sum(result: Any) -> Value:
    """Sum minicons' token scores of the first text."""
    return number(sum(score for _, score in result[0]))


def first_bits(result: Any) -> Value:
    """Convert lm-eval's log-likelihood of the first request to bits."""
    return number(-result[0] / math.log(2))


def number(value: float) -> Value:
    """NaN and infinity are no values."""
    return float(value) if math.isfinite(value) else None


def english(**special: str | None) -> Any:
    """Return a byte-level BPE of 1,000 tokens, trained on a hundred English sentences, with GPT-2's special tokens or
    those in `special`."""
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

    names = dict.fromkeys(("bos_token", "eos_token", "unk_token", "pad_token"), END) | special
    return PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_str(_trained()), **names)


@cache
def _trained() -> str:
    signs = ' ( ) , ; : . "' * 30  # as in large vocabularies, each also after a space
    return str(workload.tokenizer([*sentences(), signs], vocabulary=1_000).backend_tokenizer.to_str())


def exact(model: Any, tokenizer: Any, text: str, start: str = END) -> list[float]:
    """Compute the bits of every token after the start token: one text, one forward pass, in float64."""
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    return bits_of(model.double(), [[tokenizer.convert_tokens_to_ids(start), *ids]])[0]


def our_sum(text: str, folder: Path, **policy: Any) -> Value:
    """Sum the bits of a text's tokens, as `lmgym.score` returns them."""
    import lmgym

    tokens = lmgym.score(text, str(folder), policy=policy, device="cpu")
    if any(tokens["failure"]):
        return None
    return number(tokens[~tokens["special"]]["surprisal"].sum(skipna=False))


def suite(regions: dict[str, list[str]], formula: str, join: str = "space") -> dict[str, Any]:
    """Build a suite with one item: texts of the regions by condition."""
    names = range(1, len(next(iter(regions.values()))) + 1)
    conditions = [
        {
            "condition_name": name,
            "regions": [{"region_number": at, "content": text} for at, text in enumerate(texts, start=1)],
        }
        for name, texts in regions.items()
    ]
    return {
        "meta": {"name": "case", "metric": "sum"},
        "region_meta": {str(at): f"region {at}" for at in names},
        "predictions": [{"type": "formula", "formula": formula}],
        "items": [{"item_number": 1, "conditions": conditions}],
    }


def write_pair(folder: Path, good: str, bad: str, **options: Any) -> Path:
    """Write a pair of sentences and a task of lm-eval that compares them, as its BLiMP tasks do."""
    folder.mkdir()
    pairs = folder / "pair.jsonl"
    pairs.write_text(json.dumps({"sentence_good": good, "sentence_bad": bad}) + "\n", encoding="utf-8")
    description = {
        "task": "pair",
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"validation": str(pairs)}},
        "output_type": "multiple_choice",
        "validation_split": "validation",
        "doc_to_text": "",
        "doc_to_choice": "{{[sentence_good, sentence_bad]}}",
        "doc_to_target": 0,
        "metric_list": [{"metric": "acc"}],
        **options,
    }
    (folder / "pair.yaml").write_text(json.dumps(description), encoding="utf-8")  # JSON is YAML
    return pairs


def lm_eval_task(pairs: Path, *models: Path, **named: Any) -> dict[str, Any]:
    """Build a request to run the task of `write_pair` on each of the models in turn."""
    return {
        "tasks": str(pairs.parent),
        "task": "pair",
        "folders": [str(model) for model in models],
        "init": {},
        "method": "simple_evaluate",
        "named": named,
    }


def accuracy(result: Any) -> Value:
    return PASSED if result["acc"] == 1 else NOT_PASSED


def good_bits(result: Any) -> Value:
    """Bits of the good sentence of a task's pair."""
    return first_bits(result["choices"][0])


def our_verdict(pairs: Path, folder: Path) -> Value:
    import lmgym

    [passed] = lmgym.evaluate(pairs, str(folder), device="cpu").outcomes()["passed"]
    return PASSED if passed == 1 else NOT_PASSED
