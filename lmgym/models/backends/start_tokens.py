"""Which token a model gets before every sentence: the declared one, unless another is plainly better.

Tokenizers of chat models often declare the token that opens a chat turn as their start token. A plain sentence after it
is unlike anything the model was trained on: SmolLM2-135M-Instruct holds 8 % of the items of an NPI suite after its
declared `<|im_start|>`, and 100 % after `<|endoftext|>`, which stood between its training texts. So every candidate is
tried on plain sentences. No torch here; `CausalBackend.choose_start_token` computes the bits.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

LANGUAGE = "en"
BETTER = 0.02
"""Another token is taken if it saves more than this share of the bits."""
MOST_UNKNOWN = 0.1
"""Above this share of unknown tokens the sentences say nothing about the model."""
KNOWS_TOO_LITTLE = 0.8
"""A model above this share of log2(vocabulary size), what a uniform guess costs, does not know the language."""

_ENDS = ("<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>", "<|eos|>", "[EOS]", "<｜end▁of▁sentence｜>")
_SEPARATORS = ("[SEP]", "<sep>", "<|sep|>")
_ROLES = r"(system|user|human|assistant|model|bot)"
_ROLE_VARIABLE = r"""['"]?\s*(\}\}\s*\{\{-?|[+~])?\s*message(\.role|\[['"]role['"]\])"""
_TURNS = [
    {"role": role, "content": f"words {number}"}
    for number, role in enumerate(("user", "assistant", "user", "assistant"))
]

Rows = list[list[int]]
Bits = Callable[[Rows, list[int]], list[list[float] | None]]
"""(sequences of ids, place of the first token to predict in each) -> bits of that token and all that follow, by
sequence; None for one that cannot be scored."""


@dataclass(frozen=True)
class Candidate:
    """A token that may stand before every sentence; None = no token.

    bits  a token of the sentences, from the second on: the same tokens for every candidate; None = not measured
    """

    token: str | None
    role: str
    bits: float | None = None
    in_chat_template: bool = False
    opens_turn: bool = False


def sentences(language: str = LANGUAGE) -> list[str]:
    """Plain sentences of a language, written for this."""
    path = Path(__file__).parent / "sentences" / f"{language}.txt"
    return path.read_text(encoding="utf-8").splitlines()


def candidates(tokenizer: Any) -> list[Candidate]:
    """The declared start token, ends of text, separators and no token, each once."""
    special = {token.content for token in tokenizer.added_tokens_decoder.values() if token.special}
    named: list[tuple[str | None, str]] = [(tokenizer.bos_token, "declared")]
    named += [(tokenizer.eos_token, "end of text")]
    named += [(token, "end of text") for token in _ENDS if token in special]
    named += [(tokenizer.sep_token, "separator")]
    named += [(token, "separator") for token in _SEPARATORS if token in special]
    rendered, source = _chat_template(tokenizer)
    found: dict[str, Candidate] = {}
    for token, role in named:
        if token and token not in found:
            inside = token in (rendered or source)
            found[token] = Candidate(token, role, None, inside, _opens_turn(token, rendered, source))
    return [*found.values(), Candidate(None, "none")]


def _chat_template(tokenizer: Any) -> tuple[str, str]:
    """A conversation of four turns as the template writes it, empty where it cannot; and the template's source."""
    template = tokenizer.chat_template
    if isinstance(template, dict):
        template = template.get("default") or next(iter(template.values()), "")
    if not template:
        return "", ""
    try:
        return str(tokenizer.apply_chat_template(_TURNS, chat_template=template, tokenize=False)), template
    except Exception:  # noqa: BLE001  a template is a program, and may refuse any conversation
        return "", str(template)


def _opens_turn(token: str, rendered: str, source: str) -> bool:
    """Whether turn after turn begins with the token and a role. A token that stands before the whole conversation, or
    that closes one, does not."""
    spelled = re.escape(token)
    if rendered:
        is_role = re.search(_ROLES, token, re.IGNORECASE) is not None
        pattern = spelled if is_role else rf"{spelled}\s*{_ROLES}\b"
        return len(re.findall(pattern, rendered, re.IGNORECASE)) > 1
    return re.search(spelled + _ROLE_VARIABLE, source) is not None


def measured(tokenizer: Any, found: Sequence[Candidate], bits: Bits, size: int) -> dict[str, Any]:
    """Try the candidates on plain sentences and decide; what the check records.

    Args:
        bits: scores sequences of ids, all candidates in one call.
        size: of the vocabulary.

    Returns:
        `token` (the decision, None = no start token), `declared`, `reason`, `language`, `n_sentences`, `n_tokens`, and
        `candidates`, as in `Candidate`.
    """
    own = tokenizer.backend_tokenizer
    texts = sentences()
    if not any(one.token and one.role != "declared" for one in found):
        return _record(found, tokenizer.bos_token, "", 0, 0)
    encoded = [list(map(int, row)) for row in tokenizer(texts, add_special_tokens=False)["input_ids"]]
    rows = [ids for ids in encoded if len(ids) > 1]
    starts = [[own.token_to_id(one.token)] if one.token else [] for one in found]
    sequences = [[*start, *ids] for start in starts for ids in rows]
    places = [len(start) + 1 for start in starts for _ in rows]
    values = bits(sequences, places)
    by_candidate = [values[at * len(rows) : (at + 1) * len(rows)] for at in range(len(found))]
    usable = [at for at in range(len(rows)) if all(own_values[at] is not None for own_values in by_candidate)]
    n_tokens = sum(len(rows[at]) - 1 for at in usable)
    if not n_tokens:
        return _record(found, tokenizer.bos_token, "", 0, 0)
    means = [
        math.fsum(math.fsum(own_values[at] or ()) for at in usable) / n_tokens for own_values in by_candidate
    ]
    tried = [
        Candidate(one.token, one.role, round(mean, 4), one.in_chat_template, one.opens_turn)
        for one, mean in zip(found, means, strict=True)
    ]
    unknown = [number == tokenizer.unk_token_id for row in rows for number in row]
    if sum(unknown) > MOST_UNKNOWN * len(unknown) or min(means) > KNOWS_TOO_LITTLE * math.log2(size):
        token, reason = tokenizer.bos_token, "the model knows too little of the sentences to tell"
    else:
        token, reason = decide(tried)
    return _record(tried, token, reason, len(usable), n_tokens)


def decide(tried: Sequence[Candidate]) -> tuple[str | None, str]:
    """The token to take, and why where it is not simply the declared one.

    No token at all is never better than a declared one that opens no turn: the first region of every sentence would
    have no value. Tokens that open a turn, or stand in the chat template without being declared, are not taken.
    """
    declared = next((one for one in tried if one.role == "declared"), None)
    none = next(one for one in tried if one.token is None)
    others = [one for one in tried if one.token and one is not declared and not one.in_chat_template]
    best = min(others, key=_bits, default=None)
    if declared is not None and declared.opens_turn:
        taken = best if best is not None and _bits(best) <= _bits(none) else none
        return taken.token, f"the declared one, {declared.token}, opens a chat turn"
    base = declared or none
    if best is None or _bits(best) >= (1 - BETTER) * _bits(base):
        return base.token, "" if declared else "the tokenizer declares none"
    gain = 1 - _bits(best) / _bits(base)
    than = (
        f"the declared one, {declared.token}," if declared else "no token, and the tokenizer declares none;"
    )
    return best.token, f"plain sentences take {gain:.1%} fewer bits after it than after {than}".rstrip(",;")


def _bits(one: Candidate) -> float:
    return math.inf if one.bits is None else one.bits


def _record(
    tried: Sequence[Candidate], token: str | None, reason: str, n_sentences: int, n_tokens: int
) -> dict[str, Any]:
    declared = next((one.token for one in tried if one.role == "declared"), None)
    return {
        "token": token,
        "declared": declared,
        "reason": reason,
        "language": LANGUAGE,
        "n_sentences": n_sentences,
        "n_tokens": n_tokens,
        "candidates": [asdict(one) for one in tried],
    }
