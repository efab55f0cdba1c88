"""`python -m lmgym.agents`: the command line without a site."""

import sys

from lmgym.agents.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
