"""Hostile documents are rejected quickly, with a code, and reveal or fetch nothing."""

from __future__ import annotations

import builtins
import json
import os
import socket
import time
import urllib.request

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmgym.agents import case_reader, hocon
from lmgym.agents.case_reader import MAX_NOTES, parse_case
from lmgym.agents.hocon import HoconError, read

INCLUDES = [
    'include "x"',
    'include "/etc/passwd"',
    'include file("/etc/passwd")',
    "include file('/etc/passwd')",
    'include url("http://169.254.169.254/latest")',
    'include "http://127.0.0.1:1/"',
    'include url("file:///etc/passwd")',
    'include package("json.tool:x")',
    'include classpath("x")',
    'include required(file("/etc/passwd"))',
    'include required("x")',
    'include "**/*.conf"',
    'include\n"x"',
    'include # c\n"x"',
    'include"x"',
    'include """x"""',
    "include x",
    'a: {include "x"}',
    'a: {b: 1, include file("/etc/passwd")}',
    'a: [include "x"]',
    'a: [{include "x"}]',
    'a: [include file("/etc/passwd")]',
    'a: include "x"',
    'a.b { include url("http://x/") }',
]


def doubling(n: int, form: str) -> str:
    return "a0=x\n" + "".join(f"a{k + 1}=" + form.replace("_", f"${{a{k}}}") + "\n" for k in range(n))


def nested(inner: str) -> str:
    """Nest `inner` in 60 levels, each of which is a key of 60 parts. Each key alone is within the limit on
    depth.
    """
    return (".".join("a" * 60) + "{") * 60 + inner + "}" * 60


BOMBS = {
    "deep keys in deep keys": nested("b:1"),
    "deep keys in deep keys, merged": f"x{{{nested('b:1')}}}\nx{{{nested('b:2')}}}",
    "many fields far below": nested("\n".join(f"b{n}:1" for n in range(90_000))),
    "doubled text": doubling(60, "__"),
    "lists in lists": doubling(60, "[_,_]"),
    "joined lists": "a0=[1]\n" + doubling(60, "_ _").removeprefix("a0=x\n"),
    "objects": doubling(60, "{x:_,y:_}"),
    "311 bytes": doubling(24, "__")[:311].rsplit("\n", 1)[0],
    "deep arrays": "a:" + "[" * 100_000,
    "deep objects": "a:" + "{b:" * 100_000,
    "deep objects that close": "{a:" * 5_000 + "1" + "}" * 5_000,
    "deep keys": ".".join("a" * 100_000) + ":1",
    "deep by substitution": doubling(60, "{x:{y:_}}"),
    "long chain of substitutions": "\n".join(reversed(doubling(5_000, "_").splitlines())),
    "merged again and again": "x:{" + ",".join(f"k{n}:1" for n in range(5_000)) + "}\n" + "a:${x}\n" * 5_000,
    "many digits": "a: " + "9" * 100_000,
    "too long": "a: " + "x" * 1_000_001,
    "looking back again and again": "a: [1]\n" + "a: ${a} [2]\n" * 5_000,
    "nested circle": "a: {b: ${c}}, c: {d: ${a}}",
}
MANY = 10**9
"""Limit on the number of parts that no document reaches, so that the other limits are tested alone."""
LARGE_BUT_FAIR = {
    "commas": "a: [" + "," * 150_000,
    "blanks": "a: 1" + " " * 100_000 + "}",
    "comments": "#" * 100_000 + "\na",
    "slashes": "a: " + "/ " * 150_000 + "{",
    "quotes": "a: " + '"' * 150_001 + "{",
    "escapes": 'a: "' + "\\n" * 150_000,
    "empty strings": "a: " + '"" ' * 100_000 + "{",
    "opening triples": '"""' + '"" ' * 100_000,
    "byte order marks": "a" + "\ufeff " * 70_000 + "x",
    "newlines": "a:\n" + "\n" * 100_000 + "]",
    "dots": "a: " + "." * 100_000 + ":",
    "many keys": "\n".join(f"k{n}: 1" for n in range(20_000)) + "\n]",
    "same key": "a: {b: 1}\n" * 20_000 + "]",
    "appended": "a += 1\n" * 30_000 + "]",
    "includes as keys": "include\n" * 30_000 + "]",
}


@pytest.fixture
def shut(monkeypatch):
    """Fail the test if anything opens a file or a socket."""

    def refuse(*args, **kwargs):
        raise AssertionError(f"opened {args}")

    monkeypatch.setattr(builtins, "open", refuse)
    monkeypatch.setattr(os, "open", refuse)
    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(urllib.request, "urlopen", refuse)


@pytest.mark.parametrize("text", INCLUDES)
def test_include_is_refused_in_milliseconds(shut, text):
    started = time.process_time()
    with pytest.raises(HoconError) as caught:
        read(text)
    assert time.process_time() - started < 0.05
    assert caught.value.code == "include"
    assert caught.value.line >= 1


def test_the_environment_is_not_looked_at(monkeypatch, shut):
    monkeypatch.setenv("SECRET_X", "leaked")
    assert read("a: ${?SECRET_X}, b: 1").value == {"b": 1}
    for text in ("a: ${SECRET_X}", "a: ${HOME}", "a: ${PATH}", 'a: ${"SECRET_X"}', "a: ${env.SECRET_X}"):
        with pytest.raises(HoconError) as caught:
            read(text)
        assert caught.value.code == "undefined"
        assert "leaked" not in str(caught.value)


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_are_refused_before_they_grow(shut, name, monkeypatch):
    monkeypatch.setattr(hocon, "MAX_PARTS", MANY)
    text = BOMBS[name]
    started = time.process_time()
    try:
        size = len(json.dumps(read(text).value))
    except HoconError as error:
        assert error.code in ("limit", "cycle", "syntax")
    else:
        raise AssertionError(f"{len(text)} bytes became {size}")
    assert time.process_time() - started < 4  # unpacked, they would take hours or all memory


@pytest.mark.parametrize("name", LARGE_BUT_FAIR)
def test_reading_takes_linear_time(shut, name, monkeypatch):
    monkeypatch.setattr(hocon, "MAX_PARTS", MANY)
    started = time.process_time()
    with pytest.raises(HoconError):
        read(LARGE_BUT_FAIR[name])
    assert (
        time.process_time() - started < 3
    )  # a third of a megabyte; a quadratic step would take ten times as long


@pytest.mark.parametrize(
    "text", ["a: [" + "1," * 30_000, "a: " + "x " * 30_000, "x " * 30_000, "a:1\n" * 30_000]
)
def test_a_document_of_too_many_parts_is_refused_where_the_limit_is_passed(text):
    with pytest.raises(HoconError, match="more than 20,000 keys, values and words outside quotes") as caught:
        read(text)
    assert caught.value.code == "limit"
    assert (caught.value.line - 1) * 4 + caught.value.column in range(20_000, 62_000)


def test_long_text_in_quotes_is_one_part():
    assert len(read('a: "' + "x " * 400_000 + '"').value["a"]) == 800_000


PIECES = st.sampled_from(
    [
        *'{}[]:=,+#"\\\n/$?. \t',
        '"""',
        "${",
        "${?a}",
        "${a}",
        "+=",
        "a",
        "b",
        "1",
        "-",
        "include",
        "null",
        "\ufeff",
        "é",
        "\r",
    ]
)


@pytest.mark.parametrize("form", ["_", "a:${_}", "_:${_}", "_:1\n_+=1"])
def test_messages_do_not_repeat_a_name_as_long_as_the_document(form):
    with pytest.raises(HoconError) as caught:
        read(form.replace("_", "k" * 400_000))
    assert len(str(caught.value)) < 600


LONG_LISTS = {
    "keys": ("agent: a\n" + "\n".join(f"k{n}: 1" for n in range(3_000)), "remarks"),
    "headers": ("agent: a, metadata: {" + ",".join(f"k{n}: [1]" for n in range(3_000)) + "}", "problems"),
    "keys and no agent": ("\n".join(f"k{n}: 1" for n in range(3_000)), "remarks"),
}


@pytest.mark.parametrize("name", LONG_LISTS)
def test_of_very_many_remarks_only_the_first_are_made(monkeypatch, name):
    looked_up = []
    monkeypatch.setattr(case_reader, "near", lambda *given: looked_up.append(given) or "")
    text, kind = LONG_LISTS[name]
    case, found = parse_case(text)
    assert [one.message for one in found if one.code == "too-many"] == [
        f"Only the first 999 {kind} are listed."
    ]
    assert len(found) <= MAX_NOTES + 1
    assert len(looked_up) <= MAX_NOTES
    assert (case is None) == (name != "keys")
    assert (case is None) == any(one.severity == "error" for one in found)


@pytest.mark.parametrize("made", ["keywords: [_]", "_"])
def test_checks_that_are_skipped_count_among_those_a_case_may_name(made):
    several = ",".join(f"k{n}: 1" if made == "_" else f"k{n}" for n in range(2_001))
    case, found = parse_case(
        f"agent: a, interactions: [{{response: {{text: {{{made.replace('_', several)}}}}}}}]"
    )
    assert case is None
    assert "limit" in [one.code for one in found]


def test_a_case_has_so_many_connections_and_no_more():
    case, found = parse_case("agent: a, connections: [" + "http," * 21 + "]")
    assert case is None
    assert [one.where for one in found if one.code == "limit"] == ["connections"]


def test_a_remark_does_not_repeat_a_name_as_long_as_the_document():
    _, found = parse_case("agent: a, interactions: [{response: {text: {" + "k" * 400_000 + ": 1}}}]")
    assert found
    assert all(len(str(one)) < 1_500 for one in found)


@given(st.lists(PIECES, max_size=60).map("".join))
def test_any_text_is_read_or_refused_by_name(text):
    _named(text)


@given(st.binary(max_size=80) | st.text(max_size=60))
def test_any_bytes_are_read_or_refused_by_name(data):
    _named(data)


def _named(data) -> None:
    try:
        value = read(data, {"v": "1"}).value
    except HoconError as error:
        assert error.code in ("syntax", "include", "limit", "cycle", "undefined", "mixed", "encoding")
        assert str(error)
    else:
        json.dumps(value, allow_nan=False).encode()
