"""The methods paragraph: what was run, how it was scored, and what it cites."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date

from lmgym.runs.methods import References, methods
from lmgym.runs.paper import SuiteRates, predictions_table, regions_table, suites_table
from lmgym.runs.rules import ALL, EACH
from lmgym.runs.studied import Studied
from lmgym.text.bibtex import Entry, entry_in

GPT = Studied(
    suite="Agreement_1",
    revision=2,
    sha256="ab" * 32,
    model="GPT-2",
    n_items=24,
    n_conditions=4,
    policy={"bos": "auto", "eos": False, "join": "space", "metric": "sum", "whitespace": "none"},
    provenance={"model_revision": "60" * 20, "bos": "<|endoftext|>", "score_kind": "surprisal"},
    completed=date(2026, 11, 29),
)
OPT = replace(GPT, model="OPT", provenance={"model_fingerprint": "f" * 64, "bos": "</s>"})
REFERENCES = References(
    {"Agreement_1 r2": [Entry("agreement-r2", "@misc{agreement-r2}\n")]},
    {"GPT-2": [Entry("radford", "@misc{radford}\n")], "OPT": []},
)


def test_two_sentences_name_revision_digest_commit_settings_rule_and_statistics() -> None:
    text = methods([GPT], REFERENCES, EACH).markdown()
    assert text.startswith(
        "We evaluated GPT-2 (commit 606060606060) [@radford] on the test suite Agreement\\_1 (revision 2, sha256 "
        "abababababab, 24 items in 4 conditions) [@agreement-r2] with LM Gym "
    )
    for words in ("after the start token `<|endoftext|>`", "joined by spaces", "is the sum over its tokens",
                  "“each prediction”", "95% Wilson intervals", "Holm-corrected"):  # fmt: skip
        assert words in text
    assert len(re.findall(r"[.](?= [A-Z]|\n)", text)) == 2


def test_latex_cites_what_the_bibliography_has() -> None:
    written = methods([GPT, OPT], REFERENCES, ALL)
    cited = {key for keys in re.findall(r"\\cite\{([^}]*)\}", written.latex()) for key in keys.split(",")}
    entries = set(re.findall(r"^@\w+\{([^,}]+)", written.bibtex(), re.MULTILINE))
    assert cited == entries == {"radford", "agreement-r2", "lm-gym"}
    assert r"Agreement\_1" in written.latex()


def test_settings_that_differ_name_their_models() -> None:
    text = methods([GPT, OPT], REFERENCES, EACH).markdown()
    assert "`<|endoftext|>` (GPT-2) and after the start token `</s>` (OPT)" in text
    assert text.count("joined by spaces") == 1
    ended = replace(
        OPT, policy=OPT.policy | {"eos": True}, provenance=OPT.provenance | {"end_token_scored": True}
    )
    text = methods([GPT, ended], REFERENCES, EACH).markdown()
    assert "with no further settings (GPT-2) and the end token scored (OPT)" in text


def test_what_an_upload_does_not_say_is_not_claimed() -> None:
    uploaded = replace(GPT, is_uploaded=True, policy={}, provenance={})
    text = methods([uploaded], REFERENCES, EACH).markdown()
    assert "GPT-2 (results computed elsewhere)" in text
    assert "How the sentences were scored is not recorded" in text
    assert "start token" not in text
    text = methods([OPT, uploaded], REFERENCES, EACH).markdown()
    assert "how GPT-2 scored the sentences is not recorded" in text


def test_masked_models_have_pseudo_log_likelihoods() -> None:
    masked = replace(GPT, provenance=GPT.provenance | {"score_kind": "pseudo-log-likelihood"})
    text = methods([masked], REFERENCES, EACH).markdown()
    assert "Pseudo-log-likelihoods in bits were computed with the tokens on both sides as context" in text


def test_an_authors_entry_is_cited_by_its_key_if_it_cannot_break_the_file() -> None:
    entry = entry_in(" @article{hu-2020,\n title = {A {B}}, note = {\\}} }\n")
    assert entry is not None
    assert entry.key == "hu-2020"
    for broken in (
        "",
        "Hu (2020)",
        "@misc{a, title = {x}",
        "@misc{a, t = {x}}}",
        "@misc{a,} @misc{b,}",
        "@misc{a b,}",
    ):
        assert entry_in(broken) is None


class Rate:
    n, rate, low, high, chance = 24, 0.125, 0.0434, 0.31, 0.25
    prediction, formula = "first", "1 = 1"


def test_tables_name_rule_revision_model_and_date() -> None:
    table = suites_table([SuiteRates("Agreement_1 r2", [Rate(), None])], ["GPT-2", "OPT"], ALL, [GPT, OPT])
    assert table.columns == ("Suite", "n", "GPT-2", "OPT", "Chance")
    for words in ("Scoring rule: all predictions", "Agreement_1 r2 (sha256 abababababab)",
                  "GPT-2 (commit 606060606060); OPT (fingerprint ffffffffffff)", "Date: 2026-11-29."):  # fmt: skip
        assert words in table.notes
    assert table.csv().splitlines()[1] == "Agreement_1 r2,24,12.5,4.3,31.0,,25.0"


def test_predictions_of_several_suites_are_matched_across_models() -> None:
    table = predictions_table([(GPT, [Rate()]), (OPT, [Rate()]), (replace(GPT, suite="Other"), [Rate()])])
    assert table.columns[:3] == ("Suite", "Prediction", "n")
    assert [row[:2] for row in table.rows] == [("Agreement_1", "first"), ("Other", "first")]
    assert table.rows[1][4] is None


def test_regions_without_a_value_are_empty_and_counts_that_vary_are_ranges() -> None:
    cells = [
        {"n": 24, "mean": 3.14159, "low": 3.0, "high": 3.3},
        {"n": 20, "mean": 0.5, "low": None, "high": None},
        {"n": 0, "mean": None, "low": None, "high": None},
    ]
    table = regions_table([(GPT, [{"condition": "match", "regions": cells}])], ["Subject", "Verb", "Rest"])
    assert table.columns == ("Condition", "n", "1 Subject", "2 Verb", "3 Rest")
    assert table.csv().splitlines()[1] == "match,20–24,3.14,3.00,3.30,0.50,"
    assert "is the sum over its tokens" in table.notes
