"""`python -m lmgym`: the command line."""

import sys

from lmgym.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
