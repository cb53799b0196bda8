"""Missing values through files and the command, and models on disk that know of weights, penalties and fixed parts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ewnmf
from ewnmf.datasets import scale_points

rng = np.random.default_rng(0)
COMPLETE = 10 * rng.random((12, 2)) @ rng.random((2, 6)) + 1
GAPS = np.where(rng.random(COMPLETE.shape) < 0.25, np.nan, COMPLETE)
OPTIONS = ["-k", "2", "--max-iter", "30", "--tol", "0", "--seed", "0", "--gamma", "1"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The table with gaps: empty cells."""
    rows = [",".join("" if np.isnan(value) else repr(float(value)) for value in row) for row in GAPS]
    path = tmp_path / "gaps.csv"
    path.write_text("a,b,c,d,e,f\n" + "\n".join(rows) + "\n")
    return path


def read(path: Path) -> Any:
    return np.genfromtxt(path, delimiter=",", skip_header=1)


def fitted(X: Any, **parameters: Any) -> Any:
    return ewnmf.EWNMF(2, max_iter=30, tol=0, random_state=0, gamma=1.0, **parameters).fit(X)


def test_empty_cells_reach_the_estimator(file: Path, run: Any, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run("fit", file, *OPTIONS, "-o", out)
    expected = fitted(GAPS)
    np.testing.assert_array_equal(read(out / "components.csv")[:, 1:], expected.components_)
    np.testing.assert_array_equal(read(out / "codes.csv"), expected.transform(GAPS))
    weights = read(out / "weights.csv")
    np.testing.assert_array_equal(weights, expected.weights(GAPS))
    assert np.all(weights[np.isnan(GAPS)] == 0)
    summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    assert summary["input"]["missing"] == np.isnan(GAPS).sum()
    output = run("transform", out, file, "--fill")
    (tmp_path / "filled.csv").write_text(output.out)
    guess = expected.inverse_transform(expected.transform(GAPS))
    np.testing.assert_array_equal(read(tmp_path / "filled.csv"), np.where(np.isnan(GAPS), guess, GAPS))
    assert output.out.splitlines()[0].replace('"', "") == "a,b,c,d,e,f"


def test_scaled_points_are_filled_in_their_own_unit(file: Path, run: Any, tmp_path: Path) -> None:
    out, filled = tmp_path / "out", tmp_path / "filled.npy"
    run("fit", file, *OPTIONS, "--scale", "-o", out)
    scaled = scale_points(GAPS)
    np.testing.assert_array_equal(read(out / "codes.csv"), fitted(scaled).transform(scaled))
    said = run("transform", out, file, "--fill", "-o", filled)
    assert said.out.endswith("filled.npy: 12 x 6 points\n")
    there, answer = ~np.isnan(GAPS), np.load(filled)
    np.testing.assert_array_equal(answer[there], GAPS[there])
    model = fitted(scaled)
    low, high = np.nanmin(GAPS, axis=1, keepdims=True), np.nanmax(GAPS, axis=1, keepdims=True)
    guess = model.inverse_transform(model.transform(scaled)) * (high - low) + low
    np.testing.assert_allclose(answer, np.where(there, GAPS, guess), rtol=1e-12)


def test_what_the_command_refuses(file: Path, run: Any, tmp_path: Path) -> None:
    said = run("fit", file, *OPTIONS[:-2], "--model", "convex-nmf", "-o", tmp_path / "out", code=2)
    assert "needs complete data" in said.err
    assert len(said.err.splitlines()) == 1
    thin = tmp_path / "thin.mtx"
    thin.write_text("%%MatrixMarket matrix coordinate real general\n12 6 2\n1 1 2.0\n2 2 nan\n")
    said = run("fit", thin, *OPTIONS, "-o", tmp_path / "out", code=2)
    assert "sparse and contains NaN" in said.err
    run("fit", file, *OPTIONS, "-o", tmp_path / "out")
    thin.write_text("%%MatrixMarket matrix coordinate real general\n12 6 2\n1 1 2.0\n2 2 1.0\n")
    said = run("transform", tmp_path / "out", thin, "--fill", code=2)
    assert "--fill needs a table in memory with a cell for every entry" in said.err


@pytest.mark.parametrize(
    "parameters",
    [
        {"feature_weight": np.linspace(0.5, 2, 6)},
        {"feature_weight": [1.0, 2.0, 1.0, 1.0, 0.0, 1.0]},
        {"fixed_components": rng.random((1, 6))},
        {"alpha_W": 0.01, "alpha_H": 0.02, "l1_ratio": 0.5},
        {"alpha_W": 0.01, "fixed_components": rng.random((2, 6)).tolist(), "feature_weight": 2.0},
    ],
    ids=lambda parameters: " ".join(parameters),
)
def test_saved_models_know_their_parameters_to_the_bit(parameters: dict[str, Any], tmp_path: Path) -> None:
    model = fitted(GAPS, **parameters)
    model.save(tmp_path / "model.ewnmf")
    again = ewnmf.load(tmp_path / "model.ewnmf")
    empty = GAPS.copy()
    empty[3] = np.nan
    with pytest.warns(UserWarning, match="mean point"):
        expected = model.transform(empty)
    with pytest.warns(UserWarning, match="mean point"):
        np.testing.assert_array_equal(again.transform(empty), expected)
    np.testing.assert_array_equal(again.weights(GAPS), model.weights(GAPS))
    assert again.score(GAPS) == model.score(GAPS)
    refitted = again.fit(GAPS)
    np.testing.assert_array_equal(refitted.components_, model.components_)


def test_the_command_takes_penalties(file: Path, run: Any, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run("fit", file, *OPTIONS, "--alpha-w", "0.1", "--alpha-h", "same", "--l1-ratio", "0.5", "-o", out)
    expected = fitted(GAPS, alpha_W=0.1, l1_ratio=0.5)
    np.testing.assert_array_equal(read(out / "components.csv")[:, 1:], expected.components_)
