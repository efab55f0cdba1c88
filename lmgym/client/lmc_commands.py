"""`lmc`: upload logs, play, read figures and compare games of LM Challenge."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from .client import Client
from .commands import Waiting, note, say, say_json
from .values import Game

GAMES = ("wp", "tc", "ic", "wc", "we", "ce", "wr")
VISIBILITIES = ("private", "unlisted", "public")


def add_parsers(names: Any, common: Any) -> None:
    group = names.add_parser("lmc", help="LM Challenge: logs and games")
    commands = group.add_subparsers(dest="subcommand", required=True)

    send = commands.add_parser("upload", parents=[common], help="upload logs and print their figures")
    send.add_argument("file", nargs="+", type=Path, help="a log, packed with gzip or not")
    send.add_argument("--corpus", metavar="SLUG", help="the text it was played on; compared with the log")
    send.set_defaults(act=upload)

    start = commands.add_parser("play", parents=[common], help="start a game, wait and print its figures")
    start.add_argument("corpus", help="slug")
    start.add_argument("--game", required=True, choices=GAMES)
    start.add_argument("--player", required=True, help="model:SLUG, process:NAME or adaptive")
    start.add_argument("--train", action="store_true", help="learn each line after it was played")
    start.set_defaults(act=play)
    for command in (send, start):
        command.add_argument("--title", default="")
        command.add_argument("--visibility", default="private", choices=VISIBILITIES)
        command.add_argument("--timeout", type=float, default=3600.0, metavar="SECONDS")

    read = commands.add_parser("stats", parents=[common], help="all figures of a game")
    read.add_argument("game", help="id")
    read.add_argument("--filter", help="tokens that count; default: alphaemoji")
    read.set_defaults(act=stats)

    beside = commands.add_parser("compare", parents=[common], help="games on the same text, with intervals")
    beside.add_argument("first", help="id of the baseline")
    beside.add_argument("second", nargs="+", help="id; each is compared with the first")
    beside.add_argument("--filter", help="tokens that count; default: alphaemoji")
    beside.add_argument("--metric", help="default: the main figure of the games, such as hit3")
    beside.add_argument("--cluster", help="what is resampled: auto, user or line")
    beside.set_defaults(act=compare)


def upload(client: Client, given: Namespace) -> int:
    card = {name: value for name in ("corpus", "visibility") if (value := getattr(given, name))}
    files = [(path.name, path.read_bytes()) for path in given.file]
    made: list[Game] = []
    for name, data in files:
        title = f"{given.title}, {name}" if given.title and len(files) > 1 else given.title or name
        try:
            made.append(client.upload_log(name, data, title=title, **card))
        except Exception:
            if made:
                before = "one before it stays" if len(made) == 1 else f"{len(made)} before it stay"
                note(f"{name} was not uploaded. The {before} on the site:")
                _say_games(given, made)
            raise
    return _ended(client, given, made)


def play(client: Client, given: Namespace) -> int:
    options = {"title": given.title, "visibility": given.visibility, "train": given.train}
    made = client.start_game(given.corpus, given.game, given.player, **options)
    return _ended(client, given, [made])


def _ended(client: Client, given: Namespace, made: list[Game]) -> int:
    """Wait for them, and print a line for each. 2 where one has no figures."""
    note(f"{len(made)} game{'' if len(made) == 1 else 's'} queued")
    games = [_waited(client, one, given.timeout) for one in made]
    _say_games(given, games)
    return 0 if all(one.state == "done" for one in games) else 2


def _waited(client: Client, game: Game, seconds: float) -> Game:
    waiting = Waiting()
    return client.wait_for_game(game.id, seen=lambda one: waiting(one.title, one.behind), seconds=seconds)


def _say_games(given: Namespace, games: list[Game]) -> None:
    if given.json:
        say_json([one.raw for one in games])
    for one in games:
        figure = one.raw["figure"]
        if not given.json:
            told = (
                f"{figure['name']} {figure['value']:.4f}" if figure and figure["value"] is not None else "–"
            )
            say(f"{one.id}\t{one.title}\t{one.game}\t{one.state}\t{told}")
        if one.error:
            note(f"{one.title}: {one.error}")


def stats(client: Client, given: Namespace) -> int:
    found = client.statistics(given.game, filter=given.filter)
    if given.json:
        say_json(found)
        return 0
    for name, value in _flat(found["parts"][0]):
        say(f"{name}\t{value}")
    return 0


def _flat(figures: dict[str, Any], before: str = "") -> list[tuple[str, Any]]:
    """Names with dots, as `lmc stats` of version 5 writes them."""
    found: list[tuple[str, Any]] = []
    for name, value in figures.items():
        if isinstance(value, dict):
            found += _flat(value, f"{before}{name}.")
        elif not isinstance(value, list):
            found.append((before + name, "" if value is None else value))
    return found


def compare(client: Client, given: Namespace) -> int:
    asked = {name: getattr(given, name) for name in ("filter", "cluster", "metric")}
    found = client.compare_games(given.first, *given.second, **asked)
    if given.json:
        say_json(found)
        return 0
    say("id\ttitle\tmetric\tfirst\tsecond\tdifference\tlow\thigh\tp\tp_holm\tverdict")
    for row in found["comparisons"]:
        low, high = row["interval"] or (None, None)
        numbers = (row["first"], row["second"], row["difference"], low, high, row["p"], row["p_holm"])
        told = "\t".join("" if number is None else f"{number:.4f}" for number in numbers)
        say(f"{row['id']}\t{row['title']}\t{row['metric']}\t{told}\t{row['verdict']}")
        for words in row["notes"]:
            note(f"{row['title']}: {words}")
    return 0
