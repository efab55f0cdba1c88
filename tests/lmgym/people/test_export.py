"""The table of observations, and lme4 on it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

import numpy as np
import pytest

from lmgym.people.against import against
from lmgym.people.fit_data import Options
from tests.lmgym.people.worlds import averaged, read, run, suite

MODELS = ("own", 'odd "name"')


@pytest.fixture(scope="module")
def compared():
    return comparison()


def comparison(*, means: bool = False, slopes: bool = False):
    document = suite(10)
    result = run(document)
    people = read(document, result, 8).take(slice(None, -9))  # unequal numbers of participants by word
    models = dict(zip(MODELS, (result.sentences, run(document, 9).sentences), strict=True))
    return against(averaged(people) if means else people, document, models, Options(folds=2, slopes=slopes))


def test_the_table_has_every_observation_of_the_fits_once_per_model(compared):
    table = compared.table()
    assert len(table) == sum(row.n for row in compared.fit_rows)
    row = table.iloc[0]
    assert (row["model"], row["participant"], row["item"], row["condition"], row["word_number"]) == (
        "own",
        "p0",
        1,
        "a",
        2,
    )
    assert row["surprisal_1"] > 0
    assert np.isnan(row["surprisal_2"])  # not a predictor of the fit, and the first word has none two before
    assert row["log_time"] == pytest.approx(np.log(row["time"]))


@pytest.mark.foreign
@pytest.mark.parametrize("kind", [{}, {"means": True}, {"slopes": True}], ids=str)
def test_lme4_gives_the_same_figures(kind, tmp_path):
    """Reached with lme4 1.1-31: 6e-6 of estimates and standard errors, 5e-7 nats."""
    compared = comparison(**kind)
    if not shutil.which("Rscript"):
        pytest.skip("R is not installed (Debian: apt-get install r-cran-lme4)")
    compared.table().to_csv(tmp_path / "observations.csv", index=False)
    script = tmp_path / "fits.R"
    script.write_text(compared.r_call)
    done = subprocess.run(
        ["Rscript", script.name],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "LC_ALL": "C"},
    )
    if "there is no package called" in done.stderr:
        pytest.skip("lme4 is not installed (Debian: apt-get install r-cran-lme4)")
    assert done.returncode == 0, done.stderr
    printed = re.findall(
        r"^(\(?\w+\)?) +(-?[\d.e+-]+) +(-?[\d.e+-]+) +-?[\d.e+-]+$", done.stdout, re.MULTILINE
    )
    ours = [(row.term, row.estimate, row.standard_error) for row in compared.coefficient_rows]
    assert [term for term, *_ in printed] == [term for term, *_ in ours]
    for (_, estimate, error), (_, our_estimate, our_error) in zip(printed, ours, strict=True):
        assert our_estimate == pytest.approx(float(estimate), rel=1e-4)
        assert our_error == pytest.approx(float(error), rel=1e-4)
    likelihoods = [float(value) for value in re.findall(r"log Lik\.' (-?[\d.]+)", done.stdout)]
    assert [row.log_likelihood for row in compared.fit_rows] == pytest.approx(likelihoods, abs=1e-4)
