"""BACKENDS, load_backend, probe and the uniform baseline."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from lmgym.models.backends import BACKENDS, BackendError, ModelFacts, check_config, load_backend, probe
from lmgym.models.backends.base import Backend
from lmgym.models.engine import ScoringFailure, ScoringPolicy, TokenScores
from lmgym.suites.regions import align, join, region_values

COMMIT = "0" * 40


def uniform(**config: Any) -> Backend:
    return load_backend("uniform", config, model_dir=Path("nowhere"), hub_allowed=False)


def only(backend: Backend, text: str, policy: ScoringPolicy | None = None) -> TokenScores:
    (result,) = backend.score([text], policy or ScoringPolicy())
    assert isinstance(result, TokenScores)
    return result


def loaded_modules(code: str) -> set[str]:
    """Return the heavy modules that a fresh interpreter has imported after running `code`."""
    names = "('django', 'torch', 'transformers', 'jsonschema')"
    tail = f"import sys; print(' '.join(m for m in {names} if m in sys.modules))"
    return set(subprocess.check_output([sys.executable, "-c", f"{code}\n{tail}"], text=True).split())


def test_importing_the_package_brings_nothing_heavy() -> None:
    assert loaded_modules("import lmgym.models.backends") == set()


def test_importing_the_causal_module_or_loading_a_baseline_brings_no_torch() -> None:
    code = (
        "import lmgym.models.backends.causal, lmgym.models.backends.hub\n"
        "from pathlib import Path\nfrom lmgym.models.backends import load_backend, probe\n"
        "probe(load_backend('uniform', {'vocabulary_size': 8}, model_dir=Path('x'), hub_allowed=False))"
    )
    assert loaded_modules(code) == {"jsonschema"}


def test_specs() -> None:
    assert {kind: spec.needs_torch for kind, spec in BACKENDS.items()} == {
        "causal": True,
        "masked": True,
        "ngram": False,
        "uniform": False,
        "openai": False,
        "lmzoo": False,
    }
    for kind, spec in BACKENDS.items():
        assert spec.kind == kind
        assert spec.label
        assert spec.help
        Draft202012Validator.check_schema(spec.schema)
        json.dumps(spec.schema)


@pytest.mark.parametrize(
    ("kind", "config"),
    [
        ("causal", {"source": "hub", "repo": "org/name"}),
        ("causal", {"source": "hub", "repo": "org/na.me-1", "revision": COMMIT, "dtype": "bfloat16"}),
        ("causal", {"source": "directory", "path": "group/model-1.0", "device": "cuda:0"}),
        ("causal", {"source": "directory", "path": "large", "device": "cuda:all"}),
        ("masked", {"source": "directory", "path": "bert", "method": "original"}),
        ("uniform", {"vocabulary_size": 2, "unit": "character"}),
        ("ngram", {"path": "demo.ngram"}),
    ],
)
def test_good_configurations(kind: str, config: dict[str, Any]) -> None:
    assert check_config(kind, config) is BACKENDS[kind]


@pytest.mark.parametrize(
    ("kind", "config", "message"),
    [
        ("magic", {}, "Unknown backend 'magic'"),
        ("causal", {}, "'source' is a required property"),
        ("causal", {"source": "ftp"}, "source"),
        ("causal", {"source": "hub"}, "'repo' is a required property"),
        ("causal", {"source": "hub", "repo": "gpt 2"}, "repo"),
        ("causal", {"source": "hub", "repo": "../etc/passwd"}, "repo"),
        ("causal", {"source": "hub", "repo": "org/name/more"}, "repo"),
        ("causal", {"source": "hub", "repo": "org/name", "revision": "../x"}, "revision"),
        ("causal", {"source": "hub", "repo": "org/name", "trust_remote_code": True}, "trust_remote_code"),
        ("causal", {"source": "directory", "path": "/etc"}, "path"),
        ("causal", {"source": "directory", "path": "m", "dtype": "int4"}, "dtype"),
        ("causal", {"source": "directory", "path": "m", "device": "tpu"}, "device"),
        ("causal", {"source": ["hub"], "repo": "org/name"}, "source"),
        ("causal", [], "not of type 'object'"),
        ("uniform", {}, "'vocabulary_size' is a required property"),
        ("uniform", {"vocabulary_size": 1}, "less than the minimum of 2"),
        ("uniform", {"vocabulary_size": 2.5}, "not of type 'integer'"),
        ("uniform", {"vocabulary_size": 5, "unit": "line"}, "unit"),
    ],
)
def test_bad_configurations(kind: str, config: Any, message: str) -> None:
    with pytest.raises(BackendError, match=message):
        load_backend(kind, config, model_dir=Path("nowhere"), hub_allowed=True)


def test_the_hub_must_be_allowed(tmp_path: Path) -> None:
    with pytest.raises(BackendError, match="does not download models") as caught:
        load_backend("causal", {"source": "hub", "repo": "org/name"}, model_dir=tmp_path, hub_allowed=False)
    assert "model directory" in caught.value.hint


def test_an_invalid_device_is_explained_in_words() -> None:
    with pytest.raises(BackendError) as caught:
        check_config("causal", {"source": "directory", "path": "m", "device": "quark"})
    assert "device: 'quark' is not allowed. Device: auto, cpu, cuda" in str(caught.value)


def test_an_error_carries_message_and_hint() -> None:
    error = BackendError("It is broken.", "Mend it.")
    assert (error.message, error.hint, str(error)) == ("It is broken.", "Mend it.", "It is broken. Mend it.")


def test_facts_round_trip() -> None:
    facts = uniform(vocabulary_size=1000).facts
    assert ModelFacts.from_dict(json.loads(json.dumps(facts.to_dict()))) == facts
    assert ModelFacts.from_dict({**facts.to_dict(), "later_field": 1}) == facts


class TestUniform:
    def test_every_word_costs_the_same(self) -> None:
        score = only(uniform(vocabulary_size=1024), "The keys, e\u0301ven don't-know 🙂!")
        assert score.tokens == ["The", "keys", ",", "e\u0301ven", "don't-know", "🙂", "!"]
        assert score.bits == [10.0] * 7
        assert not any(score.special)

    def test_scripts_keep_their_marks(self) -> None:
        assert only(uniform(vocabulary_size=2), "नमस्ते दुनिया。 «Ελλάδα»").tokens == [
            "नमस्ते", "दुनिया", "。", "«", "Ελλάδα", "»",
        ]  # fmt: skip

    def test_characters(self) -> None:
        score = only(uniform(vocabulary_size=2, unit="character"), "a b")
        assert (score.tokens, score.offsets, score.bits) == (["a", "b"], [(0, 1), (2, 3)], [1.0, 1.0])

    @pytest.mark.parametrize("bos", ["auto", "always", "never"])
    def test_no_policy_changes_a_number(self, bos: str) -> None:
        backend = uniform(vocabulary_size=7)
        assert only(backend, "a b", ScoringPolicy(bos=bos, eos=True)) == only(backend, "a b")

    def test_fingerprints_differ_by_configuration(self) -> None:
        configs: list[dict[str, Any]] = [
            {"vocabulary_size": 7},
            {"vocabulary_size": 8},
            {"vocabulary_size": 7, "unit": "character"},
        ]
        assert len({uniform(**config).facts.fingerprint for config in configs}) == 3

    @given(st.text(), st.sampled_from(["word", "character"]))
    def test_any_text_is_covered(self, text: str, unit: str) -> None:
        score = only(uniform(vocabulary_size=16, unit=unit), text)
        assert [text[start:end] for start, end in score.offsets] == score.tokens
        covered = {at for start, end in score.offsets for at in range(start, end)}
        assert all(at in covered for at, character in enumerate(text) if not character.isspace())
        assert all(not token.isspace() and token for token in score.tokens)

    def test_regions(self) -> None:
        joined = join(["", "The keys", "are", ""])
        score = only(uniform(vocabulary_size=4), joined.text)
        values = region_values(align(joined, score.offsets, score.special), score.bits, 4)
        assert values.values.tolist() == [0.0, 4.0, 2.0, 0.0]


class Spoiled:
    """A uniform model that returns faulty scores."""

    def __init__(self, spoil: Callable[[str, int, TokenScores], TokenScores | ScoringFailure]) -> None:
        self.inner = uniform(vocabulary_size=16)
        self.facts = replace(self.inner.facts, dtype="float32")
        self.spoil = spoil

    def score(self, texts: Sequence[str], policy: ScoringPolicy) -> list[TokenScores | ScoringFailure]:
        return [self.spoil(text, len(texts), only(self.inner, text)) for text in texts]


def bits_of(change: Callable[[str, int], float]) -> Callable[[str, int, TokenScores], TokenScores]:
    return lambda text, count, score: replace(score, bits=[change(text, count)] * len(score))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda text, count, score: ScoringFailure("too warm"), "too warm"),
        (bits_of(lambda text, count: math.nan), "not a valid number of bits"),
        (bits_of(lambda text, count: math.inf), "not a valid number of bits"),
        (bits_of(lambda text, count: -1.0), "not a valid number of bits"),
        (bits_of(lambda text, count: 4.0 + 0.01 * count), "differ by up to 0.0400 bits"),
        (bits_of(lambda text, count: float(len(text))), "not a left-to-right model"),
        (lambda text, count, score: replace(score, offsets=[(0, 999)] * len(score)), "0 to 999"),
        (lambda text, count, score: replace(score, offsets=[(0, 0)] * len(score)), "drops characters"),
    ],
)
def test_probe_finds_what_is_wrong(spoil: Any, message: str) -> None:
    with pytest.raises(BackendError, match=message):
        probe(Spoiled(spoil))


def test_probe_of_a_baseline() -> None:
    seen = probe(uniform(vocabulary_size=16))
    assert (seen["batch_difference"], seen["first_token_scored"], seen["parameters"]) == (0.0, True, 0)
    assert seen["sample"]["bits"] == [4.0] * 10
    json.dumps(seen)
