"""Answer requests with minicons, in the Python that has it: a JSON list on standard input, one line of JSON as output.

A request names a scorer class, the arguments of its constructor, a method and the arguments of the method; and as
`restored` a method of tokenizers that minicons 0.3.39 calls and transformers 5 has removed.
"""

from __future__ import annotations

import json
import re
import sys
from importlib.metadata import version
from typing import Any


def answer(request: dict[str, Any]) -> Any:
    from minicons import scorer

    model = getattr(scorer, request["scorer"])(request["folder"], "cpu", **request["init"])
    if request["restored"] and not hasattr(model.tokenizer, request["restored"]):
        setattr(model.tokenizer, request["restored"], model.tokenizer.__call__)
    named = dict(request["named"])
    if "reduction" in named:  # what JSON cannot express
        named["reduction"] = {"sum": lambda scores: scores.sum(0).item()}[named["reduction"]]
    if "tokenize_function" in named:
        named["tokenize_function"] = {"wordpunct": re.compile(r"\w+|[^\w\s]+").findall}[
            named["tokenize_function"]
        ]
    return getattr(model, request["method"])(*request["arguments"], **named)


def attempt(request: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"result": answer(request)}
    except Exception as error:  # noqa: BLE001  an error is an answer, too
        return {"error": f"{type(error).__name__}: {error}"}


if __name__ == "__main__":
    answers = [attempt(request) for request in json.load(sys.stdin)]
    print(json.dumps({"version": version("minicons"), "answers": answers}))
