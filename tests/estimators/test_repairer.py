"""Repairer: scikit-learn's checks, columns of any unit and sign, files."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import ewnmf
from ewnmf.datasets import make_damage, make_sensors

QUICK: dict[str, Any] = {"gamma": "4x", "max_iter": 100, "tol": 0, "random_state": 0, "n_jobs": 1}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore::UserWarning")
@parametrize_with_checks([ewnmf.Repairer(), ewnmf.Repairer(2, gamma="4x", soft=True, false_alarms=0.1)])
def test_estimator_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.fixture(scope="module")
def table() -> Any:
    clean = make_sensors(300, 16, noise=0.03, random_state=0)
    clean -= clean.mean(axis=0)
    damaged, mask = make_damage(clean, "saturated", random_state=1)
    return clean, damaged, mask


@pytest.fixture(scope="module")
def repairer(table) -> Any:
    return ewnmf.Repairer(4, **QUICK).fit(table[1])


def test_columns_of_any_unit_and_sign_are_mended(repairer, table):
    clean, damaged, mask = table
    repaired, suspects = repairer.repair(damaged), repairer.suspects(damaged)
    np.testing.assert_array_equal(repaired[~suspects], damaged[~suspects])
    each, spread = repairer.transform(damaged), clean.std(axis=0)
    before, after = (np.sqrt(np.mean(((X - clean) / spread)[mask] ** 2)) for X in (damaged, each))
    assert after < 0.15 * before


def test_units_do_not_matter(table):
    damaged, units = table[1], 10.0 ** np.arange(-8, 8)
    one = ewnmf.Repairer(5, **QUICK).fit_transform(damaged)
    other = ewnmf.Repairer(5, **QUICK).fit_transform(damaged * units)
    np.testing.assert_allclose(other / units, one, rtol=1e-6, atol=1e-6 * np.abs(damaged).max())


def test_values_outside_of_what_was_seen_are_no_error(repairer, table):
    X = table[0][:5].copy()
    X[0, 3], X[1, 3], X[2, 3] = -1e12, 1e12, 1e300
    suspects = repairer.suspects(X)
    assert suspects[:3, 3].all()
    low, high = table[0][:, 3].min(), table[0][:, 3].max()
    reach = high - low
    repaired = repairer.transform(X)
    assert ((repaired[:3, 3] > low - reach) & (repaired[:3, 3] < high + reach)).all()


def test_one_outlier_does_not_set_the_scale(table):
    X = table[0].copy()
    X[7, 2] = 1e9 * np.abs(X[:, 2]).max()
    model = ewnmf.Repairer(5, **QUICK).fit(X)
    assert model.span_[2] < 3 * np.ptp(table[0][:, 2])
    assert model.suspects(X)[7, 2]


def test_it_imputes(repairer, table):
    clean = table[0]
    X = clean.copy()
    X[::5, 3] = np.nan
    repaired = repairer.transform(X)
    assert np.isfinite(repaired).all()
    error = np.sqrt(np.mean((repaired - clean)[::5, 3] ** 2))
    assert error < 0.6 * clean[:, 3].std()
    with pytest.warns(UserWarning, match="1 point has no entry"):
        assert np.isfinite(repairer.transform(np.full((1, 16), np.nan))).all()


def test_names_are_kept(table):
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    names = [f"sensor {j}" for j in range(16)]
    frame = pd.DataFrame(table[1], columns=names, index=np.arange(300) + 1000)
    model = ewnmf.Repairer(5, **QUICK)
    repaired = model.fit_transform(frame)
    assert list(repaired.columns) == names == list(model.get_feature_names_out())
    assert list(repaired.index) == list(frame.index)
    np.testing.assert_array_equal(repaired.to_numpy(), ewnmf.Repairer(5, **QUICK).fit_transform(table[1]))
    assert isinstance(clone(model).fit_transform(pl.DataFrame(table[1], schema=names)), pl.DataFrame)
    assert isinstance(clone(model).set_output(transform="polars").fit_transform(frame), pl.DataFrame)
    explained = model.explain(frame, 3)
    assert explained["point"].min() >= 1000
    assert frame.loc[explained["point"][0], explained["attribute"][0]] == explained["value"][0]


def test_in_a_pipeline_and_a_search(table):
    y = (table[0][:, 0] > np.median(table[0][:, 0])).astype(int)
    pipeline = make_pipeline(ewnmf.Repairer(4, **QUICK), LogisticRegression(max_iter=2000))
    search = GridSearchCV(pipeline, {"repairer__n_components": [2, 4]}, cv=2, error_score="raise")
    search.fit(table[1] / table[1].std(axis=0), y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_a_saved_repairer_repairs_alike(tmp_path, repairer, table):
    repairer.save(tmp_path / "repairer.ewnmf")
    again = ewnmf.load(tmp_path / "repairer.ewnmf")
    assert again.get_params() == repairer.get_params()
    np.testing.assert_array_equal(again.transform(table[1]), repairer.transform(table[1]))
    ewnmf.Repairer(3).save(tmp_path / "unfitted.ewnmf")
    assert ewnmf.load(tmp_path / "unfitted.ewnmf").n_components == 3


def test_a_file_whose_parts_do_not_fit_is_refused(tmp_path, repairer):
    from copy import copy

    other = copy(repairer)
    other.span_ = repairer.span_[:3]
    other.save(tmp_path / "repairer.ewnmf")
    with pytest.raises(ValueError, match="its scale and model are not of 16 columns"):
        ewnmf.load(tmp_path / "repairer.ewnmf")


def test_bad_input(repairer, table):
    with pytest.raises(NotFittedError):
        ewnmf.Repairer().transform(table[1])
    with pytest.raises(ValueError, match="X has 3 features, but Repairer is expecting 16"):
        repairer.transform(table[1][:, :3])
    with pytest.raises(ValueError, match=r"false_alarms=0\.5 must be a number between 0 and 0.5"):
        ewnmf.Repairer(false_alarms=0.5).fit(table[1])
    bad = table[1].copy()
    bad[0, 0] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        repairer.transform(bad)
