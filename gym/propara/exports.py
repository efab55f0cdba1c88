"""Downloads of a submission."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpResponse

from gym.downloads import csv_download, download, json_download
from gym.propara.models import Submission
from lmgym.propara import reference, uploads
from lmgym.propara.mistakes import label
from lmgym.propara.report import Report, evaluate
from lmgym.propara.scoring import QUESTIONS, overall
from lmgym.propara.tables import ProcessScores
from lmgym.text.columns import Row, table

NOT_FOUND = "This download does not exist."


def response_of(submission: Submission, form: str) -> HttpResponse:
    """Return a download by name. Raises Http404."""
    if form == "file":
        response = HttpResponse(bytes(submission.file), content_type="application/octet-stream")
        response["Content-Disposition"] = f'attachment; filename="{submission.key}-as-uploaded"'
        return response
    if not submission.has_scores:
        raise Http404(NOT_FOUND)
    stem = f"{submission.version.answer_set.slug}-{submission.key}"
    if form == "actions.tsv":
        return download(submission.samples[0]["text"], f"{stem}-actions.tsv", "text/tab-separated-values")
    if form == "json":
        return json_download(f"{stem}.json", full_report(submission))
    if form == "processes.csv":
        return csv_download(f"{stem}-processes.csv", *process_table(submission))
    if submission.reference is None:
        raise Http404(NOT_FOUND)
    report = evaluated(submission)
    assert report.averages is not None
    if form == "report.txt":
        text = reference.report_text(report.averages, report.n_predictions, report.n_answers)
        return download(text, f"{stem}-report.txt", "text/plain")
    if form == "metrics.json":
        return download(reference.metrics_json(report.averages), f"{stem}-metrics.json", "application/json")
    if form == "diagnostics.txt":
        return download(diagnostics(submission, report), f"{stem}-diagnostics.txt", "text/plain")
    raise Http404(NOT_FOUND)


def evaluated(submission: Submission) -> Report:
    version = submission.version
    return evaluate(version.answers, submission.samples[0]["text"], version.sentences or None)


def diagnostics(submission: Submission, report: Report) -> str:
    """Return the reference's diagnostics, with the upload's name and the answer set's slug as file names."""
    assert report.averages is not None
    parts = [reference.diagnostics_header(submission.filename, f"{submission.version.answer_set.slug}.tsv")]
    parts += [reference.process_diagnostics(process) for process in report.processes]
    return "".join([*parts, reference.overall_diagnostics(report.averages)])


def full_report(submission: Submission) -> dict[str, Any]:
    """Return the stored results of a submission and their provenance, without its samples' texts."""
    version = submission.version
    return {
        "submission": submission.key,
        "system": submission.system,
        "paper": submission.paper,
        "link": submission.link,
        "answer_set": version.answer_set.slug,
        "version": version.number,
        "answers_sha256": version.sha256,
        "file_sha256": submission.file_sha256,
        "repairs": submission.repairs,
        "evaluator": submission.evaluator,
        "scored_at": submission.scored_at.isoformat() if submission.scored_at else None,
        "history": submission.history,
        "samples": [{k: v for k, v in sample.items() if k != "text"} for sample in submission.samples],
        "samples_summary": samples_summary(submission),
        "report": submission.report,
    }


def process_rows(report: dict[str, Any], question: str = "") -> list[dict[str, Any]]:
    """Return a row per process: the stored values plus precision, recall, F1 and corrected F1, overall or for one
    question, and the labels of its mistakes."""
    names = [question] if question else list(QUESTIONS)
    rows = []
    for row in report["processes"]:
        labels = [(label(code), n) for code, n in row["mistakes"].items()]
        numbers: dict[str, Any] = dict.fromkeys(("precision", "recall", "f1"))
        if row["scores"]:
            numbers = overall(row["scores"][name] for name in names)._asdict()
        corrected_f1 = overall(row["corrected"][name] for name in names).f1
        rows.append({**row, **numbers, "corrected_f1": corrected_f1, "mistake_labels": labels})
    return rows


def process_table(submission: Submission) -> tuple[list[str], list[Row]]:
    """Return header and rows of the table of processes."""
    return table((ProcessScores,), ((ProcessScores.of(row),) for row in submission.report["processes"]))


def samples_summary(submission: Submission) -> dict[str, Any] | None:
    """Return mean and standard deviation over samples, and the rate of unusable answers; None unless the file has
    answers to the prompt pack."""
    if submission.kind != "answers":
        return None
    n_failures = sum(len(sample["failures"]) for sample in submission.samples)
    scores = [sample["f1"] for sample in submission.samples]
    return uploads.samples_summary(scores, n_failures, submission.version.n_processes)
