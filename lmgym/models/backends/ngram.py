"""Backend for n-gram models. The model is in ngram_model.py, its file format in ngram_file.py."""

from __future__ import annotations

import math
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lmgym.models.backends import files
from lmgym.models.backends.base import ModelFacts, no_such_token
from lmgym.models.backends.ngram_file import FILE_NAME, load_model
from lmgym.models.backends.ngram_model import BOS, EOS, SPECIALS, UNK, NgramModel, tokenize
from lmgym.models.backends.unchanged import FileSnapshot
from lmgym.models.engine.policy import ScoringPolicy
from lmgym.models.engine.scores import ScoringFailure, TokenScores
from lmgym.text import count


class NgramBackend:
    """Backend that scores words and punctuation. Unknown words are "<unk>" (id 0) and keep their offsets."""

    def __init__(self, model: NgramModel, *, fingerprint: str) -> None:
        self.model = model
        corpus = model.corpus
        self.facts = ModelFacts(
            parameters=model.parameters,
            vocabulary_size=model.vocabulary_size,
            tokenizer="words and punctuation by regular expression, case kept",
            context_length=None,
            bos=SPECIALS[BOS],
            eos=SPECIALS[EOS],
            dtype="float64",
            device="cpu",
            revision="",
            fingerprint=fingerprint,
            versions={"python": platform.python_version(), "numpy": np.__version__},
            architecture=f"{model.order}-gram, interpolated modified Kneser-Ney",
            notes=(
                f"The context has {count(model.order - 1, 'word')}.",
                f"Trained on {corpus.sentences:,} sentences ({corpus.tokens:,} words with punctuation); parameters "
                "are stored n-grams.",
                f"Words seen fewer than {count(corpus.min_count, 'time')} in training are unknown; all unknown words "
                f"share one probability, that of {SPECIALS[UNK]}.",
            ),
        )

    def score(
        self,
        texts: Sequence[str],
        policy: ScoringPolicy,
        needed: Sequence[Sequence[tuple[int, int]]] | None = None,
    ) -> list[TokenScores | ScoringFailure]:
        """Score all tokens of texts, needed or not; no text fails.

        Without a start token the first word has no value, because the beginning of a sentence is part of the context.

        Raises:
            BackendError: the start token is not in the vocabulary.
        """
        start = self._start(policy)
        return [self._score(text, policy, start) for text in texts]

    def _start(self, policy: ScoringPolicy) -> int:
        if policy.named_bos is None:
            return BOS
        try:
            return self.model.words.index(policy.named_bos)
        except ValueError:
            raise no_such_token(policy.named_bos) from None

    def _score(self, text: str, policy: ScoringPolicy, start: int) -> TokenScores:
        words = tokenize(text)
        ids = self.model.ids(word.text for word in words)
        offsets = [(word.start, word.end) for word in words]
        special = [False] * len(ids)
        if policy.bos != "never":
            ids, offsets, special = [start, *ids], [(0, 0), *offsets], [True, *special]
        if policy.eos:
            ids, offsets, special = [*ids, EOS], [*offsets, (len(text), len(text))], [*special, True]
        reach = self.model.order - 1
        positions = range(1, len(ids))
        chances = self.model.probabilities(
            [ids[at] for at in positions], [ids[max(0, at - reach) : at] for at in positions]
        )
        # math.log2 per value, so that equal words in equal contexts get the same bits in any batch.
        bits: list[float | None] = [None, *(-math.log2(chance) for chance in chances.tolist())] if ids else []
        return TokenScores([self.model.words[number] for number in ids], ids, offsets, bits, special)


def load(config: dict[str, Any], *, model_dir: Path, hub_allowed: bool) -> NgramBackend:
    """Load a model from {"path"}: a file in the model directory, or a folder with a file `model.ngram`.

    Raises:
        BackendError: the model cannot be used.
    """
    path = files.inside(model_dir, config["path"])
    if path.is_dir():
        path = files.inside(model_dir, f"{config['path'].rstrip('/')}/{FILE_NAME}")
    snapshot = FileSnapshot(path).read()
    model = load_model(path)
    snapshot.confirm()
    return NgramBackend(model, fingerprint=snapshot.digest)
