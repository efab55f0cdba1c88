from __future__ import annotations

from gym.agents.core.cli import COMMANDS
from gym.agents.management.core_command import CoreCommand


class Command(CoreCommand):
    name = "assess"
    help = COMMANDS["assess"]
