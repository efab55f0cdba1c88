"""Execution compared with a plain reference: one sequence at a time, full log-softmax in float64."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from lmgym.models.engine.execute import ROWS_PER_BLOCK, score_sequences
from lmgym.models.engine.memory import default_budget, is_out_of_memory
from lmgym.models.engine.scores import ScoringFailure
from tests.lmgym.models import tiny

CPU = torch.device("cpu")
TOLERANCE = 5e-4


def reference(model: Any, ids: list[int]) -> list[float]:
    """Compute the bits of each token after the first with a slow reference."""
    with torch.no_grad():
        logits = model(torch.tensor([ids])).logits[0].double()
    logs = torch.log_softmax(logits, dim=-1) / math.log(2)
    return [-float(logs[at, token]) for at, token in enumerate(ids[1:])]


def sequences(vocabulary: int, count: int = 60) -> list[list[int]]:
    generator = torch.Generator().manual_seed(5)
    lengths = torch.randint(2, 40, (count,), generator=generator).tolist()
    return [torch.randint(0, vocabulary, (length,), generator=generator).tolist() for length in lengths]


@pytest.fixture(scope="module")
def gpt2() -> Any:
    return tiny.gpt2(97)


@pytest.fixture(scope="module")
def llama() -> Any:
    return tiny.llama(97)


@pytest.mark.parametrize("name", ["gpt2", "llama"])
@pytest.mark.parametrize("budget", [1, 64, 512, 10_000])
def test_every_budget_gives_what_one_at_a_time_gives(
    name: str, budget: int, request: pytest.FixtureRequest
) -> None:
    model = request.getfixturevalue(name)
    rows = sequences(97)
    results = score_sequences(model, rows, device=CPU, budget=budget)
    for row, result in zip(rows, results, strict=True):
        assert isinstance(result, list)
        assert result == pytest.approx(reference(model, row), abs=TOLERANCE)


def test_one_batch_is_cut_into_several_blocks_of_vocabulary_rows(gpt2: Any) -> None:
    row = sequences(97, 1)[0] * 20
    assert len(row) > ROWS_PER_BLOCK + 1
    (result,) = score_sequences(gpt2, [row[:250]], device=CPU, budget=512)
    assert result == pytest.approx(reference(gpt2, row[:250]), abs=TOLERANCE)


def test_short_and_repeated_sequences(gpt2: Any) -> None:
    results = score_sequences(gpt2, [[], [3], [3, 4], [3, 4]], device=CPU, budget=64)
    assert results[:2] == [[], []]
    assert results[2] == results[3] == pytest.approx(reference(gpt2, [3, 4]), abs=TOLERANCE)


class Hungry:
    """A model that runs out of memory above a number of padded tokens."""

    def __init__(self, model: Any, limit: int, error: Exception) -> None:
        self.model, self.limit, self.error, self.shapes = model, limit, error, []

    def __call__(self, *, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> Any:
        self.shapes.append(tuple(input_ids.shape))
        if input_ids.numel() > self.limit:
            raise self.error
        return self.model(input_ids=input_ids, attention_mask=attention_mask)


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory."),
        RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory"),
        MemoryError(),
    ],
    ids=["cuda", "cpu", "python"],
)
def test_running_out_of_memory_halves_the_budget_and_goes_on(gpt2: Any, error: Exception) -> None:
    rows = sequences(97, 30)
    hungry = Hungry(gpt2, 80, error)
    results = score_sequences(hungry, rows, device=CPU, budget=1000)
    for row, result in zip(rows, results, strict=True):
        assert result == pytest.approx(reference(gpt2, row), abs=TOLERANCE)
    failed = sum(height * width > 80 for height, width in hungry.shapes)
    assert 1 <= failed <= 5


def test_a_sequence_that_never_fits_fails_alone(gpt2: Any) -> None:
    rows = [[1] * 60, [1, 2, 3]]
    results = score_sequences(Hungry(gpt2, 40, MemoryError()), rows, device=CPU, budget=1000)
    assert isinstance(results[0], ScoringFailure)
    assert "60 tokens" in results[0].reason
    assert results[1] == pytest.approx(reference(gpt2, [1, 2, 3]), abs=TOLERANCE)


def test_other_errors_are_not_swallowed(gpt2: Any) -> None:
    with pytest.raises(RuntimeError, match="size mismatch"):
        score_sequences(Hungry(gpt2, 0, RuntimeError("size mismatch")), [[1, 2]], device=CPU, budget=9)
    assert not is_out_of_memory(ValueError("out of memory"))


@pytest.mark.parametrize(
    "words",
    [
        "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        "could not create a memory object",
        "CUDA error: out of memory",
    ],
)
def test_libraries_say_in_their_own_words_that_memory_ran_out(words: str) -> None:
    assert is_out_of_memory(RuntimeError(words))
    assert not is_out_of_memory(ValueError(words))


def test_values_that_are_no_numbers_fail_their_sequence_only() -> None:
    def model(*, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> Any:
        logits = torch.zeros(*input_ids.shape, 8)
        logits[input_ids == 5] = math.nan
        return SimpleNamespace(logits=logits)

    good, bad = score_sequences(model, [[1, 2, 3], [1, 2, 5, 3]], device=CPU, budget=64)
    assert good == pytest.approx([3.0, 3.0])
    assert isinstance(bad, ScoringFailure)
    assert "token 4 is not a finite number" in bad.reason


def test_a_certain_token_costs_nothing_and_never_less() -> None:
    def model(*, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> Any:
        logits = torch.full((*input_ids.shape, 8), -100.0)
        logits[..., 2] = 100.0
        return SimpleNamespace(logits=logits)

    (result,) = score_sequences(model, [[1, 2]], device=CPU, budget=64)
    assert result == [0.0]


def test_budgets_shrink_for_large_vocabularies() -> None:
    assert default_budget(CPU, 50_257) == 512
    assert default_budget(CPU, 256_000) == 262
    assert default_budget(torch.device("cuda"), 32_000) == 8192
    assert default_budget(CPU, 10**12) == 1
