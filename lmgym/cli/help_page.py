"""Generate docs/commands.md from the parsers of all commands: `python -m lmgym.cli.help_page` in a checkout.

Uses the parsers instead of the output of --help, whose wrapping differs between versions of Python.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from lmgym.cli import COMMANDS, SHELLS
from lmgym.cli.shared import EXIT_STATUS
from lmgym.cli.tree import subcommand

FILE = Path(__file__).resolve().parents[2] / "docs" / "commands.md"
_INTRO = """# Commands

`lmgym` (or `python -m lmgym`) works with suites, models and results on your own machine, and with a site. This page
lists the arguments of each command, as `--help` prints them; `python -m lmgym.cli.help_page` generates it.

```sh
# on your own machine
lmgym evaluate suite.json -m openai-community/gpt2 --save results
# on a site: login asks once for a token from your profile page; push prints the suite's slug
lmgym login https://gym.example.org
lmgym push suite.json --freeze
lmgym run my_suite -m demo-gpt2 --fail-under 0.8
```

## Sites and tokens

Site commands use the site from `--site URL`, else from `LM_GYM_SITE`, else from `lmgym login`. The token is
`LM_GYM_TOKEN`, or the one stored by `lmgym login`, which is sent to no other site. `score`, `compare`, `lmc` and
`propara` run locally unless `--site` is given; `--site` without a URL means the default site.

## Exit status

Every command exits with one of these; commands that run a site (`serve` to `manage`) exit with 1 for any error.

| status | meaning |
|---:|---|
"""
_COMPLETION = """
## Completion

```sh
{lines}
```
"""
_INSTALLED = {
    "bash": "lmgym --print-completion bash > ~/.local/share/bash-completion/completions/lmgym",
    "zsh": "lmgym --print-completion zsh > /usr/local/share/zsh/site-functions/_lmgym",
    "fish": "lmgym --print-completion fish > ~/.config/fish/completions/lmgym.fish",
}


def page() -> str:
    """Render the page as Markdown."""
    statuses = "".join(f"| {status} | {text} |\n" for status, text in EXIT_STATUS.items())
    lines = "\n".join(_INSTALLED[shell] for shell in SHELLS)
    sections = "".join(_command(name) for name in COMMANDS)
    return f"{_INTRO}{statuses}{_COMPLETION.format(lines=lines)}{sections}"


def _command(name: str) -> str:
    module = import_module(COMMANDS[name][0])
    text = "".join(_sections(subcommand(name), 2))
    either = getattr(module, "LOCAL_OR_SITE", ())
    if either:
        at_site = module.site_parser(f"lmgym {name}")
        for sub in either:
            chosen = _subparsers(at_site)[sub]
            text += "".join(_sections(chosen, 3, f"{chosen.prog} --site"))
    return text


def _sections(parser: argparse.ArgumentParser, level: int, title: str = "") -> Iterator[str]:
    title = title or parser.prog
    yield f"\n{'#' * level} {title}\n"
    if parser.description:
        yield f"\n{parser.description}\n"
    subparsers = _subparsers(parser)
    usage = [title, *map(_usage, _arguments(parser)), *(["COMMAND"] if subparsers else [])]
    if not subparsers:
        yield f"\n    {' '.join(usage)}\n"
    for group in parser._action_groups:
        actions = [action for action in group._group_actions if not _is_left_out(action)]
        if actions:
            own_title = group.title not in ("positional arguments", "options")
            plain = "Arguments" if group.title == "positional arguments" else "Options"
            yield f"\n{str(group.title).capitalize() if own_title else plain}:\n\n"
            yield "".join(f"* {_names(action)}{_text(action)}\n" for action in actions)
    for sub in subparsers.values():
        yield from _sections(sub, 3)


def _arguments(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Return the required arguments, options first."""
    needed = [
        action
        for action in parser._actions
        if not _is_left_out(action) and (action.required or not action.option_strings)
    ]
    return sorted(needed, key=lambda action: not action.option_strings)


def _subparsers(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def _is_left_out(action: argparse.Action) -> bool:
    return (
        isinstance(action, argparse._HelpAction | argparse._SubParsersAction)
        or action.help == argparse.SUPPRESS
    )


def _usage(action: argparse.Action) -> str:
    value = _value(action)
    if action.option_strings:
        return f"{_longest(action)} {value}".rstrip()
    return f"[{value}]" if action.nargs in ("?", "*") else value


def _names(action: argparse.Action) -> str:
    if not action.option_strings:
        return f"`{_value(action)}`"
    names = sorted(action.option_strings, key=len, reverse=True)
    value = _value(action)
    return ", ".join(f"`{name} {value}`" if value and name == names[0] else f"`{name}`" for name in names)


def _longest(action: argparse.Action) -> str:
    return max(action.option_strings, key=len)


def _value(action: argparse.Action) -> str:
    """Return the metavar of an argument, with dots if it is repeated; empty for an option without a value."""
    if action.nargs == 0:
        return ""
    if action.metavar is not None:
        name = action.metavar if isinstance(action.metavar, str) else " ".join(action.metavar)
    elif action.choices is not None:
        name = "|".join(map(str, action.choices))
    else:
        name = action.dest.upper() if action.option_strings else action.dest
    if action.nargs in ("+", "*"):
        return f"{name}…"
    return f"[{name}]" if action.nargs == "?" and action.option_strings else name


def _text(action: argparse.Action) -> str:
    text = (action.help or "").replace("%%", "%")
    if action.required and action.option_strings:
        text = f"required; {text}" if text else "required"
    return f": {text}" if text else ""


def main() -> int:
    FILE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
