"""The client and its command line against a live site with a real worker."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from lmgym.client import ApiError, Client, NotReached
from lmgym.client.cli import main
from tests.lmgym.suites.documents import suite_bytes
from tests.process.live import LiveSite
from tests.process.site import ROOT

pytestmark = pytest.mark.process
WITHIN = "(2;%mismatch%) < 100"  # every sentence of a uniform model passes


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    site = LiveSite(tmp_path_factory.mktemp("live"), GYM_API_REQUESTS_PER_MINUTE="0")
    yield site
    site.close()


@pytest.fixture
def gym(site) -> Client:
    return Client(site.url, site.things["tokens"]["alice"])


def cli(site: LiveSite, *words: str, who: str = "alice") -> tuple[int, str, str]:
    """(exit status, standard output, standard error)"""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main([*words, "--server", site.url, "--token", site.things["tokens"].get(who, "")])
    return status, out.getvalue(), err.getvalue()


def suite_file(folder: Path, **options) -> str:
    path = folder / "suite.json"
    path.write_bytes(suite_bytes(**options))
    return str(path)


def test_a_file_is_authored_frozen_run_and_read(site, gym, tmp_path):
    path = suite_file(tmp_path, name="journey", formulas=(WITHIN,))
    status, out, err = cli(site, "run", path, "--model", "demo-gpt2", "--fail-under", "1")
    assert status == 0, err
    assert "100.0% (3 of 3; 95%" in out
    assert "imported as journey" in err
    assert "demo-gpt2: done" in err
    assert gym.suite("journey").revisions == [1]
    key = re.search(r"/runs/([0-9a-f]+)/", out)[1]
    assert gym.run(key).rate == 1.0
    results = gym.results(key)
    assert results["items"][0]["conditions"][0]["regions"][0]["surprisal"] == 20.0
    rows = list(gym.rows(f"runs/{key}/results/tokens/", limit=2))
    assert [len(row["tokens"]) for row in rows] == [6, 6, 6, 6, 7, 7]


def test_a_low_rate_is_exit_status_1(site, tmp_path):
    path = suite_file(tmp_path, name="low", items=2)
    assert cli(site, "run", path, "--model", "demo-gpt2", "--fail-under", "0.5")[0] == 1
    assert cli(site, "run", "low", "--model", "demo-gpt2")[0] == 0


def test_into_makes_a_revision_only_of_something_new(site, gym, tmp_path):
    path = suite_file(tmp_path, name="again")
    assert cli(site, "import", path, "--freeze", "--again") == (0, "again r1\n", "")
    _, _, err = cli(site, "run", path, "--into", "again", "--model", "demo-gpt2")
    assert "says the same as r1" in err
    assert gym.suite("again").revisions == [1]
    path = suite_file(tmp_path, name="again", items=4)
    status, out, _ = cli(site, "run", path, "--into", "again", "--model", "demo-gpt2")
    assert (status, "on again r2" in out) == (0, True)
    assert not gym.suite("again").has_draft


def test_a_file_that_is_there_is_not_imported_again(site, tmp_path):
    path = suite_file(tmp_path, name="twice", items=5)
    assert cli(site, "import", path, "--freeze")[:2] == (0, "twice r1\n")
    status, out, err = cli(site, "import", path, "--freeze")
    assert (status, out, "twice r1 says the same as the file" in err) == (0, "twice r1\n", True)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["run", "agreement_orc", "--model", "nothing"], "There is no model “nothing”, or not for you."),
        (["run", "missing.json", "--model", "demo-gpt2"], "There is no file missing.json."),
        (["run", "agreement_orc", "--model", "demo-gpt2", "--policy", "bos=no"], "$.policy.bos"),
        (["run", "agreement_orc", "--model", "demo-gpt2", "--policy", "eos"], "write it NAME=VALUE"),
        (["export", "no-such-suite"], "There is nothing here"),
    ],
)
def test_what_goes_wrong_is_exit_status_2_and_a_sentence(site, words, says):
    status, _, err = cli(site, *words)
    assert status == 2
    assert says in err


def test_a_file_with_mistakes_names_their_places(site, tmp_path):
    path = tmp_path / "bad.json"
    document = json.loads(suite_bytes(name="bad"))
    del document["items"][1]["conditions"][0]["condition_name"]
    path.write_text(json.dumps(document))
    status, _, err = cli(site, "run", str(path), "--model", "demo-gpt2")
    assert status == 2
    assert "$.items[1].conditions[0]" in err


def test_without_a_token_only_reading_is_possible(site):
    assert cli(site, "suites", who="nobody")[0] == 0
    status, _, err = cli(site, "run", "agreement_orc", "--model", "demo-gpt2", who="nobody")
    assert (status, "credentials" in err) == (2, True)


def test_scores_are_bits_by_token(site, gym):
    status, out, _ = cli(site, "score", "--model", "demo-gpt2", "The cat sleeps.")
    lines = [line.split("\t") for line in out.splitlines()]
    assert status == 0
    assert lines[0] == ["sentence_id", "token_id", "token", "surprisal"]
    assert [float(line[3]) for line in lines[1:]] == [10.0] * 4
    [sentence] = gym.score("demo-gpt2", ["The cat sleeps."])
    assert (sentence.surprisal, sentence.tokens[1].start, sentence.tokens[1].end) == (40.0, 4, 7)


def test_a_log_of_lm_challenge_is_counted_and_read(gym):
    row = {"user": None, "message": 0, "token": 0, "character": 0, "target": "the", "logp": -2.0}
    made = gym.upload_log("mine.log", json.dumps(row).encode() + b"\n", title="Mine")
    done = gym.wait_for_game(made.id, seconds=60)
    assert (done.title, done.game, done.version, done.state, done.error) == ("Mine", "we", 5, "done", "")
    assert gym.statistics(made.id)["parts"][0]["entropy"]["mean"] == 2.0


def test_what_is_exported_is_what_was_imported(site, gym, tmp_path):
    path = suite_file(tmp_path, name="round-trip")
    cli(site, "import", path, "--freeze", "--again")
    assert json.loads(gym.export("round-trip")) == json.loads(Path(path).read_bytes())
    target = tmp_path / "out.csv"
    assert cli(site, "export", "round-trip", "--format", "csv", "-o", str(target))[0] == 0
    assert target.read_text().startswith("item_number")


def test_a_post_that_is_sent_again_does_nothing_twice(site, gym):
    headers = {"Idempotency-Key": "once"}
    body = {"suite": "agreement_orc", "model": "demo-gpt2"}
    answers = [gym.transport.send("POST", "runs/", body=body, headers=headers) for _ in range(3)]
    assert len({answer.json()["id"] for answer in answers}) == 1
    with pytest.raises(ApiError) as refused:
        gym.transport.send("POST", "runs/", body=body | {"revision": 1}, headers=headers)
    assert (refused.value.status, refused.value.code) == (422, "key-reused")


def test_a_server_that_is_not_there_is_named():
    gym = Client("http://127.0.0.1:9")
    gym.transport.sleep = lambda seconds: None
    with pytest.raises(NotReached, match=r"127\.0\.0\.1:9 does not answer"):
        gym.get("suites/")


def test_a_token_follows_no_redirect(site):
    gym = Client(site.url, "lmg_x")
    with pytest.raises(ApiError) as refused:
        gym.get("suites")  # the site would redirect to suites/
    assert refused.value.status == 301


def test_the_documented_commands_run(site, tmp_path):
    """Every shell line of docs/api.md, in its order, in one shell."""
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    script = "set -e\n" + "\n".join(re.findall(r"```sh\n(.*?)```", text, re.DOTALL))
    assert script.count("lmgym.client") > 7
    assert script.count("curl") > 10
    suite_file(tmp_path, name="my_agreement")
    python = Path(sys.executable).parent
    env = os.environ | {
        "LM_GYM_SERVER": site.url,
        "LM_GYM_TOKEN": site.things["tokens"]["alice"],
        "PATH": f"{python}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
    }
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-2_000:] + done.stderr[-2_000:]
    assert (tmp_path / "surprisals.tsv").read_text().count("\n") == 9


def test_the_client_needs_no_django():
    script = "import sys, lmgym.client.cli\nprint(sorted({n.split('.')[0] for n in sys.modules} & {'django', 'numpy'}))"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.stdout.strip(), done.stderr) == ("[]", "")
