"""`lmgym lmc`: the reference's commands, additional tools, and error messages."""

from __future__ import annotations

import gzip
import io
import json
import sys
import zipfile
from pathlib import Path

import pytest

from lmgym.lmchallenge.cli.main import main
from lmgym.lmchallenge.cli.streams import Streams
from lmgym.lmchallenge.logs.coloured import NO_USER
from tests.lmgym import lmchallenge

MODELS = Path(lmchallenge.__file__).with_name("models.py")
PROGRAM = f"{sys.executable} -B {MODELS}"
CORPUS = "the cat sat\n\non the mat\n"


def call(*argv: str, stdin: bytes | str = b"") -> tuple[int, bytes, str]:
    out, err = io.BytesIO(), io.StringIO()
    given = stdin.encode() if isinstance(stdin, str) else stdin
    code = main(argv, "lmc", streams=Streams(io.BytesIO(given), out, err))
    return code, out.getvalue(), err.getvalue()


def rows(data: bytes) -> list[dict]:
    return [json.loads(line) for line in data.splitlines()]


@pytest.fixture(scope="module")
def wp_log() -> bytes:
    return call("run", PROGRAM, "wp", stdin=CORPUS)[1]


@pytest.fixture(scope="module")
def ic_log(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    vocabulary = tmp_path_factory.mktemp("words") / "words"
    vocabulary.write_text("the\ncat\nhat\nsat\nmat\non\nan\nat\n")
    return call("run", PROGRAM, "ic", "-n", "4", "-p", "0.4", str(vocabulary), stdin=CORPUS * 20)[1]


@pytest.fixture
def wp(tmp_path: Path, wp_log: bytes) -> Path:
    path = tmp_path / "wp.log"
    path.write_bytes(wp_log)
    return path


@pytest.fixture
def ic(tmp_path: Path, ic_log: bytes) -> Path:
    path = tmp_path / "ic.log"
    path.write_bytes(ic_log)
    return path


def test_a_run_writes_one_line_of_log_per_line_of_corpus(wp: Path):
    found = rows(wp.read_bytes())
    assert [len(row["wordPredictions"]) for row in found] == [3, 0, 3]


def test_progress_and_warnings_go_to_standard_error():
    code, _, err = call("run", PROGRAM, "wp", stdin="a\tb\n")
    assert code == 0
    assert "warning: line 1: A tab" in err
    assert "lines: 1, predictions: 2" in err
    assert call("run", "--quiet", PROGRAM, "wp", stdin="a\tb\n")[2] == ""


def test_an_interrupted_run_can_be_resumed_at_a_line():
    whole = call("run", "-t", PROGRAM, "wp", stdin=CORPUS)[1]
    rest = call("run", "-t", "--skip", "2", PROGRAM, "wp", stdin=CORPUS)[1]
    assert whole.splitlines()[2:] == rest.splitlines()


def test_skip_is_refused_for_a_log_that_has_lines(tmp_path: Path):
    path = tmp_path / "log"
    command = ("run", "--skip", "1", "--log", str(path), PROGRAM, "wp")
    assert call(*command, stdin=CORPUS)[0] == 0
    before = path.read_bytes()
    code, _, err = call(*command, stdin=CORPUS)
    assert code == 2
    assert "resume after its line 2" in err
    assert path.read_bytes() == before


def test_logs_and_corpora_may_be_compressed(tmp_path: Path, wp: Path):
    code, packed, _ = call("run", "--gzip", PROGRAM, "wp", stdin=gzip.compress(CORPUS.encode()))
    assert code == 0
    assert gzip.decompress(packed) == wp.read_bytes()
    path = tmp_path / "log"
    path.write_bytes(packed)
    assert call("stats", str(path))[1] == call("stats", str(wp))[1]
    assert call("stats", stdin=packed)[1] == call("stats", str(wp))[1]


def test_a_bad_line_of_a_corpus_ends_the_run_and_names_it():
    code, out, err = call("run", "-f", "json", PROGRAM, "wp", stdin='{"text": "a"}\n{"tex": "b"}\n')
    assert code == 2
    assert len(out.splitlines()) == 1
    assert 'line 2: the key "text" is missing' in err
    code, _, err = call("run", PROGRAM, "wp", stdin=b"good\ncaf\xe9\n")
    assert code == 2
    assert "line 2: byte 4 (0xe9) is not UTF-8" in err


def test_wrong_arguments_end_with_two():
    for argv in (["run", PROGRAM], ["stats", "-f", "none"], ["ic-opt", "-a", "1:2", "x"], ["nothing"]):
        with pytest.raises(SystemExit) as error:
            call(*argv)
        assert error.value.code == 2


def test_statistics_of_several_logs_as_json_and_as_tabs(wp: Path):
    code, out, _ = call("stats", "-f", "all", str(wp), str(wp))
    assert code == 0
    found = json.loads(out)
    assert found[str(wp)][0]["words"] == 6
    code, out, _ = call("stats", "-o", "csv", str(wp))
    head, line = (row.split("\t") for row in out.decode().splitlines())
    assert head[0] == "log"
    assert head[1:] == sorted(head[1:])
    assert len(line) == len(head)


def test_parts_without_words_have_no_rates(wp: Path):
    found = json.loads(call("stats", "-p", "line", str(wp))[1])
    assert [part["words"] for part in found] == [3, 0, 3]
    assert found[1]["mrr"] is None


def test_lines_without_a_user_are_one_part(wp: Path):
    assert [part["lines"] for part in json.loads(call("stats", "-p", "user", str(wp))[1])] == [3]


@pytest.mark.parametrize(
    ("log", "words"),
    [
        (b"", "log is empty"),
        (b'{"a": 1}\n', "not a game log"),
        (b'{"wordPredictions": [{"rank": 1}]}\n', "both target and targetChars are missing"),
        (b'{"wordPredictions": [{"target": "a", "rank": "x"}]}\n', "not a whole number"),
        (b'{"wordPredictions": []}\n{"textCompletions": []}\n', "line 2: a line of tc"),
        (b'{"wordPredictions": [', "cut off here"),
        (
            b'{"inputCorrections": [{"target": "a", "score": [1, 2], "candidates": []}]}\n',
            "verbatimMatch is missing",
        ),
        (
            b'{"inputCorrections": [{"target": "a", "verbatim": "a", "score": [1, 2], '
            b'"candidates": [["a", "b", 1]]}]}\n',
            "is not a score",
        ),
        (
            b'{"inputCorrections": [{"score": [-7, -10], "target": "Amelia", "verbatim": "Amlua", '
            b'"candidates": [["Amelia", -7, -10], ["Amlua", 0, null], ]}]}\n',
            "line 1, column 139: this is not JSON: a comma before the closing bracket",
        ),
        (
            b'{"wordPredictions": [], }\n',
            "line 1, column 23: this is not JSON: a comma before the closing bracket",
        ),
        (b'{"wordPredictions": [], "a,}"}\n', "line 1, column 30: this is not JSON: Expecting ':'"),
        (b'{"userId": "aaa",\n "wordPredictions": []}\n', "write each object on one line"),
    ],
)
def test_an_invalid_log_is_refused_with_the_place(log: bytes, words: str):
    code, _, err = call("stats", stdin=log)
    assert code == 2
    assert words in err


@pytest.mark.parametrize(
    ("result", "game"),
    [({"completions": [["a"]]}, "wc"), ({"logp": None}, "we or ce"), ({"results": []}, "wr")],
)
def test_a_log_of_version_5_is_refused_with_the_name_of_its_game(tmp_path: Path, result: dict, game: str):
    log = tmp_path / "five.log"
    log.write_text(
        json.dumps({"user": None, "message": 0, "token": 0, "character": 0, "target": "a", **result})
    )
    code, _, err = call("ic-opt", str(log))
    assert code == 2
    assert f"line 1: this is a log of LM Challenge 5 (game {game})" in err
    assert "A log of LM Challenge 4 is needed (wp, tc, ic)" in err


def test_the_best_mixture_is_searched_and_cross_validated(ic: Path):
    code, out, err = call("ic-opt", "-vv", "-o", "-4:0:3", "-a", "0:1:5", "--cross-validate", str(ic))
    assert code == 0
    found = json.loads(out)
    assert err.count("DEBUG\tRun:") == 15
    assert 0 <= found["cross_validated"]["accuracy"] <= 1
    assert found["cross_validated"]["n"] == 120
    mixture = json.dumps({key: found[key] for key in ("alpha", "oov_penalty")})
    (row,) = json.loads(call("stats", "-a", mixture, str(ic))[1])
    assert row["words"] == 120


def test_one_log_and_a_difference_are_shown_in_colour(wp: Path, ic: Path):
    assert "\x1b[" in call("pretty", str(wp))[1].decode()
    assert call("pretty", str(wp), str(wp))[1].decode() == "the cat sat \n\non the mat \n"
    code, out, err = call("pretty", str(ic))
    assert code == 0
    assert "best mixture" in err
    assert out.count(b"\n") == 60
    other = call("run", PROGRAM, "wp", stdin="another text\n")[1]
    path = wp.with_name("other")
    path.write_bytes(other)
    code, _, err = call("pretty", str(wp), str(path))
    assert code == 2
    assert "different texts" in err


def test_the_first_line_decides_the_game_whatever_keys_the_corpus_has(tmp_path: Path):
    rows = [{"userId": n, "textCompletions": [{"target": "the cat"}]} for n in range(3)]
    plain, odd = tmp_path / "plain", tmp_path / "odd"
    plain.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for row, value in zip(rows[1:], (1, [{"target": "a"}]), strict=True):
        row["wordPredictions"] = value
    odd.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert call("pretty", str(odd)) == call("pretty", str(plain))
    assert call("stats", str(odd)) == call("stats", str(plain))
    code, out, _ = call("compare", str(plain), str(odd))
    assert code == 0
    assert json.loads(out)["comparisons"][0]["difference"] == 0


def test_stats_more_adds_metrics_of_each_game(wp: Path, ic: Path, tmp_path: Path):
    more = json.loads(call("stats", "--more", str(wp))[1])["more"]
    assert more["bits_per_character"]["n"] == 6
    assert "8 bits" in more["bits_per_character"]["oov_policy"]
    tc = tmp_path / "tc"
    tc.write_bytes(call("run", PROGRAM, "tc", stdin=CORPUS)[1])
    more = json.loads(call("stats", "--more", "-f", "all", str(tc))[1])
    savings = more["more"]["keystroke_savings"]
    assert savings["value"] == pytest.approx(1 - more["parts"][0]["kpc"])
    assert "cross_validated" in json.loads(call("stats", "--more", str(ic))[1])["more"]


def test_serve_adaptive_answers_the_protocol():
    commands = "train\tthe cat\nclear\ntrain\tthe dog\npredict\tthe \nnonsense\npredict\tthe \tdog\tcow\n"
    code, out, err = call("serve", "--model", "adaptive", stdin=commands)
    first, second = out.decode().splitlines()
    assert code == 0
    assert first.split("\t")[0] == "dog"
    assert second.split("\t")[::2] == ["dog", "cow"]
    assert "unknown command 'nonsense'" in err


def test_corpora_are_converted_between_text_and_json():
    code, out, _ = call("corpus", "to-json", "--user", "me", "--timestamps", stdin="a\nb c\n")
    assert rows(out) == [
        {"userId": "me", "timestamp": 1, "text": "a"},
        {"userId": "me", "timestamp": 2, "text": "b c"},
    ]
    assert call("corpus", "to-text", stdin=out)[1] == b"a\nb c\n"
    code, _, err = call("corpus", "to-text", stdin='{"text": "a\\nb"}\n')
    assert code == 2
    assert "the text contains a newline" in err


def test_corpus_check_shows_tokens_and_warnings():
    found = json.loads(call("corpus", "check", stdin="it's \t💩\n")[1])
    assert found["shown"][0]["tokens"] == [[0, 4], [6, 7]]
    assert [warning["code"] for warning in found["warnings"]] == ["tab"]


@pytest.mark.parametrize("cut", [1, 9, 20])
def test_a_truncated_gzip_file_is_named_as_damaged(tmp_path: Path, wp: Path, cut: int):
    log, words = tmp_path / "cut.log", tmp_path / "cut.words"
    log.write_bytes(gzip.compress(wp.read_bytes())[:-cut])
    words.write_bytes(gzip.compress(b"the\ncat\n" * 50)[:-cut])
    packed = gzip.compress(CORPUS.encode() * 9)[:-cut]
    for arguments, stdin, name in (
        (["stats", str(log)], b"", str(log)),
        (["pretty", str(log)], b"", str(log)),
        (["compare", str(wp), str(log)], b"", str(log)),
        (["run", "adaptive", "ic", str(words)], b"", str(words)),
        (["run", "adaptive", "wp"], packed, "standard input"),
        (["corpus", "check"], packed, "standard input"),
    ):
        code, _, err = call(*arguments, stdin=stdin)
        assert (code, f"{name}: the gzip data is damaged" in err) == (2, True), arguments


def test_unknown_options_of_a_player_are_named():
    code, _, err = call("run", "-o", '{"foo": 1}', "adaptive", "wp", stdin=CORPUS)
    assert code == 2
    assert "foo" in err
    assert call("run", "-o", '{"unseen": "x"}', "adaptive", "wp", stdin=CORPUS)[0] == 2


def test_gzip_with_a_log_file_is_refused_because_it_cannot_be_resumed(tmp_path: Path):
    code, _, err = call("run", "--gzip", "--log", str(tmp_path / "log"), "adaptive", "wp", stdin=CORPUS)
    assert code == 2
    assert "--gzip" in err
    assert not (tmp_path / "log").exists()


def test_a_range_may_have_a_thousand_steps(ic: Path):
    code, out, _ = call("ic-opt", "-a", "0:1:1001", "-o", "-4", str(ic))
    assert code == 0
    assert 0 <= json.loads(out)["alpha"] <= 1


def test_csv_has_the_columns_of_the_first_log(tmp_path: Path):
    short, long = tmp_path / "short", tmp_path / "long"
    entry = {"target": "a", "rank": 1, "score": 0}
    short.write_text(json.dumps({"wordPredictions": [entry]}) + "\n")
    long.write_text(json.dumps({"wordPredictions": [entry] * 3}) + "\n")
    first, *_ = call("stats", "-o", "csv", str(short), str(long))[1].decode().splitlines()
    assert "idx1_hit3" not in first
    first, second, _ = call("stats", "-o", "csv", str(long), str(short))[1].decode().splitlines()
    assert "idx1_hit3" in first
    assert len(second.split("\t")) == len(first.split("\t"))


def test_whole_numbers_may_be_written_with_a_point():
    given = '{"wordPredictions": [{"targetChars": 3.0, "rank": 2.0, "score": 1}]}\n'
    code, out, _ = call("stats", stdin=given)
    assert code == 0
    assert (json.loads(out)[0]["chars"], json.loads(out)[0]["mrr"]) == (3, 0.5)
    assert call("stats", stdin=given.replace("2.0", "2.5"))[0] == 2


def test_logs_on_one_text_are_compared_with_the_first(tmp_path: Path, wp: Path):
    better = tmp_path / "better.log"
    better.write_bytes(call("run", "-t", "adaptive", "wp", stdin=CORPUS)[1])
    code, out, err = call("compare", "-f", "all", str(wp), str(better))
    assert code == 0, err
    found = json.loads(out)
    (row,) = found["comparisons"]
    assert (row["first"], row["second"]) == (str(wp), str(better))
    assert (row["measure"], row["n"]) == ("hit3", 6)
    assert row["difference"] == pytest.approx(row["second_value"] - row["first_value"])
    other = tmp_path / "other.log"
    other.write_bytes(call("run", PROGRAM, "wp", stdin="another text\n")[1])
    assert json.loads(call("compare", "-f", "all", str(wp), "-", stdin=better.read_bytes())[1])[
        "comparisons"
    ] == [{**json.loads(out)["comparisons"][0], "second": "-"}]
    code, _, err = call("compare", str(wp), str(other))
    assert code == 2
    assert "different text" in err


def test_logs_of_different_games_are_refused_with_their_names(tmp_path: Path):
    (tmp_path / "wp.log").write_text(
        '{"wordPredictions": [{"target": "tea", "rank": 1, "score": -1}, {"target": "now"}]}\n'
    )
    (tmp_path / "tc.log").write_text(
        '{"textCompletions": [{"target": "tea "}, {"target": "now", "rank": 0, "score": -1}]}\n'
    )
    code, _, err = call("compare", str(tmp_path / "wp.log"), str(tmp_path / "tc.log"))
    assert code == 2
    assert "tc.log is a log of the game tc" in err
    assert "wp.log of wp. Compare logs of the same game." in err


def test_a_log_without_words_is_compared_by_all_tokens(tmp_path: Path, wp: Path):
    hidden = tmp_path / "hidden.log"
    hidden.write_bytes(call("run", "-W", PROGRAM, "wp", stdin=CORPUS)[1])
    code, out, err = call("compare", str(wp), str(hidden))
    assert code == 0, err
    assert "hidden.log has no words, so all tokens are counted" in err
    assert (json.loads(out)["filter"], json.loads(out)["comparisons"][0]["difference"]) == ("all", 0.0)
    other = tmp_path / "other.log"
    other.write_bytes(call("run", PROGRAM, "wp", stdin="another text\n")[1])
    code, _, err = call("compare", str(other), str(hidden))
    assert code == 2
    assert "different text" in err


@pytest.mark.parametrize(("text", "cluster"), [(CORPUS, "user"), ("one line\n", "line")])
def test_a_single_cluster_cannot_be_tested(tmp_path: Path, text: str, cluster: str):
    log = tmp_path / "one.log"
    log.write_bytes(call("run", PROGRAM, "wp", stdin=text)[1])
    (row,) = json.loads(call("compare", "--cluster", cluster, str(log), str(log))[1])["comparisons"]
    assert (row["verdict"], row["p"]) == (f"cannot be tested: only one {cluster}", None)


def test_keystroke_savings_take_their_usual_parameters(tmp_path: Path):
    log = tmp_path / "tc.log"
    log.write_bytes(call("run", PROGRAM, "tc", stdin=CORPUS)[1])

    def saved(*options: str) -> dict:
        return json.loads(call("stats", "--more", *options, str(log))[1])["more"]["keystroke_savings"]

    plain, dear = saved(), saved("--selection-cost", "2", "--literal")
    assert (plain["selection_cost"], dear["selection_cost"], dear["literal"]) == (1.0, 2.0, True)
    assert dear["keystrokes"] > plain["keystrokes"]
    assert saved("--auto-space")["auto_space"] is True


class Terminal(io.BytesIO):
    def isatty(self) -> bool:
        return True


def on_terminal(*argv: str) -> str:
    out = Terminal()
    assert main(argv, "lmc", streams=Streams(io.BytesIO(), out, io.StringIO())) == 0
    return out.getvalue().decode()


def test_a_terminal_gets_tables_and_a_legend(wp: Path, tmp_path: Path):
    lines = [line.split() for line in on_terminal("stats", "-f", "all", str(wp)).splitlines()]
    assert lines[0] == [wp.name]
    assert ["words", "6"] in lines
    assert ["mrr", f"{json.loads(call('stats', '-f', 'all', str(wp))[1])[0]['mrr']:.4f}"] in lines
    assert on_terminal("stats", "-p", "line", str(wp)).splitlines()[1].split()[:2] == ["line", "lines"]
    assert json.loads(on_terminal("stats", "-o", "json", str(wp)))
    better = tmp_path / "better.log"
    better.write_bytes(call("run", "-t", "adaptive", "wp", stdin=CORPUS)[1])
    table = on_terminal("compare", str(wp), str(better), "-f", "all")
    assert "baseline" in table
    assert f"Difference: log − {wp.name}. Token filter: all." in table
    assert call("compare", str(wp), str(better), "-f", "all", "-o", "table")[1].decode() == table
    assert "not predicted" in on_terminal("pretty", str(wp))
    assert b"not predicted" not in call("pretty", str(wp))[1]


def test_a_table_names_the_user_of_each_part(tmp_path: Path):
    rows = '{"userId": "ann", "text": "a b"}\n{"text": "a"}\n{"userId": 7, "text": "b"}\n'
    path = tmp_path / "users.log"
    path.write_bytes(call("run", "-f", "json", PROGRAM, "wp", stdin=rows)[1])
    table = call("stats", "-o", "table", "-p", "user", str(path))[1].decode().splitlines()
    assert table[1].split()[0] == "user"
    assert [line.partition("  ")[0] for line in table[3:]] == ["ann", NO_USER, "7"]
    table = call("stats", "-o", "table", "-p", "line", str(path))[1].decode().splitlines()
    assert [line.split()[0] for line in table[3:]] == ["1", "2", "3"]


def test_a_terminal_gets_the_legend_of_a_difference(tmp_path: Path, wp: Path):
    legend = on_terminal("pretty", str(wp), str(wp)).splitlines()[-1]
    assert "better rank" in legend
    assert "not predicted" not in legend, "the legend of a single log does not explain a difference"
    five = tmp_path / "wc.log"
    five.write_bytes(call("run", PROGRAM, "wc", stdin=CORPUS)[1])
    assert "completed earlier" in on_terminal("diff", str(five), str(five)).splitlines()[-1]
    assert b"better rank" not in call("pretty", str(wp), str(wp))[1]
    assert b"completed earlier" not in call("diff", str(five), str(five))[1]


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["stats", "-n", "-3"], "-n/--lines: -3 is too small: the minimum is 1"),
        (["stats", "-n", "x"], "-n/--lines: 'x' is not a whole number"),
        (["ic-opt", "-n", "0", "x"], "-n/--lines: 0 is too small: the minimum is 1"),
        (["stats", "--selection-cost", "nan"], "--selection-cost: nan is not a finite number"),
        (
            ["stats", "--selection-cost=-5"],
            "--selection-cost: -5 is out of range: it must be between 0 and 100",
        ),
        (["pretty", "-i", "0"], "0 is out of range: it must be above 0"),
        (["run", "--skip", "-3", "adaptive", "wp"], "--skip: -3 is too small: the minimum is 0"),
        (["run", "--reply-timeout", "inf", "adaptive", "wp"], "--reply-timeout: inf is not a finite number"),
        (["run", "adaptive", "tc", "-n", "-1"], "-n/--select-from: -1 is too small: the minimum is 0"),
        (
            ["run", "adaptive", "ic", "-n", "0", "words"],
            "-n/--num-candidates: 0 is too small: the minimum is 1",
        ),
        (
            ["run", "adaptive", "wr", "-n", "0", "words"],
            "-n/--num-candidates: 0 is too small: the minimum is 1",
        ),
    ],
)
def test_a_number_out_of_range_is_refused_with_its_bounds(argv, says, capsys):
    with pytest.raises(SystemExit) as error:
        call(*argv)
    assert (error.value.code, says in capsys.readouterr().err) == (2, True)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, wp: Path):
    missing = tmp_path / "nofile"
    for argv in (
        ["stats", str(missing)],
        ["compare", str(wp), "--baseline", str(missing)],
        ["run", "adaptive", "ic", str(missing)],
        ["run", str(missing), "wp"],
    ):
        code, _, err = call(*argv)
        assert (code, f"{missing}: no such file." in err, "Errno" in err) == (2, True, False), argv
    code, _, err = call("stats", str(tmp_path))
    assert (code, f"{tmp_path}: this is a folder, not a file." in err, "Errno" in err) == (2, True, False)


@pytest.mark.parametrize("argv", [["{}"], ["--baseline", "{}", "{}"]])
def test_a_comparison_needs_two_logs(wp: Path, argv: list[str]):
    code, out, err = call("compare", *(word.format(wp) for word in argv))
    assert (code, out, "A comparison needs at least two logs." in err) == (2, b"", True)


def test_options_may_stand_anywhere(wp: Path):
    one = str(wp)
    assert call("stats", one, "-f", "all", one) == call("stats", "-f", "all", one, one)
    before, behind = (
        ["run", PROGRAM, "wp", "-W", "-t", "--quiet"],
        ["run", "-t", "-W", "--quiet", PROGRAM, "wp"],
    )
    assert call(*before, stdin=CORPUS) == call(*behind, stdin=CORPUS)
    assert call("stats", "-f", "all", stdin=wp.read_bytes())[1] == call("stats", "-f", "all", one)[1]


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (("-f", "all", "stats", "x"), "lmc COMMAND -f"),
        (("run", "-n", "5", "adaptive", "tc"), "lmc run PLAYER GAME -n"),
        (("corpus", "-f", "json", "check"), "lmc corpus TOOL -f"),
    ],
)
def test_a_misplaced_option_gets_a_message_where_it_belongs(argv, says, capsys):
    with pytest.raises(SystemExit):
        call(*argv)
    assert says in capsys.readouterr().err


@pytest.mark.parametrize("command", ["stats", "pretty", "ic-opt", "validate"])
def test_a_zip_archive_is_refused_as_one(command, tmp_path: Path):
    log = tmp_path / "logs.zip"
    with zipfile.ZipFile(log, "w") as packed:
        packed.writestr("wp.log", "{}")
    code, _, err = call(command, str(log))
    assert (code, f"{log}: this is a zip archive. Extract the" in err) == (2, True)
