"""ONMF: the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ewnmf.losses.base import Loss
from ewnmf.losses.euclidean import Euclidean
from ewnmf.models import orthogonal_rules as rules
from ewnmf.models.base import Model, _check_strength, _refusal
from ewnmf.models.rule import Facts, Rule
from ewnmf.naming import unknown_name
from ewnmf.weightings.base import Weighting

__all__ = ["Orthogonal"]


@dataclass(frozen=True)
class Orthogonal(Model):
    """``X ~ W H`` with ``W, H >= 0`` and orthogonal codes (rows of ``H``) or components (columns of ``W``).

    Parameters
    ----------
    method : {"hard", "soft", "lagrange", "stiefel"}, default="hard"
        ``"hard"``: exactly orthogonal, one component for every point (or attribute). ``"soft"``: a penalty on the
        overlaps. Both descend under every weighting. ``"lagrange"`` (Ding et al., 2006) and ``"stiefel"`` (Choi, 2008)
        are unweighted and may rise; the paper's baseline is ``"lagrange"``.
    of : {"codes", "components"}, default="codes"
        Which factor is orthogonal.
    mu : float, default=1.0
        ``"soft"``: strength of the penalty on overlaps, times the mean weight.
    lam : float, default=1.0
        ``"soft"``: ridge on the other factor, times the mean weight.
    """

    method: str = "hard"
    of: str = "codes"
    mu: float = 1.0
    lam: float = 1.0

    name: ClassVar[str] = "onmf"

    def __post_init__(self) -> None:
        if self.method not in ("hard", "soft", "lagrange", "stiefel"):
            raise unknown_name("method", self.method, ["hard", "soft", "lagrange", "stiefel"])
        if self.of not in ("codes", "components"):
            raise unknown_name("of", self.of, ["codes", "components"])
        _check_strength("mu", self.mu)
        _check_strength("lam", self.lam)

    def check(self, loss: Loss, weighting: Weighting) -> None:
        """Hard: losses with a rank-one fit. Soft: Euclidean and KL. Lagrange, Stiefel: Euclidean without weights."""
        part = f"model='onmf' with method={self.method!r}"
        if self.method == "hard" and not hasattr(loss, "rank_one"):
            why = "its best rank-one fit has no closed form (a method rank_one)"
            raise _refusal(loss, part, why, "'euclidean', 'kullback-leibler' or 'alpha', or method='soft'")
        if self.method == "soft" and not hasattr(loss, "penalised_factor"):
            why = "no step is known that never raises its penalised cost"
            raise _refusal(loss, part, why, "'euclidean' or 'kullback-leibler', or method='hard'")
        if self.method in ("lagrange", "stiefel"):
            if type(loss) is not Euclidean:
                why = "the method is derived for squared errors"
                raise _refusal(loss, part, why, "loss='euclidean', or method='hard'")
            if weighting.weighted:
                raise ValueError(
                    f"weighting={weighting.name!r} cannot be combined with {part}: weights break its derivation, and "
                    "the cost rises. Use weighting='none', or method='hard' or 'soft'."
                )

    def refuses_hidden(self) -> str | None:
        """Lagrange and Stiefel know no weights, not even 0."""
        if self.method not in ("lagrange", "stiefel"):
            return None
        return (
            f"model='onmf' with method={self.method!r} needs complete data, since weights break its derivation. Use "
            "method='hard' or 'soft', or fill the gaps first (NMF: inverse_transform(transform(X)))"
        )

    def refuses_fixed(self) -> str | None:
        """Orthogonal components depend on each other."""
        if self.of == "codes":
            return None
        return "model='onmf' with of='components' makes its components orthogonal. Use of='codes', or NMF"

    def refuses_priors(self) -> str | None:
        """Lagrange and Stiefel know no weights but those of points."""
        if self.method not in ("lagrange", "stiefel"):
            return None
        return (
            f"model='onmf' with method={self.method!r} takes no weights of entries, which break its derivation. Use "
            "method='hard' or 'soft'"
        )

    def rule(self, loss: Loss, weighting: Weighting, facts: Facts) -> Rule:
        """The rule of the chosen method."""
        if self.method == "hard":
            return (rules.HardCodes if self.of == "codes" else rules.HardComponents)(loss, facts)
        if self.method == "soft":
            return rules.Soft(loss, facts, mu=self.mu, lam=self.lam, of=self.of)
        return (rules.Lagrange if self.method == "lagrange" else rules.Stiefel)(loss, facts, of=self.of)
