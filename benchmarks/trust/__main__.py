"""Ask LM Gym, minicons and lm-eval the fifteen questions of docs/trust.md, and print the answers as Markdown.

    python -m benchmarks.trust --minicons PYTHON --lm-eval PYTHON
    python -m benchmarks.trust --write          # into docs/trust.md

PYTHON is a Python with the program; without one, its column says "not installed". The exit status is 1 if an answer of
LM Gym is wrong.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from benchmarks.trust.case import LM_EVAL, MINICONS
from benchmarks.trust.cases import CASES
from benchmarks.trust.programs import VARIABLES, ask
from benchmarks.trust.report import report, wrong_answers
from benchmarks.web.record import DOCS, put

PAGE = DOCS / "trust.md"


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.trust",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    for program in (MINICONS, LM_EVAL):
        variable = VARIABLES[program]
        parser.add_argument(
            f"--{program}",
            dest=program,
            metavar="PYTHON",
            default=os.environ.get(variable, ""),
            help=f"default: ${variable}",
        )
    parser.add_argument("--write", action="store_true", help="write the answers into docs/trust.md")
    options = vars(parser.parse_args())
    os.environ |= {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    with tempfile.TemporaryDirectory() as folder:
        cases = [case(Path(folder)) for case in CASES]
        programs = {name: ask(name, options[name], cases, Path(folder)) for name in (MINICONS, LM_EVAL)}
    text = report(cases, programs)
    print(text)
    if options["write"]:
        PAGE.write_text(put(PAGE.read_text(encoding="utf-8"), "trust", text), encoding="utf-8")
    wrong = wrong_answers(cases)
    if wrong:
        print(f"LM Gym is wrong: {'; '.join(wrong)}", file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
