"""`lmgym upload`: upload results computed elsewhere to a site."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lmgym.cli import at_site, shared
from lmgym.client import ApiError, Client
from lmgym.runs.uploaded import AUTO, KINDS, UNITS
from lmgym.text.arguments import Parser

NAMES = ("suite", "revision", "model", "name", "kind", "unit", "visibility")


def parser(prog: str) -> argparse.ArgumentParser:
    top = Parser(
        prog=prog,
        description="Upload results computed elsewhere; the site marks them as such. Files with problems are reported; "
        "the others are stored. A file that is sent again within a day is not stored twice.",
    )
    top.add_argument(
        "files", nargs="+", type=Path, metavar="FILE",
        help="a table of tokens, regions or outcomes, evaluated JSON, LM Zoo output, or a folder written by lmgym "
        "evaluate --save",
    )  # fmt: skip
    top.add_argument("--suite", metavar="SLUG", help="default: the suites named in the file")
    top.add_argument(
        "--revision", type=int, metavar="N", help="revision of --suite; default: the newest frozen one"
    )
    top.add_argument(
        "--model", metavar="SLUG", help="an existing model; default: the names in the file, created if new"
    )
    top.add_argument("--name", help="name of a new model")
    top.add_argument("--kind", choices=("auto", *KINDS), help="kind of the file; default: detected")
    top.add_argument(
        "--unit",
        choices=UNITS,
        default=AUTO,
        help="unit of the values; default: as the name of their column states",
    )
    top.add_argument(
        "--visibility", choices=("private", "public"), help="visibility of new models; default: private"
    )
    top.add_argument("--check", action="store_true", help="preview only; nothing is stored")
    shared.add_output(top, ("table", "json"))
    at_site.add_site(top)
    top.set_defaults(act=_upload)
    return top


def main(argv: Sequence[str], prog: str = "lmgym upload") -> int:
    """Run the command; return its exit status. Invalid arguments raise SystemExit(2)."""
    return at_site.run(parser(prog), argv)


def _upload(client: Client, options: argparse.Namespace) -> int:
    choice = {name: str(value) for name in NAMES if (value := getattr(options, name)) is not None}
    send = client.plan_upload if options.check else client.upload_results
    files = shared.read_all(options.files, _table)
    answers, refused = [], 0
    for path, file in zip(options.files, files, strict=True):
        try:
            answers.append((path, send(_name(path, file), file.read_bytes(), **choice)))
        except ApiError as error:
            refused += 1
            shared.note(
                "\n".join([f"{path} was not stored:", *(f"  {line}" for line in shared.lines_of(error))])
            )
    _write(client, answers, options)
    return shared.WRONG if refused else shared.DONE


def _table(path: Path) -> Path:
    if not path.exists():
        raise shared.Failed(f"{path} does not exist.")
    if not path.is_dir():
        return path
    if not (path / "tokens.csv").is_file():
        raise shared.Failed(
            f"{path} has no tokens.csv. Create it with: lmgym evaluate SUITE -m MODEL --save {path}"
        )
    return path / "tokens.csv"


def _name(path: Path, file: Path) -> str:
    return path.name if path == file else f"{path.resolve().name}.csv"


def _write(
    client: Client, answers: Sequence[tuple[Path, dict[str, Any]]], options: argparse.Namespace
) -> None:
    for path, answer in answers:
        for notice in _notices(answer["report"]):
            shared.note(f"{path}: {notice}")
    if options.format == "json":
        shared.write(shared.as_json([answer for _, answer in answers]), options.output)
        return
    lines = []
    for path, answer in answers:
        if options.check:
            for run in answer["runs"]:
                rates = ", ".join(f"{row['passed']} of {row['n']}" for row in run["predictions"])
                lines.append(f"{path}\t{run['suite']} r{run['revision']}\t{run['model']}\t{rates}")
        else:
            runs = len(answer["runs"])
            address = f"{client.transport.server}/uploads/{answer['id']}/"
            lines.append(f"{path}\t{answer['state']}\t{runs} run{'' if runs == 1 else 's'}\t{address}")
    shared.write("".join(f"{line}\n" for line in lines), options.output)


def _notices(report: dict[str, Any]) -> list[str]:
    rows = [*report["warnings"], *report["notices"]]
    notices = [f"{row['where']}: {row['message']}" for row in rows]
    notices += [f"“{row['name']}” was left out: {row['reason']}" for row in report["unmatched"]]
    for row in report["refused"]:
        for problem in row["problems"]:
            where = f"{row['model'] or 'the model'} on {row['suite']}, {problem['where']}"
            notices.append(f"{where}, refused: {problem['message']}. {problem['hint']}".rstrip())
    return notices
