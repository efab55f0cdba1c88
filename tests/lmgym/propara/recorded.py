"""Recorded cases of the reference: files, arguments and output."""

from __future__ import annotations

import base64
import contextlib
import gzip
import io
import json
from dataclasses import dataclass
from pathlib import Path

from lmgym.propara import cli
from tests.lmgym.conftest import CONFORMANCE

FOLDER = CONFORMANCE / "propara"


def recorded(name: str) -> list[dict]:
    path = FOLDER / f"{name}.jsonl.gz"
    if not path.is_file():
        return []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def data_of(file: dict) -> bytes:
    return base64.b64decode(file["base64"]) if "base64" in file else file["text"].encode()


@dataclass
class Outcome:
    code: int
    out: str
    err: str


def run(arguments: list[str]) -> Outcome:
    out, err = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stderr(err), contextlib.redirect_stdout(out):
            code = cli.main(arguments, "evaluator.py", out, err)
    except SystemExit as left:
        code = int(left.code or 0)
    return Outcome(code, out.getvalue(), err.getvalue())


def lay_out(case: dict, folder: Path) -> None:
    for name, file in case["files"].items():
        (folder / name).write_bytes(data_of(file))


def blocks(diagnostics: str) -> tuple[str, list[dict]]:
    """Split a diagnostics file into header and objects."""
    header, _, rest = diagnostics.partition("\n\n")
    found, decoder, at = [], json.JSONDecoder(), 0
    while at < len(rest):
        data, end = decoder.raw_decode(rest, at)
        found.append(data)
        at = end + 1
    return header, found
