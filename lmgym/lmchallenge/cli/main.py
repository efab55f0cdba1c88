"""Command line: parser and dispatch.

`run`, `stats`, `ic-opt` and `pretty` behave like the commands of LM Challenge 4, and `diff`, `grep` and
`validate` like the commands of version 5; `compare`, `corpus` and `serve` are additions. The caller loads
players named `model:NAME`: `lmgym lmc` by path or hub id, `manage.py lmc` from the site's models. Command
modules are imported lazily, because they import numpy.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from lmgym.lmchallenge.cli.streams import ModelPlayer, Streams
from lmgym.lmchallenge.cli.values import above_zero, domain, json_object, mixture, number, whole
from lmgym.lmchallenge.errors import LmcError, OptionError, error_message
from lmgym.lmchallenge.logs.log_rows import PARTITIONS
from lmgym.lmchallenge.logs.version5 import GAME_WORDS as GAME_WORDS_5
from lmgym.lmchallenge.play import typing_errors
from lmgym.lmchallenge.play.games import GAME_WORDS, MOST_SELECTION_COST, SELECT_FROM
from lmgym.lmchallenge.tokens import FILTER_WORDS, FILTERS
from lmgym.text.arguments import Parser

if TYPE_CHECKING:
    from lmgym.lmchallenge.play.player import Player
    from lmgym.lmchallenge.play.process import Command

EXIT_ERROR = 2


def main(
    argv: Sequence[str],
    prog: str = "lmgym lmc",
    *,
    streams: Streams | None = None,
    model: ModelPlayer | None = None,
    named: Callable[[], Mapping[str, Command]] = dict,
) -> int:
    """Run a command and return its exit status. Invalid arguments raise SystemExit(2)."""
    streams = streams or Streams()
    options = parsed(joined(list(argv)), prog)
    try:
        *_, run = COMMANDS[options.command]
        return run(options, streams, model or _no_model, named)
    except LmcError as error:
        streams.err.write(f"{prog}: {error}\n")
        return EXIT_ERROR
    except BrokenPipeError:
        with contextlib.suppress(OSError):
            sys.stdout.close()
        return 0
    except OSError as error:
        streams.err.write(f"{prog}: {error_message(error)}\n")
        return EXIT_ERROR


def named_players() -> Mapping[str, Command]:
    """Return the players configured in the environment variable GYM_LMC_PLAYERS."""
    from lmgym.lmchallenge.play.players import configured

    return configured(os.environ.get("GYM_LMC_PLAYERS", ""))


def _no_model(slug: str, options: Mapping[str, Any]) -> Player:
    raise OptionError(f"Unknown model {slug}.")


def _play(options: argparse.Namespace, streams: Streams, model: ModelPlayer, named: Any) -> int:
    if options.command == "serve":
        from lmgym.lmchallenge.cli import serve

        return serve.serve_model(options, streams, model)
    from lmgym.lmchallenge.cli import run

    return run.run(options, streams, model, named)


# -- logs ----------------------------------------------------------------------------------------------------


def _logs(options: argparse.Namespace, streams: Streams, *_: Any) -> int:
    from lmgym.lmchallenge.cli import logs

    shown = {
        "stats": logs.show_stats,
        "compare": logs.show_comparison,
        "ic-opt": logs.show_best_mixture,
        "pretty": logs.show_colours,
        "diff": logs.show_difference,
        "grep": logs.select,
        "validate": logs.validate,
    }
    return shown[options.command](options, streams)


# -- corpora -------------------------------------------------------------------------------------------------


def _tool(options: argparse.Namespace, streams: Streams, *_: Any) -> int:
    from lmgym.lmchallenge import corpus, corpus_tools, gzip_reader

    stream = gzip_reader.unpacked(streams.source, "standard input")
    if options.tool == "check":
        lines = corpus.read(stream, options.format, "standard input")
        streams.print_line(json.dumps(corpus_tools.preview(lines, options.format), indent=2))
        return 0
    if options.tool == "to-text":
        texts = corpus_tools.to_text(corpus.read(stream, "json", "standard input"))
    else:
        lines = corpus.read(stream, "text", "standard input")
        texts = corpus_tools.to_json(lines, user=options.user, timestamps=options.timestamps)
    for text in texts:
        streams.out.write(text.encode("utf-8"))
    return 0


# -- arguments -----------------------------------------------------------------------------------------------


# Options whose value may begin with a hyphen, which argparse would read as an option.
_HYPHENS = {
    "ic-opt": ("-o", "--oov-penalty", "-a", "--alpha"),
    "run": ("--error-chars", "-r", "--seed"),
}


def parser(prog: str, more: Callable[[Any], None] = lambda commands: None) -> argparse.ArgumentParser:
    """Build the parser. `more` adds subcommands that the caller runs."""
    top = Parser(prog=prog, description="Typing games for language models (LM Challenge).")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (add, words, _) in COMMANDS.items():
        add(commands.add_parser(name, help=words, description=words))
    more(commands)
    return top


_IN_ANY_ORDER = ("stats", "ic-opt", "pretty", "diff", "grep", "validate", "compare")
"""Commands that accept files and options in any order."""


def parsed(argv: Sequence[str], prog: str) -> argparse.Namespace:
    """Parse arguments. Options may be in any order where that is unambiguous; for the other commands, a
    misplaced option exits with status 2 and a message that says where options belong.
    """
    top = parser(prog)
    command, *arguments = argv or [""]
    if command.startswith("-") and command not in ("-h", "--help"):
        top.error(f"{command} comes before the command. Put options after it: {prog} COMMAND {command} …")
    if command in _IN_ANY_ORDER:
        add, words, _ = COMMANDS[command]
        mixed = Parser(prog=f"{prog} {command}", description=words)
        add(mixed)
        return mixed.parse_intermixed_args(arguments, argparse.Namespace(command=command))
    if (
        command == "corpus"
        and arguments
        and arguments[0].startswith("-")
        and arguments[0] not in ("-h", "--help")
    ):
        top.error(
            f"{arguments[0]} comes before the tool. Put options after it: {prog} corpus TOOL {arguments[0]} …"
        )
    if command != "run" or {"-h", "--help"} & set(arguments):
        return top.parse_args(argv)
    first = argparse.ArgumentParser(
        prog=f"{prog} run", usage=f"{prog} run [options] PLAYER GAME [options of the game]", add_help=False
    )
    _run_options(first)
    run_options, others = first.parse_known_args(arguments)
    if others and others[0].startswith("-"):
        first.error(
            f"{others[0]} is not an option of run. Put options of a game after its name: "
            f"{prog} run PLAYER GAME {others[0]} …"
        )
    options = top.parse_args(["run", *others])
    vars(options).update(vars(run_options))
    return options


def joined(argv: Sequence[str]) -> list[str]:
    """Join each value that begins with a hyphen to its option."""
    hyphened = _HYPHENS.get(argv[0] if argv else "", ())
    result: list[str] = []
    for word in argv:
        if result and result[-1] in hyphened and word.startswith("-"):
            option = result.pop()
            result.append(f"{option}={word}" if option.startswith("--") else option + word)
        else:
            result.append(word)
    return result


def _options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "-o",
        "--options",
        type=json_object,
        default={},
        metavar="JSON",
        help='options of the player; {"positional": ["a"], "n": 10} adds `a --n 10` to a command',
    )


def _run_options(run: argparse.ArgumentParser) -> None:
    run.add_argument(
        "-w", "--targets", dest="targets", action="store_true", default=True, help="log the words (default)"
    )
    run.add_argument(
        "-W", "--no-targets", dest="targets", action="store_false", help="log only the lengths of the words"
    )
    run.add_argument("-t", "--train", action="store_true", help="learn each line after playing it")
    run.add_argument("--no-train", dest="train", action="store_false", help="(default)")
    run.add_argument(
        "-f",
        "--format",
        choices=["auto", "text", "json"],
        help="format of the corpus; default: text, for version 5 games auto (detected from the first line)",
    )
    _options(run)
    run.add_argument(
        "--readings",
        choices=["reference", "corrected"],
        default="reference",
        help="version 4 games: rules to follow where the reference differs from its documentation; default: reference; "
        "see docs/lmchallenge-reference.md",
    )
    run.add_argument(
        "--skip",
        type=whole(0),
        default=0,
        metavar="N",
        help="resume after this many lines of the corpus",
    )
    run.add_argument(
        "--log",
        metavar="FILE",
        help="write the log to this file; if it exists, a version 4 game resumes after its last complete line",
    )
    run.add_argument("--gzip", action="store_true", help="compress standard output; not with --log")
    run.add_argument(
        "--transcript", metavar="FILE", help="record all traffic with a model program in this file"
    )
    run.add_argument(
        "--report",
        metavar="FILE",
        help="write latencies, warnings and the error, if any, to this file as JSON",
    )
    run.add_argument(
        "--quiet", action="store_true", help="print no progress and no warnings on standard error"
    )
    for name, reply, usual in (("start", "the first reply", 120), ("reply", "each later reply", 30)):
        run.add_argument(
            f"--{name}-timeout",
            type=above_zero,
            metavar="SECONDS",
            help=f"time limit for {reply} of a model program; default: {usual}, or as configured for the player",
        )


def _run(run: argparse.ArgumentParser) -> None:
    _run_options(run)
    run.add_argument(
        "predictor",
        metavar="PLAYER",
        help="model:NAME (a folder, a file or a hub id; with manage.py: a slug), adaptive, a name in GYM_LMC_PLAYERS, "
        "module:name of a Python object, or a command",
    )
    games = run.add_subparsers(dest="game", required=True, metavar="GAME")
    wp = games.add_parser("wp", help=GAME_WORDS["wp"])
    wp.add_argument("-p", "--predictions", action="store_true", help="log all predictions")
    wp.add_argument("--no-predictions", dest="predictions", action="store_false", help="(default)")
    tc = games.add_parser("tc", help=GAME_WORDS["tc"])
    tc.add_argument(
        "-n",
        "--select-from",
        type=whole(0),
        default=SELECT_FROM,
        help="number of predictions considered; default: 3",
    )
    _correction(
        games.add_parser("ic", help=GAME_WORDS["ic"]),
        "random seed; 0: a different one each time; default: 42",
    )
    wc, _, _, wr = (
        games.add_parser(game, help=f"{words} (version 5)") for game, words in GAME_WORDS_5.items()
    )
    wc.add_argument(
        "-p", "--next-word-only", action="store_true", help="predict once per word, before its first letter"
    )
    wc.add_argument("--no-next-word-only", dest="next_word_only", action="store_false", help="(default)")
    _correction(wr, "random seed; default: 42")


def _correction(game: argparse.ArgumentParser, seed: str) -> None:
    game.add_argument("vocab", metavar="VOCAB", help="file with one word per line")
    game.add_argument("-r", "--seed", type=int, default=typing_errors.SEED, help=seed)
    game.add_argument(
        "-n",
        "--num-candidates",
        type=whole(1),
        default=typing_errors.CANDIDATES,
        help="candidates per word; default: 100",
    )
    game.add_argument(
        "--error-chars",
        default=typing_errors.ERROR_CHARS,
        help="characters used for typing errors; default: letters and _-#@",
    )
    game.add_argument(
        "-p",
        "--p-anykey",
        type=float,
        default=typing_errors.P_ANYKEY,
        help="probability of an error at each character; default: 0.1",
    )


def _verbose(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "-v", "--verbose", action="count", default=0, help="more details on standard error; repeat for more"
    )


def _filter(command: argparse.ArgumentParser) -> None:
    shown = "; ".join(f"{name}: {words}" for name, words in FILTER_WORDS.items())
    command.add_argument(
        "-f",
        "--filter",
        choices=list(FILTERS),
        help=f"version 4: tokens to count; default: alphaemoji. {shown}",
    )


def _mixture(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "-a",
        "--opt-args",
        type=mixture,
        action="append",
        default=[],
        metavar="JSON",
        help="ic: mixture, as ic-opt prints it; one for all logs, or one per log; default: the best",
    )


def _colours(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--readings",
        choices=["reference", "corrected"],
        default="reference",
        help="colours of wp and wr as in the reference, or corrected; default: reference; see "
        "docs/lmchallenge-reference.md",
    )
    command.add_argument(
        "-i",
        "--entropy-interval",
        "--entropy_interval",
        type=above_zero,
        default=10.0,
        metavar="NATS",
        help="version 5: range of entropies that the colours of we and ce cover; default: 10",
    )


def _output(command: argparse.ArgumentParser, *more: str) -> None:
    command.add_argument(
        "-o", "--output", choices=["table", "json", *more], help="default: table on a terminal, else json"
    )


def _stats(stats: argparse.ArgumentParser) -> None:
    stats.add_argument("log", nargs="*", help="default: standard input")
    _verbose(stats)
    stats.add_argument("-n", "--lines", type=whole(1), help="read only this many lines")
    _output(stats, "csv")
    stats.add_argument(
        "-H",
        "--no-human",
        dest="human",
        action="store_false",
        help="version 5: print counts and sums, not rates",
    )
    stats.add_argument("--human", action="store_true", default=True, help="(default)")
    stats.add_argument("-p", "--partition", choices=list(PARTITIONS), default="all")
    _filter(stats)
    _mixture(stats)
    stats.add_argument(
        "--more", action="store_true", help="add metrics that the reference lacks, under `more`"
    )
    savings = stats.add_argument_group("keystroke savings of tc (with --more)")
    savings.add_argument(
        "--selection-cost",
        type=number(0, MOST_SELECTION_COST),
        help="keystrokes to accept a prediction; default: 1",
    )
    savings.add_argument(
        "--auto-space", action="store_true", help="spaces after accepted predictions are free"
    )
    savings.add_argument(
        "--literal", action="store_true", help="each run of typed characters costs one more selection"
    )


def _ic_opt(search: argparse.ArgumentParser) -> None:
    search.add_argument("log")
    _verbose(search)
    search.add_argument("-t", "--target", default="accuracy", help="metric to maximise; default: accuracy")
    search.add_argument("-n", "--lines", type=whole(1), help="read only this many lines")
    _filter(search)
    search.add_argument("-a", "--alpha", type=domain, metavar="MIN:MAX:N|VALUE")
    search.add_argument("-o", "--oov-penalty", type=domain, metavar="MIN:MAX:N|VALUE")
    search.add_argument(
        "--cross-validate", action="store_true", help="also print the accuracy on held-out text"
    )


def _pretty(pretty: argparse.ArgumentParser) -> None:
    pretty.add_argument(
        "log",
        nargs="*",
        help="default: standard input. Of several version 4 logs, the last is compared with the best of the others",
    )
    _filter(pretty)
    _mixture(pretty)
    _colours(pretty)
    pretty.add_argument(
        "-o",
        "--output",
        choices=["ansi", "html"],
        default="ansi",
        help="html: one log as an HTML page with a legend, in the colours of --readings corrected; default: ansi",
    )


def _diff(diff: argparse.ArgumentParser) -> None:
    diff.add_argument("baseline", metavar="BASELINE")
    diff.add_argument("log", metavar="LOG")
    _colours(diff)


def _grep(grep: argparse.ArgumentParser) -> None:
    grep.add_argument(
        "pattern",
        metavar="PATTERN",
        help="REGEX (found in the token), ~REGEX (not found), $nospace, $alpha, $alphaonly, $emoji, $alphaemoji, or "
        "$user=REGEX (or $message, $token, $character), which must match the whole value",
    )
    grep.add_argument("log", nargs="?", default="-", metavar="LOG")
    grep.add_argument(
        "-k",
        "--keep",
        choices=["all", "message", "token"],
        default="all",
        help="rows to write: all, those of messages with a selected token, or those of selected tokens; default: all",
    )
    grep.add_argument(
        "-a", "--and", "--and-pattern", dest="more", action="append", default=[], metavar="PATTERN",
        help="another pattern that must match; may be repeated",
    )  # fmt: skip


def _validate(validate: argparse.ArgumentParser) -> None:
    validate.add_argument("log", nargs="*", metavar="LOG")


def _compare(compare: argparse.ArgumentParser) -> None:
    compare.add_argument("log", nargs="+", help="files, each compared with the first or with --baseline")
    compare.add_argument("--baseline", metavar="LOG", help="log to compare with; default: the first file")
    compare.add_argument(
        "-m",
        "--metric",
        default="",
        help="wp, wc: hit3 (default), hit1, hit2 and so on, hit, mrr, bits (wp), idx0_hit3 to idx4_hit3, "
        "completion.characters and completion.tokens (wc); tc: pcpc (default), kpc, keystroke_savings; ic, wr: "
        "accuracy (default), base_accuracy, "
        "corrected_errors, miscorrected, improvement, bits (ic); we, ce: entropy.mean (default), entropy.bits, "
        "entropy.hit",
    )
    _output(compare, "csv")
    _filter(compare)
    _mixture(compare)
    compare.add_argument(
        "--cluster",
        choices=["auto", "user", "line"],
        default="auto",
        help="unit of resampling; auto (default): users if there are at least 10, else lines",
    )


def _serve(serve: argparse.ArgumentParser) -> None:
    serve.add_argument(
        "--model",
        required=True,
        metavar="MODEL",
        help="model to serve, the NAME in model:NAME of `run`, or `adaptive`",
    )
    _options(serve)


def _corpus(tools: argparse.ArgumentParser) -> None:
    kinds = tools.add_subparsers(dest="tool", required=True, metavar="TOOL")
    to_json = kinds.add_parser("to-json", help="convert plain text to JSON lines")
    to_json.add_argument("--user", help="userId for lines without one")
    to_json.add_argument("--timestamps", action="store_true", help="number the lines that have no timestamp")
    kinds.add_parser("to-text", help="convert JSON lines to plain text")
    check = kinds.add_parser(
        "check", help="print the number of tokens, the warnings and the first lines as JSON"
    )
    check.add_argument("-f", "--format", choices=["text", "json"], default="text")


Run: TypeAlias = Callable[[argparse.Namespace, Streams, ModelPlayer, Any], int]
COMMANDS: dict[str, tuple[Callable[[argparse.ArgumentParser], None], str, Run]] = {
    "run": (_run, "play a game: corpus on standard input, log on standard output", _play),
    "stats": (_stats, "compute statistics of logs", _logs),
    "ic-opt": (_ic_opt, "find the best mixture for an ic log", _logs),
    "pretty": (_pretty, "show a log, or the differences between logs, in colour", _logs),
    "diff": (_diff, "show the changes between two version 5 logs of one text, in colour", _logs),
    "grep": (_grep, "select tokens of a version 5 log", _logs),
    "validate": (_validate, "check version 5 logs against their schema", _logs),
    "compare": (_compare, "compare logs of one text with a baseline", _logs),
    "corpus": (_corpus, "convert and check corpora", _tool),
    "serve": (_serve, "serve a model over the protocol of model programs", _play),
}
