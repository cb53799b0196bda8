"""
Filling gaps
============

NaN is a missing value everywhere in ewnmf: it has no weight in the cost, and nothing is filled in before the fit.
``repair`` (or :class:`ewnmf.Repairer` in a pipeline) fills gaps from what is known about each point. Is that better
than scikit-learn's imputers?
"""

# %%
# Two tables with gaps
# --------------------
# Images of digits, and a table of sensors, each with more and more entries missing at random.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.impute import KNNImputer, SimpleImputer

from ewnmf import NMF, Repairer
from ewnmf.datasets import make_sensors

tables = {
    "digits": load_digits().data[:500] / 16,
    "sensors": make_sensors(500, 30, kind="set-points", noise=0.1, units=False, random_state=0),
}


def by_nmf(table):
    """The table with gaps filled by what its codes say."""
    model = NMF(10, tol=0, max_iter=500, random_state=0).fit(table)
    return np.where(np.isnan(table), model.inverse_transform(model.transform(table)), table)


imputers = {
    "mean": SimpleImputer(keep_empty_features=True).fit_transform,
    "5 nearest neighbours": KNNImputer(keep_empty_features=True).fit_transform,
    "NMF, 10 components": by_nmf,
    "Repairer, 10 components": Repairer(10, weighting="none", random_state=0).fit_transform,
}

# %%
# Errors at the hidden entries
# ----------------------------
# Only gaps are to be filled here, and nothing is damaged: no weighting, and hardly a false alarm.

shares = (0.1, 0.3, 0.5, 0.7)
figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
styles = (("#B8B8B8", "s-"), ("#D55E00", "^--"), ("#009E73", "v:"), ("#0072B2", "o-"))
for ax, (name, clean) in zip(axes, tables.items(), strict=True):
    for (colour, style), (method, imputer) in zip(styles, imputers.items(), strict=True):
        errors = []
        for share in shares:
            hidden = np.random.default_rng(1).random(clean.shape) < share
            filled = imputer(np.where(hidden, np.nan, clean))
            errors.append(np.sqrt(np.mean((filled - clean)[hidden] ** 2)) / clean.std())
        ax.plot(shares, errors, style, color=colour, label=method)
        print(f"{name}, {method}: {', '.join(f'{error:.2f}' for error in errors)}")
    ax.set(title=name, xlabel="share of missing entries", xticks=shares)
    ax.set_ylim(0)
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("error / standard deviation")
axes[1].legend(frameon=False)
plt.show()

# %%
# A factorization is no wonder drug. Neighbours win where points come in groups of near copies, as digits do. A
# ``Repairer`` expects an entry with caution, since the others may be damaged: that is best on these sensors, whose
# columns all see the same few sources, and no better than the mean on digits, most of whose pixels are just black.
# :doc:`/guide/missing-values` has more of such comparisons, also where factorizations win (faces). What only ewnmf does
# is to fill gaps and mend damage at once.
