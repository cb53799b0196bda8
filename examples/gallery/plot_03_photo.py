"""
A scratched photograph
======================

A photograph is cut into patches of 8 x 8 pixels: 1040 points of 64 attributes. What most patches are made of is
learned in spite of the scratches, and what does not fit is replaced. ``ewnmf repair photo.png -k 16 -o clean.png``
does the same from the shell.
"""

# %%
# The photograph, and 25 scratches
# --------------------------------

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import median_filter
from sklearn.datasets import load_sample_image

from ewnmf import EWNMF, NMF

photo = load_sample_image("china.jpg").mean(axis=2)[:416, :640] / 255
clean = photo.reshape(208, 2, 320, 2).mean(axis=(1, 3))

rng = np.random.default_rng(0)
scratched = clean.copy()
for _ in range(25):
    row, column, angle, length = rng.uniform(0, (208, 320, np.pi, 90))
    along = np.linspace(0, 30 + length, 400)
    rows = np.round(row + along * np.sin(angle)).astype(int)
    columns = np.round(column + along * np.cos(angle)).astype(int)
    inside = (rows < 208) & (0 <= columns) & (columns < 320)
    scratched[rows[inside], columns[inside]] = rng.integers(2)
damaged = scratched != clean


def show(pictures):
    figure, axes = plt.subplots(1, len(pictures), figsize=(9, 2.5), layout="constrained")
    for ax, (name, picture) in zip(axes, pictures.items(), strict=True):
        ax.imshow(picture, cmap="cividis" if name == "trust" else "gray", vmin=0, vmax=1)
        ax.set_title(name)
        ax.set_axis_off()


show({"original": clean, "scratched": scratched})

# %%
# Patches are points
# ------------------


def patches(image):
    return image.reshape(26, 8, 40, 8).swapaxes(1, 2).reshape(-1, 64)


def image(patches):
    return patches.reshape(26, 40, 8, 8).swapaxes(1, 2).reshape(208, 320)


X = patches(scratched)
model = EWNMF(n_components=16, tol=1e-3, random_state=0).fit(X)
print(model.gamma_path_.verdict)
repaired = image(model.repair(X))

# %%
# What is left of the scratches
# -----------------------------
# A median filter removes scratches as well, but it changes everything else, too.


def error(mended, where=np.s_[:]):
    return np.sqrt(np.mean((mended - clean)[where] ** 2))


unweighted = image(NMF(n_components=16, tol=1e-3, random_state=0).fit(X).repair(X))
for name, mended in {
    "as it is": scratched,
    "median of 5 x 5": median_filter(scratched, 5),
    "NMF": unweighted,
    "EWNMF": repaired,
}.items():
    print(
        f"{name:16s} error of the scratches {error(mended, damaged):.3f}, of the whole photograph {error(mended):.3f}"
    )

# %%
# Look at it
# ----------
# Dark is what is not trusted. Scratches that look like a part of a picture (an edge, a mast before the sky) are the
# ones that stay.

show({"scratched": scratched, "trust": image(model.trust(X)), "repaired": repaired})
plt.show()

# sphinx_gallery_thumbnail_number = 2
