"""Penalties on the entries of factors."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ewnmf._types import Array
from ewnmf.losses.base import Loss
from ewnmf.models.base import Facts

__all__ = ["Penalty", "penalties"]


class Penalty(NamedTuple):
    """``linear * F + ridge / 2 * F^2`` for every entry of a factor."""

    linear: float = 0.0
    ridge: float = 0.0

    def of(self, F: Array, axis: int | None = None) -> Any:
        """The sums along `axis`, in double precision."""
        F = F.astype(np.float64, copy=False)
        return self.linear * F.sum(axis=axis) + self.ridge / 2 * np.sum(F * F, axis=axis)


def penalties(
    loss: Loss, facts: Facts, alpha_codes: float, alpha_components: float, l1_ratio: float
) -> tuple[Penalty, Penalty]:
    """The penalties on codes and on the basis, in the unit of the data.

    Strengths are scikit-learn's, whose Euclidean loss has a half: `alpha_codes` times the number of attributes,
    `alpha_components` times that of points (by their weights), both times the mean weight of an entry.
    """
    unit = 2 / loss.err_factor * facts.mean_weight
    codes, basis = unit * alpha_codes * facts.n_attributes, unit * alpha_components * facts.mass
    units = facts.penalty_units(loss)
    return (
        Penalty(units[0] * l1_ratio * codes, units[1] * (1 - l1_ratio) * codes),
        Penalty(units[2] * l1_ratio * basis, units[3] * (1 - l1_ratio) * basis),
    )
