"""What is asked for beside a problem and its data: a gamma, and how runs go."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from ewnmf.fitting import checks
from ewnmf.naming import unknown_name
from ewnmf.solvers.loop import Callback
from ewnmf.solvers.registry import SOLVERS
from ewnmf.weightings.base import Weighting
from ewnmf.weightings.registry import WEIGHTINGS, with_gamma

__all__ = ["RELATIVE", "GammaRequest", "Settings", "check_gamma", "check_grid"]

RELATIVE = (16.0, 8.0, 4.0, 2.0, 1.0, 0.5)
"""The gammas that are tried, in units of the mean loss of plain NMF. Above them weights hardly differ from equal ones,
below them most attributes of a point are lost."""


_MULTIPLE = re.compile(r"([0-9.]+(?:[eE][-+]?[0-9]+)?) ?x")


@dataclass(frozen=True)
class GammaRequest:
    """What the user asks of gamma: a value, a multiple of plain NMF's mean loss, or a rule and what it may try."""

    value: float | None = None
    times: float | None = None
    rule: str | None = None
    relative: tuple[float, ...] = RELATIVE
    gammas: tuple[float, ...] | None = None

    @classmethod
    def named(cls, text: str) -> GammaRequest | None:
        """``"auto"``, ``"self-tuned"``, or a multiple such as ``"4x"``; None for any other text."""
        if text in ("auto", "self-tuned"):
            return cls(rule=text)
        found = _MULTIPLE.fullmatch(text.strip())
        try:
            times = float(found[1]) if found else math.nan
        except ValueError:
            return None
        return cls(times=times) if 0 < times < math.inf else None


_GAMMA = "a positive number, 'auto', 'self-tuned', or a multiple of plain NMF's mean loss such as '4x'"


def check_gamma(gamma: object, weighting: object) -> GammaRequest:
    """What is asked of gamma; a weighting that brings its own gamma decides."""
    own = weighting.strength if isinstance(weighting, Weighting) else None
    _refuse_gamma(gamma, weighting)
    if isinstance(gamma, str):
        request = GammaRequest.named(gamma)
        if request is None:
            raise ValueError(f"gamma={gamma!r} must be {_GAMMA}.")
        if own is None:
            return request
        if gamma != "auto":
            raise ValueError(f"gamma={gamma!r} contradicts weighting={weighting!r}; give one of them.")
        gamma = own
    if isinstance(gamma, bool) or not isinstance(gamma, Real):
        raise TypeError(f"gamma={gamma!r} must be {_GAMMA}.")
    if gamma == 0:
        raise ValueError(
            "gamma=0 puts all the weight of a point on its best fitted attribute, from which nothing can be learned; "
            "give a positive gamma or 'auto'."
        )
    if not float(gamma) > 0:
        raise ValueError(f"gamma={gamma!r} must be {_GAMMA}.")
    if own is not None and own != gamma:
        raise ValueError(f"gamma={gamma!r} contradicts weighting={weighting!r}; give one of them.")
    return GammaRequest(float(gamma))


def _refuse_gamma(gamma: object, weighting: object) -> None:
    """A sentence where a gamma was given to a weighting that must not have one."""
    kind = WEIGHTINGS.get(weighting) if isinstance(weighting, str) else type(weighting)
    asked = not (isinstance(gamma, str) and gamma == "auto")
    if asked and kind is not None and issubclass(kind, Weighting) and kind.refuses_gamma:
        names = " or ".join(f"weighting={name!r}" for name in with_gamma())
        raise ValueError(
            f"gamma={gamma!r} was given, but weighting={weighting!r} has no gamma; leave it out, or use {names}."
        )


def check_grid(relative: Any, gammas: Any) -> GammaRequest:
    """The gammas to try: multiples of plain NMF's mean loss, or absolute values; the usual multiples by default."""
    if relative is not None and gammas is not None:
        raise ValueError("relative and gammas were both given; give one of them.")
    name, grid = ("gammas", gammas) if gammas is not None else ("relative", relative)
    if grid is None:
        return GammaRequest(rule="auto")
    try:
        values = np.atleast_1d(np.asarray(grid, dtype=np.float64)).ravel()
    except (TypeError, ValueError):
        raise ValueError(f"{name}={grid!r} must be a list of positive numbers.") from None
    bad = values[~((values > 0) & np.isfinite(values))]
    if values.size == 0 or bad.size:
        found = f"has {bad[0]:g}" if bad.size else "is empty"
        raise ValueError(f"{name} {found}; give positive, finite numbers (plain NMF is always tried too).")
    ordered = tuple(float(value) for value in np.unique(values)[::-1])
    return (
        GammaRequest(rule="auto", gammas=ordered) if name == "gammas" else GammaRequest(rule="auto", relative=ordered)
    )


@dataclass(frozen=True)
class Settings:
    """How a run goes, once problem, data and start are known."""

    order: str = "components-first"
    solver: str = "mu"
    max_iter: int = 300
    tol: float = 0.0
    n_jobs: int | None = None
    callbacks: Sequence[Callback] = ()

    def __post_init__(self) -> None:
        if self.solver not in SOLVERS:
            raise unknown_name("solver", self.solver, SOLVERS)
        checks.check_count("max_iter", self.max_iter)
        checks.check_tol(self.tol)
