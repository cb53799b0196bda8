"""trust, suspects, repair and explain: of every estimator, in every form, and what bad input gets."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

import ewnmf
from ewnmf.damage.calibration import calibrate
from ewnmf.datasets import make_damage, make_spectra

QUICK: dict[str, Any] = {"max_iter": 60, "tol": 0, "random_state": 0, "n_jobs": 1}
MODELS = [
    ewnmf.EWNMF(3, gamma="4x", **QUICK),
    ewnmf.EWNMF(3, gamma=float("inf"), **QUICK),
    ewnmf.EWNMF(3, gamma="4x", loss="kullback-leibler", **QUICK),
    ewnmf.EWNMF(3, weighting="welsch", gamma="4x", **QUICK),
    ewnmf.NMF(3, **QUICK),
    ewnmf.NMF(3, weighting="fixed", **QUICK),
    ewnmf.SemiNMF(3, **QUICK),
    ewnmf.ConvexNMF(3, **QUICK),
    ewnmf.ONMF(3, method="hard", **QUICK),
    ewnmf.ONMF(3, method="stiefel", **QUICK),
]
IDS = [f"{type(model).__name__}-{model.weighting}-{model.loss}" for model in MODELS]


def scene(n: int = 60, m: int = 30, seed: int = 0) -> Any:
    return make_spectra(n, m, n_sources=3, noise=0.01, random_state=seed) + 0.05


@pytest.fixture(scope="module")
def damaged() -> Any:
    clean = scene(90)
    X, mask = clean.copy(), np.zeros(clean.shape, dtype=bool)
    X[60:], mask[60:] = make_damage(clean[60:], "blocks", share=1.0, random_state=0)
    return clean, X, mask


@pytest.fixture(scope="module")
def model(damaged) -> Any:
    return ewnmf.EWNMF(3, gamma="4x", max_iter=200, tol=0, random_state=0).fit(damaged[1])


@pytest.mark.parametrize("model", MODELS, ids=IDS)
def test_every_estimator_answers(model, damaged):
    _, X, mask = damaged
    model.fit(X[:60])
    trust, suspects, repaired = model.trust(X), model.suspects(X), model.repair(X)
    assert trust.shape == suspects.shape == repaired.shape == X.shape
    assert suspects.dtype == bool
    assert trust.min() >= 0
    assert trust.max() <= 1
    np.testing.assert_array_equal(repaired[~suspects], X[~suspects])
    np.testing.assert_array_equal(model.repair(X, 0.01) != X, suspects)
    assert (trust[suspects] <= 0.5).all()
    assert trust[mask].mean() < trust[~mask].mean()
    table = model.explain(X, top=5)
    assert len(table) == 5
    np.testing.assert_array_equal(table["value"], X[table["point"], [int(name[1:]) for name in table["attribute"]]])
    assert (np.diff(table["trust"]) >= 0).all()


def test_damage_is_found_and_mended(model, damaged):
    clean, X, mask = damaged
    suspects, repaired = model.suspects(X), model.repair(X)
    assert suspects[mask].mean() > 0.9
    assert suspects[~mask].mean() < 0.03
    before, after = (np.sqrt(np.mean((points - clean)[mask] ** 2)) for points in (X, repaired))
    assert after < 0.15 * before
    assert np.sqrt(np.mean((model.repair(X, soft=True) - clean)[mask] ** 2)) < 0.3 * before


@pytest.mark.parametrize("false_alarms", [0.05, 0.01])
def test_false_alarms_on_data_that_fit_has_not_seen(false_alarms):
    shares = []
    for seed in range(5):
        X = make_spectra(400, 40, n_sources=3, noise=0.02, random_state=seed) + 0.1
        fitted = ewnmf.EWNMF(3, gamma="16x", tol=0, max_iter=150, random_state=seed).fit(X[:300])
        shares.append(fitted.suspects(X[300:], false_alarms).mean())
    assert np.mean(shares) <= false_alarms
    assert max(shares) <= 2 * false_alarms


def test_more_false_alarms_more_suspects(model, damaged):
    X = damaged[1]
    few, many = model.suspects(X, 0.001), model.suspects(X, false_alarms=0.1)
    assert few.sum() < many.sum()
    assert not (few & ~many).any()


def test_missing_values(model, damaged):
    clean, X, _ = damaged
    X = X.copy()
    X[::7, 3] = X[5] = np.nan
    hidden = np.isnan(X)
    np.testing.assert_array_equal(np.isnan(model.trust(X)), hidden)
    assert not model.suspects(X)[hidden].any()
    with pytest.warns(UserWarning, match="1 point has no entry that is both observed and trusted, and is repaired"):
        repaired = model.repair(X)
    assert np.isfinite(repaired).all()
    np.testing.assert_allclose(repaired[::7, 3], clean[::7, 3], atol=0.1)
    observed = ~hidden
    np.testing.assert_array_equal(model.trust(np.nan_to_num(X, nan=5.0), mask=observed), model.trust(X))


def test_a_point_that_is_all_damaged_gets_the_mean_point(model):
    X = scene(4, seed=9)
    X[1], X[2] = np.random.default_rng(0).uniform(5, 5000, size=(2, 30))
    assert model.suspects(X)[1:3].all()
    with pytest.warns(UserWarning, match="2 points have no entry .* repaired from the mean point of fit") as seen:
        repaired = model.repair(X)
    assert len(seen) == 1
    np.testing.assert_array_equal(repaired[1], repaired[2])
    assert (np.abs(repaired[1] - scene().mean(axis=0)) < 0.2).all()


def test_points_are_judged_on_their_own(model, damaged):
    X = damaged[1]
    whole, alone = model.repair(X), np.concatenate([model.repair(X[i : i + 1]) for i in range(58, 63)])
    np.testing.assert_allclose(whole[58:63], alone, rtol=1e-12)
    np.testing.assert_array_equal(model.suspects(X[::-1])[::-1], model.suspects(X))


def test_blocks_are_judged_as_if_they_were_all(model, damaged, monkeypatch):
    """Points before and after count, those of other blocks do not; the worst are the same."""
    X = damaged[1]
    parts, table = np.concatenate([model.trust(X[at : at + 32]) for at in range(0, len(X), 32)]), model.explain(X, 7)
    monkeypatch.setattr("ewnmf.storage.dense._HIGH_ENTRIES", 1)
    np.testing.assert_allclose(model.trust(X), parts, rtol=1e-10, atol=1e-12)
    for name in ("point", "attribute", "value"):
        np.testing.assert_array_equal(model.explain(X, 7)[name], table[name])


def test_the_unit_is_that_of_the_data(damaged):
    X = damaged[1]
    one, other = (ewnmf.EWNMF(3, gamma="4x", **QUICK).fit(unit * X) for unit in (1, 2.0**40))
    np.testing.assert_allclose(other.repair(2.0**40 * X), 2.0**40 * one.repair(X))
    np.testing.assert_allclose(other.calibration_.spread, 2.0**40 * one.calibration_.spread)


def test_single_precision(damaged):
    X = damaged[1].astype(np.float32)
    model = ewnmf.EWNMF(3, gamma="4x", **QUICK).fit(X)
    assert model.repair(X).dtype == np.float32
    double = damaged[1]
    repaired, suspects = model.repair(double), model.suspects(double)
    assert repaired.dtype == np.float64
    np.testing.assert_array_equal(repaired[~suspects], double[~suspects])


def test_sparse_data_stays_sparse():
    X = scene(50, 20, seed=1)
    X[X < np.median(X)] = 0
    X[3, 4] = 5
    stored = sparse.csr_array(X)
    model = ewnmf.EWNMF(3, gamma="4x", **QUICK).fit(stored)
    dense = ewnmf.EWNMF(3, gamma="4x", **QUICK).fit(X)
    suspects, repaired = model.suspects(stored), model.repair(stored)
    assert sparse.issparse(suspects)
    assert sparse.issparse(repaired)
    assert suspects[3, 4]
    np.testing.assert_array_equal(suspects.toarray(), dense.suspects(X))
    np.testing.assert_allclose(repaired.toarray(), dense.repair(X), rtol=1e-6, atol=1e-9)
    assert model.trust(stored).shape == X.shape
    assert model.explain(stored, 1)["value"][0] == 5


def test_input_is_left_alone(model, damaged):
    X = damaged[1].copy()
    for question in (model.trust, model.suspects, model.repair, model.explain):
        question(X)
    np.testing.assert_array_equal(X, damaged[1])


# Forms


def frames() -> list[Any]:
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    X = scene()
    names = [f"band {j}" for j in range(X.shape[1])]
    return [pd.DataFrame(X, columns=names, index=[f"p{i}" for i in range(len(X))]), pl.DataFrame(X, schema=names)]


@pytest.mark.parametrize("which", [0, 1])
def test_a_data_frame_in_and_one_out(which):
    frame = frames()[which]
    model = ewnmf.EWNMF(3, gamma="4x", **QUICK).fit(frame)
    plain = ewnmf.EWNMF(3, gamma="4x", **QUICK).fit(scene())
    for question in ("trust", "suspects", "repair"):
        answer = getattr(model, question)(frame)
        assert type(answer) is type(frame)
        assert list(answer.columns) == list(frame.columns)
        np.testing.assert_array_equal(answer.to_numpy(), getattr(plain, question)(scene()))
    table = model.explain(frame, top=4)
    assert type(table) is type(frame)
    assert list(table.columns) == ["point", "attribute", "value", "expected", "trust"]
    assert table["attribute"][0].startswith("band ")
    if which == 0:
        assert list(model.trust(frame).index) == list(frame.index)
        assert frame.loc[table["point"][0], table["attribute"][0]] == table["value"][0]
    else:
        assert frame[table["attribute"][0]][table["point"][0]] == table["value"][0]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_set_output_is_honoured(library):
    module = pytest.importorskip(library)
    X = scene()
    model = ewnmf.EWNMF(3, gamma="4x", **QUICK).set_output(transform=library).fit(X)
    for question in (model.trust, model.suspects, model.repair):
        answer = question(X)
        assert isinstance(answer, module.DataFrame)
        assert list(answer.columns)[:2] == ["x0", "x1"]
    assert isinstance(model.explain(X), module.DataFrame)


# Files


def test_a_saved_model_judges_alike(tmp_path, model, damaged):
    X = damaged[1]
    model.save(tmp_path / "model.ewnmf")
    again = ewnmf.load(tmp_path / "model.ewnmf")
    np.testing.assert_array_equal(again.repair(X), model.repair(X))
    np.testing.assert_array_equal(again.trust(X), model.trust(X))


def test_an_attribute_that_nothing_is_known_of(tmp_path):
    X = scene()
    X[:, 4] = np.nan
    with pytest.warns(UserWarning, match=r"1 attribute\(s\)"):
        model = ewnmf.EWNMF(3, gamma="4x", **QUICK).fit(X)
    model.save(tmp_path / "model.ewnmf")
    assert (ewnmf.load(tmp_path / "model.ewnmf").trust(scene())[:, 4] == 1).all()


def test_a_model_of_before_says_so(model, damaged):
    old = ewnmf.EWNMF(3, gamma="4x", **QUICK).fit(damaged[1])
    old.calibration_ = calibrate(damaged[1])  # no expectation
    for question in (old.trust, old.suspects, old.repair, old.explain):
        with pytest.raises(ValueError, match=r"fitted by an earlier version of ewnmf.* fit it again"):
            question(damaged[1])


@pytest.mark.parametrize(
    ("change", "reason"),
    [({"spread": np.ones(3)}, "not by 30 numbers above 0"), ({"tail": float("nan")}, "has no tail")],
)
def test_a_file_with_another_calibration_is_refused(tmp_path, model, change, reason):
    from copy import copy
    from dataclasses import replace

    other = copy(model)
    other.calibration_ = replace(model.calibration_, **change)
    other.save(tmp_path / "model.ewnmf")
    with pytest.raises(ValueError, match=reason):
        ewnmf.load(tmp_path / "model.ewnmf")


# What bad input gets


@pytest.mark.parametrize("question", ["trust", "suspects", "repair", "explain"])
def test_bad_input(question, model, damaged):
    X = damaged[1]
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        getattr(ewnmf.EWNMF(3), question)(X)
    with pytest.raises(ValueError, match="X has 29 features, but EWNMF is expecting 30 features"):
        getattr(model, question)(X[:, :29])
    bad = X.copy()
    bad[2, 3] = np.inf
    with pytest.raises(ValueError, match="infinit"):
        getattr(model, question)(bad)
    with pytest.raises(ValueError, match="Negative values"):
        getattr(model, question)(-X)


@pytest.mark.parametrize("share", [0, 0.5, -0.1, 1, True, "few", None, float("nan")])
def test_a_share_of_false_alarms_that_is_none(share, model, damaged):
    for question in (model.suspects, model.repair):
        with pytest.raises(ValueError, match=f"false_alarms={share!r} must be a number between 0 and 0.5"):
            question(damaged[1], share)


def test_top_is_a_count(model, damaged):
    with pytest.raises(ValueError, match="top=0"):
        model.explain(damaged[1], 0)


def test_few_points_promise_nothing(damaged):
    X = damaged[1]
    model = ewnmf.EWNMF(2, gamma="4x", **QUICK).fit(X[:12])
    for question in (model.suspects, model.repair):
        with pytest.warns(UserWarning, match="fit saw 12 points, .* more undamaged entries may be suspected") as seen:
            question(X[:12])
        assert len(seen) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.trust(X)
