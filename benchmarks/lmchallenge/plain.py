"""A straightforward wrapper of a causal model for the API, with transformers only: one call at a time.

`PlainProcess` solves a simpler task: candidates are appended to the context and run as one padded batch, and the log
probabilities of their tokens are summed; without candidates, it uses transformers' beam search. Other spellings of a
word are ignored, and a candidate may continue as a longer word.

`same_answers` gives the numbers of the causal player: the same sums over the same spellings, and the same search, but
transformers runs every sequence in padded batches, call by call. Sequences are either complete, so that no tokens are
shared, or follow a context that is run once per call and cached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from inspect import signature
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np

from lmgym.lmchallenge.play import beam_search
from lmgym.lmchallenge.play.backend_players import CausalPlayer
from lmgym.lmchallenge.play.candidate_scoring import NONE, CandidateScorer
from lmgym.lmchallenge.play.player import Reply, Request

if TYPE_CHECKING:
    import torch

ROWS = 64
"""Sequences per padded batch. Larger batches only use more memory."""


class PlainProcess:
    """Model process with the API's `predict`; see the module's docstring."""

    def __init__(self, folder: str, *, beam: int = 16, tokens: int = 4) -> None:
        from transformers import AutoModelForCausalLM, AutoTokenizer

        self.tokenizer: Any = AutoTokenizer.from_pretrained(folder)
        self.tokenizer.pad_token = self.tokenizer.bos_token
        self.model = AutoModelForCausalLM.from_pretrained(folder).eval()
        self.beam, self.tokens = beam, tokens

    def predict(self, context: str, candidates: Sequence[str] | None) -> list[tuple[str, float]]:
        """Reply to one request."""
        import torch

        with torch.inference_mode():
            return self._search(context) if candidates is None else self._score(context, list(candidates))

    def _ids(self, text: str) -> list[int]:
        return [self.tokenizer.bos_token_id, *self.tokenizer(text)["input_ids"]]

    def _score(self, context: str, candidates: list[str]) -> list[tuple[str, float]]:
        import torch

        before = self._ids(context.rstrip())
        rows = [self._ids(context + word) for word in candidates]
        width = max(map(len, rows))
        ids = torch.tensor([row + [0] * (width - len(row)) for row in rows])
        mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in rows])
        logs = self.model(input_ids=ids, attention_mask=mask).logits[:, :-1].log_softmax(-1)
        token_logs = logs.gather(2, ids[:, 1:, None])[..., 0]
        place = torch.arange(1, width)
        counted = (place >= len(before)) & (mask[:, 1:] == 1)
        return list(zip(candidates, (token_logs * counted).sum(1).tolist(), strict=True))

    def _search(self, context: str) -> list[tuple[str, float]]:
        import torch

        ids = torch.tensor([self._ids(context.rstrip())])
        generated = self.model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            num_beams=self.beam,
            num_return_sequences=self.beam,
            max_new_tokens=self.tokens,
            do_sample=False,
            return_dict_in_generate=True,
            output_scores=True,
            pad_token_id=0,
        )
        texts = self.tokenizer.batch_decode(generated.sequences[:, ids.shape[1] :])
        return list(zip(texts, generated.sequences_scores.tolist(), strict=True))


def same_answers(player: CausalPlayer, model: Any, *, cached: bool = False) -> Callable[[Request], Reply]:
    """Return a function that answers one request with the player's numbers. Modifies `player` for good."""
    import torch

    scorer = player._scorer
    scorer.__class__ = _PlainScorer
    scorer.model, scorer.cached = model, cached  # type: ignore[attr-defined]

    def ahead(
        _: Any, sequences: Sequence[Any], stems: Sequence[Any], stem_of: Sequence[int]
    ) -> Iterator[tuple[list[int], torch.Tensor]]:
        (stem,) = stems
        for some in _some(len(sequences)):
            rows = [sequences[at] for at in some]
            logs = _logs(model, stem, rows, cached, last=True)
            yield list(some), logs[range(len(rows)), [len(row) - max(map(len, rows)) - 1 for row in rows]]

    def predict(request: Request) -> Reply:
        with torch.inference_mode(), patch.object(beam_search, "distributions", ahead):
            (reply,) = player.predict([request])
        return reply

    return predict


class _PlainScorer(CandidateScorer):
    """Scorer that computes the same sums, but runs every sequence separately."""

    model: Any
    cached: bool

    def _added_up(self, runner: Any, sums: Any) -> Any:
        import torch

        (stem,) = sums.stems  # the stems of one call
        totals = np.full(sums.count, -np.inf)
        sets = [
            torch.from_numpy(
                self._token_strings.ending[key]
                if isinstance(key, str)
                else self._token_strings.beginning(key)
            )
            for key in sums.sets
        ]
        sequences = [() if at == NONE else ids for at, ids in zip(sums.stem_of, sums.sequences, strict=True)]
        for some in _some(len(sequences)):
            rows, values = [sequences[at] for at in some], []
            for at, row, log in zip(some, rows, _logs(self.model, stem, rows, self.cached), strict=True):
                value = log[range(len(row)), row].sum()
                if (column := sums.columns[at]) != NONE:
                    value = value + log[len(row)][sets[column]].logsumexp(0)
                values.append(value)
            np.logaddexp.at(totals, sums.owner[some.start : some.stop], torch.stack(values).double().numpy())
        return totals


def _some(count: int) -> Iterator[range]:
    return (range(start, min(start + ROWS, count)) for start in range(0, count, ROWS))


def _logs(
    model: Any, stem: Sequence[int], rows: Sequence[Sequence[int]], cached: bool, *, last: bool = False
) -> torch.Tensor:
    """Return log probabilities [rows, width + 1, vocabulary] after the stem, after the first token of each row, and so
    on, for a padded batch. Only these positions are projected. `cached`: run the stem once and share its keys and
    values. `last`: only return what follows complete rows.
    """
    import torch

    width = max(map(len, rows))
    kept = 1 + (width - min(map(len, rows)) if last else width)
    ids = torch.tensor([[*row, *[0] * (width - len(row))] for row in rows], dtype=torch.long)
    mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in rows], dtype=torch.long)
    before = torch.tensor([list(stem)])
    if not cached:
        ids = torch.cat((before.expand(len(rows), -1), ids), 1)
        mask = torch.cat((torch.ones(len(rows), len(stem), dtype=torch.long), mask), 1)
        logits = model(input_ids=ids, attention_mask=mask, use_cache=False, logits_to_keep=kept).logits
        return logits.log_softmax(-1)  # type: ignore[no-any-return]
    output = model(input_ids=before, use_cache=True, logits_to_keep=1)
    logits = output.logits.expand(len(rows), -1, -1)
    if width:
        # Called `cache` in newer releases of transformers.
        name = "cache" if "cache" in signature(model.forward).parameters else "past_key_values"
        output[name].batch_repeat_interleave(len(rows))
        mask = torch.cat((torch.ones(len(rows), len(stem), dtype=torch.long), mask), 1)
        behind = model(input_ids=ids, attention_mask=mask, **{name: output[name]})
        logits = torch.cat((logits, behind.logits), 1)[:, -kept:]
    return logits.log_softmax(-1)  # type: ignore[no-any-return]
