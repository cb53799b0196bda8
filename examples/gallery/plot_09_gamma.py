"""
Choosing gamma
==============

An infinite ``gamma`` is plain NMF, a small one trusts few entries of each point. ``gamma="auto"``, the default, tries
a path of them and keeps the one that explains all entries but the worst best, without knowing what is damaged. Does
it find the right one?
"""

# %%
# What ``"auto"`` says
# --------------------

import matplotlib.pyplot as plt
import numpy as np

from ewnmf import EWNMF, gamma_path
from ewnmf.datasets import make_spectra
from ewnmf.plots import GammaPathDisplay

rng = np.random.default_rng(0)
clean = make_spectra(300, 80, n_sources=4, random_state=3)
X = clean.copy()
for i in rng.choice(300, 90, replace=False):  # 12 bands of every third spectrum are saturated
    start = rng.integers(68)
    X[i, start : start + 12] = 1
damaged = X != clean
settings = {"tol": 1e-4, "max_iter": 2000, "random_state": 0}

model = EWNMF(n_components=4, **settings).fit(X)
print(model.gamma_path_.verdict)
display = GammaPathDisplay.from_estimator(model)

# %%
# The whole path, and what it cannot see
# --------------------------------------
# The spectra were damaged by us, so that we can draw the true error of the reconstruction, where they were damaged,
# beside the score that the choice is made by. Gammas are in units of plain NMF's mean loss, so that they mean the same
# for all data: 16 is mild, 1 is strong.

multiples = [64, 32, 16, 8, 4, 2, 1, 0.5]
path = gamma_path(X, 4, gammas=np.array(multiples) * model.gamma_path_.scale, **settings)
errors = []
for gamma in path.gammas:
    fitted = EWNMF(n_components=4, gamma=gamma, **settings).fit(X)
    rebuilt = fitted.inverse_transform(fitted.transform(X))
    errors.append(np.sqrt(np.mean((rebuilt - clean)[damaged] ** 2)))

figure, (top, bottom) = plt.subplots(2, 1, figsize=(7, 6), sharex=True, layout="constrained")
finite = np.isfinite(path.relative)
for ax, values, label in (
    (top, -path.scores, "loss of all but the worst"),
    (bottom, errors, "true error"),
):
    values = np.array(values)
    ax.axhline(values[0], color="#D55E00", ls="--", label="plain NMF")
    ax.plot(path.relative[finite], values[finite], "o-", color="#0072B2", label="EWNMF")
    ax.plot(
        path.relative[path.chosen],
        values[path.chosen],
        "o",
        ms=14,
        mfc="none",
        mec="black",
        label="chosen",
    )
    ax.set(ylabel=label, ylim=(0, None))
    ax.spines[["top", "right"]].set_visible(False)
top.legend(frameon=False)
bottom.set_xscale("log")
bottom.set_xticks(multiples, [f"{multiple:g}x" for multiple in multiples])
bottom.set_xticks([], minor=True)
bottom.set_xlabel("gamma (to the left: fewer entries are trusted)")
print(f"error of the damaged entries by plain NMF: {errors[0]:.3f}")
print(f"at the chosen gamma {errors[path.chosen]:.3f}, at the best {min(errors):.3f}")
plt.show()

# %%
# On clean data
# -------------
# Where nothing is damaged nothing is gained, and the answer is plain NMF:

print(EWNMF(n_components=4, **settings).fit(clean).gamma_path_.verdict)

# sphinx_gallery_thumbnail_number = 2
