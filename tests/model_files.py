"""Small model files of every kind, packed with the codes that they give: every later version must load them.

``python -m tests.model_files NAME.tar.gz`` writes such a set; ``tests/data/models`` keeps one per format.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import tarfile
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import ewnmf
from ewnmf import losses
from ewnmf.weightings.entropy import Entropy
from ewnmf.weightings.fixed import Fixed
from ewnmf.weightings.uniform import Uniform

FOLDER = Path(__file__).parent / "data" / "models"
CODES, SINGLE = "codes.json", "single-precision"
RNG = np.random.default_rng(12)
X = np.round(RNG.random((24, 2)) @ RNG.random((2, 4)) + 0.1 * RNG.random((24, 4)) + 0.1, 3)
NEW = np.round(RNG.random((3, 4)) + 0.1, 3)
WEIGHTS = np.round(RNG.random((27, 4)) + 0.5, 2)
COMMON: dict[str, Any] = {"tol": 0, "max_iter": 6, "random_state": 0, "n_jobs": 1}
N_COMPONENTS: Any = np.int64(2)
LOSSES = ("euclidean", "kullback-leibler", "alpha")


def grid() -> Iterator[tuple[str, Any]]:
    """Every class x weighting x loss that is defined, by name."""
    for cls in (ewnmf.EWNMF, ewnmf.NMF, ewnmf.ONMF, ewnmf.ConvexNMF, ewnmf.SemiNMF):
        for weighting in ("none", "fixed", "entropy"):
            for loss in LOSSES if cls is not ewnmf.SemiNMF else ("euclidean",):
                yield f"{cls.__name__}-{weighting}-{loss}", cls(2, weighting=weighting, loss=loss, gamma=0.3, **COMMON)


def special() -> Iterator[tuple[str, Any]]:
    """Other methods, objects as parameters, ways to choose gamma and the number of components."""
    for of in ("codes", "components"):
        for method in ("hard", "soft", "lagrange", "stiefel"):
            yield f"ONMF-{method}-{of}", ewnmf.ONMF(2, method=method, of=of, **COMMON)
    for alpha in (-0.5, 1.25):
        yield f"loss-object-alpha({alpha})", ewnmf.EWNMF(2, loss=losses.Alpha(alpha), gamma=0.3, **COMMON)
    yield "loss-object-euclidean", ewnmf.NMF(2, loss=losses.Euclidean(), **COMMON)
    yield "loss-object-kullback-leibler", ewnmf.NMF(2, loss=losses.KullbackLeibler(), **COMMON)
    for weighting in (Uniform(), Fixed(), Entropy(0.5)):
        yield f"weighting-object-{weighting.name}", ewnmf.NMF(2, weighting=weighting, **COMMON)
    for gamma in ("auto", "self-tuned", "4x", float("inf"), np.float64(0.2)):
        yield f"gamma-{gamma}", ewnmf.EWNMF(2, gamma=gamma, **COMMON)
    yield "rank-cv", ewnmf.NMF("cv", **COMMON)
    yield "penalties", ewnmf.NMF(2, alpha_W=0.01, alpha_H=0.02, l1_ratio=0.5, **COMMON)
    yield "given-arrays", ewnmf.NMF(N_COMPONENTS, fixed_components=X[:1], feature_weight=[1.0, 2, 3, 4], **COMMON)


def write_set(path: Path) -> None:
    """Fit and save them all, with their codes of `NEW`."""
    codes: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, model in (*grid(), *special()):
            codes[name] = fitted(model).transform(NEW, **weights(model, WEIGHTS[len(X) :])).tolist()
            model.save(Path(folder) / f"{name}.ewnmf")
        single = ewnmf.EWNMF(2, gamma=0.3, **COMMON).fit(X.astype(np.float32))
        codes[SINGLE] = single.transform(NEW.astype(np.float32)).tolist()
        single.save(Path(folder) / f"{SINGLE}.ewnmf")
        (Path(folder) / CODES).write_text(json.dumps(codes), encoding="utf-8")
        _pack(Path(folder), path)


def fitted(model: Any) -> Any:
    """The model after `fit`."""
    return model.fit(X, **weights(model, WEIGHTS[: len(X)]))


def weights(model: Any, given: Any) -> dict[str, Any]:
    """The weights that a model with fixed ones takes."""
    return {"weights": given} if getattr(model.weighting, "name", model.weighting) == "fixed" else {}


def _pack(folder: Path, path: Path) -> None:
    """A tar.gz without dates and owners: the same files give the same bytes."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for file in sorted(folder.iterdir()):
            member = tarfile.TarInfo(file.name)
            member.size = file.stat().st_size
            with file.open("rb") as content:
                archive.addfile(member, content)
    path.write_bytes(gzip.compress(stream.getvalue(), mtime=0))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("archive", type=Path)
    write_set(parser.parse_args().archive)
