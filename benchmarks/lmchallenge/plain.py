"""What somebody writes who wraps a causal model for the API with transformers alone: one call at a time.

`PlainProcess` answers a simpler question: candidates are appended to the context and run as one padded batch, their
tokens' log probabilities added up; without candidates, transformers' own beam search goes on. Other ways to spell a
word do not count, and a candidate may go on as a longer word.

`same_answers` gives the numbers of the causal player itself: the same sums over the same ways, the same search, but
every sequence is written out and run by transformers in padded batches, call by call. No tokens are shared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np

from gym.lmchallenge import search
from gym.lmchallenge.causal import CausalPlayer
from gym.lmchallenge.player import Reply, Request
from gym.lmchallenge.worth import NONE, Worth

if TYPE_CHECKING:
    import torch

ROWS = 64
"""Sequences of a padded batch: more at once only fill the memory."""


class PlainProcess:
    """`predict` as the API has it."""

    def __init__(self, folder: str, *, beam: int = 16, tokens: int = 4) -> None:
        from transformers import AutoModelForCausalLM, AutoTokenizer

        self.tokenizer: Any = AutoTokenizer.from_pretrained(folder)
        self.tokenizer.pad_token = self.tokenizer.bos_token
        self.model = AutoModelForCausalLM.from_pretrained(folder).eval()
        self.beam, self.tokens = beam, tokens

    def predict(self, context: str, candidates: Sequence[str] | None) -> list[tuple[str, float]]:
        """One call."""
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
        taken = logs.gather(2, ids[:, 1:, None])[..., 0]
        place = torch.arange(1, width)
        counted = (place >= len(before)) & (mask[:, 1:] == 1)
        return list(zip(candidates, (taken * counted).sum(1).tolist(), strict=True))

    def _search(self, context: str) -> list[tuple[str, float]]:
        import torch

        ids = torch.tensor([self._ids(context.rstrip())])
        found = self.model.generate(
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
        texts = self.tokenizer.batch_decode(found.sequences[:, ids.shape[1] :])
        return list(zip(texts, found.sequences_scores.tolist(), strict=True))


def same_answers(player: CausalPlayer, model: Any) -> Callable[[Request], Reply]:
    """`predict` of one request with the player's numbers. `player` is used up: it works so from now on."""
    import torch

    player._worth.__class__ = _PlainWorth
    player._worth.model = model  # type: ignore[attr-defined]

    def ahead(
        _: Any, sequences: Sequence[Any], stems: Sequence[Any], stem_of: Sequence[int]
    ) -> Iterator[tuple[list[int], torch.Tensor]]:
        rows = [(*stems[stem], *ids) for ids, stem in zip(sequences, stem_of, strict=True)]
        for start in range(0, len(rows), ROWS):
            some = rows[start : start + ROWS]
            ends = [len(row) - 1 for row in some]
            first = min(ends)
            logits = _logits(model, some, first)[range(len(some)), [end - first for end in ends]]
            yield list(range(start, start + len(some))), logits.log_softmax(-1)

    def predict(request: Request) -> Reply:
        with torch.inference_mode(), patch.object(search, "distributions", ahead):
            (reply,) = player.predict([request])
        return reply

    return predict


class _PlainWorth(Worth):
    """The same sums, every sequence by itself."""

    model: Any

    def _added_up(self, reader: Any, sums: Any) -> Any:
        import torch

        stems, totals = list(sums.stems), np.full(sums.count, -np.inf)
        sets = [
            torch.from_numpy(
                self._alphabet.ending[key] if isinstance(key, str) else self._alphabet.beginning(key)
            )
            for key in sums.sets
        ]
        behind = [() if stem == NONE else stems[stem] for stem in sums.stem_of]
        rows = [(*stem, *ids) for stem, ids in zip(behind, sums.sequences, strict=True)]
        begins = [len(stem) or len(row) for stem, row in zip(behind, rows, strict=True)]
        for start in range(0, len(rows), ROWS):
            own = slice(start, start + ROWS)
            first = min(begins[own]) - 1
            logs = _logits(self.model, rows[own], first).log_softmax(-1)
            values = []
            for row, begin, column, log in zip(rows[own], begins[own], sums.columns[own], logs, strict=True):
                value = log[range(begin - 1 - first, len(row) - 1 - first), row[begin:]].sum()
                if column != NONE:
                    value = value + log[len(row) - 1 - first][sets[column]].logsumexp(0)
                values.append(value)
            np.logaddexp.at(totals, sums.owner[own], torch.stack(values).double().numpy())
        return totals


def _logits(model: Any, rows: Sequence[Sequence[int]], first: int) -> torch.Tensor:
    """[rows, width - first, vocabulary] of a padded batch: no more than that is projected, and nothing kept to go on
    from."""
    import torch

    width = max(map(len, rows))
    ids = torch.tensor([[*row, *[0] * (width - len(row))] for row in rows])
    mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in rows])
    found = model(input_ids=ids, attention_mask=mask, use_cache=False, logits_to_keep=width - first)
    logits: torch.Tensor = found.logits
    return logits
