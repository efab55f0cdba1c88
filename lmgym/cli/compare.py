"""`lmgym compare`: compare two saved results, or two runs of a site."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lmgym.cli import at_site, shared
from lmgym.client import Client
from lmgym.text.arguments import Parser
from lmgym.text.number_format import format_interval, percent


def parser(prog: str) -> argparse.ArgumentParser:
    top = Parser(
        prog=prog,
        description="Compare two models on the same items: difference of the pass rates (second − first) with its 95% "
        "interval (Newcombe), and p of McNemar's exact test, Holm-corrected.",
    )
    top.add_argument(
        "first", metavar="FIRST", help="folder written by lmgym evaluate --save; with --site: a run's id"
    )
    top.add_argument(
        "second", metavar="SECOND", help="another folder or run, or the same folder with another model"
    )
    for side in ("first", "second"):
        top.add_argument(
            f"--{side}-model", metavar="NAME", help=f"model in the {side} folder; required if it has several"
        )
    shared.add_output(top)
    at_site.add_choice_of_site(top, "compare two runs on a suite, over all its predictions together")
    return top


def main(argv: Sequence[str], prog: str = "lmgym compare") -> int:
    """Run the command; return its exit status. Invalid arguments raise SystemExit(2)."""
    return shared.run(_compare, parser(prog), argv)


def _compare(options: argparse.Namespace) -> int:
    frame = _local(options) if options.site is None else _at_site(at_site.client_of(options), options)
    text = _table(frame) if options.format == "table" else shared.rendered(frame, options.format)
    shared.write(text, options.output)
    return shared.DONE


def _local(options: argparse.Namespace) -> Any:
    import pandas as pd

    from lmgym.comparison import COMPARED, compared_rows

    for folder in (options.first, options.second):
        if not (path := Path(folder) / "outcomes.csv").is_file():
            raise shared.Failed(
                f"{path} does not exist. Create it with: lmgym evaluate SUITE -m MODEL --save {folder}"
            )
    sides = [
        _outcomes(options.first, options.first_model, "first"),
        _outcomes(options.second, options.second_model, "second"),
    ]
    return pd.DataFrame(compared_rows(*sides), columns=[name for name, _ in COMPARED])


def _outcomes(folder: str, model: str | None, side: str) -> Any:
    import pandas as pd

    path = Path(folder) / "outcomes.csv"
    try:
        frame = pd.read_csv(path, keep_default_na=False, na_values=[""])
        models = frame["model"].unique().tolist()
        frame["passed"] = frame["passed"].astype(bool)
    except (ValueError, KeyError) as error:
        raise shared.Failed(f"{path} is not an outcomes table: {error}") from error
    if model is None and len(models) != 1:
        raise shared.Failed(f"{folder} has results of {', '.join(models)}: choose one with --{side}-model.")
    if model is not None and model not in models:
        raise shared.Failed(f"{folder} has no results of {model}. It has {', '.join(models)}.")
    return frame[frame["model"] == (model or models[0])]


def _at_site(client: Client, options: argparse.Namespace) -> Any:
    import pandas as pd

    if options.first_model or options.second_model:
        raise shared.Failed("A run has one model: omit --first-model and --second-model with --site.")
    try:
        comparison = client.compare(options.first, options.second)
    except ValueError as error:
        raise shared.Failed(str(error)) from error
    for fact in comparison["unlike"]:
        shared.note(f"The runs differ in {fact['fact']}: {', '.join(str(value) for value in fact['values'])}")
    return pd.DataFrame([{"suite": comparison["suite"], **comparison["rate"]}])


def _table(frame: Any) -> str:
    names = [name for name in ("suite", "prediction", "first", "second") if name in frame.columns]
    head = (*names, "first rate", "second rate", "difference", "95%", "p", "p (Holm)")
    body = [
        (
            *(str(row[name]) for name in names), percent(row["first_value"]), percent(row["second_value"]),
            _points(row["difference"]), format_interval(row["low"], row["high"], _points),
            _p(row["p"]), _p(row["p_corrected"]),
        )
        for row in frame.to_dict("records")
    ]  # fmt: skip
    return shared.aligned((head, *body), right=range(len(names), len(head)))


def _points(value: float | None) -> str:
    return "–" if value is None or value != value else f"{100 * value:+.1f}"


def _p(value: float | None) -> str:
    return "–" if value is None or value != value else "< 0.001" if value < 0.001 else f"{value:.3f}"
