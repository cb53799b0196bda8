"""Docstrings of public objects are numpydoc's, estimators have examples and relatives, and examples are true."""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from numpydoc.validate import validate

MODULES = (
    "ewnmf",
    "ewnmf.plots",
    "ewnmf.report",
    "ewnmf.losses",
    "ewnmf.weightings",
    "ewnmf.models",
    "ewnmf.metrics",
    "ewnmf.datasets",
)
ESTIMATORS = ("EWNMF", "NMF", "ONMF", "SemiNMF", "ConvexNMF", "MiniBatchEWNMF", "Repairer")
API = Path(__file__).parents[2] / "docs" / "api" / "index.md"

NEVER = {"ES01", "SS05", "SA01", "EX01"}
"""Asked of nobody: a long summary, an infinitive (formulas come first), and of all objects relatives and examples."""
RESULTS = {"Factorization", "GammaPath", "RankPath", "RankOne", "Weighed"}
"""Made by the library: their fields are attributes."""


def public() -> Iterator[tuple[str, Any]]:
    """Names and objects of the reference."""
    for module in MODULES:
        for name in import_module(module).__all__:
            found = getattr(import_module(module), name)
            if callable(found):
                yield f"{module}.{name}", found


def with_methods() -> Iterator[str]:
    for name, found in public():
        yield name
        if inspect.isclass(found):
            for method in dir(found):
                function = getattr(inspect.getattr_static(found, method), "__func__", getattr(found, method, None))
                ours = inspect.isfunction(function) and function.__module__.startswith("ewnmf")
                if ours and not method.startswith("_"):
                    yield f"{name}.{method}"


def excused(name: str) -> set[str]:
    """What is not asked of an object."""
    parts = name.split(".")
    if parts[-1] in RESULTS or set(parts) & RESULTS:
        return {"PR01"}
    if parts[1] in ("losses", "weightings", "models") and (len(parts) > 3 or parts[-1] == "resolve"):  # formulas
        return {"PR01", "RT01", "SS02"}
    return set()


@pytest.mark.parametrize("name", list(with_methods()))
def test_docstring_is_valid(name: str) -> None:
    found = [(code, what) for code, what in validate(name)["errors"] if code not in NEVER | excused(name)]
    assert not found


@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_have_examples_and_relatives(name: str) -> None:
    codes = {code for code, _ in validate(f"ewnmf.{name}")["errors"]}
    assert not codes & {"EX01", "SA01"}


@pytest.mark.parametrize("name", [name for name, found in public() if ">>>" in (found.__doc__ or "")])
def test_examples_are_true(name: str) -> None:
    module, _, last = name.rpartition(".")
    found = getattr(import_module(module), last)
    tests = doctest.DocTestFinder(recurse=False).find(found, name, globs={})
    failed = sum(doctest.DocTestRunner(verbose=False).run(test).failed for test in tests)
    assert failed == 0


def test_the_reference_has_a_page_for_each() -> None:
    listed, module = set(), ""
    for line in API.read_text(encoding="utf-8").splitlines():
        module = line.partition(".. currentmodule:: ")[2] or module
        if line.startswith("   ") and line.strip().isidentifier():
            listed.add(f"{module}.{line.strip()}")
    assert listed == {name for name, _ in public() if name != "ewnmf.__version__"}
