"""Compiled code: never older than its sources, and Ctrl-C is not lost while it is made."""

from __future__ import annotations

import ast
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ewnmf

numba = pytest.importorskip("numba")
pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="compilation is switched off")

from llvmlite import binding  # noqa: E402

from ewnmf.kernels.compiled import entry as compiling  # noqa: E402
from ewnmf.kernels.compiled import options  # noqa: E402

SOURCE = Path(ewnmf.__file__).parent
MEASURE = """
import numpy as np
from ewnmf.kernels.compiled import passes
from ewnmf.losses import Euclidean
from ewnmf.losses.elementary import numbers
E = np.empty(2)
X, Y, A = np.full((2, 3), 5.0), np.full((2, 3), 3.0), np.ones((2, 3))
passes.measure_rows(X, Y, A, Euclidean().scalar(numbers(np.float64, 1e-90)), E)
print(*E)
"""
INTERRUPTED = f"""
import os, signal, threading
import numpy, ewnmf.kernels.compiled.passes
threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
{textwrap.indent(MEASURE, "    ")}
except KeyboardInterrupt:
    print("interrupted")
"""


def _run(program: str, package: Path, **environment: str) -> str:
    given = {**os.environ, "PYTHONPATH": str(package.parent), **environment}
    answer = subprocess.run(
        [sys.executable, "-c", program], env=given, capture_output=True, text=True, timeout=120, check=True
    )
    return answer.stdout.strip()


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package."""
    copy = tmp_path / "lib" / "ewnmf"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


def _kept(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*.nb[ic]")}


def test_an_edit_of_inlined_code_is_seen(package: Path) -> None:
    room = package / "kernels" / "compiled"
    folder = room / "__pycache__"
    assert _run(MEASURE, package, NUMBA_CACHE_DIR="") == "12.0 12.0"
    first = _kept(folder)
    assert len(first) == 2
    euclidean = package / "losses" / "euclidean.py"
    euclidean.write_text(euclidean.read_text().replace("return square(x - y)", "return 9 * square(x - y)"))
    (folder / "other.entry-1.py311.nbi").touch()
    assert _run(MEASURE, package, NUMBA_CACHE_DIR="") == "108.0 108.0"
    second = _kept(folder)
    assert not second & first
    assert len(second) == 3


def test_old_machine_code_of_every_entry_point_is_removed() -> None:
    room = SOURCE / "kernels" / "compiled"
    have = {path.stem for path in room.glob("*.py") if "\n@entry(" in path.read_text(encoding="utf-8")}
    assert have <= set(compiling._ENTRIES)


def test_the_folder_is_numbas(package: Path, tmp_path: Path) -> None:
    program = MEASURE + "print(len(passes.measure_rows.stats.cache_hits), len(passes.measure_rows.stats.cache_misses))"
    for hits in ("0 1", "1 0"):
        assert _run(program, package, NUMBA_CACHE_DIR=str(tmp_path / "cache")).splitlines() == ["12.0 12.0", hits]
        assert len(_kept(tmp_path / "cache")) == 2
    assert not _kept(package)


def test_the_fingerprint_knows_every_source_of_compiled_code() -> None:
    """All modules that import Numba, and what those import of this package."""
    names = {
        ".".join(("ewnmf", *path.relative_to(SOURCE).with_suffix("").parts)): path for path in SOURCE.rglob("*.py")
    }
    imports = {name: _imported(path) for name, path in names.items()}
    compiled = {name for name, modules in imports.items() if {"numba", "llvmlite"} & modules}
    compiled -= {"ewnmf.kernels.select"}
    reached = {module for name in compiled for module in imports[name] if "ewnmf." in module}
    rooms = {f"ewnmf.{room}" for room in compiling.ROOMS}
    forms = {name for name in names if name.rpartition(".")[0] in rooms or name in rooms}
    assert (compiled | reached | forms) <= {".".join(part) for part in map(_dotted, compiling.sources())}


def _dotted(path: Path) -> tuple[str, ...]:
    return ("ewnmf", *Path(str(path)).relative_to(SOURCE).with_suffix("").parts)


def _imported(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {node.module or "", (node.module or "").partition(".")[0]}
    return found


@pytest.mark.parametrize("name", ["scalar.py", "losses/alpha.py", "weightings/entropy.py", "kernels/compiled/rows.py"])
def test_every_source_changes_the_fingerprint(name: str, package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "files", lambda _: package)
    before = compiling.fingerprint.__wrapped__()
    assert before == compiling.fingerprint()
    with (package / name).open("a") as file:
        file.write("\n")
    assert compiling.fingerprint.__wrapped__() != before


def test_no_folder_for_the_cache_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numba.core.caching.CompileResultCacheImpl._locator_classes", [])
    assert _twice()(2.0) == 4.0


def test_processes_that_compile_at_once_keep_their_code_apart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each sees the index as it was before the other wrote it, and takes the first number for its file."""
    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile._load_index", lambda self: {})
    twice = _twice()
    assert (twice(2.0), twice(2)) == (4.0, 4)
    assert len([name for name in _kept(tmp_path / "numba") if name.endswith("nbc")]) == 2


def test_no_sources_are_no_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(compiling, "files", lambda package: tmp_path)
    monkeypatch.setattr(compiling, "fingerprint", compiling.fingerprint.__wrapped__)
    assert _twice()(2.0) == 4.0


def test_a_full_disk_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*given: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile.save", fail)
    assert _twice()(2.0) == 4.0


@pytest.fixture(autouse=True)
def own_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "numba"))


def _twice() -> Any:
    @compiling.entry(error_model="numpy")
    def twice(x: float) -> float:
        return 2 * x

    return twice


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    found = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, found)


@pytest.mark.usefixtures("ctrl_c")
class TestInterrupts:
    def test_a_swallowed_one(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """As when LLVM calls back: an exception cannot leave a function that C calls."""
        compiler: Any = numba.core.dispatcher._FunctionCompiler
        compile_, times = compiler.compile, list[int]()

        def interrupted(*given: Any) -> Any:
            ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal(signal.SIGINT))()
            times.append(1)
            return compile_(*given)

        monkeypatch.setattr(compiler, "compile", interrupted)
        twice = _twice()
        with pytest.raises(KeyboardInterrupt):
            twice(2.0)
        assert times
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        assert twice(2.0) == 4.0

    def test_the_second_does_not_wait(self) -> None:
        done = []

        def work() -> None:
            with compiling.interrupts_wait():
                for number in range(3):
                    signal.raise_signal(signal.SIGINT)
                    done.append(number)

        with pytest.raises(KeyboardInterrupt):
            work()
        assert done == [0]

    def test_with_an_error(self) -> None:
        def fail() -> None:
            with compiling.interrupts_wait():
                signal.raise_signal(signal.SIGINT)
                raise RuntimeError("object not compiled")

        with pytest.raises(KeyboardInterrupt):
            fail()

    def test_in_another_thread_and_where_they_are_ignored(self) -> None:
        def enter() -> None:
            with compiling.interrupts_wait():
                seen.append(signal.getsignal(signal.SIGINT))

        seen: list[Any] = []
        thread = threading.Thread(target=enter)
        thread.start()
        thread.join()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        enter()
        assert seen == [signal.default_int_handler, signal.SIG_IGN]

    @pytest.mark.skipif(os.name == "nt", reason="sends a POSIX signal to itself")
    def test_a_real_one(self, tmp_path: Path) -> None:
        assert _run(INTERRUPTED, SOURCE, NUMBA_CACHE_DIR=str(tmp_path)) == "interrupted"


def _scale_and_add(x, y):
    for i in range(x.size):
        y[i] += x[i] * y[i]


def test_vectors_are_as_wide_as_the_processor_has_them():
    if not binding.get_host_cpu_features().get("avx512f"):
        pytest.skip("this processor has no vectors of 512 bits")
    row = numba.types.Array(numba.float64, 1, "C")
    compiled = numba.njit((row, row), **options.ENTRY)(_scale_and_add)
    (assembly,) = compiled.inspect_asm().values()
    assert "zmm" in assembly
