from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from gym.accounts import second_factor
from gym.accounts.models import User
from gym.site_command import SiteCommand


class Command(SiteCommand):
    help = (
        "Delete the second factors of an account whose owner has lost them: authenticator app, passkeys and recovery "
        "codes. They sign in with their password and set up a new one."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")

    def handle(self, *args: Any, **options: Any) -> None:
        user = User.objects.filter(username=options["username"]).first()
        if user is None:
            raise CommandError(f"There is no account {options['username']}.")
        if not second_factor.reset(user):
            raise CommandError(f"{user.username} has no second factor.")
        self.stdout.write(f"{user.username} can sign in without a second factor now.")
