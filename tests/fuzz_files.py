"""Malformed files of every kind, made from a seed, and what the command makes of them.

``python -m tests.fuzz_files --count 3000 --seed 1`` looks further than the test does.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import io
import json
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import io as scipy_io
from scipy import sparse

from ewnmf.cli import main

RNG = np.random.Generator
VALUES = np.round(np.random.default_rng(0).random((12, 6)) + 0.1, 3)
"""The table that all valid files hold."""
IMAGES = (np.random.default_rng(1).random((5, 4, 6)) * 200 + 20).astype(np.uint8)
KINDS = ("csv", "csv.gz", "tsv", "parquet", "npy", "npz", "sparse", "mtx", "mtx.gz", "mat", "images", "model")


def write_valid(folder: Path) -> dict[str, Path]:
    """A valid file (or folder) of every kind that the command reads, and a model."""
    import pyarrow as pa
    from PIL import Image
    from pyarrow import parquet

    from ewnmf import EWNMF

    names = [f"x{j}" for j in range(VALUES.shape[1])]
    rows = "\n".join(",".join(map(str, row)) for row in VALUES)
    text = f"{','.join(names)}\n{rows}\n"
    endings = {"sparse": "sparse.npz", "images": "images", "model": "model.ewnmf"}
    files = {kind: folder / endings.get(kind, f"table.{kind}") for kind in KINDS}
    files["csv"].write_text(text, encoding="utf-8")
    files["csv.gz"].write_bytes(gzip.compress(text.encode(), mtime=0))
    files["tsv"].write_text(text.replace(",", "\t"), encoding="utf-8")
    parquet.write_table(pa.table(dict(zip(names, VALUES.T, strict=True))), files["parquet"])
    np.save(files["npy"], VALUES)
    np.savez(files["npz"], X=VALUES, y=np.arange(12))
    sparse.save_npz(files["sparse"], sparse.csr_matrix(VALUES))
    scipy_io.mmwrite(files["mtx"], sparse.coo_matrix(VALUES))
    files["mtx.gz"].write_bytes(gzip.compress(files["mtx"].read_bytes(), mtime=0))
    scipy_io.savemat(files["mat"], {"fea": VALUES, "gnd": np.arange(12)[:, None]})
    files["images"].mkdir()
    for i, pixels in enumerate(IMAGES):
        Image.fromarray(pixels).save(files["images"] / f"{i}.png")
    EWNMF(2, gamma="4x", tol=0, max_iter=3, random_state=0).fit(VALUES).save(files["model"])
    return files


def _cut(content: bytes, rng: RNG) -> bytes:
    return content[: rng.integers(len(content))]


def _flip(content: bytes, rng: RNG) -> bytes:
    changed = bytearray(content)
    for place in rng.integers(len(content), size=rng.integers(1, 20)):
        changed[place] ^= 1 << rng.integers(8)
    return bytes(changed)


def _insert(content: bytes, rng: RNG) -> bytes:
    place = rng.integers(len(content))
    junk = [b"\0" * 8, rng.bytes(16), b"\xff\xfe", b"\xef\xbb\xbf", b"\n\n", b'"', b",", b"-", b"9" * 400]
    return content[:place] + junk[rng.integers(len(junk))] + content[place:]


def _shuffle(content: bytes, rng: RNG) -> bytes:
    first, second = sorted(rng.integers(len(content), size=2))
    return content[second:] + content[first:second] + content[:first]


def _twice(content: bytes, rng: RNG) -> bytes:
    first, second = sorted(rng.integers(len(content), size=2))
    return content[:second] + content[first:]


def _hole(content: bytes, rng: RNG) -> bytes:
    first, second = sorted(rng.integers(len(content), size=2))
    return content[:first] + content[second:]


def _number(content: bytes, rng: RNG) -> bytes:
    """Another thing where a number was: in the data, or in a header that says how much is to come."""
    words = [
        b"abc",
        b"-1.5",
        b"inf",
        b"nan",
        b"1e999",
        b"99999999999999999999",
        b"0",
        b"4294967296",
        b"True",
        b"2020-01-01",
    ]
    digits = [i for i, byte in enumerate(content) if 48 <= byte <= 57]
    if not digits:
        return content[::-1]
    place = digits[rng.integers(len(digits))]
    return content[:place] + words[rng.integers(len(words))] + content[place + 1 :]


def _recode(content: bytes, rng: RNG) -> bytes:
    codecs = ["utf-16", "utf-32", "utf-16-be", "cp037"]
    return (content.decode("latin-1") + "\u00e9").encode(codecs[rng.integers(len(codecs))], errors="replace")


def _line(content: bytes, rng: RNG) -> bytes:
    """Ragged rows, empty rows, a row that is far too long."""
    lines = content.split(b"\n")
    at = rng.integers(len(lines))
    new = [
        lines[at] + b",1",
        lines[at].rpartition(b",")[0],
        b"",
        b"1," * 5000,
        b"name,other\n" + lines[at],
        b"%" * 3000,
    ]
    return b"\n".join([*lines[:at], new[rng.integers(len(new))], *lines[at + 1 :]])


def _nothing(content: bytes, rng: RNG) -> bytes:
    return [b"", b"\n", b"\0", b" " * 50, rng.bytes(200)][rng.integers(5)]


MUTATIONS: tuple[Callable[[bytes, RNG], bytes], ...] = (
    _cut,
    _flip,
    _insert,
    _shuffle,
    _twice,
    _hole,
    _number,
    _recode,
    _line,
    _nothing,
)


class Case(NamedTuple):
    """A malformed file and the command line that is given it."""

    kind: str
    mutation: str
    file: Path
    arguments: list[str]
    output: Path


class Outcome(NamedTuple):
    """What the command said."""

    code: int
    stdout: str
    stderr: str


def make_case(number: int, seed: int, valid: dict[str, Path], folder: Path) -> Case:
    """The malformed file of that number; the same for the same seed."""
    rng = np.random.default_rng([seed, number])
    kind, mutate = KINDS[number % len(KINDS)], MUTATIONS[rng.integers(len(MUTATIONS))]
    if kind == "mat" and number // len(KINDS) % 3:  # each is read by a process of its own
        kind = "npz"
    file, output = folder / f"{number}-{valid[kind].name}", folder / f"{number}-out"
    if kind == "images":
        shutil.copytree(valid[kind], file)
        target = file / f"{rng.integers(len(IMAGES))}.png"
        target.write_bytes(mutate(target.read_bytes(), rng))
    else:
        file.write_bytes(mutate(valid[kind].read_bytes(), rng))
    if kind != "model" and rng.random() < 0.1:
        other = KINDS[rng.integers(len(KINDS) - 2)].replace("sparse", "npz")
        file = file.rename(folder / f"{number}-disguised.{other}")
    arguments = ["fit", str(file), "-k", "2", "--max-iter", "2", "--tol", "0", "--n-jobs", "1", "-o", str(output), "-q"]
    if kind == "images" and number // len(KINDS) % 3:
        arguments.append("--no-pictures")
    if kind == "model":
        output = output.with_suffix(".npy")
        arguments = ["transform", str(file), str(valid["npy"]), "-o", str(output), "-q"]
    return Case(kind, mutate.__name__.strip("_"), file, arguments, output)


def run(arguments: list[str]) -> Outcome:
    """The command in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(arguments)
    return Outcome(code, out.getvalue(), err.getvalue())


def complaint(case: Case, outcome: Outcome, codes: np.ndarray[Any, Any]) -> str | None:
    """What is wrong with the command's conduct: None where it refused in a sentence, or wrote a whole result."""
    beside = [path.name for path in case.output.parent.glob(f"{case.output.name}.*")]
    if beside:
        return f"left behind: {beside}"
    if outcome.code == 2:
        sentence = outcome.stderr.startswith("ewnmf: ") and outcome.stderr.count("\n") == 1
        if not sentence or "Traceback" in outcome.stderr:
            return f"no sentence: {outcome.stderr!r}"
        return "half a result" if case.output.exists() else None
    if outcome.code != 0:
        return f"exit code {outcome.code}: {outcome.stderr!r}"
    if case.kind == "model":
        return None if np.array_equal(np.load(case.output), codes) else "a damaged model gave other codes"
    summary = json.loads((case.output / "summary.json").read_text(encoding="utf-8"))
    found = sorted(path.name for path in case.output.iterdir())
    return None if found == sorted([*summary["files"], "summary.json"]) else f"half a result: {found}"


def fuzz(
    count: int, seed: int, folder: Path, execute: Callable[[list[str]], Outcome] = run
) -> tuple[Counter[str], list[str]]:
    """Outcomes by kind of exit, and complaints with the case they belong to."""
    from ewnmf import load

    valid = write_valid(folder)
    codes = load(valid["model"]).transform(VALUES)
    exits: Counter[str] = Counter()
    complaints = []
    for number in range(count):
        case = make_case(number, seed, valid, folder)
        outcome = execute(case.arguments)
        exits["refused" if outcome.code == 2 else "read"] += 1
        wrong = complaint(case, outcome, codes)
        if wrong is not None:
            complaints.append(f"number {number}, seed {seed} ({case.kind}, {case.mutation}): {wrong}")
        _remove(case.file)
        _remove(case.output)
    return exits, complaints


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        exits, complaints = fuzz(options.count, options.seed, Path(folder))
    sys.stdout.write("".join(f"{line}\n" for line in [*complaints, dict(exits), f"{len(complaints)} complaints"]))
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(_main())
