"""Whatever interrupts the writing, nothing half done stands under the final name."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from ewnmf.io import Result, atomic_file, atomic_folder, check_free, write_result


def names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def write_folder(path: Path, force: bool = False, text: str = "new") -> None:
    with atomic_folder(path, force) as folder:
        (folder / "a.txt").write_text(text)
        (folder / "b.txt").write_text(text)
        (folder / "summary.json").write_text(json.dumps({"files": ["a.txt", "b.txt"]}))


WHOLE = ["out", "out/a.txt", "out/b.txt", "out/summary.json"]


def test_a_folder_appears_whole(tmp_path):
    with atomic_folder(tmp_path / "deep" / "out") as folder:
        assert folder.name.startswith("out.unfinished-")
        assert not (tmp_path / "deep" / "out").exists()
        (folder / "a.txt").write_text("a")
    assert names(tmp_path) == ["deep", "deep/out", "deep/out/a.txt"]
    (tmp_path / "usual").mkdir()
    assert (tmp_path / "deep" / "out").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_an_older_result_is_replaced_when_asked(tmp_path):
    write_folder(tmp_path / "out", text="old")
    with pytest.raises(FileExistsError, match="out exists already; name another place, or replace it with --force"):
        write_folder(tmp_path / "out")
    assert (tmp_path / "out" / "a.txt").read_text() == "old"
    write_folder(tmp_path / "out", force=True)
    assert (tmp_path / "out" / "a.txt").read_text() == "new"
    assert names(tmp_path) == WHOLE


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("call", range(5))
@pytest.mark.parametrize("name", ["fsync", "rename"])
def test_a_failure_at_any_step_leaves_the_old_result_or_the_new_one(tmp_path, monkeypatch, name, call, error, force):
    if force:
        write_folder(tmp_path / "out", text="old")
    before = names(tmp_path)
    calls = 0
    real = getattr(os, name)

    def failing(*arguments):
        nonlocal calls
        calls += 1
        if calls == call + 1:
            raise error
        return real(*arguments)

    monkeypatch.setattr(os, name, failing)
    said = None
    try:
        write_folder(tmp_path / "out", force)
    except (OSError, KeyboardInterrupt) as failure:
        said = failure
    assert not isinstance(said, OSError) or "could not be written" in str(said)
    content = (tmp_path / "out" / "a.txt").read_text() if (tmp_path / "out").exists() else None
    assert (names(tmp_path), content) in [(before, "old" if force else None), (WHOLE, "new")]
    if call < {"fsync": 3, "rename": 2 if force else 1}[name]:  # of three files and of the folder
        assert (type(said), content) == (type(error), "old" if force else None)
    elif said is None:
        assert content == "new"


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
@pytest.mark.parametrize("moment", ["fsync", "rename"])
def test_a_killed_run_leaves_a_name_that_explains_itself(tmp_path, moment):
    program = f"""
    import os, signal
    from ewnmf.io import atomic_folder
    os.{moment} = lambda *arguments: os.kill(os.getpid(), signal.SIGKILL)
    with atomic_folder({str(tmp_path / "out")!r}) as folder:
        (folder / "a.txt").write_text("a")
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=False)
    assert done.returncode == -signal.SIGKILL
    (left,) = tmp_path.iterdir()
    assert left.name.startswith("out.unfinished-")


def test_a_second_process_does_not_lose_the_first_ones_result(tmp_path):
    with pytest.raises(OSError, match="could not be written"), atomic_folder(tmp_path / "out"):
        write_folder(tmp_path / "out", text="first")
    assert names(tmp_path) == WHOLE
    assert (tmp_path / "out" / "a.txt").read_text() == "first"


def test_force_never_removes_what_is_no_result(tmp_path):
    write_folder(tmp_path / "out")
    (tmp_path / "out" / "thesis.tex").write_text("years of work")
    with pytest.raises(FileExistsError, match=r"holds something that is no result of ewnmf \(thesis.tex\)"):
        write_folder(tmp_path / "out", force=True)
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "notes").write_text("mine")
    with pytest.raises(FileExistsError, match="no result of ewnmf"):
        check_free(tmp_path / "own", force=True, folder=True)
    (tmp_path / "empty").mkdir()
    check_free(tmp_path / "empty", force=True, folder=True)


def test_files_and_folders_do_not_replace_each_other(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(FileExistsError, match="file exists and is no folder"):
        check_free(tmp_path / "file", force=True, folder=True)
    (tmp_path / "folder").mkdir()
    with pytest.raises(FileExistsError, match="folder exists and is no regular file"):
        check_free(tmp_path / "folder", force=True, folder=False)
    with pytest.raises(FileExistsError, match="is no regular file"), atomic_file(tmp_path / "folder"):
        pass


@pytest.mark.skipif(sys.platform == "win32", reason="there is no /dev/null")
def test_a_device_is_not_replaced():
    with pytest.raises(FileExistsError, match="is no regular file"), atomic_file("/dev/null"):
        pass


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    path = tmp_path / "a.txt"
    with atomic_file(path) as stream:
        assert names(tmp_path)[0].startswith("a.txt.unfinished-")
        stream.write(b"old")
    assert path.read_bytes() == b"old"
    with pytest.raises(ZeroDivisionError), atomic_file(path) as stream:
        stream.write(bytes(1 // 0))
    assert (path.read_bytes(), names(tmp_path)) == (b"old", ["a.txt"])


def test_a_full_disk_is_told(tmp_path, monkeypatch):
    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    message = r"a.txt could not be written \(No space left on device\); nothing was left under that name"
    with pytest.raises(OSError, match=message), atomic_file(tmp_path / "a.txt") as stream:
        stream.write(b"x")
    assert names(tmp_path) == []


@pytest.mark.skipif(sys.platform == "win32", reason="there are no limits on the size of files")
@pytest.mark.parametrize("count", [100, 200_000])
def test_an_array_that_does_not_fit_on_the_disk_is_told(tmp_path, count):
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    result = Result(np.ones((count, 1)), ("a",))
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (500, hard))
        message = r"codes.npy could not be written \(File too large\); nothing was left under that name"
        with pytest.raises(OSError, match=message), atomic_file(tmp_path / "codes.npy") as stream:
            write_result(stream, result, "npy")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert names(tmp_path) == []


@pytest.mark.parametrize("folder", [False, True])
def test_what_numpy_says_of_a_full_disk_is_made_a_sentence(tmp_path, folder):
    message = r"out could not be written \(the disk is full\); nothing was left under that name"
    with pytest.raises(OSError, match=message), (atomic_folder if folder else atomic_file)(tmp_path / "out"):
        raise OSError("1600000 requested and 105968 written")
    assert names(tmp_path) == []


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
@pytest.mark.parametrize("ending", ["", "/"])
def test_of_a_link_to_a_folder_what_it_points_to_is_replaced(tmp_path, ending):
    (tmp_path / "far").mkdir()
    write_folder(tmp_path / "far" / "real", text="old")
    (tmp_path / "link").symlink_to(tmp_path / "far" / "real")
    with pytest.raises(FileExistsError, match="exists already"), atomic_folder(f"{tmp_path / 'link'}{ending}"):
        pass
    with atomic_folder(f"{tmp_path / 'link'}{ending}", force=True) as folder:
        assert folder.parent == tmp_path / "far"
        (folder / "a.txt").write_text("new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["far", "link"]
    assert [path.name for path in (tmp_path / "far").iterdir()] == ["real"]
    assert (tmp_path / "link").is_symlink()
    assert names(tmp_path / "far" / "real") == ["a.txt"]


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_of_a_link_to_a_file_what_it_points_to_is_replaced(tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "real").write_text("old")
    (tmp_path / "link").symlink_to(Path("far") / "real")
    with atomic_file(tmp_path / "link") as stream:
        stream.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "far" / "real").read_text() == "new"
    assert names(tmp_path) == ["far", "far/real", "link"]


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_a_link_to_nothing_is_refused(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "none")
    with pytest.raises(FileExistsError, match="link exists and is no folder"), atomic_folder(tmp_path / "link", True):
        pass
    with pytest.raises(FileExistsError, match="link exists and is no regular file"), atomic_file(tmp_path / "link"):
        pass
    assert names(tmp_path) == ["link"]


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="could not be written"), atomic_file(tmp_path / "none" / "a.txt"):
        pass
