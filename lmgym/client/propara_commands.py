"""`propara`: submit predictions, read the leaderboard, and why a submission scores as it does."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from .client import Client
from .commands import note, say, say_json
from .lmc_commands import VISIBILITIES
from .transport import line_of


def add_parsers(names: Any, common: Any) -> None:
    group = names.add_parser("propara", help="ProPara: predictions and their scores")
    commands = group.add_subparsers(dest="subcommand", required=True)

    send = commands.add_parser("submit", parents=[common], help="upload predictions and print the score")
    send.add_argument("file", type=Path, help="action file, state file, JSON grids or answers to the prompts")
    send.add_argument("--answer-set", required=True, metavar="SLUG")
    send.add_argument("--version", type=int, help="of the reference answers; default: the newest")
    send.add_argument("--system", default="", help="what the leaderboard calls it; default: the file's name")
    send.add_argument("--visibility", default="private", choices=VISIBILITIES)
    send.add_argument("--agree-to-repairs", action="store_true", help="score what had to be repaired")
    send.set_defaults(act=submit)

    board = commands.add_parser("leaderboard", parents=[common], help="systems by F1")
    board.add_argument("answer_set", help="slug")
    board.add_argument("--version", type=int, help="default: the newest")
    board.set_defaults(act=leaderboard)

    why = commands.add_parser("explain", parents=[common], help="where a submission loses its points")
    why.add_argument("submission", help="id")
    why.add_argument("--process", type=int, help="one process, mistake by mistake; default: all, worst first")
    why.set_defaults(act=explain)

    beside = commands.add_parser(
        "compare", parents=[common], help="submissions with a first one, with intervals"
    )
    beside.add_argument("first", help="id of the baseline")
    beside.add_argument("second", nargs="+", help="ids of others, each compared with the first")
    beside.set_defaults(act=compare)


def submit(client: Client, given: Namespace) -> int:
    card = {"visibility": given.visibility} | ({"system": given.system} if given.system else {})
    made = client.submit_predictions(
        given.answer_set,
        given.file.name,
        given.file.read_bytes(),
        version=given.version,
        agree_to_repairs=given.agree_to_repairs,
        **card,
    )
    if given.json:
        say_json(made.raw)
    else:
        say(
            f"{made.id}\t{made.system}\t{made.state}\tF1 {_number(made.f1)}\tcorrected {_number(made.corrected_f1)}"
        )
    for group in made.raw["repair_groups"]:
        note(line_of(group | {"message": _times(group) + group["message"]}))
    if same := made.raw["same_file_as"]:
        note(f"The same file was submitted before, as {same}.")
    if made.state == "waiting":
        note("It is scored when you agree to these repairs: on its page, or again with --agree-to-repairs.")
    return 0 if made.f1 is not None else 2


def _times(group: dict[str, Any]) -> str:
    return f"{group['n']:,} × " if group["n"] > 1 else ""


def leaderboard(client: Client, given: Namespace) -> int:
    rows = client.leaderboard(given.answer_set, given.version)
    if given.json:
        say_json(rows)
        return 0
    say("rank\tsystem\tprecision\trecall\tf1\tlow\thigh\tcorrected_f1\tid")
    for row in rows:
        low, high = row["interval"] or (None, None)
        numbers = (row["precision"], row["recall"], row["f1"], low, high, row["corrected_f1"])
        told = "\t".join(map(_number, numbers))
        say(f"{row['rank'] or ''}\t{row['system']}\t{told}\t{row['submission'] or row['kind']}")
    return 0


def explain(client: Client, given: Namespace) -> int:
    found = client.explanation(given.submission, given.process)
    if given.json:
        say_json(found)
    elif given.process is None:
        _report(found["report"])
    else:
        _process(found)
    return 0


def _report(found: dict[str, Any]) -> None:
    for name, scores in (found["reference"] or {}).get("questions", {}).items():
        told = "\t".join(f"{what} {_number(scores[what])}" for what in ("precision", "recall", "f1"))
        say(f"{name}\t{told}")
    for code, count in found["mistake_counts"].items():
        say(f"{code}\t{count}")
    for row in sorted(found["processes"], key=lambda row: (row["f1"] is not None, row["f1"])):
        kinds = ", ".join(f"{count} {code}" for code, count in row["mistakes"].items())
        say(f"process {row['id']}\tF1 {_number(row['f1'])}\t{kinds}")


def _process(found: dict[str, Any]) -> None:
    for question, one in (found["scores"] or {}).items():
        say(f"{question}\tprecision {_number(one['precision'])}\trecall {_number(one['recall'])}")
    for mistake in found["mistakes"]:
        say(f"step {mistake['step']}\t{mistake['participant']}\t{mistake['message']}")


def compare(client: Client, given: Namespace) -> int:
    found = client.compare_submissions(given.first, *given.second)
    if given.json:
        say_json(found)
        return 0
    for one in found["comparisons"]:
        say(f"F1, {one['system']} − {found['first']['system']}: {_difference(one)}")
        for question, apart in one["questions"].items():
            say(f"  {question}: {_difference(apart)}")
        say(f"  better on {one['better']} processes, worse on {one['worse']}, equal on {one['equal']}")
    return 0


def _difference(found: dict[str, Any]) -> str:
    low, high = found["interval"]
    return (
        f"{found['difference']:+.4f}, 95% interval {low:+.4f} to {high:+.4f}, p (Holm) {found['p_holm']:.4f}"
    )


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"
