"""Zipped folders of tasks for lm-evaluation-harness and inspect_ai, made from a suite's predictions. Pure."""

from __future__ import annotations

import io
import zipfile

from lmgym.suites.formats import SuiteDocument

from .expressible import EvaluationTask, Tasks, evaluation_tasks
from .inspect_ai import inspect_files
from .lm_eval import lm_eval_files

FOLDERS = {"lm-eval": lm_eval_files, "inspect-ai": inspect_files}
"""Formats that are zipped folders of tasks."""


def task_folder(
    form: str, document: SuiteDocument, slug: str, revision: int, policy: str, address: str
) -> bytes:
    """Write a zip archive of a task folder. It contains no timestamps, so equal files give equal bytes.

    Args:
        form: one of FOLDERS.
        policy: how regions are joined: "space", "natural" or "none".
        address: where the suite comes from, for the folder's README.

    Raises:
        Refused: no prediction can be expressed.
    """
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, text in FOLDERS[form](document, slug, revision, policy, address).items():
            archive.writestr(zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0)), text.encode())
    return packed.getvalue()


__all__ = [
    "FOLDERS",
    "EvaluationTask",
    "Tasks",
    "evaluation_tasks",
    "inspect_files",
    "lm_eval_files",
    "task_folder",
]
