"""A benchmark step for tests: `python -m … FOLDER CODE` runs the code with the folder as `work`."""

import sys
from pathlib import Path

if __name__ == "__main__":
    exec(sys.argv[2], {"sys": sys, "work": Path(sys.argv[1])})
