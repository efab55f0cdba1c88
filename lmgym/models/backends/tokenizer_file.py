"""Hold a loaded tokenizer against the folder's tokenizer.json.

transformers 5.24 rebuilds many tokenizers from their vocabulary, by classes chosen from `tokenizer_class` and
`model_type`, and drops the file's normalizer, pre-tokenizer or `ignore_merges` without a word. The file is what the
model was trained with: where the two differ, the file is used.
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
"""Digits, blanks, marks, letter case and scripts that normalizers and pre-tokenizers treat in different ways."""
_PIECES = ("*.model", "*.tiktoken")
_VOCABULARIES = ("vocab.json", "vocab.txt", "merges.txt")
_SAVE = f"Copy {NAME} from where the model comes from, or write it: fast_tokenizer.save_pretrained(folder)."
_CONVERT = (
    f"Write a {NAME} on a machine with the packages sentencepiece, tiktoken and protobuf, and copy it into the folder: "
    "AutoTokenizer.from_pretrained(folder).save_pretrained(folder)."
)
_FLAGS = ("content", "single_word", "lstrip", "rstrip", "normalized")
_SPECIALS = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")


def hold_to_file(tokenizer: Any, folder: Path, notes: list[str], *, framed: bool) -> Any:
    """The tokenizer that gives the ids of the folder's tokenizer.json: `tokenizer` itself, or one made of the file;
    then `notes` gets a line. A folder without the file leaves nothing to compare.

    Args:
        tokenizer: a fast tokenizer of transformers, whose special tokens are kept.
        framed: whether texts are read in the tokenizer's own frame, so that its post-processor counts.

    Raises:
        BackendError: the file cannot be read, or the tokenizer made of it still differs; there is no vocabulary; or
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
    own = _wrapped(raw, tokenizer)
    left = [*_differences(own, raw, framed), *_moved(own, tokenizer)]
    if left or _differing_texts(own, raw, framed):
        raise BackendError(
            f"transformers cannot tokenize as {NAME} does: it differs in {', '.join(left) or 'its code'}.",
            "Save the tokenizer again with PreTrainedTokenizerFast(tokenizer_file=...).save_pretrained(folder).",
        )
    notes.append(
        f"{type(tokenizer).__name__} of transformers differs from {NAME} in {', '.join(parts) or 'its code'} and "
        f"tokenizes {n_texts} of {len(TEXTS)} sample texts differently: the file is used."
    )
    return own


def no_tokenizer(folder: Path, reason: str = "") -> BackendError:
    """Why a folder gives no tokenizer: by its files, or else for the `reason` that a library gives."""
    if (folder / NAME).is_file():
        return BackendError(f"{NAME} could not be read: {reason}", _SAVE)
    pieces = [path.name for pattern in _PIECES for path in sorted(folder.glob(pattern))]
    if pieces:
        return BackendError(f"The tokenizer exists only as {pieces[0]}; {NAME} is missing.", _CONVERT)
    parts = [name for name in _VOCABULARIES if (folder / name).is_file()]
    if parts:
        said = f": {reason.rstrip('.')}." if reason else ", which holds no words."
        return BackendError(
            f"{NAME} is missing, and no tokenizer could be made of {' and '.join(parts)}{said}", _SAVE
        )
    return BackendError(f"The folder has no tokenizer: {NAME} is missing.", _SAVE)


def _require_steady(raw: Any) -> None:
    """Raise BackendError for dropout of merges, a way to train that gives a text other tokens each time."""
    share = getattr(raw.model, "dropout", None)
    if share:
        raise BackendError(
            f"The tokenizer leaves out merges at random (BPE dropout {share:g}): a text gets other tokens each time.",
            f'Dropout is for training. Set "dropout" of "model" in {NAME} to null.',
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
    """The file's tokenizer with the special tokens of `tokenizer`, and the added tokens that only it has."""
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

    known = raw.get_vocab(with_added_tokens=True)
    added = {at: token for at, token in _added(tokenizer).items() if token.content not in known}
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
    found: dict[int, Any] = tokenizer.backend_tokenizer.get_added_tokens_decoder()
    return found


def _differences(tokenizer: Any, raw: Any, framed: bool) -> list[str]:
    """Parts in which a tokenizer differs from the file's."""
    own, file = (json.loads(one.to_str()) for one in (tokenizer.backend_tokenizer, raw))
    names = [name for name in PARTS if framed or name != "post_processor"]
    found = [PARTS[name] for name in names if own[name] != file[name]]
    added = _added(tokenizer)
    same = all(_flags(added.get(at)) == _flags(token) for at, token in raw.get_added_tokens_decoder().items())
    return found if same else [*found, "added tokens"]


def _flags(token: Any) -> list[Any]:
    return [getattr(token, name, None) for name in _FLAGS]


def _differing_texts(tokenizer: Any, raw: Any, framed: bool) -> int:
    """How many of TEXTS have other ids, or the same at other places."""

    def by_class(text: str) -> Any:
        found = tokenizer(text, add_special_tokens=framed, return_offsets_mapping=True)
        return found["input_ids"], found["offset_mapping"]

    def by_file(text: str) -> Any:
        found = raw.encode(text, add_special_tokens=framed)
        return found.ids, found.offsets

    return sum(_or_error(by_class, text) != _or_error(by_file, text) for text in TEXTS)


def _or_error(tokens: Callable[[str], Any], text: str) -> Any:
    """What `tokens` gives; of a text that a vocabulary without an unknown token cannot spell, the error."""
    try:
        return tokens(text)
    except Exception as error:  # noqa: BLE001 (tokenizers raises plain Exception)
        return str(error)


def _moved(own: Any, tokenizer: Any) -> Iterator[str]:
    """Special tokens that have another id than before."""
    for name in _SPECIALS:
        if getattr(own, f"{name}_id") != getattr(tokenizer, f"{name}_id"):
            yield name.replace("_", " ")
