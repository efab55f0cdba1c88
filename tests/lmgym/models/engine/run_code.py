"""A step of a benchmark for tests: python -m … FOLDER CODE runs the code, which finds the folder as `work`."""

import sys
from pathlib import Path

if __name__ == "__main__":
    exec(sys.argv[2], {"sys": sys, "work": Path(sys.argv[1])})
