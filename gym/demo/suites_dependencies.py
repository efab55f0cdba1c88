"""Demo suites about licensing, filler and gap, garden paths, subordination and centre embedding."""

from __future__ import annotations

from gym.demo import lexicon as lex
from gym.demo.grammar import Dice
from gym.demo.suite_parts import (
    EMBED,
    FILLER,
    FUTRELL,
    HU,
    ITEMS,
    MARVIN,
    Document,
    Item,
    document,
    noun_pairs,
    prediction,
)


def npi(dice: Dice) -> Document:
    pairs = noun_pairs(dice, ITEMS, lex.PEOPLE, lex.PEOPLE)
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
    pairs = noun_pairs(dice, ITEMS, lex.PEOPLE, lex.PEOPLE)
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
    pairs = noun_pairs(dice, ITEMS, lex.PEOPLE, lex.PEOPLE)
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


def _twins(dice: Dice) -> list[tuple[str, str, str, str]]:
    """(head, inner subject, verb, verb), in the order that fits the head."""
    rows = []
    for k, noun in enumerate(dice.sample(lex.PLAIN, ITEMS // 2)):
        craft, sway = lex.CRAFTS[k % len(lex.CRAFTS)], lex.SWAY[(k + k // len(lex.CRAFTS)) % len(lex.SWAY)]
        who = f"{dice.pick(lex.ATTRIBUTES)} {noun.form(('sg', 'pl')[k % 2])}"
        rows.append((craft.product, who, craft.verb, sway))
        rows.append((craft.maker.singular, who, sway, craft.verb))
    return rows


def center_embed(dice: Dice) -> Document:
    """Items come in twins: one inner clause after a product and after its maker, with the verbs turned."""
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
        predictions=[_verbs_in_order(6)],
        items=[
            {
                "plaus": ["The", head, "that", "the", who, first, second],
                "implaus": ["The", head, "that", "the", who, second, first],
            }
            for head, who, first, second in _twins(dice)
        ],
    )


def center_embed_mod(dice: Dice) -> Document:
    """The same items with a phrase between the inner subject and the verbs."""
    homes = (f"from the {lex.HOMES[k // 2 % len(lex.HOMES)]}" for k in range(ITEMS))
    return document(
        "center_embed_mod",
        title="Centre embedding, with a modifier",
        description="The items of center_embed with a phrase before the verbs: “The song that the young girl "
        "from the village sang helped”. Whoever has understood the clause is not thrown off by it.",
        reference=f"{EMBED}; {HU}, center_embed_mod",
        tags=["center-embedding", "long-distance"],
        regions=["intro", "np_1", "that", "det_2", "np_2", "modifier", "verb_1", "verb_2"],
        predictions=[_verbs_in_order(7)],
        items=[
            {
                "plaus": ["The", head, "that", "the", who, home, first, second],
                "implaus": ["The", head, "that", "the", who, home, second, first],
            }
            for (head, who, first, second), home in zip(_twins(dice), homes, strict=True)
        ],
    )


def _verbs_in_order(first: int) -> dict[str, str]:
    def both(condition: str) -> str:
        return f"[ ({first};%{condition}%) + ({first + 1};%{condition}%) ]"

    return prediction(
        "Verbs in order",
        f"{both('plaus')} < {both('implaus')}",
        "The two verbs together are less surprising in the order in which each fits its noun.",
    )
