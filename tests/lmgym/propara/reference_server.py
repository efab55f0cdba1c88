"""Run the reference's main() repeatedly: read one JSON list of arguments per line, write exit code and
output.

Started by test_against_the_reference.py as a separate program, because PYTHONHASHSEED takes effect at
start-up.
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
        except Exception:  # a traceback: the reference's exit code is 1, whatever the exception
            code = 1
    print(json.dumps([code, out.getvalue()]), flush=True)
