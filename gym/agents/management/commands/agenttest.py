from __future__ import annotations

from gym.agents.management.core_command import CoreCommand
from lmgym.agents.cli import COMMANDS


class Command(CoreCommand):
    name = "agenttest"
    help = COMMANDS["agenttest"]
