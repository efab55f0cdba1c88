"""`lmgym people`: compare models with reading times and judgments, locally, and import them to a site."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmgym.cli import at_site, shared
from lmgym.cli.policy import add_device, add_policy, policy_of
from lmgym.cli.suite_files import add_reading, load
from lmgym.client import Client
from lmgym.text.arguments import Parser
from lmgym.text.number_format import format_interval

if TYPE_CHECKING:
    from lmgym.people.against import Against
    from lmgym.people.exclusions import Applied
    from lmgym.people.intake import Imported
    from lmgym.suites.formats import SuiteDocument

NAMED = 30
"""Maximum number of choices named for a question."""


def parser(prog: str) -> argparse.ArgumentParser:
    top = Parser(prog=prog, description="Compare models with people.")
    names = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    text = "fit reading times by the surprisals of models, and compare the sizes of effects"
    local = names.add_parser("against", help=text, description=f"{text[0].upper()}{text[1:]}.")
    local.add_argument("file", type=Path, metavar="FILE", help="results of PCIbex or jsPsych, or a table")
    local.add_argument("suite", metavar="SUITE", help="file of the suite whose sentences people read")
    local.add_argument(
        "--model", "-m", dest="models", action="append", required=True, metavar="MODEL",
        help="a folder, an n-gram or GGUF file, or organisation/name[@revision] on the Hub; may be repeated",
    )  # fmt: skip
    _add_answers(local)
    local.add_argument("--minimum", type=float, metavar="MS", help="drop shorter reading times")
    local.add_argument("--maximum", type=float, metavar="MS", help="drop longer reading times")
    local.add_argument("--log", action="store_true", help="fit natural logarithms of reading times")
    local.add_argument(
        "--spill-over", type=int, choices=(0, 1, 2), default=1, metavar="N",
        help="number of previous words or regions whose surprisal is a predictor; default: 1",
    )  # fmt: skip
    local.add_argument(
        "--save",
        type=Path,
        metavar="FOLDER",
        help="also write all tables, the fitted observations and lme4.R to this folder",
    )
    shared.add_output(local, ("table", "json"))
    add_policy(local)
    add_device(local)
    add_reading(local)
    local.set_defaults(run=lambda options: _against(options))
    _add_import(names)
    return top


def _add_import(names: Any) -> None:
    command = at_site.add_command(names, "import", _import, "on a site: import human data for a suite")
    command.add_argument("file", type=Path, metavar="FILE")
    command.add_argument("--suite", required=True, metavar="SLUG")
    command.add_argument("--revision", metavar="N", help="default: the newest frozen revision")
    command.add_argument("--title", help="name of the data set; default: that of the file")
    _add_answers(command)


def _add_answers(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--answer", dest="answers", action="append", default=[], type=_answer, metavar="NAME=VALUE",
        help="answer to a question about the file, such as columns.B=participant; may be repeated",
    )  # fmt: skip


def _answer(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def main(argv: Sequence[str], prog: str = "lmgym people") -> int:
    """Run the command; return its exit status. Invalid arguments raise SystemExit(2)."""
    top = parser(prog)
    if argv and argv[0] == "import":
        return at_site.run(top, argv)
    return shared.run(lambda options: int(options.run(options)), top, argv)


# --- locally ---


def _against(options: argparse.Namespace) -> int:
    from lmgym.evaluation import evaluate

    document = load(options.suite, options)
    applied = _people(options, document)
    result = evaluate(
        [document], options.models, policy=policy_of(options), device=options.device, dtype=options.dtype
    )
    against = result.against(
        applied.observations, spill_over=options.spill_over, transform="log" if options.log else "none"
    )
    for notice in _notices(applied, against):
        shared.note(notice)
    if options.save is not None:
        _save(against, options.save)
    shared.write(
        shared.as_json(_tables(against)) if options.format == "json" else _table(against), options.output
    )
    return shared.DONE


def _people(options: argparse.Namespace, document: SuiteDocument) -> Applied:
    """Read the file and apply the exclusions. Raises Failed."""
    from lmgym.people.exclusions import Exclusions, exclude
    from lmgym.people.intake import import_people

    data = options.file.read_bytes()
    imported = import_people(data, options.file.name, document, dict(options.answers), salt=os.urandom(16))
    matched = imported.matched
    if matched is None or matched.observations is None:
        raise shared.Failed("\n".join([f"{options.file} cannot be read:", *_open_lines(imported)]))
    for notice in imported.notices:
        shared.note(str(notice))
    try:
        settings = Exclusions(minimum=options.minimum, maximum=options.maximum, log=options.log)
        return exclude(matched.observations, settings, matched.accuracy)
    except ValueError as error:
        raise shared.Failed(str(error)) from error


def _open_lines(imported: Imported) -> list[str]:
    """Return the problems of a file, and the questions that must be answered."""
    lines = [f"  {problem}" for problem in imported.problems]
    for question in imported.questions:
        if question.name in imported.asks:
            named = [f"{value} ({label})" for value, label in question.choices.items()]
            more = ", …" if len(named) > NAMED else ""
            lines.append(f"  --answer {question.name}=… {question.label}: {', '.join(named[:NAMED])}{more}")
    return lines


def _notices(applied: Applied, against: Against) -> list[str]:
    dropped = [f"{one.label}: {one.n_observations} observations dropped" for one in applied.dropped]
    left_out = [f"{n} observations left out: {reason}" for reason, n in against.left_out.items()]
    models = [f"{model} is left out: {reason}" for model, reason in against.models_left_out.items()]
    return [*dropped, *left_out, *models, *against.notices]


def _tables(against: Against) -> dict[str, Any]:
    from lmgym.text.columns import record

    rows: Mapping[str, Sequence[Any]] = {
        "gains": against.gain_rows,
        "coefficients": against.coefficient_rows,
        "fits": against.fit_rows,
        "effects": against.effect_rows,
        "cells": against.cell_rows,
    }
    return {name: [record(row) for row in of_table] for name, of_table in rows.items()}


def _table(against: Against) -> str:
    """Format the ranking with the slope of surprisal; of judgments, the effects."""
    if against.gain_rows:
        slopes = {row.model: row for row in against.coefficient_rows if row.term == "surprisal"}
        lines = [["rank", "model", "gain, nats per observation", "slope per bit", "95% interval"]]
        for gain in against.gain_rows:
            slope = slopes.get(gain.model)
            cells = (
                [f"{slope.estimate:.2f}", format_interval(slope.low, slope.high, "{:.2f}".format)]
                if slope
                else ["–", "–"]
            )
            lines.append([str(gain.rank), gain.model, f"{gain.gain:.5f}", *cells])
        return shared.aligned(lines, right=(0, 2, 3))
    lines = [["model", "prediction", "same direction", "Spearman"]]
    for row in against.effect_rows:
        spearman = "–" if row.spearman is None else f"{row.spearman:.2f}"
        same = f"{row.same_direction} of {row.n}" if row.n else "–"
        lines.append([row.model, row.prediction, same, spearman])
    return shared.aligned(lines, right=(2, 3))


def _save(against: Against, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    frames = {
        "gains": against.gains,
        "differences": against.differences,
        "coefficients": against.coefficients,
        "fits": against.fits,
        "effects": against.effects,
        "item-effects": against.item_effects,
        "cells": against.cells,
    }
    if against.fit_rows:
        frames["observations"] = against.table
        (folder / "lme4.R").write_text(against.r_call, encoding="utf-8")
    for name, frame in frames.items():
        frame().to_csv(folder / f"{name}.csv", index=False)


# --- on a site ---


def _import(client: Client, options: argparse.Namespace) -> int:
    choice = {name: value for name in ("revision", "title") if (value := getattr(options, name)) is not None}
    row = client.import_human_data(
        options.file.name,
        options.file.read_bytes(),
        suite=options.suite,
        answers=dict(options.answers),
        **choice,
    )
    if row["state"] != "done":
        reasons = [str(problem["message"]) for problem in row["problems"]] or [row["error"] or row["state"]]
        raise shared.Failed(
            "\n".join([f"{options.file} was not imported:", *(f"  {one}" for one in reasons)])
        )
    if options.format == "json":
        shared.write(shared.as_json(row), None)
    else:
        shared.print_line(f"{client.transport.server}/human-data/{row['human_data']}/")
    return shared.DONE
