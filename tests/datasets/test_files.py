"""What is right is used, what is not is refused and named, and nothing half done stays behind.

A small data set of the same form as Yale's stands in for it, so that nothing real is needed.
"""

from __future__ import annotations

import errno
import hashlib
import io
import logging
import os
import re
import socket
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import io as matlab

from ewnmf.datasets import _fetch, _files, fetch_yale
from ewnmf.datasets._files import arrays_sha256
from ewnmf.datasets._sources import YALE, DataSource

PIXELS = np.random.default_rng(0).integers(0, 256, size=(4, 32, 32), dtype=np.uint8)
LABELS = np.array([0, 0, 1, 1])
NOT_FOUND, WRONG, TRUNCATED = "/not-found", "/wrong", "/truncated"


def names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


@pytest.fixture(scope="module")
def published() -> bytes:
    """A file like Yale_32x32.mat: pixels column by column, labels from 1."""
    stream = io.BytesIO()
    pixels = PIXELS.transpose(0, 2, 1).reshape(4, -1)
    matlab.savemat(stream, {"fea": pixels, "gnd": (LABELS[:, None] + 1).astype(np.uint8)})
    return stream.getvalue()


@pytest.fixture
def source(published, monkeypatch) -> DataSource:
    """What takes the place of Yale, at an address that no one answers."""
    arrays: dict[str, Any] = {
        "X": PIXELS.reshape(4, -1),
        "y": LABELS.astype(np.int16),
        "shape": np.array([32, 32]),
    }
    file = replace(YALE.converted[0], sha256=arrays_sha256(arrays, arrays))
    raw = {"Yale_32x32.mat": hashlib.sha256(published).hexdigest()}
    small = replace(YALE, converted=(file,), raw=raw, url=f"http://127.0.0.1:{_closed_port()}/Yale_32x32.mat")
    monkeypatch.setattr(_fetch, "YALE", small)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("EWNMF_DATA", raising=False)
    return small


def _closed_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@pytest.fixture
def serve(published, source, monkeypatch) -> Iterator:
    """Let the small data set come from a server on this machine, in the given condition."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            body = {WRONG: b"another file", NOT_FOUND: b"no"}.get(self.path, published)
            self.send_response(404 if self.path == NOT_FOUND else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: len(body) // 2] if self.path == TRUNCATED else body)

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()

    def at(path: str) -> str:
        url = f"http://127.0.0.1:{server.server_port}{path}"
        monkeypatch.setattr(_fetch, "YALE", replace(source, url=url))
        return url

    yield at
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def kept(source, published, tmp_path) -> Path:
    """A data folder with the converted file alone."""
    (tmp_path / "Yale_32x32.mat").write_bytes(published)
    fetch_yale(data_home=tmp_path)
    (tmp_path / "Yale_32x32.mat").unlink()
    return tmp_path


def is_the_data(bunch) -> bool:
    return bool(np.array_equal(bunch.images, PIXELS) and np.array_equal(bunch.target, LABELS))


def test_a_download_is_converted_and_kept(serve, tmp_path, caplog):
    url = serve("/Yale_32x32.mat")
    with caplog.at_level(logging.INFO, logger="ewnmf.datasets"):
        assert is_the_data(fetch_yale(data_home=tmp_path / "new" / "folder"))
    assert names(tmp_path) == ["new", "new/folder", "new/folder/yale.npz"]
    assert f"Downloading {url}" in caplog.messages


def test_what_is_kept_is_used_without_asking_again(kept):
    assert names(kept) == ["yale.npz"]
    assert is_the_data(fetch_yale(data_home=kept, download_if_missing=False))
    assert is_the_data(fetch_yale(data_home=str(kept)))


def test_a_kept_file_has_the_usual_permissions(kept):
    (kept / "other").touch()
    assert (kept / "yale.npz").stat().st_mode == (kept / "other").stat().st_mode


def test_a_download_with_the_wrong_hash_is_refused(serve, source, tmp_path):
    url = serve(WRONG)
    found = hashlib.sha256(b"another file").hexdigest()
    expected = source.raw["Yale_32x32.mat"]
    with pytest.raises(OSError, match=f"{url} is refused: its sha256 is {found}, expected {expected}; try again"):
        fetch_yale(data_home=tmp_path)
    assert names(tmp_path) == []


@pytest.mark.parametrize("condition", [NOT_FOUND, TRUNCATED])
def test_a_failed_download_says_what_to_put_where(serve, tmp_path, condition):
    url = serve(condition)
    reason = "HTTP 404" if condition == NOT_FOUND else r"\w+"
    remedy = re.escape(f"put yale.npz into {tmp_path}, or Yale_32x32.mat as published at {url}.")
    with pytest.raises(OSError, match=rf"^(The download of )?{url} .*({reason}).*{remedy}$"):
        fetch_yale(data_home=tmp_path)
    assert names(tmp_path) == []


def test_no_connection_says_what_to_put_where(source, tmp_path):
    with pytest.raises(OSError, match="could not be downloaded") as refusal:
        fetch_yale(data_home=tmp_path)
    assert str(refusal.value) == (
        f"{source.url} could not be downloaded (ConnectionError); "
        f"put yale.npz into {tmp_path}, or Yale_32x32.mat as published at {source.url}."
    )
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    ("failure", "caught", "message"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), OSError, r"\(No space left on device\)"),
        (KeyboardInterrupt("Ctrl-C"), KeyboardInterrupt, "Ctrl-C"),
    ],
)
def test_an_interrupted_download_leaves_nothing_behind(
    source, published, tmp_path, monkeypatch, failure, caught, message
):
    pooch = pytest.importorskip("pooch")

    class Interrupted:
        def __init__(self, **options):
            pass

        def __call__(self, url, path, _):
            Path(path).write_bytes(published[:100])
            raise failure

    monkeypatch.setattr(pooch, "HTTPDownloader", Interrupted)
    with pytest.raises(caught, match=message):
        fetch_yale(data_home=tmp_path)
    assert names(tmp_path) == []


@pytest.mark.parametrize("at", ["savez_compressed", "replace"])
def test_a_full_disk_while_keeping_warns_and_leaves_nothing_behind(source, published, tmp_path, monkeypatch, at):
    def full(path, *args, **kwargs):
        Path(path).write_bytes(b"half of it")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(*((np, at) if at == "savez_compressed" else (os, at)), full)
    (tmp_path / "Yale_32x32.mat").write_bytes(published)
    with pytest.warns(UserWarning, match=r"yale\.npz could not be kept in .* No space left") as caught:
        assert is_the_data(fetch_yale(data_home=tmp_path))
    assert [warning.filename for warning in caught] == [__file__]
    assert names(tmp_path) == ["Yale_32x32.mat"]


def test_an_interruption_while_keeping_leaves_nothing_behind(source, published, tmp_path, monkeypatch):
    def interrupted(path, **arrays):
        Path(path).write_bytes(b"half of it")
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez_compressed", interrupted)
    (tmp_path / "Yale_32x32.mat").write_bytes(published)
    with pytest.raises(KeyboardInterrupt):
        fetch_yale(data_home=tmp_path)
    assert names(tmp_path) == ["Yale_32x32.mat"]


def test_a_folder_that_cannot_be_written_to_still_serves(source, published, tmp_path, monkeypatch):
    def read_only(folder):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(_files, "scratch_folder", read_only)
    (tmp_path / "Yale_32x32.mat").write_bytes(published)
    with pytest.warns(UserWarning, match="Permission denied"):
        assert is_the_data(fetch_yale(data_home=tmp_path))


def test_a_download_needs_a_folder_it_can_write_to(source, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match=r"file cannot be written to .* name another data_home"):
        fetch_yale(data_home=tmp_path / "file")


def spoilt_arrays(path: Path) -> None:
    with np.load(path) as arrays:
        spoilt = dict(arrays)
    spoilt["X"] = spoilt["X"] ^ 1
    np.savez(path, **spoilt)


def other_type(path: Path) -> None:
    with np.load(path) as arrays:
        spoilt = dict(arrays)
    np.savez(path, **(spoilt | {"y": spoilt["y"].astype(np.int64)}))


def without_labels(path: Path) -> None:
    with np.load(path) as arrays:
        spoilt = {name: arrays[name] for name in ("X", "shape")}
    np.savez(path, **spoilt)


def pickled(path: Path) -> None:
    np.savez(path, X=np.array([{}], dtype=object), y=LABELS, shape=np.array([32, 32]))


def single_array(path: Path) -> None:
    with path.open("wb") as stream:
        np.save(stream, PIXELS)


SPOIL = {
    "spoilt arrays": spoilt_arrays,
    "other type": other_type,
    "without labels": without_labels,
    "pickled": pickled,
    "single array": single_array,
    "empty": lambda path: path.write_bytes(b""),
    "text": lambda path: path.write_text("<html>404</html>"),
    "truncated": lambda path: path.write_bytes(path.read_bytes()[:-100]),
}


@pytest.mark.parametrize("spoil", SPOIL.values(), ids=SPOIL)
def test_a_wrong_file_is_refused_and_never_replaced(serve, source, kept, published, spoil):
    serve("/Yale_32x32.mat")
    spoil(kept / "yale.npz")
    before = (kept / "yale.npz").read_bytes()
    (kept / "Yale_32x32.mat").write_bytes(published)
    with pytest.raises(OSError, match=r"yale\.npz is refused: .*delete it to have it made anew") as refusal:
        fetch_yale(data_home=kept)
    assert str(refusal.value).startswith(str(kept / "yale.npz"))
    assert source.converted[0].sha256 in str(refusal.value)
    assert (kept / "yale.npz").read_bytes() == before
    assert names(kept) == ["Yale_32x32.mat", "yale.npz"]


def test_a_wrong_file_is_refused_with_both_hashes(source, kept):
    spoilt_arrays(kept / "yale.npz")
    with np.load(kept / "yale.npz") as arrays:
        found = arrays_sha256(arrays, source.converted[0].arrays)
    with pytest.raises(OSError, match=f"its arrays have sha256 {found}, expected {source.converted[0].sha256};"):
        fetch_yale(data_home=kept)


def test_any_flipped_byte_is_refused_or_harmless(source, kept):
    """Some bytes of a zip file mean nothing (dates, say); all others must be noticed."""
    right = (kept / "yale.npz").read_bytes()
    refused = 0
    for place in np.random.default_rng(0).integers(0, len(right), size=300):
        wrong = bytearray(right)
        wrong[place] ^= 0xFF
        (kept / "yale.npz").write_bytes(wrong)
        try:
            harmless = is_the_data(fetch_yale(data_home=kept))
        except OSError as error:
            harmless, refused = "yale.npz is refused" in str(error), refused + 1
        assert harmless
    assert refused > 200


def test_recompression_is_no_harm(kept):
    with np.load(kept / "yale.npz") as arrays:
        same = dict(arrays)
    np.savez(kept / "yale.npz", extra=np.ones(1), **same)
    assert is_the_data(fetch_yale(data_home=kept))


@pytest.mark.parametrize("below", ["", "raw"])
def test_a_wrong_published_file_is_refused(serve, source, published, tmp_path, below):
    serve("/Yale_32x32.mat")
    path = tmp_path / below / "Yale_32x32.mat"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(published[:-1])
    found, expected = hashlib.sha256(published[:-1]).hexdigest(), source.raw["Yale_32x32.mat"]
    with pytest.raises(OSError, match="is refused") as refusal:
        fetch_yale(data_home=tmp_path)
    assert str(refusal.value) == (
        f"{path} is refused: its sha256 is {found}, expected {expected}; delete it, or put the right file there."
    )
    assert not (tmp_path / "yale.npz").exists()


def test_a_conversion_with_another_result_is_refused(source, published, tmp_path, monkeypatch):
    other = replace(source, converted=(replace(source.converted[0], sha256="0" * 64),))
    monkeypatch.setattr(_fetch, "YALE", other)
    (tmp_path / "Yale_32x32.mat").write_bytes(published)
    with pytest.raises(OSError, match=rf"converted to yale\.npz .* {source.converted[0].sha256}, expected 0000"):
        fetch_yale(data_home=tmp_path)
    assert names(tmp_path) == ["Yale_32x32.mat"]


def test_without_pooch_it_says_how_to_install_it(source, kept, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pooch", None)
    assert is_the_data(fetch_yale(data_home=kept))
    (kept / "yale.npz").unlink()
    with pytest.raises(ImportError, match=r'download Yale_32x32\.mat; .* pip install "ewnmf\[data\]"'):
        fetch_yale(data_home=kept)
    with pytest.raises(ImportError, match=r"neither data_home nor EWNMF_DATA names one; install"):
        fetch_yale()
