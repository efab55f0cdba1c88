"""Both passes on a real, if tiny, model: everything that one pass gives is there afterwards."""

from __future__ import annotations

import pytest

from gym.evaluations import report, services
from gym.evaluations.models import ScoreCache
from gym.jobs.testing import run_pending
from models_registry.engine import ScoringPolicy
from suites.selectors import document_of
from tests.factories import checked, make_model, make_revision
from tests.models_registry.conftest import tiny_models  # noqa: F401


@pytest.mark.parametrize("policy", [ScoringPolicy(eos=True), ScoringPolicy(whitespace="trailing")], ids=str)
def test_two_passes_give_what_one_gives(people, settings, tiny_models, policy):  # noqa: F811
    settings.GYM_MODEL_DIR = tiny_models
    config = {"source": "directory", "path": "byte-bpe", "device": "cpu"}
    model = make_model(people.alice, slug="tiny", backend="causal", config=config)
    checked(model)
    revision = make_revision(people.alice, items=5)
    runs = []
    for sentences in (0, 3):
        settings.GYM_CHUNK_SENTENCES = sentences
        runs.append(services.queue_run(revision, model, policy, actor=people.alice))
        run_pending()
        ScoreCache.objects.all().delete()
    whole, twice = (report.result_of(run) for run in runs)
    assert runs[1].chunks.count() > 1
    assert document_of(revision).region_names
    for a, b in zip(whole.sentences, twice.sentences, strict=True):
        assert (b.pending, a.text) == ([], b.text)
        assert b.regions == pytest.approx(a.regions, abs=1e-3)
        assert b.total == pytest.approx(a.total, abs=1e-3)
        assert [token[4] is None for token in a.tokens] == [token[4] is None for token in b.tokens]
        if policy.whitespace == "trailing":
            assert a.corrected is not None
            assert None not in a.corrected
            assert b.corrected == pytest.approx(a.corrected, abs=1e-3)
    assert [row.outcomes for row in whole.predictions] == [row.outcomes for row in twice.predictions]
