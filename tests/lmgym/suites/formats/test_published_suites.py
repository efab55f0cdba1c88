"""The published suites are read unchanged.

They are not part of this repository. GYM_CONFORMANCE_DIR names their folder, by default ../shared/conformance
next to the repository.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from lmgym.suites.formats import (
    read_json,
    read_long_csv,
    read_suite,
    write_json,
    write_long_csv,
    write_wide_tsv,
)
from lmgym.suites.intake import parse_upload
from tests.lmgym.conftest import ROOT

from .samples import notices

SUITES = Path(os.environ.get("GYM_CONFORMANCE_DIR", ROOT / "../shared/conformance")) / "suites"

pytestmark = pytest.mark.skipif(
    not SUITES.is_dir(), reason="published suites are absent: set GYM_CONFORMANCE_DIR"
)

# items, sentences, regions, predictions
SIZES = {
    "center_embed": (28, 56, 7, 1),
    "cleft": (40, 160, 6, 1),
    "cleft_modifier": (40, 160, 7, 1),
    "fgd-embed3": (21, 84, 7, 1),
    "fgd_hierarchy": (24, 144, 9, 2),
    "fgd_object": (24, 96, 8, 1),
    "mvrr": (28, 112, 6, 1),
    "nn-nv-rpl": (1, 4, 5, 2),
    "npi_orc_any": (38, 152, 9, 1),
    "npz_ambig": (24, 96, 6, 1),
    "npz_obj_mod": (24, 96, 7, 1),
    "number_prep": (19, 76, 7, 1),
    "number_src": (19, 76, 8, 1),
    "reflexive_orc_fem": (19, 76, 8, 1),
    "reflexive_src_masc": (19, 76, 8, 1),
    "subordination": (23, 92, 3, 1),
    "subordination_pp-pp": (23, 92, 5, 1),
}
BLANKS = {
    "npz_ambig": "256 regions with a leading space",
    "npz_obj_mod": "447 regions with a leading space",
    "fgd-embed3": "2 regions with a trailing space",
    "subordination_pp-pp": "8 regions with a trailing space",
    "number_prep": "item 1: the order of conditions differs from that of item 2",
    "number_src": "item 1: the order of conditions differs from that of item 2",
}


def data(name: str, kind: str = "json") -> bytes:
    return (SUITES / f"{name}.{kind}").read_bytes()


def test_nothing_is_left_out():
    assert {path.stem for path in SUITES.glob("*.json")} == set(SIZES)


@pytest.mark.parametrize("name", SIZES)
def test_a_suite_is_read_and_written_back(name):
    doc = read_json(data(name))
    assert doc.name == name
    assert (len(doc.items), len(doc.sentences), len(doc.region_names), len(doc.predictions)) == SIZES[name]
    assert len(doc.notices) == (1 if name in BLANKS else 0)
    assert BLANKS.get(name, "") in notices(doc)
    assert json.loads(write_json(doc)) == json.loads(data(name))
    assert read_json(write_json(doc).encode()) == doc
    assert read_json(write_json(doc, dialect="early").encode()) == doc
    for write in (write_long_csv, write_wide_tsv):
        back = read_suite(write(doc).encode())
        assert (back.sentences, back.region_names, back.conditions) == (
            doc.sentences,
            doc.region_names,
            doc.conditions,
        )
        assert parse_upload(write(doc).encode(), "table.csv").asks == ()


@pytest.mark.parametrize("name", ["cleft", "npz_ambig"])
def test_the_site_s_csv_has_the_same_contents(name):
    table, doc = read_long_csv(data(name, "csv"), name), read_json(data(name))
    assert replace(table, predictions=doc.predictions, meta=doc.meta) == doc
    assert write_long_csv(doc).replace("\r\n", "\n") == data(name, "csv").decode().replace("\r\n", "\n")
