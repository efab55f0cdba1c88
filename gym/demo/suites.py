"""The demo suites: SyntaxGym-style test suites over the words of the demo grammar, generated from one seed.

`build()` gives name -> JSON document (the current SyntaxGym dialect), `render()` its text as it is shipped in
data/suites. The designs follow published experiments (each suite's `reference`); all sentences are our own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
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


def _pairs(dice: Dice, n: int, first: Sequence[Noun], second: Sequence[Noun]) -> list[tuple[Noun, Noun]]:
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


def _predicates(dice: Dice, n: int) -> list[tuple[str, str, str]]:
    """(singular verb, plural verb, continuation), half of them "is" and "are", half full verbs."""
    out = []
    for k in range(n):
        if k % 2:
            verb = lex.INTRANSITIVE[(k // 2) % len(lex.INTRANSITIVE)]
            out.append((verb.singular, verb.plural, dice.pick(lex.ADVERBS)))
        else:
            out.append(("is", "are", lex.STATES[(k // 2) % len(lex.STATES)]))
    return out


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
        items=_agreement_items(nouns, [empty] * ITEMS, _predicates(dice, ITEMS)),
    )


def agreement_pp(dice: Dice) -> Document:
    pairs = _pairs(dice, ITEMS, lex.PEOPLE, lex.PEOPLE)
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
        items=_agreement_items([noun for noun, _ in pairs], middles, _predicates(dice, ITEMS)),
    )


def agreement_src(dice: Dice) -> Document:
    pairs = _pairs(dice, ITEMS, lex.PEOPLE, lex.PEOPLE)
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
        items=_agreement_items([noun for noun, _ in pairs], middles, _predicates(dice, ITEMS)),
    )


def agreement_orc(dice: Dice) -> Document:
    pairs = _pairs(dice, ITEMS, lex.PEOPLE, lex.PEOPLE)
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
        items=_agreement_items([noun for noun, _ in pairs], middles, _predicates(dice, ITEMS)),
    )


# ---- licensing ---------------------------------------------------------------------------------------------


def reflexive_orc(dice: Dice) -> Document:
    pairs = _pairs(dice, ITEMS, lex.PEOPLE, lex.PEOPLE)
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


def npi(dice: Dice) -> Document:
    pairs = _pairs(dice, ITEMS, lex.PEOPLE, lex.PEOPLE)
    items: list[Item] = []
    for k, (noun, other) in enumerate(pairs):
        number = ("sg", "pl")[k % 2]
        verb = lex.TRANSITIVE[k % len(lex.TRANSITIVE)].past
        end = lex.INTRANSITIVE[k % len(lex.INTRANSITIVE)].past
        has = "has" if number == "sg" else "have"
        item: Item = {}
        for condition, first, second in (
            ("neg_pos", "No", "the"),
            ("neg_neg", "No", "no"),
            ("pos_pos", "The", "the"),
            ("pos_neg", "The", "no"),
        ):
            item[condition] = [first, noun.form(number), "that", second, other.plural, verb, has, "ever", end]
        items.append(item)
    return document(
        "npi",
        title="Negative polarity: ever",
        description="“ever” needs a licensor such as “No” on the subject. A “no” inside the relative clause "
        "does not license it, although it is nearer.",
        reference=f"{MARVIN}; {HU}, npi_orc_ever",
        tags=["licensing", "long-distance"],
        regions=["licensor", "np", "that", "rc_dp", "rc_subj", "rc_verb", "matrix_v", "npi", "continuation"],
        predictions=[
            prediction(
                "Licensed by the subject only",
                "[ (8;%neg_pos%) < (8;%pos_pos%) ] & [ (8;%neg_neg%) < (8;%pos_neg%) ] & "
                "[ (8;%neg_pos%) < (8;%pos_neg%) ]",
                "“ever” is less surprising after a “No” on the subject, whatever stands in the relative "
                "clause.",
            )
        ],
        items=items,
    )


# ---- long-distance dependencies ----------------------------------------------------------------------------


def filler_gap_object(dice: Dice) -> Document:
    nouns = dice.sample(lex.PEOPLE, ITEMS)
    items: list[Item] = []
    for k, noun in enumerate(nouns):
        reporter = lex.REPORTERS[k % len(lex.REPORTERS)]
        prefix = f"{reporter} {lex.REPORT[k % len(lex.REPORT)]}"
        subject = f"the {lex.ATTRIBUTES[k % len(lex.ATTRIBUTES)]} {noun.form(('sg', 'pl')[(k // 2) % 2])}"
        verb = lex.HANDLING[(k + k // len(lex.HANDLING)) % len(lex.HANDLING)]
        thing = f"the {lex.THINGS[k % len(lex.THINGS)]}"
        link = (lex.SHORT_LINKS + lex.LINKS[:3])[k % 6]
        place = f"the {dice.pick(('', 'old '))}{lex.PLACES[(k * 3) % len(lex.PLACES)]}"
        time = lex.TIMES[(k * 5) % len(lex.TIMES)]
        item: Item = {}
        for condition, filler, np2 in (
            ("what_nogap", "what", thing),
            ("that_nogap", "that", thing),
            ("what_gap", "what", ""),
            ("that_gap", "that", ""),
        ):
            item[condition] = [prefix, filler, subject, verb, np2, link, place, time]
        items.append(item)
    return document(
        "filler_gap_object",
        title="Filler-gap dependency, object gap",
        description="After “what” an object is missing further on, after “that” none is. The filler stands "
        "five words before the place where the object would be.",
        reference=f"{FILLER}; {HU}, fgd_object",
        tags=["filler-gap", "long-distance"],
        regions=["prefix", "comp", "np1", "verb", "np2", "prep", "np3", "end"],
        predictions=[
            prediction(
                "Filled gap",
                "(5;%what_nogap%) > (5;%that_nogap%)",
                "An object where the gap should be is more surprising after “what” than after “that”.",
            ),
            prediction(
                "Licensed gap",
                "(6;%what_gap%) < (6;%that_gap%)",
                "A missing object is less surprising after “what” than after “that”.",
            ),
        ],
        items=items,
    )


# ---- garden paths and syntactic state ----------------------------------------------------------------------


def garden_path_npz(dice: Dice) -> Document:
    pairs = _pairs(dice, ITEMS, lex.PEOPLE, lex.PEOPLE)
    items: list[Item] = []
    for k, (noun, other) in enumerate(pairs):
        start = f"{lex.SUBORDINATORS[k % 4]} the {noun.form(('sg', 'pl')[k % 2])}"
        optional = lex.OPTIONAL[k % len(lex.OPTIONAL)]
        never = lex.INTRANSITIVE[k % len(lex.INTRANSITIVE)].past
        guest = f"the {other.form(('sg', 'pl')[(k // 2) % 2])} from the {lex.HOMES[k % len(lex.HOMES)]}"
        verb = lex.INTRANSITIVE[(k * 3 + 1) % len(lex.INTRANSITIVE)].past
        if verb == never:
            verb = lex.INTRANSITIVE[(k * 3 + 2) % len(lex.INTRANSITIVE)].past
        rest = lex.PAST_ADVERBS[k % len(lex.PAST_ADVERBS)]
        items.append(
            {
                "ambig_nocomma": [start, optional, "", guest, verb, rest],
                "unambig_nocomma": [start, never, "", guest, verb, rest],
                "ambig_comma": [start, optional, ",", guest, verb, rest],
                "unambig_comma": [start, never, ",", guest, verb, rest],
            }
        )
    return document(
        "garden_path_npz",
        title="NP/Z garden path",
        description="Without a comma the noun phrase after an optionally transitive verb is taken for its "
        "object; the matrix verb then comes as a surprise. A comma or a verb without object prevents it.",
        reference=f"{FUTRELL}; {HU}, npz_ambig",
        tags=["garden-path", "long-distance"],
        regions=["start", "verb", "comma", "np_z", "matrix_v", "continuation"],
        predictions=[
            prediction(
                "Garden path",
                "[(5;%ambig_nocomma%) > (5;%ambig_comma%)] & "
                "[(5;%ambig_nocomma%) > (5;%unambig_nocomma%)] & "
                "[[(5;%ambig_nocomma%) - (5;%ambig_comma%)] > "
                "[(5;%unambig_nocomma%) - (5;%unambig_comma%)]]",
                "The matrix verb is most surprising without comma after a verb that can take an object, and "
                "the comma helps more there than after a verb that cannot.",
            )
        ],
        items=items,
    )


def subordination(dice: Dice) -> Document:
    pairs = _pairs(dice, ITEMS, lex.PEOPLE, lex.PEOPLE)
    items: list[Item] = []
    for k, (noun, other) in enumerate(pairs):
        word = lex.SUBORDINATORS[k % len(lex.SUBORDINATORS)]
        who = f"{dice.pick(lex.ATTRIBUTES)} {noun.form(('sg', 'pl')[k % 2])}"
        verb = lex.HANDLING[(k * 3) % len(lex.HANDLING)]
        did = f"{verb} the {lex.THINGS[(k * 7 + k // 10) % len(lex.THINGS)]}"
        laughed = lex.INTRANSITIVE[k % len(lex.INTRANSITIVE)].past
        end = f"{laughed} {lex.PAST_ADVERBS[k % len(lex.PAST_ADVERBS)]}"
        matrix = f", the {other.form(('sg', 'pl')[(k // 2) % 2])} {end} ."
        items.append(
            {
                "sub_no-matrix": [f"{word} the {who}", did, "."],
                "no-sub_no-matrix": [f"The {who}", did, "."],
                "sub_matrix": [f"{word} the {who}", did, matrix],
                "no-sub_matrix": [f"The {who}", did, matrix],
            }
        )
    return document(
        "subordination",
        title="Subordinate clauses need a matrix clause",
        description="A clause that begins with “As” or “While” cannot end the sentence; the same clause "
        "without it cannot go on with a comma and another clause.",
        reference=f"{FUTRELL}; {HU}, subordination",
        tags=["gross-syntactic-state", "long-distance"],
        regions=["subordinate clause 1", "subordinate clause 2", "main clause"],
        predictions=[
            prediction(
                "End too early",
                "(3;%sub_no-matrix%) > (3;%no-sub_no-matrix%)",
                "The full stop is more surprising while a matrix clause is still owed.",
            ),
            prediction(
                "Second clause",
                "(3;%sub_matrix%) < (3;%no-sub_matrix%)",
                "A second clause is less surprising when a subordinator announced it.",
            ),
        ],
        items=items,
    )


def center_embed(dice: Dice) -> Document:
    """Items come in twins: one inner clause after a product and after its maker, with the verbs turned."""
    inner = dice.sample(lex.PLAIN, ITEMS // 2)
    items: list[Item] = []
    for k, noun in enumerate(inner):
        craft, sway = lex.CRAFTS[k % len(lex.CRAFTS)], lex.SWAY[(k + k // len(lex.CRAFTS)) % len(lex.SWAY)]
        who = f"{dice.pick(lex.ATTRIBUTES)} {noun.form(('sg', 'pl')[k % 2])}"
        for head, first, second in (
            (craft.product, craft.verb, sway),
            (craft.maker.singular, sway, craft.verb),
        ):
            items.append(
                {
                    "plaus": ["The", head, "that", "the", who, first, second],
                    "implaus": ["The", head, "that", "the", who, second, first],
                }
            )
    return document(
        "center_embed",
        title="Centre embedding",
        description="Two nouns, two verbs: the inner verb must fit the first noun as its object, the outer "
        "verb as its subject. Every inner clause occurs twice, after a product (“The song that the young "
        "girl sang helped”) and after its maker (“The singer that the young girl helped sang”), so that the "
        "words near the verbs favour neither order.",
        reference=f"{EMBED}; {HU}, center_embed",
        tags=["center-embedding", "long-distance"],
        regions=["intro", "np_1", "that", "det_2", "np_2", "verb_1", "verb_2"],
        predictions=[
            prediction(
                "Verbs in order",
                "[ (6;%plaus%) + (7;%plaus%) ] < [ (6;%implaus%) + (7;%implaus%) ]",
                "The two verbs together are less surprising in the order in which each fits its noun.",
            )
        ],
        items=items,
    )


BUILDERS: tuple[Callable[[Dice], Document], ...] = (
    agreement_simple,
    agreement_pp,
    agreement_src,
    agreement_orc,
    reflexive_orc,
    npi,
    filler_gap_object,
    garden_path_npz,
    subordination,
    center_embed,
)


def build(seed: int = SEED) -> dict[str, Document]:
    """All demo suites. Each draws from its own dice, so that changing one leaves the others alone."""
    return {builder.__name__: builder(Dice(seed + k)) for k, builder in enumerate(BUILDERS)}


def render(suite: Document) -> str:
    """JSON with one sentence per line, for people who read it and for version control."""

    def flat(value: object) -> str:
        return json.dumps(value, ensure_ascii=False)

    items = []
    for item in suite["items"]:  # type: ignore[attr-defined]
        lines = ",\n".join(f"   {flat(condition)}" for condition in item["conditions"])
        items.append(f'  {{"item_number": {item["item_number"]}, "conditions": [\n{lines}\n  ]}}')
    head = json.dumps({key: suite[key] for key in suite if key != "items"}, ensure_ascii=False, indent=1)
    return head.removesuffix("\n}") + ',\n "items": [\n' + ",\n".join(items) + "\n ]\n}\n"


def write(directory: Path = SUITES_DIR, seed: int = SEED) -> list[Path]:
    directory.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, suite in build(seed).items():
        path = directory / f"{name}.json"
        path.write_text(render(suite), encoding="utf-8")
        paths.append(path)
    return paths


def sentences(suite: Document) -> Iterator[tuple[str, ...]]:
    """The words of every sentence of a suite; punctuation marks are words of their own."""
    for item in suite["items"]:  # type: ignore[attr-defined]
        for condition in item["conditions"]:
            yield tuple(" ".join(region["content"] for region in condition["regions"]).split())
