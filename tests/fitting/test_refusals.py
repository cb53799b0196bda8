"""Bad input ends in one sentence that names the parameter, the value and the way out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

import ewnmf
from ewnmf import losses, models, weightings
from ewnmf.problem import Problem

X = np.random.default_rng(0).random((8, 6)) + 0.1


class _Own(losses.Loss):
    name = "own"


COMBINATIONS = [
    (
        "kullback-leibler",
        "semi-nmf",
        "none",
        r"loss='kullback-leibler' cannot .* model='semi-nmf'.* Use loss='euclidean'",
    ),
    ("alpha", "semi-nmf", "entropy", r"loss='alpha' cannot .* model='semi-nmf'.* Use loss='euclidean'"),
    ("alpha", models.Orthogonal("soft"), "none", r"loss='alpha' cannot .* method='soft'.* method='hard'"),
    (_Own(), models.Orthogonal("soft"), "none", r"loss='own' cannot .* method='soft'"),
    (_Own(), models.Orthogonal("hard"), "none", r"loss='own' cannot .* method='hard'.*rank_one"),
    (_Own(), "semi-nmf", "none", r"loss='own' cannot .* model='semi-nmf'"),
    *(
        (loss, models.Orthogonal(method), "none", rf"loss='{loss}' cannot .* method='{method}'.* loss='euclidean'")
        for loss in ("kullback-leibler", "alpha")
        for method in ("lagrange", "stiefel")
    ),
    *(
        ("euclidean", models.Orthogonal(method), weighting, rf"weighting='{weighting}' cannot .* method='{method}'")
        for method in ("lagrange", "stiefel")
        for weighting in ("fixed", "entropy")
    ),
]


@pytest.mark.parametrize(("loss", "model", "weighting", "message"), COMBINATIONS)
def test_undefined_combinations(loss: Any, model: Any, weighting: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Problem.of(loss, model, weighting, gamma=1.0)
    with pytest.raises(ValueError, match=message):
        ewnmf.factorize(X, 2, loss=loss, model=model, weighting=weighting)


DATA = [
    (-X, {}, ValueError, r"Negative values in data passed to EWNMF: .*SemiNMF"),
    (np.full_like(X, np.nan), {}, ValueError, r"X has no observed entry of positive weight"),
    (sparse.csr_array(np.where(X > 0.5, np.nan, X)), {}, ValueError, r"X is sparse and contains NaN in \d+ stored"),
    (np.where(X > 0.5, np.inf, X), {}, ValueError, r"X contains infinity \(inf\) in \d+ entries"),
    (np.where(X > 0.5, 0, X), {"loss": "alpha", "alpha": -1.0}, ValueError, r"X has zeros.*alpha or beta above 0"),
    (np.where(X > 0.5, 0, X), {"loss": "alpha", "alpha": 0}, ValueError, r"X has zeros.*alpha or beta above 0"),
    (np.array([["a", "b"]]), {}, ValueError, r"."),
    (X[0], {}, ValueError, r"Expected 2D array"),
    (X[:0], {}, ValueError, r"0 sample"),
    (X[:, :0], {}, ValueError, r"0 feature"),
    (sparse.csr_array(-X), {}, ValueError, r"Negative values in data passed to EWNMF"),
    (sparse.csr_array(np.where(X > 0.5, np.inf, X)), {}, ValueError, r"X contains infinity \(inf\) in \d+ entries"),
    (X + 1j, {}, ValueError, r"Complex"),
]


@pytest.mark.parametrize(("data", "options", "kind", "message"), DATA)
def test_bad_data(data: Any, options: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        ewnmf.EWNMF(2, **options).fit(data)
    loss = losses.resolve(options.get("loss", "euclidean"), options.get("alpha", 0.5))
    with pytest.raises(kind, match=message.replace("EWNMF", "factorize")):
        ewnmf.factorize(data, 2, loss=loss)


def test_bad_data_in_transform() -> None:
    model = ewnmf.EWNMF(2, tol=0, max_iter=5).fit(X)
    for method in (model.transform, model.weights, model.score):
        with pytest.raises(ValueError, match="Negative values"):
            method(-X)
        with pytest.raises(ValueError, match=r"X contains infinity \(inf\) in 48 entries"):
            method(np.full_like(X, np.inf))
        with pytest.raises(ValueError, match="features"):
            method(X[:, :3])
    with pytest.raises(ValueError, match=r"codes has 5 columns, but EWNMF has 2 components"):
        model.inverse_transform(np.ones((3, 5)))
    convex = ewnmf.ConvexNMF(2, loss="kullback-leibler", tol=0, max_iter=5).fit(X)
    with pytest.raises(ValueError, match="Negative values"):
        convex.transform(-X)


PARAMETERS = [
    ({"n_components": 0}, ValueError, r"n_components=0 must be an integer of at least 1"),
    ({"n_components": 2.5}, ValueError, r"n_components=2.5"),
    ({"n_components": "all"}, ValueError, r"n_components='all' is not known; use one of 'auto'"),
    ({"loss": "euclidian"}, ValueError, r"loss='euclidian' is not known.*Did you mean 'euclidean'\?"),
    ({"loss": 3}, TypeError, r"loss=3 must be one of"),
    ({"alpha": "x", "loss": "alpha"}, TypeError, r"alpha='x' must be a real number"),
    ({"alpha": np.inf, "loss": "alpha"}, ValueError, r"alpha=inf must be a finite number"),
    ({"weighting": "entropic"}, ValueError, r"weighting='entropic' is not known.*Did you mean 'entropy'\?"),
    ({"gamma": 0}, ValueError, r"gamma=0 puts all the weight"),
    ({"weighting": weightings.Entropy(0)}, ValueError, r"gamma=0 puts all the weight"),
    ({"gamma": -1.0}, ValueError, r"gamma=-1.0 must be a positive number, 'auto'"),
    ({"gamma": np.nan}, ValueError, r"gamma=nan must be a positive number, 'auto'"),
    ({"gamma": "Auto"}, ValueError, r"gamma='Auto' must be a positive number, 'auto'"),
    ({"gamma": None}, TypeError, r"gamma=None must be a positive number, 'auto'"),
    ({"gamma": 1.0, "weighting": weightings.Entropy(2.0)}, ValueError, r"contradicts"),
    ({"init": "randm"}, ValueError, r"init='randm' is not known.*Did you mean 'random'\?"),
    ({"init": "custom"}, ValueError, r"init='custom' needs both start factors"),
    ({"init": "nndsvd", "n_components": 7}, ValueError, r"init='nndsvd' needs n_components=7 to be at most"),
    ({"n_init": 0}, ValueError, r"n_init=0 must be an integer of at least 1"),
    (
        {"solver": "sgd"},
        ValueError,
        r"solver='sgd' is not known; use one of 'accelerated', 'accelerated-cd', 'auto', 'cd', 'mu'",
    ),
    ({"order": "codes"}, ValueError, r"order='codes' is not known.*Did you mean 'codes-first'\?"),
    ({"tol": -1.0}, ValueError, r"tol=-1.0 must be a finite number of at least 0"),
    ({"max_iter": 0}, ValueError, r"max_iter=0 must be an integer of at least 1"),
    ({"n_jobs": 0}, ValueError, r"n_jobs=0 is not a number of threads"),
]


@pytest.mark.parametrize(("options", "kind", "message"), PARAMETERS)
def test_bad_parameters(options: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        ewnmf.EWNMF(**{"n_components": 2, **options}).fit(X)


def test_bad_model_parameters() -> None:
    with pytest.raises(ValueError, match=r"method='harder' is not known.*Did you mean 'hard'\?"):
        ewnmf.ONMF(2, method="harder").fit(X)
    with pytest.raises(ValueError, match=r"of='code' is not known.*Did you mean 'codes'\?"):
        ewnmf.ONMF(2, of="code").fit(X)
    with pytest.raises(ValueError, match=r"mu=-1 must be a finite number of at least 0"):
        ewnmf.ONMF(2, mu=-1).fit(X)
    with pytest.raises(ValueError, match=r"model='nnmf' is not known.*Did you mean 'nmf'\?"):
        ewnmf.factorize(X, 2, model="nnmf")
    with pytest.raises(TypeError, match=r"model=3 must be one of"):
        ewnmf.factorize(X, 2, model=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"gamma=-1 must be a number of at least 0"):
        weightings.Entropy(-1)
    with pytest.raises(TypeError, match=r"gamma='a' must be a number"):
        weightings.Entropy("a")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"init='nndsvd' needs nonnegative data"):
        ewnmf.SemiNMF(2, init="nndsvd").fit(X - 0.5)


WEIGHTS = [
    (np.ones((8, 5)), r"weights has shape \(8, 5\), but X has shape \(8, 6\)"),
    (-np.ones((8, 6)), r"weights has negative values, the smallest -1"),
    (np.full((8, 6), np.nan), r"weights has values that are NaN or infinite"),
    (np.where(np.arange(8)[:, None] == 3, 0.0, np.ones((8, 6))), r"all zero for 1 point\(s\), the first at row 3"),
]


@pytest.mark.parametrize(("given", "message"), WEIGHTS)
def test_bad_weights(given: Any, message: str) -> None:
    model = ewnmf.NMF(2, weighting="fixed", tol=0, max_iter=3)
    with pytest.raises(ValueError, match=message):
        model.fit(X, weights=given)
    with pytest.raises(ValueError, match=message):
        model.fit(X).transform(X, weights=given)
    with pytest.raises(ValueError, match=message):
        ewnmf.factorize(X, 2, weighting="fixed", weights=given)


def test_weights_without_fixed_weighting() -> None:
    with pytest.raises(ValueError, match=r"weights= was given, but weighting='entropy' does not use it"):
        ewnmf.EWNMF(2).fit(X, weights=np.ones_like(X))


STARTS = [
    ({"codes": np.ones((8, 3))}, r"codes has shape \(8, 3\), but \(8, 2\) is needed"),
    ({"components": np.ones((2, 5))}, r"components has shape \(2, 5\), but \(2, 6\) is needed"),
    ({"codes": -np.ones((8, 2))}, r"codes has negative values, the smallest -1"),
    ({"components": -np.ones((2, 6))}, r"components has negative values"),
    ({"components": np.zeros((2, 6))}, r"components is full of zeros"),
    ({"codes": np.full((8, 2), np.nan)}, r"codes has values that are NaN or infinite"),
    ({"combinations": np.ones((8, 2))}, r"combinations start only model='convex-nmf'"),
    ({"components": np.ones((2, 6)), "model": "convex-nmf"}, r"components cannot start model='convex-nmf'"),
    ({"combinations": np.ones((7, 2)), "model": "convex-nmf"}, r"combinations has shape \(7, 2\)"),
]


@pytest.mark.parametrize(("start", "message"), STARTS)
def test_bad_starts(start: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ewnmf.factorize(X, 2, **start)


def test_start_without_custom_init() -> None:
    with pytest.raises(ValueError, match=r"init='random'; use init='custom'"):
        ewnmf.NMF(2).fit(X, W=np.ones((8, 2)), H=np.ones((2, 6)))


def test_a_failed_fit_leaves_an_unfitted_estimator() -> None:
    from sklearn.exceptions import NotFittedError

    model = ewnmf.EWNMF(0)
    with pytest.raises(ValueError, match="n_components=0"):
        model.fit(X)
    with pytest.raises(NotFittedError):
        model.transform(X)


def test_unknown_attribute_of_the_package() -> None:
    with pytest.raises(AttributeError, match="no attribute 'EWNMFF'"):
        _ = ewnmf.EWNMFF
