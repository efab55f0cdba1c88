"""`lmgym propara`: ProPara, locally and on a site."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lmgym.cli import at_site, shared
from lmgym.client import Client
from lmgym.client.transport import line_of
from lmgym.propara import cli as local
from lmgym.text.number_format import format_interval

LOCAL_OR_SITE = {
    "explain": "show where a submission loses points",
    "compare": "compare submissions, by their ids",
}
"""Commands that work locally and on a site, with a description of what they do on a site."""
STATUS_1_COMMANDS = ("check",)
"""Commands whose exit status 1 is not an error. `evaluate` and `explain` exit with 1 where the reference crashes."""


def parser(prog: str) -> argparse.ArgumentParser:
    return at_site.parser_with_site(prog, local.parser, LOCAL_OR_SITE, _add_site_commands)


def site_parser(prog: str) -> argparse.ArgumentParser:
    """Build the parser for calls with --site."""
    return at_site.parser_of_site(prog, "ProPara on a site.", _add_site_commands, _add_site_forms)


def _add_site_forms(names: Any) -> None:
    report = at_site.add_command(
        names, "explain", _explain, "on a site: show where a submission loses points"
    )
    report.add_argument("submission", help="id")
    report.add_argument(
        "--process", type=int, help="one process, mistake by mistake; default: all processes, worst first"
    )

    versus = at_site.add_command(
        names, "compare", _compare, "on a site: compare submissions with a baseline, with intervals"
    )
    versus.add_argument("first", help="id of the baseline")
    versus.add_argument("second", nargs="+", help="ids of other submissions, each compared with the baseline")


def main(argv: Sequence[str], prog: str = "lmgym propara") -> int:
    """Run the command; return its exit status. Invalid arguments raise SystemExit(2)."""

    def run_local() -> int:
        status = local.main(argv, prog)
        return (
            status if status in (shared.DONE, shared.WRONG) or argv[0] in STATUS_1_COMMANDS else shared.WRONG
        )

    return at_site.run_either(
        argv, prog, parsers=(parser, site_parser), local_commands=local.COMMANDS, run_local=run_local
    )


def _add_site_commands(names: Any) -> None:
    send = at_site.add_command(names, "submit", _submit, "on a site: upload predictions and print the score")
    send.add_argument("file", type=Path, help="action file, state file, JSON grids or answers to the prompts")
    send.add_argument("--answer-set", required=True, metavar="SLUG")
    send.add_argument("--version", type=int, help="version of the reference answers; default: the newest")
    send.add_argument("--system", default="", help="name on the leaderboard; default: the name of the file")
    send.add_argument("--visibility", default="private", choices=at_site.VISIBILITIES)
    send.add_argument(
        "--agree-to-repairs", action="store_true", help="score the file even if it had to be repaired"
    )

    board = at_site.add_command(names, "leaderboard", _leaderboard, "on a site: list systems by F1")
    board.add_argument("answer_set", help="slug")
    board.add_argument("--version", type=int, help="default: the newest")


def _submit(client: Client, options: argparse.Namespace) -> int:
    """Submit predictions. Return WRONG if they have no score."""
    card = {"visibility": options.visibility} | ({"system": options.system} if options.system else {})
    made = client.submit_predictions(
        options.answer_set,
        options.file.name,
        options.file.read_bytes(),
        version=options.version,
        agree_to_repairs=options.agree_to_repairs,
        **card,
    )
    if options.format == "json":
        shared.write(shared.as_json(made.raw), None)
    else:
        scores = f"F1 {_number(made.f1)}\tcorrected {_number(made.corrected_f1)}"
        shared.print_line(f"{made.id}\t{made.system}\t{made.state}\t{scores}")
    for group in made.raw["repair_groups"]:
        shared.note(line_of(group | {"message": _times(group) + group["message"]}))
    if same := made.raw["same_file_as"]:
        shared.note(f"This file was submitted before, as {same}.")
    if made.state == "waiting":
        shared.note(
            "The submission will be scored once you agree to these repairs, on its page or by repeating this command "
            "with --agree-to-repairs."
        )
    return shared.DONE if made.f1 is not None else shared.WRONG


def _times(group: dict[str, Any]) -> str:
    return f"{group['n']:,} × " if group["n"] > 1 else ""


def _leaderboard(client: Client, options: argparse.Namespace) -> int:
    rows = client.leaderboard(options.answer_set, options.version)
    if options.format == "json":
        shared.write(shared.as_json(rows), None)
        return shared.DONE
    shared.print_line("rank\tsystem\tprecision\trecall\tf1\tlow\thigh\tcorrected_f1\tid")
    for row in rows:
        names = ("precision", "recall", "f1", "low", "high", "corrected_f1")
        figures = "\t".join(_number(row[name]) for name in names)
        shared.print_line(
            f"{row['rank'] or ''}\t{row['system']}\t{figures}\t{row['submission'] or row['kind']}"
        )
    return shared.DONE


def _explain(client: Client, options: argparse.Namespace) -> int:
    result = client.explanation(options.submission, options.process)
    if options.format == "json":
        shared.write(shared.as_json(result), None)
    elif options.process is None:
        _print_report(result["report"])
    else:
        _print_process(result)
    return shared.DONE


def _print_report(result: dict[str, Any]) -> None:
    for name, scores in (result["reference"] or {}).get("questions", {}).items():
        figures = "\t".join(f"{score} {_number(scores[score])}" for score in ("precision", "recall", "f1"))
        shared.print_line(f"{name}\t{figures}")
    for code, count in result["mistake_counts"].items():
        shared.print_line(f"{code}\t{count}")
    for row in sorted(result["processes"], key=lambda row: (row["f1"] is not None, row["f1"])):
        kinds = ", ".join(f"{count} {code}" for code, count in row["mistakes"].items())
        shared.print_line(f"process {row['process_id']}\tF1 {_number(row['f1'])}\t{kinds}")


def _print_process(result: dict[str, Any]) -> None:
    for question, score in (result["scores"] or {}).items():
        shared.print_line(
            f"{question}\tprecision {_number(score['precision'])}\trecall {_number(score['recall'])}"
        )
    for mistake in result["mistakes"]:
        shared.print_line(f"step {mistake['step']}\t{mistake['participant']}\t{mistake['message']}")


def _compare(client: Client, options: argparse.Namespace) -> int:
    result = client.compare_submissions(options.first, *options.second)
    if options.format == "json":
        shared.write(shared.as_json(result), None)
        return shared.DONE
    for row in result["comparisons"]:
        if row["question"] != "overall":
            shared.print_line(f"  {row['question']}: {_difference(row)}")
            continue
        shared.print_line(f"F1, {row['second']} − {row['first']}: {_difference(row)}")
        better, worse = row["only_second"], row["only_first"]
        shared.print_line(
            f"  processes: better on {better}, worse on {worse}, equal on {row['n'] - better - worse}"
        )
    return shared.DONE


def _difference(row: dict[str, Any]) -> str:
    limits = format_interval(row["low"], row["high"], "{:+.4f}".format)
    return f"{row['difference']:+.4f}, 95% interval {limits}, p (Holm) {row['p_corrected']:.4f}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"
