"""Our exports in the programs they are made for. Their pinned dependencies conflict with ours, so each needs
its own Python:

    GYM_SYNTAXGYM_PYTHON   a Python with syntaxgym 0.6 (pyparsing 2) and lm-zoo
    GYM_LM_EVAL_PYTHON     a Python with lm-eval 0.4
    GYM_INSPECT_PYTHON     a Python with inspect_ai 0.3.285 or newer, and openai

Without them the tests skip and say so; docs/export.md shows how to make such environments.
"""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from gym.demo.catalogue import DATA_DIR, DEMO_MODELS, MODELS_DIR
from lmgym.models.backends import load_backend
from lmgym.models.engine import ScoringPolicy
from lmgym.runs.compute import RunResult, evaluate_document, joined_sentences
from lmgym.runs.evaluation_tasks import evaluation_tasks, inspect_files, lm_eval_files
from lmgym.runs.other_programs import evaluated_json
from lmgym.suites.formats import PredictionDoc, SuiteDocument, read_suite
from lmgym.suites.regions import JOIN_POLICIES
from tests.lmgym.models.backends.completion_server import completion_server

DEMO_SUITES = sorted((DATA_DIR / "suites").glob("*.json"))
CONFORMANCE = os.environ.get("GYM_CONFORMANCE_DIR", Path(__file__).parents[2] / "../shared/conformance")
PUBLISHED_SUITES = sorted((Path(CONFORMANCE) / "suites").glob("*.json"))
SUITES = [path.stem for path in DEMO_SUITES]
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


def read(path: Path, join: str = "space") -> SuiteDocument:
    """Read a suite. Without spaces tokens cross the borders of regions, so whole sentences are compared."""
    document = read_suite(path.read_bytes(), path.name)
    if join != "none":
        return document
    whole = PredictionDoc("(*;%match_sing%) < (*;%mismatch_sing%) & (*;%match_plural%) > 0")
    return replace(document, predictions=(whole,))


def with_all_tasks(document: SuiteDocument, slug: str) -> tuple[SuiteDocument, list[str]]:
    """Return the suite with its tasks as predictions, and their names."""
    tasks = evaluation_tasks(document, slug).tasks
    formulas = tuple(PredictionDoc(task.formula) for task in tasks)
    return replace(document, predictions=formulas), [task.name for task in tasks]


def saved(files: dict[str, str], folder: Path) -> None:
    for inside, text in files.items():
        place = folder / inside
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")


def test_the_real_lm_eval_gives_the_same_accuracies_and_margins(tmp_path):
    """All tasks run in one process of lm-eval, which takes longer to start than to score."""
    python = other_python("GYM_LM_EVAL_PYTHON")
    ours = {}
    tasks = tmp_path / "tasks"  # a task finds its items relative to the working folder of lm-eval
    for path in [*DEMO_SUITES, *PUBLISHED_SUITES]:
        for join in JOIN_POLICIES if path.stem == "agreement_orc" else ["space"]:
            slug = f"{path.parent.parent.name}_{path.stem}_{join}"
            document, names = with_all_tasks(read(path, join), slug)
            _, result = run("demo-gpt2", document, ScoringPolicy(bos="always", join=join))
            ours |= dict(zip(names, result.predictions, strict=True))
            saved(lm_eval_files(read(path, join), slug, 1, join, ""), tasks)
    model = f"pretrained={MODELS_DIR / 'demo-gpt2'},dtype=float32"
    command = [python, "-m", "lm_eval", "--model", "hf", "--model_args", model, "--include_path", "."]
    command += ["--tasks", ",".join(ours), "--device", "cpu", "--output_path", str(tmp_path / "out")]
    env = os.environ | {"HF_HOME": str(tmp_path / "hf"), "HF_DATASETS_OFFLINE": "1", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(command, cwd=tasks, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    (found,) = Path(tmp_path / "out").rglob("results_*.json")
    theirs = json.loads(found.read_text())["results"]
    assert {task: theirs[task]["acc,none"] for task in ours} == pytest.approx(
        {task: row.rate for task, row in ours.items()}
    )
    assert {task: theirs[task]["margin,none"] for task in ours} == pytest.approx(
        {task: row.mean_margin for task, row in ours.items()}, abs=1e-4
    )


@pytest.mark.parametrize("how", [{"adds_bos": True}, {}], ids=["the server adds the start token", "we do"])
def test_the_real_inspect_gives_the_same_accuracies_and_margins(how, tmp_path):
    python = other_python("GYM_INSPECT_PYTHON")
    path = DATA_DIR / "suites" / "agreement_orc.json"
    document, names = with_all_tasks(read(path), "ours")
    saved(inspect_files(read(path), "ours", 1, "space", ""), tmp_path)
    policy = ScoringPolicy(bos="always")
    with completion_server(echoes=False, prompt_logprobs=True, **how) as server:
        config = {"base_url": server.url, "model": "tiny", **({} if how else {"bos_token": "<s>"})}
        backend = load_backend(
            "openai", config, model_dir=tmp_path, hub_allowed=False, external_access=server.external_access()
        )
        texts = [joined.text for joined in joined_sentences(document, policy)]
        result = evaluate_document(document, backend.score(texts, policy), policy, left_to_right=True)
        command = [python, "-m", "inspect_ai", "eval", "gym_ours/gym_ours.py"]
        command += [
            "--model",
            "openai-api-completions/local/tiny",
            "--display",
            "plain",
            "--log-format",
            "json",
        ]
        command += [] if how else ["-T", "start=<s>"]
        env = os.environ | {"LOCAL_BASE_URL": server.url, "LOCAL_API_KEY": "none", "HOME": str(tmp_path)}
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    theirs = {}
    for log in (tmp_path / "logs").glob("*.json"):
        entry = json.loads(log.read_text())
        assert entry["status"] == "success", entry["error"]
        theirs[entry["eval"]["task"]] = {
            score["name"]: score["metrics"]["mean"]["value"] for score in entry["results"]["scores"]
        }
    assert theirs == {
        name: pytest.approx({"acc": row.rate, "margin": row.mean_margin})
        for name, row in zip(names, result.predictions, strict=True)
    }
