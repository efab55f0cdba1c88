"""Training on a small scale: the command writes all files, and reproduces them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gym.demo import corpus, gpt2, train
from gym.demo.catalogue import DATA_DIR
from lmgym.models.backends import load_backend
from lmgym.models.engine.policy import ScoringPolicy

SMALL = gpt2.Recipe(
    vocabulary=300, width=16, layers=1, heads=2, epochs=0.3, batch=16, packed=0.2, packed_length=64
)


@pytest.fixture
def little(monkeypatch: pytest.MonkeyPatch) -> None:
    small = corpus.generate(400)
    monkeypatch.setattr(corpus, "generate", lambda n=0, seed=0: small)
    monkeypatch.setattr(gpt2, "Recipe", lambda: SMALL)
    monkeypatch.setattr(train, "say", lambda text: None)


def test_everything_is_made_and_made_again(little: None, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="the transformer needs torch")
    manifests = []
    for name in ("a", "b"):
        train.make(tmp_path / name, train.PARTS)
        manifests.append(json.loads((tmp_path / name / "manifest.json").read_text(encoding="utf-8")))
    assert manifests[0] == manifests[1]
    shipped = json.loads((DATA_DIR / "manifest.json").read_text(encoding="utf-8"))
    assert set(manifests[0]["files"]) == {name for name in shipped["files"] if not name.startswith("suites/")}
    assert manifests[0]["gpt2"]["recipe"]["width"] == 16
    model = load_backend(
        "causal",
        {"source": "directory", "path": "demo-gpt2"},
        model_dir=tmp_path / "a" / "models",
        hub_allowed=False,
    )
    assert model.facts.context_length == 512
    assert len(model.score(["The king laughs.", "Ünicode"], ScoringPolicy())) == 2


def test_parts(little: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train.make(tmp_path, ["ngram"])
    assert not (tmp_path / "models" / "demo-gpt2" / "config.json").exists()
    assert (tmp_path / "models" / "demo-ngram" / "model.ngram").is_file()
    with pytest.raises(SystemExit):
        train.main(["--only", "ngram,nonsense"])
    assert "unknown part nonsense" in capsys.readouterr().err


def test_batches_train_every_position() -> None:
    """Some batches start at a random position and some are rows of many sentences; all others start at 0."""
    rows = [[0, *range(1, 5 + k % 7), 0] for k in range(300)]
    recipe = gpt2.Recipe(batch=8, packed=0.1, shifted=0.3)
    seen: set[int] = set()
    starts = []
    stream = gpt2.batches(rows, recipe, 0)
    for _ in range(400):
        batch, first = next(stream)
        assert len({len(row) for row in batch}) == 1
        assert first + len(batch[0]) <= recipe.positions
        assert all(row[0] == 0 for row in batch)
        seen |= set(range(first, first + len(batch[0])))
        starts.append(first)
    assert seen == set(range(recipe.positions))
    assert 0.6 < starts.count(0) / len(starts) < 0.85


def test_one_pass_uses_every_sentence_once() -> None:
    rows = [[0, k, *range(k % 3), 0] for k in range(100)]
    recipe = gpt2.Recipe(batch=8, packed=0.0, epochs=1.0)
    stream = gpt2.batches(rows, recipe, 0)
    batches = [next(stream)[0] for _ in range(gpt2.steps_of(rows, recipe))]
    assert sorted(row[1] for batch in batches for row in batch) == list(range(100))
