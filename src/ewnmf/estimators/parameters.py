"""What the parameters of the estimators mean: one text for their docstrings and for the options of the command.

Docstrings are made of it, and Python leaves docstrings out under ``-OO``.
"""

from __future__ import annotations

import inspect
import re
from typing import Any, NamedTuple

__all__ = ["ATTRIBUTES", "SECTIONS", "Parameter", "described"]

_SHARED = """n_components : int, "auto" or "cv", default="auto"
        Number of components; ``"auto"`` takes it from a custom start, else the number of features. ``"cv"`` chooses it
        by entries that are held out of short fits, see `ewnmf.select_rank` (not for `ConvexNMF` and orthogonal methods
        that take no weights).
    loss : {"euclidean", "kullback-leibler", "alpha"} or Loss, default="euclidean"
        What a wrong entry costs.
    alpha : float, default=0.5
        Parameter of ``loss="alpha"``: any real number; values of at most 0 need data without zeros.
    weighting : {"entropy", "fixed", "none"} or Weighting, default=$weighting
        ``"entropy"``: a weight for every attribute of every point, learned with the factors. ``"fixed"``: the weights
        given to `fit`. ``"none"``: all entries alike.
    gamma : float, "auto", "self-tuned" or a text like "4x", default="auto"
        Strength of the entropy term, in the unit of the loss: small values trust few attributes, infinity trusts all
        alike. ``"auto"`` fits several from the first start and takes the one whose codes agree best with the
        neighbourhoods of the data, or plain NMF (an infinite gamma) where none is clearly better; at most 8 fits, and
        less than one more on large data, where a subsample decides. ``"self-tuned"`` settles 8 times the mean loss
        during the first half of the run, at no cost. ``"4x"`` is 4 times the mean loss of plain NMF: a number without
        unit, from about ``"16x"`` (mild) to ``"1x"`` (strong). See docs/choosing-gamma.md.
    feature_weight : array-like of shape (n_features,), default=None
        Prior importance of the attributes, at least 0: their weights in the loss, and before learning those of
        ``weighting="entropy"``. They hold for new points too.
    fixed_components : array-like of shape (k, n_features), default=None
        The first k components, which stay as they are, to the bit, while `fit` learns the others. Not for `ConvexNMF`
        and orthogonal components.
    init : {"random", "nndsvd", "nndsvda", "nndsvdar", "custom"}, default="random"
        ``"random"`` is uniform on [0.1, 1.1], as in the paper; the codes of a point are drawn from the point itself, so
        that order and repetition of points change nothing.
    n_init : int, default=1
        Number of starts; the one with the lowest objective is kept.
    solver : {"mu", "accelerated"}, default="mu"
        ``"mu"``: the paper's multiplicative updates. ``"accelerated"`` (`EWNMF` and `NMF`): the same from extrapolated
        points, which needs about a quarter of the iterations for the same objective. It goes lower than ``"mu"`` ever
        does; at small gamma that is not always good for clustering, so it is not the default.
    order : {"auto", "components-first", "codes-first"}, default="auto"
        Which factor moves first in an iteration. ``"auto"`` is ``"codes-first"`` for `EWNMF` and `NMF`, which needs one
        pass less over the data and leads to the same solutions, and ``"components-first"`` for the others.
    tol : float, default=1e-5
        Stop when an iteration lowers the objective by at most this share of its distance to its bound; 0 runs all
        iterations.
    max_iter : int, default=300
        Iterations at the most, for a start and for the codes of a point in `transform`.
    n_jobs : int, default=None
        Threads; None means all usable cores. The result is the same for every number.
    random_state : int, RandomState or None, default=None
        Source of the starts.
    verbose : int, default=0
        1 writes the progress to standard error."""

_PENALTIES = """alpha_W : float, default=0.0
        Strength of the penalty on the codes (scikit-learn's ``W``), times the number of features.
    alpha_H : float or "same", default="same"
        Strength of the penalty on the components (``H``), times the number of samples; ``"same"`` is `alpha_W`.
    l1_ratio : float, default=0.0
        The share of the L1 norm in both penalties; the rest is half the squared L2 norm. ``loss="alpha"`` takes 1 only.
        The unweighted cost is scikit-learn's (twice that for the Euclidean loss); under other weightings penalties are
        multiplied by the mean weight of an entry, so that a value means the same everywhere."""

_ORTHOGONAL = """method : {"hard", "soft", "lagrange", "stiefel"}, default="hard"
        ``"hard"`` (exactly orthogonal) and ``"soft"`` (a penalty on overlaps; Euclidean and KL) descend under every
        weighting. ``"lagrange"`` (Ding et al., 2006; the paper's baseline) and ``"stiefel"`` (Choi, 2008) are Euclidean
        and unweighted, and may rise.
    of : {"codes", "components"}, default="codes"
        Which factor is orthogonal.
    mu : float, default=1.0
        ``"soft"``: strength of the penalty, times the mean weight.
    lam : float, default=1.0
        ``"soft"``: ridge on the other factor, times the mean weight."""

SECTIONS = {"parameters": _SHARED, "penalties": _PENALTIES, "orthogonal": _ORTHOGONAL}
"""What a docstring can ask for by ``$name``."""

ATTRIBUTES = """components_ : ndarray of shape (n_components, n_features)
        The basis.
    n_components_ : int
        Number of components.
    rank_path_ : RankPath
        The candidates and their scores; with ``n_components="cv"`` only.
    gamma_ : float or None
        The gamma of the entropy weighting, infinite where plain NMF is the answer.
    gamma_path_ : GammaPath or None
        What ``gamma="auto"`` tried, and how it scored.
    n_iter_ : int
        Iterations of the best start.
    objective_ : float
        The objective ``J*`` of the best start.
    loss_curve_ : ndarray
        ``J*`` after every iteration at the final gamma.
    reconstruction_err_ : float
        Norm of the error of the run's own factors: the Frobenius norm for the Euclidean loss, else the square root of
        twice the divergence, as in scikit-learn.
    stop_reason_ : {"converged", "max_iter", "callback", "interrupted"}
        Why the best start ended.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Their names, where ``X`` had them."""


class Parameter(NamedTuple):
    """A constructor's parameter: its name, its kind and default as docstrings have them, and its meaning."""

    name: str
    kind: str
    help: str


def described(cls: Any) -> list[Parameter]:
    """The parameters of an estimator."""
    given = inspect.signature(cls).parameters
    found: list[tuple[str, str, str]] = []
    for text in SECTIONS.values():
        found += re.findall(r"^(\w+) : (.*)\n((?:    .*\n?|\n)*)", inspect.cleandoc(text), flags=re.M)
    return [
        Parameter(name, kind.replace("$weighting", f'"{given[name].default}"'), " ".join(words.split()))
        for name, kind, words in found
        if name in given
    ]
