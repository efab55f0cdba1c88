from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from gym.site_command import database_problem
from lmgym.lmchallenge.cli import main as cli
from lmgym.lmchallenge.cli.streams import Streams
from lmgym.lmchallenge.errors import LmcError
from lmgym.lmchallenge.play import players
from lmgym.lmchallenge.play.player import Player
from lmgym.lmchallenge.play.process import Command as Process

COMMANDS = ("run", "serve")


class Command(BaseCommand):
    help = (
        "LM Challenge with models of this site: play a typing game, or serve a model over the protocol. "
        "For all other commands on games and logs, use `lmgym lmc`."
    )
    requires_system_checks: list[str] = []

    def run_from_argv(self, argv: list[str]) -> None:
        """Use the options and exit codes of `lmgym lmc` instead of Django's options (-v, --settings, …)."""
        sys.exit(main(argv[2:], f"manage.py {argv[1]}"))

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("arguments", nargs=argparse.REMAINDER)

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the command when it is called through `call_command`."""
        code = main(options["arguments"], "manage.py lmc")
        if code:
            sys.exit(code)


def main(argv: list[str], prog: str, streams: Streams | None = None) -> int:
    """Run `lmc run` or `lmc serve` with the site's players and models; refuse commands that do not need a
    site."""
    if argv and argv[0] in cli.COMMANDS and argv[0] not in COMMANDS:
        sys.stderr.write(f"{prog}: {argv[0]} does not need a site. Use lmgym lmc {argv[0]}.\n")
        return cli.EXIT_ERROR
    return cli.main(argv, prog, streams=streams, model=_model, named=_named)


def _named() -> Mapping[str, Process]:
    return players.configured(settings.GYM_LMC_PLAYERS)


def _model(slug: str, options: Mapping[str, Any]) -> Player:
    """Load one of the site's models. Anyone who can run manage.py may use all models."""
    from lmgym.lmchallenge.play.backend_players import player_for_backend
    from lmgym.models.backends import BackendError
    from models_registry.models import RegisteredModel
    from models_registry.warm import load_pinned

    if problem := database_problem():
        raise LmcError(problem)
    try:
        registered = RegisteredModel.objects.get(slug=slug)
    except RegisteredModel.DoesNotExist:
        raise LmcError(
            f"There is no model {slug!r}.", "A model's short name is the last part of its page's address."
        ) from None
    if not registered.is_hosted:
        raise LmcError(registered.not_hosted)
    try:
        return player_for_backend(load_pinned(registered), options)
    except BackendError as error:
        raise LmcError(error.message, error.hint) from error
