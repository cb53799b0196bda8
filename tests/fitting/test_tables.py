"""Tables of pandas and polars go in, names are kept, and a column that holds no numbers is named."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import ewnmf
from ewnmf.fitting.frames import numeric_table

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

QUICK: dict[str, Any] = {"tol": 0, "max_iter": 10, "random_state": 0}
NAMES = ["whole", "yes", "real", "gaps"]
VALUES = np.array([[3, 1, 0.5, 2], [0, 0, 1.5, np.nan], [7, 1, 2.5, 1], [2, 0, 0.1, 4], [5, 1, 3.0, 0]])
COLUMNS: dict[str, Any] = {
    "whole": VALUES[:, 0].astype(int).tolist(),
    "yes": VALUES[:, 1].astype(bool).tolist(),
    "real": VALUES[:, 2].tolist(),
    "gaps": [2, None, 1, 4, 0],
}


def tables() -> dict[str, Any]:
    nullable = pd.DataFrame(COLUMNS).astype({"whole": "UInt8", "yes": "boolean", "real": "Float64", "gaps": "Int32"})
    return {
        "pandas": pd.DataFrame(COLUMNS),
        "pandas nullable": nullable,
        "pandas objects": pd.DataFrame(COLUMNS).astype({"whole": object, "yes": object, "gaps": object}),
        "pandas arrow": nullable.convert_dtypes(dtype_backend="pyarrow"),
        "pandas sparse column": pd.DataFrame(COLUMNS).astype({"whole": pd.SparseDtype(int, 0)}),
        "pandas decimal": pd.DataFrame({**COLUMNS, "whole": [Decimal(v) for v in COLUMNS["whole"]]}),
        "polars": pl.DataFrame(COLUMNS),
        "polars small": pl.DataFrame(COLUMNS).cast({"whole": pl.UInt8, "gaps": pl.Decimal(10, 2)}),
    }


@pytest.mark.parametrize("name", list(tables()))
def test_every_kind_of_number_is_the_number(name: str) -> None:
    table = tables()[name]
    plain = ewnmf.NMF(2, **QUICK).fit(VALUES)
    model = ewnmf.NMF(2, **QUICK).fit(table)
    np.testing.assert_array_equal(model.components_, plain.components_)
    np.testing.assert_array_equal(model.transform(table), plain.transform(VALUES))
    np.testing.assert_array_equal(model.weights(table), plain.weights(VALUES))
    assert model.score(table) == plain.score(VALUES)
    assert model.feature_names_in_.tolist() == NAMES
    answer = ewnmf.factorize(table, 2, max_iter=5, rng=0)
    np.testing.assert_array_equal(answer.codes, ewnmf.factorize(VALUES, 2, max_iter=5, rng=0).codes)


def test_single_precision_stays() -> None:
    X = np.random.default_rng(0).random((8, 3)).astype(np.float32)
    frame = pd.DataFrame(X)
    assert numeric_table(frame) is frame
    assert ewnmf.NMF(2, **QUICK).fit(frame.astype("Float32")).components_.dtype == np.float32


def test_sparse_tables_stay_sparse() -> None:
    frame = pd.DataFrame(np.eye(6)).astype(pd.SparseDtype(float, 0))
    assert numeric_table(frame) is frame
    np.testing.assert_allclose(ewnmf.NMF(2, **QUICK).fit(frame).transform(frame).shape, (6, 2))


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_set_output_gives_a_table_of_the_same_rows(kind: str) -> None:
    table = tables()[kind]
    if kind == "pandas":
        table.index = list("abcde")
    model = ewnmf.EWNMF(2, **QUICK).set_output(transform=kind)
    codes = model.fit_transform(table)
    assert isinstance(codes, pd.DataFrame if kind == "pandas" else pl.DataFrame)
    assert list(codes.columns) == ["ewnmf0", "ewnmf1"] == model.get_feature_names_out().tolist()
    if kind == "pandas":
        assert codes.index.tolist() == list("abcde")
    again = model.transform(table)
    np.testing.assert_array_equal(codes.to_numpy(), again.to_numpy())
    np.testing.assert_allclose(model.inverse_transform(codes), codes.to_numpy() @ model.components_)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_columns_in_another_order_are_refused(kind: str) -> None:
    table = tables()[kind]
    model = ewnmf.NMF(2, **QUICK).fit(table)
    with pytest.raises(ValueError, match="feature names should match"):
        model.transform(table[NAMES[::-1]])


DAY = datetime.datetime(2020, 1, 2)
BAD = [
    (["a", "b"], {"pandas": "str", "polars": "String"}),
    ([DAY, DAY], {"pandas": "datetime64", "polars": "Datetime"}),
    ([DAY - DAY, DAY - DAY], {"pandas": "timedelta64", "polars": "Duration"}),
    ([[1, 2], [3]], {"pandas": r"object \(row 0 holds \[1, 2\]\)", "polars": "List"}),
]


@pytest.mark.parametrize(("values", "kinds"), BAD, ids=str)
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_columns_without_numbers_are_named(values: Any, kinds: Any, library: str) -> None:
    frame = (pd if library == "pandas" else pl).DataFrame({"fine": [1, 2], "wrong one": values})
    message = rf"^X has the column 'wrong one' of type {kinds[library]}.*; drop it, or encode it as numbers first"
    for call in (ewnmf.NMF(1).fit, ewnmf.NMF(1, **QUICK).fit(np.ones((2, 2))).transform):
        with pytest.raises(ValueError, match=message):
            call(frame)
    with pytest.raises(ValueError, match=message):
        ewnmf.factorize(frame, 1)


def test_categories_complex_numbers_and_lazy_tables() -> None:
    frame = pd.DataFrame({"c": pd.Categorical([1, 2])})
    with pytest.raises(ValueError, match=r"column 'c' of type category"):
        ewnmf.NMF(1).fit(frame)
    with pytest.raises(ValueError, match=r"column 'c' of type Categorical"):
        ewnmf.NMF(1).fit(pl.DataFrame({"c": ["a", "b"]}).cast(pl.Categorical))
    with pytest.raises(ValueError, match=r"Complex data not supported: X has the column 'z'"):
        ewnmf.NMF(1).fit(pd.DataFrame({"z": [1j, 2]}))
    with pytest.raises(TypeError, match=r"X is a polars LazyFrame.*give X\.collect\(\)\.$"):
        ewnmf.NMF(1).fit(pl.DataFrame({"a": [1.0, 2.0]}).lazy())


def test_two_columns_of_one_name() -> None:
    frame = pd.DataFrame([[1, 2.0], [3, 4.0]], columns=["a", "a"])
    np.testing.assert_array_equal(numeric_table(frame).to_numpy(), [[1, 2], [3, 4]])


@pytest.mark.parametrize("X", [[["1", "a"], ["2", "3"]], np.array([["1", "a"]]), np.array([[1.0, "a"]], dtype=object)])
def test_text_in_an_array_is_refused_with_a_sentence(X: Any) -> None:
    with pytest.raises(ValueError, match=r"X has the text 'a', and numbers are needed"):
        ewnmf.EWNMF(1).fit(X)


def test_rows_of_different_lengths_are_refused_with_a_sentence() -> None:
    with pytest.raises(ValueError, match=r"^X has rows of different lengths; give every point the same number"):
        ewnmf.EWNMF(1).fit([[1.0, 2.0], [3.0]])


def test_numbers_written_as_text_are_numbers() -> None:
    given, same = [["1", "2"], ["3", "1"]], [[1.0, 2.0], [3.0, 1.0]]
    found, expected = (ewnmf.NMF(1, random_state=0).fit_transform(X) for X in (given, same))
    np.testing.assert_array_equal(found, expected)
