"""Commands not in the reference: check, compare, convert, prompts, score-answers, template.

They read files as the site does: files are repaired, and all problems are reported at once.
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
from lmgym.text.number_format import format_interval, format_named_p

if TYPE_CHECKING:
    from lmgym.stats import Comparison

REPAIRED = 1
"""Exit code of `check` if the file needed repairs."""
WRONG = 2
"""Exit code for a file that cannot be read or scored."""


def add_parsers(commands: Any) -> None:
    """Add the subcommands. In the parsed arguments, `run` is the subcommand's function."""
    command = _added(commands, "check", check, "list problems and warnings of predictions, and their score")
    command.add_argument("predictions", help="action file, state file, JSON grids or a model's answers")
    _add_answers_options(command, formats=True)
    command = _added(
        commands, "compare", compare, "compare systems on the same processes, with intervals and p values"
    )
    command.add_argument("first", help="predictions of the baseline")
    command.add_argument(
        "second", nargs="+", help="predictions of other systems, each compared with the baseline"
    )
    command.add_argument("--resamples", type=positive, default=10_000, metavar="N", help="default: 10000")
    _add_answers_options(command, formats=True)
    command = _added(commands, "convert", convert, "convert predictions to an action file or JSON grids")
    command.add_argument(
        "predictions", help="state file, JSON grids, a model's answers, or an action file to repair"
    )
    command.add_argument("--to", choices=["actions", "grids"], default="actions", help="default: actions")
    command.add_argument(
        "--sample",
        type=positive,
        default=1,
        metavar="N",
        help="which sample of a model's answers to convert, from 1; default: 1",
    )
    _add_answers_options(command)
    command = _added(commands, "prompts", prompts, "write a prompt for each process, as JSON Lines")
    _add_answers_options(command, sentences=True)
    command = _added(commands, "score-answers", score_answers, "score a model's answers to the prompts")
    command.add_argument("predictions", help="JSON or JSON Lines with process_id and answers")
    _add_answers_options(command, formats=True)
    command = _added(commands, "template", write_template, "write an action file to fill in")
    _add_answers_options(command)


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


def _add_answers_options(
    command: argparse.ArgumentParser, *, sentences: bool = False, formats: bool = False
) -> None:
    command.add_argument("-a", "--answers", required=True, help="action file with the reference answers")
    command.add_argument(
        "-s", "--sentences", required=sentences, help="file with the sentences of the processes"
    )
    if formats:
        command.add_argument("--format", choices=["text", "json"], default="text", help="default: text")


def run(options: argparse.Namespace, out: TextIO, err: TextIO) -> int:
    """Run the subcommand and return its exit code. Problems in files are printed one per line."""
    try:
        code: int = options.run(options, out, err)
        return code
    except ProParaError as error:
        if error.problems and getattr(options, "format", "") == "json":
            problems = [problem._asdict() for problem in error.problems]
            out.write(json.dumps({"problems": problems}, ensure_ascii=False, indent=2) + "\n")
        else:
            for message in problem_groups(error.problems) or (f"Error: {error}",):
                print(message, file=err)
        return WRONG
    except UnicodeEncodeError:
        print("Error: A file name cannot be printed.", file=err)
        return WRONG


# --- the commands ---


def check(options: argparse.Namespace, out: TextIO, err: TextIO) -> int:
    answers = _answers(options)
    upload = _parsed(options.predictions, answers)
    report = _report(answers, upload.text)
    if options.format == "json":
        data = {
            "kind": upload.kind,
            "repairs": [repair._asdict() for repair in upload.repairs],
            "report": report.as_dict(),
        }
        _write_json(data, out)
    else:
        _write_repairs(options.predictions, upload, out)
        for code, n in Counter(warning.code for warning in report.warnings).items():
            print(f"Warning: {f'{n:,} × ' if n > 1 else ''}{CODES[code]}.", file=out)
        for number, sample in enumerate(upload.samples, 1):
            _write_failures(number, sample, answers, out)
        for pid, failure in report.errors.items():
            print(f"Process {pid} has no score ({failure.code}): {failure.message}", file=out)
        print(_summary(report), file=out)
    return REPAIRED if upload.repairs else 0


def compare(options: argparse.Namespace, out: TextIO, err: TextIO) -> int:
    answers = _answers(options)
    paths = [options.first, *options.second]
    reports = [_scored(path, _report(answers, _repaired(path, answers, err).text)) for path in paths]
    from lmgym.propara.bootstrap import compare as compare_reports  # numpy and scipy are slow to import

    comparisons = compare_reports(*reports, names=paths, resamples=options.resamples)
    if options.format == "json":
        processes = [
            {"process_id": pid, "second": path, "difference": value}
            for path, comparison in zip(options.second, comparisons, strict=True)
            for pid, value in comparison.differences.items()
        ]
        rows = [row for comparison in comparisons for row in comparison.records()]
        _write_json({"first": options.first, "comparisons": rows, "processes": processes}, out)
        return 0
    for path, report in zip(paths, reports, strict=True):
        print(f"{_summary(report)}  {path}", file=out)
    for path, comparison in zip(options.second, comparisons, strict=True):
        print(f"\nDifference of F1, {path} − {options.first}:", file=out)
        for question, row in comparison.rows:
            print(f"{question.question.capitalize():<12} {_difference(row)}", file=out)
        print(
            f"Better on {comparison.overall.only_second}, worse on {comparison.overall.only_first}, "
            f"equal on {comparison.n_equal} of {count(comparison.n, 'process', 'processes')}",
            file=out,
        )
        for pid, value in sorted(comparison.differences.items(), key=lambda item: (-abs(item[1]), item[0])):
            print(f"Process {pid:<8} {value:+.3f}", file=out)
    return 0


def _difference(row: Comparison) -> str:
    """Format a comparison's difference, interval, p and corrected p."""
    limits = format_interval(row.low, row.high, "{:+.3f}".format)
    p = f"{format_named_p('p', row.p)}, {format_named_p('Holm', row.p_corrected)}"
    return f"{row.difference:+.3f}, 95% interval {limits}, {p}"


def convert(options: argparse.Namespace, out: TextIO, err: TextIO) -> int:
    answers = _answers(options)
    upload = _repaired(options.predictions, answers, err)
    if options.sample > len(upload.samples):
        message = (
            f"Sample {options.sample} does not exist: the file has {count(len(upload.samples), 'sample')}."
        )
        raise ProParaError(message, [Problem(options.predictions, 0, 0, "samples", message)])
    sample = upload.samples[options.sample - 1]
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
    upload = _repaired(options.predictions, answers, err)
    if upload.kind != "answers":
        message = "The file does not contain a model's answers to the prompts."
        hint = "Use evaluate or check instead."
        raise ProParaError(message, [Problem(options.predictions, 0, 0, "kind", message, hint)])
    reports = [_report(answers, sample.text) for sample in upload.samples]
    n_failures = sum(len(sample.failures) for sample in upload.samples)
    summary = samples_summary([row.f1 for row in reports], n_failures, len(answers.grids))
    if options.format == "json":
        samples = [
            {**report.reference_as_dict(), "failures": list(sample.failures)}
            for report, sample in zip(reports, upload.samples, strict=True)
        ]
        _write_json({"samples": samples, "samples_summary": summary}, out)
        return 0
    for number, (report, sample) in enumerate(zip(reports, upload.samples, strict=True), 1):
        print(f"Sample {number}: {_summary(report)}", file=out)
        _write_failures(number, sample, answers, out)
    if summary["f1_deviation"] is not None:
        print(f"Mean F1 {summary['f1_mean']:.3f}, standard deviation {summary['f1_deviation']:.3f}", file=out)
    print(f"{n_failures} of {summary['n_answers']} answers could not be used", file=out)
    return 0


def write_template(options: argparse.Namespace, out: TextIO, err: TextIO) -> int:
    out.write(template(_answers(options).grids))
    return 0


# --- shared by several commands ---


def _answers(options: argparse.Namespace) -> ReferenceAnswers:
    """Read the reference answers. Problems identify files by path."""
    paths = {"answers": options.answers, "sentences": options.sentences}
    data = [read_bytes(path) if path else b"" for path in paths.values()]
    try:
        return read_answers(*data)
    except ProParaError as error:
        error.problems = [
            problem._replace(file=paths[problem.file] or problem.file) for problem in error.problems
        ]
        raise


def _parsed(path: str, answers: ReferenceAnswers) -> ParsedUpload:
    return parse_upload(read_bytes(path), answers.text, path)


def _repaired(path: str, answers: ReferenceAnswers, err: TextIO) -> ParsedUpload:
    """Parse predictions and report repairs on standard error."""
    upload = _parsed(path, answers)
    _write_repairs(path, upload, err)
    return upload


def _write_repairs(path: str, upload: ParsedUpload, out: TextIO) -> None:
    """Print one line per kind of repair, with count and line numbers."""
    for group in repair_groups(upload.repairs):
        times = f"{group.n:,} × " if group.n > 1 else ""
        print(f"Repaired: {group._replace(file=path, message=times + group.message)}", file=out)


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
    """Print one line per reason for unusable answers."""
    processes: dict[str, list[int]] = {}
    for pid, why in sample.failures:
        processes.setdefault(why, []).append(pid)
    for why, pids in processes.items():
        n, where = len(answers.grids), f"process{'es' if len(pids) > 1 else ''} {abbreviated(pids)}"
        print(
            f"Sample {number}: {len(pids)} of {n} answers could not be used: {why.rstrip('.')} ({where})",
            file=out,
        )


def _write_json(data: dict[str, Any], out: TextIO) -> None:
    out.write(json.dumps(data, ensure_ascii=False, indent=2, allow_nan=False) + "\n")
