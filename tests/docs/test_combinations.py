"""The table of what combines with what is what the code says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ewnmf import factorize, losses, weightings
from ewnmf.losses.registry import LOSSES
from ewnmf.models import NMF, Convex, Model, Orthogonal, Semi
from ewnmf.problem import Problem
from ewnmf.solvers.registry import SOLVERS
from ewnmf.weightings.registry import WEIGHTINGS

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "combinations.md"
MODELS: dict[str, Model] = {
    "`NMF`, `EWNMF`": NMF(),
    "`SemiNMF`": Semi(),
    "`ConvexNMF`": Convex(),
    '`ONMF(method="hard")`': Orthogonal("hard"),
    '`ONMF(method="soft")`': Orthogonal("soft"),
    '`ONMF(method="lagrange")`': Orthogonal("lagrange"),
    '`ONMF(method="stiefel")`': Orthogonal("stiefel"),
}


def defined(model: Model, loss: losses.Loss, weighting: weightings.Weighting) -> bool:
    try:
        Problem(loss, model, weighting)
    except ValueError:
        return False
    return True


def solved(model: Model, solver: str) -> bool:
    """Refusals come before anything is computed; what is not refused is `"mu"`, or NMF."""
    if solver == "mu" or isinstance(model, NMF):
        return True
    try:
        factorize(np.ones((3, 3)), 2, model=model, weighting="none", solver=solver, max_iter=1)
    except ValueError:
        return False
    return True


def named(names: list[str], everything: list[str]) -> str:
    if names == everything:
        return "all"
    return ", ".join(f'`"{name}"`' for name in names) or "no"


def table() -> str:
    """The table as the page has it."""
    head = ["estimator", "losses", "weightings", "missing values", "negative data", "fixed components", "solvers"]
    lines = [head, ["---"] * len(head)]
    for name, model in MODELS.items():
        known = [known for known in LOSSES if defined(model, losses.resolve(known), weightings.Uniform())]
        weighted = [
            known for known in WEIGHTINGS if defined(model, losses.Euclidean(), weightings.resolve(known, gamma=1.0))
        ]
        solvers = [known for known in SOLVERS if solved(model, known)]
        yes = [model.refuses_hidden() is None, model.takes_negative(losses.Euclidean()), model.refuses_fixed() is None]
        answers = [named(known, list(LOSSES)), named(weighted, list(WEIGHTINGS)), *("yes" if y else "no" for y in yes)]
        lines.append([name, *answers, named(solvers, [])])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def test_the_table_is_what_the_code_says() -> None:
    assert table() in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [*LOSSES, *WEIGHTINGS])
def test_every_part_is_named(name: str) -> None:
    assert f'`"{name}"`' in PAGE.read_text(encoding="utf-8")
