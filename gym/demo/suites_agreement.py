"""Demo suites about agreement: subject and verb, reflexives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gym.demo import lexicon as lex
from gym.demo.grammar import Dice
from gym.demo.lexicon import Noun
from gym.demo.suite_parts import (
    HU,
    ITEMS,
    MARVIN,
    Document,
    Item,
    document,
    noun_pairs,
    predicates,
    prediction,
)


def _agreement_formula(region: int | str) -> str:
    return (
        f"[({region};%match_sing%) < ({region};%mismatch_sing%)] & "
        f"[({region};%match_plural%) < ({region};%mismatch_plural%)]"
    )


def _agreement_items(
    nouns: Sequence[Noun], middles: Sequence[Mapping[str, list[str]]], ends: Sequence[tuple[str, str, str]]
) -> list[Item]:
    """`middles[k]` gives the regions between noun and verb after a singular and after a plural head."""
    items: list[Item] = []
    for noun, middle, (singular, plural, rest) in zip(nouns, middles, ends, strict=True):
        one = ["The", noun.singular, *middle["sg"]]
        many = ["The", noun.plural, *middle["pl"]]
        items.append(
            {
                "match_sing": [*one, singular, rest],
                "mismatch_sing": [*one, plural, rest],
                "match_plural": [*many, plural, rest],
                "mismatch_plural": [*many, singular, rest],
            }
        )
    return items


def agreement_simple(dice: Dice) -> Document:
    nouns = dice.sample(lex.PEOPLE, ITEMS)
    empty: Mapping[str, list[str]] = {"sg": [], "pl": []}
    return document(
        "agreement_simple",
        title="Subject-verb agreement, adjacent",
        description="The verb stands next to its subject. Two neighbouring words settle its number, so a "
        "model that only counts neighbours can pass: the control for the suites in which something stands "
        "between.",
        reference=f"{MARVIN}, simple agreement",
        tags=["agreement", "local"],
        regions=["intro", "np", "matrix_v", "continuation"],
        predictions=[
            prediction(
                "Verb",
                _agreement_formula(3),
                "The verb that agrees is less surprising than the one that does not, for both numbers.",
            ),
            prediction(
                "Whole sentence",
                _agreement_formula("*"),
                "The same for the sentence as a whole: the grammatical one is the more probable.",
            ),
        ],
        items=_agreement_items(nouns, [empty] * ITEMS, predicates(dice, ITEMS)),
    )


def agreement_pp(dice: Dice) -> Document:
    pairs = noun_pairs(dice, ITEMS, lex.PEOPLE, lex.PEOPLE)
    middles = []
    for k, (_, other) in enumerate(pairs):
        link = lex.LINKS[k % len(lex.LINKS)]
        middles.append({"sg": [link, "the", other.plural], "pl": [link, "the", other.singular]})
    return document(
        "agreement_pp",
        title="Subject-verb agreement across a prepositional phrase",
        description="A prepositional phrase with a noun of the other number stands between subject and verb. "
        "The last four words before the verb say nothing about the subject.",
        reference=f"{MARVIN}; {HU}, number_prep",
        tags=["agreement", "long-distance"],
        regions=["intro", "np", "prep", "the", "prep_np", "matrix_v", "continuation"],
        predictions=[
            prediction(
                "Agreement",
                _agreement_formula(6),
                "The verb agrees with the head of the subject, not with the nearer noun, for both numbers.",
            )
        ],
        items=_agreement_items([noun for noun, _ in pairs], middles, predicates(dice, ITEMS)),
    )


def agreement_src(dice: Dice) -> Document:
    pairs = noun_pairs(dice, ITEMS, lex.PEOPLE, lex.PEOPLE)
    middles = []
    for k, (_, other) in enumerate(pairs):
        start = ["that", lex.TRANSITIVE[k % len(lex.TRANSITIVE)].past, "the"]
        middles.append({"sg": [*start, other.plural], "pl": [*start, other.singular]})
    return document(
        "agreement_src",
        title="Subject-verb agreement across a subject relative clause",
        description="A relative clause whose subject is the head stands between subject and verb; its object "
        "has the other number and is the noun next to the verb.",
        reference=f"{MARVIN}; {HU}, number_src",
        tags=["agreement", "long-distance"],
        regions=["intro", "np", "that", "embed_vp", "the", "embed_np", "matrix_v", "continuation"],
        predictions=[
            prediction(
                "Agreement",
                _agreement_formula(7),
                "The verb agrees with the head of the subject, not with the nearer noun, for both numbers.",
            )
        ],
        items=_agreement_items([noun for noun, _ in pairs], middles, predicates(dice, ITEMS)),
    )


def agreement_orc(dice: Dice) -> Document:
    pairs = noun_pairs(dice, ITEMS, lex.PEOPLE, lex.PEOPLE)
    middles = []
    for k, (_, other) in enumerate(pairs):
        verb = lex.TRANSITIVE[k % len(lex.TRANSITIVE)].past
        start = ["that", "the"]
        middles.append({"sg": [*start, other.plural, verb], "pl": [*start, other.singular, verb]})
    return document(
        "agreement_orc",
        title="Subject-verb agreement across an object relative clause",
        description="A relative clause with its own subject, of the other number, stands between subject and "
        "verb: two verbs in a row, each with another subject.",
        reference=f"{MARVIN}; {HU}, number_orc",
        tags=["agreement", "long-distance"],
        regions=["intro", "np", "that", "the", "embed_np", "embed_vp", "matrix_v", "continuation"],
        predictions=[
            prediction(
                "Agreement",
                _agreement_formula(7),
                "The matrix verb agrees with the head, not with the subject of the relative clause, for both "
                "numbers.",
            )
        ],
        items=_agreement_items([noun for noun, _ in pairs], middles, predicates(dice, ITEMS)),
    )


# ---- licensing ---------------------------------------------------------------------------------------------


def reflexive_orc(dice: Dice) -> Document:
    pairs = noun_pairs(dice, ITEMS, lex.PEOPLE, lex.PEOPLE)
    items: list[Item] = []
    for k, (noun, other) in enumerate(pairs):
        own = lex.REFLEXIVES[noun.gender or ("m", "f")[k % 2]]
        inner = lex.TRANSITIVE[k % len(lex.TRANSITIVE)].past
        outer = lex.SELF_VERBS[k % len(lex.SELF_VERBS)]
        one = ["The", noun.singular, "that", "the", other.plural, inner, outer]
        many = ["The", noun.plural, "that", "the", other.singular, inner, outer]
        items.append(
            {
                "match_sing": [*one, own],
                "mismatch_sing": [*one, "themselves"],
                "match_plural": [*many, "themselves"],
                "mismatch_plural": [*many, own],
            }
        )
    return document(
        "reflexive_orc",
        title="Reflexive number across an object relative clause",
        description="A reflexive agrees with the subject of its own clause, here the head of the sentence, "
        "not with the nearer subject of the relative clause.",
        reference=f"{MARVIN}; {HU}, reflexive_orc",
        tags=["licensing", "long-distance"],
        regions=["intro", "np", "that", "the", "embed_np", "embed_vp", "matrix_v", "reflexive"],
        predictions=[
            prediction(
                "Reflexive number",
                _agreement_formula(8),
                "The reflexive that agrees with the head is less surprising than the other, for both "
                "numbers.",
            )
        ],
        items=items,
    )
