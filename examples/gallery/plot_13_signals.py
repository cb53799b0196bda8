"""
The paper's two signals
=======================

Ten mixtures of two signals; the beginning of the first mixture is noise. This is Fig. 2 of the paper: plain NMF fits
the noise, entropy weights leave it alone.
"""

# %%
# Data and fits
# -------------

import matplotlib.pyplot as plt
import numpy as np

from ewnmf import EWNMF, NMF
from ewnmf.datasets import make_mixed_signals

made = make_mixed_signals(random_state=0)
X, bad = made.data, made.damaged
plain = NMF(2, tol=0, random_state=0).fit(X)
robust = EWNMF(2, gamma=0.1, tol=0, random_state=0).fit(X)
weights = robust.weights(X) * X.shape[1]
print(
    f"mean weight of the noise {weights[bad].mean():.3f}, of all other entries {weights[~bad].mean():.3f} (1 is equal)"
)
for name, model in (("NMF", plain), ("EWNMF", robust)):
    distance = model.inverse_transform(model.transform(X)) - made.clean
    noise, rest = (np.sqrt(np.mean(distance[where] ** 2)) for where in (bad, ~bad))
    print(f"{name:5s}: error where there is noise {noise:.3f}, elsewhere {rest:.4f}")

# %%
# The first mixture
# -----------------

figure, axes = plt.subplots(3, 1, figsize=(9, 6), sharex=True, layout="constrained")
axes[0].plot(X[0], color="black", lw=1)
axes[0].set_ylabel("mixture")
axes[1].plot(weights[0], color="#0072B2")
axes[1].set_ylabel("weight (1 = equal)")
axes[2].plot(made.clean[0], color="#B8B8B8", lw=4, label="without noise")
for model, colour, style in ((plain, "#D55E00", "--"), (robust, "#0072B2", "-")):
    rebuilt = model.inverse_transform(model.transform(X[:1]))[0]
    axes[2].plot(rebuilt, style, color=colour, lw=1.2, label=type(model).__name__)
axes[2].set(xlabel="time", ylabel="reconstruction")
axes[2].legend(frameon=False, ncols=3)
for ax in axes:
    ax.axvspan(0, np.flatnonzero(bad[0]).max(), color="#D55E00", alpha=0.12, lw=0)
    ax.spines[["top", "right"]].set_visible(False)
plt.show()
