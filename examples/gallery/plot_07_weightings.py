"""
All weightings beside each other
================================

The weighting says how an entry's loss becomes its weight. Entropy weights (the paper's) share one unit among the
attributes of a point; Welsch (correntropy), Cauchy, Huber and L1 weights look at every entry on its own. One class
takes them all.
"""

# %%
# Two kinds of damage
# -------------------
# Spectra with runs of bad bands in some points, and the same spectra with some points that are bad as a whole.

import matplotlib.pyplot as plt
import numpy as np

from ewnmf import NMF
from ewnmf.datasets import make_spectra

rng = np.random.default_rng(0)
clean = make_spectra(300, 60, n_sources=3, noise=0.005, random_state=1)
bands, points = clean.copy(), clean.copy()
for i in rng.choice(300, 120, replace=False):
    start = rng.integers(50)
    bands[i, start : start + 10] = rng.integers(2)
points[rng.choice(300, 30, replace=False)] = rng.random((30, 60))

# %%
# Seven fits of each
# ------------------
# Errors are those of the undamaged points' reconstructions, which is where a fit that was pulled away shows. gamma is
# 4 times plain NMF's mean loss for all that have one. ``"fixed"`` is given the damaged entries with weight 0: what
# could be reached at best.

relative = {"gamma": "4x"}
settings = {
    "none": {},
    "entropy": relative,
    "welsch": relative,
    "cauchy": relative,
    "huber": relative,
    "l1": {},
}
errors = {}
for damage, X in {"bad bands": bands, "bad points": points}.items():
    bad = X != clean
    whole = ~bad.any(axis=1)
    for name, gamma in settings.items():
        model = NMF(3, weighting=name, tol=0, random_state=0, **gamma).fit(X)
        rebuilt = model.inverse_transform(model.transform(X[whole]))
        errors[damage, name] = np.sqrt(np.mean((rebuilt - clean[whole]) ** 2))
    model = NMF(3, weighting="fixed", tol=0, random_state=0).fit(X, weights=np.where(bad, 1e-6, 1))
    rebuilt = model.inverse_transform(
        model.transform(X[whole], weights=np.where(bad, 1e-6, 1)[whole])
    )
    errors[damage, "fixed"] = np.sqrt(np.mean((rebuilt - clean[whole]) ** 2))
for name in [*settings, "fixed"]:
    print(
        f"{name:8s} bad bands {errors['bad bands', name]:.4f}   bad points {errors['bad points', name]:.4f}"
    )

# %%
# Errors, and what the weights make of a loss
# -------------------------------------------

figure, (left, right) = plt.subplots(
    1, 2, figsize=(9, 4), layout="constrained", width_ratios=(3, 2)
)
names = [*settings, "fixed"]
at = np.arange(len(names))
left.barh(
    at - 0.2,
    [errors["bad bands", name] for name in names],
    0.38,
    color="#0072B2",
    label="bad bands",
)
left.barh(
    at + 0.2,
    [errors["bad points", name] for name in names],
    0.38,
    color="#D55E00",
    label="bad points",
)
left.set(yticks=at, yticklabels=names, xlabel="error of the undamaged points")
left.invert_yaxis()
left.legend(frameon=False)
loss = np.linspace(0, 6, 200)
curves = {
    "none": np.ones_like(loss),
    "entropy, welsch": np.exp(-loss),
    "cauchy": 1 / (1 + loss),
    "huber": np.minimum(1, 1 / np.sqrt(np.maximum(loss, 1e-9))),
}
for (name, curve), style in zip(curves.items(), (":", "-", "--", "-."), strict=True):
    right.plot(loss, curve, style, label=name)
right.set(xlabel="loss / gamma", ylabel="weight (entropy: before sharing)", ylim=(0, 1.05))
right.legend(frameon=False, loc="upper right", bbox_to_anchor=(1, 0.97))
for ax in (left, right):
    ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# Against bad attributes, entropy and Welsch weights come close to what knowing the damage would give. Against bad
# points weights of single entries are the better choice: entropy weights of every point sum to one, so that a bad
# point has as much say as any other.
#
# Why L1 ends far off
# -------------------
# Is it what absolute errors ask for? ``"huber"`` counts absolute errors beyond its gamma and squares below; at a
# hundredth of the mean loss it is L1 with a bound on the weights. Here are the sums of absolute errors themselves:

for name, gamma in (("l1", {}), ("huber", {"gamma": "0.01x"})):
    model = NMF(3, weighting=name, tol=0, max_iter=1000, random_state=0, **gamma).fit(bands)
    rebuilt = model.inverse_transform(model.transform(bands))
    print(f"{name:5s} sum of absolute errors {np.abs(bands - rebuilt).sum():.0f}")

# %%
# So the fault is not in the cost but in the way down. L1 weights, ``1 / |error|``, have no bound: an entry that the
# random start happens to fit gets a weight that outweighs all others and holds the factors where they are. The
# objective falls in every iteration, and hardly moves. Where absolute errors are wanted, take ``"huber"`` with a small
# gamma.

# sphinx_gallery_thumbnail_number = 1
