"""Templates of new suites: an empty sheet of a requested shape, and four well-known designs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lmgym.suites.formats.designs import Design, in_meta, named_after_levels, read_lines
from lmgym.suites.formats.documents import PredictionDoc, SentenceDoc, SuiteDocument
from lmgym.text import tidy


@dataclass(frozen=True, slots=True)
class Blueprint:
    """A design with a few example items to replace. `predicts` states the predictions in words."""

    slug: str
    title: str
    about: str
    predicts: str
    regions: tuple[str, ...]
    items: tuple[Mapping[str, tuple[str, ...]], ...]
    predictions: tuple[PredictionDoc, ...]
    factors: str = ""
    """One factor per line, as typed into the form."""

    @property
    def conditions(self) -> tuple[str, ...]:
        return tuple(self.items[0])

    def document(self, name: str = "") -> SuiteDocument:
        """Build a suite from this design."""
        design = named_after_levels(read_lines(self.factors), self.conditions)
        return SuiteDocument(
            name=name or self.slug,
            metric="sum",
            meta=in_meta({}, design),
            region_names=self.regions,
            conditions=self.conditions,
            sentences=tuple(
                SentenceDoc(number, condition, contents)
                for number, item in enumerate(self.items, start=1)
                for condition, contents in item.items()
            ),
            predictions=self.predictions,
        )


def guided(
    name: str,
    conditions: Sequence[str],
    regions: Sequence[str],
    items: Sequence[Mapping[str, Sequence[str]]],
    design: Design = (),
) -> SuiteDocument:
    """Build a suite with these conditions, regions and items.

    Without items the suite gets one empty item; missing cells are empty.
    """
    names = [tidy(region) for region in regions]
    sentences = []
    for number, item in enumerate(items or [{}], start=1):
        for condition in conditions:
            cells = [tidy(cell) for cell in item.get(condition, ())][: len(names)]
            sentences.append(SentenceDoc(number, condition, (*cells, *[""] * (len(names) - len(cells)))))
    return SuiteDocument(
        name=name,
        metric="sum",
        meta=in_meta({}, design),
        region_names=tuple(names),
        conditions=tuple(conditions),
        sentences=tuple(sentences),
    )


def _agreement(
    subjects: tuple[str, str], attractors: tuple[str, str], verbs: tuple[str, str], rest: str
) -> dict[str, tuple[str, ...]]:
    """Build an item with singular and plural subjects, matching and mismatching verbs, and attractors of the other
    number."""
    (subject_sing, subject_plural), (attractor_sing, attractor_plural) = subjects, attractors
    verb_sing, verb_plural = verbs
    return {
        "match_sing": (subject_sing, attractor_plural, verb_sing, rest),
        "mismatch_sing": (subject_sing, attractor_plural, verb_plural, rest),
        "match_plural": (subject_plural, attractor_sing, verb_plural, rest),
        "mismatch_plural": (subject_plural, attractor_sing, verb_sing, rest),
    }


def _gap(start: str, subject: str, verb: str, thing: str, rest: str) -> dict[str, tuple[str, ...]]:
    return {
        "what_gap": (start, "what", subject, verb, "", rest),
        "that_gap": (start, "that", subject, verb, "", rest),
        "what_nogap": (start, "what", subject, verb, thing, rest),
        "that_nogap": (start, "that", subject, verb, thing, rest),
    }


def _garden(
    noun: str, ambiguous: str, unambiguous: str, by: str, verb: str, rest: str
) -> dict[str, tuple[str, ...]]:
    return {
        "reduced_ambig": (noun, "", ambiguous, by, verb, rest),
        "unreduced_ambig": (noun, "who was", ambiguous, by, verb, rest),
        "reduced_unambig": (noun, "", unambiguous, by, verb, rest),
        "unreduced_unambig": (noun, "who was", unambiguous, by, verb, rest),
    }


AGREEMENT = Blueprint(
    "agreement",
    "Subject–verb agreement, 2 × 2",
    "Number of the subject × agreement of the verb, with an intervening noun of the other number.",
    "A verb that does not agree is more surprising than one that does, for singular and for plural subjects.",
    ("Subject", "Attractor", "Verb", "Rest"),
    (
        _agreement(
            ("The author", "The authors"),
            ("near the senator", "near the senators"),
            ("laughs", "laugh"),
            "loudly.",
        ),
        _agreement(
            ("The key", "The keys"), ("to the cabinet", "to the cabinets"), ("is", "are"), "on the table."
        ),
        _agreement(
            ("The teacher", "The teachers"),
            ("behind the girl", "behind the girls"),
            ("waits", "wait"),
            "for the bus.",
        ),
        _agreement(
            ("The painting", "The paintings"),
            ("of the river", "of the rivers"),
            ("was", "were"),
            "sold yesterday.",
        ),
    ),
    (
        PredictionDoc(
            "[(3;%mismatch_sing%) > (3;%match_sing%)] & [(3;%mismatch_plural%) > (3;%match_plural%)]",
            "Agreement",
            "The verb is less expected where it does not agree, whatever the subject's number.",
        ),
    ),
    "agreement: match, mismatch\nnumber: sing, plural",
)
FILLER_GAP = Blueprint(
    "filler-gap",
    "Filler–gap dependency, 2 × 2",
    "Filler (what) or no filler (that) × gap or no gap.",
    "A gap is more surprising without a filler, and an object is more surprising with one.",
    ("Start", "Complementizer", "Subject", "Verb", "Object", "Rest"),
    (
        _gap("I know", "the lion", "devoured", "the gazelle", "at sunrise."),
        _gap("She remembers", "the waiter", "dropped", "a glass", "in the kitchen."),
        _gap("They forgot", "our neighbour", "painted", "the fence", "last summer."),
        _gap("We heard", "the mayor", "promised", "new schools", "before the vote."),
    ),
    (
        PredictionDoc(
            "(6;%that_gap%) > (6;%what_gap%)",
            "A gap needs a filler",
            "The words after the gap are less expected without a filler.",
        ),
        PredictionDoc(
            "(5;%what_nogap%) > (5;%that_nogap%)",
            "A filler needs a gap",
            "The object is less expected after a filler.",
        ),
    ),
    "filler: that, what\ngap: nogap, gap",
)
MINIMAL_PAIR = Blueprint(
    "minimal-pair",
    "Minimal pair",
    "Two sentences that differ in one place, one of them acceptable.",
    "The acceptable sentence has a lower total surprisal than the other.",
    ("Start", "Critical", "End"),
    (
        {"good": ("The cats", "sleep", "all day."), "bad": ("The cats", "sleeps", "all day.")},
        {"good": ("The girls", "hurt themselves", "again."), "bad": ("The girls", "hurt herself", "again.")},
        {"good": ("Many", "rivers", "flow south."), "bad": ("Many", "river", "flow south.")},
        {
            "good": ("This book", "was written", "by a nurse."),
            "bad": ("This book", "was wrote", "by a nurse."),
        },
    ),
    (PredictionDoc("(*;%good%) < (*;%bad%)", "The good sentence is more likely"),),
)
GARDEN_PATH = Blueprint(
    "garden-path",
    "Garden path, 2 × 2",
    "Reduced or full relative clause × ambiguous or unambiguous verb form.",
    "The main verb is most surprising after a reduced clause with an ambiguous verb, and reduction matters more "
    "with an ambiguous verb than with an unambiguous one.",
    ("Noun", "Unreduced", "Participle", "Phrase", "Main verb", "Rest"),
    (
        _garden("The horse", "raced", "ridden", "past the barn", "fell", "into the ditch."),
        _garden("The woman", "brought", "given", "the sandwich", "tripped", "on the carpet."),
        _garden("The child", "kicked", "chosen", "in the confusion", "found", "her way back."),
        _garden("The soldier", "served", "taken", "a hot meal", "thanked", "the cook."),
    ),
    (
        PredictionDoc(
            "[(5;%reduced_ambig%) > (5;%unreduced_ambig%)] & [(5;%reduced_ambig%) > (5;%reduced_unambig%)]"
            " & [[(5;%reduced_ambig%) - (5;%unreduced_ambig%)] > [(5;%reduced_unambig%) - (5;%unreduced_unambig%)]]",
            "Garden path",
            "The main verb is most surprising where the preceding words could be a complete clause.",
        ),
    ),
    "clause: unreduced, reduced\nambiguity: unambig, ambig",
)
BLUEPRINTS = {blueprint.slug: blueprint for blueprint in (AGREEMENT, FILLER_GAP, MINIMAL_PAIR, GARDEN_PATH)}
