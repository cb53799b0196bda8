"""Malformed files: 300 of them end in a sentence or a whole result, never in a traceback or half a result."""

from __future__ import annotations

import subprocess
import sys

from tests.fuzz_files import MUTATIONS, Outcome, fuzz


def in_a_subprocess(arguments: list[str]) -> Outcome:
    done = subprocess.run(
        [sys.executable, "-m", "ewnmf", *arguments], capture_output=True, text=True, check=False, timeout=300
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def test_300_malformed_files(tmp_path):
    exits, complaints = fuzz(300, 0, tmp_path)
    assert complaints == []
    assert exits.total() == 300
    assert exits["refused"] > 20 * len(MUTATIONS)
    assert exits["read"] > 0


def test_one_in_a_process_of_its_own(tmp_path):
    exits, complaints = fuzz(1, 1, tmp_path, in_a_subprocess)
    assert (complaints, exits.total()) == ([], 1)
