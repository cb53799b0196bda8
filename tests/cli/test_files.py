"""``ewnmf fit``, ``transform`` and ``weights``: files in, results out."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from importlib.util import find_spec
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import click
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import ewnmf
import ewnmf.solvers.encode
from ewnmf.cli import estimator_options
from ewnmf.datasets import scale_points
from ewnmf.estimators.parameters import described
from ewnmf.io import Layout, read_table, source
from ewnmf.metrics import clustering_accuracy, normalized_mutual_information
from tests.fuzz_files import IMAGES, VALUES, write_valid

QUICK = ["-k", "2", "--gamma", "4x", "--max-iter", "4", "--tol", "0", "--seed", "0"]


@pytest.fixture(scope="module")
def valid(tmp_path_factory) -> dict[str, Path]:
    return write_valid(tmp_path_factory.mktemp("valid"))


@pytest.fixture
def named(tmp_path) -> Path:
    """A table with names and classes."""
    rows = [f"p{i},{','.join(map(str, row))},{'even' if i % 2 == 0 else 'odd'}" for i, row in enumerate(VALUES)]
    path = tmp_path / "named.csv"
    path.write_text("who,a,b,c,d,e,f,class\n" + "\n".join(rows) + "\n")
    return path


def model(X: Any = VALUES, cls: Any = ewnmf.EWNMF, **parameters: Any) -> Any:
    return cls(**{"n_components": 2, "gamma": "4x", "max_iter": 4, "tol": 0, "random_state": 0} | parameters).fit(X)


def numbers(path: Path) -> Any:
    """The numbers in a result, columns of text left out."""
    if path.suffix == ".npy":
        return np.load(path)
    table = (
        parquet.read_table(path)
        if path.suffix == ".parquet"
        else csv.read_csv(path, parse_options=csv.ParseOptions(delimiter="\t" if path.suffix == ".tsv" else ","))
    )
    return np.column_stack([column.to_numpy() for column in table.columns if not pa.types.is_string(column.type)])


def python_m(*arguments: Any, **options: Any) -> Any:
    command = [sys.executable, "-m", "ewnmf", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, check=False, timeout=300, **options)


def _complaints(done: Any) -> list[bytes]:
    """What a command said on standard error, but for the absence of Numba, which it may say."""
    return [line for line in done.stderr.splitlines() if b"numba is not installed" not in line]


@pytest.mark.parametrize(
    ("kind", "suffix"),
    [
        ("csv", "csv"),
        ("tsv", "tsv"),
        ("parquet", "parquet"),
        ("npy", "npy"),
        ("npz", "npy"),
        ("sparse", "npy"),
        ("mtx.gz", "npy"),
        ("mat", "npy"),
        ("images", "npy"),
    ],
)
def test_round_trip_through_the_command(valid, run, tmp_path, kind, suffix):
    summary = json.loads(run("fit", valid[kind], *QUICK, "-o", tmp_path / "out", "--json").out)
    assert summary == json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))
    X = IMAGES.reshape(5, -1).astype(float) if kind == "images" else VALUES
    expected = model(X)
    np.testing.assert_array_equal(numbers(tmp_path / "out" / f"codes.{suffix}"), expected.transform(X))
    np.testing.assert_array_equal(numbers(tmp_path / "out" / f"components.{suffix}"), expected.components_)
    np.testing.assert_array_equal(numbers(tmp_path / "out" / f"weights.{suffix}"), expected.weights(X))
    run("transform", tmp_path / "out", valid[kind], "-o", tmp_path / f"codes.{suffix}")
    np.testing.assert_array_equal(numbers(tmp_path / f"codes.{suffix}"), expected.transform(X))


def test_a_process_says_what_the_command_says_here(valid, run, tmp_path):
    arguments = ("fit", valid["csv"], *QUICK, "--json", "-o")
    done = python_m(*arguments, tmp_path / "there")
    assert (done.returncode, _complaints(done)) == (0, [])
    there, here = json.loads(done.stdout), json.loads(run(*arguments, tmp_path / "here").out)
    for summary in (here, there):
        del summary["seconds"]
        summary["warnings"] = [warning for warning in summary["warnings"] if "numba is not installed" not in warning]
    assert here == there
    for name in here["files"]:
        if name != "model.ewnmf":
            assert (tmp_path / "there" / name).read_bytes() == (tmp_path / "here" / name).read_bytes()


def test_pipes(valid, run, tmp_path, monkeypatch):
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(valid["csv"].read_bytes())))
    assert run("fit", "-", *QUICK, "-o", tmp_path / "out", "-q") == ("", "")
    done = python_m("weights", tmp_path / "out" / "model.ewnmf", "-", "--from", "npy", input=valid["npy"].read_bytes())
    assert (done.returncode, _complaints(done)) == (0, [])
    (tmp_path / "weights.csv").write_bytes(done.stdout)
    np.testing.assert_array_equal(numbers(tmp_path / "weights.csv"), model().weights(VALUES))


def test_the_folder_of_results(named, run, tmp_path):
    out = tmp_path / "out"
    said = run("fit", named, *QUICK, "--id", "who", "--label", "class", "--clusters", "-o", out)
    summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    expected = ["codes.csv", "components.csv", "labels.csv", "model.ewnmf", "weights.csv"]
    assert summary["files"] == expected
    assert sorted(path.name for path in out.iterdir()) == [*expected[:4], "summary.json", "weights.csv"]
    fitted = ewnmf.load(out / "model.ewnmf")
    np.testing.assert_array_equal(fitted.components_, model().components_)
    assert list(fitted.feature_names_in_) == list("abcdef")
    assert (summary["objective"], summary["gamma"], summary["iterations"]) == (fitted.objective_, fitted.gamma_, 4)
    assert summary["parameters"] == fitted.get_params()
    assert summary["input"]["sha256"] == source.Source(named, "").sha256()
    assert (summary["input"]["points"], summary["input"]["attributes"]) == (12, 6)
    assert summary["versions"]["ewnmf"] == ewnmf.__version__
    assert set(summary["seconds"]) == {"read", "fit", "results"}
    labels = csv.read_csv(out / "labels.csv").to_pydict()
    assert labels["id"] == [f"p{i}" for i in range(12)]
    assert summary["clustering"] == {
        "clusters": 2,
        "accuracy": clustering_accuracy(labels["label"], labels["cluster"]),
        "normalized_mutual_information": normalized_mutual_information(labels["label"], labels["cluster"]),
    }
    assert csv.read_csv(out / "weights.csv").column_names == ["id", *"abcdef"]
    assert csv.read_csv(out / "components.csv").column_names == ["component", *"abcdef"]
    assert said.out.splitlines()[0] == f"{named}: 12 points x 6 attributes"
    assert said.out.splitlines()[-1].startswith(f"{out}: codes.csv, components.csv")


def test_arrays_keep_names_beside_them(named, run, tmp_path):
    run("fit", named, *QUICK, "--id", "who", "--drop", "class", "--to", "npy", "--no-weights", "-o", tmp_path / "out")
    names = json.loads((tmp_path / "out" / "names.json").read_text(encoding="utf-8"))
    assert names == {"ids": [f"p{i}" for i in range(12)], "features": list("abcdef")}
    assert not (tmp_path / "out" / "weights.npy").exists()


@pytest.mark.parametrize(
    ("arguments", "cls", "parameters"),
    [
        (["--model", "nmf", "--loss", "kullback-leibler"], ewnmf.NMF, {"loss": "kullback-leibler"}),
        (["--model", "onmf", "--method", "soft", "--mu", "0.5"], ewnmf.ONMF, {"method": "soft", "mu": 0.5}),
        (
            ["--model", "semi-nmf", "--weighting", "entropy", "--gamma", "2"],
            ewnmf.SemiNMF,
            {"weighting": "entropy", "gamma": 2.0},
        ),
        (["--model", "convex-nmf", "--n-init", "2"], ewnmf.ConvexNMF, {"n_init": 2}),
        (["--gamma", "4x"], ewnmf.EWNMF, {"gamma": "4x"}),
        (["--gamma", "self-tuned", "-k", "cv"], ewnmf.EWNMF, {"gamma": "self-tuned", "n_components": "cv"}),
        (["--gamma", "inf", "--init", "nndsvda"], ewnmf.EWNMF, {"gamma": float("inf"), "init": "nndsvda"}),
        (
            ["--loss", "alpha", "--alpha", "1.5", "--solver", "accelerated"],
            ewnmf.EWNMF,
            {"loss": "alpha", "alpha": 1.5, "solver": "accelerated"},
        ),
    ],
)
def test_parameters_reach_the_estimator(valid, run, tmp_path, arguments, cls, parameters):
    run("fit", valid["npy"], *QUICK, *arguments, "-o", tmp_path / "out", "-q")
    loaded, expected = ewnmf.load(tmp_path / "out" / "model.ewnmf"), model(cls=cls, **parameters)
    assert (type(loaded), loaded.get_params()) == (cls, expected.get_params())
    np.testing.assert_array_equal(loaded.components_, expected.components_)
    learned = expected.weighting == "entropy" and expected.gamma_ < float("inf")
    assert (tmp_path / "out" / "weights.npy").exists() == learned


def test_equal_weights_are_written_only_if_asked_for(valid, run, tmp_path):
    for asked, written in (([], False), (["--weights"], True)):
        summary = json.loads(
            run("fit", valid["npy"], *QUICK, "--gamma", "inf", *asked, "-o", tmp_path / "out", "--force", "--json").out
        )
        assert ("weights.npy" in summary["files"]) == written
        assert summary["weights"] == (None if written else "equal, not written: gamma is infinite")


def test_fit_looks_for_codes_once(valid, run, tmp_path, monkeypatch):
    encode = Mock(wraps=ewnmf.solvers.encode.encode)
    monkeypatch.setattr("ewnmf.estimators.fitted.encode", encode)
    run("fit", valid["npy"], *QUICK, "--gamma", "0.1", "-o", tmp_path / "out", "-q")
    assert encode.call_count == 1
    mine = ewnmf.load(tmp_path / "out" / "model.ewnmf").weights(np.load(valid["npy"]))
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "weights.npy"), mine)


def test_every_parameter_is_an_option():
    options = estimator_options._options()
    for cls in estimator_options.MODELS.values():
        for name, parameter in inspect.signature(cls).parameters.items():
            kind = next(known.kind for known in described(cls) if known.name == name)
            assert name in options or name in ("n_components", "verbose") or "array" in kind
            option = options.get(name)
            if option is not None and isinstance(option.type, click.Choice) and isinstance(parameter.default, str):
                assert parameter.default in option.type.choices
    assert options["random_state"].opts == ["--seed", "--random-state"]


@pytest.mark.parametrize("docstrings", [True, False])
def test_options_do_not_depend_on_docstrings(docstrings, run):
    command = [sys.executable, "-OO", "-m", "ewnmf", "fit", "--help"]
    text = (
        run("fit", "--help").out
        if docstrings
        else subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    )
    for name, option in estimator_options._options().items():
        assert f"{option.opts[-1]} " in text, name
    assert " ".join(text.split()).count("weights, in the unit of the loss: small values") == 1


def test_docstrings_have_every_parameter():
    for cls in estimator_options.MODELS.values():
        text = inspect.getdoc(cls) or ""
        assert [known.name for known in described(cls) if f"\n{known.name} : {known.kind}\n" not in text] == []
        assert {known.name for known in described(cls)} == set(inspect.signature(cls).parameters)


def test_given_weights(valid, run, tmp_path):
    given = np.random.default_rng(5).random(VALUES.shape)
    np.save(tmp_path / "w.npy", given)
    run(
        *("fit", valid["npy"], *QUICK, "--model", "nmf", "--weighting", "fixed"),
        *("--entry-weights", tmp_path / "w.npy", "--weights", "-o", tmp_path / "out"),
    )
    expected = ewnmf.NMF(2, weighting="fixed", max_iter=4, tol=0, random_state=0).fit(VALUES, weights=given)
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "codes.npy"), expected.transform(VALUES, weights=given))
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "weights.npy"), given)
    said = run("fit", valid["npy"], *QUICK, "--entry-weights", tmp_path / "w.npy", "-o", tmp_path / "new", code=2)
    assert said.err == "ewnmf: --entry-weights belongs to --weighting fixed, and the weighting is 'entropy'.\n"


def test_scaling_is_remembered(valid, run, tmp_path):
    out = tmp_path / "out"
    run("fit", valid["csv"], *QUICK, "--scale", "-o", out)
    X = scale_points(VALUES)
    for options, points in ([], X), (["--no-scale"], VALUES):
        run("transform", out, valid["csv"], *options, "-o", tmp_path / "codes.csv", "--force")
        np.testing.assert_array_equal(numbers(tmp_path / "codes.csv"), model(X).transform(points))


def test_the_size_of_images_is_remembered(valid, run, tmp_path):
    run("fit", valid["images"], *QUICK, "--size", "3x2", "-o", tmp_path / "out")
    run("transform", tmp_path / "out", valid["images"], "-o", tmp_path / "codes.csv")
    X = read_table(valid["images"], Layout(size=(3, 2))).values
    np.testing.assert_array_equal(numbers(tmp_path / "codes.csv"), model(X).transform(X))
    assert csv.read_csv(tmp_path / "codes.csv")["id"].to_pylist() == [f"{i}.png" for i in range(5)]


def test_results_as_files_of_every_kind(valid, run, tmp_path):
    run("fit", valid["npy"], *QUICK, "-o", tmp_path / "out")
    expected = model().transform(VALUES)
    for suffix in ("csv", "tsv", "csv.gz", "parquet", "npy"):
        path = tmp_path / f"codes.{suffix}"
        run("transform", tmp_path / "out", valid["npy"], "-o", path)
        np.testing.assert_array_equal(read_table(path).values, expected)
    summary = json.loads(run("weights", tmp_path / "out", valid["npy"], "-o", tmp_path / "w.npy", "--json").out)
    assert (summary["command"], summary["shape"], summary["warnings"]) == ("weights", [12, 6], [])
    np.testing.assert_array_equal(np.load(tmp_path / "w.npy"), model().weights(VALUES))


def test_a_model_saved_in_python(valid, run, tmp_path):
    pd = pytest.importorskip("pandas")
    points = pd.DataFrame(VALUES, columns=[f"x{j}" for j in range(6)])
    fitted = model(points)
    fitted.save(tmp_path / "m.ewnmf")
    for kind in ("csv", "npy"):
        said = run("transform", tmp_path / "m.ewnmf", valid[kind])
        (tmp_path / "codes.csv").write_text(said.out)
        np.testing.assert_array_equal(numbers(tmp_path / "codes.csv"), fitted.transform(points))
        assert said.err == ""


def test_without_a_seed_one_is_drawn_and_told(valid, run, tmp_path):
    run("fit", valid["npy"], "-k", "2", "--max-iter", "2", "--tol", "0", "-o", tmp_path / "a")
    seed = json.loads((tmp_path / "a" / "summary.json").read_text(encoding="utf-8"))["parameters"]["random_state"]
    run("fit", valid["npy"], "-k", "2", "--max-iter", "2", "--tol", "0", "--seed", seed, "-o", tmp_path / "b")
    assert (tmp_path / "a" / "codes.npy").read_bytes() == (tmp_path / "b" / "codes.npy").read_bytes()


def test_warnings_are_told_and_kept(valid, run, tmp_path):
    arguments = ["fit", valid["npy"], "-k", "2", "--max-iter", "3", "--seed", "0", "-o", tmp_path / "out"]
    said = run(*arguments)
    (warning,) = json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))["warnings"]
    assert warning.startswith("EWNMF reached max_iter=3 before")
    assert said.err == f"ewnmf: warning: {warning}\n"
    assert run(*arguments, "--force", "-q") == ("", "")


def test_progress_is_for_terminals(valid, run, tmp_path, monkeypatch):
    monkeypatch.setattr(type(sys.stderr), "isatty", lambda self: True, raising=False)
    said = run("fit", valid["npy"], *QUICK, "-o", tmp_path / "out")
    assert said.err.splitlines()[:2] == [
        f"ewnmf: reading {valid['npy']}",
        "ewnmf: 12 points x 6 attributes, 2 components",
    ]
    assert "EWNMF: choosing gamma, 1 of 2 (plain NMF)" in said.err
    assert ewnmf.load(tmp_path / "out" / "model.ewnmf").verbose == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit", "FILE", "-o", "out"], "Missing option '-k' / '--n-components'."),
        (
            ["fit", "FILE", "-k", "0", "-o", "out"],
            "Invalid value for '-k' / '--n-components': 0 is not in the range x>=1.",
        ),
        (["fit", "FILE", "-k", "few", "-o", "out"], "'few' is not a valid number of components."),
        (["fit", "FILE", "-k", "2"], "Missing option '-o' / '--output'."),
        (["fit", "FILE", *QUICK, "-o", "out", "--gamma", "much"], "gamma='much' must be a positive number, 'auto'"),
        (["fit", "FILE", *QUICK, "-o", "out", "--gamma", "0"], "gamma=0 puts all the weight of a point on its best"),
        (
            ["fit", "FILE", *QUICK, "-o", "out", "--method", "hard"],
            "--method does not belong to --model ewnmf; use --model onmf",
        ),
        (
            ["fit", "FILE", *QUICK, "-o", "out", "--clusters", "many"],
            "'many' is no number of clusters; give a whole number",
        ),
        (
            ["fit", "FILE", *QUICK, "-o", "out", "--size", "big"],
            "'big' is no size; give width x height, such as 32x32.",
        ),
        (["fit", "FILE", *QUICK, "-o", "out", "--delimiter", "ab"], "delimiter='ab' must be one character"),
        (["fit", "FILE", *QUICK, "-o", "FILE"], "exists and is no folder, as the result would be; name another place."),
        (
            ["fit", "FILE", *QUICK, "-o", "taken"],
            "taken exists already; name another place, or replace it with --force.",
        ),
        (["fit", "FILE", *QUICK, "-o", "taken", "--force"], "holds something that is no result of ewnmf (thesis)"),
        (
            ["fit", "signed.csv", *QUICK, "-o", "out"],
            "signed.csv: row 2, column 'b' holds -2, the first of 1 negative value in",
        ),
        (
            ["fit", "FILE", *QUICK, "-o", "out", "--model", "semi-nmf", "--loss", "alpha"],
            "loss='alpha' cannot be combined",
        ),
        (["fit", "none.csv", *QUICK, "-o", "out"], "ewnmf: none.csv does not exist."),
        (["transform", "FILE", "FILE"], "is refused: it is no model file of ewnmf"),
        (["transform", "taken", "FILE"], "taken is a folder without model.ewnmf"),
        (["transform", "none", "FILE"], "none does not exist"),
        (["transform", "unfitted.ewnmf", "FILE"], "unfitted.ewnmf holds a model that was saved before it was fitted"),
        (["transform", "MODEL", "signed.csv"], "signed.csv has 2 attributes, but"),
        (
            ["transform", "named.ewnmf", "signed.csv"],
            "signed.csv has 'a' as its 1. attribute, but named.ewnmf was fitted with 'u'",
        ),
        (["transform", "plain.ewnmf", "signed.csv"], "signed.csv: row 2, column 'b' holds -2"),
        (
            ["transform", "MODEL", "FILE", "--json"],
            "--json and the result cannot both go to standard output; name a file",
        ),
        (
            ["transform", "MODEL", "FILE", "-o", "codes.xls"],
            "has a suffix that no result is written as (.xls); use one of",
        ),
        (
            ["transform", "MODEL", "FILE", "-o", "FILE"],
            "exists already; name another place, or replace it with --force.",
        ),
        (["weights", "MODEL", "FILE", "-o", "none/w.csv"], "w.csv could not be written (No such file or directory)"),
        (["completion", "cmd"], "'cmd' is not one of 'bash', 'zsh', 'fish'."),
    ],
)
def test_what_is_refused(valid, run, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    Path("taken").mkdir()
    Path("taken/thesis").write_text("mine")
    Path("signed.csv").write_text("a,b\n1,-2\n3,4\n")
    ewnmf.EWNMF(2).save("unfitted.ewnmf")
    small = model(np.ones((3, 2)) + np.eye(3, 2))
    small.save("plain.ewnmf")
    small.feature_names_in_ = np.array(["u", "v"], dtype=object)
    small.save("named.ewnmf")
    before = sorted(Path().rglob("*"))
    places = {"FILE": str(valid["csv"]), "MODEL": str(valid["model"])}
    said = run(*(places.get(argument, argument) for argument in arguments), code=2)
    assert message in said.err
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert sorted(Path().rglob("*")) == before


@pytest.mark.parametrize(("module", "kind"), [("pyarrow", "csv"), ("pyarrow", "parquet"), ("PIL", "images")])
def test_a_missing_library_is_named(valid, run, tmp_path, monkeypatch, module, kind):
    monkeypatch.setattr("ewnmf.io.source.find_spec", lambda name: None if name == module else find_spec(name))
    said = run("fit", valid[kind], *QUICK, "-o", tmp_path / "out", code=2)
    assert said.err.endswith("which is not installed; run: pip install 'ewnmf[files]'\n")


@pytest.mark.parametrize("command", ["fit", "transform", "weights", "completion"])
def test_help_has_examples(run, command):
    said = run(command, "--help")
    assert "Examples:" in said.out
    assert ("Exit codes: 0 done, 2 refused" in said.out) == (command != "completion")


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_completion(run, shell):
    script = run("completion", shell).out
    assert f"_EWNMF_COMPLETE={shell}_complete" in script


def test_completion_of_options(tmp_path):
    words = {"COMP_WORDS": "ewnmf fit --los", "COMP_CWORD": "2", "_EWNMF_COMPLETE": "bash_complete"}
    done = python_m(env={**os.environ, **words})
    assert done.stdout.decode().split() == ["plain,--loss"]
