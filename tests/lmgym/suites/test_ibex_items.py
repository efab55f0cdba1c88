"""Items of Ibex and other literal lists in JavaScript: read without evaluating anything. No database."""

from __future__ import annotations

import json
import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmgym.suites.intake import parse_upload
from lmgym.suites.intake.javascript import NoLiteral, literal_lists
from lmgym.suites.intake.parsing import ParseOptions

ITEMS = """
var shuffleSequence = seq("intro", sepWith("sep", rshuffle("agr"))); // items = [1]
/* items = [2]; */
var defaults = ["DashedSentence", {mode: "self-paced reading"}];
var items = [
  ["intro", "Form", {html: {include: "intro.html"}}],
  ["sep", "Separator", { }],
  [["sing", 1], "DashedSentence", {s: "The owl hoots every_night."}, "Question", {q: "Who?", as: ["It", 'Owls']}],
  [["plur", 1], "DashedSentence", {s: "The owls hoot every_night.",}],
  [["sing", 2], ds, {s: makeSentence("cat")}],
  [["sing", 3], "DashedSentence", {s: 'The cat\\'s ' + "paw hurts."}],
  [["plur", 3], "DashedSentence", {s: "The cat\\u2019s paws hurt."}],
];
"""


def read(text: str, name: str = "items.js", **options):
    return parse_upload(text.encode(), name, ParseOptions(**options))


def test_items_become_sentences_with_chunks_as_regions():
    result = read(ITEMS)
    assert [(one.item, one.condition, one.contents) for one in result.document.sentences] == [
        (1, "sing", ("The", "owl", "hoots", "every night.")),
        (1, "plur", ("The", "owls", "hoot", "every night.")),
        (3, "sing", ("The", "cat's", "paw", "hurts.")),
        (3, "plur", ("The", "cat’s", "paws", "hurt.")),
    ]
    assert result.document.sentences[0].extra == {"data": {"Question": '{"q": "Who?", "as": ["It", "Owls"]}'}}
    lines = " ".join(result.understood)
    assert "Ibex items from the list “items”." in lines
    assert "2 entries without an item or a sentence: not read (lines 6, 7)." in lines
    assert "1 entry with code instead of plain values: not read (line 10)." in lines
    assert "Each chunk is a region: 4 regions." in lines


def test_chunks_of_unequal_number_are_one_region_unless_they_are_asked_for():
    items = """items = [[["a", 1], "DashedSentence", {s: "It naps."}],
      [["b", 1], "DashedSentence", {s: "It naps_a lot."}]]"""
    result = read(items, "pasted.txt")
    assert [one.contents for one in result.document.sentences] == [("It naps.",), ("It naps a lot.",)]
    assert any("chunks per sentence: 2 to 3." in line for line in result.understood)
    words = read(items, cut="words").document
    assert [one.contents for one in words.sentences] == [("It", "naps.", ""), ("It", "naps a", "lot.")]
    assert len(read(ITEMS, cut="none").document.region_names) == 1


def test_a_list_as_the_sentence_has_the_regions():
    items = """items = [[["a", [1, 2]], "DashedSentence", {s: ["The old owl", "hoots."]}, "Question", {q: "?"}],
      [["b", [1, 2]], "AcceptabilityJudgment", {s: ["The old owl", "hoot."], q: "Good?"}]];"""
    document = read(items).document
    assert document.sentences[1].contents == ("The old owl", "hoot.")
    assert document.sentences[1].extra == {"data": {"AcceptabilityJudgment": '{"q": "Good?"}'}}


def test_columns_of_items_can_be_given_other_roles():
    roles = {"A": "item", "B": "condition", "C": "text", "D": "text", "E": "text", "F": "skip", "G": "skip"}
    assert read(ITEMS, columns=roles).document.region_names == ("Region 1", "Region 2", "Region 3")


def test_fillers_of_an_experiment_are_asked_about():
    fillers = "".join(f'[["f", {n}], "DashedSentence", {{s: "A dog barks now."}}],' for n in (101, 102))
    text = ITEMS.rstrip().removesuffix("];") + fillers + "];"
    text = text.replace('[["sing", 2], ds', '[["sing", 4], "DashedSentence", {s: "A b c d."}], [["plur", 4], '
                        '"DashedSentence", {s: "A b c e."}], [["sing", 2], ds')  # fmt: skip
    assert read(text).asks == ("fillers",)
    assert read(text, fillers="out").document.items == (1, 4, 3)


def test_timeline_variables_of_jspsych_are_records():
    text = """const timeline_variables = [
      {good: "The owl hoots.", bad: "The owl hoot.", data: {verb: "hoot"}}, // first
      {good: "The cat naps.", bad: "The cat nap.", data: {verb: "nap"}},
    ];"""
    document = read(text).document
    assert document.conditions == ("good", "bad")
    assert document.extra["items"]["1"] == {"verb": "hoot"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            'PennController.ResetPrefix(null); Template("a.csv", row => newTrial(row.x));',
            "script of PennController",
        ),
        ("var a = 1;", "without a list of items"),
        ("items = [];", "without a list of items"),
        ('items = [["a", "Form", {}]];', "no entry of the list “items” has"),
    ],
)
def test_a_script_without_items_is_one_error_with_a_remedy(text, says):
    (problem,) = read(text).problems
    assert says in problem.message
    assert problem.hint


@given(st.text(alphabet=st.sampled_from("items=[]{}()\"'`\\,:+-1a$_/*\n#é "), max_size=300))
def test_any_script_is_read_or_refused(text):
    for script in (text, f"items = [{text}", f'items = [[["a", 1], "DashedSentence", {{s: "{text}"}}]]'):
        result = read(script)
        assert (result.document is None) == bool(result.problems)


TEXT = st.text(st.characters(exclude_categories=("Cc", "Cs")), max_size=6)


@pytest.mark.parametrize("bad", ["\\0", "\\u0007", "\x07", "\\ud800\\u0001"])
def test_strings_with_control_characters_are_not_read(bad):
    (found,) = literal_lists(f'items = ["a{bad}", "b"]')
    assert ([value for _, value in found.entries], found.skipped) == (["b"], [1])


LITERALS = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(LITERALS, min_size=1, max_size=4))
def test_every_json_value_is_a_literal(values):

    (found,) = literal_lists(f"items = {json.dumps(values)};")
    assert [value for _, value in found.entries] == values


@pytest.mark.parametrize(
    "part", ["[", "{a:", 'a("', '"a"+', "\\", "\\'", "/*", "`${", "f,", "x=[", "'", "1", "a", "$", "[1,"]
)
def test_hostile_scripts_take_little_time_and_no_stack(part):
    start = time.process_time()
    for script in (f"items = [{part * 20_000}", f"items = ['{part * 20_000}"):
        with suppress(NoLiteral):
            literal_lists(script)
    assert time.process_time() - start < 5


ENTRIES = '[["a", 1], "Maze", {s: "It naps.", a: "x-x-x by."}],\n[["b", 1], "Maze", {s: "They nap."}],\n'


def test_entries_without_the_name_of_a_list_are_read():
    result = read(ENTRIES)
    assert [one.text for one in result.document.sentences] == ["It naps.", "They nap."]
    assert "Ibex items from a list without a name." in result.understood


def test_lists_at_the_indices_of_one_name_are_one_and_others_are_named():
    script = """var warm = [{id: "w", good: "x y z", bad: "x y"}]; var keys = ["f", "j"]; var all = [];
    all[0] = [{id: "p", good: "The owl hoots.", bad: "The owl hoot."}];
    all[1] = [{id: "q", good: "Owls hoot.", bad: "Owls hoots."}, {id: "r", good: "It naps.", bad: "It nap."}];"""
    result = read(script)
    assert [one.text for one in result.document.sentences[::2]] == [
        "The owl hoots.",
        "Owls hoot.",
        "It naps.",
    ]
    assert "Other lists of the script: not read (“warm” (1 entry))." in result.understood


@pytest.mark.parametrize("script", ["a[0]", "a[0] =", "a[0] = [", "[[", "[", "a[", "a[0"])
def test_scripts_that_end_early_are_refused(script):
    assert read(script).document is None


def test_a_list_without_a_name_is_read_and_the_lists_behind_it_are_named():
    result = read(f'[{ENTRIES}];\nvar warm = [[["c", 2], "Maze", {{s: "It hoots."}}]];')
    assert [one.text for one in result.document.sentences] == ["It naps.", "They nap."]
    assert "Other lists of the script: not read (“warm” (1 entry))." in result.understood
