"""Files that expand to far more than their size: reading stops at the limit, not after it."""

from __future__ import annotations

import gzip
import io
import json

import pytest
from django.core.exceptions import ValidationError

from gym.lmchallenge import services, storage
from lmgym.agents.archives import ArchiveError, read_archive
from lmgym.files import bounded
from lmgym.files.bounded import Limits, Refused
from lmgym.lmchallenge import corpus, corpus_tools
from lmgym.lmchallenge.errors import CorpusError, LogError
from lmgym.propara.errors import ProParaError
from lmgym.propara.uploads import parse_upload as parse_submission
from lmgym.propara.uploads import read_answers
from lmgym.runs.uploaded import read_results
from lmgym.suites.formats import read_suite
from lmgym.suites.intake import parse_upload
from lmgym.text.problems import FormatError, Report
from suites.name_lists import parts_of


class Watched(io.BytesIO):
    """A file that records the furthest position read."""

    furthest = 0

    def read(self, *args):
        data = super().read(*args)
        self.furthest = max(self.furthest, self.tell())
        return data


def refused(data: bytes, limits: Limits) -> tuple[str, int]:
    """Return the reason for the refusal, and how many bytes of the file had been read by then."""
    stream = Watched(data)
    with pytest.raises(Refused) as caught:
        bounded.measure(stream, limits)
    return str(caught.value), stream.furthest


PLAIN = {
    "bytes": (b"a" * 10_000_000, Limits(bytes=1_000_000), "More than 1 MB"),
    "lines": (b"\n" * 10_000_000, Limits(lines=1_000), "More than 1,000 lines"),
    "line": (b"a\n" + b"a" * 10_000_000, Limits(line_bytes=1_000_000), "Line 2: more than 1 MB"),
}


@pytest.mark.parametrize("kind", PLAIN)
def test_a_file_is_read_up_to_its_limit_and_no_further(kind):
    data, limits, says = PLAIN[kind]
    why, read = refused(data, limits)
    assert why.startswith(says)
    assert read <= (limits.bytes or limits.line_bytes or 0) + 2 * bounded.BLOCK


@pytest.mark.parametrize("kind", PLAIN)
def test_a_packed_file_is_unpacked_up_to_its_limit_and_no_further(kind):
    data, limits, says = PLAIN[kind]
    noise = gzip.compress(bytes(range(256)) * 4_000, compresslevel=0)
    why, read = refused(gzip.compress(data) + noise, limits)
    assert why.startswith(says)
    assert read <= bounded.BLOCK


def test_what_fits_comes_out_as_it_went_in_packed_or_not_in_one_part_or_several():
    lines = [b"one\r\n", b"\n", b"x" * 200_000 + b"\n", b"last"]
    data = b"".join(lines)
    fits = Limits(bytes=len(data), lines=4, line_bytes=200_001, values=0)
    packed = gzip.compress(data[:50]) + gzip.compress(b"") + gzip.compress(data[50:]) + b"\0" * 100_000
    for given in (data, gzip.compress(data), packed):
        stream = io.BytesIO(given)
        bounded.measure(stream, fits)
        assert list(bounded.lines(stream, fits)) == lines
        assert bounded.opened(io.BytesIO(given), fits).read() == data
    for tight in (Limits(bytes=len(data) - 1), Limits(lines=3), Limits(line_bytes=200_000)):
        refused(packed, tight)


@pytest.mark.parametrize("cut", [3, 12, 30, -9, -1])
def test_a_packed_file_that_ends_too_early_is_damaged(cut):
    packed = gzip.compress(bytes(range(256)))
    assert "compressed data is damaged" in refused(packed[:cut], Limits())[0]


def test_a_packed_file_with_something_else_behind_it_is_damaged():
    assert "compressed data is damaged" in refused(gzip.compress(b"a\n") + b"b\n", Limits())[0]


def test_a_file_of_very_many_packed_parts_is_refused():
    why, _ = refused(gzip.compress(b"") * (bounded.MAX_MEMBERS + 1), Limits())
    assert f"{bounded.MAX_MEMBERS:,} gzip members" in why


def test_reading_ends_when_its_time_is_over_whatever_the_reader_does_between():
    now = iter(range(100))
    source = bounded.opened(io.BytesIO(b"a\n" * 1_000_000), Limits(seconds=10), clock=lambda: next(now))
    with pytest.raises(Refused, match="takes more than 10 seconds"):
        source.read()
    assert next(now) == 12


def test_a_line_of_too_many_values_is_refused_before_it_is_decoded():
    row = json.dumps([[]] * 50).encode()
    fits = Limits(values=101)
    assert list(bounded.lines(io.BytesIO(row), fits)) == [row]
    with pytest.raises(Refused, match=r"Line 2: more than 99 values"):
        list(bounded.lines(io.BytesIO(b"[]\n" + row), Limits(values=99)))


@pytest.mark.parametrize("kind", [str, bytes])
def test_json_of_too_many_values_or_levels_is_refused(kind):
    def text(given: str) -> str | bytes:
        return given if kind is str else given.encode()

    assert bounded.load(text('{"a": [1, 2]}'), Limits(values=3)) == {"a": [1, 2]}
    with pytest.raises(Refused, match="More than 2 values"):
        bounded.load(text('{"a": [1, 2]}'), Limits(values=2))
    with pytest.raises(Refused, match="nested too deeply"):
        bounded.load(text("[" * 100_000), Limits())


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_counted_whatever_ends_them(end):
    for text in ("a" + end * 3, ("a" + end * 3).encode()):
        bounded.check(text, Limits(lines=3))
        with pytest.raises(Refused, match="2 lines"):
            bounded.check(text, Limits(lines=2))


def test_cells_and_columns_are_counted_before_they_are_cut():
    bounded.check("a,b;c", Limits(cells=1), ",;\t")
    with pytest.raises(Refused, match="More than 2 cells"):
        bounded.check(",\n,\n,", Limits(cells=2), ",;\t")
    bounded.check_columns("a,b", Limits(columns=2), ",;\t")
    with pytest.raises(Refused, match="More than 2 columns"):
        bounded.check_columns("a\tb\tc", Limits(columns=2), ",;\t")


def test_a_corpus_of_too_many_lines_is_refused_before_the_first_is_decoded(monkeypatch):
    decoded = []
    read_line = corpus.read_line
    monkeypatch.setattr(corpus, "read_line", lambda *given: decoded.append(given) or read_line(*given))
    monkeypatch.setattr(services, "MAX_LINES", 1_000)
    with pytest.raises(CorpusError, match="more than 1,000 lines"):
        services.read_corpus(gzip.compress(b"\n" * 1_001), "text")
    assert decoded == []
    assert (
        services.read_corpus(gzip.compress(b"\n" * 1_000), "text").preview["lines"] == len(decoded) == 1_000
    )


def test_a_log_of_too_many_lines_or_values_is_refused_before_they_are_decoded(monkeypatch):
    monkeypatch.setattr(storage, "MAX_LINES", 10)
    monkeypatch.setattr(storage, "LINE_VALUES", 20)
    row = b'{"wordPredictions": []}\n'
    holds = storage.LogContents()
    with pytest.raises(LogError, match="log: more than 10 lines"):
        list(storage.parse_upload(io.BytesIO(gzip.compress(row + b"\n" * 10)), "log", 10**6, holds))
    assert holds.game == ""
    wide = b'{"wordPredictions": [], "a": [' + b"[]," * 10 + b"0]}\n"
    with pytest.raises(LogError, match="log, line 2: more than 20 values"):
        list(storage.parse_upload(io.BytesIO(row + wide), "log", 10**6, holds))


def test_what_the_preview_of_a_corpus_keeps_does_not_grow_with_its_lines():
    line = {"text": "a " * 5_000, "userId": "u" * 10_000, "timestamp": "t" * 10_000}
    rows = [{**line, f"key {n}": n} for n in range(300)]
    found = services.read_corpus(b"\n".join(json.dumps(row).encode() for row in rows[:30]), "json").preview
    assert found["tokens"] == 30 * 5_000
    assert len(json.dumps(found)) < 200_000
    short = b"\n".join(json.dumps({**row, "text": ""}).encode() for row in rows)
    assert len(services.read_corpus(short, "json").preview["warnings"]) <= corpus_tools.MAX_FINDINGS + 3


SUITES = {
    "lines": ("a.csv", b"item,condition,a\n" + b"\n" * 400_000, "more than 400,000 lines"),
    "cells": ("a.csv", b"item,condition,a\n" + b"," * 1_600_001, "more than 1,600,000 cells"),
    "columns": ("a.csv", b"item,condition" + b"," * 999 + b"\n1,a\n", "more than 1,000 columns"),
    "sentences": ("a.csv", b"item,condition,a\n" + b"1,a,\n" * 20_001, "at most 20,000 are allowed"),
    "pairs": (
        "a.jsonl",
        b'{"sentence_good": "", "sentence_bad": ""}\n' * 10_001,
        "20,002 sentences; at most 20,000 are allowed",
    ),
    "values": ("a.json", b"[" + b"{}," * 300_001 + b"{}]", "more than 600,000 values"),
}


@pytest.mark.parametrize("kind", SUITES)
def test_a_suite_beyond_a_limit_is_one_problem_that_names_it(kind):
    name, data, says = SUITES[kind]
    [problem] = parse_upload(data, name).problems
    assert problem.where == "file"
    assert says in problem.message


def test_problems_of_a_suite_end_where_nothing_more_is_learnt(monkeypatch):
    seen = []
    note = Report.problem
    monkeypatch.setattr(Report, "problem", lambda *given: seen.append(given) or note(*given))
    with pytest.raises(FormatError):
        read_suite(b"item,condition,a\n" + b"a\n" * 5_000, "a.csv")
    assert len(seen) == 1_000


RESULTS = {
    "lines": (b"item,correct\n" + b"\n" * 800_000, "more than 800,000 lines"),
    "cells": (b"item,correct\n" + b"," * 4_000_001, "more than 4,000,000 cells"),
    "columns": (b"item,correct" + b"," * 999 + b"\n1,1\n", "more than 1,000 columns"),
}


@pytest.mark.parametrize("kind", RESULTS)
def test_results_beyond_a_limit_are_one_problem_that_names_it(kind):
    data, says = RESULTS[kind]
    with pytest.raises(FormatError) as refused:
        read_results(data)
    [problem] = refused.value.problems
    assert says in problem.message


GOLD = "1\t1\tp\tNONE\t-\t-\n"
ANSWERS = {
    "lines": (b"a\n" * 500_001, "More than 500,000 lines."),
    "cells": (b"\t" * 2_000_001 + b"a", "More than 2,000,000 cells."),
    "objects": (b"{}\n" * 50_001, "more than 50,000 objects"),
    "values": (b"[" + b"[]," * 750_001 + b"[]]", "More than 1,500,000 values."),
    "levels": (b"[" * 100_000, "The JSON is nested too deeply."),
}


@pytest.mark.parametrize("kind", ANSWERS)
def test_predictions_beyond_a_limit_are_one_problem_that_names_it(kind):
    data, says = ANSWERS[kind]
    with pytest.raises(ProParaError) as refused:
        parse_submission(data, GOLD)
    [problem] = refused.value.problems
    assert says in problem.message


def test_answers_and_sentences_name_a_thousand_problems_at_most():
    with pytest.raises(ProParaError) as refused:
        read_answers(GOLD.encode(), b"a\n" * 10_000)
    assert len(refused.value.problems) == 1_001
    with pytest.raises(ProParaError, match="1 problem") as refused:
        read_answers(b"\n" * 500_001)
    assert refused.value.problems[0].message == "More than 500,000 lines."


def test_an_archive_of_too_many_entries_is_refused_before_they_are_listed():
    listed = b"PK\x01\x02" + b"\0" * 42
    with pytest.raises(ArchiveError, match="more than 5,000 entries"):
        read_archive(listed * 5_001)


@pytest.mark.django_db
@pytest.mark.parametrize(("size", "status"), [(10_001, 413), (10_000, 400)])
def test_a_json_body_of_the_api_is_read_up_to_the_limit_of_all_bodies(client, people, settings, size, status):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 10_000
    client.force_login(people.alice)
    body = b'{"suite": "' + b"a" * (size - 13) + b'"}'
    answer = client.post("/api/v1/runs/", body, content_type="application/json")
    assert (len(body), answer.status_code) == (size, status)


def test_a_list_of_names_is_not_compared_with_itself_when_it_is_too_long():
    with pytest.raises(ValidationError, match="More than 1000 conditions"):
        parts_of(",".join(map(str, range(100_000))), "condition", 100)
