"""The command ``ewnmf``: every failure is one sentence on standard error."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the answer is its exit code."""
    if find_spec("click") is None:
        sys.stderr.write("ewnmf: the command needs click, which is not installed; run: pip install 'ewnmf[cli]'\n")
        return 2
    from ewnmf.cli.run import run

    return run(arguments)
