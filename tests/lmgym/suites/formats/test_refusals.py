"""Files that are refused: several problems at once, each with its place and what to do."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from lmgym.suites.formats import (
    MAX_BYTES,
    MAX_CELL_CHARACTERS,
    MAX_CONDITIONS,
    MAX_NAME_CHARACTERS,
    MAX_PREDICTIONS,
    MAX_REGIONS,
    MAX_SENTENCES,
    read_json,
    schema,
)
from lmgym.suites.formats.documents import MAX_ITEM_NUMBER
from lmgym.suites.formats.places import named
from lmgym.text.problems import MAX_PROBLEMS

from .samples import FORMULA, GOLDEN, condition, encoded, problems, read, suite


def at(document: Any, *path: str | int) -> Any:
    for part in path:
        document = document[part]
    return document


def changed(*path: str | int, to: Any) -> dict[str, Any]:
    document = suite()
    at(document, *path[:-1])[path[-1]] = to
    return document


def without(*path: str | int) -> dict[str, Any]:
    document = suite()
    del at(document, *path[:-1])[path[-1]]
    return document


def with_regions(*numbers: int) -> dict[str, Any]:
    regions = [{"region_number": number, "content": "x"} for number in numbers]
    return changed("items", 1, "conditions", 0, "regions", to=regions)


SENTENCE = ("items", 0, "conditions", 1)
REGION = (*SENTENCE, "regions", 2)
FORMULA_PATH = ("predictions", 0, "formula")

STRUCTURE = [
    ([], "$", "must be an object, but is a list"),
    ("text", "$", "must be an object, but is text"),
    (without("meta"), "$", 'lacks "meta"'),
    (without("items"), "$", 'lacks "items"'),
    ({}, "$", 'lacks "meta" and "items"'),
    (changed("meta", to=[]), "$.meta", "must be an object, but is a list"),
    (without("meta", "name"), "$.meta", 'lacks "name"'),
    (changed("meta", "name", to="  "), "$.meta.name", "is empty"),
    (changed("meta", "name", to=7), "$.meta.name", "must be text, but is a number"),
    (changed("meta", "name", to="x" * 201), "$.meta.name", "has 201 characters"),
    (changed("meta", "metric", to="total"), "$.meta.metric", "is not a known metric"),
    (changed("meta", "metric", to=[]), "$.meta.metric", "is not a known metric"),
    (changed("meta", "metric", to=["sum", "all"]), "$.meta.metric", "is not a known metric"),
    (changed("meta", "metric", to=None), "$.meta.metric", "is not a known metric"),
    (changed("meta", "string_predictions", to="x"), "$.meta.string_predictions", "must be a list"),
    (changed("region_meta", to=["a"]), "$.region_meta", "must be an object"),
    (changed("region_meta", to={"one": "a"}), "$.region_meta", 'the key "one", which is not a region number'),
    (changed("region_meta", "1", to=5), '$.region_meta["1"]', "must be text or null, but is a number"),
    (changed("predictions", to=FORMULA), "$.predictions", "must be a list, but is text"),
    (changed("predictions", 0, to=3), "$.predictions[0]", "must be text or an object, but is a number"),
    (changed("predictions", 0, to={}), "$.predictions[0]", 'lacks "formula"'),
    (changed("predictions", 0, "type", to="rule"), "$.predictions[0].type", 'the unknown value "rule"'),
    (changed("predictions", to=[{}] * 201), "$.predictions", "has 201 entries; at most 200"),
    (changed("meta", "string_predictions", to=[3] * 201), "$.meta.string_predictions", "has 201 entries"),
    (changed(*FORMULA_PATH, to=None), "$.predictions[0].formula", "must be text, but is null"),
    (changed("predictions", to=[FORMULA] * 201), "$.predictions", "has 201 entries; at most 200"),
    (changed("items", to={}), "$.items", "must be a list, but is an object"),
    (changed("items", to=[]), "$.items", "is an empty list"),
    (changed("items", 1, to=None), "$.items[1]", "must be an object, but is null"),
    (without("items", 1, "item_number"), "$.items[1]", 'lacks "item_number"'),
    (
        changed("items", 1, "item_number", to="2"),
        "$.items[1].item_number",
        "must be a whole number, but is text",
    ),
    (changed("items", 1, "item_number", to=True), "$.items[1].item_number", "but is true"),
    (changed("items", 1, "item_number", to=1.5), "$.items[1].item_number", "must be a whole number"),
    (changed("items", 1, "item_number", to=-1), "$.items[1].item_number", "is -1; the smallest allowed is 0"),
    (changed("items", 1, "item_number", to=10**30), "$.items[1].item_number", "is too large"),
    (without("items", 1, "conditions"), "$.items[1]", 'lacks "conditions"'),
    (changed("items", 1, "conditions", to=[]), "$.items[1].conditions", "is an empty list"),
    (without(*SENTENCE, "condition_name"), "$.items[0].conditions[1]", 'lacks "condition_name"'),
    (changed(*SENTENCE, "condition_name", to=" "), "$.items[0].conditions[1].condition_name", "is empty"),
    (changed(*SENTENCE, "condition_name", to="a%b"), "$.items[0].conditions[1].condition_name", "a % sign"),
    (changed(*SENTENCE, "regions", to=[]), "$.items[0].conditions[1].regions", "is an empty list"),
    (without(*REGION, "content"), "$.items[0].conditions[1].regions[2]", 'lacks "content"'),
    (changed(*REGION, "content", to=None), "$.items[0].conditions[1].regions[2].content", "but is null"),
    (changed(*REGION, "content", to=["a"]), "$.items[0].conditions[1].regions[2].content", "but is a list"),
    (
        changed(*REGION, "content", to="x" * 10_001),
        "$.items[0].conditions[1].regions[2].content",
        "10,001 char",
    ),
    (
        changed(*REGION, "region_number", to="3"),
        "$.items[0].conditions[1].regions[2].region_number",
        "but is text",
    ),
    (changed(*REGION, "region_number", to=0), "$.items[0].conditions[1].regions[2].region_number", "is 0"),
]

ACROSS = [
    (changed("region_meta", to={"1": "a", "3": "c"}), "$.region_meta", "must be consecutive from 1"),
    (
        changed("region_meta", to={"0": "a", "1": "b", "2": "c"}),
        "$.region_meta",
        "must be consecutive from 1",
    ),
    (changed("region_meta", to={"1": "a", "2": "b", "3": "c", "01": "d"}), "$.region_meta", "declared twice"),
    (
        changed("items", 1, "item_number", to=1),
        "$.items[1].item_number",
        "the number 1 is already used by entry 1 of the list of items",
    ),
    (with_regions(1, 2), "$.items[1].conditions[0]", "lacks region 3 (Rest)"),
    (with_regions(1, 2, 2, 3), "$.items[1].conditions[0].regions[2].region_number", "region 2 occurs twice"),
    (
        with_regions(1, 2, 3, 4),
        "$.items[1].conditions[0].regions[3].region_number",
        "region 4 is not declared",
    ),
    (changed(*SENTENCE, "condition_name", to="match"), "$.items[0].conditions[1]", "“match” twice"),
    (
        changed(*SENTENCE, "condition_name", to="mis"),
        "$.items[1].conditions",
        "lacks a condition that item 1 has: “mis”",
    ),
    (
        changed("items", 1, "conditions", to=[condition("match", "a", "b", "c")]),
        "$.items[1].conditions",
        "lacks",
    ),
    (changed(*FORMULA_PATH, to="(2;%match%) >"), "$.predictions[0].formula", "character 14 of the formula"),
    (changed(*FORMULA_PATH, to="(2;%match%) + 1"), "$.predictions[0].formula", "character 1 of the formula"),
    (changed(*FORMULA_PATH, to=""), "$.predictions[0].formula", "character 1 of the formula"),
    (changed(*FORMULA_PATH, to="(9;%match%) > 1"), "$.predictions[0].formula", "no region 9"),
    (changed("predictions", 0, to="(2;%mtach%) > 1"), "$.predictions[0]", 'no condition "mtach"'),
    (
        suite(predictions=[], meta={"name": "s", "string_predictions": ["1 <"]}),
        "$.meta.string_predictions[0]",
        "character 4",
    ),
    (
        suite(
            predictions=[
                {"relation": "above", "region_number": 2, "l_operand": "match", "r_operand": "match"}
            ]
        ),
        "$.predictions[0].relation",
        "unknown relation “above”",
    ),
    (
        suite(
            predictions=[{"relation": "lessthan", "region_number": 2, "l_operand": "a", "r_operand": "match"}]
        ),
        "$.predictions[0]",
        'no condition "a"',
    ),
]


@pytest.mark.parametrize(("document", "where", "message"), STRUCTURE + ACROSS)
def test_the_problem_has_its_place_and_its_words(document, where, message):
    found = problems(encoded(document), "suite.json")
    assert any(p.where == where and message in p.message for p in found), "\n".join(map(str, found))


@pytest.mark.parametrize(("document", "where", "message"), STRUCTURE)
def test_the_schema_refuses_what_the_reader_refuses_structurally(document, where, message):
    assert not jsonschema.Draft202012Validator(schema()).is_valid(document)


@pytest.mark.parametrize(
    "document",
    [document for document, _, _ in ACROSS] + [json.loads(p.read_text()) for p in GOLDEN.glob("*.json")],
)
def test_the_schema_accepts_what_is_structurally_sound(document):
    assert jsonschema.Draft202012Validator(schema()).is_valid(document)


def test_the_shortcut_around_the_schema_agrees_with_it():
    region = schema()
    for part in ("items", "conditions", "regions"):
        region = region["properties"][part] if part == "items" else region["items"]["properties"][part]
    keys = region["items"]["properties"]
    assert region["maxItems"] == keys["region_number"]["maximum"] == MAX_REGIONS
    assert keys["region_number"]["minimum"] == 1
    assert keys["content"]["maxLength"] == MAX_CELL_CHARACTERS
    assert region["items"]["required"] == list(keys) == ["region_number", "content"]
    assert {key for part in keys.values() for key in part} == {"type", "minimum", "maximum", "maxLength"}


def test_the_limits_of_the_schema_are_those_of_the_reader():
    top = schema()["properties"]
    assert top["items"]["maxItems"] == MAX_SENTENCES
    assert top["predictions"]["maxItems"] == MAX_PREDICTIONS
    assert top["meta"]["properties"]["string_predictions"]["maxItems"] == MAX_PREDICTIONS
    assert top["region_meta"]["maxProperties"] == MAX_REGIONS
    item = top["items"]["items"]["properties"]
    assert item["conditions"]["maxItems"] == MAX_CONDITIONS
    assert item["item_number"]["maximum"] == MAX_ITEM_NUMBER
    names = item["conditions"]["items"]["properties"]["condition_name"]
    assert names["maxLength"] == top["meta"]["properties"]["name"]["maxLength"] == MAX_NAME_CHARACTERS


def test_thousands_of_broken_cells_are_one_readable_refusal():
    document = suite()
    regions = [{"region_number": n, "contend": "x"} for n in range(1, 101)]
    document["items"] = [
        {"item_number": n, "conditions": [{"condition_name": "a", "regions": regions}]} for n in range(50)
    ]
    found = problems(encoded(document))
    assert len(found) == MAX_PROBLEMS + 1
    assert found[0].message == 'lacks "content"'


def test_the_schema_is_a_schema_and_looks_nowhere_else():
    jsonschema.Draft202012Validator.check_schema(schema())
    assert "$ref" not in json.dumps(schema())


def test_every_refusal_of_structure_says_what_to_do():
    for document, _, _ in STRUCTURE:
        assert all(problem.hint for problem in problems(encoded(document), "suite.json"))


def test_many_problems_are_named_at_once():
    document = suite()
    del document["meta"]["name"]
    document["items"][0]["conditions"][0]["regions"][2]["content"] = 3
    document["items"].append({**suite()["items"][1], "item_number": 2})
    document["items"].append({"item_number": 4, "conditions": [condition("match", "a", "b")]})
    document["predictions"].append("(2;%match%) >> 1")
    found = problems(encoded(document))
    assert [p.where for p in found] == [
        "$.meta",
        "$.items[0].conditions[0].regions[2].content",
        "$.items[2].item_number",
        "$.items[3].conditions",
        "$.items[3].conditions[0]",
        "$.predictions[1]",
    ]


def test_the_number_of_problems_is_capped():
    document = suite(items=[{"item_number": "x"} for _ in range(400)])
    found = problems(encoded(document))
    assert len(found) == MAX_PROBLEMS + 1
    assert "more problems" in found[-1].message


def raw(text: str) -> bytes:
    """Return the sample suite with raw JSON as the value of an unknown key."""
    return json.dumps(suite(odd="@")).replace('"@"', text).encode()


@pytest.mark.parametrize(
    ("data", "where", "message"),
    [
        (b"", "file", "empty"),
        (b" \n\t", "file", "empty"),
        (b"\xef\xbb\xbf", "file", "empty"),
        (b"{" + b" " * MAX_BYTES, "file", "at most 5,000,000"),
        (b'{"meta": {"name": "x",}}', "line 1", "not valid JSON"),
        (b'{\n"meta": 1\n"items": 2}', "line 3", "not valid JSON"),
        (b"{'meta': 1}", "line 1", "not valid JSON"),
        (raw("NaN"), "$.odd", "NaN is not JSON"),
        (raw("[1, Infinity]"), "$.odd[1]", "Infinity is not JSON"),
        (raw('{"a": -1e999}'), "$.odd.a", "too large"),
        (raw("9" * 5000), "$.odd", "5,000 digits"),
        (raw('{"a": 1, "b": 2, "a": 3}'), "$.odd", 'the key "a" occurs more than once'),
        (raw('"\\u0000"'), "$.odd", "U+0000"),
        (raw('"a\\u0085"'), "$.odd", "U+0085 at position 2"),
        (raw('"\\ud800"'), "$.odd", "lone surrogate"),
        (raw('{"a\\u0007": 1}'), "$.odd", "a key contains the control character U+0007"),
        (raw("[" * 40 + "]" * 40), "$.odd" + "[0]" * 31, "nested more than 32 levels"),
        (raw("[" * 30_000 + "]" * 30_000), "$", "nested more than 32 levels"),
        (b"[" * 500_000, "$", "nested more than 32 levels"),
        (json.dumps(suite(), ensure_ascii=False).replace("cat", "Bär").encode("latin-1"), "line 1", "(0xE4)"),
        ("{\n\n\n\xe9".encode("latin-1"), "line 4", "byte 5 of the file (0xE9) is not UTF-8"),
        (json.dumps(suite()).encode("utf-16-le"), "file", "UTF-16 without a byte order mark"),
        (b"\xff\xfe{\x00\x00", "line 1", "not UTF-16"),
        (json.dumps(suite()).encode("utf-32"), "file", "UTF-32"),
        (b"PK\x03\x04rest", "file", "ZIP archive or an Excel workbook"),
        (b"\x1f\x8b\x08", "file", "gzip"),
        (b"%PDF-1.7", "file", "PDF"),
        (b"hello", "line 1", "the header needs a column for items and one for conditions"),
    ],
)
def test_bytes_that_are_no_suite(data, where, message):
    found = problems(data)
    assert any(p.where == where and message in p.message for p in found), "\n".join(map(str, found))[:1000]


def test_duplicate_keys_in_the_middle_are_not_silently_the_last():
    text = json.dumps(suite()).replace('"content": "well"', '"content": "well", "content": "badly"', 1)
    assert problems(text.encode())[0].where == "$.items[0].conditions[0].regions[2]"


def test_too_many_values_are_refused():
    assert "more than 600,000 values" in problems(raw("[" + "0," * 600_001 + "0]"))[0].message
    assert "more than 600,000 values" in problems(raw("[" + "[[]]," * 301_000 + "0]"))[0].message


def test_too_many_sentences_are_refused(monkeypatch):
    monkeypatch.setattr("lmgym.suites.formats.assemble.MAX_SENTENCES", 200)
    regions = [{"region_number": 1, "content": ""}]
    conditions = [{"condition_name": str(k), "regions": regions} for k in range(100)]
    items = [{"item_number": n, "conditions": conditions} for n in range(3)]
    data = json.dumps({"meta": {"name": "s"}, "items": items}).encode()
    assert "300 sentences; at most 200" in problems(data)[0].message


def test_a_file_named_json_gets_json_messages():
    assert "not valid JSON" in problems(b"oops", "suite.json")[0].message


def test_a_message_tells_where_what_and_how():
    with pytest.raises(
        ValueError,
        match=r"^item 1, condition mismatch, region 3 \(Rest\): lacks \"content\"\. Write text; an empty region has",
    ):
        read(without(*REGION, "content"))
    with pytest.raises(ValueError, match="not valid JSON"):
        read_json(b"{")


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("$.items[0].conditions[1].regions[1].content", "item 7, condition mismatch, region 2 (verb)"),
        ("$.items[0].conditions[1]", "item 7, condition mismatch"),
        ("$.items[1].item_number", "item 2"),
        ("$.items[1].conditions[4].regions[0]", "item 2, condition 5, region 1 (subject)"),
        ("$.predictions[0].formula", ""),
        ("line 3", ""),
    ],
)
def test_a_place_is_said_by_the_names_that_the_file_has(where: str, said: str) -> None:
    regions = [{"region_number": 1}, {"region_number": 2}]
    conditions = [{"condition_name": "match"}, {"condition_name": "mismatch", "regions": regions}]
    root = {
        "region_meta": {"1": "subject", "2": "verb"},
        "items": [{"item_number": 7, "conditions": conditions}, {"item_number": "two"}],
    }
    assert named(where, root) == said
    named(where, [1])  # any value that a broken file may contain


def test_problems_of_a_file_have_names() -> None:
    document = suite()
    document["items"][0]["conditions"][0]["regions"][0]["content"] = 5
    name = document["items"][0]["conditions"][0]["condition_name"]
    assert f"condition {name}, region 1 (" in problems(encoded(document))[0].names
