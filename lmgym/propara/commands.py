"""Commands besides the reference's two: check, compare, convert, prompts, score-answers, template.

They read files as the site does, with repairs and with all problems at once.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from typing import TYPE_CHECKING, Any, TextIO

from lmgym.propara.convert import grids_to_json, prompt_lines, template
from lmgym.propara.errors import Problem, ProParaError
from lmgym.propara.grid import read_bytes, read_grids, read_sentences
from lmgym.propara.groups import abbreviated, problem_groups, repair_groups
from lmgym.propara.report import Report, evaluate
from lmgym.propara.submission_warnings import CODES
from lmgym.propara.uploads import (
    ParsedUpload,
    ReferenceAnswers,
    Sample,
    parse_upload,
    read_answers,
    samples_summary,
)
from lmgym.text import count
from lmgym.text.number_format import p_told

if TYPE_CHECKING:
    from lmgym.stats import Comparison

REPAIRED = 1
"""Exit code of `check` for a file that can be scored only after repairs."""
WRONG = 2
"""Exit code where a file cannot be read or scored."""


def add_parsers(commands: Any) -> None:
    """The subcommands, each with the function that runs it as `run`."""
    one = _added(commands, "check", check, "say all that is wrong or odd in predictions, and what they score")
    one.add_argument("predictions", help="predictions in any form that the site reads")
    _answers_options(one, formats=True)
    one = _added(commands, "compare", compare, "systems on the same processes, with intervals and p")
    one.add_argument("first", help="predictions of the baseline")
    one.add_argument("second", nargs="+", help="predictions of others, each compared with the first")
    one.add_argument("--resamples", type=positive, default=10_000, metavar="N", help="default: 10000")
    _answers_options(one, formats=True)
    one = _added(commands, "convert", convert, "predictions in any form as an action file or as JSON grids")
    one.add_argument("predictions", help="state file, JSON grids, answers of a model, action file to repair")
    one.add_argument("--to", choices=["actions", "grids"], default="actions", help="default: actions")
    one.add_argument(
        "--sample", type=positive, default=1, metavar="N", help="of a model's answers; default: 1"
    )
    _answers_options(one)
    one = _added(commands, "prompts", prompts, "a prompt for each process, as JSON Lines")
    _answers_options(one, sentences=True)
    one = _added(commands, "score-answers", score_answers, "score what a model answered to the prompts")
    one.add_argument("predictions", help="JSON or JSON Lines with process_id and answers")
    _answers_options(one, formats=True)
    one = _added(commands, "template", write_template, "an action file to fill in")
    _answers_options(one)


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number


positive.__name__ = "positive int"


def _added(commands: Any, name: str, run: Any, text: str) -> argparse.ArgumentParser:
    made: argparse.ArgumentParser = commands.add_parser(
        name, help=text, description=f"{text[:1].upper()}{text[1:]}."
    )
    made.set_defaults(run=run)
    return made


def _answers_options(one: argparse.ArgumentParser, *, sentences: bool = False, formats: bool = False) -> None:
    one.add_argument("-a", "--answers", required=True, help="file with answers")
    one.add_argument("-s", "--sentences", required=sentences, help="file with sentences")
    if formats:
        one.add_argument("--format", choices=["text", "json"], default="text", help="default: text")


def run(options: argparse.Namespace, out: TextIO, err: TextIO) -> int:
    """The exit code; files that cannot be read end with every problem on a line of its own."""
    try:
        code: int = options.run(options, out, err)
        return code
    except ProParaError as error:
        if error.problems and getattr(options, "format", "") == "json":
            problems = [problem._asdict() for problem in error.problems]
            out.write(json.dumps({"problems": problems}, ensure_ascii=False, indent=2) + "\n")
        else:
            for said in problem_groups(error.problems) or (f"Error: {error}",):
                print(said, file=err)
        return WRONG
    except UnicodeEncodeError:
        print("Error: The name of a file is not text that can be printed.", file=err)
        return WRONG


# --- the commands ---


def check(options: argparse.Namespace, out: TextIO, err: TextIO) -> int:
    answers = _answers(options)
    intake = _intake(options.predictions, answers)
    report = _report(answers, intake.text)
    if options.format == "json":
        data = {
            "kind": intake.kind,
            "repairs": [one._asdict() for one in intake.repairs],
            "report": report.as_dict(),
        }
        _write_json(data, out)
    else:
        _write_repairs(options.predictions, intake, out)
        for flag, n in Counter(one.code for one in report.warnings).items():
            print(f"Warning: {f'{n:,} × ' if n > 1 else ''}{CODES[flag]}.", file=out)
        for number, sample in enumerate(intake.samples, 1):
            _write_failures(number, sample, answers, out)
        for pid, failure in report.errors.items():
            print(f"Process {pid} has no score ({failure.code}): {failure.message}", file=out)
        print(_summary(report), file=out)
    return REPAIRED if intake.repairs else 0


def compare(options: argparse.Namespace, out: TextIO, err: TextIO) -> int:
    answers = _answers(options)
    paths = [options.first, *options.second]
    reports = [_scored(path, _report(answers, _repaired(path, answers, err).text)) for path in paths]
    from lmgym.propara.bootstrap import compare as compare_reports  # numpy and scipy are slow to import

    comparisons = compare_reports(*reports, names=paths, resamples=options.resamples)
    if options.format == "json":
        processes = [
            {"process_id": pid, "second": path, "difference": value}
            for path, one in zip(options.second, comparisons, strict=True)
            for pid, value in one.differences.items()
        ]
        rows = [row for one in comparisons for row in one.records()]
        _write_json({"first": options.first, "comparisons": rows, "processes": processes}, out)
        return 0
    for path, report in zip(paths, reports, strict=True):
        print(f"{_summary(report)}  {path}", file=out)
    for path, one in zip(options.second, comparisons, strict=True):
        print(f"\nDifference of F1, {path} − {options.first}:", file=out)
        for question, row in one.rows:
            print(f"{question.question.capitalize():<12} {_difference(row)}", file=out)
        print(
            f"Better on {one.overall.only_second}, worse on {one.overall.only_first}, "
            f"equal on {one.n_equal} of {one.n} processes",
            file=out,
        )
        for pid, value in sorted(one.differences.items(), key=lambda item: (-abs(item[1]), item[0])):
            print(f"Process {pid:<8} {value:+.3f}", file=out)
    return 0


def _difference(row: Comparison) -> str:
    """Difference, interval, p and corrected p of a comparison."""
    interval = f"95% interval {row.low:+.3f} to {row.high:+.3f}"
    return f"{row.difference:+.3f}, {interval}, {p_told('p', row.p)}, {p_told('Holm', row.p_corrected)}"


def convert(options: argparse.Namespace, out: TextIO, err: TextIO) -> int:
    answers = _answers(options)
    intake = _repaired(options.predictions, answers, err)
    if options.sample > len(intake.samples):
        message = (
            f"The file has {count(len(intake.samples), 'sample')}, so there is no sample {options.sample}."
        )
        raise ProParaError(message, [Problem(options.predictions, 0, 0, "samples", message)])
    sample = intake.samples[options.sample - 1]
    _write_failures(options.sample, sample, answers, err)
    out.write(
        sample.text if options.to == "actions" else grids_to_json(read_grids(sample.text, "predictions"))
    )
    return 0


def prompts(options: argparse.Namespace, out: TextIO, err: TextIO) -> int:
    answers = _answers(options)
    out.write(prompt_lines(answers.grids, read_sentences(answers.sentences_text, options.sentences)))
    return 0


def score_answers(options: argparse.Namespace, out: TextIO, err: TextIO) -> int:
    answers = _answers(options)
    intake = _repaired(options.predictions, answers, err)
    if intake.kind != "answers":
        message = "These are not answers of a model to the prompts."
        hint = "Use evaluate or check."
        raise ProParaError(message, [Problem(options.predictions, 0, 0, "kind", message, hint)])
    reports = [_report(answers, sample.text) for sample in intake.samples]
    n_failures = sum(len(sample.failures) for sample in intake.samples)
    summary = samples_summary([one.f1 for one in reports], n_failures, len(answers.grids))
    if options.format == "json":
        samples = [
            {**report.reference_as_dict(), "failures": list(sample.failures)}
            for report, sample in zip(reports, intake.samples, strict=True)
        ]
        _write_json({"samples": samples, "samples_summary": summary}, out)
        return 0
    for number, (report, sample) in enumerate(zip(reports, intake.samples, strict=True), 1):
        print(f"Sample {number}: {_summary(report)}", file=out)
        _write_failures(number, sample, answers, out)
    if summary["f1_deviation"] is not None:
        print(f"Mean F1 {summary['f1_mean']:.3f}, standard deviation {summary['f1_deviation']:.3f}", file=out)
    print(f"{n_failures} of {summary['n_answers']} answers could not be used", file=out)
    return 0


def write_template(options: argparse.Namespace, out: TextIO, err: TextIO) -> int:
    out.write(template(_answers(options).grids))
    return 0


# --- what several of them share ---


def _answers(options: argparse.Namespace) -> ReferenceAnswers:
    """Problems are said of the files by their paths."""
    paths = {"answers": options.answers, "sentences": options.sentences}
    data = [read_bytes(path) if path else b"" for path in paths.values()]
    try:
        return read_answers(*data)
    except ProParaError as error:
        error.problems = [one._replace(file=paths[one.file] or one.file) for one in error.problems]
        raise


def _intake(path: str, answers: ReferenceAnswers) -> ParsedUpload:
    return parse_upload(read_bytes(path), answers.text, path)


def _repaired(path: str, answers: ReferenceAnswers, err: TextIO) -> ParsedUpload:
    """Tells what was changed on standard error."""
    intake = _intake(path, answers)
    _write_repairs(path, intake, err)
    return intake


def _write_repairs(path: str, intake: ParsedUpload, out: TextIO) -> None:
    """A line for each kind of change, with how often and where."""
    for one in repair_groups(intake.repairs):
        times = f"{one.n:,} × " if one.n > 1 else ""
        print(f"Repaired: {one._replace(file=path, message=times + one.message)}", file=out)


def _report(answers: ReferenceAnswers, text: str) -> Report:
    return evaluate(answers.text, text, answers.sentences_text or None)


def _scored(path: str, report: Report) -> Report:
    for pid, failure in report.errors.items():
        message = f"Process {pid} has no score ({failure.code}): {failure.message}"
        raise ProParaError(message, [Problem(path, 0, 0, failure.code, message)])
    return report


def _summary(report: Report) -> str:
    if report.precision is None or report.recall is None or report.f1 is None:
        return f"No score. Corrected F1 {report.corrected.f1:.3f}"
    return (
        f"Precision {report.precision:.3f}, recall {report.recall:.3f}, F1 {report.f1:.3f}; "
        f"corrected F1 {report.corrected.f1:.3f}"
    )


def _write_failures(number: int, sample: Sample, answers: ReferenceAnswers, out: TextIO) -> None:
    """A line for each reason."""
    found: dict[str, list[int]] = {}
    for pid, why in sample.failures:
        found.setdefault(why, []).append(pid)
    for why, pids in found.items():
        n, where = len(answers.grids), f"process{'es' if len(pids) > 1 else ''} {abbreviated(pids)}"
        print(
            f"Sample {number}: {len(pids)} of {n} answers could not be used: {why.rstrip('.')} ({where})",
            file=out,
        )


def _write_json(data: dict[str, Any], out: TextIO) -> None:
    out.write(json.dumps(data, ensure_ascii=False, indent=2, allow_nan=False) + "\n")
