"""Arrays that are not plain: masked ones, those of other libraries, and those that are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ewnmf
from ewnmf.fitting.frames import numeric_table

QUICK: dict[str, Any] = {"tol": 0, "max_iter": 10, "random_state": 0}
RNG = np.random.default_rng(3)
X = RNG.random((20, 3)) @ RNG.random((3, 8)) + 0.1
HIDDEN = RNG.random(X.shape) < 0.15
HIDDEN[4] = True
GAPS = np.where(HIDDEN, np.nan, X)
MASKED = np.ma.array(np.where(HIDDEN, 1e9, X), mask=HIDDEN)


@pytest.mark.filterwarnings("ignore:.*without an observed entry:UserWarning")
class TestMasked:
    @pytest.mark.parametrize("cls", [ewnmf.EWNMF, ewnmf.NMF, ewnmf.SemiNMF, ewnmf.ONMF])
    def test_masked_entries_are_missing(self, cls: Any) -> None:
        model, plain = cls(3, **QUICK).fit(MASKED), cls(3, **QUICK).fit(GAPS)
        np.testing.assert_array_equal(model.components_, plain.components_)
        for method in ("transform", "weights", "score"):
            np.testing.assert_array_equal(getattr(model, method)(MASKED), getattr(plain, method)(GAPS))
        np.testing.assert_array_equal(cls(3, **QUICK).fit_transform(MASKED), plain.transform(GAPS))

    def test_in_functions(self) -> None:
        one, other = (ewnmf.factorize(data, 3, gamma=0.1, max_iter=5, rng=0) for data in (MASKED, GAPS))
        np.testing.assert_array_equal(one.codes, other.codes)
        np.testing.assert_array_equal(one.weights(), other.weights())
        paths = [ewnmf.gamma_path(data, 3, **QUICK) for data in (MASKED, GAPS)]
        np.testing.assert_array_equal(paths[0].scores, paths[1].scores)

    def test_with_nan_and_a_mask(self) -> None:
        seen = RNG.random(X.shape) > 0.1
        both = MASKED.copy()
        both.data[0, 0] = np.nan
        gaps = GAPS.copy()
        gaps[0, 0] = np.nan
        gaps[~seen] = np.nan
        mine = ewnmf.EWNMF(3, gamma=0.1, **QUICK).fit(both, mask=seen)
        np.testing.assert_array_equal(mine.components_, ewnmf.EWNMF(3, gamma=0.1, **QUICK).fit(gaps).components_)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16, np.uint8, bool, object])
    def test_types(self, dtype: Any) -> None:
        table = numeric_table(np.ma.array(np.ones((2, 2), dtype), mask=[[False, True], [False, False]]))
        assert type(table) is np.ndarray
        assert table.dtype == (dtype if dtype in (np.float32, object) else np.float64)
        np.testing.assert_array_equal(table.astype(float), [[1, np.nan], [1, 1]])

    def test_what_is_masked_may_be_anything(self) -> None:
        words = np.ma.array([["1", "none"], ["2", "3"]], mask=[[False, True], [False, False]])
        np.testing.assert_array_equal(numeric_table(words).astype(float), [[1, np.nan], [2, 3]])
        with pytest.raises(ValueError, match="X has the text 'none'"):
            numeric_table(np.ma.array(words.data))

    def test_nothing_masked(self) -> None:
        table = numeric_table(np.ma.array(X))
        assert type(table) is np.ndarray
        assert np.shares_memory(table, X)

    def test_rows(self) -> None:
        np.testing.assert_array_equal(numeric_table(list(MASKED)), GAPS)
        np.testing.assert_array_equal(numeric_table([MASKED[0], X[1]]), [GAPS[0], X[1]])

    def test_the_given_array_stays(self) -> None:
        before = MASKED.copy()
        ewnmf.NMF(3, **QUICK).fit(MASKED)
        np.testing.assert_array_equal(MASKED.data, before.data)
        np.testing.assert_array_equal(MASKED.mask, before.mask)

    def test_a_model_that_needs_complete_data(self) -> None:
        with pytest.raises(ValueError, match=r"but model='convex-nmf' needs complete data"):
            ewnmf.ConvexNMF(2).fit(MASKED)

    @pytest.mark.parametrize(
        ("parameters", "given_to_fit", "name"),
        [
            ({}, {"sample_weight": np.ma.array(np.ones(20), mask=np.arange(20) < 1)}, "sample_weight"),
            ({"weighting": "fixed"}, {"weights": MASKED}, "weights"),
            ({}, {"mask": np.ma.array(~HIDDEN, mask=HIDDEN)}, "mask"),
            ({"feature_weight": np.ma.array(np.ones(8), mask=np.arange(8) < 1)}, {}, "feature_weight"),
            ({"fixed_components": MASKED[:1]}, {}, "fixed_components"),
            ({"init": "custom"}, {"W": X[:, :3], "H": MASKED[:3]}, "components"),
        ],
    )
    def test_elsewhere_every_number_is_needed(self, parameters: Any, given_to_fit: Any, name: str) -> None:
        with pytest.raises(ValueError, match=rf"{name} is masked in \d+ of its values; give numbers for all"):
            ewnmf.NMF(3, **QUICK, **parameters).fit(X, **given_to_fit)


class _Kind:
    """What a library of its own calls a type of numbers."""

    def __init__(self, name: str) -> None:
        self.name = name


class _Standard:
    """An array that follows the array API standard and is no array of NumPy."""

    def __init__(self, values: np.ndarray) -> None:
        self._values = values
        self.dtype, self.shape, self.ndim = _Kind(values.dtype.name), values.shape, values.ndim

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        return np


class _Readable(_Standard):
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self._values.astype(dtype or self._values.dtype)


class _Exchanged(_Standard):
    def __dlpack__(self, **given: Any) -> Any:
        return self._values.__dlpack__(**given)

    def __dlpack_device__(self) -> Any:
        return self._values.__dlpack_device__()


class _Elsewhere(_Standard):
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        raise TypeError("Can't convert cuda:0 device type tensor to numpy")


@pytest.mark.parametrize("kind", [_Readable, _Exchanged])
def test_arrays_of_the_standard(kind: Any) -> None:
    plain, model = ewnmf.NMF(3, **QUICK).fit(X), ewnmf.NMF(3, **QUICK).fit(kind(X))
    np.testing.assert_array_equal(model.components_, plain.components_)
    np.testing.assert_array_equal(model.transform(kind(X)), plain.transform(X))
    np.testing.assert_array_equal(
        ewnmf.factorize(kind(X), 3, max_iter=3, rng=0).codes, ewnmf.factorize(X, 3, max_iter=3, rng=0).codes
    )
    s = RNG.uniform(1, 2, 20)
    np.testing.assert_array_equal(
        ewnmf.NMF(3, **QUICK).fit(X, sample_weight=kind(s)).components_,
        ewnmf.NMF(3, **QUICK).fit(X, sample_weight=s).components_,
    )
    assert ewnmf.NMF(3, **QUICK).fit(kind(X.astype(np.float32))).components_.dtype == np.float32


@pytest.mark.parametrize("kind", [_Standard, _Elsewhere])
def test_arrays_that_numpy_cannot_read(kind: Any) -> None:
    with pytest.raises(
        TypeError, match=rf"X is a .*{kind.__name__}, whose values NumPy cannot read .*give a NumPy array"
    ):
        ewnmf.NMF(3).fit(kind(X))


@pytest.mark.parametrize(
    ("module", "name", "way_out"),
    [
        ("dask.array.core", "Array", r"Dask collection.*give X\.compute\(\)"),
        ("dask.dataframe.dask_expr._collection", "DataFrame", r"Dask collection.*give X\.compute\(\)"),
        ("dask_expr._collection", "DataFrame", r"Dask collection.*give X\.compute\(\)"),
        ("zarr.core.array", "Array", r"Zarr array, .*give X\[:\]"),
        ("zarr.core", "Array", r"Zarr array, .*give X\[:\]"),
    ],
)
def test_what_is_read_block_by_block_elsewhere(module: str, name: str, way_out: str) -> None:
    kind = type(name, (_Readable,), {"__module__": module, "__len__": lambda self: len(self._values)})
    own = type("Mine", (kind,), {"__module__": "mine"})
    for data in (kind(X), own(X)):
        for fit in (ewnmf.NMF(3).fit, lambda data: ewnmf.factorize(data, 3)):
            with pytest.raises(TypeError, match=f"X is a {way_out}"):
                fit(data)
        with pytest.raises(TypeError, match="sample_weight is a "):
            ewnmf.NMF(3).fit(X, sample_weight=data)
