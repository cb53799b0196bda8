"""A fit that was killed goes on from its checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ewnmf
from ewnmf.estimators import checkpoints
from ewnmf.io import write_archive

FIT: dict[str, Any] = {"max_iter": 40, "tol": 0, "random_state": 0}


class Killed(BaseException):
    """As by a signal."""


@pytest.fixture
def X() -> Any:
    rng = np.random.default_rng(0)
    X = rng.random((300, 3)) @ rng.random((3, 12))
    X[rng.random(X.shape) < 0.02] = 3
    return X


@pytest.fixture
def kill(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Ends a run right after the checkpoint of that iteration."""

    def at(number: int) -> None:
        write = write_archive

        def writing(path: Any, document: Any, arrays: Any) -> None:
            write(path, document, arrays)
            if document["number"] == number:
                raise Killed

        monkeypatch.setattr(checkpoints, "write_archive", writing)

    return at


@pytest.mark.parametrize(
    "model",
    [
        ewnmf.EWNMF(3, gamma=0.1, **FIT),
        ewnmf.EWNMF(3, gamma="4x", **FIT),
        ewnmf.EWNMF(3, gamma="self-tuned", **FIT),
        ewnmf.EWNMF(3, gamma=0.1, solver="accelerated", **FIT),
        ewnmf.EWNMF(3, gamma=0.1, order="components-first", **FIT),
        ewnmf.EWNMF(3, gamma=0.1, feature_weight=np.arange(1.0, 13), fixed_components=np.ones((1, 12)), **FIT),
        ewnmf.NMF(3, **FIT),
        ewnmf.SemiNMF(3, **FIT),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("unit", [1, 2.0**40])
def test_a_killed_fit_goes_on(model: Any, unit: float, X: Any, kill: Any, tmp_path: Path) -> None:
    model = type(model)(**model.get_params())
    if model.get_params().get("gamma") == 0.1:
        model.set_params(gamma=0.1 * unit**2)
    if model.fixed_components is not None:
        model.set_params(fixed_components=unit * np.ones((1, 12)))
    path = tmp_path / "run.checkpoint"
    whole = type(model)(**model.get_params()).fit(unit * X)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoints, "write_archive", write_archive)
        kill(20)
        with pytest.raises(Killed):
            model.fit(unit * X, checkpoint=path)
    assert path.exists()
    kill(-1)
    again = type(model)(**model.get_params()).fit(unit * X, checkpoint=path)
    assert not path.exists()
    assert (again.n_iter_, again.gamma_) == (whole.n_iter_, pytest.approx(whole.gamma_))
    np.testing.assert_array_equal(again.loss_curve_[:10], whole.loss_curve_[:10])
    fall = np.ptp(whole.loss_curve_)
    assert again.objective_ <= whole.objective_ + 0.02 * fall
    assert np.diff(again.loss_curve_).max() <= 0.02 * fall


def test_without_a_kill_nothing_differs(X: Any, tmp_path: Path) -> None:
    plain = ewnmf.EWNMF(3, gamma=0.1, **FIT).fit(X)
    watched = ewnmf.EWNMF(3, gamma=0.1, **FIT).fit(X, checkpoint=tmp_path / "run")
    np.testing.assert_array_equal(plain.components_, watched.components_)
    np.testing.assert_array_equal(plain.loss_curve_, watched.loss_curve_)
    assert list(tmp_path.iterdir()) == []


def test_files(X: Any, kill: Any, tmp_path: Path) -> None:
    np.save(tmp_path / "X.npy", X)
    kill(20)
    with pytest.raises(Killed):
        ewnmf.EWNMF(3, gamma=0.1, **FIT).fit(ewnmf.open_blocks(tmp_path / "X.npy"), checkpoint=tmp_path / "run")
    kill(-1)
    model = ewnmf.EWNMF(3, gamma=0.1, **FIT).fit(ewnmf.open_blocks(tmp_path / "X.npy"), checkpoint=tmp_path / "run")
    assert len(model.loss_curve_) == model.n_iter_ == 40


def test_another_problem_is_refused_and_the_file_is_intact(X: Any, kill: Any, tmp_path: Path) -> None:
    path = tmp_path / "run"
    kill(10)
    with pytest.raises(Killed):
        ewnmf.EWNMF(3, gamma=0.1, **FIT).fit(X, checkpoint=path)
    before = path.read_bytes()
    other = np.random.default_rng(1).random(X.shape)
    for model, data, words in (
        (ewnmf.EWNMF(4, gamma=0.1, **FIT), X, r"another problem \(its n_components is 3, and this one's 4\)"),
        (ewnmf.EWNMF(3, gamma=0.2, **FIT), X, r"another problem \(its gamma is 0\.1, and this one's 0\.2\)"),
        (ewnmf.NMF(3, **FIT), X, r"another problem \(its class is EWNMF, and this one's NMF\)"),
        (ewnmf.EWNMF(3, gamma=0.1, **FIT), X[:-1], r"another problem \(its shape is \[300, 12\]"),
        (ewnmf.EWNMF(3, gamma=0.1, **FIT), X.astype(np.float32), r"another problem \(its dtype is float64"),
        (ewnmf.EWNMF(3, gamma=0.1, **FIT), other, "checkpoint of other data, whose mean point differs"),
    ):
        with pytest.raises(ValueError, match=words):
            model.fit(data, checkpoint=path)
        assert path.read_bytes() == before


def test_refusals(X: Any, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="checkpoint was given, but n_init=2"):
        ewnmf.NMF(3, n_init=2).fit(X, checkpoint=tmp_path / "run")
    with pytest.raises(ValueError, match="checkpoint was given, but batches need none"):
        ewnmf.MiniBatchEWNMF(3, gamma=0.1).fit(X, checkpoint=tmp_path / "run")
    model = ewnmf.NMF(3, **FIT).fit(X)
    model.save(tmp_path / "model")
    with pytest.raises(ValueError, match="model is no checkpoint, and is left as it is"):
        model.fit(X, checkpoint=tmp_path / "model")
    (tmp_path / "damaged").write_bytes((tmp_path / "model").read_bytes()[:100])
    (tmp_path / "text").write_text("no zip")
    for name in ("damaged", "text", "."):
        with pytest.raises(ValueError, match="no checkpoint that this ewnmf can read, or a damaged one, and is left"):
            model.fit(X, checkpoint=tmp_path / name)
    assert (tmp_path / "text").read_text() == "no zip"


def test_a_full_disk_leaves_the_last_one(X: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, write, calls = tmp_path / "run", write_archive, []

    def filling(*args: Any) -> None:
        calls.append(args)
        if len(calls) == 3:
            with monkeypatch.context() as patch:
                patch.setattr("os.fsync", _full)
                write(*args)
        else:
            write(*args)

    monkeypatch.setattr(checkpoints, "write_archive", filling)
    with pytest.raises(OSError, match=r"run could not be written \(No space left on device\)"):
        ewnmf.EWNMF(3, gamma=0.1, **FIT).fit(X, checkpoint=path)
    monkeypatch.setattr(checkpoints, "write_archive", write)
    assert ewnmf.EWNMF(3, gamma=0.1, **FIT).fit(X, checkpoint=path).n_iter_ == 40


def _full(handle: int) -> None:
    raise OSError(28, "No space left on device")
