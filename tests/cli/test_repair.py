"""``ewnmf repair``: any file in, the same without its damage out."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from scipy import io as scipy_io
from scipy import sparse

import ewnmf
from ewnmf import io
from ewnmf.cli import main
from ewnmf.datasets import make_damage, make_sensors, make_spectra
from ewnmf.io import Layout
from ewnmf.io.rewriting import Depth

QUICK = ["-k", "3", "--gamma", "4x", "--max-iter", "60", "--tol", "0"]
CLEAN, NAMES = make_sensors(60, 8, n_sources=3, noise=0.02, return_names=True, random_state=0)
DAMAGED = make_damage(CLEAN, "saturated", random_state=1)[0]


def read_table(path: Path, layout: Layout | None = None) -> Any:
    return io.read_table(path, layout)


def expected(X: Any = DAMAGED, **parameters: Any) -> Any:
    return ewnmf.Repairer(3, gamma="4x", max_iter=60, tol=0, random_state=0, **parameters).fit(X)


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, Path]:
    """The damaged table in every form."""
    import pyarrow as pa
    from pyarrow import parquet

    folder = tmp_path_factory.mktemp("tables")
    found = {kind: folder / f"plant.{kind}" for kind in ("csv", "csv.gz", "tsv", "parquet", "npy", "npz", "mtx", "mat")}
    rows = "\n".join(",".join(map(repr, row)) for row in DAMAGED.tolist())
    text = f"{','.join(NAMES)}\n{rows}\n"
    found["csv"].write_text(text)
    found["csv.gz"].write_bytes(gzip.compress(text.encode(), mtime=0))
    found["tsv"].write_text(text.replace(",", "\t"))
    parquet.write_table(pa.table(dict(zip(NAMES, DAMAGED.T, strict=True))), found["parquet"])
    np.save(found["npy"], DAMAGED)
    np.savez(found["npz"], X=DAMAGED)
    scipy_io.mmwrite(found["mtx"], sparse.coo_matrix(DAMAGED), precision=17)
    scipy_io.savemat(found["mat"], {"X": DAMAGED})
    return found


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "tsv", "parquet", "npy", "npz", "mtx", "mat"])
def test_the_same_form_comes_out(kind, files, tmp_path):
    output = tmp_path / f"clean.{kind}"
    assert main(["repair", str(files[kind]), *QUICK, "-o", str(output), "-q"]) == 0
    table = read_table(output)
    np.testing.assert_array_equal(table.values, expected().repair(DAMAGED))
    assert table.features == (tuple(NAMES) if kind in ("csv", "csv.gz", "tsv", "parquet") else None)


def test_names_suspects_and_summary(tmp_path, capsys):
    X = DAMAGED.copy()
    X[5, 2] = np.nan
    path, output, found = (tmp_path / name for name in ("in.csv", "clean.csv", "suspects.csv"))
    rows = [
        f"=t{i},{','.join('' if np.isnan(v) else repr(v) for v in row)},{'on' if i % 2 else 'off'}"
        for i, row in enumerate(X.tolist())
    ]
    path.write_text(f"time,{','.join(NAMES)},state\n" + "\n".join(rows) + "\n")
    options = ["--id", "time", "--label", "state", "--false-alarms", "0.02", "--json"]
    assert main(["repair", str(path), *QUICK, *options, "-o", str(output), "--suspects", str(found)]) == 0
    summary = json.loads(capsys.readouterr().out)
    model = expected(X, false_alarms=0.02)
    clean = read_table(output, Layout(id="time", label="state"))
    np.testing.assert_array_equal(clean.values, model.repair(X, false_alarms=0.02))
    assert list(clean.ids) == [f"=t{i}" for i in range(60)]
    assert list(clean.labels[:2]) == ["off", "on"]
    assert output.read_text().splitlines()[1].startswith('"\'=t0"')
    suspects = model.suspects(X, 0.02)
    assert summary["suspects"] == suspects.sum() > 30
    assert summary["missing_filled"] == 1
    lines = found.read_text().splitlines()
    assert lines[0] == '"point","attribute","value","expected","trust"'
    assert len(lines) == 1 + suspects.sum()
    table = model.explain(X, int(suspects.sum()))
    listed = read_table(found, Layout(id="point", label="attribute"))
    assert list(listed.ids) == [f"=t{i}" for i in table["point"]]
    assert list(listed.labels) == [NAMES[int(name[1:])] for name in table["attribute"]]
    for column, name in enumerate(("value", "expected", "trust")):
        np.testing.assert_array_equal(listed.values[:, column], table[name])


def test_what_people_read(files, tmp_path, capsys):
    command = [
        "repair",
        str(files["csv"]),
        *QUICK,
        "-o",
        str(tmp_path / "c.csv"),
        "--suspects",
        str(tmp_path / "s.csv"),
    ]
    assert main(command) == 0
    first, second, third, last = capsys.readouterr().out.splitlines()
    assert first == f"{files['csv']}: 60 points x 8 attributes"
    assert second.startswith("suspects: ")
    assert third.startswith("most in sensor ")
    assert last == f"written: {tmp_path / 'c.csv'}, {tmp_path / 's.csv'}"


def test_points_in_columns(tmp_path):
    np.save(tmp_path / "in.npy", DAMAGED.T)
    assert main(["repair", str(tmp_path / "in.npy"), *QUICK, "--transpose", "-o", str(tmp_path / "c.npy"), "-q"]) == 0
    np.testing.assert_array_equal(np.load(tmp_path / "c.npy").T, expected().repair(DAMAGED))


def test_soft(files, tmp_path):
    assert main(["repair", str(files["npy"]), *QUICK, "--soft", "-o", str(tmp_path / "c.npy"), "-q"]) == 0
    np.testing.assert_array_equal(np.load(tmp_path / "c.npy"), expected(soft=True).repair(DAMAGED, soft=True))


# Images


@pytest.fixture(scope="module")
def faces(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("faces")
    images = make_damage(200 * make_spectra(30, 60, random_state=0), "blocks", image_shape=(6, 10), random_state=0)[0]
    for i, image in enumerate(images):
        path = folder / "ab"[i % 2] / f"{i:02d}.{'png' if i % 3 else 'jpg'}"
        path.parent.mkdir(exist_ok=True)
        Image.fromarray(image.reshape(6, 10).astype(np.uint8)).save(path)
    return folder


def test_a_folder_of_images_becomes_one(faces, tmp_path):
    output, found = tmp_path / "clean", tmp_path / "suspects.csv"
    command = ["repair", str(faces), *QUICK, "-o", str(output), "--suspects", str(found), "-q"]
    assert main(command) == 0
    before, after = read_table(faces), read_table(output)
    assert list(after.ids) == sorted(name if name.endswith("png") else f"{name}.png" for name in before.ids)
    assert after.image_size == before.image_size == (10, 6)
    repaired = dict(zip(before.ids, expected(before.values).repair(before.values), strict=True))
    for name, pixels in zip(after.ids, after.values, strict=True):
        own = str(name).removesuffix(".png") if ".jpg" in name else name
        np.testing.assert_array_equal(pixels, np.clip(np.rint(repaired[own]), 0, 255))
    assert "row " in found.read_text().splitlines()[1]
    assert main(command) == 2
    assert main([*command, "--force"]) == 0
    (output / "a" / "mine.txt").write_text("mine")
    assert main([*command, "--force"]) == 2
    assert (output / "a" / "mine.txt").exists()


def test_one_image_by_its_patches(tmp_path):
    y, x = np.mgrid[:50, :61]
    clean = 120 + 50 * np.sin(x / 9) + 50 * np.cos(y / 13)
    specks = np.random.default_rng(0).random(clean.shape) < 0.01
    specks[-1, -1] = True
    image = np.where(specks, 255, clean).astype(np.uint8)
    Image.fromarray(image).save(tmp_path / "scan.png")
    command = [
        "repair",
        str(tmp_path / "scan.png"),
        "-k",
        "4",
        "--gamma",
        "4x",
        "--max-iter",
        "150",
        "--tol",
        "0",
        "-q",
    ]
    assert main([*command, "-o", str(tmp_path / "c.png"), "--suspects", str(tmp_path / "s.csv")]) == 0
    mended = np.asarray(Image.open(tmp_path / "c.png"))
    assert mended.shape == image.shape
    before, after = (np.sqrt(np.mean((pixels - clean)[specks] ** 2)) for pixels in (image.astype(float), mended))
    assert after < 0.3 * before
    places = read_table(tmp_path / "s.csv", Layout(id="point", label="attribute")).labels
    assert "row 50, column 61" in places
    assert all(int(place.split()[1].rstrip(",")) <= 50 and int(place.split()[-1]) <= 61 for place in places)


@pytest.mark.parametrize(
    ("values", "depth", "suffix"),
    [([0, 255], Depth.BYTE, ".png"), ([0, 256], Depth.WORD, ".png"), ([0.5, 1], Depth.FRACTION, ".tif")],
)
def test_images_lose_no_value(values, depth, suffix, tmp_path):
    from ewnmf.io.rewriting import write_images
    from ewnmf.io.table import Table

    pixels = np.tile(np.array(values, dtype=float), (2, 3))
    table = Table(pixels, "there", "images", ids=np.array(["a.jpg", f"b{suffix}"], dtype=object), image_size=(3, 2))
    assert Depth.of(table) is depth
    assert write_images(tmp_path, table, depth) == [f"a.jpg{suffix}", f"b{suffix}"]
    np.testing.assert_array_equal(read_table(tmp_path).values, pixels)


# What bad input gets


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["-o", "{folder}/c.doc"], "c.doc has a suffix that no result is written as"),
        (["-o", "{folder}/c.csv", "--false-alarms", "0.5"], "false_alarms=0.5 must be a number between 0 and 0.5"),
        (["-o", "{folder}/c.csv", "--suspects", "{folder}/c.csv"], "name the same file"),
        (["-o", "{folder}/c.csv", "--suspects", "{folder}/s.xyz"], "s.xyz has a suffix that no result is written as"),
        (["-o", "{folder}/there.csv"], "there.csv exists already"),
    ],
)
def test_refusals(options, said, files, tmp_path, capsys):
    (tmp_path / "there.csv").write_text("mine")
    given = [option.format(folder=tmp_path) for option in options]
    assert main(["repair", str(files["npy"]), *QUICK, *given]) == 2
    assert said in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["there.csv"]


def test_images_that_cannot_be_mended_are_refused(tmp_path, capsys):
    Image.fromarray(np.zeros((20, 20), np.uint8)).save(tmp_path / "small.png")
    assert main(["repair", str(tmp_path / "small.png"), *QUICK, "-o", str(tmp_path / "c.png")]) == 2
    assert "20 x 20 pixels, 9 patches of 8 x 8, and at least 20 are needed" in capsys.readouterr().err
    assert main(["repair", str(tmp_path / "small.png"), *QUICK, "-o", str(tmp_path / "c.jpg")]) == 2
    assert "name the result .png, .tif, .bmp or .pgm" in capsys.readouterr().err
