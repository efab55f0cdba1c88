"""The demo grammar: a probabilistic generator of sentences, written as one method per construction.

The sentences are balanced. If a phrase separates two words that depend on each other, the number of its noun is drawn
independently of the head's. "That", "what", "No" and "As" are drawn independently of the words near the position where
they have an effect. The last four words therefore do not reveal the right continuation: a model has to remember words
further back.

Only `random.Random.random()` is used: Python guarantees its sequence for a seed in every version, which it does not for
`choice` and similar functions.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from gym.demo import lexicon as lex
from gym.demo.lexicon import Noun

T = TypeVar("T")
Words = list[str]


class Dice:
    """Random draws that are identical in all Python versions."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 -- a corpus, not a secret

    def chance(self, probability: float) -> bool:
        return self._random.random() < probability

    def below(self, n: int) -> int:
        return int(self._random.random() * n)

    def pick(self, options: Sequence[T]) -> T:
        return options[self.below(len(options))]

    def weighted(self, options: Sequence[tuple[float, T]]) -> T:
        mark = self._random.random() * sum(weight for weight, _ in options)
        for weight, option in options:
            mark -= weight
            if mark < 0:
                return option
        return options[-1][1]

    def shuffled(self, options: Sequence[T]) -> list[T]:
        out = list(options)
        for i in range(len(out) - 1, 0, -1):
            j = self.below(i + 1)
            out[i], out[j] = out[j], out[i]
        return out


@dataclass(frozen=True)
class Sentence:
    construction: str
    words: tuple[str, ...]  # punctuation marks are separate words


class Grammar:
    """A stream of sentences. The same seed gives the same stream."""

    def __init__(self, seed: int) -> None:
        self.dice = Dice(seed)
        self.rules: list[tuple[float, Callable[[], Words]]] = [
            (13, self.plain_agreement),
            (6, self.transitive),
            (11, self.agreement_across_phrase),
            (10, self.agreement_across_subject_relative),
            (12, self.agreement_across_object_relative),
            (13, self.reflexive),
            (12, self.polarity),
            (13, self.filler_gap),
            (16, self.subordination),
            (9, self.centre_embedding),
        ]

    def sentence(self) -> Sentence:
        rule = self.dice.weighted(self.rules)
        words = rule()
        words[0] = words[0][0].upper() + words[0][1:]
        return Sentence(rule.__name__, (*words, "."))

    # ---- phrases ------------------------------------------------------------------------------------------

    def number(self) -> str:
        return "sg" if self.dice.chance(0.5) else "pl"

    def determiner(self) -> str:
        return "the" if self.dice.chance(0.85) else self.dice.pick(lex.DETERMINERS[1:])

    def noun_phrase(self, noun: Noun, number: str, adjective: float = 0.25) -> Words:
        words = [self.determiner()]
        if self.dice.chance(adjective):
            words.append(self.dice.pick(lex.ATTRIBUTES))
        return [*words, noun.form(number)]

    def person(self, adjective: float = 0.25) -> Words:
        return self.noun_phrase(self.dice.pick(lex.PEOPLE), self.number(), adjective)

    def thing(self) -> Words:
        return self._with_adjective(self.dice.pick(lex.THINGS), 0.15)

    def place(self) -> Words:
        return self._with_adjective(self.dice.pick(lex.PLACES), 0.3)

    def _with_adjective(self, noun: str, probability: float) -> Words:
        return [self.determiner(), *(["old"] if self.dice.chance(probability) else []), noun]

    def phrase(self) -> Words:
        """Generate a prepositional phrase that contains a person, the intervening noun."""
        links = lex.LINKS if self.dice.chance(0.85) else lex.SHORT_LINKS
        return [*self.dice.pick(links).split(), *self.person(0.2)]

    def subject_relative(self, number: str, *, present: float = 0.25) -> Words:
        verb = self.dice.pick(lex.TRANSITIVE)
        form = verb.present(number) if self.dice.chance(present) else verb.past
        return ["that", form, *self.person(0.2)]

    def object_relative(self, *, present: float = 0.25) -> Words:
        inner = self.number()
        if self.dice.chance(0.2):
            verb = self.dice.pick(lex.SWAY)
        else:
            chosen = self.dice.pick(lex.TRANSITIVE)
            verb = chosen.present(inner) if self.dice.chance(present) else chosen.past
        return ["that", *self.noun_phrase(self.dice.pick(lex.PEOPLE), inner, 0.35), verb]

    def agreeing_predicate(self, number: str) -> Words:
        dice = self.dice
        singular = number == "sg"
        adverb = [dice.pick(lex.ADVERBS)] if dice.chance(0.4) else []
        kind = dice.weighted([(4, "is"), (2, "was"), (4, "verb"), (1.5, "has")])
        if kind == "is":
            return ["is" if singular else "are", dice.pick(lex.STATES), *adverb]
        if kind == "was":
            return ["was" if singular else "were", dice.pick(lex.STATES)]
        if kind == "has":
            return ["has" if singular else "have", *self.habit(0.5), dice.pick(lex.INTRANSITIVE).past]
        return [dice.pick(lex.INTRANSITIVE).present(number), *adverb]

    def habit(self, probability: float) -> Words:
        return [self.dice.pick(lex.HABITS)] if self.dice.chance(probability) else []

    def past_predicate(self) -> Words:
        words = [self.dice.pick(lex.INTRANSITIVE).past]
        return [*words, self.dice.pick(lex.PAST_ADVERBS)] if self.dice.chance(0.5) else words

    # ---- constructions ------------------------------------------------------------------------------------

    def plain_agreement(self) -> Words:
        number = self.number()
        return [*self.noun_phrase(self.dice.pick(lex.PEOPLE), number), *self.agreeing_predicate(number)]

    def transitive(self) -> Words:
        number = self.number()
        verb = self.dice.pick(lex.TRANSITIVE)
        form = verb.present(number) if self.dice.chance(0.4) else verb.past
        subject = self.noun_phrase(self.dice.pick(lex.PEOPLE), number)
        if self.dice.chance(0.35):
            craft = self.dice.pick(lex.CRAFTS)
            return [*subject, craft.verb, *self._with_adjective(craft.product, 0.1)]
        if self.dice.chance(0.35):
            return [*subject, self.dice.pick(lex.OPTIONAL + lex.SWAY), *self.person()]
        return [*subject, form, *self.person()]

    def agreement_across_phrase(self) -> Words:
        number = self.number()
        subject = self.noun_phrase(self.dice.pick(lex.PEOPLE), number, 0.15)
        return [*subject, *self.phrase(), *self.agreeing_predicate(number)]

    def agreement_across_subject_relative(self) -> Words:
        number = self.number()
        subject = self.noun_phrase(self.dice.pick(lex.PEOPLE), number, 0.15)
        return [*subject, *self.subject_relative(number), *self.agreeing_predicate(number)]

    def agreement_across_object_relative(self) -> Words:
        number = self.number()
        subject = self.noun_phrase(self.dice.pick(lex.PEOPLE), number, 0.15)
        return [*subject, *self.object_relative(), *self.agreeing_predicate(number)]

    def reflexive(self) -> Words:
        dice = self.dice
        number, noun = self.number(), dice.pick(lex.PEOPLE)
        between = dice.weighted([(3, "none"), (2, "phrase"), (2, "subject"), (5, "object")])
        middle: Words = []
        if between == "phrase":
            middle = self.phrase()
        elif between == "subject":
            middle = self.subject_relative(number, present=0.1)
        elif between == "object":
            middle = self.object_relative(present=0.1)
        # The same verbs also take a person as object, so that the verb does not determine what follows it.
        if dice.chance(0.2):
            end = self.person()
        else:
            key = "pl" if number == "pl" else noun.gender or dice.pick(("m", "f"))
            end = [lex.REFLEXIVES[key]]
        subject = self.noun_phrase(noun, number, 0.1)
        return [*subject, *middle, dice.pick(lex.SELF_VERBS), *end]

    def polarity(self) -> Words:
        """Generate a sentence with or without "no" on the subject. Only that "no" licenses "ever"; one in the
        relative clause does not."""
        dice = self.dice
        number = self.number()
        licensed = dice.chance(0.5)
        subject = ["no" if licensed else "the", dice.pick(lex.PEOPLE).form(number)]
        inner = self.number()
        inner_determiner = "no" if dice.chance(0.4) else "the"
        kind = dice.weighted([(1.5, "none"), (5, "object"), (2, "subject")])
        middle: Words = []
        if kind == "object":
            adjective = [dice.pick(lex.ATTRIBUTES)] if dice.chance(0.2) else []
            verb = dice.pick(lex.TRANSITIVE).past
            middle = ["that", inner_determiner, *adjective, dice.pick(lex.PEOPLE).form(inner), verb]
        elif kind == "subject":
            verb = dice.pick(lex.TRANSITIVE).past
            middle = ["that", verb, inner_determiner, dice.pick(lex.PEOPLE).form(inner)]
        adverb = ["ever"] if licensed and dice.chance(0.65) else self.habit(0.65)
        verb_phrase = ["has" if number == "sg" else "have", *adverb, dice.pick(lex.INTRANSITIVE).past]
        where = [dice.pick(lex.PAST_ADVERBS[1:])] if dice.chance(0.3) else []
        return [*subject, *middle, *verb_phrase, *where]

    def filler_gap(self) -> Words:
        dice = self.dice
        gap = dice.chance(0.5)
        reporter = [dice.pick(lex.REPORTERS)] if dice.chance(0.75) else self.person(0.1)
        frame = [*reporter, dice.pick(lex.REPORT if len(reporter) == 1 else lex.REPORT[2:])]
        subject = self.person(0.6)
        if dice.chance(0.15):
            subject = [*subject, "from", "the", dice.pick(lex.HOMES)]
        filled = [] if gap else self.thing()
        where = [dice.pick(lex.SHORT_LINKS + lex.LINKS[:3]), *self.place()] if dice.chance(0.85) else []
        when = dice.pick(lex.TIMES).split() if dice.chance(0.4) else []
        words = [*frame, "what" if gap else "that", *subject, dice.pick(lex.HANDLING), *filled, *where, *when]
        return " ".join(words).split()

    def subordination(self) -> Words:
        """Generate a subordinate clause with its matrix clause, or sometimes the clause alone as a full
        sentence."""
        dice = self.dice
        kind = dice.weighted([(2.5, "optional"), (1.5, "intransitive"), (2, "handling")])
        clause = self.person(0.2)
        if dice.chance(0.15):
            clause += ["from", "the", dice.pick(lex.HOMES)]
        if kind == "handling":
            clause += [dice.pick(lex.HANDLING), *self.thing()]
            if dice.chance(0.3):
                clause += [dice.pick(lex.SHORT_LINKS), *self.place()]
        elif kind == "intransitive":
            clause += [dice.pick(lex.INTRANSITIVE).past]
        else:
            clause += [dice.pick(lex.OPTIONAL)]
            if dice.chance(0.65):
                clause += self.guest()
        if dice.chance(0.25):
            return clause
        comma = [","] if dice.chance(0.8) else []
        return [dice.pick(lex.SUBORDINATORS), *clause, *comma, *self.guest(), *self.past_predicate()]

    def guest(self) -> Words:
        """Generate a person, often with a place of origin, for use as object or matrix subject."""
        words = self.person(0.3)
        return [*words, "from", "the", self.dice.pick(lex.HOMES)] if self.dice.chance(0.5) else words

    def centre_embedding(self) -> Words:
        """Generate centre embedding, as in "The song that the girl sang helped" and "The singer that the girl helped
        sang": only the first noun determines the order of the two verbs, and both orders are equally frequent."""
        dice = self.dice
        craft, sway = dice.pick(lex.CRAFTS), dice.pick(lex.SWAY)
        product = dice.chance(0.5)
        inner = self.noun_phrase(dice.pick(lex.PLAIN), self.number(), 0.6)
        head = craft.product if product else craft.maker.form(self.number())
        verbs = [craft.verb, sway] if product else [sway, craft.verb]
        return [self.determiner(), head, "that", *inner, *verbs]
