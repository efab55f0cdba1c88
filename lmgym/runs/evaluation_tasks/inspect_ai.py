"""Task folders for inspect_ai."""

from __future__ import annotations

from lmgym.suites.formats import SuiteDocument

from .expressible import data_of, evaluation_tasks, outcomes_code, readme


def inspect_files(
    document: SuiteDocument, slug: str, revision: int, policy: str, address: str
) -> dict[str, str]:
    """Write a folder for inspect_ai (path -> text): a file with a task per prediction, and their data. Raises Refused
    if no prediction can be expressed.

    inspect_ai returns log-probabilities of a prompt only from completion endpoints in vLLM's format.
    """
    chosen = evaluation_tasks(document, slug)
    base = chosen.base
    files = {f"{base}/{task.name}.jsonl": data_of(document, task, policy) for task in chosen.tasks}
    functions = "".join(
        f'''

@task(name="{task.name}")
def task_{task.name}(start=""):
    return suite_task({task.name}, start)
'''
        for task in chosen.tasks
    )
    files[f"{base}/{base}.py"] = _INSPECT_HEAD + outcomes_code(chosen.tasks) + _INSPECT_TASK + functions
    run = f"inspect eval {base}/{base}.py --model vllm-completions/MODEL -T start=START"
    files[f"{base}/README.md"] = (
        readme("inspect_ai", chosen, slug, revision, policy, address, run) + _INSPECT_README
    )
    return files


_INSPECT_HEAD = '''"""Tasks for inspect_ai. Exported by LM Gym; README.md says which models can run them."""

import json
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageUser, GenerateConfig, get_model
from inspect_ai.scorer import Score, mean, scorer, stderr
from inspect_ai.solver import solver

'''
_INSPECT_TASK = '''

@solver
def score_texts(start):
    """Score every text of the item by its log-probability after the start token."""

    async def solve(state, generate):
        logprobs = [await logprob(text, start) for text in state.metadata["texts"]]
        state.store.set("results", [[value, None] for value in logprobs])
        return state

    return solve


async def logprob(text, start):
    """Return the natural logarithm of a text's probability. Raises ValueError if its first token is not scored."""
    config = GenerateConfig(max_tokens=1, temperature=0.0, prompt_logprobs=1)
    output = await get_model().generate([ChatMessageUser(content=start + text)], config=config)
    scored = output.choices[0].prompt_logprobs if output.choices else None
    if scored is None:
        raise ValueError(
            "The model returned no log-probabilities of the prompt. Use vllm-completions, or "
            "openai-api-completions with a server that supports prompt_logprobs."
        )
    tokens = "".join(token.token for token in scored.content)
    if start and tokens.startswith(start):
        raise ValueError("The server adds a start token itself. Leave out -T start=….")
    if len("".join(tokens.split())) < len("".join(text.split())):
        raise ValueError("The first token was not scored. Pass the model's start token: -T start=TOKEN")
    return sum(token.logprob for token in scored.content)


@scorer(metrics={"acc": [mean(), stderr()], "margin": [mean(), stderr()]})
def prediction(function):
    """Score an item by whether the prediction holds; `margin` is in bits."""

    async def score(state, target):
        return Score(value=function(state.metadata, state.store.get("results")))

    return score


def suite_task(function, start):
    path = Path(__file__).parent / f"{function.__name__}.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    samples = [Sample(id=row["item"], input=row["texts"][0], metadata=row) for row in rows]
    return Task(dataset=samples, solver=score_texts(start), scorer=prediction(function))
'''
_INSPECT_README = """
inspect_ai gives the log-probabilities of a given text only with `vllm-completions/MODEL`, and with
`openai-api-completions/SERVICE/MODEL` if the server answers `prompt_logprobs` as vLLM and SGLang do. Other providers,
such as `hf`, `openai` and `anthropic`, return only those of generated text, and the tasks end with an error.

START is the text of the model's start token, such as `<|endoftext|>` for GPT-2, if the server does not add one itself
(an error says so); otherwise leave out `-T`.
"""
