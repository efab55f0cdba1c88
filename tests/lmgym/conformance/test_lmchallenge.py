"""Recorded runs of the reference (LM Challenge 4.5) are reproduced: every log, statistic, search and
colouring."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lmgym.lmchallenge import corpus
from lmgym.lmchallenge.cli.main import main
from lmgym.lmchallenge.cli.streams import Streams
from lmgym.lmchallenge.errors import LogError, PlayerError
from lmgym.lmchallenge.logs import log_rows
from lmgym.lmchallenge.logs.alignment import LogText
from lmgym.lmchallenge.logs.decoder import read_lines, read_rows
from lmgym.lmchallenge.play.games import GameOptions
from lmgym.lmchallenge.play.loop import play
from lmgym.lmchallenge.play.process import Command, ProcessPlayer

ROOT = Path(os.environ.get("GYM_CONFORMANCE_DIR", "../shared/conformance")).resolve() / "lmchallenge"
pytestmark = [
    pytest.mark.published,
    pytest.mark.skipif(not ROOT.is_dir(), reason=f"no recorded runs at {ROOT} (set GYM_CONFORMANCE_DIR)"),
]


def _files(*patterns: str) -> list[Path]:
    found = [path for pattern in patterns for path in sorted(ROOT.glob(pattern))]
    return [path for path in found if not path.name.startswith("v5") and path.stat().st_size]


def _name(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def close(found: Any, expected: Any) -> bool:
    """Return True if two values are equal, floats to within 1e-9."""
    if isinstance(expected, dict):
        return (
            isinstance(found, dict)
            and found.keys() == expected.keys()
            and all(close(found[k], expected[k]) for k in expected)
        )
    if isinstance(expected, list):
        return isinstance(found, list) and len(found) == len(expected) and all(map(close, found, expected))
    if isinstance(expected, float) and isinstance(found, int | float):
        return abs(found - expected) < 1e-9 or found == expected
    return bool(found == expected)


# -- games ---------------------------------------------------------------------------------------------------


def _run_of(log: Path) -> tuple[str, GameOptions, str, Path]:
    """Return (model, options, corpus format, corpus file) from the name of a recorded log."""
    parts = log.name.removesuffix(".log").split(".")
    mini = parts[0] == "v4"
    parts = parts[1:] if mini else parts
    users = parts[0] == "users"
    if users or parts[0] == "plain":
        parts = parts[1:]
    model, game, *flags = parts
    folder = ROOT / "mini" if mini else ROOT / "corpora"
    text = {True: ("corpus.jsonl", "corpus.txt"), False: ("users.jsonl", "plain.txt")}[mini]
    number = next((int(flag[1:]) for flag in flags if flag[0] == "n" and flag[1:].isdigit()), None)
    harsh = "n8r7" in flags
    candidates = 8 if harsh else 6 if mini else 100 if "o" in flags else 400
    options = GameOptions(
        game,
        targets="W" not in flags and "Wp" not in flags,
        predictions=bool({"p", "Wp"} & set(flags)),
        select_from=number or 3,
        num_candidates=candidates,
        seed=7 if harsh else 42,
        p_anykey=0.25 if harsh else 0.3 if mini and not users else 0.1,
        train="t" in flags,
        **({"error_chars": "aeiou-"} if harsh else {}),
    )
    return model, options, "json" if users else "text", folder / text[0 if users else 1]


def _ordered(log: Path) -> bool:
    return ".o." in log.name or log.parent.name == "mini"


def _unordered(row: dict[str, Any]) -> dict[str, Any]:
    for entry in row.get("inputCorrections", ()):
        entry["candidates"] = sorted(entry["candidates"], key=json.dumps)
    return row


LOGS = [path for path in _files("v4/*.log", "mini/v4.*.log") if "hasuser" not in path.name]


def test_there_are_recorded_files() -> None:
    assert (len(LOGS), len(STATS), len(SEARCHES)) == (45, 139, 10)


def test_games_give_the_recorded_logs(subtests: pytest.Subtests, tmp_path: Path) -> None:
    for log in LOGS:
        with subtests.test(_name(log)):
            _check_game(log, tmp_path / "transcript")


def _check_game(log: Path, said: Path) -> None:
    model, options, form, text = _run_of(log)
    words_file = ROOT / "mini/vocab.txt" if log.parent.name == "mini" else ROOT / "corpora/vocab.txt"
    with words_file.open("rb") as stream:
        game = options.build(corpus.vocabulary(stream))
    command = Command((sys.executable, "-B", str(ROOT / f"models/{model}.py")), settle=0.02)
    with (
        text.open("rb") as stream,
        said.open("wb") as transcript,
        ProcessPlayer(command, transcript=transcript) as player,
    ):
        played = play(corpus.read(stream, form), game, player, train=options.train)
        rows = [json.loads(log_rows.line_of(line.row)) for line in played]
    expected = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    if options.game == "ic" and not _ordered(log):
        rows, expected = [_unordered(row) for row in rows], [_unordered(row) for row in expected]
    assert close(rows, expected)
    recorded = log.with_suffix(".transcript")
    if recorded.exists() and (
        options.game != "ic" or _ordered(log)
    ):  # the reference's candidates are in the order of a set
        assert said.read_bytes() == recorded.read_bytes()


def test_recorded_logs_are_of_their_corpus_and_of_no_other(subtests: pytest.Subtests) -> None:
    for log in [*LOGS, *_files("v4/*hasuser.log")]:
        with subtests.test(_name(log)):
            _check_text(log)


def _check_text(log: Path) -> None:
    *_, form, text = _run_of(log)
    of, others = LogText(), LogText()
    with log.open("rb") as stream:
        logged = list(read_lines(stream))
    for number, line in logged:
        of.add(number, line)
        others.add(number, line)

    def lines(path: Path, form: str) -> Iterator[corpus.Line]:
        with path.open("rb") as stream:
            yield from corpus.read(stream, form)

    found = of.match(lambda: lines(text, form), lambda at: logged[at][1], log.name)
    assert (found.lines, found.recut) == (len(logged), 0)
    if "hasuser" not in log.name:
        assert found.of == found.lines
    with pytest.raises(LogError, match="the logged text does not match the corpus"):
        others.match(lambda: lines(ROOT / "corpora/train.txt", "text"), lambda at: logged[at][1], log.name)


def test_logs_without_candidates_are_written_byte_for_byte(tmp_path: Path) -> None:
    expected = (ROOT / "v4/plain.static.wp.log").read_bytes()
    out = io.BytesIO()
    with (ROOT / "corpora/plain.txt").open("rb") as source:
        command = f"{sys.executable} -B {ROOT}/models/static.py"
        assert main(["run", "--quiet", command, "wp"], streams=Streams(source, out)) == 0
    assert out.getvalue() == expected


# -- statistics ----------------------------------------------------------------------------------------------


def _call(*argv: str, stdin: bytes = b"") -> tuple[int, str, str]:
    out, err = io.BytesIO(), io.StringIO()
    code = main(argv, streams=Streams(io.BytesIO(stdin), out, err))
    return code, out.getvalue().decode(), err.getvalue()


MIXTURES = {"a0": (0.0, -8.0), "a025": (0.25, -3.0), "a1": (1.0, 0.0), "a05_oov-2": (0.5, -2.0)}


def _stats_arguments(path: Path, stem: str, what: str) -> list[str]:
    log = path.with_name(f"{stem}.log")
    mini = path.parent.name == "mini"
    if what == "puser":
        having = path.with_name(f"{stem}.hasuser.log")
        return ["-p", "user", *(["-f", "all"] if mini else []), str(having if having.exists() else log)]
    if what == "pline":
        return ["-p", "line", "-f", "all", str(log)]
    if what == "opt":
        return ["-a", str(path.with_name(f"{stem}.opt.json")), str(log)]
    if what == "n10":
        return ["-n", "10", str(log)]
    if what in MIXTURES:
        alpha, penalty = MIXTURES[what]
        return ["-f", "all", "-a", json.dumps({"alpha": alpha, "oov_penalty": penalty}), str(log)]
    return ["-f", what, str(log)]


STATS = _files("v4/*.stats.*.json", "mini/v4.*.stats.*.json", "seed_examples/*.stats.*.json")


def test_statistics_are_the_recorded_ones(subtests: pytest.Subtests) -> None:
    for path in STATS:
        with subtests.test(_name(path)):
            stem, _, what = path.name.removesuffix(".json").partition(".stats.")
            code, out, _ = _call("stats", *_stats_arguments(path, stem, what))
            assert code == 0
            assert close(json.loads(out), json.loads(path.read_text()))


SEARCHES = [path for path in _files("*/*.opt*.json") if ".stats." not in path.name]
SEARCH_OPTIONS = {
    "opt": [],
    "opt.all": ["-f", "all"],
    "opt_improvement": ["-t", "improvement"],
    "opt_fine": ["-f", "all", "-a", "0:1:21", "-o", "-4:4:9"],
}


def test_searches_find_the_recorded_mixtures(subtests: pytest.Subtests) -> None:
    for path in SEARCHES:
        with subtests.test(_name(path)):
            stem, _, rest = path.name.removesuffix(".json").partition(".opt")
            log = str(path.with_name(f"{stem}.log"))
            code, out, _ = _call("ic-opt", *SEARCH_OPTIONS[f"opt{rest}"], log)
            assert code == 0
            assert json.loads(out) == json.loads(path.read_text())


def test_searches_say_what_the_reference_says(subtests: pytest.Subtests) -> None:
    for path in _files("v4/*.opt.search.txt"):
        with subtests.test(_name(path)):
            log = path.with_name(path.name.replace(".opt.search.txt", ".log"))
            assert _call("ic-opt", "-vv", str(log))[2].strip() == path.read_text().strip()


def test_colours_are_the_recorded_ones(subtests: pytest.Subtests) -> None:
    for path in _files("v4/*.ansi"):
        with subtests.test(_name(path)):
            stem, _, rest = path.name.removesuffix(".ansi").partition(".pretty")
            arguments = ["-f", "all"] if rest == ".all" else []
            mixture = path.with_name(f"{stem}.opt.json")
            if mixture.exists():
                arguments += ["-a", str(mixture)]
            log = str(path.with_name(f"{stem}.log"))
            assert _call("pretty", *arguments, log)[1] == path.read_text("utf-8")


def test_logs_read_and_written_again_are_the_same(subtests: pytest.Subtests) -> None:
    for path in LOGS:
        with subtests.test(_name(path)), path.open("rb") as stream:
            again = "".join(log_rows.line_of(row) for _, row in read_rows(stream))
            assert again == path.read_text("utf-8")


def test_logs_of_version_5_are_refused_by_name(subtests: pytest.Subtests) -> None:
    for path in _files("v5/*.log"):
        refused = pytest.raises(LogError, match="line 1: this is a log of LM Challenge 5")
        with subtests.test(_name(path)), path.open("rb") as stream, refused:
            list(read_lines(stream))


# -- what goes wrong -----------------------------------------------------------------------------------------


def _bad(mode: str, *, train: bool = True) -> tuple[list[Any], PlayerError | None, dict[str, int]]:
    command = Command((sys.executable, "-B", str(ROOT / "models/bad.py"), mode), reply_timeout=1.0)
    rows: list[Any] = []
    game = GameOptions("wp", predictions=True).build()
    player = ProcessPlayer(command)
    try:
        with (ROOT / "corpora/bad.txt").open("rb") as stream:
            rows.extend(p.row for p in play(corpus.read(stream), game, player, train=train))
        player.close()
    except PlayerError as error:
        return rows, error, player.protocol_warnings.as_dict()
    finally:
        player.kill()
    return rows, None, player.protocol_warnings.as_dict()


@pytest.mark.parametrize(
    ("mode", "lines", "words"),
    [
        ("nonnumeric", 0, "not a number"),
        ("emptyscore", 0, "not a number"),
        ("exit0", 0, "exit code 0 in the middle"),
        ("exit3", 0, "exit code 3 in the middle"),
        ("exit3_late", 4, "ended with exit code 3"),
        ("hang", 0, "no reply within"),
        ("twolines", 0, "unrequested output"),
        ("latin1", 0, "not UTF-8"),
        ("partial", 0, "not a number"),
        ("train_newline", 0, "unrequested output"),
    ],
)
def test_a_model_that_breaks_the_protocol_ends_the_run_with_a_reason(
    mode: str, lines: int, words: str
) -> None:
    rows, error, _ = _bad(mode)
    assert error is not None
    assert words in str(error)
    assert len(rows) == lines


@pytest.mark.parametrize("mode", ["ok", "odd", "blank", "crlf", "nan"])
def test_odd_but_legal_replies_give_the_recorded_log(mode: str) -> None:
    rows, error, protocol_warnings = _bad(mode)
    assert error is None
    text = "".join(log_rows.line_of(row) for row in rows)
    assert text == (ROOT / f"bad/v4.{mode}.log").read_text("utf-8")
    assert bool(protocol_warnings) == (mode in ("odd", "blank", "nan"))


def test_a_log_with_nan_scores_is_counted_with_a_note() -> None:
    code, out, err = _call("stats", str(ROOT / "bad/v4.nan.log"))
    assert code == 0
    assert "NaN" in err
    assert json.loads(out)[0]["words"] == 13


@pytest.mark.parametrize(
    ("name", "form", "codes"),
    [
        ("tabs.txt", "text", {"tab", "return", "separator"}),
        ("newline.jsonl", "json", {"newline", "tab"}),
        ("bom_crlf.txt", "text", {"bom", "crlf"}),
    ],
)
def test_traps_in_a_corpus_give_warnings_and_reach_the_model_harmlessly(
    name: str, form: str, codes: set[str], tmp_path: Path
) -> None:
    said = tmp_path / "said"
    report = tmp_path / "report.json"
    command = f"{sys.executable} -B {ROOT}/models/learner.py"
    arguments = ["-t", "-f", form, "--transcript", str(said), "--report", str(report), command, "wp"]
    code, out, err = _call("run", *arguments, stdin=(ROOT / "traps" / name).read_bytes())
    assert code == 0
    assert {warning["code"] for warning in json.loads(report.read_text())["warnings"]} == codes
    assert "warning: line" in err
    lines = (ROOT / "traps" / name).read_bytes().count(b"\n")
    assert len(out.splitlines()) == lines
    sent = [line.split(b"\t") for line in said.read_bytes().splitlines() if line.startswith(b"> ")]
    assert {fields[0] for fields in sent} <= {b"> predict", b"> train", b"> clear"}
    assert all(len(fields) == 2 for fields in sent if fields[0] != b"> clear")


def test_a_byte_order_mark_stays_in_the_first_context() -> None:
    command = f"{sys.executable} -B {ROOT}/models/static.py"
    code, out, _ = _call("run", command, "wp", stdin=(ROOT / "traps/bom_crlf.txt").read_bytes())
    assert code == 0
    assert out == (ROOT / "traps/bom.wp.log").read_text()
