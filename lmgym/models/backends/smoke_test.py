"""Load a model and score a few sentences in a separate process: `python -m lmgym.models.backends.smoke_test`.

Standard input is JSON: the model's `slug`, the arguments `kind`, `config`, `model_dir` and `hub_allowed` of
`load_backend`, `hub_budget` (`budget` of `hub.fetch`), `hub_token` (value and name of a HubToken, or null), and
`parent`, the process ID of the caller. Standard output is lines of JSON. While files are downloaded, they are
`{"downloaded", "total"}` in bytes. The last line is
`{"facts", "probe", "seconds", "repo"}` with the current name of the Hub's repository, or "", or

    {"problem": why the model does not work, "memory_in_use": other programs use the memory it needs,
     "unavailable": the same request may succeed later, "lacks": what is missing on this machine,
     "raised": standard error ends with a traceback}

Libraries print to standard error. `models_registry.actors` starts this module and can kill it.
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

from lmgym.models.backends import (
    BackendError,
    BackendUnavailable,
    MemoryInUse,
    NotOnThisMachine,
    hub,
    hub_listing,
    load_backend,
    probe,
)
from lmgym.models.backends.base import describe_exception

PR_SET_PDEATHSIG = 1


def run_smoke_test(request: dict[str, Any], report: hub.Report | None = None) -> dict[str, Any]:
    """Download, load and probe the requested model. Problems with the model are returned, not raised."""
    config, facts = request["config"], {}
    try:
        if config.get("source") == "hub" and request["hub_allowed"]:
            revision, budget = config.get("revision", "main"), request["hub_budget"]
            token = hub_listing.HubToken(**request["hub_token"]) if request["hub_token"] else None
            fetched = hub.fetch(
                config["repo"], revision, report=report, budget=budget, token=token, ask_access=True
            )
            config = config | {"repo": fetched.repo, "revision": fetched.commit}
            facts = {"licence": fetched.licence}
        started = perf_counter()
        backend = load_backend(
            request["kind"],
            config,
            model_dir=Path(request["model_dir"]),
            hub_allowed=request["hub_allowed"],
        )
        seconds = perf_counter() - started
        probe_result = probe(backend)
    except BackendError as error:
        lacks = error.lacks(request["slug"]) if isinstance(error, NotOnThisMachine) else ""
        return _problem(
            str(error),
            memory_in_use=isinstance(error, MemoryInUse),
            unavailable=isinstance(error, BackendUnavailable),
            lacks=lacks,
        )
    except MemoryError:
        return _problem("The model does not fit into the memory of this machine.")
    except Exception as error:  # noqa: BLE001  any exception of a library is a result of the test
        traceback.print_exc()
        return _problem(describe_exception(error, Path(request["model_dir"])), raised=True)
    repo = config.get("repo", "")
    facts = backend.facts.to_dict() | facts
    return {"facts": facts, "probe": probe_result, "seconds": seconds, "repo": repo}


def _problem(
    message: str,
    *,
    memory_in_use: bool = False,
    unavailable: bool = False,
    lacks: str = "",
    raised: bool = False,
) -> dict[str, Any]:
    return {
        "problem": message,
        "memory_in_use": memory_in_use,
        "unavailable": unavailable,
        "lacks": lacks,
        "raised": raised,
    }


def die_first(parent: int) -> None:
    """Make the kernel kill this process first when memory runs out, and also when its parent worker ends."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            sys.exit("the worker has ended")


def main() -> None:
    """Read a request from standard input and write the result to standard output."""
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as output:
        os.dup2(2, 1)
        request = json.load(sys.stdin)
        die_first(request["parent"])

        def report(downloaded: int, total: int) -> None:
            print(json.dumps({"downloaded": downloaded, "total": total}), file=output, flush=True)

        print(json.dumps(run_smoke_test(request, report)), file=output)


if __name__ == "__main__":
    main()
