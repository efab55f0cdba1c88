"""Export predictions as tasks for lm-evaluation-harness and inspect_ai. Pure.

Both programs give the log-probability of a text, so a region's surprisal is that of the sentence up to the end of the
region minus that of the sentence up to its beginning. Any formula over sums of bits can be computed from these; the
exported Python file computes truth and margin, as `lmgym.suites.formulas.evaluation` does. An `&` of several
comparisons becomes one task for the whole prediction and one for each of its parts.

Equal texts are scored once per item, so that equal sides tie exactly, and a tie fails as in LM Gym.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lmgym.runs.compute import metric_of
from lmgym.runs.other_programs import Refused
from lmgym.suites.formats import SuiteDocument
from lmgym.suites.formulas import (
    ABSOLUTE_TOLERANCE,
    RELATIVE_TOLERANCE,
    ROUNDING_BITS,
    FormulaError,
    parse,
)
from lmgym.suites.formulas.nodes import (
    Arithmetic,
    Boolean,
    Call,
    Comparison,
    Logic,
    Negative,
    Not,
    Number,
    Numeric,
    Reference,
    canonical,
    references,
    walk,
)
from lmgym.suites.regions import join


@dataclass(frozen=True)
class EvaluationTask:
    """A prediction, or one comparison of a prediction that joins several with `&`.

    Attributes:
        name: name of the task, its data file and its Python function.
        is_part: whether it is one of several comparisons of a prediction.
    """

    name: str
    prediction: str
    tree: Boolean
    is_part: bool = False

    @property
    def formula(self) -> str:
        return canonical(self.tree)


@dataclass(frozen=True)
class Tasks:
    """Tasks of a suite, and a sentence about each prediction that cannot be expressed."""

    base: str
    tasks: tuple[EvaluationTask, ...]
    left_out: tuple[str, ...]


def evaluation_tasks(document: SuiteDocument, slug: str) -> Tasks:
    """Convert the predictions of a suite to tasks. Raises Refused if none can be expressed."""
    base = f"gym_{slug.replace('-', '_')}"
    tasks: list[EvaluationTask] = []
    left_out = []
    for number, prediction in enumerate(document.predictions, start=1):
        label = prediction.name or f"Prediction {number}"
        tree = _expressible(prediction.formula, metric_of(document))
        if isinstance(tree, str):
            left_out.append(f"{label} ({prediction.formula.strip()}) {tree}.")
            continue
        name = base if len(document.predictions) == 1 else f"{base}_{number}"
        tasks.append(EvaluationTask(name, label, tree))
        if isinstance(tree, Logic) and tree.operator == "&":
            tasks.extend(
                EvaluationTask(f"{name}_part{part}", label, operand, is_part=True)
                for part, operand in enumerate(tree.operands, start=1)
            )
    if not tasks:
        raise Refused("evaluation tasks", left_out or ["The suite has no predictions."])
    return Tasks(base, tuple(tasks), tuple(left_out))


def _expressible(text: str, metric: str) -> Boolean | str:
    """Return the formula's tree, or the reason why a task cannot compute it."""
    try:
        tree = parse(text).ast
    except FormulaError as error:
        return f"cannot be read: {error}"
    named = references(tree)
    if not named:
        return "refers to no region"
    if metric != "sum" and any(reference.region != "*" for reference in named):
        return f"uses the suite’s metric {metric}; these programs give only sums of bits"
    for node, _ in walk(tree):
        if isinstance(node, Arithmetic):
            divisors = [term for operator, term in node.rest if operator == "/"]
            if any(not isinstance(term, Number) or term.value == 0 for term in divisors):
                return "divides by zero or by something other than a number, so it may have no value"
    return tree


def task_rows(document: SuiteDocument, task: EvaluationTask, policy: str) -> Iterator[dict[str, Any]]:
    """Yield the data of each item: the texts to score, and for each region of the formula the positions in `texts` of
    the sentence up to its beginning and up to its end. Position -1 is the empty text.

    Args:
        policy: how regions are joined: "space", "natural" or "none".
    """
    wanted = list(dict.fromkeys(reference.key for reference in references(task.tree)))
    items: dict[int, dict[str, tuple[str, ...]]] = {}
    for row in document.sentences:
        items.setdefault(row.item, {})[row.condition] = row.contents
    for item, contents in items.items():
        places: dict[str, int] = {"": -1}
        starts, ends = [], []
        for condition, region in wanted:
            text, spans = join(contents[condition], policy)
            start, end = (0, len(text)) if isinstance(region, str) else spans[region - 1]
            if start == end:
                start = end = 0  # an empty region has 0 bits
            starts.append(_position(text[:start], places))
            ends.append(_position(text[:end], places))
        if len(places) == 1:  # lm-eval needs a text
            _position(join(contents[wanted[0][0]], policy).text, places)
        yield {
            "item": item,
            "texts": list(places)[1:],
            "regions": [canonical(Reference(*key)) for key in wanted],
            "starts": starts,
            "ends": ends,
        }


def _position(text: str, places: dict[str, int]) -> int:
    return places.setdefault(text, len(places) - 1)


def _truth(node: Boolean) -> str:
    """Write a formula as a Python condition over `bits`. Differences that are rounding count as none."""
    match node:
        case Comparison(operator="<" | ">" | "!="):
            return f"{_margin(node)} >= {ROUNDING_BITS}"
        case Comparison():
            return f"{_margin(node)} > -{ROUNDING_BITS}"
        case Not():
            return f"not ({_truth(node.operand)})"
        case Logic():
            word = " and " if node.operator == "&" else " or "
            return word.join(f"({_truth(operand)})" for operand in node.operands)


def _margin(node: Boolean) -> str:
    """Write the margin of a formula in bits as a Python expression over `bits`."""
    match node:
        case Comparison(operator="=" | "!="):
            same = f"same({_value(node.left)}, {_value(node.right)})"
            return same if node.operator == "=" else f"-{same}"
        case Comparison():
            upper, lower = (
                (node.left, node.right) if node.operator in {">", ">="} else (node.right, node.left)
            )
            return f"{_operand(upper)} - {_operand(lower)}"
        case Not():
            return f"-({_margin(node.operand)})"
        case Logic():
            parts = ", ".join(_margin(operand) for operand in node.operands)
            return f"{'every' if node.operator == '&' else 'some'}({parts})"


def _value(node: Numeric) -> str:
    match node:
        case Number():
            return repr(node.value)
        case Reference():
            return f"bits[{json.dumps(canonical(node))}]"
        case Negative():
            return f"-{_operand(node.operand)}"
        case Arithmetic():
            rest = "".join(f" {operator} {_operand(term)}" for operator, term in node.rest)
            return _operand(node.first) + rest
        case Call(function="abs"):
            return f"abs({_value(node.arguments[0])})"
        case Call():
            values = f"[{', '.join(_value(argument) for argument in node.arguments)}]"
            return (
                f"sum({values}) / {len(node.arguments)}"
                if node.function == "mean"
                else f"{node.function}({values})"
            )


def _operand(node: Numeric) -> str:
    text = _value(node)
    return f"({text})" if isinstance(node, Arithmetic | Negative | Call) else text


def outcomes_code(tasks: Sequence[EvaluationTask]) -> str:
    """Write the Python that computes outcomes: a function for each task."""
    functions = "".join(
        f"""

def {task.name}(doc, results):
    {json.dumps(task.formula)}
    bits = region_bits(doc, results)
    return outcome({_truth(task.tree)}, {_margin(task.tree)})
"""
        for task in tasks
    )
    return f'''from math import isnan, log, nan


def region_bits(doc, results):
    """Return the surprisal in bits of each region of the formula.

    `results`: a pair for each of doc["texts"]; the first part is the natural logarithm of its probability.
    """

    def bits(position):
        return 0.0 if position < 0 else -results[position][0] / log(2)

    places = zip(doc["regions"], doc["starts"], doc["ends"])
    return {{region: bits(end) - bits(start) for region, start, end in places}}


def same(a, b):
    """Return the margin of `=`, which is approximate."""
    return {ABSOLUTE_TOLERANCE} + {RELATIVE_TOLERANCE} * abs(b) - abs(a - b)


def every(*margins):
    """Return the margin of `&`."""
    return nan if any(map(isnan, margins)) else min(margins)


def some(*margins):
    """Return the margin of `|`."""
    return nan if any(map(isnan, margins)) else max(margins)


def outcome(is_true, margin):
    """Return the results of an item. Without a margin, in bits, it fails."""
    return {{"acc": float(is_true and not isnan(margin)), "margin": margin}}
{functions}'''


def data_of(document: SuiteDocument, task: EvaluationTask, policy: str) -> str:
    rows = task_rows(document, task, policy)
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def readme(program: str, chosen: Tasks, slug: str, revision: int, policy: str, address: str, run: str) -> str:
    rows = "".join(
        f"* `{task.name}`: {'part of ' if task.is_part else ''}{task.prediction}: `{task.formula}`\n"
        for task in chosen.tasks
    )
    left_out = "".join(f"* {reason}\n" for reason in chosen.left_out)
    missing = f"Not exported, because {program} cannot express them:\n\n{left_out}\n" if left_out else ""
    return f"""# {slug} r{revision} for {program}

{address}

{rows}
{missing}Run them in the folder that contains `{chosen.base}/`:

    {run}

`acc` is the share of items for which the formula is true, and `margin` the mean number of bits by which it is. They
equal LM Gym's pass rate and mean margin under these conditions: start token first, no end token, regions joined by
policy `{policy}`, metric `sum`. A tie fails in both. The acc of a prediction that joins comparisons by `&` is the share
of items for which all hold, which does not follow from the acc of its parts.

The surprisal of a region is that of the sentence up to its end minus that up to its beginning. This is the sum over
the region's tokens if no token crosses a boundary, as in languages that separate words by spaces.
"""
