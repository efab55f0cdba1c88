"""Runs the reference's main() again and again: one JSON list of arguments per line in, code and output out.

Started by test_beside_the_reference.py as a program of its own, because PYTHONHASHSEED counts from the start.
"""

import contextlib
import io
import json
import os
import sys

sys.path.insert(0, sys.argv[1])
import evaluator  # type: ignore[import-not-found]

for line in sys.stdin:
    folder, *arguments = json.loads(line)
    os.chdir(folder)
    out, code = io.StringIO(), 0
    with contextlib.redirect_stdout(out):
        try:
            evaluator.main(*arguments)
        except SystemExit as left:
            code = int(left.code or 0)
        except Exception:  # a traceback: whatever it is, the reference's exit code is 1
            code = 1
    print(json.dumps([code, out.getvalue()]), flush=True)
