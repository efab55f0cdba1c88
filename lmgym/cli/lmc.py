"""`lmgym lmc`: LM Challenge, locally and on a site."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmgym.cli import at_site, shared
from lmgym.cli.waiting import Waiting, add_waiting
from lmgym.client import Client, Game
from lmgym.lmchallenge.cli import main as local

if TYPE_CHECKING:
    from lmgym.lmchallenge.play.player import Player

GAMES = ("wp", "tc", "ic", "wc", "we", "ce", "wr")
EITHER = {"stats": "metrics of a game, by its id", "compare": "compare games, by their ids"}
"""Commands that work locally and on a site, with a description of what they do on a site."""


def parser(prog: str) -> argparse.ArgumentParser:
    return at_site.parser_with_site(prog, local.parser, EITHER, _add_site_commands)


def site_parser(prog: str) -> argparse.ArgumentParser:
    """Build the parser for calls with --site."""
    return at_site.parser_of_site(prog, "LM Challenge on a site.", _add_site_commands, _add_site_forms)


def _add_site_forms(names: Any) -> None:
    read = at_site.add_command(names, "stats", _stats, "on a site: print all metrics of a game")
    read.add_argument("game", help="id")
    read.add_argument("--filter", help="tokens to count; default: alphaemoji")

    versus = at_site.add_command(
        names, "compare", _compare, "on a site: compare games on the same text, with intervals"
    )
    versus.add_argument("first", help="id of the baseline")
    versus.add_argument("second", nargs="+", help="ids of other games, each compared with the baseline")
    versus.add_argument("--filter", help="tokens to count; default: alphaemoji")
    versus.add_argument("--metric", help="default: the games' main metric, such as hit3")
    versus.add_argument("--cluster", help="unit of resampling: auto, user or line; default: auto")


def main(argv: Sequence[str], prog: str = "lmgym lmc") -> int:
    """Run the command; return its exit status. Invalid arguments raise SystemExit(2)."""

    def run_local() -> int:
        return local.main(argv, prog, model=_model, named=local.named_players)

    return at_site.run_either(
        argv, prog, parsers=(parser, site_parser), local_commands=local.COMMANDS, run_local=run_local
    )


def _model(name: str, options: Mapping[str, Any]) -> Player:
    """Load a model by its path or hub id. Raises OptionError."""
    from lmgym.errors import BackendError
    from lmgym.lmchallenge.errors import OptionError
    from lmgym.lmchallenge.play.backend_players import player_for_backend
    from lmgym.models.given import open_model

    try:
        return player_for_backend(open_model(name).backend, options)
    except BackendError as error:
        raise OptionError(error.message, error.hint) from error


def _add_site_commands(names: Any) -> None:
    send = at_site.add_command(names, "upload", _upload, "on a site: upload logs and print their metrics")
    send.add_argument("file", nargs="+", type=Path, help="a log, optionally gzipped")
    send.add_argument(
        "--corpus", metavar="SLUG", help="corpus on which the log was played; checked against the log"
    )
    start = at_site.add_command(names, "play", _play, "on a site: start a game, wait and print its metrics")
    start.add_argument("corpus", help="slug")
    start.add_argument("--game", required=True, choices=GAMES)
    start.add_argument("--player", required=True, help="model:SLUG, process:NAME or adaptive")
    start.add_argument("--train", action="store_true", help="train the player on each line after playing it")
    for command in (send, start):
        command.add_argument("--title", default="")
        command.add_argument("--visibility", default="private", choices=at_site.VISIBILITIES)
        add_waiting(command)


def _upload(client: Client, arguments: argparse.Namespace) -> int:
    card = {name: value for name in ("corpus", "visibility") if (value := getattr(arguments, name))}
    files = [(path.name, path.read_bytes()) for path in arguments.file]
    made: list[Game] = []
    for name, data in files:
        title = (
            f"{arguments.title}, {name}" if arguments.title and len(files) > 1 else arguments.title or name
        )
        try:
            made.append(client.upload_log(name, data, title=title, **card))
        except Exception:
            if made:
                before = "One earlier log remains" if len(made) == 1 else f"{len(made)} earlier logs remain"
                shared.note(f"{name} was not uploaded. {before} on the site:")
                _say_games(arguments, made)
            raise
    return _ended(client, arguments, made)


def _play(client: Client, arguments: argparse.Namespace) -> int:
    options = {"title": arguments.title, "visibility": arguments.visibility, "train": arguments.train}
    made = client.start_game(arguments.corpus, arguments.game, arguments.player, **options)
    return _ended(client, arguments, [made])


def _ended(client: Client, arguments: argparse.Namespace, made: list[Game]) -> int:
    """Wait for the queued games and print a line for each. Return WRONG if one did not finish."""
    shared.note(f"{len(made)} game{'' if len(made) == 1 else 's'} queued")
    games = [_waited(client, game, arguments.timeout) for game in made]
    _say_games(arguments, games)
    return shared.DONE if all(game.state == "done" for game in games) else shared.WRONG


def _waited(client: Client, game: Game, seconds: float) -> Game:
    waiting = Waiting()
    return client.wait_for_game(
        game.id, on_update=lambda state: waiting(state.title, state.behind), seconds=seconds
    )


def _say_games(arguments: argparse.Namespace, games: list[Game]) -> None:
    if arguments.format == "json":
        shared.write(shared.as_json([game.raw for game in games]), None)
    for game in games:
        figure = game.raw["figure"]
        if arguments.format == "table":
            value = (
                f"{figure['name']} {figure['value']:.4f}" if figure and figure["value"] is not None else "–"
            )
            shared.print_line(f"{game.id}\t{game.title}\t{game.game}\t{game.state}\t{value}")
        if game.error:
            shared.note(f"{game.title}: {game.error}")


def _stats(client: Client, arguments: argparse.Namespace) -> int:
    statistics = client.statistics(arguments.game, filter=arguments.filter)
    if arguments.format == "json":
        shared.write(shared.as_json(statistics), None)
        return shared.DONE
    for name, value in _flat(statistics["parts"][0]):
        shared.print_line(f"{name}\t{value}")
    return shared.DONE


def _flat(figures: dict[str, Any], before: str = "") -> list[tuple[str, Any]]:
    """Flatten nested figures to names with dots, as in the output of `lmc stats` in version 5."""
    rows: list[tuple[str, Any]] = []
    for name, value in figures.items():
        if isinstance(value, dict):
            rows += _flat(value, f"{before}{name}.")
        elif not isinstance(value, list):
            rows.append((before + name, "" if value is None else value))
    return rows


_COMPARED = (
    "id", "second", "measure", "first_value", "second_value", "difference", "low", "high", "p",
    "p_corrected", "verdict",
)  # fmt: skip


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def _compare(client: Client, arguments: argparse.Namespace) -> int:
    query = {name: getattr(arguments, name) for name in ("filter", "cluster", "metric")}
    comparison = client.compare_games(arguments.first, *arguments.second, **query)
    if arguments.format == "json":
        shared.write(shared.as_json(comparison), None)
        return shared.DONE
    shared.print_line("\t".join(_COMPARED))
    for row in comparison["comparisons"]:
        shared.print_line("\t".join(_cell(row[name]) for name in _COMPARED))
        if row["note"]:
            shared.note(f"{row['second']}: {row['note']}")
    return shared.DONE
