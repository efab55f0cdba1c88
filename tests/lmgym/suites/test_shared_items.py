"""Items of different suites that share material are found by their texts, or by a key of the item."""

from __future__ import annotations

from lmgym.suites.shared_items import Material, material_of, shared_groups

NOUNS = ["author", "pilot", "surgeon", "farmer", "manager"]
OTHERS = ["senators", "dancers", "teachers", "guards", "clerks"]
VERBS = ["laughs", "swims", "smiles", "waits", "sings"]


def suite(*columns: list[str], extra: dict | None = None) -> Material:
    """Return items made of the words in the columns, each between “The” and “that”."""
    rows = [
        (number, ["The", *words, "that"]) for number, words in enumerate(zip(*columns, strict=True), start=1)
    ]
    return material_of(rows, extra or {})


def test_items_with_the_same_nouns_share_material_whatever_else_they_say():
    number = suite(NOUNS, OTHERS, VERBS)
    reflexive = suite(
        NOUNS, OTHERS, ["hurt", "saw", "liked", "knew", "asked"], ["once", "twice", "so", "too", "now"]
    )
    first, second = shared_groups([number, reflexive])
    assert first == second
    assert len(set(first.values())) == 5


def test_words_that_many_items_have_do_not_count():
    number = suite(NOUNS, ["near", "near", "near", "near", "by"])
    other = suite(VERBS, ["near", "near", "near", "near", "at"])
    assert shared_groups([number, other]) == [{}, {}]


def test_one_common_word_is_too_little():
    assert shared_groups([suite(NOUNS, OTHERS, VERBS), suite(NOUNS, VERBS[1:] + VERBS[:1])]) == [{}, {}]


def test_each_item_goes_with_its_best_match_alone():
    """Items 1 and 2 of the second suite share nouns with item 1 of the first."""
    first = suite(["author", "pilot"], ["senators", "dancers"], ["laughs", "swims"])
    second = Material(
        {1: frozenset({"author", "senators", "laughs"}), 2: frozenset({"author", "senators", "hurt"})}, {}
    )
    one, other = shared_groups([first, second])
    assert list(other) == [1]
    assert one == other


def test_the_same_suite_once_more_shares_all_its_items():
    one, again = shared_groups([suite(NOUNS, OTHERS)] * 2)
    assert one == again
    assert len(one) == 5


def test_a_key_of_the_items_goes_before_their_texts():
    named = {"items": {str(k): {"material": f"set {k}"} for k in range(1, 6)}}
    turned = {"items": {str(k): {"material": f"set {6 - k}"} for k in range(1, 6)}}
    one, other, without = shared_groups(
        [suite(NOUNS, OTHERS, extra=named), suite(NOUNS, OTHERS, extra=turned), suite(NOUNS, OTHERS)]
    )
    assert one == {k: other[6 - k] for k in range(1, 6)}
    assert without == {}


def test_a_name_that_one_suite_alone_has_makes_no_group():
    named = {
        "items": {"1": {"material": "a"}, "2": {"material": "a"}, "3": "not an object", "4": {"material": []}}
    }
    assert shared_groups([suite(NOUNS, OTHERS, extra=named), suite(VERBS)]) == [{}, {}]
