"""One line that says what a run was measured on."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import joblib
from threadpoolctl import threadpool_info

__all__ = ["describe"]

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "wNMF", "torch", "torchnmf")


def describe() -> str:
    """Processor, cores, system, Python, BLAS and the versions of the packages."""
    cores = joblib.cpu_count()
    versions = [f"{package} {found}" for package in PACKAGES if (found := _version(package))]
    return ", ".join(
        [
            _processor(),
            f"{cores} core{'s' * (cores != 1)}",
            platform.system(),
            f"Python {platform.python_version()}",
            *_blas(),
            *versions,
        ]
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


def _blas() -> list[str]:
    """The libraries NumPy and SciPy multiply with."""
    found = {
        f"{pool['internal_api']} {pool.get('version')} ({pool.get('architecture')})"
        for pool in threadpool_info()
        if pool["user_api"] == "blas"
    }
    return sorted(found)


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
