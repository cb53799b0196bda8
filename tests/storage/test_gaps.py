"""Missing values of points that are not in memory: the fits of memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import ewnmf
from ewnmf.estimators import checkpoints
from ewnmf.io import write_archive
from ewnmf.losses.beta import Beta
from ewnmf.weightings.registry import WEIGHTINGS, with_gamma

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

QUICK: dict[str, Any] = {"max_iter": 4, "tol": 0, "random_state": 0}


@pytest.fixture(autouse=True)
def _reference(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the reference, which compiles nothing, and in small blocks: what differs is where points and codes are."""
    monkeypatch.setattr("ewnmf.kernels.select._numba_works", lambda: False)
    monkeypatch.setattr("ewnmf.storage.dense._BLOCK_ENTRIES", 16 * 16)
    monkeypatch.setattr("ewnmf.storage.dense._HIGH_ENTRIES", 64 * 9)


@pytest.fixture(scope="module")
def X() -> Any:
    """Of 130 points one has nothing and one only a zero; two attributes are hardly there, one not at all."""
    rng = np.random.default_rng(0)
    X = rng.random((130, 3)) @ rng.random((3, 9)) + 0.01
    X[rng.random(X.shape) < 0.02] = 3
    X[rng.random(X.shape) < 0.15] = np.nan
    X[77] = np.nan
    X[:, 4] = np.nan
    X[:, 5] = np.where(np.isnan(X[:, 5]), np.nan, 0)
    X[20] = np.nan
    X[20, 5] = 0
    X[1:, 6] = np.nan
    X[0, 6] = 2
    return X


def _fits(model: Any, X: Any, path: Path, **options: Any) -> list[Any]:
    """In memory, from a file and on the cluster."""
    np.save(path / "X.npy", X)
    n, m = X.shape
    stored = ewnmf.open_blocks(path / "X.npy"), da.from_array(X, chunks=(n // 3, m))
    return [type(model)(**model.get_params()).fit(data, **options) for data in (X, *stored)]


def _same(fits: list[Any], rtol: float = 1e-9) -> None:
    memory, *others = fits
    for other in others:
        np.testing.assert_allclose(other.loss_curve_, memory.loss_curve_, rtol=rtol)
        np.testing.assert_allclose(other.components_, memory.components_, rtol=100 * rtol, atol=rtol)
        assert (other.gamma_ is None) == (memory.gamma_ is None)


@pytest.mark.filterwarnings("ignore:.*without an observed entry", "ignore:1 point has no entry that is both observed")
class TestFits:
    @pytest.mark.parametrize("weighting", WEIGHTINGS)
    @pytest.mark.parametrize("loss", ["euclidean", "kullback-leibler"])
    def test_every_weighting(self, loss: str, weighting: str, X: Any, client: Any, tmp_path: Path) -> None:
        gamma: dict[str, Any] = {"gamma": 0.1} if weighting in with_gamma() else {}
        _same(_fits(ewnmf.EWNMF(2, loss=loss, weighting=weighting, **gamma, **QUICK), X, tmp_path))

    def test_a_loss_that_needs_positive_values(self, X: Any, client: Any, tmp_path: Path) -> None:
        positive = np.where(X == 0, 0.5, X)
        _same(_fits(ewnmf.EWNMF(2, loss=Beta(-0.5), gamma=0.1, **QUICK), positive, tmp_path))

    @pytest.mark.parametrize(
        "model",
        [
            ewnmf.EWNMF(2, gamma="auto", **QUICK),
            ewnmf.EWNMF(2, gamma="self-tuned", feature_weight=[1.0, 2, 0, 1, 1, 1, 1, 3, 1], n_init=2, **QUICK),
            ewnmf.EWNMF(2, gamma=0.1, solver="accelerated", order="components-first", **QUICK),
            ewnmf.SemiNMF(2, **QUICK),
        ],
        ids=lambda model: f"{type(model).__name__} {model.gamma}",
    )
    def test_ways(self, model: Any, X: Any, client: Any, tmp_path: Path) -> None:
        s = np.linspace(0, 2, 130)
        _same(_fits(model, X, tmp_path, sample_weight=s))

    def test_another_unit_in_single_precision(self, X: Any, client: Any, tmp_path: Path) -> None:
        large = (2.0**40 * X).astype(np.float32)
        _same(_fits(ewnmf.EWNMF(2, gamma="4x", **QUICK), large, tmp_path), rtol=1e-4)

    def test_fixed_weights_beside_a_file(self, X: Any, tmp_path: Path) -> None:
        np.save(tmp_path / "X.npy", X)
        model, A = ewnmf.NMF(2, weighting="fixed", **QUICK), 0.1 + np.abs(np.nan_to_num(X))
        memory, file = (model.fit(data, weights=A).loss_curve_ for data in (X, ewnmf.open_blocks(tmp_path / "X.npy")))
        np.testing.assert_array_equal(file, memory)

    def test_batches_of_a_file(self, X: Any, tmp_path: Path) -> None:
        np.save(tmp_path / "X.npy", X)
        model = ewnmf.MiniBatchEWNMF(2, gamma=0.1, batch_size=48, **QUICK)
        memory, file = (model.fit(data).loss_curve_ for data in (X, ewnmf.open_blocks(tmp_path / "X.npy")))
        np.testing.assert_array_equal(file, memory)

    def test_a_checkpoint_goes_on(self, X: Any, client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        model = ewnmf.EWNMF(2, gamma=0.1, **{**QUICK, "max_iter": 10})
        memory = model.fit(X).loss_curve_

        def last(path: Any, document: Any, arrays: Any) -> None:
            write_archive(path, document, arrays)
            raise KeyboardInterrupt

        np.save(tmp_path / "X.npy", X)
        for data in (ewnmf.open_blocks(tmp_path / "X.npy"), da.from_array(X, chunks=(50, 9))):
            monkeypatch.setattr(checkpoints, "write_archive", last)
            with pytest.raises(KeyboardInterrupt):
                model.fit(data, checkpoint=tmp_path / "run")
            monkeypatch.setattr(checkpoints, "write_archive", write_archive)
            curve = model.fit(data, checkpoint=tmp_path / "run").loss_curve_
            np.testing.assert_allclose(curve[:5], memory[:5], rtol=1e-9)
            assert curve[-1] <= memory[-1] + 0.02 * np.ptp(memory)

    def test_a_mask_hides_as_missing_values_do(self, X: Any, client: Any, tmp_path: Path) -> None:
        whole, mask = np.where(np.isnan(X), 1e9, X), ~np.isnan(X)
        memory = ewnmf.EWNMF(2, gamma=0.1, **QUICK).fit(whole, mask=mask)
        np.save(tmp_path / "X.npy", whole)
        np.save(tmp_path / "mask.npy", mask)
        D, blocks = da.from_array(whole, chunks=(50, 9)), ewnmf.open_blocks(tmp_path / "X.npy")
        hidden = da.from_array(mask, chunks=(130, 3))
        for data, shown in (
            (blocks, mask),
            (blocks, ewnmf.open_blocks(tmp_path / "mask.npy")),
            (blocks, np.load(tmp_path / "mask.npy", mmap_mode="r")),
            (D, mask),
            (D, hidden),
        ):
            model = ewnmf.EWNMF(2, gamma=0.1, **QUICK).fit(data, mask=shown)
            _same([memory, model])
        for name in ("transform", "weights", "trust", "repair"):
            expected = getattr(memory, name)(X)
            np.testing.assert_array_equal(np.asarray(getattr(memory, name)(blocks, mask=mask))[:64], expected[:64])
            np.testing.assert_array_equal(getattr(memory, name)(D, mask=hidden).compute().shape, expected.shape)
        assert memory.score(blocks, mask=mask) == pytest.approx(memory.score(X))
        assert memory.score(D, mask=mask) == pytest.approx(memory.score(X))
        np.testing.assert_array_equal(memory.fit_transform(D, mask=mask).compute(), memory.transform(X))

    def test_partial_fit(self, X: Any, client: Any, tmp_path: Path) -> None:
        D = da.from_array(np.nan_to_num(X), chunks=(65, 9))
        model = ewnmf.EWNMF(2, gamma=0.1, **QUICK).partial_fit(D, mask=~np.isnan(X))
        other = ewnmf.EWNMF(2, gamma=0.1, **QUICK).partial_fit(X[:65]).partial_fit(X[65:])
        np.testing.assert_array_equal(model.components_, other.components_)
        assert model.n_steps_ == 2


class TestRefusals:
    def test_masks(self, X: Any, client: Any, tmp_path: Path) -> None:
        whole = np.nan_to_num(X)
        np.save(tmp_path / "X.npy", whole)
        D, blocks = da.from_array(whole, chunks=(50, 9)), ewnmf.open_blocks(tmp_path / "X.npy")
        thin = D.map_blocks(sparse.csr_array)
        model = ewnmf.NMF(2, **QUICK)
        for data, mask, words in (
            (blocks, np.ones((130, 8)), r"mask has shape \(130, 8\), but X has shape \(130, 9\)"),
            (D, np.ones((130, 8)), r"mask has shape \(130, 8\), but X has shape \(130, 9\)"),
            (D, da.ones((129, 9)), r"mask has shape \(129, 9\), but X has shape \(130, 9\)"),
            (blocks, 2 + whole, "mask has values other than True and False"),
            (D, 2 + whole, "mask has values other than True and False"),
            (thin, np.ones((130, 9)), "mask was given, but X has sparse chunks"),
            (D[D[:, 0] >= 0], np.ones((130, 9)), "mask is an array, and X has chunks of unknown size"),
        ):
            with pytest.raises(ValueError, match=words):
                model.fit(data, mask=mask)
        holes = D.map_blocks(lambda chunk: sparse.csr_array(np.where(chunk > 2, np.nan, chunk)))
        with pytest.raises(ValueError, match="X has sparse chunks and contains NaN"):
            model.fit(holes)
        with pytest.raises(ValueError, match="sample_weight was given, but the blocks of a Dask array are batches"):
            model.partial_fit(D, sample_weight=np.ones(130))

    def test_models_that_need_all_entries(self, X: Any, client: Any, tmp_path: Path) -> None:
        bad = np.nan_to_num(X)
        bad[100, 7] = np.nan
        np.save(tmp_path / "X.npy", bad)
        with pytest.raises(
            ValueError, match=r"X contains NaN \(the first in block 1, row 100, column 7 of .*complete data"
        ):
            ewnmf.ConvexNMF(2).fit(ewnmf.open_blocks(tmp_path / "X.npy"))

    def test_nothing_at_all(self, client: Any, tmp_path: Path) -> None:
        np.save(tmp_path / "X.npy", np.full((20, 3), np.nan))
        for data in (ewnmf.open_blocks(tmp_path / "X.npy"), da.full((20, 3), np.nan, chunks=(10, 3))):
            with pytest.raises(ValueError, match="X has no observed entry of positive weight"):
                ewnmf.NMF(2).fit(data)


@pytest.mark.filterwarnings("ignore:.*without an observed entry", "ignore:1 point has no entry that is both observed")
class TestRepairer:
    def test_files_and_dask_arrays(self, X: Any, client: Any, tmp_path: Path) -> None:
        """Ranges, model and calibration are those of memory; what is judged are blocks."""
        Y = 50 * np.delete(X, 4, axis=1) - 20
        Y[5] = 7
        np.save(tmp_path / "Y.npy", Y)
        how: dict[str, Any] = {"gamma": "4x", "max_iter": 5, "random_state": 0}
        memory = ewnmf.Repairer(2, **how).fit(Y)
        blocks, D = ewnmf.open_blocks(tmp_path / "Y.npy"), da.from_array(Y, chunks=(64, 8))
        for data in (blocks, D):
            model = ewnmf.Repairer(2, **how).fit(data)
            np.testing.assert_array_equal(model.low_, memory.low_)
            np.testing.assert_allclose(model.model_.components_, memory.model_.components_, rtol=1e-7, atol=1e-9)
            assert model.n_features_in_ == 8
            for name, expected in (
                ("transform", memory.transform(Y[:64])),
                ("repair", memory.repair(Y[:64])),
                ("trust", memory.trust(Y[:64])),
            ):
                found = getattr(model, name)(data)
                assert type(found) is (type(blocks) if data is blocks else type(D))
                np.testing.assert_allclose(np.asarray(found[:64]), expected, rtol=1e-6, atol=1e-8, err_msg=name)
        with pytest.raises(ValueError, match=r"X contains infinity \(inf\) \(the first in block 0, row 5, column 0"):
            ewnmf.Repairer(2).fit(da.where(D == 7, np.inf, D))
        with pytest.raises(ValueError, match="X has 4 features, but Repairer is expecting 8"):
            memory.transform(D[:, :4])

    def test_columns_by_a_sample(self, X: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("ewnmf.estimators.repairer._SAMPLED", 60 * 9)
        np.save(tmp_path / "X.npy", X)
        model = ewnmf.Repairer(2, gamma="4x", max_iter=5, random_state=0).fit(ewnmf.open_blocks(tmp_path / "X.npy"))
        assert np.isfinite(np.asarray(model.transform(ewnmf.open_blocks(tmp_path / "X.npy")))).all()
