"""Points on a Dask cluster: the fits of memory, the same bits for every number of workers, and sentences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

import ewnmf
from ewnmf.estimators import checkpoints
from ewnmf.io import write_archive
from ewnmf.storage import allocator, fleet, visits
from ewnmf.storage.visits import Tree

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

QUICK: dict[str, Any] = {"max_iter": 6, "tol": 0, "random_state": 0}


@pytest.fixture(scope="module")
def X() -> Any:
    rng = np.random.default_rng(0)
    X = rng.random((400, 3)) @ rng.random((3, 12))
    X[rng.random(X.shape) < 0.02] = 3
    return X


@pytest.fixture
def D(X: Any, client: Any) -> Any:
    return da.from_array(X, chunks=(70, 12))


def _close(one: Any, other: Any, rtol: float = 1e-9) -> None:
    np.testing.assert_allclose(one.loss_curve_, other.loss_curve_, rtol=rtol)
    np.testing.assert_allclose(one.components_, other.components_, rtol=100 * rtol, atol=rtol)
    assert (one.n_iter_, one.stop_reason_) == (other.n_iter_, other.stop_reason_)


class TestFit:
    @pytest.mark.parametrize(
        "model",
        [
            ewnmf.NMF(3, **QUICK),
            ewnmf.EWNMF(3, gamma="auto", **QUICK),
            ewnmf.EWNMF(3, gamma="self-tuned", n_init=2, **QUICK),
            ewnmf.EWNMF(3, gamma=0.1, solver="accelerated", **QUICK),
            ewnmf.EWNMF(3, gamma=0.1, order="components-first", **QUICK),
            ewnmf.EWNMF(3, gamma=0.1, feature_weight=np.arange(1.0, 13), **QUICK),
            ewnmf.SemiNMF(3, weighting="entropy", gamma=0.1, **QUICK),
        ],
        ids=lambda model: type(model).__name__,
    )
    def test_a_fit_is_that_of_memory(self, model: Any, X: Any, D: Any) -> None:
        s = np.linspace(0, 2, 400)
        one, other = (type(model)(**model.get_params()).fit(x, sample_weight=s) for x in (X, D))
        _close(one, other)
        assert other.n_lost_blocks_ == 0
        assert not hasattr(one, "n_lost_blocks_")

    @pytest.mark.parametrize("gaps", [False, True])
    @pytest.mark.parametrize(("method", "of"), [("hard", "codes"), ("hard", "components"), ("soft", "codes")])
    def test_orthogonal_factors(
        self, method: str, of: str, gaps: bool, X: Any, client: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("ewnmf.kernels.select._numba_works", lambda: False)
        X = np.where(X > 2.9, np.nan, X) if gaps else X
        model, s = ewnmf.ONMF(3, method=method, of=of, **QUICK), np.linspace(0.5, 2, 400)
        one, other = (
            type(model)(**model.get_params()).fit(x, sample_weight=s) for x in (X, da.from_array(X, chunks=(150, 12)))
        )
        _close(one, other)
        np.testing.assert_allclose(other.transform(X), one.transform(X), rtol=1e-6, atol=1e-9)

    def test_another_unit(self, X: Any, D: Any) -> None:
        one, other = (ewnmf.EWNMF(3, gamma="2x", **QUICK).fit(2.0**60 * x) for x in (X, D))
        np.testing.assert_allclose(one.loss_curve_, other.loss_curve_, rtol=1e-9)

    def test_single_precision_and_whole_numbers(self, X: Any, D: Any) -> None:
        model = ewnmf.EWNMF(3, gamma=0.1, **QUICK)
        single = model.fit(D.astype(np.float32))
        assert single.components_.dtype == np.float32
        whole = ewnmf.EWNMF(3, gamma=50.0, **QUICK)
        counts = (20 * X).astype(int)
        _close(whole.fit(counts), ewnmf.EWNMF(3, gamma=50.0, **QUICK).fit(da.from_array(counts, chunks=(90, 12))))

    @pytest.mark.parametrize("weighting", ["none", "entropy"])
    def test_sparse_chunks(self, weighting: str, X: Any, client: Any) -> None:
        zeros = np.where(X > 0.9, X, 0)
        chunks = da.from_array(zeros, chunks=(100, 12)).map_blocks(sparse.csr_array)
        gamma: dict[str, Any] = {} if weighting == "none" else {"gamma": 0.1}
        model = ewnmf.EWNMF(3, weighting=weighting, **gamma, **QUICK)
        one, other = (type(model)(**model.get_params()).fit(x) for x in (sparse.csr_array(zeros), chunks))
        _close(one, other)

    def test_data_frames(self, X: Any, client: Any) -> None:
        pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
        table = dd.from_pandas(pd.DataFrame(X, columns=list("abcdefghijkl")), npartitions=3)
        one = ewnmf.EWNMF(3, gamma=0.1, **QUICK).fit(X)
        other = ewnmf.EWNMF(3, gamma=0.1, **QUICK).fit(table)
        _close(one, other)
        np.testing.assert_array_equal(other.transform(table).compute(), other.transform(X))

    def test_the_same_bits_for_every_number_of_workers(self, X: Any, D: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        two = ewnmf.EWNMF(3, gamma=0.1, **QUICK).fit(D)
        groups = fleet.Fleet._groups

        def uneven(self: Any) -> Any:
            (first, numbers), *rest = groups(self).items()
            everybody = sorted([*numbers, *(i for _, some in rest for i in some)])
            return (
                {first: everybody}
                if not rest
                else {first: everybody[::3], rest[0][0]: sorted({*everybody} - {*everybody[::3]})}
            )

        monkeypatch.setattr(fleet.Fleet, "_groups", uneven)
        other = ewnmf.EWNMF(3, gamma=0.1, **QUICK).fit(D)
        np.testing.assert_array_equal(two.components_, other.components_)
        np.testing.assert_array_equal(two.loss_curve_, other.loss_curve_)

    @pytest.mark.parametrize("solver", ["mu", "accelerated"])
    def test_lost_codes_are_made_anew(self, solver: str, X: Any, D: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        options: dict[str, Any] = {"gamma": 0.1, "solver": solver, "max_iter": 60, "tol": 0, "random_state": 0}
        memory = ewnmf.EWNMF(3, **options).fit(X)
        sweep, calls = visits.Sweep.__call__, iter(range(10**6))

        def losing(self: Any, chunk: Any) -> Any:
            if next(calls) in (100, 101):  # of 6 chunks, in the 17th iteration
                chunk.kept.clear()
            return sweep(self, chunk)

        monkeypatch.setattr(visits.Sweep, "__call__", losing)
        model = ewnmf.EWNMF(3, **options).fit(D)
        assert model.n_lost_blocks_ == 2
        assert (np.diff(model.loss_curve_) > 1e-9).sum() <= 1
        assert model.objective_ == pytest.approx(memory.objective_, abs=0.05 * abs(np.ptp(memory.loss_curve_)))

    def test_a_checkpoint_goes_on(self, X: Any, D: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        options: dict[str, Any] = {"gamma": 0.1, "max_iter": 40, "tol": 0, "random_state": 0}
        memory, write = ewnmf.EWNMF(3, **options).fit(X), write_archive

        def last(path: Any, document: Any, arrays: Any) -> None:
            write(path, document, arrays)
            if document["number"] == 20:
                raise KeyboardInterrupt

        monkeypatch.setattr(checkpoints, "write_archive", last)
        with pytest.raises(KeyboardInterrupt):
            ewnmf.EWNMF(3, **options).fit(D, checkpoint=tmp_path / "run")
        monkeypatch.setattr(checkpoints, "write_archive", write)
        model = ewnmf.EWNMF(3, **options).fit(D, checkpoint=tmp_path / "run")
        np.testing.assert_allclose(model.loss_curve_[:20], memory.loss_curve_[:20], rtol=1e-9)
        assert len(model.loss_curve_) == model.n_iter_ == 40
        assert model.objective_ <= memory.objective_ + 0.02 * np.ptp(memory.loss_curve_)

    def test_codes_do_not_gather(self, D: Any, client: Any) -> None:
        ewnmf.EWNMF(3, gamma=0.1, solver="accelerated", **QUICK).fit(D)
        most = max(len(kept) for fit in visits._FITS.values() for kept in fit.values()) if visits._FITS else 0
        assert most <= 5


def test_what_is_said_of_new_points_stays_lazy(X: Any, D: Any) -> None:
    model = ewnmf.EWNMF(3, gamma=0.1, **QUICK).fit(X)
    for method in ("transform", "weights", "trust", "repair"):
        found = getattr(model, method)(D)
        assert isinstance(found, da.Array)
        parts = np.concatenate([getattr(model, method)(X[at : at + 70]) for at in range(0, 400, 70)])
        np.testing.assert_array_equal(found.compute(), parts, err_msg=method)
    np.testing.assert_array_equal(model.fit_transform(D).compute(), model.transform(X))
    unknown = D[D[:, 0] > 0]
    assert model.transform(unknown).compute().shape == (400, 3)


def test_a_tree_is_fixed_by_its_leaves() -> None:
    for n in range(1, 40):
        rng = np.random.default_rng(n)
        values = rng.random(n)
        sums = set()
        for _ in range(6):
            owner, total = rng.integers(0, 4, n), Tree(n, float.__add__)
            for worker in range(4):
                part = Tree(n, float.__add__)
                for i in np.flatnonzero(owner == worker):
                    part.put(0, int(i), float(values[i]))
                for (level, place), (answer,) in part.nodes.items():
                    total.put(level, place, answer)
            sums.add(total.root)
        assert len(sums) == 1
        assert sums.pop() == pytest.approx(values.sum())


class TestRefusals:
    @pytest.mark.parametrize(
        ("value", "words"),
        [(np.inf, "X contains infinity"), (-1, "Negative values in data")],
    )
    def test_bad_values_are_named_by_their_place(self, value: float, words: str, X: Any, client: Any) -> None:
        bad = X.copy()
        bad[389, 7] = value
        with pytest.raises(ValueError, match=rf"{words}.*\(the first in block 5, row 389, column 7 of X \(Dask\)\)"):
            ewnmf.EWNMF(3, gamma=0.1).fit(da.from_array(bad, chunks=(70, 12)))

    def test_chunks(self, X: Any, D: Any) -> None:
        def wrong(block: Any) -> Any:
            return block[:, :5] if len(block) == 50 else block

        cases = [
            (D[D[:, 0] > 1], r"chunks of unknown size; call X\.compute_chunk_sizes\(\)"),
            (D.rechunk((70, 5)), r"cut across attributes, into 3 chunks of columns.*X\.rechunk\(\{1: -1\}\)"),
            (D[:, 0], "X has 1 dimension"),
            (D.astype(str), "numbers are needed"),
            (da.from_array(X, chunks=((70, 0, 330), (12,))), "X has no rows in block 1; leave empty blocks out"),
            (D.map_blocks(wrong, dtype=D.dtype), "X has 5 columns in block 5, but 12 by its shape"),
            (D.map_blocks(lambda b: b[:-1], dtype=D.dtype), r"X has \d9 rows in block \d, but \d0 by its chunks"),
            (D.map_blocks(lambda b: b, dtype=np.float32), r"X is of type float64 in block \d, but of float32"),
        ]
        for bad, words in cases:
            with pytest.raises(ValueError, match=words):
                ewnmf.NMF(3).fit(bad)

    def test_what_needs_all_points(self, X: Any, D: Any) -> None:
        for model, words in (
            (ewnmf.ConvexNMF(3), r"'convex-nmf' cannot be fitted on a cluster.*X\[:10000\]\.compute\(\), or a file"),
            (ewnmf.NMF(3, init="nndsvd"), "needs all of X in memory"),
            (ewnmf.NMF("cv"), "n_components='cv' hides entries of all points"),
            (ewnmf.MiniBatchEWNMF(3, gamma=0.1), "Batches cannot be taken of points on a cluster"),
            (ewnmf.NMF(3, init="custom"), "init='custom' needs codes for all points"),
        ):
            start = {"W": np.ones((400, 3)), "H": np.ones((3, 12))} if model.init == "custom" else {}
            with pytest.raises(ValueError, match=words):
                model.fit(D, **start)
        with pytest.raises(ValueError, match=r"weights was given, but X \(Dask\)"):
            ewnmf.NMF(3, weighting="fixed").fit(D, weights=X)
        with pytest.raises(TypeError, match=r"give X\.compute\(\)"):
            ewnmf.factorize(D, 3)

    def test_workers(self, D: Any, client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(fleet, "__version__", "9.9")
        with pytest.raises(RuntimeError, match=r"The worker .* has ewnmf .*, and here is 9\.9; install the same"):
            ewnmf.NMF(3).fit(D)
        monkeypatch.undo()

        def missing() -> str:
            raise ModuleNotFoundError("No module named 'ewnmf'")

        monkeypatch.setattr(visits, "version", missing)
        with pytest.raises(RuntimeError, match=r"cannot import ewnmf .*No module named 'ewnmf'.*install it there"):
            ewnmf.NMF(3).fit(D)

    def test_no_client(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def none() -> None:
            raise ValueError("No global client found")

        monkeypatch.setattr(distributed, "get_client", none)
        with pytest.raises(RuntimeError, match=r"no client of a cluster; start one with client = dist"):
            ewnmf.NMF(3).fit(da.ones((10, 3)))


def test_memory_is_kept_while_a_worker_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    """And only where Dask's nanny has told the allocator to give all of it back."""
    calls: list[tuple[int, int]] = []
    monkeypatch.setattr(allocator, "_mallopt", lambda: lambda *call: calls.append(call))
    monkeypatch.delenv("MALLOC_TRIM_THRESHOLD_", raising=False)
    with allocator.keeping_memory():
        assert calls == []
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "65536")
    with allocator.keeping_memory():
        assert calls == [(-1, 1 << 28), (-3, 1 << 25)]
    assert calls[2:] == [(-3, 1 << 17), (-1, 65536)]


@pytest.mark.parametrize("X", [np.eye(3), sparse.csr_array(np.eye(3))], ids=["dense", "sparse"])
def test_points_that_can_show_nothing_have_codes_of_0(X: Any) -> None:
    """Where no attribute but those that are 0 everywhere has weight."""
    from ewnmf.storage.remote import _unless_blind

    codes = _unless_blind(lambda points, rows: np.ones((3, 2)), np.arange(0), X, slice(None))
    np.testing.assert_array_equal(codes, 0)
