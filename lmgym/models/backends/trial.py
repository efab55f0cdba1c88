"""Load a model and try it out in a process that can be ended: `python -m lmgym.models.backends.trial`.

Standard input is JSON with the model's slug and the arguments of `load_backend`. Standard output is JSON: {"problem":
why it does not work, "no_room": whether others use the memory it needs, "lacks": what of it is not on this machine,
"raised": whether standard error ends with a traceback}, or {"facts", "probe", "seconds"}. What libraries print goes to
standard error. `models_registry.actors` starts it.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import sys
import traceback
from pathlib import Path
from time import perf_counter
from typing import Any

from lmgym.models.backends import BackendError, NoRoom, NotOnThisMachine, load_backend, probe
from lmgym.models.backends.base import describe_exception

PR_SET_PDEATHSIG = 1


def try_out(request: dict[str, Any]) -> dict[str, Any]:
    started = perf_counter()
    try:
        backend = load_backend(
            request["kind"],
            request["config"],
            model_dir=Path(request["model_dir"]),
            hub_allowed=request["hub_allowed"],
        )
        seconds = perf_counter() - started
        found = probe(backend)
    except BackendError as error:
        lacks = error.lacks(request["slug"]) if isinstance(error, NotOnThisMachine) else ""
        return _problem(str(error), no_room=isinstance(error, NoRoom), lacks=lacks)
    except MemoryError:
        return _problem("The model does not fit into the memory of this machine.")
    except Exception as error:  # noqa: BLE001  whatever a library raises about a model is what the check found
        traceback.print_exc()
        return _problem(describe_exception(error, Path(request["model_dir"])), raised=True)
    return {"facts": backend.facts.to_dict(), "probe": found, "seconds": seconds}


def _problem(message: str, *, no_room: bool = False, lacks: str = "", raised: bool = False) -> dict[str, Any]:
    return {"problem": message, "no_room": no_room, "lacks": lacks, "raised": raised}


def die_first(parent: int) -> None:
    """When memory runs out this process is the one to be killed, and it never outlives the worker that started it."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            sys.exit("the worker is gone")


def main() -> None:
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        os.dup2(2, 1)
        request = json.load(sys.stdin)
        die_first(request["parent"])
        json.dump(try_out(request), answers)


if __name__ == "__main__":
    main()
