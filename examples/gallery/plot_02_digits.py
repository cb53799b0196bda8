"""
Digits with something in front of them
======================================

A black or white square covers a part of every third digit. What is behind it is filled in from the parts of other
digits, as far as these can tell.
"""

# %%
# The damage
# ----------

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score

from ewnmf import EWNMF, NMF
from ewnmf.datasets import occlude

clean = load_digits().data / 16
X, covered = occlude(clean, block=4, fraction=0.3, random_state=0)
changed = X != clean
print(
    f"{covered.any(axis=1).sum()} of {len(X)} digits are covered; {changed.sum()} pixels differ from what was there"
)

# %%
# Two fits
# --------
# This is a hard case. Half of all pixels are background, which every fit explains, so that a strong weighting would
# take strokes for damage: gamma is mild, 16 times plain NMF's mean loss.

plain = NMF(n_components=30, tol=1e-3, random_state=0).fit(X)
model = EWNMF(n_components=30, gamma="16x", tol=1e-3, random_state=0).fit(X)

# %%
# Who finds the squares, and who mends them?
# ------------------------------------------
# ``trust`` and ``repair`` are there without learned weights, too, and judge by the same rule; what differs is what the
# components were learned from. On these digits that matters little.

hit = covered.any(axis=1)
for name, fitted in (("NMF", plain), ("EWNMF", model)):
    auc = roc_auc_score(changed[hit].ravel(), -fitted.trust(X[hit]).ravel())
    error = np.sqrt(np.mean((fitted.repair(X) - clean) ** 2))
    print(f"{name:5s}: AUC of distrust {auc:.3f}, error after the repair {error:.3f}")
print(f"error of the covered digits as they are: {np.sqrt(np.mean((X - clean) ** 2)):.3f}")

# %%
# Ten of them
# -----------

shown = np.flatnonzero(changed.sum(axis=1) > 6)[:10]
rows = {
    "original": clean[shown],
    "covered": X[shown],
    "trust": model.trust(X[shown]),
    "repaired": model.repair(X[shown]),
}
figure, axes = plt.subplots(len(rows), len(shown), figsize=(9, 4), layout="constrained")
for line, (name, images) in zip(axes, rows.items(), strict=True):
    for ax, image in zip(line, images, strict=True):
        ax.imshow(
            image.reshape(8, 8), cmap="cividis" if name == "trust" else "gray", vmin=0, vmax=1
        )
        ax.set(xticks=[], yticks=[])
    line[0].set_ylabel(name)
plt.show()

# %%
# It is no magic. Where a square covers what tells a digit apart, nothing can know what was there; a black square on
# the background is none; and rare strokes are taken for damage. :doc:`Spectra </gallery/plot_04_spectra>` and
# :doc:`sensors </gallery/plot_01_sensors>` are easier cases.
