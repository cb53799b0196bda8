"""Fresh processes: what an import, a first fit or a run's memory costs can only be seen in one."""

from __future__ import annotations

import os
import subprocess
import sys

from benchmarks.stored import ROOT

__all__ = ["run_child"]


def run_child(*arguments: str, **environment: str) -> str:
    """The output of ``python *arguments`` with the given environment variables on top of ours."""
    paths = [str(ROOT), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, paths)), **environment}
    done = subprocess.run([sys.executable, *arguments], env=variables, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"python {' '.join(arguments)} failed: {done.stderr.strip()}")
    return done.stdout.strip()
