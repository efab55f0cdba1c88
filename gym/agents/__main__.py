"""`python -m gym.agents`: the command line without a site."""

import sys

from gym.agents.core.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
