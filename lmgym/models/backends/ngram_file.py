"""File format of n-gram models. Writing is reproducible; reading does not trust the file."""

from __future__ import annotations

import gzip
import io
import json
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lmgym.models.backends.base import BackendError
from lmgym.models.backends.ngram_model import BOS, EOS, MAX_ORDER, SPECIALS, Corpus, Grams, Ints, NgramModel

FILE_NAME = "model.ngram"
FORMAT, VERSION = "lm-gym-ngram", 1
MAX_VOCABULARY = 1_000_000
MAX_PAYLOAD = 512_000_000
MAX_HEADER = 64_000_000


def dump_model(model: NgramModel) -> bytes:
    """Serialise a model; equal models give equal bytes.

    The format is gzip of one JSON line (version, order, vocabulary, sizes and others) and the counts as little-endian
    integers, column by column.
    """
    corpus = model.corpus
    parts = [corpus.initial[length] for length in range(2, corpus.order)] + [corpus.top]
    largest = max((int(part.counts.max()) for part in parts if len(part.counts)), default=0)
    header = {
        "format": FORMAT,
        "version": VERSION,
        "order": corpus.order,
        "min_count": corpus.min_count,
        "sentences": corpus.sentences,
        "tokens": corpus.tokens,
        "id_bytes": 2 if len(corpus.words) <= 0x10000 else 4,
        "count_bytes": 2 if largest <= 0xFFFF else 4,
        "sizes": [len(part.counts) for part in parts],
        "words": list(corpus.words[len(SPECIALS) :]),
    }
    out = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=out, compresslevel=9, mtime=0) as stream:
        stream.write(json.dumps(header, ensure_ascii=True, separators=(",", ":")).encode() + b"\n")
        for part in parts:
            for column in part.rows.T:
                stream.write(column.astype(f"<u{header['id_bytes']}").tobytes())
            stream.write(part.counts.astype(f"<u{header['count_bytes']}").tobytes())
    return out.getvalue()


def save_model(model: NgramModel, path: Path) -> None:
    """Write a model to a file; its folder must exist."""
    path.write_bytes(dump_model(model))


def load_model(path: Path) -> NgramModel:
    """Read a file written by `save_model`.

    The file is not trusted: sizes are limited before memory is allocated, and every number is checked.

    Raises:
        BackendError: the file is invalid.
    """
    try:
        with gzip.open(path, "rb") as stream:
            header = _read_header(stream.readline(MAX_HEADER))
            payload = stream.read(header.payload)
            if len(payload) < header.payload or stream.read(1):
                raise ValueError("its length does not match its header")
        return NgramModel(_read_payload(header, payload))
    except (ValueError, TypeError, KeyError, EOFError, OSError, RecursionError, zlib.error) as error:
        raise BackendError(
            f"{path.name} is not a valid n-gram model: {error}.",
            "Save it again with lmgym.models.backends.ngram_file.save_model.",
        ) from error


class _Header(NamedTuple):
    order: int
    min_count: int
    sentences: int
    tokens: int
    id_bytes: int
    count_bytes: int
    sizes: tuple[int, ...]
    words: tuple[str, ...]
    payload: int


def _read_header(line: bytes) -> _Header:
    if not line.endswith(b"\n"):
        raise ValueError("it has no header line")
    data = json.loads(line)
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ValueError("it has no valid format name")
    if data.get("version") != VERSION:
        raise ValueError(f"its version is {data.get('version')!r}, but only {VERSION} is supported")
    order = _whole(data, "order", 1, MAX_ORDER)
    id_bytes, count_bytes = _whole(data, "id_bytes", 2, 4), _whole(data, "count_bytes", 2, 4)
    words, sizes = data["words"], data["sizes"]
    if not isinstance(words, list) or not all(isinstance(word, str) and word for word in words):
        raise ValueError("its vocabulary is not a list of words")
    if len(words) > MAX_VOCABULARY:
        raise ValueError(f"its vocabulary has more than {MAX_VOCABULARY:,} words")
    everything = (*SPECIALS, *words)
    if len(set(everything)) != len(everything):
        raise ValueError("its vocabulary contains a word twice")
    if 3 in (id_bytes, count_bytes) or len(everything) > 1 << (8 * id_bytes):
        raise ValueError("its integers have an invalid width")
    lengths = [*range(2, order), order]
    if (
        not isinstance(sizes, list)
        or len(sizes) != len(lengths)
        or any(type(size) is not int or size < 0 for size in sizes)
    ):
        raise ValueError("its sizes do not match its order")
    payload = sum(
        size * (length * id_bytes + count_bytes) for size, length in zip(sizes, lengths, strict=True)
    )
    if payload > MAX_PAYLOAD:
        raise ValueError(f"it has more than {MAX_PAYLOAD:,} bytes")
    return _Header(
        order,
        _whole(data, "min_count", 1, 1_000_000),
        _whole(data, "sentences", 1, 10**12),
        _whole(data, "tokens", 1, 10**15),
        id_bytes,
        count_bytes,
        tuple(sizes),
        everything,
        payload,
    )


def _whole(data: dict[str, Any], name: str, least: int, most: int) -> int:
    value = data.get(name)
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"its {name} is {value!r}, not a whole number from {least} to {most}")
    return value


def _read_payload(header: _Header, payload: bytes) -> Corpus:
    at = 0
    parts: list[Grams] = []
    for size, length in zip(header.sizes, [*range(2, header.order), header.order], strict=True):
        rows = np.empty((size, length), dtype=np.int64)
        for column in range(length):
            rows[:, column] = np.frombuffer(payload, f"<u{header.id_bytes}", size, at)
            at += size * header.id_bytes
        counts = np.frombuffer(payload, f"<u{header.count_bytes}", size, at).astype(np.int64)
        at += size * header.count_bytes
        _check_grams(
            rows, counts, len(header.words), initial=length < header.order, unigrams=header.order == 1
        )
        parts.append(Grams(rows, counts))
    return Corpus(
        order=header.order,
        words=header.words,
        top=parts[-1],
        initial=dict(enumerate(parts[:-1], 2)),
        sentences=header.sentences,
        tokens=header.tokens,
        min_count=header.min_count,
    )


def _check_grams(rows: Ints, counts: Ints, size: int, *, initial: bool, unigrams: bool) -> None:
    """Check that n-grams are possible, ordered and distinct. Raises ValueError."""
    if bool(np.any(rows >= size)) or bool(np.any(counts < 1)):
        raise ValueError("one of its numbers is out of range")
    first = rows[:, 0] == BOS
    if (initial and not bool(np.all(first))) or (unigrams and bool(np.any(first))):
        raise ValueError("one of its n-grams begins with an invalid word")
    if bool(np.any(rows[:, 1:] == BOS)) or bool(np.any(rows[:, :-1] == EOS)):
        raise ValueError("a sentence begins or ends inside one of its n-grams")
    step = np.zeros(max(len(rows) - 1, 0), dtype=np.int64)
    for column in range(rows.shape[1]):
        step = np.where(step == 0, np.sign(rows[1:, column] - rows[:-1, column]), step)
    if bool(np.any(step <= 0)):
        raise ValueError("its n-grams are not in order")
