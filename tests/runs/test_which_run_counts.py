"""Of several runs of a model on a revision, every page and export shows the same one, with its policy if that is not
the default."""

from __future__ import annotations

import csv
import io
import json

import pytest
from django.contrib.auth import get_user
from django.http import QueryDict
from django.urls import reverse

from gym.jobs.testing import run_pending
from gym.runs.models import SuiteRun
from gym.runs.policies import policy_differences
from gym.runs.read.leaderboard.address import read_options
from gym.runs.read.leaderboard.build import leaderboard
from gym.runs.work import services
from lmgym.models.engine import ScoringPolicy
from tests.factories import make_model, make_revision
from tests.lmgym.suites.documents import AGREEMENT
from tests.runs.boards import finished_run

NEVER = {"bos": "never"}


@pytest.fixture
def revision(people):
    return make_revision(people.alice, name="s", items=4)


@pytest.fixture
def model(people):
    return make_model(people.alice, slug="m")


def shown(client, query="") -> dict[str, str]:
    """Return the run that each place shows."""

    def table(address):
        return list(csv.DictReader(io.StringIO(client.get(address).getvalue().decode())))

    board = leaderboard(get_user(client), read_options(QueryDict(query)))
    [cell] = board.rows[0].cells
    suite = client.get(f"{reverse('suite-detail', args=['s'])}?{query}").context["scores"]
    page = client.get(f"{reverse('model-detail', args=['m'])}?{query}").context["scores"]
    sides = client.get(f"{reverse('compare')}?model=m&suite=s&{query}").context["sides"]
    return {
        "leaderboard": cell.run,
        "suite": suite[0].run.key,
        "model": page[0].run.key,
        "compare": sides[0].run.key,
        "scores": table(reverse("export-table", args=["scores", "csv"]) + "?suite=s")[0]["run"],
    }


def only(found: dict[str, str]) -> str:
    [key] = set(found.values())
    return key


def test_a_run_of_the_default_policy_counts_before_a_newer_one_of_another(client, revision, model):
    usual = finished_run(revision, model, [1, 1, 0, 0])
    finished_run(revision, model, [0, 0, 0, 0], policy=NEVER)
    assert only(shown(client)) == usual.key


def test_of_two_runs_of_the_default_policy_the_newer_one_counts(client, revision, model):
    finished_run(revision, model, [1, 1, 0, 0])
    newer = finished_run(revision, model, [0, 0, 0, 1])
    assert only(shown(client)) == newer.key


def test_a_run_that_lacks_a_prediction_counts_last(client, people, model):
    revision = make_revision(people.alice, name="s", items=4, formulas=(AGREEMENT, AGREEMENT))
    whole = finished_run(revision, model, [1, 1, 0, 0], [1, 0, 0, 0], source="uploaded")
    finished_run(revision, model, [1, 1, 1, 1], source="uploaded")
    for rule in ("each", "all", "first"):
        assert only(shown(client, f"rule={rule}")) == whole.key


def test_the_whitespace_correction_is_another_policy(client, revision, model):
    usual = finished_run(revision, model, [1, 1, 0, 0])
    newer = finished_run(revision, model, [0, 0, 0, 1], policy={"whitespace": "trailing"})
    assert only(shown(client)) == usual.key
    assert policy_differences(newer.policy, revision) == "whitespace=trailing"


def test_the_worker_notes_the_standing_with_the_results(people, revision, model):
    services.queue_run(revision, model, actor=people.alice)
    services.queue_run(revision, model, ScoringPolicy(metric="max", eos=True), actor=people.charlie)
    run_pending()
    assert list(SuiteRun.objects.order_by("pk").values_list("standing", flat=True)) == [2, 1]
    assert policy_differences(SuiteRun.objects.latest("pk").policy, revision) == "eos=yes, metric=max"


def test_a_cell_of_another_policy_is_marked_wherever_it_is_shown(client, revision, model, people):
    finished_run(revision, model, [1, 1, 0, 0], policy=NEVER)
    finished_run(revision, make_model(people.alice, slug="n"), [1, 1, 0, 0])
    both = reverse("compare") + "?model=m&model=n"
    pages = [reverse("leaderboard"), reverse("home"), both, f"{both}&suite=s"]
    pages += [reverse("suite-detail", args=["s"]), reverse("model-detail", args=["m"])]
    for address in pages:
        page = " ".join(client.get(address).content.decode().split())
        assert "not the default policy: bos=never" in page, address


def test_exports_have_the_policy(client, revision, model, people):
    finished_run(revision, model, [1, 1, 0, 0], policy=NEVER)
    finished_run(revision, make_model(people.alice, slug="n"), [1, 1, 0, 0])

    def file(form):
        return client.get(reverse("leaderboard-download", args=[form])).content.decode()

    long = {row["model"]: row["policy"] for row in csv.DictReader(io.StringIO(file("long.csv")))}
    assert long == {"m": "bos=never", "n": "default"}
    wide = {row["model"]: row["other policies"] for row in csv.DictReader(io.StringIO(file("csv")))}
    assert wide == {"M": "s: bos=never", "N": ""}
    cells = {row["name"]: row["suites"]["s"]["policy"] for row in json.loads(file("json"))["models"]}
    assert cells == {"M": "bos=never", "N": "default"}
    for form in ("tex", "md"):
        assert "Not under the default policy: M on s (bos=never)" in file(form)
    models = client.get(reverse("figure", args=["suite-models", "csv"]) + "?suite=s&r=1").content.decode()
    assert {row["policy"] for row in csv.DictReader(io.StringIO(models))} == {"bos=never", "default"}


def test_a_table_of_default_policies_says_nothing_about_them(client, revision, model):
    finished_run(revision, model, [1, 1, 0, 0])
    assert "policy" not in client.get(reverse("leaderboard")).context["note"]
    assert "default policy" not in client.get(reverse("home")).content.decode()


def test_masked_models_are_marked_with_what_their_bits_are(client, revision, people):
    bert = make_model(people.alice, slug="bert", name="Bert", backend="masked")
    finished_run(revision, bert, [1, 1, 0, 0])
    page = client.get(reverse("leaderboard")).content.decode()
    assert "not surprisals" in page
    assert "The model sees the words on both sides of each token" in page
    note = client.get(reverse("leaderboard-download", args=["md"])).content.decode()
    assert "Not surprisals: Bert. The model sees the words on both sides" in note
    [row] = csv.DictReader(
        io.StringIO(client.get(reverse("leaderboard-download", args=["long.csv"])).content.decode())
    )
    assert row["score_kind"] == "pseudo-log-likelihood"
