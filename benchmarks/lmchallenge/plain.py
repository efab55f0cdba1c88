"""What somebody writes who wraps a causal model for the API with transformers alone: one call at a time.

Candidates are appended to the context and run as one padded batch, their tokens' log probabilities added up; without
candidates, transformers' own beam search goes on. No tokens are shared between calls or candidates, other ways to
spell a word do not count, and a candidate may go on as a longer word.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


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
