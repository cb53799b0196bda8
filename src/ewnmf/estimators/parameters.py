"""The parameters of the estimators: names, types, valid values and texts.

Docstrings and the command's options are made of this table, and defaults are those of the signatures. What can be asked
for by name comes from the registries, so that a new loss or weighting is known here with its line there.
"""

from __future__ import annotations

import inspect
import json
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from ewnmf.fitting.starts import INITS
from ewnmf.losses.registry import LOSSES
from ewnmf.naming import listed
from ewnmf.solvers.orders import ORDERS
from ewnmf.solvers.registry import AUTO, SOLVERS
from ewnmf.weightings.registry import WEIGHTINGS, with_gamma

__all__ = ["ATTRIBUTES", "CUSTOM", "SECTIONS", "Parameter", "described", "section"]

CUSTOM = "custom"
"""The start that is handed to `fit`."""


@dataclass(frozen=True)
class Parameter:
    """A constructor's parameter."""

    name: str
    types: tuple[str, ...]
    """What it may be; with `names`, beside a name."""
    text: str | Callable[[], str]
    names: Callable[[], Iterable[str]] | None = None
    """The names that it can be given by, where it is one of several."""
    words: tuple[str, ...] = ()
    """Words that it may be instead of a number."""
    example: str | None = None
    """A text of the kind that it may be, too."""
    default: Any = None

    @property
    def choices(self) -> list[str]:
        """The valid names."""
        return [] if self.names is None else list(self.names())

    @property
    def help(self) -> str:
        """What it means, on one line."""
        return self.text if isinstance(self.text, str) else self.text()

    @property
    def kind(self) -> str:
        """Its type and default, as docstrings have them."""
        if self.names is not None:
            kind = " or ".join([listed(self.choices), *self.types])
        else:
            *most, last = [*self.types, *(f'"{word}"' for word in self.words)]
            if self.example is not None:
                most, last = [*most, last], f'a text like "{self.example}"'
            kind = f"{', '.join(most)} or {last}" if most else last
        return f"{kind}, default={self.shown_default}"

    @property
    def shown_default(self) -> str:
        """The default as one would write it."""
        if isinstance(self.default, str):
            return json.dumps(self.default)
        return repr(self.default).replace("e-0", "e-")

    @property
    def entry(self) -> str:
        """Its entry in a docstring of a class."""
        indent = 8 * " "
        words = textwrap.fill(
            self.help,
            120,
            initial_indent=indent,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
        return f"{self.name} : {self.kind}\n{words}"


def _weightings() -> str:
    return " ".join(f'``"{name}"``: {cls.meaning}' for name, cls in WEIGHTINGS.items())


def _gamma() -> str:
    names = with_gamma()
    named = f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
    return (
        f"Strength of {named} weights, in the unit of the loss: small values trust few attributes, infinity "
        'trusts all alike. ``"auto"`` chooses it for damage: of at most 7 fits from the first start the one that '
        "explains all entries but the worst best, or plain NMF (an infinite gamma) where none does clearly better. "
        '``"groups"`` chooses it for clusters, by how well the codes agree with the neighbourhoods of the data, in at '
        'most 8 fits. Of large data a subsample decides. ``"self-tuned"`` tunes it to 8 times the mean loss during '
        'the first half of the run, at no cost. ``"4x"`` is 4 times the mean loss of '
        'plain NMF: a number without unit, from about ``"16x"`` (mild) to ``"1x"`` (strong). See '
        "docs/choosing-gamma.md."
    )


_SHARED = (
    Parameter(
        "n_components",
        ("int",),
        'Number of components; ``"auto"`` takes it from a custom start, else the number of features. ``"cv"`` '
        "chooses it by entries that are held out of short fits, see `ewnmf.select_rank` (not for `ConvexNMF` and "
        "orthogonal methods that take no weights).",
        words=("auto", "cv"),
    ),
    Parameter("loss", ("Loss",), "What a wrong entry costs.", names=lambda: LOSSES),
    Parameter(
        "alpha",
        ("float",),
        'Parameter of ``loss="alpha"``: any real number; values of at most 0 need data without zeros.',
    ),
    Parameter("weighting", ("Weighting",), _weightings, names=lambda: WEIGHTINGS),
    Parameter(
        "gamma",
        ("float",),
        _gamma,
        words=("auto", "groups", "self-tuned"),
        example="4x",
    ),
    Parameter(
        "feature_weight",
        ("array-like of shape (n_features,)",),
        "Prior importance of the attributes, at least 0: their weights in the loss, and before learning those of "
        '``weighting="entropy"``. They hold for new points too.',
    ),
    Parameter(
        "fixed_components",
        ("array-like of shape (k, n_features)",),
        "The first k components, which stay as they are, to the bit, while `fit` learns the others. Not for "
        "`ConvexNMF` and orthogonal components.",
    ),
    Parameter(
        "init",
        (),
        '``"random"`` is uniform on [0.1, 1.1], as in the paper; the codes of a point are drawn from the point '
        "itself, so that order and repetition of points change nothing.",
        names=lambda: (*INITS, CUSTOM),
    ),
    Parameter("n_init", ("int",), "Number of starts; the one with the lowest objective is kept."),
    Parameter(
        "solver",
        (),
        '``"auto"`` is the fastest one that costs nothing: for squared errors ``"accelerated-cd"`` where entries do '
        'not differ in weight (`NMF`) and ``"accelerated"`` where weights are learned (`EWNMF`), else ``"mu"``. '
        '``"mu"``: the paper\'s multiplicative updates. ``"accelerated"`` (`EWNMF` and `NMF`): the same from '
        "extrapolated points, which needs about a third of the iterations for the same objective. "
        '``"cd"`` (`NMF`, squared errors): coordinate descent as in scikit-learn; ``"accelerated-cd"``: the '
        "same from extrapolated points. See docs/solvers.md.",
        names=lambda: (AUTO, *SOLVERS),
    ),
    Parameter(
        "order",
        (),
        'Which factor moves first in an iteration. ``"auto"`` is ``"codes-first"`` for `EWNMF` and `NMF`, which '
        'needs one pass less over the data and leads to the same solutions, and ``"components-first"`` for the '
        "others.",
        names=lambda: ("auto", *ORDERS),
    ),
    Parameter(
        "tol",
        ("float",),
        "Stop when an iteration lowers the objective by at most this share of its distance to its bound, in the mean "
        "of ten where steps are extrapolated; 0 runs all iterations. The codes of `transform` have a tenth of it.",
    ),
    Parameter("max_iter", ("int",), "Iterations at the most, for a start and for the codes of a point in `transform`."),
    Parameter("n_jobs", ("int",), "Threads; None means all usable cores. The result is the same for every number."),
    Parameter("random_state", ("int", "RandomState", "None"), "Source of the starts."),
    Parameter("verbose", ("int",), "1 writes stages and progress to standard error, 2 iterations, too."),
)

_PENALTIES = (
    Parameter(
        "alpha_W",
        ("float",),
        "Strength of the penalty on the codes (scikit-learn's ``W``), times the number of features.",
    ),
    Parameter(
        "alpha_H",
        ("float",),
        'Strength of the penalty on the components (``H``), times the number of samples; ``"same"`` is `alpha_W`.',
        words=("same",),
    ),
    Parameter(
        "l1_ratio",
        ("float",),
        'The share of the L1 norm in both penalties; the rest is half the squared L2 norm. ``loss="alpha"`` takes '
        "1 only. The unweighted cost is scikit-learn's (twice that for the Euclidean loss); under other "
        "weightings penalties are multiplied by the mean weight of an entry, so that a value means the same "
        "everywhere.",
    ),
)

_ORTHOGONAL = (
    Parameter(
        "method",
        (),
        '``"hard"`` (exactly orthogonal) and ``"soft"`` (a penalty on overlaps; Euclidean and KL) descend under '
        'every weighting. ``"lagrange"`` (Ding et al., 2006; the paper\'s baseline) and ``"stiefel"`` (Choi, 2008) '
        "are Euclidean and unweighted, and may rise.",
        names=lambda: ("hard", "soft", "lagrange", "stiefel"),
    ),
    Parameter("of", (), "Which factor is orthogonal.", names=lambda: ("codes", "components")),
    Parameter("mu", ("float",), '``"soft"``: strength of the penalty, times the mean weight.'),
    Parameter("lam", ("float",), '``"soft"``: ridge on the other factor, times the mean weight.'),
)

_BATCHES = (
    Parameter("batch_size", ("int",), "Points in a batch."),
    Parameter(
        "forget_factor",
        ("float",),
        "What is left of earlier sums after as many points as there are, from 0 (a batch knows nothing of the others) "
        "to 1 (all count alike), as in scikit-learn's `MiniBatchNMF`; a batch of `partial_fit` counts as a twentieth.",
    ),
)

SECTIONS = {"parameters": _SHARED, "penalties": _PENALTIES, "orthogonal": _ORTHOGONAL, "batches": _BATCHES}
"""What a docstring can ask for by ``$name``."""

ATTRIBUTES = """components_ : ndarray of shape (n_components, n_features)
        The basis.
    n_components_ : int
        Number of components.
    rank_path_ : RankPath
        The candidates and their scores; with ``n_components="cv"`` only.
    gamma_ : float or None
        The gamma of the weighting, infinite where plain NMF is the answer; None where it has none.
    gamma_path_ : GammaPath or None
        What ``gamma="auto"`` or ``"groups"`` tried, how it scored, and what that means (`verdict`).
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
    n_lost_blocks_ : int
        Blocks whose codes were lost with a worker and made anew; where ``X`` was a Dask collection only.
    calibration_ : Calibration
        The usual residuals of every attribute, by which `trust`, `suspects` and `repair` judge.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Their names, where ``X`` had them."""


def described(cls: Any) -> list[Parameter]:
    """The parameters of an estimator, with its defaults."""
    return [parameter for name in SECTIONS for parameter in section(name, cls)]


def section(name: str, cls: Any) -> list[Parameter]:
    """Those of one section that the estimator has."""
    given = inspect.signature(cls).parameters
    return [replace(known, default=given[known.name].default) for known in SECTIONS[name] if known.name in given]
