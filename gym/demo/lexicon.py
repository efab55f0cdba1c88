"""The words of the demo language: about 265 of them, all ordinary English."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Noun:
    singular: str
    plural: str
    gender: str = ""  # "m", "f", or "" for either

    def form(self, number: str) -> str:
        return self.singular if number == "sg" else self.plural


@dataclass(frozen=True)
class Verb:
    singular: str  # third person singular, present
    plural: str
    past: str

    def present(self, number: str) -> str:
        return self.singular if number == "sg" else self.plural


MASCULINE = tuple(
    Noun(s, p, "m")
    for s, p in (
        ("boy", "boys"),
        ("man", "men"),
        ("king", "kings"),
        ("uncle", "uncles"),
        ("brother", "brothers"),
        ("father", "fathers"),
    )
)
FEMININE = tuple(
    Noun(s, p, "f")
    for s, p in (
        ("girl", "girls"),
        ("woman", "women"),
        ("queen", "queens"),
        ("aunt", "aunts"),
        ("sister", "sisters"),
        ("mother", "mothers"),
    )
)
NEUTRAL = tuple(
    Noun(s, s + "s")
    for s in (
        "doctor", "farmer", "lawyer", "pilot", "nurse", "judge", "guard", "driver", "student", "sailor",
    )
)  # fmt: skip


@dataclass(frozen=True)
class Craft:
    """A maker, a product, and the verb that takes the maker as subject and the product as object."""

    maker: Noun
    product: str
    verb: str


CRAFTS = (
    Craft(Noun("singer", "singers"), "song", "sang"),
    Craft(Noun("writer", "writers"), "story", "wrote"),
    Craft(Noun("painter", "painters"), "portrait", "painted"),
    Craft(Noun("baker", "bakers"), "cake", "baked"),
    Craft(Noun("chef", "chefs"), "soup", "cooked"),
    Craft(Noun("drummer", "drummers"), "tune", "played"),
    Craft(Noun("teacher", "teachers"), "lesson", "taught"),
    Craft(Noun("dancer", "dancers"), "waltz", "danced"),
)
MAKERS = tuple(craft.maker for craft in CRAFTS)
# Transitive with a person as object, intransitive with a product as subject: "the song helped".
SWAY = ("helped", "stopped", "improved", "failed", "changed")

GENDERED = MASCULINE + FEMININE
PLAIN = GENDERED + NEUTRAL
PEOPLE = PLAIN + MAKERS

THINGS = ("box", "basket", "key", "coin", "lamp", "hat", "rope", "book", "cup", "map")
PLACES = ("tree", "river", "house", "bridge", "garden", "gate", "tower", "market", "station", "harbor")
HOMES = ("village", "city", "island", "valley", "desert", "coast")
ATTRIBUTES = ("tall", "old", "young", "kind", "rich", "poor", "clever", "quiet")
STATES = ("happy", "tired", "busy", "angry", "famous", "hungry", "sick", "ready")
ADVERBS = ("today", "again", "now", "here", "outside")
PAST_ADVERBS = ("yesterday", "again", "there", "outside", "loudly")
TIMES = ("in the morning", "in the evening", "on Monday", "on Friday", "last week", "last year")

LINKS = ("next to", "close to", "across from", "in front of", "on the left of")  # at least two words each
SHORT_LINKS = ("near", "behind", "beside")

INTRANSITIVE = tuple(
    Verb(s, p, t)
    for s, p, t in (
        ("laughs", "laugh", "laughed"),
        ("smiles", "smile", "smiled"),
        ("sleeps", "sleep", "slept"),
        ("waits", "wait", "waited"),
        ("works", "work", "worked"),
        ("shouts", "shout", "shouted"),
        ("coughs", "cough", "coughed"),
        ("sneezes", "sneeze", "sneezed"),
        ("dreams", "dream", "dreamed"),
        ("arrives", "arrive", "arrived"),
    )
)
TRANSITIVE = tuple(
    Verb(s, p, t)
    for s, p, t in (
        ("admires", "admire", "admired"),
        ("praises", "praise", "praised"),
        ("thanks", "thank", "thanked"),
        ("ignores", "ignore", "ignored"),
        ("avoids", "avoid", "avoided"),
        ("trusts", "trust", "trusted"),
        ("insults", "insult", "insulted"),
        ("greets", "greet", "greeted"),
    )
)
SELF_VERBS = ("hurt", "blamed", "praised", "admired", "embarrassed", "introduced")
# Optionally transitive; the object may be a person.
OPTIONAL = ("called", "followed", "watched", "fought", "trained", "left", "attacked", "joined")
# Always transitive; the object is inanimate.
HANDLING = ("grabbed", "found", "dropped", "hid", "carried", "cleaned", "broke", "bought")
REPORT = ("know", "remember", "forgot", "heard", "noticed")
REPORTERS = ("I", "We", "They", "You")
SUBORDINATORS = ("As", "While", "When", "After", "Because")
HABITS = ("often", "already", "always")
DETERMINERS = ("the", "my", "our", "your")

REFLEXIVES = {"m": "himself", "f": "herself", "pl": "themselves"}
