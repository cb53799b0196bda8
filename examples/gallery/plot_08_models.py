"""
All models beside each other
============================

NMF, orthogonal NMF, Semi-NMF and Convex-NMF differ in what they ask of the factors. Every model takes learned
weights.
"""

# %%
# Six models of the same digits
# -----------------------------

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.preprocessing import normalize

from ewnmf import EWNMF, NMF, ONMF, ConvexNMF, SemiNMF
from ewnmf.metrics import clustering_accuracy

X, y = load_digits(return_X_y=True)
X, y = X[:600] / 16, y[:600]
common = {"n_components": 10, "tol": 0, "max_iter": 500, "random_state": 0}
models = {
    "NMF": NMF(**common),
    "EWNMF, gamma 16x": EWNMF(gamma="16x", **common),
    "ONMF, codes orthogonal": ONMF(**common),
    "ONMF, components orthogonal": ONMF(of="components", **common),
    "Semi-NMF": SemiNMF(**common),
    "Convex-NMF": ConvexNMF(**common),
}

# %%
# Components
# ----------
# NMF finds strokes, the hard orthogonal codes whole digits (every point belongs to one component: a clustering),
# orthogonal components divide the pixels among themselves, Semi-NMF's may be negative (red), and those of Convex-NMF
# are averages of points.

figure, axes = plt.subplots(len(models), 10, figsize=(9, 5.6), layout="constrained")
for line, (name, model) in zip(axes, models.items(), strict=True):
    codes = model.fit_transform(X)
    rebuilt = model.inverse_transform(codes)
    groups = KMeans(10, n_init=10, random_state=0).fit_predict(normalize(codes))
    zeros = np.mean(np.abs(codes) < 1e-6 * np.abs(codes).max())
    error = np.sqrt(np.mean((X - rebuilt) ** 2))
    accuracy = clustering_accuracy(y, groups)
    print(
        f"{name:28s} error {error:.3f}, zeros in the codes {zeros:4.0%}, accuracy of k-means {accuracy:.0%}"
    )
    for ax, component in zip(line, model.components_, strict=True):
        largest = np.abs(component).max() or 1
        ax.imshow(component.reshape(8, 8), cmap="RdBu", vmin=-largest, vmax=largest)
        ax.set(xticks=[], yticks=[])
    line[0].set_ylabel(name.replace(", ", ",\n"), rotation=0, ha="right", va="center", fontsize=9)
plt.show()
