"""What all demo suites are made with: documents, predictions, pairs of nouns, references."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from gym.demo import lexicon as lex
from gym.demo.grammar import Dice
from gym.demo.lexicon import Noun

SEED = 2020
ITEMS = 24
AUTHOR = "LM Gym"
LICENCE = "CC0-1.0"
SUITES_DIR = Path(__file__).parent / "data" / "suites"

Item = dict[str, list[str]]  # condition -> contents of its regions
Document = dict[str, object]

HU = (
    "Hu, Gauthier, Qian, Wilcox & Levy (2020), A systematic assessment of syntactic generalization in neural "
    "language models"
)
MARVIN = "Marvin & Linzen (2018), Targeted syntactic evaluation of language models"
FUTRELL = (
    "Futrell et al. (2019), Neural language models as psycholinguistic subjects: representations of "
    "syntactic state"
)
FILLER = (
    "Wilcox, Levy, Morita & Futrell (2018), What do RNN language models learn about filler-gap dependencies?"
)
EMBED = (
    "Wilcox, Levy & Futrell (2019), Hierarchical representation in neural language models: suppression and "
    "recovery of expectations"
)


def prediction(name: str, formula: str, description: str) -> dict[str, str]:
    return {"type": "formula", "formula": formula, "name": name, "description": description}


def document(
    name: str,
    *,
    title: str,
    description: str,
    reference: str,
    tags: Sequence[str],
    regions: Sequence[str],
    predictions: Sequence[Mapping[str, str]],
    items: Sequence[Item],
) -> Document:
    return {
        "meta": {
            "name": name,
            "metric": "sum",
            "title": title,
            "tags": ["demo", *tags],
            "author": AUTHOR,
            "description": description,
            "reference": f"after {reference}; own sentences",
            "licence": LICENCE,
            "comment": "",
        },
        "region_meta": {str(k): region for k, region in enumerate(regions, 1)},
        "predictions": [dict(entry) for entry in predictions],
        "items": [
            {
                "item_number": number,
                "conditions": [
                    {
                        "condition_name": condition,
                        "regions": [
                            {"region_number": k, "content": text} for k, text in enumerate(contents, 1)
                        ],
                    }
                    for condition, contents in item.items()
                ],
            }
            for number, item in enumerate(items, 1)
        ],
    }


# ---- agreement ---------------------------------------------------------------------------------------------


def noun_pairs(dice: Dice, n: int, first: Sequence[Noun], second: Sequence[Noun]) -> list[tuple[Noun, Noun]]:
    """`n` pairs of different nouns; no pair twice, and every noun about as often as any other."""
    out: list[tuple[Noun, Noun]] = []
    left: list[Noun] = []
    right: list[Noun] = []
    while len(out) < n:
        left = left or dice.shuffled(first)
        right = right or dice.shuffled(second)
        a, b = left.pop(), right.pop()
        if a is not b and (a, b) not in out:
            out.append((a, b))
    return out


def predicates(dice: Dice, n: int) -> list[tuple[str, str, str]]:
    """(singular verb, plural verb, continuation), half of them "is" and "are", half full verbs."""
    out = []
    for k in range(n):
        if k % 2:
            verb = lex.INTRANSITIVE[(k // 2) % len(lex.INTRANSITIVE)]
            out.append((verb.singular, verb.plural, dice.pick(lex.ADVERBS)))
        else:
            out.append(("is", "are", lex.STATES[(k // 2) % len(lex.STATES)]))
    return out
