"""`lmgym evaluate`: run suites on models, locally."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

from lmgym.cli import rates, shared
from lmgym.cli.policy import add_device, add_overlap, add_policy, policy_of
from lmgym.cli.suite_files import add_reading, load
from lmgym.text.arguments import Parser

if TYPE_CHECKING:
    from lmgym.results import Result
    from lmgym.suites.formats import SuiteDocument


def parser(prog: str) -> argparse.ArgumentParser:
    top = Parser(prog=prog, description="Run suites on models and print the pass rates.")
    top.add_argument(
        "suites", nargs="+", metavar="SUITE", help='a file, or a pattern such as "suites/*.json"'
    )
    top.add_argument(
        "--model", "-m", dest="models", action="append", required=True, metavar="MODEL",
        help="a folder, an n-gram or GGUF file, or organisation/name[@revision] on the Hub; may be repeated",
    )  # fmt: skip
    shared.add_output(top, (*shared.FORMATS, *shared.PAPER_FORMATS))
    top.add_argument(
        "--rows", choices=("rates", "outcomes", "regions", "tokens", "suites"), default="rates",
        help="one row per prediction, per item and prediction, per region, or per token; table shows only rates. "
        "latex and markdown write tables for papers: predictions by models (rates), conditions by regions (regions) or "
        "suites by models (suites)",
    )  # fmt: skip
    top.add_argument(
        "--by",
        metavar="ITEM_DATA",
        help="one row per prediction and value of this item data, such as the class of a verb",
    )
    top.add_argument(
        "--save", type=Path, metavar="FOLDER",
        help="also write all tables and the provenance to this folder, for `lmgym compare` and `lmgym upload`; "
        "replaces earlier results when the run is done",
    )  # fmt: skip
    top.add_argument(
        "--cache", type=Path, metavar="FILE", help="keep scores of sentences in this file, for later calls"
    )
    rates.add_gate(top)
    add_policy(top)
    add_overlap(top)
    add_device(top)
    add_reading(top)
    return top


def main(argv: Sequence[str], prog: str = "lmgym evaluate") -> int:
    """Run the command; return its exit status. Invalid arguments raise SystemExit(2)."""
    return shared.run(_evaluate, parser(prog), argv)


def _evaluate(options: argparse.Namespace) -> int:
    from lmgym.errors import Interrupted
    from lmgym.evaluation import evaluate

    _require_possible(options.format, options.rows)
    if options.by is not None and (options.rows != "rates" or options.format in shared.PAPER_FORMATS):
        raise shared.Failed(
            "--by works only with rates, as table, csv, json or parquet: omit --rows and other formats."
        )
    _require_different_names(options.models)
    documents = _different(options)
    try:
        result = evaluate(
            documents,
            options.models,
            policy=policy_of(options),
            device=options.device,
            dtype=options.dtype,
            cache=options.cache,
        )
    except Interrupted as stopped:
        if options.save is not None and stopped.result.runs:
            folder = _unused(options.save)
            stopped.result.save(folder)
            shared.note(f"completed runs saved in {folder}: {len(stopped.result.runs)}")
        raise
    if options.save is not None:
        if _holds_results(options.save):
            shared.note(f"{options.save}: earlier results are replaced")
        result.save(options.save)
    frame = result.rates()
    if options.format in shared.PAPER_FORMATS:
        shared.write(_for_paper(result, options), options.output)
        return rates.gate(frame, options.fail_under)
    if options.by is not None:
        groups = result.rates_by(options.by)
        text = (
            rates.groups_table(groups)
            if options.format == "table"
            else shared.rendered(groups, options.format)
        )
        shared.write(text, options.output)
        return rates.gate(frame, options.fail_under)
    if options.rows == "rates":
        return rates.report(frame, options)
    shared.write(shared.rendered(getattr(result, options.rows)(), options.format), options.output)
    return rates.gate(frame, options.fail_under)


def _different(options: argparse.Namespace) -> list[SuiteDocument]:
    """Load the suites, the same suite once."""
    documents: list[SuiteDocument] = []
    path_of: dict[tuple[str, str], str] = {}
    paths = [path for paths in shared.read_all(options.suites, _matches) for path in paths]
    loaded = shared.read_all(paths, lambda path: load(path, options))
    for path, document in zip(paths, loaded, strict=True):
        content = document.name, document.sha256()
        if content in path_of:
            shared.note(f"{path}: left out, the same suite as {path_of[content]}")
        else:
            documents.append(document)
            path_of[content] = path
    return documents


def _holds_results(folder: Path) -> bool:
    return (folder / "rates.csv").exists()


def _unused(folder: Path) -> Path:
    """Return the folder if it holds no results, else a new one next to it: completed runs must not replace a study."""
    names = (folder.with_name(f"{folder.name}-interrupted{number or ''}") for number in count())
    return next(one for one in chain([folder], names) if not _holds_results(one))


_PAPER_TABLES = {"rates": "predictions", "regions": "regions", "suites": "suites"}
"""Tables for papers by --rows; see `Result.table`."""


def _require_possible(form: str, rows: str) -> None:
    """Raise Failed if this format does not have these rows."""
    if form in shared.PAPER_FORMATS and rows not in _PAPER_TABLES:
        raise shared.Failed(
            f"--format {form} has no table of {rows}. Choose --rows {', '.join(_PAPER_TABLES)}."
        )
    if rows == "suites" and form not in shared.PAPER_FORMATS:
        raise shared.Failed("--rows suites needs --format latex or markdown.")
    if form == "table" and rows != "rates":
        raise shared.Failed(
            f"--rows {rows} needs --format csv, json or parquet, or an output file with that extension."
        )


def _for_paper(result: Result, options: argparse.Namespace) -> str:
    """Format the results as a table for a paper; regions have one table per suite."""
    what = _PAPER_TABLES[options.rows]
    suites = list(dict.fromkeys(run.suite.name for run in result.runs)) if what == "regions" else [None]
    tables = [result.table(what, suite=suite) for suite in suites]
    return "\n".join(table.latex() if options.format == "latex" else table.markdown() for table in tables)


def _require_different_names(models: Sequence[str]) -> None:
    """Raise Failed if two models would have the same name in results, which use the last part of the path."""
    from lmgym.models.given import name_of

    by_name: dict[str, str] = {}
    for model in models:
        other = by_name.setdefault(name_of(model), model)
        if other == model and models.count(model) > 1:
            raise shared.Failed(f"The model {model} is listed twice.")
        if other != model:
            raise shared.Failed(
                f"{other} and {model} have the same name in results. Rename one, or run them separately with --save "
                "and compare the folders with lmgym compare."
            )


def _matches(pattern: str) -> list[str]:
    from lmgym.evaluation import files_like

    matches = files_like(pattern)
    if not matches:
        raise shared.Failed(f"No file matches {pattern}.")
    return matches
