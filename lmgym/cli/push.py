"""`lmgym push`: suite files to a site, as new suites or as revisions of one that exists."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lmgym.cli import at_site, shared
from lmgym.cli.suite_files import add_reading, load, reading
from lmgym.client import ApiError, Client, Suite


def parser(prog: str) -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog=prog,
        description="Upload suite files. Standard output has a line for each: the suite's slug, and the revision where "
        "it is frozen. A file that is identical to a suite of yours makes no second one.",
    )
    top.add_argument(
        "files", nargs="+", type=Path, metavar="FILE", help="in any format that lmgym convert reads"
    )
    top.add_argument("--into", metavar="SLUG", help="as a new revision of this suite, if anything changed")
    top.add_argument("--freeze", action="store_true", help="at once, so that models can be run on it")
    top.add_argument("--title", default="", help="of a new suite; default: the name in the file")
    top.add_argument(
        "--visibility",
        default="private",
        choices=at_site.VISIBILITIES,
        help="of a new suite; default: private",
    )
    top.add_argument("--again", action="store_true", help="make a new suite even if an identical one exists")
    add_reading(top)
    at_site.add_site(top)
    top.set_defaults(act=_push)
    return top


def main(argv: Sequence[str], prog: str = "lmgym push") -> int:
    """Run; the exit status. Wrong arguments raise SystemExit(2)."""
    return at_site.run(parser(prog), argv)


def _push(client: Client, options: argparse.Namespace) -> int:
    if len(options.files) > 1 and (options.into or options.title):
        raise shared.Failed("--into and --title are for one file.")
    files = [_content(path, options) for path in options.files]
    for name, data in files:
        slug, revision = (
            _into(client, name, data, options) if options.into else _new(client, name, data, options)
        )
        shared.say(f"{slug} r{revision}" if revision else slug)
    return shared.DONE


def _content(path: Path, options: argparse.Namespace) -> tuple[str, bytes]:
    """Name and bytes. A file that needs options to be read is read here and sent as JSON, which loses nothing."""
    if not reading(vars(options)):
        return path.name, path.read_bytes()
    from lmgym.suites.formats import write_json

    return f"{path.stem}.json", write_json(load(str(path), options)).encode()


def _new(client: Client, name: str, data: bytes, options: argparse.Namespace) -> tuple[str, int | None]:
    """Slug, and the number of the frozen revision."""
    card: dict[str, Any] = {"visibility": options.visibility} | (
        {"title": options.title} if options.title else {}
    )
    revision = None
    try:
        slug = client.import_suite(name, data, again=options.again, **card).slug
    except ApiError as error:
        if error.code != "there":
            raise
        slug, number = error.there
        shared.note(f"{name} is identical to {slug} r{number}")
        revision = number if number in client.suite(slug).revisions else None
    return slug, client.freeze(slug, f"from {name}") if options.freeze and revision is None else revision


def _into(client: Client, name: str, data: bytes, options: argparse.Namespace) -> tuple[str, int | None]:
    slug = options.into
    before = _suite(client, slug)
    if before.has_draft:
        raise shared.Failed(f"{slug} has a draft already. Freeze or discard it first.")
    number = client.put_draft(slug, name, data)
    newest = next(iter(before.revisions), None)
    if newest is not None and not client.differs(slug, newest, number):
        client.discard_draft(slug)
        shared.note(f"{name} is identical to {slug} r{newest}")
        return slug, newest
    if options.freeze:
        return slug, client.freeze(slug, f"from {name}")
    shared.note(f"{slug}: {name} is the draft of r{number}")
    return slug, None


def _suite(client: Client, slug: str) -> Suite:
    try:
        return client.suite(slug)
    except ApiError as error:
        if error.status != 404:
            raise
        raise shared.Failed(
            f"There is no suite {slug} of yours. Make it with: lmgym push FILE --freeze"
        ) from None
