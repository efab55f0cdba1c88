"""The linter finds the mistakes in the published suites, and almost nothing else.

The suites are not part of this repository. GYM_CONFORMANCE_DIR names their folder, by default
../shared/conformance next to the repository.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lmgym.suites.formats import read_json
from lmgym.suites.lint import Finding, lint
from tests.lmgym.conftest import ROOT

SUITES = Path(os.environ.get("GYM_CONFORMANCE_DIR", ROOT / "../shared/conformance")) / "suites"

pytestmark = pytest.mark.skipif(
    not SUITES.is_dir(), reason="published suites are absent: set GYM_CONFORMANCE_DIR"
)

# All findings except remarks.
SLIPS = {
    "fgd_hierarchy": [("swapped-conditions", "error", "item 12")],
    "mvrr": [
        ("identical-sentences", "error", "item 5"),
        ("odd-empty-region", "warning", "item 27, region 6 (End)"),
        ("odd-equality-pattern", "warning", "item 16, region 2 (Noun)"),
        ("odd-equality-pattern", "warning", "item 24, region 4 (RC contents)"),
    ],
}
REMARKS = {
    "fgd-embed3": ["trailing-space"],
    "fgd_hierarchy": ["unused-condition"],
    "fgd_object": ["odd-equality-pattern"],
    "mvrr": ["a-or-an", "odd-word"],
    "nn-nv-rpl": ["few-items"],
    "npz_ambig": ["straddle-risk", "leading-space"],
    "npz_obj_mod": ["straddle-risk", "leading-space"],
    "number_prep": ["odd-equality-pattern"],
    "number_src": ["odd-equality-pattern"],
    "reflexive_orc_fem": ["odd-equality-pattern"],
    "reflexive_src_masc": ["odd-equality-pattern"],
    "subordination": ["pre-tokenised", "straddle-risk"],
    "subordination_pp-pp": [
        "pre-tokenised",
        "pre-tokenised",
        "pre-tokenised",
        "straddle-risk",
        "trailing-space",
    ],
}


def findings(name: str) -> list[Finding]:
    return lint(read_json((SUITES / f"{name}.json").read_bytes()))


@pytest.mark.parametrize("name", sorted(path.stem for path in SUITES.glob("*.json")) or ["none"])
def test_slips_are_found_and_false_alarms_are_not_raised(name):
    given = findings(name)
    assert [(f.code, f.severity, f.where) for f in given if f.severity != "info"] == SLIPS.get(name, [])
    assert [f.code for f in given if f.severity == "info"] == REMARKS.get(name, [])


def test_the_swap_names_both_conditions():
    swap = findings("fgd_hierarchy")[0]
    assert "that_nogap and that_subjgap" in swap.message
    assert "region 5 (subject_gap)" in swap.message


def test_the_tie_says_that_no_model_can_pass():
    tie = findings("mvrr")[0]
    assert "reduced_ambig and reduced_unambig are the same sentence" in tie.message
    assert "unreduced_ambig and unreduced_unambig" in tie.message
    assert "prediction 1 compares them and cannot hold" in tie.message


def test_slips_of_wording_are_quoted():
    messages = {f.code: f.message for f in findings("mvrr") if f.severity == "info"}
    assert "“a impressionist” in reduced_ambig" in messages["a-or-an"]
    assert "“that was pledged” in unreduced_ambig but “who was committed”" in messages["odd-word"]
    cut = {f.where: f.message for f in findings("subordination_pp-pp") if f.code == "pre-tokenised"}
    assert "“teacher 's” in 4 of 92" in cut["region 2 (subj_modifier)"]
    assert "“room .” in 46 of 92" in cut["region 5 (Main clause)"]


def test_the_deviations_quote_both_texts():
    messages = {f.where: f.message for f in findings("mvrr")}
    assert "“to the sea” in reduced_ambig but “in the sea”" in messages["item 24, region 4 (RC contents)"]
    assert "“men” in reduced_ambig, unreduced_ambig but “man”" in messages["item 16, region 2 (Noun)"]
    assert "empty in unreduced_ambig" in messages["item 27, region 6 (End)"]
    assert "“will get” in what_gap, that_gap" in findings("fgd_object")[0].message
