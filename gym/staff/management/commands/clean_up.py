from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser

from gym.pages import retention
from gym.site_command import SiteCommand
from gym.staff.actors import delete_old, moment


class Command(SiteCommand):
    help = (
        "Delete what has expired by the rules of the page /retention/, for a daily timer. Old jobs and runs are "
        "deleted only if you give their age."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        kept = "those that the page “Delete old jobs and runs” keeps are kept"
        parser.add_argument("--jobs", type=int, metavar="DAYS", help=f"delete jobs that ended before; {kept}")
        parser.add_argument(
            "--runs", type=int, metavar="DAYS", help=f"delete private runs older than this; {kept}"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            before = {what: moment(options[what]) for what in ("runs", "jobs") if options[what] is not None}
        except ValidationError as error:
            raise CommandError(error.messages[0]) from error
        lines = retention.clean_up()
        for what, time in before.items():
            lines.append(f"Old {what}: {delete_old(what, time)} deleted.")
        for line in lines or ["Nothing has expired."]:
            self.stdout.write(line)
