"""The training corpus: sentences from the demo grammar, excluding those in the demo suites."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gym.demo.catalogue import DEMO_SUITES
from gym.demo.grammar import Dice, Grammar, Sentence
from lmgym.suites.formats import read_suite

SEED = 1998
SENTENCES = 80_000


@dataclass(frozen=True)
class Corpus:
    sentences: tuple[Sentence, ...]
    held_out: int  # sentences that were generated but left out because a suite contains them

    @property
    def sha256(self) -> str:
        digest = hashlib.sha256()
        for sentence in self.sentences:
            digest.update(" ".join(sentence.words).encode() + b"\n")
        return digest.hexdigest()

    def texts(self, seed: int = SEED + 1) -> Iterator[str]:
        """Yield the sentences as text. Half of them have a space before commas and full stops, so that models prefer
        neither of the two policies for joining regions."""
        dice = Dice(seed)
        for sentence in self.sentences:
            yield to_text(sentence.words, spaced=dice.chance(0.5))


def to_text(words: Iterable[str], *, spaced: bool) -> str:
    text = " ".join(words)
    return text if spaced else text.replace(" ,", ",").replace(" .", ".")


def suite_prefixes() -> set[tuple[str, ...]]:
    """Return the words of every suite sentence without its full stop; punctuation marks are separate words."""
    prefixes = set()
    for path in DEMO_SUITES:
        for sentence in read_suite(path.read_bytes(), path.name).sentences:
            words = tuple(" ".join(sentence.contents).split())
            prefixes.add(words[:-1] if words[-1] == "." else words)
    return prefixes


def generate(n: int = SENTENCES, seed: int = SEED) -> Corpus:
    """Generate `n` sentences, none of which starts with a sentence from a suite."""
    held = suite_prefixes()
    lengths = sorted({len(words) for words in held})
    grammar = Grammar(seed)
    kept: list[Sentence] = []
    dropped = 0
    while len(kept) < n:
        sentence = grammar.sentence()
        if any(sentence.words[:length] in held for length in lengths):
            dropped += 1
        else:
            kept.append(sentence)
    return Corpus(tuple(kept), dropped)
