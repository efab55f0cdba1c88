"""The command shown on a run's page, run next to the downloaded suite, gives the page's numbers."""

from __future__ import annotations

import html
import io
import json
import re
import shlex

import pytest
from django.core.management import call_command
from django.urls import reverse

from gym.jobs.testing import run_pending
from gym.runs.models import ScoreCache
from gym.runs.work import services
from lmgym.models.engine import ScoringPolicy
from tests.factories import checked, make_model, make_revision
from tests.lmgym.models.conftest import tiny_models  # noqa: F401
from tests.lmgym.suites.documents import AGREEMENT

POLICIES = {
    "plain": (ScoringPolicy(), ()),
    "whitespace": (ScoringPolicy(whitespace="trailing"), ("--whitespace", "trailing")),
    "tokens": (ScoringPolicy(tokens="needed"), ("--tokens", "needed")),
    "all": (
        ScoringPolicy(bos="never", eos=True, join="natural", metric="mean"),
        ("--bos", "never", "--join", "natural", "--metric", "mean", "--eos"),
    ),
}


@pytest.fixture
def tiny(people, settings, tiny_models):  # noqa: F811
    settings.GYM_MODEL_DIR = tiny_models
    config = {"source": "directory", "path": "byte-bpe", "device": "cpu"}
    model = make_model(people.alice, slug="tiny", backend="causal", config=config)
    return checked(model)


def command_of(page: str) -> list[str]:
    """Return the words of the command on a run's page, after `python manage.py evaluate`."""
    [shown] = re.findall(r'<pre[^>]* id="command">(.*?)</pre>', page, re.DOTALL)
    python, manage, command, *words = shlex.split(html.unescape(shown))
    assert (python, manage, command) == ("python", "manage.py", "evaluate")
    return words


@pytest.mark.parametrize(("policy", "flags"), POLICIES.values(), ids=POLICIES)
def test_the_command_of_the_page_gives_its_numbers(
    client, people, tiny, tmp_path, monkeypatch, policy, flags
):
    formulas = (
        AGREEMENT,
        "(2;%match%) < 20" if policy.tokens == "needed" else "(*;%match%) < (*;%mismatch%)",
    )
    revision = make_revision(people.alice, items=5, formulas=formulas)
    run = services.queue_run(revision, tiny, policy, actor=people.alice)
    run_pending()
    page = client.get(run.get_absolute_url())
    words = command_of(page.content.decode())
    assert set(flags) <= set(words)
    suite = client.get(reverse("suite-download", args=[revision.suite.slug, revision.number, "json"]))
    assert f'filename="{words[0]}"' in suite["Content-Disposition"]
    (tmp_path / words[0]).write_bytes(suite.content)
    monkeypatch.chdir(tmp_path)
    ScoreCache.objects.all().delete()  # as on another machine
    out = io.StringIO()
    call_command("evaluate", *words, "--format", "json", stdout=out)
    here = json.loads(out.getvalue())
    told = json.loads(client.get(reverse("run-download", args=[run.key, "json"])).content)
    assert (here["policy"], here["suite"]["sha256"]) == (told["policy"], told["suite"]["sha256"])
    assert len(here["predictions"]) == 2
    for shown, row, other in zip(
        page.context["results"], here["predictions"], told["predictions"], strict=True
    ):
        result = shown.result
        assert (row["passed"], row["n"], row["ties"]) == (
            result.passed,
            result.n,
            result.ties,
        )
        assert [row["low"], row["high"]] == pytest.approx([result.low, result.high])
        assert row["chance"] == result.chance
        assert row["mean_margin"] == pytest.approx(result.mean_margin, abs=1e-3)
        assert row["outcomes"] == other["outcomes"]
    assert bits_of(here) == pytest.approx(bits_of(told), abs=1e-3)


def bits_of(data):
    """Return every number below an item, by its place."""
    found = {}
    for item in data["items"]:
        for condition in item["conditions"]:
            place = f"{item['item']} {condition['condition']}"
            found[f"{place} total"] = condition["surprisal"]
            found[f"{place} special"] = condition["special_surprisal"]
            for region in condition["regions"]:
                found[f"{place} {region['region_number']}"] = region["surprisal"]
    return found
