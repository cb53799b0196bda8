"""
Unmixing spectra with bad bands
===============================

Every pixel of a scene is a mixture of a few materials. In a part of the pixels some bands saturate. The spectra of
the materials, which is what one wants, should not know of it.
"""

# %%
# A scene of four materials
# -------------------------
# In a tenth of the pixels a run of 15 bands reads its largest value.

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.preprocessing import normalize

from ewnmf import EWNMF, NMF
from ewnmf.datasets import make_spectra

rng = np.random.default_rng(0)
clean = make_spectra(600, 100, n_sources=4, random_state=3)
X = clean.copy()
for i in rng.choice(len(X), 60, replace=False):
    start = rng.integers(85)
    X[i, start : start + 15] = 1
print(f"{(X != clean).mean():.1%} of the entries are damaged")

# %%
# Three fits
# ----------
# Plain NMF of the clean scene says what could be found without damage.

reference = NMF(4, tol=1e-4, max_iter=1000, random_state=0).fit(clean)
plain = NMF(4, tol=1e-4, max_iter=1000, random_state=0).fit(X)
robust = EWNMF(4, tol=1e-4, max_iter=1000, random_state=0).fit(X)
print(robust.gamma_path_.verdict)

# %%
# Spectra, matched by their angle
# -------------------------------


def matched(model):
    """Its components in the order of the reference, with the cosine of the angle between both."""
    A, B = normalize(reference.components_), normalize(model.components_)
    _, order = linear_sum_assignment(-A @ B.T)
    return B[order], np.sum(A * B[order], axis=1)


figure, axes = plt.subplots(2, 2, figsize=(9, 5), sharex=True, layout="constrained")
for name, model, style in (("NMF", plain, "--"), ("EWNMF", robust, "-")):
    spectra, cosines = matched(model)
    angles = np.degrees(np.arccos(np.minimum(cosines, 1)))
    print(
        f"{name:5s}: angles to the spectra of the clean scene {', '.join(f'{a:.1f}' for a in angles)} degrees"
    )
    for ax, spectrum in zip(axes.ravel(), spectra, strict=True):
        ax.plot(
            spectrum, style, color="#D55E00" if model is plain else "#0072B2", lw=1.5, label=name
        )
for k, (ax, spectrum) in enumerate(
    zip(axes.ravel(), normalize(reference.components_), strict=True), start=1
):
    ax.plot(spectrum, color="#B8B8B8", lw=4, zorder=0, label="from the clean scene")
    ax.set_title(f"material {k}")
    ax.spines[["top", "right"]].set_visible(False)
figure.legend(
    *axes[0, 0].get_legend_handles_labels(), loc="outside upper left", ncols=3, frameon=False
)
figure.supxlabel("band")

# %%
# A pixel and its trust
# ---------------------

i = int(np.flatnonzero((X != clean).any(axis=1))[0])
figure, ax = plt.subplots(figsize=(9, 3), layout="constrained")
ax.plot(clean[i], color="#B8B8B8", lw=4, label="clean")
ax.plot(X[i], color="#D55E00", lw=1, label="measured")
ax.plot(robust.repair(X[[i]])[0], color="#0072B2", lw=1.2, label="repaired")
distrusted = robust.trust(X[[i]])[0] < 0.5
ax.fill_between(
    range(100), 0, 1, where=distrusted, color="#D55E00", alpha=0.15, lw=0, label="trust below 1/2"
)
ax.set(xlabel="band", ylabel="reflectance")
ax.legend(frameon=False, ncols=2)
ax.spines[["top", "right"]].set_visible(False)
plt.show()
