"""The command line: `run`, `stats`, `ic-opt` and `pretty` as the reference's `lmc`; `compare`, `corpus`, `serve`.

Imports no Django; `manage.py lmc` hands in the players of the site. `python -m gym.lmchallenge` is this without them.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any, TextIO, TypeAlias

from gym.lmchallenge.core.errors import LmcError, OptionError
from gym.lmchallenge.core.options import joined, parser

if TYPE_CHECKING:
    from gym.lmchallenge.core.player import Player
    from gym.lmchallenge.core.process import Command

ModelPlayer: TypeAlias = "Callable[[str, Mapping[str, Any]], Player]"
EXIT_ERROR = 1


class Streams:
    """Standard input and output as bytes, and standard error as text."""

    def __init__(
        self, source: IO[bytes] | None = None, out: IO[bytes] | None = None, err: TextIO | None = None
    ) -> None:
        self.source = source or sys.stdin.buffer
        self.out = out or sys.stdout.buffer
        self.err = err or sys.stderr

    def say(self, text: str) -> None:
        """One line of output."""
        self.out.write(text.encode("utf-8", "replace") + b"\n")


def main(
    argv: Sequence[str],
    prog: str = "python -m gym.lmchallenge",
    *,
    streams: Streams | None = None,
    model: ModelPlayer | None = None,
    named: Callable[[], Mapping[str, Command]] = dict,
) -> int:
    """Run; the exit code. Wrong arguments end in SystemExit(2)."""
    streams = streams or Streams()
    options = parser(prog).parse_args(joined(list(argv)))
    try:
        return _COMMANDS[options.command](options, streams, model or _no_model, named)
    except LmcError as error:
        streams.err.write(f"{prog}: {error}\n")
        return EXIT_ERROR
    except BrokenPipeError:
        with contextlib.suppress(OSError):
            sys.stdout.close()
        return 0
    except OSError as error:
        streams.err.write(f"{prog}: {error}\n")
        return EXIT_ERROR


def needs_no_site(argv: Sequence[str]) -> bool:
    """Whether the command can be run without the database: no model of the site plays."""
    return not any(word.startswith("model:") for word in argv)


def named_players() -> Mapping[str, Command]:
    """The players of the environment, which is where the settings have them from."""
    from gym.lmchallenge.core.players import configured

    return configured(os.environ.get("GYM_LMC_PLAYERS", ""))


def _no_model(slug: str, options: Mapping[str, Any]) -> Player:
    raise OptionError(
        "The models of a site are only to be had through its manage.py.", f"manage.py lmc … model:{slug}"
    )


def _play(options: argparse.Namespace, streams: Streams, model: ModelPlayer, named: Any) -> int:
    from gym.lmchallenge.core import cli_run

    command = {"run": cli_run.run, "serve": cli_run.serve_model}[options.command]
    return command(options, streams, model, named)


# -- logs ----------------------------------------------------------------------------------------------------


def _logs(options: argparse.Namespace, streams: Streams, *_: Any) -> int:
    from gym.lmchallenge.core import cli_logs

    shown = {
        "stats": cli_logs.show_stats,
        "compare": cli_logs.show_comparison,
        "ic-opt": cli_logs.show_best_mixture,
        "pretty": cli_logs.show_colours,
    }
    return shown[options.command](options, streams)


# -- corpora -------------------------------------------------------------------------------------------------


def _corpus(options: argparse.Namespace, streams: Streams, *_: Any) -> int:
    from gym.lmchallenge.core import corpus, corpus_tools, gzip_reader

    form = getattr(options, "format", "text" if options.tool == "to-json" else "json")
    stream = gzip_reader.unpacked(streams.source)
    if options.tool == "sort":
        for raw in corpus_tools.in_order(stream, "standard input"):
            streams.out.write(raw)
        return 0
    lines = corpus.read(stream, form, "standard input")
    if options.tool == "check":
        streams.say(json.dumps(corpus_tools.preview(lines, form), indent=2))
    elif options.tool == "vocab":
        for word, count in corpus_tools.vocabulary(
            lines, keep=options.filter, least=options.min_count, most=options.most
        ):
            streams.say(f"{word}\t{count}" if options.counts else word)
    else:
        made = (
            corpus_tools.to_text(lines)
            if options.tool == "to-text"
            else corpus_tools.to_json(lines, user=options.user, timestamps=options.timestamps)
        )
        for text in made:
            streams.out.write(text.encode("utf-8"))
    return 0


_COMMANDS: dict[str, Callable[[argparse.Namespace, Streams, ModelPlayer, Any], int]] = {
    "run": _play,
    "serve": _play,
    "stats": _logs,
    "compare": _logs,
    "ic-opt": _logs,
    "pretty": _logs,
    "corpus": _corpus,
}
