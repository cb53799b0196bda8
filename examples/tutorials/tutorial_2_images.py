"""
Images and spectra
==================

Rows are images (pixels side by side) or spectra (bands): nonnegative and in one unit. Some have something in front of
them, a glare, a bad band. You want the parts that all of them are made of, without the damage, and the images without
it.
"""

# %%
# 1. Spectra of a scene
# ---------------------
# 600 pixels of 100 bands, each a mixture of four materials. In a fifth of them a run of bands is saturated. With
# images of your own it would be ``X = images.reshape(len(images), -1) / 255``.

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.preprocessing import normalize

from ewnmf import EWNMF, NMF
from ewnmf.datasets import make_spectra

clean = make_spectra(600, 100, n_sources=4, random_state=3)
rng = np.random.default_rng(0)
X = clean.copy()
for i in rng.choice(len(X), 120, replace=False):
    start = rng.integers(85)
    X[i, start : start + 15] = 1
damaged = X != clean
print(
    f"{damaged.any(axis=1).sum()} of {len(X)} spectra are damaged, {damaged.mean():.1%} of the entries"
)

# %%
# 2. Fit
# ------
# Data that is nonnegative and in one unit needs no scaling: :class:`ewnmf.EWNMF` takes it as it is. ``gamma`` says
# how fast trust falls with the loss of an entry. By default it is chosen, and a sentence says why.

model = EWNMF(n_components=4, tol=1e-4, max_iter=1000, random_state=0).fit(X)
print(model.gamma_path_.verdict)

# %%
# Fit says *plain NMF* where weights do not explain the rest better, as on the clean scene:

print(EWNMF(n_components=4, tol=1e-4, max_iter=1000, random_state=0).fit(clean).gamma_path_.verdict)

# %%
# 3. Look at the weights
# ----------------------
# ``weights(X)`` are the paper's: one unit shared among the attributes of each point. ``trust(X)`` can be compared
# across points and attributes, and is what to look at.

bad = np.flatnonzero(damaged.any(axis=1))[:3]
figure, axes = plt.subplots(3, 1, figsize=(9, 6), sharex=True, layout="constrained")
for ax, i, trust, repaired in zip(
    axes, bad, model.trust(X[bad]), model.repair(X[bad]), strict=True
):
    ax.plot(clean[i], color="#B8B8B8", lw=4, label="clean")
    ax.plot(X[i], color="#D55E00", lw=1, label="measured")
    ax.plot(repaired, color="#0072B2", lw=1.2, label="repaired")
    ax.fill_between(
        range(100),
        0,
        1,
        where=trust < 0.5,
        color="#D55E00",
        alpha=0.15,
        lw=0,
        label="trust below 1/2",
    )
    ax.set_ylabel(f"spectrum {i}")
    ax.spines[["top", "right"]].set_visible(False)
figure.legend(
    *axes[0].get_legend_handles_labels(), loc="outside upper left", ncols=4, frameon=False
)
axes[-1].set_xlabel("band")
plt.show()

# %%
# 4. Parts
# --------
# The components are the materials' spectra, up to a factor. Those of plain NMF are compared, too, by their angles to
# what the clean scene gives.

settings = {"tol": 1e-4, "max_iter": 1000, "random_state": 0}
reference, plain = NMF(4, **settings).fit(clean), NMF(4, **settings).fit(X)
for name, fitted in (("NMF", plain), ("EWNMF", model)):
    cosines = normalize(reference.components_) @ normalize(fitted.components_).T
    pairs = linear_sum_assignment(-cosines)
    angles = np.degrees(np.arccos(np.minimum(cosines[pairs], 1)))
    print(f"{name:5s}: angles of {', '.join(f'{angle:.1f}' for angle in angles)} degrees")

# %%
# 5. Repair
# ---------

for name, fitted in (("NMF", plain), ("EWNMF", model)):
    mended = fitted.repair(X)
    print(
        f"error of the damaged entries after a repair by {name}: {np.sqrt(np.mean((mended - clean)[damaged] ** 2)):.3f}"
    )
print(
    f"error of the damaged entries as they are: {np.sqrt(np.mean((X - clean)[damaged] ** 2)):.3f}"
)

# %%
# 6. Images
# ---------
# The same calls serve images, one row each: :ref:`covered digits <sphx_glr_gallery_plot_02_digits.py>`. A single
# large picture is cut into patches first: :ref:`a scratched photograph <sphx_glr_gallery_plot_03_photo.py>`. From the
# shell a folder goes in and a folder comes out:
#
# .. code-block:: sh
#
#    ewnmf repair faces/ -k 20 -o clean/
#    ewnmf repair scan.png -k 12 -o clean.png
#
# What to expect: where most pixels are background (digits, line drawings) gains are small, and a mild ``gamma="16x"``
# is safer than the default. What is damaged at the same place in a third of the images is structure to any
# factorization. :doc:`/guide/when` has more of that.
