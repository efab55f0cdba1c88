"""Answer requests with lm-eval, in the Python that has it: a JSON list on standard input, one line of JSON as output.

A request names a model folder, the arguments of HFLM, and a method of HFLM with the texts; or a task with its folder,
which `simple_evaluate` runs on each of the models in turn.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from typing import Any


def answer(request: dict[str, Any]) -> Any:
    return task(request) if request["method"] == "simple_evaluate" else method(request)


def method(request: dict[str, Any]) -> Any:
    """Return log-likelihoods in nats, in the order of the texts."""
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    name = request["method"]
    model = HFLM(pretrained=request["folder"], device="cpu", **request["init"])
    requests = [
        Instance(request_type=name, doc={}, arguments=tuple(texts), idx=at)
        for at, texts in enumerate(request["arguments"])
    ]
    results = getattr(model, name)(requests, disable_tqdm=True)
    return [result[0] if isinstance(result, tuple) else result for result in results]


def task(request: dict[str, Any]) -> Any:
    """Return the accuracy and the log-likelihoods of the last model's choices, item by item."""
    from lm_eval import simple_evaluate
    from lm_eval.tasks import TaskManager

    name, results = request["task"], {}
    for folder in request["folders"]:
        results = simple_evaluate(
            model="hf",
            model_args={"pretrained": folder, **request["init"]},
            tasks=[name],
            task_manager=TaskManager(include_path=request["tasks"], include_defaults=False),
            device="cpu",
            bootstrap_iters=0,
            **request["named"],
        )
    items = results["samples"][name]
    return {
        "acc": results["results"][name]["acc,none"],
        "choices": [[float(choice[0]) for choice in item["filtered_resps"]] for item in items],
    }


def attempt(request: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"result": answer(request)}
    except Exception as error:  # noqa: BLE001  an error is an answer, too
        return {"error": f"{type(error).__name__}: {error}"}


if __name__ == "__main__":
    answers = [attempt(request) for request in json.load(sys.stdin)]
    print(json.dumps({"version": version("lm-eval"), "answers": answers}))
