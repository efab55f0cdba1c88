"""Names and locations from sets have the order of PYTHONHASHSEED=0, whatever the seed of this process."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys

import pytest

from lmgym.propara import evaluate
from lmgym.propara.cpython_set_order import difference_order, set_order
from tests.lmgym.propara.worlds import tsv

_ASK = """
import json, sys
print(json.dumps([[list(set(x)), list(set(x) - set(y))] for x, y in json.load(sys.stdin)]))
"""


def asked(cases: list[tuple[list[str], list[str]]]) -> list[list[list[str]]]:
    """Return the results of a Python process with PYTHONHASHSEED=0."""
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    done = subprocess.run(
        [sys.executable, "-c", _ASK],
        env=environment,
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def made_up(rng: random.Random) -> tuple[list[str], list[str]]:
    """Generate texts of narrow and wide characters, with duplicates, and texts to subtract, some of which are
    among the first.
    """
    letters = rng.choice(["abc ", "aé\xff", "水sea", "😀x水é"])
    texts = [
        "".join(rng.choices(letters, k=rng.randint(0, 20)))
        for _ in range(rng.choice([1, 2, 2, 3, 5, 8, 20, 80]))
    ]
    others = [text for text in texts if rng.random() < 0.2]
    return rng.choices(texts, k=len(texts)) + texts[:3], [
        *others,
        *rng.choices(["sea", "water", ""], k=rng.randint(0, 3)),
    ]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="older Pythons hash otherwise")
def test_the_order_is_that_of_a_python_with_hash_seed_0():
    rng = random.Random(11)
    cases = [made_up(rng) for _ in range(3_000)]
    for (texts, others), (whole, difference) in zip(cases, asked(cases), strict=True):
        assert set_order(texts) == whole
        assert difference_order(texts, others) == difference


def swapped(text: str) -> str:
    first, second, *rest = text.splitlines(keepends=True)
    return "".join([second, first, *rest])


SAME_PLACE_TWICE = tsv("7 1 c1 CREATE - sun", "7 1 c2 CREATE - the~sun", "7 1 a DESTROY sea -")


def test_participants_in_another_order_are_scored_as_the_reference_scores_them():
    """Both sets of locations are equal, so the reference short-circuits to 1."""
    assert evaluate(SAME_PLACE_TWICE, swapped(SAME_PLACE_TWICE)).f1 == 1.0


def test_a_score_that_the_order_of_names_decides_has_a_warning():
    """The reference joins participants in the order of the file, whatever the seed."""
    answers = tsv("7 1 a;b DESTROY sea -", "7 1 b;c DESTROY sea -", "7 1 d CREATE - sea")
    report = evaluate(answers, swapped(answers))
    assert "order-decides" in {flag.code for flag in report.warnings}
    assert "order-decides" not in {flag.code for flag in evaluate(answers, answers).warnings}
    assert report.corrected.f1 == 1.0
