"""Models: what is asked of the factors. A model picks the update rule for a loss and a weighting, or refuses."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from ewnmf.losses import Euclidean, Loss
from ewnmf.naming import unknown_name
from ewnmf.updates import convex, orthogonal, semi
from ewnmf.updates.multiplicative import Multiplicative, Penalised, PlainMultiplicative
from ewnmf.updates.rule import Facts, Rule
from ewnmf.weights import Weighting

__all__ = ["NMF", "Convex", "Model", "Orthogonal", "Semi", "resolve"]


def _refusal(loss: Loss, other: str, why: str, instead: str) -> ValueError:
    return ValueError(f"loss={loss.name!r} cannot be combined with {other}: {why}. Use {instead}.")


@dataclass(frozen=True)
class Model:
    """Base of the models."""

    name: ClassVar[str] = ""
    signed_basis: ClassVar[bool] = False
    """Whether components may be negative."""
    has_combinations: ClassVar[bool] = False
    """Whether the basis is ``X U``."""
    order: ClassVar[str] = "components-first"
    """Which factor moves first, where nothing else is asked for."""

    def check(self, loss: Loss, weighting: Weighting) -> None:
        """Refuse what is not defined, naming both parts and what would work."""

    def takes_negative(self, loss: Loss) -> bool:
        """Whether the data may be negative under this loss."""
        return False

    def refuses_hidden(self) -> str | None:
        """Why entries cannot be hidden and what to do instead, where that is so."""
        return None

    def refuses_fixed(self) -> str | None:
        """Why components cannot be held fixed and what to do instead, where that is so."""
        return None

    def refuses_priors(self) -> str | None:
        """Why attributes cannot have weights and what to do instead, where that is so."""
        return None

    def remembers_start(self, n_components: int, n_points: float, weighted: bool) -> bool:
        """Whether the size of the first components matters: then they are drawn in that of the data.

        A point counts as often as its weight says, but at least once.
        """
        return False

    def rule(self, loss: Loss, weighting: Weighting, facts: Facts) -> Rule:
        """The update rule for this loss and weighting."""
        raise NotImplementedError


@dataclass(frozen=True)
class NMF(Model):
    """``X ~ W H`` with ``W, H >= 0``, Eq. (1), and penalties as in scikit-learn's NMF.

    The cost gains ``alpha_codes M (l1_ratio |H|_1 + (1 - l1_ratio)/2 |H|^2)`` and
    ``alpha_components N (l1_ratio |W|_1 + (1 - l1_ratio)/2 |W|^2)``, both times the mean weight of an entry, and twice
    that for the Euclidean loss, which has no half here. A point of weight ``s_j`` counts ``s_j`` times.

    Parameters
    ----------
    alpha_codes, alpha_components : float, default=0.0
        Strengths of the penalties.
    l1_ratio : float, default=0.0
        The share of the L1 norm; the rest is the squared L2 norm.
    """

    alpha_codes: float = 0.0
    alpha_components: float = 0.0
    l1_ratio: float = 0.0

    name: ClassVar[str] = "nmf"
    order: ClassVar[str] = "codes-first"

    def __post_init__(self) -> None:
        _check_strength("alpha_codes", self.alpha_codes)
        _check_strength("alpha_components", self.alpha_components)
        _check_strength("l1_ratio", self.l1_ratio)
        if self.l1_ratio > 1:
            raise ValueError(f"l1_ratio={self.l1_ratio!r} must be a number from 0 to 1.")

    @property
    def penalised(self) -> bool:
        """Whether anything is added to the cost."""
        return self.alpha_codes > 0 or self.alpha_components > 0

    def check(self, loss: Loss, weighting: Weighting) -> None:
        """L1: the losses of this package. L2: Euclidean and KL."""
        if not self.penalised:
            return
        part = f"penalties (alpha_W, alpha_H) with l1_ratio={self.l1_ratio!r}"
        why = "no step is known that never raises its penalised cost"
        if not hasattr(loss, "with_slope"):
            raise _refusal(loss, part, why, "'euclidean', 'kullback-leibler' or 'alpha', or alpha_W=0 and alpha_H=0")
        if self.l1_ratio < 1 and not hasattr(loss, "penalised_factor"):
            raise _refusal(loss, part, why, "l1_ratio=1, or loss='euclidean' or 'kullback-leibler'")

    def rule(self, loss: Loss, weighting: Weighting, facts: Facts) -> Rule:
        """Multiplicative updates, in fewer products for squared errors without weights and penalties."""
        if self.penalised:
            return Penalised(loss, facts, self.alpha_codes, self.alpha_components, self.l1_ratio)
        plain = type(loss) is Euclidean and not weighting.weighted and not facts.priors
        return (PlainMultiplicative if plain else Multiplicative)(loss, facts)


@dataclass(frozen=True)
class Semi(Model):
    """``X ~ W H`` with ``H >= 0``; data and basis may be negative.

    Parameters
    ----------
    ridge : float, default=1e-6
        Proximal ridge of the weighted basis step, relative to the mean eigenvalue of each attribute's system.
    """

    ridge: float = 1e-6

    name: ClassVar[str] = "semi-nmf"
    signed_basis: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_strength("ridge", self.ridge)

    def check(self, loss: Loss, weighting: Weighting) -> None:
        """Euclidean only."""
        if type(loss) is not Euclidean:
            why = "W H may be negative there, where this loss is not defined"
            raise _refusal(loss, "model='semi-nmf'", why, "loss='euclidean', or model='nmf' on nonnegative data")

    def takes_negative(self, loss: Loss) -> bool:
        """Always."""
        return True

    def remembers_start(self, n_components: int, n_points: float, weighted: bool) -> bool:
        """By the proximal ridge, and where there are fewer points than components."""
        return weighted or n_components > n_points

    def rule(self, loss: Loss, weighting: Weighting, facts: Facts) -> Rule:
        """Ding's rules without weights, row systems with them."""
        if weighting.weighted or facts.priors:
            return semi.SemiWeighted(loss, facts, self.ridge)
        return semi.SemiPlain(loss, facts)


@dataclass(frozen=True)
class Convex(Model):
    """``X ~ X U H`` with ``U, H >= 0``: components are combinations of data points."""

    name: ClassVar[str] = "convex-nmf"
    signed_basis: ClassVar[bool] = True
    has_combinations: ClassVar[bool] = True

    def takes_negative(self, loss: Loss) -> bool:
        """With the Euclidean loss."""
        return type(loss) is Euclidean

    def refuses_hidden(self) -> str | None:
        """Components are made of whole points."""
        return (
            "model='convex-nmf' needs complete data, since its components are combinations of whole points. Fill the "
            "gaps first (NMF: inverse_transform(transform(X))), drop those points, or use NMF or SemiNMF"
        )

    def refuses_fixed(self) -> str | None:
        """Components are what their points make them."""
        return "the components of model='convex-nmf' are combinations of its points. Use NMF or SemiNMF"

    def rule(self, loss: Loss, weighting: Weighting, facts: Facts) -> Rule:
        """Ding's rules for the Euclidean loss without weights, weighted rules otherwise."""
        plain = type(loss) is Euclidean and not weighting.weighted and not facts.priors
        if not facts.signed:
            return (convex.ConvexPlain if plain else convex.ConvexNonnegative)(loss, facts)
        few = max(facts.n_points, facts.mass) <= facts.n_attributes
        if plain and few and facts.gram is not None:
            return convex.ConvexKernel(loss, facts)
        return convex.ConvexMixed(loss, facts)


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
            return (orthogonal.HardCodes if self.of == "codes" else orthogonal.HardComponents)(loss, facts)
        if self.method == "soft":
            return orthogonal.Soft(loss, facts, mu=self.mu, lam=self.lam, of=self.of)
        return (orthogonal.Lagrange if self.method == "lagrange" else orthogonal.Stiefel)(loss, facts, of=self.of)


def _check_strength(parameter: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise ValueError(f"{parameter}={value!r} must be a finite number of at least 0.")


_MODELS = {model.name: model for model in (NMF, Semi, Convex, Orthogonal)}


def resolve(model: str | Model) -> Model:
    """The model of that name, or the object itself."""
    if isinstance(model, Model):
        return model
    if isinstance(model, str):
        if model in _MODELS:
            return _MODELS[model]()
        raise unknown_name("model", model, _MODELS)
    raise TypeError(f"model={model!r} must be one of {', '.join(map(repr, _MODELS))} or an object of ewnmf.models.")
