"""The guide's mixed-logit script reads columns that the exported outcomes have, with the types R gives them."""

from __future__ import annotations

import re

from django.conf import settings

from gym.runs.tables.registry import CONTEXT, FRAMES


def test_the_script_uses_columns_of_the_table_of_outcomes():
    text = (settings.BASE_DIR / "docs" / "export.md").read_text(encoding="utf-8")
    section = text.split("### Mixed logit model of models and items")[1]
    script = section.split("```r\n")[1].split("```")[0]
    used = set(re.findall(r"outcomes\$(\w+)", script)) | {"prediction_number", "suite"}
    columns = {name for name, _ in (*CONTEXT, *FRAMES["outcomes"].columns)}
    assert used <= columns
    assert {"passed", "model", "item"} <= used
    assert "as.logical(outcomes$passed)" in script  # CSV has True and False, which R reads as text
