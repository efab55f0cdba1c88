"""A long run shows its pass rates at once; its plots fill in by themselves when every region is scored."""

from __future__ import annotations

import pytest

from gym.evaluations import services
from gym.jobs import runner, states
from gym.jobs.testing import run_pending
from tests.evaluations.open_backend import install
from tests.factories import make_model, make_revision


@pytest.fixture
def run(live_server, people, monkeypatch, settings):
    """A run of several chunks whose first pass is done."""
    settings.GYM_CHUNK_SENTENCES = 4
    install(monkeypatch)
    run = services.queue_run(
        make_revision(people.alice, items=5), make_model(people.alice), actor=people.alice
    )
    runner.run(states.claim_next("default", "test"), heartbeat=False)
    run.refresh_from_db()
    assert run.is_done
    assert run.filling
    return run


def test_pass_rates_come_first_and_plots_follow_by_themselves(live_server, chromium, run):
    context = chromium.new_context(base_url=live_server.url)
    page = context.new_page()
    complaints = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    try:
        page.goto(run.get_absolute_url())
        assert page.get_by_text("of 5 items held").is_visible()
        assert page.locator(".margin-strip").is_visible()
        assert page.get_by_text("Plots follow.").is_visible()
        assert page.get_by_text("Chart and table follow").is_visible()
        assert page.locator("#means").count() == 0
        run_pending()
        page.locator("#means").wait_for(timeout=30_000)
        chart = page.locator("section[aria-labelledby=regions] svg.chart")
        assert chart.is_visible()
        assert page.get_by_text("Plots follow.").count() == 0
        with page.expect_download() as waited:
            page.get_by_role("link", name="mean surprisal by region as SVG").click()
        assert waited.value.path().read_bytes().startswith(b"<svg")
    finally:
        context.close()
    assert not complaints, complaints
