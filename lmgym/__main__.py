"""`python -m lmgym` and the console script: the command line."""

import sys

from lmgym.cli import main


def run() -> None:
    sys.exit(main(sys.argv[1:]))


if __name__ == "__main__":
    run()
