"""Mixed models compared with statsmodels, and data that do not determine them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf

from lmgym.people import mixed_models
from lmgym.people.mixed_models import Grouping, NotFittable, fit


def experiment(n_participants: int = 12, n_items: int = 8, repeats: int = 4, seed: int = 1):
    """Crossed intercepts (sd 50 and 20), slopes 4 and 3, residual sd 40."""
    rng = np.random.default_rng(seed)
    participant = np.repeat(np.arange(n_participants), n_items * repeats)
    item = np.tile(np.repeat(np.arange(n_items), repeats), n_participants)
    bits, length = rng.gamma(2, 3, len(item)), rng.integers(2, 10, len(item)).astype(float)
    y = 350 + 4 * bits + 3 * length + rng.normal(0, 50, n_participants)[participant]
    y += rng.normal(0, 20, n_items)[item] + rng.normal(0, 40, len(item))
    x = np.column_stack([np.ones(len(y)), bits, length])
    return y, x, [Grouping(participant, n_participants), Grouping(item, n_items)]


@pytest.mark.parametrize("reml", [True, False])
def test_estimates_are_those_of_statsmodels(reml):
    y, x, groupings = experiment()
    names = {
        "y": y,
        "bits": x[:, 1],
        "length": x[:, 2],
        "p": groupings[0].levels,
        "i": groupings[1].levels,
        "all": 1,
    }
    components = {"p": "0 + C(p)", "i": "0 + C(i)"}
    model = smf.mixedlm("y ~ bits + length", pd.DataFrame(names), groups="all", vc_formula=components)
    theirs = model.fit(reml=reml)
    ours = fit(y, x, groupings, reml=reml)
    assert ours.coefficients == pytest.approx(theirs.fe_params.to_numpy(), rel=1e-5)
    assert ours.residual_sd**2 == pytest.approx(theirs.scale, rel=1e-4)
    variances = dict(zip(model.exog_vc.names, theirs.vcomp, strict=True))
    assert [sd**2 for (sd,) in ours.sd] == pytest.approx([variances["p"], variances["i"]], rel=1e-3)
    assert ours.log_likelihood == pytest.approx(theirs.llf, abs=1e-4)
    # statsmodels inverts the Hessian of all parameters, lme4 and we only that of the slopes
    assert ours.standard_errors == pytest.approx(theirs.bse_fe.to_numpy(), rel=0.02)


def test_the_order_of_the_groupings_does_not_matter():
    y, x, (people, items) = experiment()
    one, other = fit(y, x, [people, items]), fit(y, x, [items, people])
    assert one.coefficients == pytest.approx(other.coefficients, rel=1e-9)
    assert one.effects[1] == pytest.approx(other.effects[0], rel=1e-4)


def test_slopes_that_vary_between_people_widen_the_interval_and_are_predicted():
    y, x, (people, items) = experiment(n_participants=20)
    truth = np.random.default_rng(4).normal(0, 3, 20)
    centred = x[:, 1] - x[:, 1].mean()
    y = y + truth[people.levels] * centred
    slopes = Grouping(people.levels, people.size, np.column_stack([np.ones(len(y)), centred]))
    with_slopes, without = fit(y, x, [slopes, items]), fit(y, x, [people, items])
    assert with_slopes.standard_errors[1] > 1.5 * without.standard_errors[1]
    assert with_slopes.sd[0][1] == pytest.approx(3, abs=1)
    assert np.corrcoef(with_slopes.effects[0][:, 1], truth)[0, 1] > 0.8


@pytest.mark.parametrize("seed", range(6))
def test_small_variances_do_not_stop_the_search_early(seed):
    """The items' deviance is flat near 0; a grid around the optimum has nothing lower."""
    y, x, groupings = experiment(n_participants=4, n_items=5, repeats=2, seed=seed)
    problem = mixed_models._Problem(y, x, groupings, np.ones(len(y)))
    best = fit(y, x, groupings)
    theta = np.array([sd / best.residual_sd for (sd,) in best.sd])
    grid = [np.array([a, b]) for a in np.linspace(0, 3, 31) for b in np.linspace(0, 3, 31)]
    lowest = min(problem.deviance(point, reml=True)[0] for point in grid)
    assert problem.deviance(theta, reml=True)[0] <= lowest + 1e-9


@pytest.mark.parametrize("reml", [True, False])
def test_the_gradient_is_that_of_differences(reml):
    y, x, (people, items) = experiment(n_items=15)
    slopes = np.column_stack([np.ones(len(y)), x[:, 1] - x[:, 1].mean()])
    groupings = [Grouping(people.levels, people.size, slopes), Grouping(items.levels, items.size, slopes)]
    problem = mixed_models._Problem(y, x, groupings, np.linspace(1, 3, len(y)))
    variances = np.array([0.8, 0.02, 0.3, 0.001])

    def deviance(at):
        return problem.deviance(np.sqrt(at), reml=reml)[0]

    steps = np.diag(1e-4 * variances)
    differences = [(deviance(variances + s) - deviance(variances - s)) / (2 * s.sum()) for s in steps]
    assert problem.deviance(np.sqrt(variances), reml=reml)[1] == pytest.approx(differences, rel=1e-5)


def test_without_groupings_it_is_weighted_least_squares():
    y, x, _ = experiment()
    weights = np.random.default_rng(2).integers(1, 9, len(y)).astype(float)
    ours, theirs = fit(y, x, [], weights=weights), sm.WLS(y, x, weights=weights).fit()
    assert ours.coefficients == pytest.approx(theirs.params, rel=1e-9)
    assert ours.standard_errors == pytest.approx(theirs.bse, rel=1e-9)
    assert fit(y, x, [], weights=weights, reml=False).log_likelihood == pytest.approx(theirs.llf, abs=1e-6)


def test_a_grouping_without_variance_is_at_the_boundary():
    y, x, (people, _) = experiment()
    y = y - np.bincount(people.levels, y)[people.levels] / np.bincount(people.levels)[people.levels]
    assert fit(y, x, [people]).sd[0] == pytest.approx((0,), abs=1e-2)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda y, x, g: (y, np.column_stack([x, x[:, 1]]), g), "depend on each other"),
        (lambda y, x, g: (y, np.column_stack([x, np.full(len(y), 3.0)]), g), "constant"),
        (lambda y, x, g: (np.full(len(y), 300.0), x, g), "constant"),
        (lambda y, x, g: (x @ [1.0, 2.0, 3.0], x, g), "without a residual"),
        (lambda y, x, g: (y[:3], x[:3], []), "too few"),
        (lambda y, x, g: (y, x, [Grouping(np.zeros(len(y), int), 1)]), "has 1 level"),
        (lambda y, x, g: (y, x, [Grouping(np.arange(len(y)), len(y))]), "levels"),
    ],
)
def test_data_that_do_not_determine_the_model_are_refused(change, reason):
    with pytest.raises(NotFittable, match=reason):
        fit(*change(*experiment()))
