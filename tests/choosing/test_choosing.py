"""Choosing gamma without labels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import ewnmf
from ewnmf import losses
from ewnmf.choosing.gamma import GammaPath, _Neighbours
from ewnmf.choosing.neighbours import Neighbourhoods, _unlike, partitions, unlikeness
from ewnmf.datasets import make_mixed_signals
from ewnmf.fitting.checks import RELATIVE
from ewnmf.fitting.points import Points

LOSSES = [losses.Euclidean(), losses.KullbackLeibler(), losses.Alpha(0.5), losses.Alpha(2)]
QUICK: dict[str, Any] = {"max_iter": 60, "tol": 0, "random_state": 0}
UNITS = [("euclidean", 4.0), ("euclidean", 0.25), ("kullback-leibler", 0.25), ("alpha", 4.0)]


def groups(n: int = 90, m: int = 24, damage: float = 0.3, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Three groups with patterns of their own, a block of many points destroyed; labels and where the damage is."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 3
    X = rng.random((3, m))[labels] * (0.7 + 0.6 * rng.random((n, 1))) + 0.03 * rng.random((n, m))
    hit = np.zeros((n, m), dtype=bool)
    for i in np.flatnonzero(rng.random(n) < damage):
        place = rng.integers(m - 6)
        hit[i, place : place + 6] = True
    X[hit] = 2.0
    return X, labels, hit


@pytest.fixture(scope="module")
def X() -> np.ndarray:
    return groups()[0]


def _stop(*_: Any, **__: Any) -> None:
    raise KeyboardInterrupt


class TestUnlikeness:
    @pytest.mark.parametrize("loss", LOSSES, ids=repr)
    def test_is_the_share_that_two_points_do_not_have_in_common(self, loss: losses.Loss) -> None:
        X, scale = groups(12, 7)[0] + 0.1, 0.02

        def g(x: np.ndarray, y: np.ndarray) -> np.ndarray:
            c = (x + y) / 2
            return 1 - np.exp(-(loss.divergence(x, c) + loss.divergence(y, c)) / scale)

        zero = np.zeros_like(X[0])
        expected = [[g(x, y).sum() / (g(x, zero) + g(y, zero)).sum() for y in X] for x in X]
        np.testing.assert_allclose(unlikeness(Points(X), loss, scale), expected, atol=2e-6)

    @pytest.mark.parametrize("loss", LOSSES[:3], ids=repr)
    def test_sparse_equals_dense(self, loss: losses.Loss) -> None:
        rng = np.random.default_rng(0)
        X = np.where(rng.random((20, 30)) < 0.2, rng.random((20, 30)), 0)
        found = unlikeness(Points(sparse.csr_matrix(X)), loss, 0.01)
        np.testing.assert_allclose(found, unlikeness(Points(X), loss, 0.01), atol=1e-6)

    def test_hidden_entries_count_nowhere(self) -> None:
        X, rng = groups(12, 8)[0], np.random.default_rng(1)
        P = (rng.random(X.shape) < 0.8).astype(float)
        changed = np.where(P == 0, 77.0 * rng.random(X.shape), X)
        changed[0, 0] = X[0, 0] = 80.0  # the same largest value
        P[0, 0] = 1
        one, other = (unlikeness(Points(data, P), losses.Euclidean(), 0.01) for data in (X, changed))
        np.testing.assert_allclose(one, other, atol=1e-6)
        np.testing.assert_allclose(
            unlikeness(Points(X, np.ones_like(X)), losses.Euclidean(), 0.01),
            unlikeness(Points(X), losses.Euclidean(), 0.01),
            atol=1e-6,
        )

    def test_points_without_a_common_attribute_are_unlike(self) -> None:
        P = np.array([[1.0, 1, 0, 0], [0, 0, 1, 1], [1, 1, 1, 1]])
        found = unlikeness(Points(np.ones((3, 4)), P), losses.Euclidean(), 0.01)
        assert found[0, 1] == 1
        assert found[0, 2] == 0

    @pytest.mark.parametrize("loss", LOSSES, ids=repr)
    def test_does_not_depend_on_the_unit(self, loss: losses.Loss) -> None:
        X = groups(12, 7)[0]
        assert loss.degree is not None
        scaled = unlikeness(Points(1e30 * X), loss, 0.02 * 1e30**loss.degree)
        np.testing.assert_allclose(scaled, unlikeness(Points(X), loss, 0.02), atol=1e-5)


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_a_halved_scale_is_that_scale(storage: Any) -> None:
    X, _, _ = groups()
    points = Points(storage(np.where(X > 0.3, X, 0)))
    found = _unlike(points, losses.Euclidean(), 0.04, (0, 2))
    for D, scale in zip(found, (0.04, 0.01), strict=True):
        np.testing.assert_allclose(D, unlikeness(points, losses.Euclidean(), scale), atol=1e-6)


def test_threads_change_no_bit_of_the_distances() -> None:
    points = Points(groups()[0])
    one, three = (_unlike(points, losses.Euclidean(), 0.04, (0, 2), n_jobs) for n_jobs in (1, 3))
    np.testing.assert_array_equal(one, three)


def test_a_path_ends_at_a_clear_fall_and_not_at_noise() -> None:
    judge: Any = None
    assert _Neighbours.lost(judge, 0.2, 0.5)
    assert not _Neighbours.lost(judge, 0.3, 0.5)
    assert not _Neighbours.lost(judge, 0.01, 0.05)
    assert not _Neighbours.lost(judge, -0.09, -0.03)


def test_groups_of_neighbours_are_smooth_and_others_are_not() -> None:
    X, labels, _ = groups(damage=0.3)
    (graph,) = Neighbourhoods.of(Points(X), losses.Euclidean(), 0.01, 3)
    assert graph.smooth_share(labels) > 0.95
    assert abs(graph.smooth_share(np.random.default_rng(0).permutation(labels))) < 0.2
    assert graph.smooth_share(np.zeros_like(labels)) == pytest.approx(0, abs=1e-9)
    codes = np.eye(3)[labels]
    for found in partitions(codes, np.ones((3, 5)), 3):
        assert graph.smooth_share(found) == pytest.approx(graph.smooth_share(labels))


class TestAuto:
    def test_finds_damage_and_leaves_clean_data_to_plain_nmf(self) -> None:
        X, _, hit = groups()
        model: Any = ewnmf.EWNMF(3, tol=0, random_state=0).fit(X)
        path = model.gamma_path_
        assert path.rule == "trimmed loss"
        assert path.gamma == model.gamma_ < math.inf
        assert path.scores[path.chosen] == path.scores.max()
        weights = model.weights(X)
        assert np.median(weights[hit]) < 0.1 * np.median(weights[hit.any(axis=1)][~hit[hit.any(axis=1)]])
        clean = ewnmf.EWNMF(3, tol=0, random_state=0).fit(groups(damage=0)[0])
        assert clean.gamma_ == math.inf

    def test_one_component_and_few_points_are_enough(self) -> None:
        rng = np.random.default_rng(0)
        X = np.outer(rng.random(12) + 0.5, rng.random(9) + 0.5) + 0.01 * rng.random((12, 9))
        X[2, 3:6] = 5
        model: Any = ewnmf.EWNMF(1, tol=0, random_state=0).fit(X)
        assert model.gamma_ < math.inf
        assert model.weights(X)[2, 3:6].max() < 1e-3

    def test_scores_are_minus_the_trimmed_loss(self, X: np.ndarray) -> None:
        path = ewnmf.factorize(X, 3, max_iter=60, rng=0).gamma_path
        plain = ewnmf.factorize(X, 3, weighting="none", max_iter=60, rng=0)
        assert path is not None
        losses = np.sort(np.square(X - plain.codes @ plain.components), axis=None)
        kept = X.size - 0.1 * np.count_nonzero(X)
        whole = int(kept)
        expected = (losses[:whole].sum() + (kept - whole) * losses[whole]) / kept
        assert path.scores[0] == pytest.approx(-expected / path.scale, rel=1e-9)

    @pytest.mark.parametrize("weighted", [False, True])
    def test_sparse_and_dense_choose_alike(self, weighted: bool, X: np.ndarray) -> None:
        X = np.maximum(X - 0.3, 0)
        s = np.random.default_rng(0).integers(1, 4, len(X)).astype(float) if weighted else None
        dense, thin = (ewnmf.EWNMF(3, **QUICK).fit(data, sample_weight=s) for data in (X, sparse.csr_array(X)))
        np.testing.assert_allclose(thin.gamma_path_.scores, dense.gamma_path_.scores, rtol=1e-6)

    @pytest.mark.parametrize(("loss", "c"), UNITS)
    def test_follows_the_unit_of_the_data(self, loss: str, c: float, X: np.ndarray) -> None:
        fits: list[Any] = [ewnmf.EWNMF(3, loss=loss, **QUICK).fit(data) for data in (X, c * X)]
        one, other = fits
        degree = 2 if loss == "euclidean" else 1
        assert other.gamma_ == pytest.approx(c**degree * one.gamma_, rel=1e-6)

    def test_order_and_repetition_of_points_change_nothing(self, X: np.ndarray) -> None:
        order = np.random.default_rng(0).permutation(len(X))
        paths = [
            ewnmf.EWNMF(3, **QUICK).fit(X, sample_weight=np.full(len(X), 2.0)),
            ewnmf.EWNMF(3, **QUICK).fit(X[order], sample_weight=np.full(len(X), 2.0)),
            ewnmf.EWNMF(3, **QUICK).fit(np.repeat(X, 2, axis=0)),
        ]
        for model in paths[1:]:
            np.testing.assert_allclose(model.gamma_path_.scores, paths[0].gamma_path_.scores, rtol=1e-9)
            assert model.gamma_ == pytest.approx(paths[0].gamma_, rel=1e-9)

    def test_what_is_missing_does_not_vote(self, X: np.ndarray) -> None:
        rng = np.random.default_rng(0)
        mask = rng.random(X.shape) < 0.9
        one, other = (ewnmf.EWNMF(3, **QUICK).fit(np.where(mask, X, fill), mask=mask).gamma_path_ for fill in (0, 9))
        np.testing.assert_array_equal(one.scores, other.scores)

    def test_the_verdict_is_a_sentence_and_equal_weights_warn(self, X: np.ndarray) -> None:
        found: Any = ewnmf.EWNMF(3, **QUICK).fit(X)
        assert found.gamma_path_.verdict.startswith(f"gamma = {found.gamma_:.4g}, ")
        assert "all entries but the worst clearly smaller" in found.gamma_path_.verdict
        clean = groups(damage=0)[0]
        plain: Any = ewnmf.EWNMF(3, **QUICK).fit(clean)
        with pytest.warns(UserWarning, match=r"^All weights of a point are equal: gamma is infinite .plain NMF.*\.$"):
            plain.weights(clean)
        exact = GammaPath.single(math.inf, 0.0, "exact fit", 3).verdict
        assert exact == "gamma is infinite (plain NMF): that leaves no loss to weigh entries by."
        for rule in ("groups", "self-tuned"):
            model: Any = ewnmf.EWNMF(3, gamma=rule, **QUICK).fit(X)
            assert model.gamma_path_ is None or model.gamma_path_.verdict.endswith(".")

    def test_verbose_says_it(self, X: np.ndarray, capsys: pytest.CaptureFixture[str]) -> None:
        model: Any = ewnmf.EWNMF(3, verbose=1, **QUICK).fit(X)
        said = capsys.readouterr().err.splitlines()
        assert said[-1] == f"EWNMF: {model.gamma_path_.verdict}"
        assert said[0] == "EWNMF: choosing gamma, 1 of 7 (plain NMF)"
        assert said[1] == "EWNMF: choosing gamma, 2 of 7 (16 times the mean loss)"


class TestGroups:
    def test_finds_damage_and_leaves_clean_data_to_plain_nmf(self) -> None:
        X, _, hit = groups()
        model: Any = ewnmf.EWNMF(3, gamma="groups", tol=0, random_state=0).fit(X)
        path = model.gamma_path_
        assert path.rule == "neighbourhoods"
        assert path.gamma == model.gamma_ < math.inf
        assert path.scores[path.chosen] == path.scores.max()
        weights = model.weights(X)
        assert np.median(weights[hit]) < 0.1 * np.median(weights[hit.any(axis=1)][~hit[hit.any(axis=1)]])
        clean = ewnmf.EWNMF(3, gamma="groups", tol=0, random_state=0).fit(groups(damage=0)[0])
        assert clean.gamma_ == math.inf

    def test_the_run_is_the_one_at_the_gamma_that_was_chosen(self, X: np.ndarray) -> None:
        auto: Any = ewnmf.EWNMF(3, gamma="groups", **QUICK).fit(X)
        given = ewnmf.EWNMF(3, gamma=auto.gamma_, **QUICK).fit(X)
        np.testing.assert_array_equal(auto.components_, given.components_)
        np.testing.assert_array_equal(auto.loss_curve_, given.loss_curve_)
        assert given.gamma_path_ is None

    def test_callbacks_see_that_run_alone(self, X: np.ndarray) -> None:
        seen: list[Any] = []
        answer = ewnmf.factorize(X, 3, gamma="groups", max_iter=20, rng=0, callbacks=[seen.append])
        assert len(seen) == 20
        assert {report.gamma for report in seen} == {answer.gamma}
        np.testing.assert_array_equal(answer.codes, ewnmf.factorize(X, 3, gamma="groups", max_iter=20, rng=0).codes)

    def test_an_interrupted_fit_forgets_the_path_of_the_last_one(self, X: np.ndarray) -> None:
        model = ewnmf.EWNMF(3, gamma="groups", **QUICK).fit(X)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("ewnmf.estimators.base.choose_gamma", _stop)
            with pytest.raises(KeyboardInterrupt):
                model.fit(X)
        assert model.gamma_path_ is None

    @pytest.mark.parametrize(("loss", "c"), UNITS)
    def test_follows_the_unit_of_the_data(self, loss: str, c: float, X: np.ndarray) -> None:
        fits: list[Any] = [ewnmf.EWNMF(3, gamma="groups", loss=loss, **QUICK).fit(data) for data in (X, c * X)]
        one, other = fits
        degree = 2 if loss == "euclidean" else 1
        assert other.gamma_ == pytest.approx(c**degree * one.gamma_, rel=1e-6)
        np.testing.assert_allclose(other.gamma_path_.scores, one.gamma_path_.scores, atol=1e-6)
        np.testing.assert_allclose(other.weights(c * X), one.weights(X), rtol=1e-5, atol=1e-9)

    def test_order_and_repetition_of_points_change_nothing(self, X: np.ndarray) -> None:
        order = np.random.default_rng(0).permutation(len(X))
        paths = [
            ewnmf.EWNMF(3, gamma="groups", **QUICK).fit(X, sample_weight=np.full(len(X), 2.0)),
            ewnmf.EWNMF(3, gamma="groups", **QUICK).fit(X[order], sample_weight=np.full(len(X), 2.0)),
            ewnmf.EWNMF(3, gamma="groups", **QUICK).fit(np.repeat(X, 2, axis=0)),
        ]
        for model in paths[1:]:
            np.testing.assert_allclose(model.gamma_path_.scores, paths[0].gamma_path_.scores, rtol=1e-9)
            assert model.gamma_ == pytest.approx(paths[0].gamma_, rel=1e-9)

    @pytest.mark.parametrize(
        "model",
        [
            ewnmf.EWNMF(3, gamma="groups"),
            ewnmf.EWNMF(3, gamma="groups", loss="kullback-leibler", n_init=2),
            ewnmf.EWNMF(3, gamma="groups", loss="alpha", init="nndsvda"),
            ewnmf.EWNMF(3, gamma="groups", solver="accelerated"),
            ewnmf.SemiNMF(3, gamma="groups", weighting="entropy"),
            ewnmf.ConvexNMF(3, gamma="groups", weighting="entropy"),
            ewnmf.ONMF(3, gamma="groups", weighting="entropy"),
            ewnmf.ONMF(3, gamma="groups", method="soft", weighting="entropy"),
        ],
        ids=str,
    )
    def test_every_model_has_it_and_never_rises(self, model: Any, X: np.ndarray) -> None:
        fitted = clone(model).set_params(**QUICK).fit(X)
        assert fitted.gamma_path_.rule == "neighbourhoods"
        assert fitted.gamma_path_.relative[0] == math.inf
        assert set(fitted.gamma_path_.relative[1:]) <= set(RELATIVE)
        curve = fitted.loss_curve_
        assert (np.diff(curve) <= 1e-12 * abs(curve[0])).all()

    def test_gaps_and_start_factors(self, X: np.ndarray) -> None:
        rng = np.random.default_rng(0)
        gaps = np.where(rng.random(X.shape) < 0.1, np.nan, X)
        assert ewnmf.EWNMF(3, gamma="groups", **QUICK).fit(gaps).gamma_path_.rule == "neighbourhoods"
        start = {"W": rng.random((len(X), 3)), "H": rng.random((3, X.shape[1]))}
        model: Any = ewnmf.EWNMF(3, gamma="groups", init="custom", **QUICK).fit(X, **start)
        again = ewnmf.EWNMF(3, init="custom", gamma=model.gamma_, **QUICK).fit(X, **start)
        np.testing.assert_array_equal(model.components_, again.components_)

    @pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
    def test_a_subsample_decides_on_large_data(self, storage: Any) -> None:
        X = storage(np.maximum(groups(5280, 8)[0] - 0.3, 0))
        model = ewnmf.EWNMF(3, gamma="groups", max_iter=20, tol=0, random_state=0).fit(X)
        assert model.gamma_path_.n_points == 330
        order = np.random.default_rng(0).permutation(X.shape[0])
        again = ewnmf.EWNMF(3, gamma="groups", max_iter=20, tol=0, random_state=0).fit(X[order])
        assert again.gamma_ == pytest.approx(model.gamma_, rel=1e-9)

    def test_signals_are_too_few_for_neighbours(self) -> None:
        for seed in range(3):
            made = make_mixed_signals(random_state=seed)
            answer = ewnmf.factorize(made.data, 2, gamma="groups", rng=seed)
            assert answer.gamma_path is not None
            assert answer.gamma_path.rule == "hidden entries"
            hit = made.damaged.any(axis=1)
            T = answer.weights()[hit]
            assert np.median(T[made.damaged[hit]]) < 0.1 * np.median(T[~made.damaged[hit]])

    def test_a_single_component_asks_hidden_entries(self, X: np.ndarray) -> None:
        path = ewnmf.EWNMF(1, gamma="groups", **QUICK).fit(X).gamma_path_
        assert path.rule == "hidden entries"
        assert (path.scores < 0).all()

    def test_entries_of_sparse_data_are_hidden_alike(self, X: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
        dense, thin = (
            ewnmf.EWNMF(1, gamma="groups", **QUICK).fit(data).gamma_path_ for data in (X, sparse.csr_array(X))
        )
        assert thin.rule == "hidden entries"
        np.testing.assert_allclose(thin.scores, dense.scores, rtol=1e-9)
        np.testing.assert_allclose(thin.gammas, dense.gammas, rtol=1e-9)
        monkeypatch.setattr("ewnmf.choosing.gamma.WHOLE_ENTRIES", X.size - 1)
        assert ewnmf.EWNMF(1, gamma="groups", **QUICK).fit(sparse.csr_array(X)).gamma_path_.rule == "self-tuned"

    @pytest.mark.filterwarnings("ignore:All weights of a point are equal")
    @pytest.mark.parametrize(
        ("data", "rule"),
        [
            (np.ones((30, 6)), "exact fit"),
            (np.zeros((30, 6)), "exact fit"),
            (np.outer(np.arange(1.0, 31), np.arange(1.0, 7)), "exact fit"),
            (np.random.default_rng(0).random((1, 6)), "exact fit"),
            (np.random.default_rng(0).random((3, 6)), "self-tuned"),
        ],
        ids=["constant", "zero", "of rank one", "a single point", "three points"],
    )
    def test_degenerate_data(self, data: np.ndarray, rule: str) -> None:
        K = 2 if rule == "self-tuned" else 1
        model = ewnmf.EWNMF(K, gamma="groups", max_iter=3000 if rule == "exact fit" else 30, tol=0, random_state=0).fit(
            data
        )
        assert model.gamma_path_.rule == rule
        assert (model.gamma_ == math.inf) == (rule == "exact fit")
        assert np.isfinite(model.weights(data)).all()

    def test_huge_values(self) -> None:
        X = groups(30, 8)[0]
        model: Any = ewnmf.EWNMF(2, gamma="groups", **QUICK).fit(1e98 * X)
        assert model.gamma_ > 0
        for data in (1e131 * X, (1e31 * X).astype(np.float32)):
            with pytest.raises(ValueError, match=r"X has values up to .*, whose products overflow float"):
                ewnmf.EWNMF(2, gamma="groups", **QUICK).fit(data)


class TestRequests:
    def test_a_multiple_of_the_mean_loss(self, X: np.ndarray) -> None:
        scale = ewnmf.gamma_path(X, 3, relative=[4], **QUICK).scale
        plain = ewnmf.NMF(3, **QUICK).fit(X)
        assert scale == pytest.approx(plain.reconstruction_err_**2 / X.size, rel=1e-9)
        for text, factor in (("4x", 4), ("0.5x", 0.5), (" 1e1 x", 10)):
            assert ewnmf.EWNMF(3, gamma=text, **QUICK).fit(X).gamma_ == pytest.approx(factor * scale, rel=1e-12)

    @pytest.mark.parametrize("gamma", ["Auto", "x", "0x", "-1x", "1..2x", "nanx", "4", ""])
    def test_other_texts_are_refused(self, gamma: str, X: np.ndarray) -> None:
        with pytest.raises(ValueError, match="must be a positive number, 'auto', 'groups', 'self-tuned'"):
            ewnmf.EWNMF(3, gamma=gamma).fit(X)
        with pytest.raises(ValueError, match="must be a positive number"):
            ewnmf.factorize(X, 3, gamma=gamma)


class TestPath:
    def test_gammas_of_ones_own(self, X: np.ndarray) -> None:
        model = ewnmf.EWNMF(3, gamma=0.7, **QUICK)
        path = ewnmf.gamma_path(X, gammas=[0.001, 0.1, 0.01], estimator=model)
        np.testing.assert_array_equal(path.gammas, [math.inf, 0.1, 0.01, 0.001])
        np.testing.assert_allclose(path.relative * path.scale, path.gammas)
        assert model.gamma == 0.7
        assert not hasattr(model, "components_")
        usual = ewnmf.gamma_path(X, 3, **QUICK)
        np.testing.assert_array_equal(usual.scores, ewnmf.EWNMF(3, **QUICK).fit(X).gamma_path_.scores)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"relative": [1, -2]}, "relative has -2; give positive, finite numbers"),
            ({"gammas": [1, 0]}, "gammas has 0; give positive"),
            ({"gammas": [np.nan]}, "gammas has nan"),
            ({"relative": []}, "relative is empty"),
            ({"relative": ["a"]}, "must be a list of positive numbers"),
            ({"relative": [1], "gammas": [1]}, "give one of them"),
            ({"estimator": ewnmf.EWNMF(3), "tol": 0}, "set them on the estimator"),
            ({"estimator": ewnmf.NMF(3)}, "weighting='none' has no gamma to choose"),
        ],
    )
    def test_bad_grids_are_refused(self, options: Any, message: str, X: np.ndarray) -> None:
        with pytest.raises(ValueError, match=message):
            ewnmf.gamma_path(X, **options)

    def test_plot(self, X: np.ndarray) -> None:
        pytest.importorskip("matplotlib")
        model = ewnmf.EWNMF(3, **QUICK).fit(X)
        ax: Any = ewnmf.plots.gamma_path(model)
        np.testing.assert_array_equal(ax.lines[1].get_ydata(), model.gamma_path_.scores[1:])
        texts = [text.get_text() for text in ax.get_legend().get_texts()]
        assert any(text.startswith("chosen: ") for text in texts)
        plain = GammaPath(np.array([math.inf, 2.0]), np.array([math.inf, 0.2]), np.array([0.5, 0.4]), 0, 0.1, "", 9)
        ax = ewnmf.plots.gamma_path(plain)
        assert "plain NMF (chosen)" in [text.get_text() for text in ax.get_legend().get_texts()]
        with pytest.raises(ValueError, match="no scores"):
            ewnmf.plots.gamma_path(ewnmf.EWNMF(3, gamma=1.0, **QUICK).fit(X))
        with pytest.raises(ValueError, match="'exact fit'"):
            ewnmf.plots.gamma_path(GammaPath.single(math.inf, 0.0, "exact fit", 3))
