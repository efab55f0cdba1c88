"""`python -m lmgym.lmchallenge`: the command line without Django."""

import sys

from lmgym.lmchallenge.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
