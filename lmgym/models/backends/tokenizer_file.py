"""Comparison of a loaded tokenizer with the folder's tokenizer.json.

transformers 5.24 rebuilds many tokenizers from their vocabulary, with classes chosen by `tokenizer_class` and
`model_type`, and silently drops the file's normalizer, pre-tokenizer or `ignore_merges`. The model was trained with the
tokenizer in the file, so the file is used if the two differ.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from lmgym.models.backends.base import BackendError

NAME = "tokenizer.json"
PARTS = {
    "normalizer": "normalizer",
    "pre_tokenizer": "pre-tokenizer",
    "model": "model",
    "post_processor": "post-processor",
}
TEXTS = (
    "The keys to the cabinet are on the table.",
    " Two  blanks,\ttab\nand new line ",
    "650841823 and 3.14159, 1,000,000 or 2026-01-31",
    "don't WON'T McDonald's e-mail state-of-the-art (sic!) \u201cquoted\u201d \u2026",
    "caf\u00e9 cafe\u0301 \u212bngstr\u00f6m \ufb01ne \uff21\uff22\uff23 na\u00efve",
    "STRASSE Stra\u00dfe \u0130stanbul \u03a3\u03af\u03c3\u03c5\u03c6\u03bf\u03c2",
    "\u732b\u304c\u9b5a\u3092\u98df\u3079\u305f\u3002 \u6211\u4eec\u559c\u6b22 \ud55c\uad6d\uc5b4",
    "\u0928\u092e\u0938\u094d\u0924\u0947 \u0645\u0631\u062d\u0628\u0627 \u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35",
    "\U0001f642 \U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f1f3\U0001f1f4",
    "x=f(a_b)[0]; // http://example.org/?q=1&r=2",
)
"""Sample texts with digits, blanks, marks, cases and scripts that normalizers and pre-tokenizers treat
differently."""
_PIECES = ("*.model", "*.tiktoken")
_VOCABULARIES = ("vocab.json", "vocab.txt", "merges.txt")
_SAVE = f"Copy {NAME} from the model's source, or save it: fast_tokenizer.save_pretrained(folder)."
_CONVERT = (
    f"Create {NAME} on a machine with the packages sentencepiece, tiktoken and protobuf, and copy it into the folder: "
    "AutoTokenizer.from_pretrained(folder).save_pretrained(folder)."
)
_FLAGS = ("content", "single_word", "lstrip", "rstrip", "normalized")
_SPECIALS = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")


def matching_tokenizer(tokenizer: Any, folder: Path, notes: list[str], *, framed: bool) -> Any:
    """Return a tokenizer that gives the same ids as the folder's tokenizer.json.

    Args:
        tokenizer: fast tokenizer of transformers, whose special tokens are kept.
        notes: receives a note if the file replaces the tokenizer.
        framed: texts are placed between the tokenizer's special tokens, so that its post-processor matters.

    Returns:
        `tokenizer`, or one built from the file if they differ. Without a file there is nothing to compare.

    Raises:
        BackendError: the file cannot be read, or a tokenizer built from it still differs; the vocabulary is empty; or
            tokens are chosen at random.
    """
    path = folder / NAME
    if not path.is_file():
        if not set(tokenizer.get_vocab()) - set(tokenizer.get_added_vocab()):
            raise no_tokenizer(folder)
        return tokenizer
    raw = _read(path)
    if framed and raw.post_processor is None:
        raw.post_processor = tokenizer.backend_tokenizer.post_processor
    parts, n_texts = _differences(tokenizer, raw, framed), _differing_texts(tokenizer, raw, framed)
    if not parts and not n_texts:
        return tokenizer
    from_file = _wrapped(raw, tokenizer)
    remaining = [*_differences(from_file, raw, framed), *_moved(from_file, tokenizer)]
    if remaining or _differing_texts(from_file, raw, framed):
        raise BackendError(
            f"transformers cannot reproduce {NAME}: its tokenizer differs in {', '.join(remaining) or 'its code'}.",
            "Save the tokenizer again with PreTrainedTokenizerFast(tokenizer_file=...).save_pretrained(folder).",
        )
    notes.append(
        f"{type(tokenizer).__name__} of transformers differs from {NAME} in {', '.join(parts) or 'its code'} and "
        f"tokenizes {n_texts} of {len(TEXTS)} sample texts differently, so the file is used."
    )
    return from_file


def no_tokenizer(folder: Path, reason: str = "") -> BackendError:
    """Build the error for a folder without a usable tokenizer. `reason` is the message of a library."""
    if (folder / NAME).is_file():
        return BackendError(f"{NAME} could not be read: {reason}", _SAVE)
    pieces = [path.name for pattern in _PIECES for path in sorted(folder.glob(pattern))]
    if pieces:
        return BackendError(f"The tokenizer exists only as {pieces[0]}; {NAME} is missing.", _CONVERT)
    parts = [name for name in _VOCABULARIES if (folder / name).is_file()]
    if parts:
        detail = f": {reason.rstrip('.')}." if reason else ": the vocabulary is empty."
        return BackendError(
            f"{NAME} is missing, and no tokenizer could be built from {' and '.join(parts)}{detail}", _SAVE
        )
    return BackendError(f"The folder has no tokenizer: {NAME} is missing.", _SAVE)


def _require_steady(raw: Any) -> None:
    """Raise BackendError for BPE dropout, which tokenizes a text differently each time."""
    share = getattr(raw.model, "dropout", None)
    if share:
        raise BackendError(
            f"The tokenizer drops merges at random (BPE dropout {share:g}), so a text gets different tokens each time.",
            f'Dropout is only for training. Set "dropout" of "model" in {NAME} to null.',
        )


def _read(path: Path) -> Any:
    from tokenizers import Tokenizer

    try:
        raw = Tokenizer.from_file(str(path))
    except Exception as error:
        line = str(error).splitlines()[0][:300] if str(error) else type(error).__name__
        raise BackendError(f"{NAME} could not be read: {line}.", "Save the tokenizer again.") from error
    _require_steady(raw)
    raw.no_padding()
    raw.no_truncation()
    return raw


def _wrapped(raw: Any, tokenizer: Any) -> Any:
    """Build a tokenizer from the file, with the special tokens of `tokenizer` and added tokens that only it has."""
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

    vocabulary = raw.get_vocab(with_added_tokens=True)
    added = {at: token for at, token in _added(tokenizer).items() if token.content not in vocabulary}
    wrap: Any = PreTrainedTokenizerFast
    return wrap(
        tokenizer_object=Tokenizer.from_str(raw.to_str()),
        added_tokens_decoder=added,
        extra_special_tokens=list(tokenizer.extra_special_tokens),
        split_special_tokens=tokenizer.split_special_tokens,
        chat_template=tokenizer.chat_template,
        **{name: getattr(tokenizer, name) for name in _SPECIALS},
    )


def _added(tokenizer: Any) -> dict[int, Any]:
    added: dict[int, Any] = tokenizer.backend_tokenizer.get_added_tokens_decoder()
    return added


def _differences(tokenizer: Any, raw: Any, framed: bool) -> list[str]:
    """Return the names of the parts in which a tokenizer differs from the file."""
    loaded, file = json.loads(tokenizer.backend_tokenizer.to_str()), json.loads(raw.to_str())
    names = [name for name in PARTS if framed or name != "post_processor"]
    differing = [PARTS[name] for name in names if loaded[name] != file[name]]
    added = _added(tokenizer)
    is_same = all(
        _flags(added.get(at)) == _flags(token) for at, token in raw.get_added_tokens_decoder().items()
    )
    return differing if is_same else [*differing, "added tokens"]


def _flags(token: Any) -> list[Any]:
    return [getattr(token, name, None) for name in _FLAGS]


def _differing_texts(tokenizer: Any, raw: Any, framed: bool) -> int:
    """Count the sample texts with different ids or offsets."""

    def by_class(text: str) -> Any:
        encoding = tokenizer(text, add_special_tokens=framed, return_offsets_mapping=True)
        return encoding["input_ids"], encoding["offset_mapping"]

    def by_file(text: str) -> Any:
        encoding = raw.encode(text, add_special_tokens=framed)
        return encoding.ids, encoding.offsets

    return sum(_or_error(by_class, text) != _or_error(by_file, text) for text in TEXTS)


def _or_error(tokens: Callable[[str], Any], text: str) -> Any:
    """Tokenize a text; return the error for a text that a vocabulary without an unknown token cannot spell."""
    try:
        return tokens(text)
    except Exception as error:  # noqa: BLE001 (tokenizers raises plain Exception)
        return str(error)


def _moved(from_file: Any, tokenizer: Any) -> Iterator[str]:
    """Yield the names of special tokens whose id differs in the file."""
    for name in _SPECIALS:
        if getattr(from_file, f"{name}_id") != getattr(tokenizer, f"{name}_id"):
            yield name.replace("_", " ")
