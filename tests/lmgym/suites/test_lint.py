"""Findings of the linter, and suites without findings."""

from __future__ import annotations

import re
from typing import Any

import pytest

from lmgym.suites.formats import read_suite
from lmgym.suites.lint import CODES, Finding, lint
from tests.lmgym.conftest import ROOT
from tests.lmgym.suites.formats.samples import condition, golden, read, suite


def found(document: dict[str, Any], *codes: str) -> list[Finding]:
    """Return the findings of a document with these codes (without codes: all)."""
    findings = lint(read(document))
    assert all(finding.code in CODES for finding in findings)
    return [finding for finding in findings if finding.code in codes] if codes else findings


def items(number: int, *rows: tuple[str, ...], **odd: tuple[tuple[str, ...], ...]) -> list[dict[str, Any]]:
    """Return `number` items with the conditions a, b, c …; `#` becomes a word of the item; odd["item3"]
    replaces rows."""
    made = []
    for n in range(1, number + 1):
        use = odd.get(f"item{n}", rows)
        conditions = [
            condition(name, *(cell.replace("#", f"word{n}") for cell in row))
            for name, row in zip("abcdef", use, strict=False)
        ]
        made.append({"item_number": n, "conditions": conditions})
    return made


def factorial(number: int = 10, formula: str = "(2;%a%) > (2;%b%)", **odd: Any) -> dict[str, Any]:
    rows = odd.pop("rows", (("The # cat", "sleeps", "now"), ("The # cat", "sleep", "now")))
    return suite(items=items(number, *rows, **odd), predictions=[formula] if formula else [])


def test_a_clean_suite_has_no_findings():
    assert lint(golden("clean.json")) == []


def test_planted_slips_are_found_and_nothing_else():
    findings = lint(golden("planted.json"))
    assert [(f.code, f.severity, f.where) for f in findings] == [
        ("identical-sentences", "error", "item 5"),
        ("swapped-conditions", "error", "item 3"),
        ("odd-empty-region", "warning", "item 7, region 6 (End)"),
        ("odd-equality-pattern", "warning", "item 6, region 6 (End)"),
        ("odd-equality-pattern", "warning", "item 10, region 4 (Verb)"),
        ("doubled-word", "warning", "item 8"),
        ("duplicate-items", "warning", "items 2, 9"),
    ]
    by_code = {f.code: f for f in findings}
    assert "what_gap and that_gap are the same sentence" in by_code["identical-sentences"].message
    assert "prediction 1 compares them and cannot hold" in by_code["identical-sentences"].message
    swap = by_code["swapped-conditions"]
    assert swap.message.startswith("the sentences of that_gap and that_full look swapped: region 5 (Object)")
    assert swap.cells == ((3, "that_gap", 5), (3, "that_full", 5))
    assert by_code["odd-empty-region"].message == "empty in what_full, unlike in the other items"
    assert by_code["odd-empty-region"].cells == ((7, "what_full", 6),)
    assert "the same sentences in every condition" in by_code["duplicate-items"].message


@pytest.mark.parametrize("name", ["long.csv", "wide.tsv", "early.json", "untidy.json", "relations.json"])
def test_small_suites_without_slips_get_no_errors(name):
    assert {f.severity for f in lint(golden(name))} <= {"info", "warning"}


def test_errors_come_first():
    order = [finding.severity for finding in lint(golden("planted.json"))]
    assert order == sorted(order, key=["error", "warning", "info"].index)


# Formulas


def test_a_formula_with_a_region_that_does_not_exist_is_an_error():
    doc = golden("clean.json")
    shorter = type(doc)(**{**parts(doc), "region_names": doc.region_names[:2], "sentences": cut(doc, 2)})
    finding = lint(shorter)[0]
    assert (finding.code, finding.severity, finding.where) == ("dangling-reference", "error", "prediction 1")
    assert "no region 3" in finding.message


def test_a_formula_with_a_syntax_error_is_an_error_with_its_place():
    doc = golden("clean.json")
    broken = type(doc)(**{**parts(doc), "predictions": (type(doc.predictions[0])("1 <"),)})
    assert lint(broken)[0].code == "formula-error"
    assert "character 4" in lint(broken)[0].message


def parts(doc: Any) -> dict[str, Any]:
    return {name: getattr(doc, name) for name in doc.__slots__}


def cut(doc: Any, regions: int) -> tuple[Any, ...]:
    return tuple(type(s)(s.item, s.condition, s.contents[:regions]) for s in doc.sentences)


# Ties


def test_identical_sentences_that_no_formula_compares_are_a_warning():
    document = factorial(rows=(("The # cat", "sleeps"), ("The # cat", "sleep"), ("The # cat", "sleep")))
    document["region_meta"] = {"1": "Subject", "2": "Verb"}
    (finding,) = found(document, "identical-sentences")
    assert (finding.severity, finding.where) == ("warning", "items 1, 2, 3, 4, 5, 6, 7, 8, 9, 10")
    assert "b and c are the same sentence" in finding.message
    assert not found(document, "tie-risk", "odd-equality-pattern")


@pytest.mark.parametrize("formula", ["(1;%a%) > (1;%b%)", "[(1;%a%) > (1;%b%)] & [(2;%a%) > (2;%b%)]"])
def test_comparing_regions_before_the_first_difference_is_an_error(formula):
    (finding,) = found(factorial(formula=formula), "tie-risk")
    assert (finding.severity, finding.where) == ("error", "prediction 1")
    assert "in every item, region 1 (Subject) of a and region 1 (Subject) of b" in finding.message
    assert "cannot hold" in finding.message


def test_a_tie_in_one_half_of_an_or_is_a_warning():
    (finding,) = found(factorial(formula="[(1;%a%) > (1;%b%)] | [(2;%a%) > (2;%b%)]"), "tie-risk")
    assert finding.severity == "warning"
    assert "one of its comparisons is a tie" in finding.message


def test_a_comparison_that_always_holds_is_a_warning():
    (finding,) = found(factorial(formula="(1;%a%) >= (1;%b%)"), "tie-risk")
    assert finding.severity == "warning"
    assert "always holds" in finding.message


@pytest.mark.parametrize(
    "formula",
    [
        "(2;%a%) > (2;%b%)",
        "(3;%a%) > (3;%b%)",  # the same word, but after different words
        "(*;%a%) > (*;%b%)",
        "(2;%a%) = (2;%b%)",  # rarely true, but not because of the sentences
        "[(1;%a%) + (2;%a%)] > [(1;%b%) + (2;%b%)]",
        "abs((2;%a%) - (2;%b%)) > 3",
    ],
)
def test_comparisons_that_models_can_decide_have_no_finding(formula):
    assert not found(factorial(formula=formula), "tie-risk", "identical-sentences")


def test_totals_of_the_same_sentence_are_a_tie():
    same = (("The cat", "sleeps", "now"),) * 2
    (finding,) = found(factorial(formula="(*;%a%) > (*;%b%)", item4=same), "identical-sentences")
    assert (finding.severity, finding.where) == ("error", "item 4")


def test_a_whole_sentence_is_a_sum_whatever_the_metric():
    rows = (("Vera #", "she", "left."), ("Vera #", "the young woman", "left."))
    document = factorial(formula="(*;%a%) < (*;%b%)", rows=rows)
    assert found(document, "sum-beside-metric") == []
    document["meta"]["metric"] = "mean"
    (finding,) = found(document, "sum-beside-metric")
    assert (finding.severity, finding.where) == ("info", "prediction 1")
    assert "* is the sum over all tokens of the sentence" in finding.message
    document["predictions"] = ["(2;%a%) < (2;%b%)"]
    assert found(document, "sum-beside-metric") == []


def test_references_to_empty_regions_depend_on_the_metric():
    rows = (("The # cat", "sleeps", ""), ("The # cat", "sleep", ""))
    document = factorial(formula="(3;%a%) > (2;%b%)", rows=rows)
    (finding,) = found(document, "empty-reference")
    assert finding.severity == "warning"
    assert "region 3 (Rest) of a, which is empty in every item: it counts as 0 bits" in finding.message
    document["meta"]["metric"] = "mean"
    (finding,) = found(document, "empty-reference")
    assert finding.severity == "error"
    assert "it has no value" in finding.message


# Patterns


def test_a_deviation_between_conditions_that_are_compared_is_a_warning():
    odd = (("The word3 cat", "sleeps", "now"), ("The word3 bat", "sleep", "now"))
    (finding,) = found(factorial(item3=odd), "odd-equality-pattern")
    assert (finding.severity, finding.where) == ("warning", "item 3, region 1 (Subject)")
    assert finding.message == (
        "“The word3 cat” in a but “The word3 bat” in b; in the other items all conditions have the same text"
    )
    assert (3, "b", 1) in finding.cells


def test_a_deviation_after_the_last_compared_region_is_a_remark():
    odd = (("The cat", "sleeps", "now"), ("The cat", "sleep", "then"))
    (finding,) = found(factorial(item3=odd), "odd-equality-pattern")
    assert (finding.severity, finding.where) == ("info", "item 3, region 3 (Rest)")


def test_items_that_deviate_alike_share_one_finding():
    odd = {f"item{n}": (("A cat", "sleeps", "now"), ("A cat", "sleep", "late")) for n in (2, 5)}
    (finding,) = found(factorial(**odd), "odd-equality-pattern")
    assert finding.where == "items 2, 5, region 3 (Rest)"


def test_three_of_four_equal_items_make_a_pattern():
    odd = (("A cat", "sleeps", "now"), ("A cat", "sleep", "late"))
    (finding,) = found(factorial(number=4, item3=odd), "odd-equality-pattern")
    assert finding.where.startswith("item 3")


def test_half_of_the_items_or_three_items_make_no_pattern():
    varied = {f"item{n}": (("A cat", "sleeps", "now"), ("A cat", "sleep", "late")) for n in range(1, 6)}
    assert not found(factorial(**varied), "odd-equality-pattern", "swapped-conditions")
    assert not found(factorial(number=3, item1=varied["item1"]), "odd-equality-pattern")


def confounded(number: int, formula: str = "(2;%a%) > (2;%b%)") -> dict[str, Any]:
    """Return eight items that compare “fell” in region 2 of two conditions; the first `number` have another
    verb in one."""
    rows = (("The # that was", "fell", "here"), ("The #", "fell", "here"))
    odd = {f"item{n}": (rows[0], ("The #", f"sank{n}", "here")) for n in range(1, number + 1)}
    return factorial(number=8, formula=formula, rows=rows, **odd)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_another_word_in_a_compared_region_is_a_warning_while_most_items_agree(number):
    (finding,) = found(confounded(number), "odd-equality-pattern")
    where = "item 1" if number == 1 else f"items {', '.join(str(n + 1) for n in range(number))}"
    assert (finding.severity, finding.where) == ("warning", f"{where}, region 2 (Verb)")
    assert finding.message.endswith(
        "“fell” in a but “sank1” in b; in the other items all conditions have the same text"
    )


def test_half_of_the_items_are_not_a_majority():
    assert not found(confounded(4), "odd-equality-pattern")


@pytest.mark.parametrize("formula", ["(3;%a%) > (3;%b%)", "(*;%a%) > (*;%b%)", "(2;%a%) > (3;%b%)", ""])
def test_a_region_that_no_formula_compares_needs_three_quarters(formula):
    assert not found(confounded(3, formula), "odd-equality-pattern")


def test_a_majority_is_counted_where_the_rest_differs_in_several_ways():
    rows = (("The #", "fell", "here"), ("The #", "fell", "here"), ("The #", "fell", "here"))
    odd = {
        f"item{n}": (rows[0], ("The #", "fell" if n == 1 else "sank", "here"), ("The #", "sank", "here"))
        for n in (1, 2, 3)
    }
    (finding,) = found(factorial(number=8, rows=rows, **odd), "odd-equality-pattern")
    assert (finding.where, finding.severity) == ("items 2, 3, region 2 (Verb)", "warning")
    assert "in 5 of 8 items all conditions have the same text" in finding.message


def test_an_optional_region_may_be_missing_in_the_whole_item():
    without = (("The cat", "sleeps", ""), ("The cat", "sleep", ""))
    assert not found(factorial(item3=without), "odd-empty-region", "odd-equality-pattern")


def test_text_in_a_region_that_is_empty_in_other_items_is_found():
    rows = (("The # cat", "sleeps", ""), ("The # cat", "sleep", "now"))
    odd = (("The cat", "sleeps", "now"), ("The cat", "sleep", "now"))
    (finding,) = found(factorial(rows=rows, item4=odd), "odd-empty-region")
    assert finding.message.startswith("“now” in a, where the other items have nothing")


def test_two_swapped_regions_are_found():
    rows = (
        ("I know what", "# saw", "", "there"),
        ("I know that", "# saw", "", "there"),
        ("I know what", "# saw", "it", "there"),
        ("I know that", "# saw", "it", "there"),
    )
    odd = (
        ("I know what", "they saw", "", "there"),
        ("I know that", "they saw", "it", "there"),
        ("I know what", "they saw", "", "there"),
        ("I know that", "they saw", "it", "there"),
    )
    document = suite(items=items(10, *rows, item4=odd), predictions=["(4;%a%) < (4;%b%)"])
    document["region_meta"] = {"1": "Start", "2": "Clause", "3": "Object", "4": "End"}
    (finding,) = found(document, "swapped-conditions")
    assert finding.message.startswith("the contents of b and c look swapped: region 3 (Object) has “it” in b")
    assert finding.severity == "error"


def test_final_punctuation_and_capitals_unlike_other_items_are_found():
    odd = (("the word3 cat", "sleeps", "now"), ("The word3 cat", "sleep", "now."))
    findings = found(factorial(item3=odd), "final-punctuation", "initial-capital")
    assert [(f.code, f.severity, f.where) for f in findings] == [
        ("final-punctuation", "warning", "item 3"),
        ("initial-capital", "warning", "item 3"),
    ]
    assert findings[0].message == (
        "the sentence of b ends with a full stop, ? or !, unlike in the other items"
    )
    whole = (("The cat", "sleeps", "now."), ("The cat", "sleep", "now."))
    (finding,) = found(factorial(item3=whole), "final-punctuation")
    assert (finding.severity, finding.message[:23]) == ("info", "all sentences end with ")


# Text


@pytest.mark.parametrize(
    ("content", "doubled"), [("of of", True), ("The the", True), ("that that", False), ("had had", False)]
)
def test_doubled_words_are_found_unless_grammatical(content, doubled):
    odd = (("The cat", content, "now"), ("The cat", "sleep", "now"))
    assert bool(found(factorial(item3=odd), "doubled-word")) is doubled


@pytest.mark.parametrize("content", ["'s", "n't", "-ly", "’ll", "'d been"])
def test_clitics_and_endings_at_the_start_of_a_region_are_found(content):
    rows = (("The # cat", content, "now"), ("The # cat", "sleep", "now"))
    (finding,) = found(factorial(rows=rows), "straddle-risk")
    assert (finding.severity, finding.where) == ("warning", "region 2 (Verb)")
    assert "in 10 of 20 sentences" in finding.message


@pytest.mark.parametrize("content", ["'tis", "don't", "well-known", "5"])
def test_other_words_with_apostrophes_or_hyphens_have_no_finding(content):
    rows = (("The # cat", content, "now"), ("The # cat", "sleep", "now"))
    assert not found(factorial(rows=rows), "straddle-risk")


def test_punctuation_at_the_start_of_a_region_is_a_remark_about_the_join_policy():
    rows = (("The # cat", "sleeps", ", now"), ("The # cat", "sleep", "."))
    (finding,) = found(factorial(rows=rows), "straddle-risk")
    assert finding.severity == "info"
    assert "natural" in finding.hint


@pytest.mark.parametrize(
    ("marks", "spelled", "remedy"),
    [
        ((".", "."), "“ .”;", "“natural” adds no space"),
        ((", now", "."), "“ ,” or “ .”;", "“natural” adds no space"),
        (("now", "…"), "“ …”;", "attach it to the preceding region"),
    ],
)
def test_the_remark_names_the_punctuation_in_the_text(marks, spelled, remedy):
    rows = (("The # cat", "sleeps", marks[0]), ("The # cat", "sleep", marks[1]))
    (finding,) = found(factorial(rows=rows), "straddle-risk")
    assert spelled in finding.hint
    assert remedy in finding.hint
    shown = next(mark for mark in marks if mark != "now")
    assert f"such as “{shown}”" in finding.message


def one_in_ten(odd: str, usual: str = "The # cat sleeps") -> dict[str, Any]:
    """Return ten items with a clean text; the third has the odd text in its first condition."""
    return factorial(rows=((usual, "x", "y"), (usual, "z", "y")), item3=((odd, "x", "y"), (usual, "z", "y")))


@pytest.mark.parametrize(
    "text",
    [
        "The a impressionist",
        "A orange cat",
        "the an user",
        "an banana that",
        "a unimportant man",
    ],
)
def test_an_article_that_does_not_fit_its_word_is_found(text):
    (finding,) = found(one_in_ten(text), "a-or-an")
    assert (finding.severity, finding.where) == ("info", "item 3")
    assert "in a:" in finding.message


@pytest.mark.parametrize(
    "text",
    [
        "an hour",
        "a university",
        "a user",
        "a European",
        "a one-off",
        "an FBI agent",
        "a UN vote",
        "an historic",
        "an x",
        "a unanimous",
    ],
)
def test_articles_are_judged_by_sound(text):
    assert not found(one_in_ten(f"The cat saw {text}"), "a-or-an")


def test_articles_of_other_languages_have_no_finding():
    assert not found(one_in_ten("Il a appris", "Le # chat dort"), "a-or-an")


def test_an_article_before_a_region_boundary_is_found():
    odd = (("The cat is a", "eager", "now"), ("The cat is a", "lazy", "now"))
    usual = (("The # cat is a", "lazy", "now"), ("The # cat is a", "tired", "now"))
    (finding,) = found(factorial(rows=usual, item3=odd), "a-or-an")
    assert "“a eager” in a:" in finding.message


@pytest.mark.parametrize(
    "text",
    [
        "As the patient slept the nurse who were here left",
        "The young nurse who are here",
        "A guard that were here",
        "The boys who was here",
        "The women who has left",
    ],
)
def test_a_verb_that_disagrees_with_the_noun_of_its_relative_clause_is_found(text):
    (finding,) = found(one_in_ten(text), "relative-agreement")
    assert (finding.severity, finding.where) == ("info", "item 3")


@pytest.mark.parametrize(
    "text",
    [
        "The nurse who was here",
        "The doctors at the hospital who were here",
        "The man and the woman who were here",
        "The staff who were here",
        "The people who were here",
        "The French who were here",
        "The boss who was here",
        "The mice that were here",
        "He told the boys that was wrong of the cat",
        "One of those who are the best",
    ],
)
def test_agreement_that_may_be_intended_has_no_finding(text):
    assert not found(one_in_ten(text), "relative-agreement")


@pytest.mark.parametrize(
    ("code", "text"), [("relative-agreement", "The # nurse who were"), ("a-or-an", "The a apple #")]
)
def test_what_all_items_have_in_a_condition_is_the_design(code, text):
    assert not found(factorial(rows=((text, "x", "y"), ("The # nurse", "z", "y"))), code)


def test_a_region_that_begins_differently_in_one_item_is_found():
    rows = (("The # cat", "who was seen", "fell"), ("The # cat", "who was given", "fell"))
    odd = (("The third cat", "that was seen", "fell"), ("The third cat", "who was given", "fell"))
    (finding,) = found(factorial(rows=rows, item3=odd), "odd-word")
    assert (finding.severity, finding.where) == ("info", "item 3, region 2 (Verb)")
    assert finding.message.startswith(
        "“that was seen” in a but “who was given” in b; in most other items both begin"
    )
    assert finding.cells == ((3, "a", 2), (3, "b", 2))


def test_words_that_differ_in_many_items_are_the_design():
    rows = (("The # cat", "who was seen", "fell"), ("The # cat", "who was given", "fell"))
    other = (("The # cat", "that was seen", "fell"), ("The # cat", "who was given", "fell"))
    assert not found(factorial(rows=rows, item3=other, item5=other, item7=other), "odd-word")


@pytest.mark.parametrize(
    "text", ["the teacher 's cat", "the cat slept .", "they do n't", "the cat , said I", "who slept ?"]
)
def test_pretokenised_text_is_found(text):
    (finding,) = found(one_in_ten(text), "pre-tokenised")
    assert (finding.severity, finding.where, finding.cells) == ("info", "region 1 (Subject)", ((3, "a", 1),))


@pytest.mark.parametrize(
    "text", ["the teacher's cat.", "rock 'n' roll", "the cat ... slept", "a .5 dose of it", "'tis the cat"]
)
def test_ordinary_text_is_not_taken_for_pretokenised(text):
    assert not found(one_in_ten(text), "pre-tokenised")


def test_french_spaces_before_punctuation_are_not_pretokenised():
    assert not found(one_in_ten("Le chat dort !", "Le # chat dort"), "pre-tokenised")


SLASHES = "make each part a separate region"
SPACES = "replace “_” with a space"


@pytest.mark.parametrize(
    ("text", "mark", "remedy"),
    [
        ("The painter/near the ladders/whistles/every morning.", "“/”", SLASHES),
        ("The painter | near the ladders | whistles.", "“|”", SLASHES),
        ("The painter near the ladders whistles every_morning.", "“_”", SPACES),
        ("太郎が/花子に/本をあげた。", "“/”", SLASHES),
        ("The painter,/said I/whistles<|im_end|>", "“/”", SLASHES),
    ],
)
def test_marks_that_separate_or_join_words_in_other_programs_are_found(text, mark, remedy):
    [finding] = found(factorial(rows=((f"# {text}", "x", "y"), (text, "z", "y"))), "slash-in-text")
    assert (finding.severity, finding.where) == ("warning", "region 1 (Subject)")
    assert finding.message.startswith(f"{mark} between words in 20 of 20 sentences, such as “word1 ")
    assert finding.hint == f"Models read the mark as text: {remedy}, unless it is intended."
    assert len(finding.cells) == 20


@pytest.mark.parametrize("text", ["The cat 1/2", "a <|im_end|> b", "12/3 cats", "__", "/"])
def test_other_slashes_and_underscores_have_no_finding(text):
    assert not found(factorial(rows=((text, "x", "y"), (text, "z", "y"))), "slash-in-text")


def test_slashes_in_half_of_the_sentences_have_no_finding():
    assert not found(
        factorial(rows=(("The # cat and/or dog", "x", "y"), ("The # cat", "z", "y"))), "slash-in-text"
    )


def test_scripts_without_spaces_get_a_hint_to_the_join_policy():
    rows = (("那只猫", "睡", "了"), ("那些猫", "睡", "着"))
    (finding,) = found(factorial(rows=rows), "straddle-risk")
    assert (finding.where, finding.severity) == ("suite", "warning")
    assert "between words: 20 of 20" in finding.message
    assert "none" in finding.hint
    assert not found(factorial(rows=rows), "initial-capital")


@pytest.mark.parametrize("character", ["\u200b", "\u00a0", "\u00ad", "\u202e", "\ufeff"])
def test_invisible_characters_are_found(character):
    odd = (("The cat", f"sl{character}eeps", "now"), ("The cat", "sleep", "now"))
    (finding,) = found(factorial(item3=odd), "invisible-character")
    assert f"U+{ord(character):04X}" in finding.message
    assert finding.cells == ((3, "a", 2),)


def test_no_break_spaces_of_french_punctuation_have_no_finding():
    rows = (
        ("«\u00a0Le # chat", "dort\u00a0!\u00a0»", "oui"),
        ("«\u00a0Le # chat", "dorme\u00a0!\u00a0»", "oui"),
    )
    assert not found(factorial(rows=rows), "invisible-character")


SPECIAL = (
    "<s> </s> <pad> <unk> <mask> <bos> <eos> [CLS] [SEP] [MASK] <|endoftext|> <|im_start|> <|im_end|> <|eot_id|> "
    "<start_of_turn> [INST] <｜end▁of▁sentence｜>"
)


@pytest.mark.parametrize("token", SPECIAL.split())
def test_special_tokens_in_a_sentence_are_found(token):
    odd = ((f"{token}The cat", "sleeps", "now"), ("The cat", f"sleep{token}", "now"))
    [finding] = found(factorial(item3=odd), "special-token")
    assert (finding.severity, finding.where) == ("warning", "item 3")
    assert f"“{token}”" in finding.message
    assert finding.cells == ((3, "a", 1), (3, "b", 2))


def test_brackets_in_prose_are_not_special_tokens():
    odd = (("The <cat> [sic]", "sleeps <3", "a | b"), ("The [mask]", "sleep <S>", "x<s"))
    assert not found(factorial(item3=odd), "special-token")


def test_text_that_is_not_nfc_is_found():
    odd = (("The cat", "cafe\u0301", "now"), ("The cat", "sleep", "now"))
    assert found(factorial(item3=odd), "not-nfc")


def test_leading_trailing_and_inner_spaces_are_found():
    odd = ((" The cat", "sleeps ", "now  then"), ("The cat", "sleep", "now then"))
    findings = found(factorial(item3=odd), "leading-space", "trailing-space", "inner-space")
    assert [(f.code, f.where) for f in findings] == [
        ("leading-space", "region 1 (Subject)"),
        ("trailing-space", "region 2 (Verb)"),
        ("inner-space", "region 3 (Rest)"),
    ]


# Sizes


def test_few_items_missing_predictions_and_unused_conditions_are_found():
    few = found(factorial(number=3, formula=""), "few-items", "no-predictions", "unused-condition")
    assert [f.code for f in few] == ["few-items", "no-predictions"]
    (unused,) = found(factorial(formula="(2;%a%) > 3"), "unused-condition")
    assert unused.message == "no prediction uses b"


def test_a_sentence_without_text_is_found():
    odd = (("", "", ""), ("The cat", "sleep", "now"))
    assert found(factorial(item3=odd), "empty-sentence")[0].where == "item 3, condition a"


def test_every_code_is_documented():
    text = (ROOT / "docs" / "suite-format.md").read_text(encoding="utf-8").partition("## Lint")[2]
    assert set(re.findall(r"^\| `([a-z-]+)` \|", text, re.MULTILINE)) == set(CODES)


@pytest.mark.timeout(30)  # comparing every sentence with every other takes longer
def test_20000_sentences_are_linted_in_seconds():
    rows = ["item,condition,A,B,C,D"]
    rows += [f"{n},{c},The {n} cat,sleeps,{c},now {n % 7}" for n in range(2_500) for c in "abcdefgh"]
    doc = read_suite("\n".join(rows).encode())
    assert len(doc.sentences) == 20_000
    assert lint(doc)[0].code == "no-predictions"
