"""
A table of sensors, mended
==========================

Twenty sensors see the same four sources, each in its own unit. A quarter of them fail for a while: they go dead,
stick, saturate, drift, are shaken or change their gain. :class:`ewnmf.Repairer` finds those entries and says what was
there.
"""

# %%
# The table, and its damage
# -------------------------
# We keep the clean table, so that we can tell how well the repair works. A real user has ``X`` alone.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from ewnmf import Repairer
from ewnmf.datasets import make_damage, make_sensors

values, names = make_sensors(
    400, 20, kind="periodic", noise=0.05, return_names=True, random_state=1
)
broken, damaged = make_damage(values, "faults", random_state=1)
clean, X = pd.DataFrame(values, columns=names), pd.DataFrame(broken, columns=names)
print(f"{X.shape[0]} times x {X.shape[1]} sensors, {damaged.mean():.1%} of the entries damaged")

# %%
# Finding and mending
# -------------------
# ``fit`` learns what the columns have to do with each other, and ``transform`` returns the table without damage.
# Columns may have any unit and sign. ``explain`` lists what is most suspicious, with what was expected instead.

repairer = Repairer(n_components=6, random_state=0).fit(X)
mended = repairer.transform(X)
repairer.explain(X, top=5).round(3)

# %%
# How good is it?
# ---------------
# Errors are in units of a column's standard deviation. Small damage (a gain of 1.2, the beginning of a drift) hides
# in the noise, so that not all of it is found; a share of undamaged entries, 1 % by default, is suspected for
# nothing.


def error(table, where):
    return np.sqrt(np.mean(((table - clean) / clean.std()).to_numpy()[where] ** 2))


suspects = repairer.suspects(X).to_numpy()
print(
    f"error of the damaged entries:      {error(X, damaged):.2f} before, {error(mended, damaged):.2f} after"
)
print(
    f"error of all others:               {error(X, ~damaged):.2f} before, {error(mended, ~damaged):.2f} after"
)
print(f"damaged entries that were found:   {suspects[damaged].mean():.0%}")
print(f"undamaged entries under suspicion: {suspects[~damaged].mean():.1%}")

# %%
# Where it was damaged, and where it was found
# --------------------------------------------

trust = repairer.trust(X)
figure, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True, layout="constrained")
axes[0].imshow(~damaged.T, aspect="auto", cmap="gray", interpolation="nearest")
shown = axes[1].imshow(
    trust.T, aspect="auto", cmap="cividis", vmin=0, vmax=1, interpolation="nearest"
)
axes[0].set(title="damaged entries (black)", xlabel="time", ylabel="sensor", yticks=range(0, 20, 5))
axes[1].set(title="learned trust", xlabel="time")
figure.colorbar(shown, ax=axes[1])

# %%
# The sensors with most damage
# ----------------------------
# The mended line follows the clean one where the measured one went astray.

worst = ((X - clean) / clean.std()).abs().sum().nlargest(4).index
figure, axes = plt.subplots(4, 1, figsize=(9, 7), sharex=True, layout="constrained")
for ax, name in zip(axes, worst, strict=True):
    ax.plot(clean[name], color="#B8B8B8", lw=4, label="clean")
    ax.plot(X[name], color="#D55E00", lw=1, label="measured")
    ax.plot(mended[name], color="#0072B2", lw=1, label="mended")
    ax.set_ylabel(name)
    ax.spines[["top", "right"]].set_visible(False)
axes[-1].set_xlabel("time")
figure.legend(
    *axes[0].get_legend_handles_labels(), loc="outside upper left", ncols=3, frameon=False
)
plt.show()

# sphinx_gallery_thumbnail_number = 2
