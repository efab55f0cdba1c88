"""Our exports in the programs they are made for. Their pinned dependencies conflict with ours, so each needs
its own Python:

    GYM_SYNTAXGYM_PYTHON   a Python with syntaxgym 0.6 (pyparsing 2) and lm-zoo
    GYM_LM_EVAL_PYTHON     a Python with lm-eval 0.4

Without them the tests skip and say so; docs/export.md shows how to make such environments.
"""

from __future__ import annotations

import json
import os
import subprocess
from functools import cache
from pathlib import Path

import pytest

from gym.demo.catalogue import DATA_DIR, DEMO_MODELS, MODELS_DIR
from lmgym.models.backends import load_backend
from lmgym.models.engine import ScoringPolicy
from lmgym.runs.compute import RunResult, evaluate_document, joined_sentences
from lmgym.runs.other_programs import evaluated_json, lm_eval_files
from lmgym.suites.formats import PredictionDoc, SuiteDocument, read_suite
from lmgym.suites.regions import JOIN_POLICIES

SUITES = sorted(path.stem for path in (DATA_DIR / "suites").glob("*.json"))
CORE = """
import inspect, json, sys
if not hasattr(inspect, "getargspec"):  # syntaxgym 0.6 was written for Python 3.7
    inspect.getargspec = inspect.getfullargspec
from syntaxgym.suite import Suite
for path in sys.argv[1:]:
    suite = Suite.from_dict(json.load(open(path)))
    found = suite.evaluate_predictions()
    print(json.dumps([[bool(found[i["item_number"]][p]) for i in suite.items] for p in suite.predictions]))
"""
pytestmark = pytest.mark.foreign


def other_python(name: str) -> str:
    path = os.environ.get(name, "")
    if not path:
        pytest.skip(f"{name} names no Python with the real program")
    return path


@cache
def evaluated(slug: str, name: str, policy: ScoringPolicy) -> tuple[SuiteDocument, RunResult]:
    path = DATA_DIR / "suites" / f"{name}.json"
    return run(slug, read_suite(path.read_bytes(), path.name), policy)


def run(slug: str, document: SuiteDocument, policy: ScoringPolicy) -> tuple[SuiteDocument, RunResult]:
    (model,) = [model for model in DEMO_MODELS if model.slug == slug]
    backend = load_backend(model.backend, model.config, model_dir=MODELS_DIR, hub_allowed=False)
    texts = [joined.text for joined in joined_sentences(document, policy)]
    scores = backend.score(texts, policy)
    return document, evaluate_document(document, scores, policy, left_to_right=backend.facts.left_to_right)


@pytest.mark.parametrize("slug", ["demo-ngram", "demo-gpt2"])
def test_the_real_syntaxgym_finds_the_same_outcomes(slug, tmp_path):
    python = other_python("GYM_SYNTAXGYM_PYTHON")
    files, ours = [], []
    for name in SUITES:
        document, result = evaluated(slug, name, ScoringPolicy())
        path = tmp_path / f"{name}.json"
        path.write_text(evaluated_json(document, result, metric="sum", model=slug), encoding="utf-8")
        files.append(str(path))
        ours.append([[code == 1 for code in row.outcomes] for row in result.predictions])
    done = subprocess.run(
        [python, "-W", "ignore", "-c", CORE, *files], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert [json.loads(line) for line in done.stdout.splitlines()] == ours


def contrast(name: str, good: str, bad: str) -> SuiteDocument:
    """Return a demo suite with one prediction: whole sentences of one condition are likelier than those of
    the other."""
    path = DATA_DIR / "suites" / f"{name}.json"
    whole = read_suite(path.read_bytes(), path.name)
    return SuiteDocument(
        name=whole.name, metric="sum", meta={}, region_names=whole.region_names, conditions=whole.conditions,
        sentences=whole.sentences, predictions=(PredictionDoc(f"(*;%{good}%) < (*;%{bad}%)"),), extra={}, notices=(),
    )  # fmt: skip


def test_the_real_lm_eval_gives_the_same_accuracies(tmp_path):
    """All tasks run in one process of lm-eval, which takes longer to start than to score."""
    python = other_python("GYM_LM_EVAL_PYTHON")
    ours = {}
    for name, good, bad in (
        ("agreement_orc", "match_sing", "mismatch_sing"),
        ("agreement_simple", "mismatch_plural", "match_plural"),
    ):
        document = contrast(name, good, bad)
        for join in JOIN_POLICIES:
            policy = ScoringPolicy(bos="always", eos=False, join=join, metric="sum")
            _, result = run("demo-gpt2", document, policy)
            task = f"{name}_{join}"
            ours[f"gym_{task}"] = result.predictions[0].rate
            for inside, text in lm_eval_files(document, task, 1, join, "http://localhost/").items():
                place = tmp_path / "tasks" / inside
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(text, encoding="utf-8")
    model = f"pretrained={MODELS_DIR / 'demo-gpt2'},dtype=float32"
    command = [python, "-m", "lm_eval", "--model", "hf", "--model_args", model, "--include_path", "."]
    command += ["--tasks", ",".join(ours), "--device", "cpu", "--output_path", str(tmp_path / "out")]
    env = os.environ | {"HF_HOME": str(tmp_path / "hf"), "HF_DATASETS_OFFLINE": "1", "HF_HUB_OFFLINE": "1"}
    tasks = tmp_path / "tasks"  # a task finds its items relative to the working folder of lm-eval
    done = subprocess.run(command, cwd=tasks, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    (found,) = Path(tmp_path / "out").rglob("results_*.json")
    theirs = json.loads(found.read_text())["results"]
    assert {task: theirs[task]["acc,none"] for task in ours} == pytest.approx(ours)
    for name in ("agreement_orc", "agreement_simple"):
        # Words without blanks are other tokens, so that some items hold and some fail.
        assert 0 < ours[f"gym_{name}_none"] < 1
