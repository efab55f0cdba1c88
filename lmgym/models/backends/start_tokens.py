"""Choose the start token of a model: the declared one, unless another is clearly better.

Tokenizers of chat models often declare the token that opens a chat turn as the start token. A plain sentence after it
is unlike the training data: SmolLM2-135M-Instruct passes 8% of the items of an NPI suite after its declared
`<|im_start|>` and 100% after `<|endoftext|>`, which separated its training texts. All candidates are therefore compared
on plain sentences.
`CausalBackend.choose_start_token` computes the bits; this module does not import torch.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

LANGUAGE = "en"
BETTER = 0.02
"""A token other than the declared one is used if it saves more than this share of the bits."""
MOST_UNKNOWN = 0.1
"""Share of unknown tokens above which the sentences are not informative."""
MAX_UNIFORM_SHARE = 0.8
"""Share of log2(vocabulary size), the surprisal of a uniform guess, above which a model does not know the language."""

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
"""Function (sequences of ids, index of the first token to predict in each) -> bits of that token and all later ones,
by sequence; None for a sequence that cannot be scored."""


@dataclass(frozen=True)
class Candidate:
    """A possible start token.

    Attributes:
        token: None = no start token.
        role: "declared", "end of text", "separator" or "none".
        bits: mean bits per token, excluding the first token of each sentence, so that the same tokens are scored for
            all candidates; None = not measured.
        in_chat_template: the chat template contains the token.
        opens_turn: chat turns begin with the token.
    """

    token: str | None
    role: str
    bits: float | None = None
    in_chat_template: bool = False
    opens_turn: bool = False


def sentences(language: str = LANGUAGE) -> list[str]:
    """Return plain sentences of a language, which were written for this comparison."""
    path = Path(__file__).parent / "sentences" / f"{language}.txt"
    return path.read_text(encoding="utf-8").splitlines()


def candidates(tokenizer: Any) -> list[Candidate]:
    """List distinct candidates: the declared start token, end-of-text tokens, separators, and no token."""
    special = {token.content for token in tokenizer.added_tokens_decoder.values() if token.special}
    roles: list[tuple[str | None, str]] = [(tokenizer.bos_token, "declared")]
    roles += [(tokenizer.eos_token, "end of text")]
    roles += [(token, "end of text") for token in _ENDS if token in special]
    roles += [(tokenizer.sep_token, "separator")]
    roles += [(token, "separator") for token in _SEPARATORS if token in special]
    rendered, source = _chat_template(tokenizer)
    listed: dict[str, Candidate] = {}
    for token, role in roles:
        if token and token not in listed:
            inside = token in (rendered or source)
            listed[token] = Candidate(token, role, None, inside, _opens_turn(token, rendered, source))
    return [*listed.values(), Candidate(None, "none")]


def _chat_template(tokenizer: Any) -> tuple[str, str]:
    """Return a conversation of four turns rendered by the template ("" if that fails), and the template's source."""
    template = tokenizer.chat_template
    if isinstance(template, dict):
        template = template.get("default") or next(iter(template.values()), "")
    if not template:
        return "", ""
    try:
        return str(tokenizer.apply_chat_template(_TURNS, chat_template=template, tokenize=False)), template
    except Exception:  # noqa: BLE001  a template is a program, and may reject any conversation
        return "", str(template)


def _opens_turn(token: str, rendered: str, source: str) -> bool:
    """Return whether every chat turn begins with the token and a role.

    A token before the whole conversation, or at its end, does not open turns.
    """
    spelled = re.escape(token)
    if rendered:
        is_role = re.search(_ROLES, token, re.IGNORECASE) is not None
        pattern = spelled if is_role else rf"{spelled}\s*{_ROLES}\b"
        return len(re.findall(pattern, rendered, re.IGNORECASE)) > 1
    return re.search(spelled + _ROLE_VARIABLE, source) is not None


def measured(tokenizer: Any, tried: Sequence[Candidate], bits: Bits, size: int) -> dict[str, Any]:
    """Compare candidates on plain sentences and choose one.

    Args:
        tried: candidates.
        bits: function that scores sequences of ids; called once for all candidates.
        size: vocabulary size.

    Returns:
        Record for the model's page: `token` (the choice, None = no start token), `declared`, `reason`, `language`,
        `n_sentences`, `n_tokens`, and `candidates`, as in `Candidate`.
    """
    backend_tokenizer = tokenizer.backend_tokenizer
    texts = sentences()
    if not any(candidate.token and candidate.role != "declared" for candidate in tried):
        return _record(tried, tokenizer.bos_token, "", 0, 0)
    encoded = [list(map(int, row)) for row in tokenizer(texts, add_special_tokens=False)["input_ids"]]
    rows = [ids for ids in encoded if len(ids) > 1]
    starts = [
        [backend_tokenizer.token_to_id(candidate.token)] if candidate.token else [] for candidate in tried
    ]
    sequences = [[*start, *ids] for start in starts for ids in rows]
    first_positions = [len(start) + 1 for start in starts for _ in rows]
    values = bits(sequences, first_positions)
    by_candidate = [values[at * len(rows) : (at + 1) * len(rows)] for at in range(len(tried))]
    usable = [at for at in range(len(rows)) if all(row_bits[at] is not None for row_bits in by_candidate)]
    n_tokens = sum(len(rows[at]) - 1 for at in usable)
    if not n_tokens:
        return _record(tried, tokenizer.bos_token, "", 0, 0)
    means = [
        math.fsum(math.fsum(row_bits[at] or ()) for at in usable) / n_tokens for row_bits in by_candidate
    ]
    tried = [replace(candidate, bits=round(mean, 4)) for candidate, mean in zip(tried, means, strict=True)]
    unknown = [number == tokenizer.unk_token_id for row in rows for number in row]
    if sum(unknown) > MOST_UNKNOWN * len(unknown) or min(means) > MAX_UNIFORM_SHARE * math.log2(size):
        token, reason = (
            tokenizer.bos_token,
            "the model does not know the language of the sentences well enough",
        )
    else:
        token, reason = decide(tried)
    return _record(tried, token, reason, len(usable), n_tokens)


def decide(tried: Sequence[Candidate]) -> tuple[str | None, str]:
    """Choose a token. Returns it with the reason, which is "" for the declared token.

    A declared token that does not open turns is always preferred to using no token, because the first token of every
    sentence would then have no value. Tokens that open turns, or are in the chat template without being declared, are
    not used.
    """
    declared = next((candidate for candidate in tried if candidate.role == "declared"), None)
    none = next(candidate for candidate in tried if candidate.token is None)
    others = [
        candidate
        for candidate in tried
        if candidate.token and candidate is not declared and not candidate.in_chat_template
    ]
    best = min(others, key=_bits, default=None)
    if declared is not None and declared.opens_turn:
        chosen = best if best is not None and _bits(best) <= _bits(none) else none
        return chosen.token, f"the declared token, {declared.token}, opens a chat turn"
    base = declared or none
    if best is None or _bits(best) >= (1 - BETTER) * _bits(base):
        return base.token, "" if declared else "the tokenizer declares no start token"
    gain = 1 - _bits(best) / _bits(base)
    saving = f"it saves {gain:.1%} of the bits of plain sentences compared with"
    if declared:
        return best.token, f"{saving} the declared token, {declared.token}"
    return best.token, f"{saving} no start token; the tokenizer declares none"


def _bits(candidate: Candidate) -> float:
    return math.inf if candidate.bits is None else candidate.bits


def _record(
    tried: Sequence[Candidate], token: str | None, reason: str, n_sentences: int, n_tokens: int
) -> dict[str, Any]:
    declared = next((candidate.token for candidate in tried if candidate.role == "declared"), None)
    return {
        "token": token,
        "declared": declared,
        "reason": reason,
        "language": LANGUAGE,
        "n_sentences": n_sentences,
        "n_tokens": n_tokens,
        "candidates": list(map(asdict, tried)),
    }
