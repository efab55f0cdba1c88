"""The client and its command line in LM Challenge, ProPara and agent tests, against a live site."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

from lmgym.client import ApiError, Client
from tests.process.live import LiveSite
from tests.process.site import ROOT
from tests.process.test_client import cli

pytestmark = pytest.mark.process
DATA = ROOT / "gym" / "propara" / "data"
SET = "everyday-processes"
GOOD = b"agent: echo\ninteractions: [{text: hello, response: {text: {keywords: hello}}}]\n"
BAD = b"agent: echo\ninteractions: [{text: hello, response: {text: {keywords: goodbye}}}]\n"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    site = LiveSite(
        tmp_path_factory.mktemp("live"), prepare="prepare_tutorials", GYM_API_REQUESTS_PER_MINUTE="0"
    )
    yield site
    site.close()


@pytest.fixture
def gym(site) -> Client:
    return Client(site.url, site.things["tokens"]["alice"])


def rows(out: str) -> list[list[str]]:
    return [line.split("\t") for line in out.splitlines()]


def test_games_are_started_waited_for_read_and_compared(gym):
    made = [
        gym.start_game("demo-sentences", "wp", "adaptive", train=True, player_options={"order": order})
        for order in (1, 3)
    ]
    first, second = (gym.wait_for_game(one.id, seconds=60) for one in made)
    assert (first.state, second.raw["player_options"]) == ("done", {"order": 3})
    figure = gym.statistics(first.id)["parts"][0]["hit3"]
    found = gym.compare_games(first.id, second.id, second.id)
    assert (found["first"], [row["id"] for row in found["comparisons"]]) == (first.id, [second.id])
    assert found["comparisons"][0]["first_value"] == pytest.approx(figure)


def test_logs_are_uploaded_and_compared_on_the_command_line(site, tmp_path):
    lines = [
        {"wordPredictions": [{"target": word, "rank": 1 + number % 4}]} for number, word in enumerate("abcd")
    ]
    paths = [tmp_path / name for name in ("one.log", "two.log")]
    for path in paths:
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    status, out, err = cli(site, "lmc", "upload", *map(str, paths), "--title", "Mine")
    assert status == 0, err
    (one, title, game, state, figure), (two, *_) = rows(out)
    assert (title, game, state, figure) == ("Mine, one.log", "wp", "done", "hit3 0.7500")
    status, out, _ = cli(site, "lmc", "compare", "--site", one, two)
    assert (status, rows(out)[1][:6]) == (0, [two, "Mine, two.log", "hit3", "0.7500", "0.7500", "0.0000"])
    head, row = rows(cli(site, "lmc", "compare", "--site", one, two, "--metric", "hit2")[1])
    assert (row[2], head[8:10], row[8], row[9]) == ("hit2", ["p", "p_corrected"], "1.0000", "1.0000")
    status, out, _ = cli(site, "lmc", "stats", "--site", one)
    assert ["hit3", "0.75"] in rows(out)


def test_logs_that_came_in_before_a_broken_one_are_told(site, tmp_path):
    line = json.dumps({"wordPredictions": [{"target": "a", "rank": 1}]})
    for name, log in (("good.log", line), ("broken.log", "{")):
        (tmp_path / name).write_text(log + "\n")
    status, out, err = cli(site, "lmc", "upload", str(tmp_path / "good.log"), str(tmp_path / "broken.log"))
    [[key, title, *_]] = rows(out)
    assert (status, title) == (2, "good.log")
    assert "broken.log was not uploaded. One earlier log remains on the site:" in err
    assert Client(site.url, site.things["tokens"]["alice"]).game(key).title == "good.log"
    missing = str(tmp_path / "missing.log")
    status, out, err = cli(site, "lmc", "upload", str(tmp_path / "good.log"), missing)
    assert (status, out, f"{missing}: No such file" in err) == (2, "", True)


def test_predictions_get_a_score_a_rank_and_an_explanation(site, gym):
    made = gym.submit_predictions(SET, "hasty.tsv", (DATA / "hasty.tsv").read_bytes(), system="Hasty")
    assert (made.state, made.version, gym.submission(made.id)) == ("scored", 1, made)
    assert [row["f1"] for row in gym.leaderboard(SET) if row["submission"] == made.id] == [made.f1]
    assert gym.explanation(made.id)["report"]["reference"]["f1"] == made.f1
    assert gym.explanation(made.id, 3)["mistakes"][0]["code"] == "missed-move"
    better = gym.submit_predictions(SET, "careful.tsv", (DATA / "careful.tsv").read_bytes())
    found, *_ = gym.compare_submissions(better.id, made.id)["comparisons"]
    assert found["question"] == "overall"
    assert found["difference"] == pytest.approx(made.f1 - better.f1)
    status, out, _ = cli(site, "propara", "compare", "--site", better.id, made.id)
    assert (status, out.startswith(f"F1, Hasty − careful: {found['difference']:+.4f}")) == (0, True)


def test_a_file_that_needs_repairs_waits_and_says_what_to_do(site, gym, tmp_path):
    path = tmp_path / "mine.tsv"
    path.write_text("\n" + (DATA / "careful.tsv").read_text(encoding="utf-8"), encoding="utf-8")
    words = ("propara", "submit", str(path), "--answer-set", SET)
    status, out, err = cli(site, *words)
    assert (status, rows(out)[0][1:3], "by repeating this command with --agree-to-repairs" in err) == (
        2,
        ["mine", "waiting"],
        True,
    )
    assert gym.agree(rows(out)[0][0]).state == "scored"
    assert cli(site, *words, "--agree-to-repairs")[0] == 0


def test_problems_and_repairs_of_one_kind_are_one_line(site, tmp_path):
    path = tmp_path / "mine.tsv"
    text = (DATA / "careful.tsv").read_text(encoding="utf-8")
    words = ("propara", "submit", str(path), "--answer-set", SET)
    path.write_text(text.replace("NONE", "none"), encoding="utf-8")
    n = text.count("NONE")
    status, _, err = cli(site, *words)
    assert (status, err.count("became")) == (2, 1)
    assert f" and {n - 5} more, column 4: {n} × “none” became “NONE”.\n" in err
    path.write_text(text.replace("NONE", "NOTHING"), encoding="utf-8")
    status, _, err = cli(site, *words)
    assert (status, len(err.splitlines())) == (2, 1)
    assert f"{n} × “NOTHING” is not an action." in err


def test_a_file_that_was_submitted_before_is_noticed(site, gym, tmp_path):
    path = tmp_path / "twice.tsv"
    path.write_text("\n\n" + (DATA / "careful.tsv").read_text(encoding="utf-8"), encoding="utf-8")
    words = ("propara", "submit", str(path), "--answer-set", SET, "--agree-to-repairs")
    status, out, err = cli(site, *words)
    assert (status, "submitted before" in err) == (0, False)
    assert f"This file was submitted before, as {rows(out)[0][0]}." in cli(site, *words)[2]


def test_cases_are_uploaded_and_run_and_the_report_is_junit(site, gym, tmp_path):
    for name, data in (("good.hocon", GOOD), ("bad.hocon", BAD)):
        (tmp_path / name).write_bytes(data)
    files = [str(tmp_path / name) for name in ("good.hocon", "bad.hocon")]
    assert cli(site, "agents", "upload", *files, "--suite", "mine")[:2] == (0, "good\nbad\n")
    status, out, _ = cli(site, "agents", "run", "mine", "--agent-server", "demo-agents", "--format", "junit")
    suites = {suite.get("name"): suite for suite in ElementTree.fromstring(out)}
    assert (status, set(suites)) == (1, {"good", "bad"})
    assert (suites["good"].get("failures"), int(suites["bad"].get("failures")) > 0) == ("0", True)
    status, out, _ = cli(site, "agents", "run", "mine", "--agent-server", "demo-agents", "--case", "good")
    assert (status, rows(out)[1]) == (0, ["good", "pass", "1", "1", "0"])


def test_a_case_that_got_worse_is_named(site, gym):
    gym.make_agent_suite("Worse", slug="worse")
    keys = []
    for text in (GOOD, BAD):
        gym.upload_cases("worse", [("hello.hocon", text)])
        made = gym.start_agent_run("worse", "demo-agents", iterations=5)
        keys.append(gym.wait_for_agent_run(made.id, seconds=60).id)
    assert [gym.agent_run(key).cases[0].outcome for key in keys] == ["pass", "fail"]
    status, out, err = cli(site, "agents", "compare", *keys)
    assert (status, "regression: hello: 5/5, then 0/5, p (Holm) 0.008" in err, rows(out)[1][:3]) == (
        1,
        True,
        ["hello", "pass 5/5", "fail 0/5"],
    )
    assert cli(site, "agents", "compare", *keys, "--alpha", "0.001")[0] == 0
    assert cli(site, "agents", "compare", *reversed(keys))[0] == 0


def test_a_server_that_could_not_be_asked_is_no_regression_and_later_runs_are_told_apart(site, gym):
    gym.make_agent_suite("Down", slug="down")
    keys = []
    for text in (GOOD, GOOD.replace(b"agent: echo", b"agent: broken"), GOOD):
        gym.upload_cases("down", [("hello.hocon", text)])
        made = gym.start_agent_run("down", "demo-agents", iterations=10)
        keys.append(gym.wait_for_agent_run(made.id, seconds=60).id)
    status, out, err = cli(site, "agents", "compare", *keys)
    assert (status, "regression" in err) == (3, False)
    assert f"no verdict: hello in {keys[1]}" in err
    heads = [row for row in rows(out) if row[0] == "case"]
    assert [head[2].split(" ")[0] for head in heads] == ["second", "third"]
    assert rows(out)[1][:3] == ["hello", "pass 10/10", "no verdict: 10 errors"]
    gym.upload_cases("down", [("hello.hocon", BAD)])
    worse = gym.wait_for_agent_run(gym.start_agent_run("down", "demo-agents", iterations=10).id, seconds=60)
    status, out, _ = cli(site, "agents", "compare", keys[0], worse.id)
    assert (status, rows(out)[1][6:]) == (1, ["< 0.001", "< 0.001"])


def test_a_run_makes_as_many_iterations_at_a_time_as_are_asked_for(site, gym, tmp_path):
    (tmp_path / "good.hocon").write_bytes(GOOD)
    cli(site, "agents", "upload", str(tmp_path / "good.hocon"), "--suite", "often")
    given = ("often", "--agent-server", "demo-agents", "--iterations", "6", "--parallel", "2")
    status, out, _ = cli(site, "agents", "run", *given)
    assert (status, rows(out)[1]) == (0, ["good", "pass", "6", "6", "0"])
    (run,) = gym.get("agent-runs/", suite="often")["results"]
    assert (run["options"]["parallel"], run["options"]["iterations"]) == (2, 6)


def test_a_server_that_may_not_be_talked_to_is_broken_with_the_reason(site):
    status, out, err = cli(site, "agents", "register", "Mine", "--url", "http://127.0.0.1:9")
    assert (status, rows(out)[0][1]) == (2, "broken")
    assert "Not contacted" in err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("lmc", "stats", "--site", "nothing"), "Not found, or you may not see it."),
        (("lmc", "play", "no", "--game", "wp", "--player", "adaptive"), "corpus: There is no corpus “no”"),
        (("lmc", "play", "demo-sentences", "--game", "wp", "--player", "me"), "player: "),
        (("lmc", "upload", "missing.log"), "missing.log: No such file"),
        (("propara", "submit", "missing.tsv", "--answer-set", SET), "missing.tsv: No such file"),
        (
            ("agents", "run", "nothing", "--agent-server", "demo-agents"),
            "suite: There is no suite “nothing”",
        ),
        (("agents", "upload", "missing.hocon", "--suite", "x"), "missing.hocon: No such file"),
    ],
)
def test_what_goes_wrong_is_exit_status_2_and_a_sentence(site, words, says):
    status, _, err = cli(site, *words)
    assert (status, says in err, "Traceback" in err) == (2, True, False), err


def test_results_that_are_not_there_are_an_error_with_a_code(gym):
    waiting = gym.submit_predictions(SET, "late.tsv", b"\n" + (DATA / "hasty.tsv").read_bytes())
    with pytest.raises(ApiError) as refused:
        gym.explanation(waiting.id)
    assert (refused.value.status, refused.value.code) == (409, "no-results")
