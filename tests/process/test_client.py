"""The client and its command line against a live site with a real worker."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from lmgym.cli import main
from lmgym.client import ApiError, Client, NotReached
from lmgym.models.backends.ngram_file import save_model
from lmgym.models.backends.ngram_model import train_ngram
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
    """Run a command, and return (exit status, standard output, standard error)."""
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("LM_GYM_SITE", site.url)
        patch.setenv("LM_GYM_TOKEN", site.things["tokens"].get(who, ""))
        patch.setenv("XDG_CONFIG_HOME", site.env["GYM_VAR_DIR"])
        status = main(words)
    out.flush()
    return status, out.buffer.getvalue().decode(), err.getvalue()


def suite_file(folder: Path, **options) -> str:
    path = folder / "suite.json"
    path.write_bytes(suite_bytes(**options))
    return str(path)


def test_a_file_is_pushed_frozen_run_and_read(site, gym, tmp_path):
    path = suite_file(tmp_path, name="journey", formulas=(WITHIN,))
    assert cli(site, "push", path, "--freeze") == (0, "journey r1\n", "")
    status, out, err = cli(site, "run", "journey", "--model", "demo-gpt2", "--fail-under", "1")
    assert status == 0, err
    _, row = out.splitlines()
    assert row.split()[:2] == ["journey", "demo-gpt2"]
    assert "3/3  100.0%" in row
    assert "demo-gpt2 on journey: done" in err
    key = re.search(r"/runs/([0-9a-f]+)/", err)[1]
    assert gym.run(key).rate == 1.0
    results = gym.results(key)
    assert results["items"][0]["conditions"][0]["regions"][0]["surprisal"] == 20.0
    rows = list(gym.rows(f"runs/{key}/results/tokens/", limit=2))
    assert [len(row["tokens"]) for row in rows] == [6, 6, 6, 6, 7, 7]


def test_a_low_rate_is_exit_status_1_and_so_is_a_suite_without_predictions(site, tmp_path):
    for name, options in (("low", {}), ("bare", {"formulas": ()})):
        assert cli(site, "push", suite_file(tmp_path, name=name, items=2, **options), "--freeze")[0] == 0
    run = ("run", "--model", "demo-gpt2")
    assert cli(site, *run, "low", "--fail-under", "0.5")[0] == 1
    assert cli(site, *run, "low")[0] == 0
    status, _, err = cli(site, *run, "bare", "--fail-under", "0")
    assert (status, "nothing was tested" in err) == (1, True)
    assert cli(site, *run, "bare", "low", "--fail-under", "0")[0] == 1


def test_many_suites_on_many_models_are_queued_waited_for_and_exported(site, gym):
    chosen = ("binding", "islands", "-m", "demo-gpt2", "-m", "demo-ngram")
    status, out, _ = cli(site, "run", *chosen, "--no-wait")
    keys = out.split()
    assert (status, len(keys)) == (0, 4)
    assert cli(site, "run", *chosen, "--no-wait")[1].split() == keys
    status, out, _ = cli(site, "wait", *keys, "--format", "json")
    rows = json.loads(out)
    assert (status, [row["run"] for row in rows]) == (0, keys)
    assert [(row["suite"], row["model"]) for row in rows] == [
        ("binding", "demo-gpt2"), ("binding", "demo-ngram"), ("islands", "demo-gpt2"), ("islands", "demo-ngram"),
    ]  # fmt: skip
    frame = gym.table(gym.wait_all(keys))
    assert frame["rate"].tolist() == [row["rate"] for row in rows]
    named = ("--suite", "binding", "--suite", "islands", "--model", "demo-gpt2", "--model", "demo-ngram")
    lines = cli(site, "export", "predictions", *named)[1].splitlines()
    assert len(lines) == 1 + len(rows)
    assert len(cli(site, "export", "--collection", "kept", "-m", "demo-ngram")[1].splitlines()) == 3


def test_many_runs_are_deleted_by_one_command(site, gym, tmp_path):
    assert cli(site, "push", suite_file(tmp_path, name="passing", items=9), "--freeze")[0] == 0
    assert cli(site, "run", "passing", "-m", "demo-gpt2", "-m", "demo-ngram")[0] == 0
    status, _, err = cli(site, "runs", "delete")
    assert (status, "or add --yes" in err) == (2, True)
    assert cli(site, "runs", "delete", "--suite", "passing") == (0, "2 runs deleted.\n", "")
    assert not [row for row in gym.rows("runs/") if row["suite"] == "passing"]


def test_if_one_run_is_refused_none_is_queued(site, gym):
    before = len(list(gym.rows("runs/")))
    status, out, err = cli(site, "run", "binding", "-m", "demo-gpt2", "-m", "nothing", "--again")
    assert (status, out, "nothing on binding: There is no such model." in err) == (2, "", True)
    assert len(list(gym.rows("runs/"))) == before


def test_two_runs_are_compared_as_on_the_compare_page(site, gym):
    keys = [run.id for run in gym.wait_all(gym.run_batch(["binding"], ["demo-gpt2", "demo-ngram"]))]
    found = gym.compare(*keys)
    assert [found[side]["run"] for side in ("first", "second")] == keys
    assert found["rate"]["p"] == 1.0
    status, out, _ = cli(site, "compare", "--site", *keys, "--format", "json")
    (row,) = json.loads(out)
    assert (status, row["first_value"], row["p"]) == (0, found["first"]["rate"], 1.0)
    assert (row["first"], row["second"]) == ("demo-gpt2", "demo-ngram")
    other = gym.run_batch(["islands"], ["demo-gpt2"])[0]
    status, _, err = cli(site, "compare", "--site", keys[0], other)
    assert (status, "runs are on different suites: binding and islands" in err) == (2, True)


def test_models_are_registered_checked_and_approved(site, gym, tmp_path):
    config = tmp_path / "config.json"
    config.write_text('{"vocabulary_size": 1024}')
    new = ("models", "register", "coin", "--backend", "uniform", "--config", str(config))
    status, out, err = cli(site, *new)
    assert (status, out) == (0, "coin\tuniform\tready\tcoin\n"), err
    assert cli(site, "models", "check", "coin")[:2] == (0, "coin\tuniform\tready\tcoin\n")
    assert gym.wait_for_model("coin").status == "ready"
    folder = '{"source": "directory", "path": "nowhere"}'
    status, out, err = cli(site, "models", "register", "absent", "--backend", "causal", "--config", folder)
    assert (status, "lmgym models approve absent" in err) == (0, True)
    status, out, err = cli(site, "models", "approve", "absent", who="staff")
    assert (status, out.split("\t")[2]) == (2, "broken"), err
    status, _, err = cli(site, "models", "register", "coin", "--backend", "uniform", "--config", "{}")
    assert (status, "vocabulary_size" in err) == (2, True)


def test_a_series_is_registered_from_the_hub_only_and_approved_where_there_is_one(site, tmp_path):
    series = ("--backend", "uniform", "--config", '{"vocabulary_size": 8}', "--revisions", "step*")
    status, _, err = cli(site, "models", "register", "many", *series)
    assert (status, "Only models from the Hugging Face Hub can be registered as a series" in err) == (2, True)
    status, _, err = cli(site, "models", "approve", "--series", "gone", who="staff")
    assert (status, "404" in err or "Not found" in err) == (2, True), err


def test_saved_results_are_uploaded_once(site, gym, tmp_path):
    path = suite_file(tmp_path, name="computed", items=7)
    assert cli(site, "push", path, "--freeze")[0] == 0
    save_model(train_ngram(["The woman plays all day."], order=2, min_count=1), tmp_path / "mine.ngram")
    saved = ("--save", str(tmp_path / "out"))
    assert cli(site, "evaluate", path, "-m", str(tmp_path / "mine.ngram"), *saved)[0] == 0
    status, out, err = cli(site, "upload", str(tmp_path / "out"), "--check")
    assert (status, out.split("\t")[1:3]) == (0, ["computed r1", "mine"]), err
    first, second = (cli(site, "upload", str(tmp_path / "out")) for _ in range(2))
    assert first[:2] == second[:2]
    assert "\tdone\t1 run\t" in first[1]
    bad = tmp_path / "bad.csv"
    bad.write_text("a,b\n1,2\n")
    status, out, err = cli(site, "upload", str(bad), str(tmp_path / "out"))
    assert (status, out.count("\n"), f"{bad} was not stored:" in err) == (2, 1, True)


def test_the_job_for_a_cluster_uploads_its_results(site, gym, tmp_path):
    path = suite_file(tmp_path, name="from-a-cluster", items=6)
    assert cli(site, "push", path, "--freeze")[0] == 0
    save_model(train_ngram(["The man reads."], order=2, min_count=1), tmp_path / "cluster.ngram")
    own = {"LM_GYM_SITE": site.url, "LM_GYM_TOKEN": site.things["tokens"]["alice"], "SLURM_JOB_ID": "7"}
    done = subprocess.run(
        ["bash", str(ROOT / "deploy" / "evaluate.sbatch"), str(tmp_path / "cluster.ngram"), path],
        env=os.environ
        | own
        | {"LMGYM": str(Path(sys.executable).with_name("lmgym")), "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "results-7" in os.listdir(tmp_path)
    runs = gym.get("runs/?suite=from-a-cluster")["results"]
    assert [run["source"] for run in runs] == ["uploaded"]


def test_into_makes_a_revision_only_of_something_new(site, gym, tmp_path):
    path = suite_file(tmp_path, name="again")
    assert cli(site, "push", path, "--freeze", "--again") == (0, "again r1\n", "")
    _, out, err = cli(site, "push", path, "--into", "again", "--freeze")
    assert (out, "is identical to again r1" in err) == ("again r1\n", True)
    assert gym.suite("again").revisions == [1]
    path = suite_file(tmp_path, name="again", items=4)
    assert cli(site, "push", path, "--into", "again", "--freeze")[:2] == (0, "again r2\n")
    assert not gym.suite("again").has_draft
    assert cli(site, "push", suite_file(tmp_path, name="again", items=5), "--into", "again")[1] == "again\n"
    status, _, err = cli(site, "push", path, "--into", "again")
    assert (status, "has a draft" in err) == (2, True)
    status, _, err = cli(site, "push", path, "--into", "nowhere")
    assert (status, "Create it with: lmgym push FILE --freeze" in err) == (2, True)


def test_a_file_that_is_there_is_not_imported_again(site, tmp_path):
    path = suite_file(tmp_path, name="twice", items=5)
    assert cli(site, "push", path, "--freeze")[:2] == (0, "twice r1\n")
    status, out, err = cli(site, "push", path, "--freeze")
    assert (status, out, "suite.json is identical to twice r1" in err) == (0, "twice r1\n", True)


def test_files_become_one_collection_that_is_published_with_its_private_suites(site, gym, tmp_path):
    files = []
    for number in (10, 11):
        (tmp_path / str(number)).mkdir()
        files.append(suite_file(tmp_path / str(number), name=f"part{number}", items=number))
    words = ("push", *files, "--freeze", "--collection", "whole")
    for _ in range(2):  # what is there is not added again
        assert cli(site, *words)[:2] == (0, "part10 r1\npart11 r1\n")
    rows = gym.collection("whole")["suites"]
    assert [(row["suite"], row["revision"]) for row in rows] == [("part10", 1), ("part11", 1)]
    with pytest.raises(ApiError, match="not public"):
        gym.publish_collection("whole")
    assert gym.publish_collection("whole", make_public=["part10", "part11"])["published_at"]
    status, _, err = cli(site, *words)
    assert (status, "whole is published" in err) == (2, True)
    status, _, err = cli(site, "push", files[0], "--collection", "other")
    assert (status, "use --collection with --freeze" in err) == (2, True)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["run", "agreement_orc", "--model", "nothing"], "There is no such model."),
        (["run", "agreement_orc", "--model", "demo-gpt2", "--bos", "no"], "bos"),
        (["push", "missing.json"], "missing.json: No such file"),
        (["pull", "no-such-suite"], "Not found"),
        (["export", "--suite", "binding", "--suite", "bindings"], "bindings"),
        (["export", "--collection", "nowhere"], "nowhere"),
        (["wait", "abc"], "Not found"),
        (["compare", "--site", "abc", "def"], "Not found"),
        (["score", "--site", "-m", "nothing", "Hello."], "nothing"),
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
    status, _, err = cli(site, "push", str(path))
    assert status == 2
    assert "item 2, condition 1: lacks" in err


def test_without_a_token_only_reading_is_possible(site):
    assert cli(site, "suites", "list", who="nobody")[0] == 0
    status, _, err = cli(site, "run", "agreement_orc", "--model", "demo-gpt2", who="nobody")
    assert (status, "credentials" in err) == (2, True)


def test_scores_are_bits_by_token(site, gym):
    status, out, _ = cli(site, "score", "--site", "--model", "demo-gpt2", "The cat sleeps.")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert status == 0
    assert [row["token"] for row in rows] == ["The", "cat", "sleeps", "."]
    assert [float(row["surprisal"]) for row in rows] == [10.0] * 4
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
    cli(site, "push", path, "--freeze", "--again")
    assert json.loads(gym.suite_file("round-trip")) == json.loads(Path(path).read_bytes())
    target = tmp_path / "out.csv"
    assert cli(site, "pull", "round-trip", "-o", str(target))[0] == 0
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
    with pytest.raises(NotReached, match=r"127\.0\.0\.1:9 does not respond"):
        gym.get("suites/")


def test_a_token_follows_no_redirect(site):
    gym = Client(site.url, "lmg_x")
    with pytest.raises(ApiError) as refused:
        gym.get("suites")  # the site would redirect to suites/
    assert refused.value.status == 301


def test_the_documented_python_runs(site, capsys):
    """The block of docs/api.md, with the address of the site and a token. The Hub is off, so its model is not ready."""
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    [block] = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    for example, here in (("https://gym.example.org", site.url), ("lmg_…", site.things["tokens"]["alice"])):
        assert example in block
        block = block.replace(example, here)
    exec(compile(block, "docs/api.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "agreement_orc" in printed
    assert "The" in printed


def test_the_documented_commands_run(site, tmp_path):
    """Every shell line of docs/api.md runs, in order, in one shell."""
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    script = "set -e\n" + "\n".join(re.findall(r"```sh\n(.*?)```", text, re.DOTALL))
    assert len(re.findall(r"^lmgym ", script, re.MULTILINE)) > 7
    assert script.count("curl") > 10
    suite_file(tmp_path, name="my_agreement")
    python = Path(sys.executable).parent
    env = os.environ | {
        "LM_GYM_SITE": site.url,
        "LM_GYM_TOKEN": site.things["tokens"]["alice"],
        "PATH": f"{python}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
    }
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-2_000:] + done.stderr[-2_000:]
    assert (tmp_path / "surprisals.csv").read_text().count("\n") == 9
