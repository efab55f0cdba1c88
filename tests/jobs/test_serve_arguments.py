"""Numeric arguments of the servers."""

from __future__ import annotations

import pytest
from django.core.management import CommandError

from gym.jobs.management.commands import serve, web


@pytest.mark.parametrize("command", [serve, web])
@pytest.mark.parametrize(
    "given", [["--port", "99999"], ["--port", "0"], ["--threads", "0"], ["--processes", "0"]]
)
def test_numbers_that_cannot_be_are_refused(command, given):
    with pytest.raises(CommandError, match=f"argument {given[0]}: invalid"):
        command.Command().create_parser("manage.py", "serve").parse_args(given)


def test_serve_has_a_worker():
    with pytest.raises(CommandError, match="argument --workers: invalid"):
        serve.Command().create_parser("manage.py", "serve").parse_args(["--workers", "0"])
