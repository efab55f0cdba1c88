"""`python -m gym.lmchallenge`: the command line without Django."""

import sys

from gym.lmchallenge.core.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
