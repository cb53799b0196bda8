"""Model files of every format, made once and kept: they load, and give the codes that they gave then."""

from __future__ import annotations

import functools
import json
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ewnmf
from ewnmf.estimators import registry
from ewnmf.io import read_archive
from ewnmf.io.archive import VERSION
from tests.model_files import CODES, FOLDER, NEW, SINGLE, WEIGHTS, X, grid, special, weights, write_set

FORMATS = (1, 2)
NAMES = [name for name, _ in (*grid(), *special())]
OBJECTS = {
    "loss:euclidean",
    "loss:kullback-leibler",
    "loss:alpha",
    "model:nmf",
    "model:semi-nmf",
    "model:convex-nmf",
    "model:orthogonal-nmf",
    "weighting:none",
    "weighting:fixed",
    "weighting:entropy",
    "problem",
    "facts",
    "gamma path",
    "rank path",
}
"""What files of format 2 call their objects, for good."""


@functools.cache
def unpacked(version: int, folder: Path) -> Path:
    target = folder / f"format-{version}"
    with tarfile.open(FOLDER / f"format-{version}.tar.gz") as archive:
        for member in archive.getmembers():
            content = archive.extractfile(member)
            assert content is not None
            target.mkdir(exist_ok=True)
            (target / member.name).write_bytes(content.read())
    return target


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("models")


def loads_and_encodes(file: Path) -> None:
    name = file.name.removesuffix(".ewnmf")
    model = ewnmf.load(file)
    expected = json.loads((file.parent / CODES).read_text(encoding="utf-8"))[name]
    points = NEW.astype(np.float32) if name == SINGLE else NEW
    given = weights(model, WEIGHTS[len(X) :])
    codes = model.transform(points, **given)
    if model._fitted_problem.loss.quadratic and not np.allclose(codes, expected, rtol=1e-4):
        new, kept = (_excess(model, points, each, **given) for each in (codes, np.asarray(expected)))
        assert (new <= (1 + 1e-5) * kept + 1e-9).all()  # codes of today's solver, which goes on where that one stopped
    else:
        np.testing.assert_allclose(codes, expected, rtol=1e-4 if name == SINGLE else 1e-7, atol=1e-12)


def _excess(model: Any, points: Any, codes: Any, weights: Any = None) -> Any:
    """What is minimised over the codes of every point, but for penalties."""
    problem, P = model._fitted_problem, np.ones(points.shape) if weights is None else np.asarray(weights)
    if model.feature_weight is not None:
        P = P * model.feature_weight
    strength, share = getattr(model, "alpha_W", 0.0), getattr(model, "l1_ratio", 0.0)
    linear, ridge = strength * share, strength * (1 - share)
    penalty = points.shape[1] * (linear * codes.sum(axis=1) + ridge / 2 * np.square(codes).sum(axis=1))
    D = problem.loss.divergence(points.T.astype(float), (codes @ model.components_).T.astype(float))
    return problem.weighting.evaluate(D, P.T).E + 2 * penalty


@pytest.mark.parametrize("name", [*NAMES, SINGLE])
@pytest.mark.parametrize("version", FORMATS)
def test_a_kept_file_gives_the_codes_it_gave(folder, version, name):
    file = unpacked(version, folder) / f"{name}.ewnmf"
    assert read_archive(file)[0]["version"] == version
    loads_and_encodes(file)


def test_there_is_a_set_of_every_format():
    assert FORMATS[-1] == VERSION
    assert sorted(path.name for path in FOLDER.iterdir()) == [f"format-{version}.tar.gz" for version in FORMATS]


def objects(code: Any) -> Iterator[str]:
    """The names of all objects in a document."""
    if isinstance(code, dict) and isinstance(code.get("object"), str):
        yield code["object"]
    if isinstance(code, dict | list):
        for item in code.values() if isinstance(code, dict) else code:
            yield from objects(item)


def test_names_of_objects_stay(folder):
    found = {name for file in unpacked(2, folder).glob("*.ewnmf") for name in objects(read_archive(file)[0])}
    assert found == OBJECTS
    assert OBJECTS < set(registry._classes())


def test_a_file_does_not_depend_on_what_a_module_imports(folder, monkeypatch):
    file = unpacked(1, folder) / "EWNMF-entropy-euclidean.ewnmf"
    assert "choosing.Entropy" in set(objects(read_archive(file)[0]))
    for module in ("choosing.gamma", "choosing.rank", "models"):
        for name in ("Entropy", "Problem", "Facts"):
            monkeypatch.delattr(sys.modules[f"ewnmf.{module}"], name, raising=False)
    loads_and_encodes(file)


def test_a_set_made_now_can_be_read(tmp_path):
    write_set(tmp_path / f"format-{VERSION}.tar.gz")
    with tarfile.open(tmp_path / f"format-{VERSION}.tar.gz") as archive:
        assert len(archive.getnames()) == len(NAMES) + 2
