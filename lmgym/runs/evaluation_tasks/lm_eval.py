"""Task folders for lm-evaluation-harness 0.4."""

from __future__ import annotations

from collections.abc import Sequence

from lmgym.suites.formats import SuiteDocument

from .expressible import EvaluationTask, data_of, evaluation_tasks, outcomes_code, readme


def lm_eval_files(
    document: SuiteDocument, slug: str, revision: int, policy: str, address: str
) -> dict[str, str]:
    """Write a task folder for lm-evaluation-harness (path -> text): a task per prediction, a group of several, and a
    tag for the parts of predictions that join comparisons. Raises Refused if no prediction can be expressed."""
    chosen = evaluation_tasks(document, slug)
    base, tasks = chosen.base, chosen.tasks
    head = f'"""Outcomes of the tasks of {base}. Exported by LM Gym."""\n\n'
    files = {f"{base}/outcomes.py": head + outcomes_code(tasks)}
    for task in tasks:
        files[f"{base}/{task.name}.jsonl"] = data_of(document, task, policy)
        files[f"{base}/{task.name}.yaml"] = _task(base, task, revision)
    whole = [task.name for task in tasks if not task.is_part]
    if whole != [base]:
        files[f"{base}/{base}.yaml"] = _group(base, whole, revision)
    parts = f" --tasks {base},{base}_parts" if len(whole) < len(tasks) else f" --tasks {base}"
    run = f"lm_eval --model hf --model_args pretrained=MODEL,dtype=float32 --include_path {base}{parts}"
    files[f"{base}/README.md"] = readme("lm-evaluation-harness", chosen, slug, revision, policy, address, run)
    return files


def _task(base: str, task: EvaluationTask, revision: int) -> str:
    tag = f"tag: {base}_parts\n" if task.is_part else ""
    return f"""task: {task.name}
{tag}dataset_path: json
dataset_kwargs:
  data_files:
    validation: {base}/{task.name}.jsonl
output_type: multiple_choice
validation_split: validation
num_fewshot: 0
doc_to_text: ""
target_delimiter: ""
doc_to_choice: texts
doc_to_target: 0
process_results: !function outcomes.{task.name}
metric_list:
  - metric: acc
    aggregation: mean
    higher_is_better: true
  - metric: margin
    aggregation: mean
    higher_is_better: true
metadata:
  version: {revision}
"""


def _group(base: str, names: Sequence[str], revision: int) -> str:
    tasks = "".join(f"  - {name}\n" for name in names)
    return f"""group: {base}
task:
{tasks}aggregate_metric_list:
  - metric: acc
    aggregation: mean
    weight_by_size: false
metadata:
  version: {revision}
"""
