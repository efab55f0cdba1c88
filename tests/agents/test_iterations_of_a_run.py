"""A run can make more or fewer iterations than its cases specify, at the same required rate."""

from __future__ import annotations

import json

import pytest
from django.core.exceptions import ValidationError

from gym.agents import services
from gym.agents.models import AgentRun
from gym.jobs.testing import run_pending
from lmgym.agents import cli
from lmgym.agents.case_reader import read_case
from lmgym.agents.cases import repeated
from tests.agents.site import FLAKY, make_run, make_server, make_suite


@pytest.mark.parametrize(
    ("ratio", "iterations", "text"),
    [("2/3", 30, "20/30"), ("2/3", 10, "7/10"), ("3/3", 10, "10/10"), ("1/10", 1, "1/1"),
     ("0/2", 8, "0/8"), ("2/3", None, "2/3")],
)  # fmt: skip
def test_the_required_rate_stays_and_is_rounded_up(ratio, iterations, text):
    case = read_case(f'agent: a, success_ratio: "{ratio}", interactions: [{{text: q}}]')
    assert repeated(case, iterations).ratio.text == text


def test_the_command_makes_as_many(tmp_path, capsys):
    (tmp_path / "flaky.hocon").write_text(FLAKY)
    assert (
        cli.main(
            ["agenttest", str(tmp_path), "--server", "embedded", "--iterations", "6", "--format", "json"]
        )
        == 0
    )
    (row,) = json.loads(capsys.readouterr().out)["results"]
    assert (len(row["iterations"]), row["needed"], row["success_ratio"]) == (6, 3, "3/6")
    with pytest.raises(SystemExit):
        cli.main(["agenttest", str(tmp_path), "--server", "embedded", "--iterations", "0"])
    assert "from 1 to 1,000" in capsys.readouterr().err


@pytest.mark.django_db
class TestOnTheSite:
    def test_the_page_makes_as_many_and_says_so(self, people, client):
        suite, server = make_suite(people.alice, cases={"flaky": FLAKY}), make_server(people.alice)
        client.force_login(people.alice)
        client.post(f"/agents/{suite.slug}/run/", {"server": [server.pk], "iterations": "6", "parallel": "1"})
        run_pending()
        run = AgentRun.objects.get()
        (row,) = run.case_runs.all()
        assert (row.planned, row.needed, row.iterations.count(), run.job.total) == (6, 3, 6, 6)
        assert "6 iterations of each case" in client.get(run.get_absolute_url()).content.decode()

    def test_the_api_makes_as_many(self, people, client):
        suite, server = make_suite(people.alice, cases={"flaky": FLAKY}), make_server(people.alice)
        client.force_login(people.alice)
        body = {"suite": suite.slug, "server": server.model.slug, "iterations": 2}
        answer = client.post("/api/v1/agent-runs/", body, content_type="application/json")
        assert answer.status_code == 201
        assert [row["planned"] for row in answer.json()["cases"]] == [2]

    def test_scoring_again_keeps_the_number(self, people):
        run = make_run(
            make_suite(people.alice, cases={"flaky": FLAKY}), make_server(people.alice), iterations=6
        )
        again = services.queue_rescoring(run, actor=people.alice)
        run_pending()
        assert [row.result().n for row in again.case_runs.all()] == [6]

    @pytest.mark.parametrize("number", [0, 1001])
    def test_other_numbers_are_refused(self, people, number):
        with pytest.raises(ValidationError, match="between 1 and 1,000"):
            services.queue_run(
                make_suite(people.alice), make_server(people.alice), actor=people.alice, iterations=number
            )
