"""Parser of command lines whose errors are one line, with “Did you mean …?” for what is misspelt."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, NoReturn


class Parser(argparse.ArgumentParser):
    """`argparse.ArgumentParser` without the usage before an error. Its subparsers are of the same class. The parser of
    ProPara is not, because its errors are those of the reference."""

    _words: Sequence[str] = ()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        self._words = list(args or ())
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Print one line and exit with status 2. An unknown option is named first: without it, argparse may complain
        about what its value was taken for, or about the option that was meant."""
        parser, words = _innermost(self, self._words)
        known = list(parser._option_string_actions)
        for word in words:
            name = word.partition("=")[0]
            if _is_unknown(name, known):
                message = f"unknown option {name}{_hint(name, known)}"
                break
        end = "" if message[-1] in ".?…" else "."
        self.exit(2, f"{parser.prog}: {message}{end} See {parser.prog} --help.\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            if hint := _hint(str(value), list(map(str, action.choices or ()))):
                error.message = f"unknown value {value!r}{hint}"
            raise


def _is_unknown(name: str, known: Sequence[str]) -> bool:
    if name.startswith("--"):
        return not any(option.startswith(name) for option in known)  # options may be abbreviated
    return name[:1] == "-" and name[1:2].isalpha() and name[:2] not in known


def _hint(name: str, known: Sequence[str]) -> str:
    from lmgym.text.near_names import nearest_name  # rapidfuzz: for an error only

    meant = nearest_name(name, known)
    return f". Did you mean {meant}?" if meant else ""


def _innermost(
    parser: argparse.ArgumentParser, words: Sequence[str]
) -> tuple[argparse.ArgumentParser, Sequence[str]]:
    """Return the parser of the subcommand, and the words that it parses; the words of a parser with subcommands end
    where the subcommand should be."""
    words = words[: words.index("--")] if "--" in words else words
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for place, word in enumerate(words):
                if word in action.choices:
                    return _innermost(action.choices[word], words[place + 1 :])
            place = next((k for k, word in enumerate(words) if not word.startswith("-")), len(words))
            return parser, words[:place]
    return parser, words
