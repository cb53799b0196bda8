"""A model that was saved and loaded is the same model, to the bit; anything else is refused."""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

import ewnmf
from ewnmf import losses, weightings
from ewnmf.estimators.loading import load_with_note
from ewnmf.estimators.saving import write_estimator
from ewnmf.io import archive, read_archive, source, write_archive

CLASSES = (ewnmf.EWNMF, ewnmf.NMF, ewnmf.ONMF, ewnmf.SemiNMF, ewnmf.ConvexNMF)
X = np.random.default_rng(0).random((9, 5)) + 0.1
LOSSES: list[Any] = ["euclidean", "kullback-leibler", "alpha", losses.Alpha(-0.5), losses.Alpha(1.25)]


def fitted(cls: Any = ewnmf.EWNMF, **parameters: Any) -> Any:
    return cls(**{"n_components": 2, "tol": 0, "max_iter": 6, "random_state": 0, **parameters}).fit(X)


@st.composite
def estimators(draw: Any) -> Any:
    """Any class with any loss and weighting that go together."""
    cls = draw(st.sampled_from(CLASSES))
    weighting = draw(st.sampled_from(["none", "fixed", "entropy", weightings.Entropy(0.5)]))
    loss = "euclidean" if cls is ewnmf.SemiNMF else draw(st.sampled_from(LOSSES))
    own: dict[str, Any] = {}
    if cls is ewnmf.ONMF:
        own = {"of": draw(st.sampled_from(["codes", "components"])), "mu": draw(st.floats(0, 3))}
    if not isinstance(weighting, weightings.Weighting):
        own["gamma"] = draw(st.sampled_from(["auto", 0.3, float("inf"), np.float64(0.7)]))
    return cls(
        draw(st.sampled_from([2, np.int64(3)])),
        loss=loss,
        weighting=weighting,
        alpha=draw(st.floats(0.1, 2)),
        tol=0,
        max_iter=4,
        n_jobs=1,
        random_state=draw(st.integers(0, 9)),
        **own,
    )


def same(left: Any, right: Any) -> bool:
    """Whether two values are equal, type and bits included."""
    if isinstance(left, np.ndarray):
        return left.dtype == right.dtype and left.strides == right.strides and left.tolist() == right.tolist()
    return type(left) is type(right) and (left == right or (left != left and right != right))


@given(
    estimator=estimators(),
    dtype=st.sampled_from([np.float64, np.float32]),
    named=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_a_loaded_model_is_the_same_to_the_bit(tmp_path_factory, estimator, dtype, named, seed):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(seed)
    data, new = (rng.random((n, 5)).astype(dtype) + dtype(0.1) for n in (8, 4))
    table = pd.DataFrame(data, columns=list("abcde")) if named else data
    points = pd.DataFrame(new, columns=list("abcde")) if named else new
    path = tmp_path_factory.mktemp("model") / "m.ewnmf"
    estimator.fit(table).save(path)
    loaded = ewnmf.load(path)
    assert type(loaded) is type(estimator)
    assert loaded.get_params() == estimator.get_params()
    assert vars(loaded).keys() == vars(estimator).keys()
    assert all(same(value, getattr(loaded, name)) for name, value in vars(estimator).items())
    np.testing.assert_array_equal(loaded.transform(points), estimator.transform(points), strict=True)
    np.testing.assert_array_equal(loaded.weights(points), estimator.weights(points), strict=True)


def test_the_same_model_gives_the_same_file(tmp_path):
    model = fitted()
    for name in ("a.ewnmf", "b.ewnmf"):
        model.save(tmp_path / name)
    assert (tmp_path / "a.ewnmf").read_bytes() == (tmp_path / "b.ewnmf").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.ewnmf", "b.ewnmf"]


def test_numpy_reads_the_arrays_of_a_model(tmp_path):
    model = fitted()
    model.save(tmp_path / "m.ewnmf")
    with (tmp_path / "m.ewnmf").open("rb") as stream:
        np.testing.assert_array_equal(np.load(stream)["components_"], model.components_)


def test_an_unfitted_model(tmp_path):
    model = ewnmf.ONMF(4, method="soft", mu=2.5)
    model.save(tmp_path / "m.ewnmf")
    loaded = ewnmf.load(tmp_path / "m.ewnmf")
    assert loaded.get_params() == model.get_params()
    assert not hasattr(loaded, "components_")


def test_settings_of_scikit_learn_are_kept(tmp_path):
    model = fitted().set_output(transform="pandas")
    with sklearn.config_context(enable_metadata_routing=True):
        model.set_fit_request(weights=True)
    model.save(tmp_path / "m.ewnmf")
    loaded = ewnmf.load(tmp_path / "m.ewnmf")
    assert list(loaded.transform(X).columns) == ["ewnmf0", "ewnmf1"]
    with sklearn.config_context(enable_metadata_routing=True):
        assert loaded.get_metadata_routing().fit.requests["weights"] is True


def test_parameters_may_be_arrays_and_collections(tmp_path):
    """What later parameters may hold: arrays, tuples, dictionaries, numbers of NumPy."""
    odd = {"mask": X > 0.5, "pair": (1, [2.5, None]), "by name": {"a": np.float32(0.1)}, "names": np.array(["x", "y"])}
    model = ewnmf.NMF(2, init=odd)  # type: ignore[arg-type]
    model.save(tmp_path / "m.ewnmf")
    found = ewnmf.load(tmp_path / "m.ewnmf").init
    assert (found["pair"], type(found["by name"]["a"]), list(found["names"])) == (
        (1, [2.5, None]),
        np.float32,
        ["x", "y"],
    )
    np.testing.assert_array_equal(found["mask"], odd["mask"], strict=True)


class OwnLoss(losses.Euclidean):
    """A user's loss."""


@pytest.mark.parametrize(
    ("parameter", "value"),
    [("random_state", np.random.RandomState(0)), ("loss", OwnLoss()), ("gamma", abs), ("init", np.array([object()]))],
)
def test_what_cannot_be_written_is_refused(tmp_path, parameter, value):
    message = rf"EWNMF cannot be saved: {parameter}=.* is neither a number, text or array .*set_params\({parameter}="
    with pytest.raises(ValueError, match=message):
        ewnmf.EWNMF(2, **{parameter: value}).save(tmp_path / "m.ewnmf")
    assert list(tmp_path.iterdir()) == []


def test_a_note_travels_with_the_model(tmp_path):
    write_estimator(fitted(), tmp_path / "m.ewnmf", {"scale": True, "image_size": [3, 4]})
    assert load_with_note(tmp_path / "m.ewnmf")[1] == {"scale": True, "image_size": [3, 4]}


@pytest.fixture
def saved(tmp_path) -> Path:
    fitted().save(tmp_path / "m.ewnmf")
    return tmp_path / "m.ewnmf"


def refused(path: Path, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ewnmf.load(path)


def rewrite(path: Path, **changes: Any) -> None:
    """The same model with other content, and hashes that fit it."""
    document, arrays = read_archive(path)
    write_archive(path, {**document, **changes}, arrays)


def test_every_truncation_is_refused(saved):
    content = saved.read_bytes()
    for length in range(0, len(content), 97):
        saved.write_bytes(content[:length])
        refused(saved, "is refused: it is no model file of ewnmf, or a damaged one")


def test_every_changed_byte_of_the_content_is_refused(saved):
    content = saved.read_bytes()
    with zipfile.ZipFile(saved) as members:
        data = {info.filename: (members.read(info), info.header_offset) for info in members.infolist()}
    for name, (part, header) in data.items():
        start = content.index(part, header)
        for place in (0, len(part) // 2, len(part) - 1):
            changed = bytearray(content)
            changed[start + place] ^= 1
            saved.write_bytes(changed)
            refused(saved, f"is refused: .*{name}")


def change_member(path: Path, name: str, content: bytes | None, name_after: str | None = None) -> None:
    """Replace, rename or remove a member of the zip, hashes left as they were."""
    with zipfile.ZipFile(path) as members:
        data = {info.filename: members.read(info) for info in members.infolist()}
    old = data.pop(name)
    if content is not None or name_after is not None:
        data[name_after or name] = old if content is None else content
    with zipfile.ZipFile(path, "w") as members:
        for member, part in data.items():
            members.writestr(member, part)


def test_tampering_is_refused(saved):
    whole = saved.read_bytes()
    stream = io.BytesIO()
    np.save(stream, np.ones((2, 5)))
    for name, content, after in [
        ("components_.npy", stream.getvalue(), None),
        ("components_.npy", None, None),
        ("components_.npy", None, "other.npy"),
        ("sha256.txt", b"", None),
        ("sha256.txt", None, None),
    ]:
        saved.write_bytes(whole)
        change_member(saved, name, content, after)
        refused(saved, r"changed or damaged after it was saved \(the sha256 of .* is not the one that was written\)")
    saved.write_bytes(whole)
    with zipfile.ZipFile(saved, "a") as members, pytest.warns(UserWarning, match="Duplicate name"):
        members.writestr("model.json", b"{}")
    refused(saved, "is refused")


def test_a_newer_format_is_refused(saved, monkeypatch):
    monkeypatch.setattr(archive, "VERSION", 3)
    rewrite(saved, version=3)
    monkeypatch.undo()
    refused(saved, "is refused: its format is version 3, and this ewnmf reads versions up to 2; update ewnmf")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "other"}, "is no model file of ewnmf"),
        ({"version": "1"}, "its version is '1'"),
        ({"version": 0}, "its version is 0"),
        ({"class": "Popen"}, "the class 'Popen' is not known"),
        ({"class": ["EWNMF"]}, "unhashable"),
        ({"parameters": {"colour": 1}}, "EWNMF has no parameter 'colour'"),
        ({"parameters": 5}, "is refused: its content"),
        ({"parameters": {"init": {"pickle": "x"}}}, "a value of the kind 'pickle' is not known"),
        ({"parameters": {"init": {"array": "none"}}}, "'none' is missing"),
        ({"parameters": {"init": {"scalar": "O", "value": 1}}}, "a number of the type object is not known"),
        ({"parameters": {"init": {"scalar": "<U500000000", "value": "x"}}}, "of the type <U500000000 has 1 characters"),
        ({"attributes": {"gamma_": {"float": "nan"}}}, "gamma_ holds NaN or an infinite number"),
        ({"attributes": {"_tiny": {"float": "inf"}}}, "_tiny holds NaN or an infinite number"),
        ({"parameters": {"init": {"names": [1]}}}, "a list of names holds something else"),
        (
            {"parameters": {"loss": {"object": "os.system", "fields": {}}}},
            "an object of the class 'os.system' is not known",
        ),
        ({"parameters": {"loss": {"object": "losses.resolve", "fields": {}}}}, "'losses.resolve' is not known"),
        ({"parameters": {"loss": {"object": "losses.Alpha", "fields": {"a": 1}}}}, "unexpected keyword argument"),
        ({"attributes": {"transform": 1}}, "'transform' is no fitted attribute"),
        ({"attributes": {"__class__": 1}}, "'__class__' is no fitted attribute"),
        (
            {"attributes": {"components_": "x", "n_components_": 2, "n_features_in_": 5}},
            "are no table of 2 x 5 numbers",
        ),
        ({"attributes": {"components_": {"array": "components_"}}}, "n_components_"),
        ({"attributes": None}, "is refused: its content"),
        ({"requests": {"fly": {}}}, "set_fly_request"),
    ],
)
def test_content_that_no_version_wrote_is_refused(saved, changes, message):
    rewrite(saved, **changes)
    refused(saved, message)


def test_other_files_are_refused(tmp_path):
    (tmp_path / "text").write_text("hello")
    refused(tmp_path / "text", "is no model file of ewnmf, or a damaged one")
    np.savez(tmp_path / "arrays.npz", x=np.ones(3))
    refused(tmp_path / "arrays.npz", "it is no model file of ewnmf .model.json is missing")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        ewnmf.load(tmp_path / "none.ewnmf")
    with pytest.raises(IsADirectoryError, match="is a folder, and no model file"):
        ewnmf.load(tmp_path)


def test_a_pickled_array_in_a_model_is_refused(saved):
    document, arrays = read_archive(saved)
    stream = io.BytesIO()
    np.save(stream, np.array([print]), allow_pickle=True)
    original = archive._npy
    try:
        archive._npy = lambda array: stream.getvalue()
        write_archive(saved, document, arrays)
    finally:
        archive._npy = original
    refused(saved, r"\.npy is no array: .*holds Python objects")


@pytest.mark.parametrize("attribute", ["components_", "_mean_point", "loss_curve_"])
@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_an_array_that_holds_no_numbers_is_refused(saved, attribute, number):
    document, arrays = read_archive(saved)
    arrays[attribute].flat[-1] = number
    write_archive(saved, document, arrays)
    refused(saved, f"{attribute} holds NaN or an infinite number")


def test_a_model_without_numbers_is_not_saved(tmp_path):
    model = fitted()
    model.components_[0, 0] = np.nan
    with pytest.raises(ValueError, match="EWNMF cannot be saved: components_ holds NaN"):
        model.save(tmp_path / "m.ewnmf")
    assert list(tmp_path.iterdir()) == []


def test_an_infinite_gamma_is_loaded(tmp_path):
    fitted(gamma=np.inf).save(tmp_path / "m.ewnmf")
    assert ewnmf.load(tmp_path / "m.ewnmf").gamma_ == np.inf


@pytest.mark.parametrize(
    "head", ["{'descr': '<U500000000', 'fortran_order': False, 'shape': (1,)}", "{'descr': '<f8', 'shape': (10**9,)}"]
)
def test_an_array_that_announces_more_than_it_has_is_refused(saved, monkeypatch, head):
    document, arrays = read_archive(saved)
    head = head.replace("10**9", "1000000000").replace("'<f8',", "'<f8', 'fortran_order': False,")
    content = b"\x93NUMPY\x01\x00" + np.array(len(head), "<u2").tobytes() + head.encode()
    monkeypatch.setattr(archive, "_npy", lambda array: content)
    write_archive(saved, document, {"components_": arrays["components_"]})
    monkeypatch.setattr(np, "empty", lambda *arguments: pytest.fail("memory was asked for"))
    monkeypatch.setattr(np, "ndarray", lambda *arguments: pytest.fail("memory was asked for"))
    refused(saved, "components_.npy announces .* bytes, but has 0")


@pytest.mark.parametrize("compressed", [False, True])
def test_a_member_of_a_false_size_is_refused(saved, monkeypatch, compressed):
    monkeypatch.setattr(source, "available_memory", lambda: None)
    monkeypatch.setattr(zipfile.ZipFile, "read", lambda *arguments: pytest.fail("it was read"))
    if compressed:
        with zipfile.ZipFile(saved, "a", zipfile.ZIP_DEFLATED) as members:
            members.writestr("zeros.npy", bytes(1 << 20))
        refused(saved, "zeros.npy is compressed, or its size is not the one that it says")
        return
    content = saved.read_bytes()
    at = content.index(b"PK\1\2") + 20  # the sizes of the first member, in the directory at the end
    saved.write_bytes(content[:at] + 2 * np.array(1 << 30, "<u4").tobytes() + content[at + 8 :])
    refused(saved, "its parts say that they have 1073[0-9]* bytes, and the file has [0-9]{4}")


def test_numbers_that_are_none_in_json_are_refused(saved):
    with zipfile.ZipFile(saved) as members:
        text = members.read("model.json")
    change_member(saved, "model.json", text.replace(b'"tol": 0', b'"tol": NaN'))
    refused(saved, "model.json is no JSON")


def test_a_document_of_endless_depth_is_refused(saved):
    change_member(saved, "model.json", b"[" * 100_000)
    refused(saved, "model.json is no JSON")
    change_member(saved, "model.json", json.dumps([1]).encode())
    refused(saved, "does not say 'ewnmf model'")


@pytest.mark.parametrize("cls", CLASSES)
def test_pickle_and_joblib_still_work(tmp_path, cls):
    model = fitted(cls)
    joblib.dump(model, tmp_path / "m.joblib")
    for copy in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "m.joblib")):
        np.testing.assert_array_equal(copy.transform(X), model.transform(X), strict=True)
        assert clone(copy).get_params() == model.get_params()


@pytest.mark.parametrize("cls", CLASSES)
def test_skops_works_too(cls):
    skops = pytest.importorskip("skops.io")
    model = fitted(cls)
    content = skops.dumps(model)
    trusted = skops.get_untrusted_types(data=content)
    assert all(name.startswith("ewnmf.") for name in trusted)
    np.testing.assert_array_equal(skops.loads(content, trusted=trusted).transform(X), model.transform(X), strict=True)
