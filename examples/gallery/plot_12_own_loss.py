"""
A loss of one's own in ten lines
================================

A loss is its divergence ``d(x, y)`` and the two nonnegative parts of its slope in ``y``: ``neg`` asks for a larger
``y``, ``pos`` for a smaller one. Every model, weighting, and way of choosing gamma and rank takes it.
"""

# %%
# Ten lines
# ---------
# Counts of photons with the noise of a camera have the variance ``x + s^2``. Squared errors divided by it trust dim
# entries as far as they deserve.

import warnings
from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np

from ewnmf import NMF
from ewnmf.datasets import make_spectra
from ewnmf.losses import Loss


@dataclass(frozen=True)
class Camera(Loss):
    s: float = 1.0

    def divergence(self, x, y):
        return (x - y) ** 2 / (x + self.s**2)

    def neg(self, x, y):
        return x / (x + self.s**2)

    def pos(self, x, y):
        return y / (x + self.s**2)


# %%
# Is it a loss?
# -------------
# Counts of a scene with bright and dim places, whose spectra are known to us.

rng = np.random.default_rng(0)
scene = make_spectra(300, 60, n_sources=3, noise=0, random_state=2) * rng.choice(
    [3, 300], size=(300, 1)
)
X = np.maximum(rng.poisson(scene) + rng.normal(0, 2, size=scene.shape), 0)

fits = {}
for loss in ("euclidean", "kullback-leibler", Camera(2)):
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # without a scalar form it runs in NumPy, which is said once
        model = NMF(3, loss=loss, tol=1e-5, max_iter=1000, random_state=0).fit(X)
    fits[loss if isinstance(loss, str) else "Camera(2)"] = model
    rebuilt = model.inverse_transform(model.transform(X))
    dim = scene.max(axis=1) < 10
    errors = [np.sqrt(np.mean((rebuilt - scene)[rows] ** 2)) for rows in (dim, ~dim)]
    print(
        f"{model.loss!s:18s} error of dim points {errors[0]:.3f}, of bright points {errors[1]:.2f}"
    )

# %%
# The objective never rises, as for the losses that come with ewnmf: ``d`` is convex in ``y``, and the exponent of its
# steps is 1.

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for (name, model), colour in zip(fits.items(), ("#D55E00", "#009E73", "#0072B2"), strict=True):
    curve = model.loss_curve_
    assert np.all(np.diff(curve) <= 1e-9 * curve[0])
    ax.semilogy(curve / curve[0], color=colour, label=name)
ax.set(xlabel="iteration", ylabel="objective / its first value")
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# A ``scalar`` form (:class:`ewnmf.losses.Loss`) gets it compiled like the others.
