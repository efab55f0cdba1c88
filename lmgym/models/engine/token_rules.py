"""Spelling rules of tokens, from an LM Zoo `spec.json`."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from lmgym.files.bounded import Limits
from lmgym.text import decode
from lmgym.text.json_text import load
from lmgym.text.problems import Report

MAX_BYTES = 5_000_000
LIMITS = Limits(values=600_000)
_CLASS = re.compile(r"\^?(\[(?:\\.|[^\]\\]){1,200}\]|\\[WwDdSs])[+*]?\$?\Z")
"""Pattern for a repeated character class. Only such patterns are accepted, because they run in linear time."""

START_TYPES = frozenset({"<s>", "<S>", "[CLS]", "<|endoftext|>", "<bos>", "<|begin_of_text|>", "<eos>"})
END_TYPES = frozenset({"</s>", "</S>", "[SEP]", "<|endoftext|>", "<eos>", "<|end_of_text|>", "<|eos|>"})
UNKNOWN_TYPES = frozenset({"<unk>", "<UNK>", "[UNK]", "UNK", "<unk/>", "<|endoftext|>"})


@dataclass(frozen=True)
class TokenRules:
    """Spelling rules of a tokenizer.

    Attributes:
        cased: True if the vocabulary is case-sensitive.
        prefix, suffix, unknown, special: spellings of start, end, unknown and other special tokens.
        sentinel: mark that is removed from the beginning and the end of a token; "" = none.
        metaspace: mark that stands for a space.
        moses: True if tokens are in Moses spelling.
        dropped: predicate for characters that the tokenizer drops; None = it drops none.
    """

    cased: bool = True
    prefix: frozenset[str] = START_TYPES
    suffix: frozenset[str] = END_TYPES
    unknown: frozenset[str] = UNKNOWN_TYPES
    special: frozenset[str] = frozenset()
    sentinel: str = ""
    metaspace: str = "▁"
    moses: bool = True
    dropped: Callable[[str], bool] | None = field(default=None, compare=False)
    name: str = ""


def read_spec(data: bytes) -> TokenRules:
    """Read the rules in a spec. Raises FormatError with JSON paths."""
    report = Report()
    root = load(decode(data, report, MAX_BYTES), report, LIMITS)
    if not isinstance(root, dict):
        report.problem("$", "a spec must be an object with “tokenizer” and “vocabulary”")
        report.raise_problems()
    vocabulary = _object(root, "vocabulary", report)
    tokenizer = _object(root, "tokenizer", report)
    cased = tokenizer.get("cased")
    if not isinstance(cased, bool):
        report.problem(
            "$.tokenizer.cased", "must be true or false", "Write true if the vocabulary is case-sensitive."
        )
    behaviours = tokenizer.get("behaviors") or []
    types = {
        key: _types(vocabulary, f"{key}_types", report) for key in ("unk", "prefix", "suffix", "special")
    }
    rules = TokenRules(
        cased=cased is not False,
        prefix=types["prefix"],
        suffix=types["suffix"],
        unknown=types["unk"],
        special=types["special"],
        sentinel=_text(tokenizer, "sentinel_pattern", report),
        metaspace=_text(tokenizer, "metaspace", report) or "▁",
        moses=isinstance(behaviours, list) and "moses" in behaviours,
        dropped=_dropped(_text(tokenizer, "drop_token_pattern", report), report),
        name=root["name"][:200] if isinstance(root.get("name"), str) else "",
    )
    report.raise_problems()
    return rules


def _object(root: dict[str, Any], key: str, report: Report) -> dict[str, Any]:
    value = root.get(key)
    if isinstance(value, dict):
        return value
    hint = "Upload the output of the container's `spec` command."
    report.problem(f"$.{key}", "must be an object in an LM Zoo spec", hint)
    return {}


def _types(vocabulary: dict[str, Any], key: str, report: Report) -> frozenset[str]:
    value = vocabulary.get(key)
    if isinstance(value, list) and all(isinstance(entry, str) for entry in value):
        return frozenset(value)
    if vocabulary:
        report.problem(f"$.vocabulary.{key}", "must be a list of tokens", "Write [] if there are none.")
    return frozenset()


def _text(tokenizer: dict[str, Any], key: str, report: Report) -> str:
    value = tokenizer.get(key)
    if value is None or isinstance(value, str):
        return value or ""
    report.problem(f"$.tokenizer.{key}", "must be text or null")
    return ""


def _dropped(pattern: str, report: Report) -> Callable[[str], bool] | None:
    if not pattern:
        return None
    where = "$.tokenizer.drop_token_pattern"
    match = _CLASS.match(pattern)
    try:
        compiled = re.compile(match[1]) if match else None
    except (re.error, RecursionError, OverflowError):
        compiled = None
    if compiled is None:
        hint = "Write one set of characters, as in ^[-.?!,]+$."
        report.problem(where, f"the pattern “{pattern[:60]}” is not supported", hint)
        return None
    matches = compiled.fullmatch
    return lambda character: matches(character) is not None
