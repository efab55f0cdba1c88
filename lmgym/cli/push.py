"""`lmgym push`: upload suite files to a site, as new suites or as a revision of an existing one."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lmgym.cli import at_site, shared
from lmgym.cli.suite_files import add_reading, load, reading
from lmgym.client import ApiError, Client, Suite
from lmgym.text.arguments import Parser


def parser(prog: str) -> argparse.ArgumentParser:
    top = Parser(
        prog=prog,
        description="Upload suite files. Prints one line per file: the slug of the suite, and its revision if it is "
        "frozen. Without --again, a file that is identical to one of your suites does not create a new suite.",
    )
    top.add_argument(
        "files", nargs="+", type=Path, metavar="FILE", help="in any format that lmgym convert reads"
    )
    top.add_argument(
        "--into",
        metavar="SLUG",
        help="store the file as the draft of this suite's next revision if anything changed",
    )
    top.add_argument(
        "--freeze",
        action="store_true",
        help="freeze the new suite or revision, so that models can be run on it",
    )
    top.add_argument(
        "--collection",
        metavar="SLUG",
        help="add the frozen revisions to this collection, which is created if you have none of this name; needs "
        "--freeze",
    )
    top.add_argument("--title", default="", help="title of a new suite; default: the name in the file")
    top.add_argument(
        "--visibility",
        default="private",
        choices=at_site.VISIBILITIES,
        help="visibility of a new suite; default: private",
    )
    top.add_argument("--again", action="store_true", help="create a suite even if an identical one exists")
    add_reading(top)
    at_site.add_site(top)
    top.set_defaults(act=_push)
    return top


def main(argv: Sequence[str], prog: str = "lmgym push") -> int:
    """Run the command; return its exit status. Invalid arguments raise SystemExit(2)."""
    return at_site.run(parser(prog), argv)


def _push(client: Client, options: argparse.Namespace) -> int:
    if len(options.files) > 1 and (options.into or options.title):
        raise shared.Failed("--into and --title can be used with only one file.")
    if options.collection and not options.freeze:
        raise shared.Failed("A collection holds frozen revisions: use --collection with --freeze.")
    files = shared.read_all(options.files, lambda path: (path, *_content(path, options)))
    if options.collection:
        _require_collection(client, options.collection)
    for path, name, data in files:
        try:
            slug, revision = (_into if options.into else _new)(client, name, data, options)
        except ApiError as error:
            raise _failed(f"{path} was not uploaded", error) from error
        shared.print_line(f"{slug} r{revision}" if revision else slug)
        if options.collection:
            try:
                client.add_to_collection(options.collection, slug, revision)
            except ApiError as error:
                what = f"{slug} was uploaded, but not added to the collection {options.collection}"
                raise _failed(what, error) from error
    return shared.DONE


def _failed(what: str, error: ApiError) -> shared.Failed:
    return shared.Failed("\n".join([f"{what}:", *(f"  {line}" for line in shared.lines_of(error))]))


def _require_collection(client: Client, slug: str) -> None:
    """Create the collection if there is none with this slug. Raises Failed if it is published."""
    try:
        collection = client.collection(slug)
    except ApiError as error:
        if error.status != 404:
            raise
        client.create_collection(slug)
        shared.note(f"collection {slug} created; only you can see it until you share or publish it")
        return
    if collection["published_at"]:
        raise shared.Failed(f"The collection {slug} is published and cannot be changed.")


def _content(path: Path, options: argparse.Namespace) -> tuple[str, bytes]:
    """Return the name and bytes to send: of the file, or (lossless) JSON if reading options are set. Raises Failed if
    the file is not a suite, before any other file is uploaded."""
    document = load(str(path), options)
    if not reading(vars(options)):
        return path.name, path.read_bytes()
    from lmgym.suites.formats import write_json

    return f"{path.stem}.json", write_json(document).encode()


def _new(client: Client, name: str, data: bytes, options: argparse.Namespace) -> tuple[str, int | None]:
    """Import as a new suite; return its slug and the number of its frozen revision."""
    card: dict[str, Any] = {"visibility": options.visibility} | (
        {"title": options.title} if options.title else {}
    )
    revision = None
    try:
        slug = client.import_suite(name, data, again=options.again, **card).slug
    except ApiError as error:
        if error.code != "exists":
            raise
        slug, number = error.existing
        shared.note(f"{name} is identical to {slug} r{number}")
        revision = number if number in client.suite(slug).revisions else None
    return slug, client.freeze(slug, f"from {name}") if options.freeze and revision is None else revision


def _into(client: Client, name: str, data: bytes, options: argparse.Namespace) -> tuple[str, int | None]:
    slug = options.into
    suite = _suite(client, slug)
    if suite.has_draft:
        raise shared.Failed(f"{slug} already has a draft. Freeze or discard it first.")
    number = client.put_draft(slug, name, data)
    newest = next(iter(suite.revisions), None)
    if newest is not None and not client.differs(slug, newest, number):
        client.discard_draft(slug)
        shared.note(f"{name} is identical to {slug} r{newest}")
        return slug, newest
    if options.freeze:
        return slug, client.freeze(slug, f"from {name}")
    shared.note(f"{slug}: {name} is now the draft of r{number}")
    return slug, None


def _suite(client: Client, slug: str) -> Suite:
    try:
        return client.suite(slug)
    except ApiError as error:
        if error.status != 404:
            raise
        raise shared.Failed(f"You have no suite {slug}. Create it with: lmgym push FILE --freeze") from None
