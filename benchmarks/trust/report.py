"""Cases and answers as Markdown."""

from __future__ import annotations

import platform
import textwrap
import time
from collections.abc import Sequence
from importlib.metadata import version

import lmgym
from benchmarks.trust.case import Ask, Case, Value, is_right
from benchmarks.trust.programs import Answer, Program


def report(cases: Sequence[Case], programs: dict[str, Program]) -> str:
    """Format a summary, a table with a row per case, and a section per case with every call."""
    sections = [section(number, case, programs) for number, case in enumerate(cases, start=1)]
    head = textwrap.fill(f"{facts()} {summary(cases, programs)}", 120, break_on_hyphens=False)
    return "\n\n".join([head, table(cases, programs), *sections])


def facts() -> str:
    versions = ", ".join(f"{name} {version(name)}" for name in ("torch", "transformers", "numpy"))
    return f"Measured on {time.strftime('%Y-%m-%d')}, CPU, Python {platform.python_version()}, {versions}."


def summary(cases: Sequence[Case], programs: dict[str, Program]) -> str:
    ours = sum(is_right(case, case.ours) for case in cases)
    sentences = [f"LM Gym is right in {ours} of {len(cases)} cases."]
    for name, program in programs.items():
        if not program.version:
            sentences.append(f"{name} is not installed.")
            continue
        rights = [
            [is_right(case, program.answers[one].value) for one in asks_of(case, name)]
            for case in cases
            if asks_of(case, name)
        ]
        wrong = [values for values in rights if not values[0]]
        sentences.append(
            f"{name} {program.version} was asked in {len(rights)}: in {len(wrong)} a call gives another answer, and in "
            f"{sum(map(any, wrong))} of these an option or another call gives the right one."
        )
    return " ".join(sentences)


def table(cases: Sequence[Case], programs: dict[str, Program]) -> str:
    names = [f"{name} {program.version}".strip() for name, program in programs.items()]
    lines = [
        row("case", "right", f"LM Gym {lmgym.__version__}", *names),
        f"|---|---|---|{'---|' * len(names)}",
    ]
    for number, case in enumerate(cases, start=1):
        cells = [cell(case, name, program) for name, program in programs.items()]
        ours = judged(case, Answer(case.ours))
        lines.append(row(f"{number}. {case.title}", shown(case.right), ours, *cells))
    return "\n".join(lines)


def row(*cells: str) -> str:
    escaped = [cell.replace("|", "\\|") for cell in cells]
    return f"| {' | '.join(escaped)} |"


def cell(case: Case, name: str, program: Program) -> str:
    """Return a program's first answer, and if it is wrong, what gives the right one."""
    asks = asks_of(case, name)
    if not (asks and program.version):
        return "not installed" if asks else "–"
    answer = program.answers[asks[0]]
    if is_right(case, answer.value):
        return judged(case, answer)
    right = [one.instead for one in asks if is_right(case, program.answers[one].value)]
    return "; ".join([judged(case, answer), *(f"right {instead}" for instead in right)])


def section(number: int, case: Case, programs: dict[str, Program]) -> str:
    lines = [row("program", "call", "answer"), "|---|---|---|"]
    lines.append(row("LM Gym", f"`{case.call}`", judged(case, Answer(case.ours))))
    for name, program in programs.items():
        for one in asks_of(case, name):
            answer = judged(case, program.answers[one]) if program.version else "not installed"
            instead = f", {one.instead}" if one.instead else ""
            lines.append(row(f"{name}{instead}", f"`{one.call()}`", answer))
    return "\n\n".join([f"### {number}. {case.title}", case.text, "\n".join(lines)])


def asks_of(case: Case, name: str) -> list[Ask]:
    return [one for one in case.asks if one.program == name]


def judged(case: Case, answer: Answer) -> str:
    """Return an answer, in bold if it is not the right one."""
    kind = f" ({answer.error.partition(':')[0]})" if answer.error else ""
    text = shown(answer.value) + kind
    return text if is_right(case, answer.value) else f"**{text}**"


def shown(value: Value) -> str:
    if value is None:
        return "no value"
    return f"{value:.3f}" if isinstance(value, float) else value


def wrong_answers(cases: Sequence[Case]) -> list[str]:
    """Return the titles of cases that LM Gym answers wrongly."""
    return [case.title for case in cases if not is_right(case, case.ours)]
