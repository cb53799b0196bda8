"""
Choosing the number of components
=================================

More components always fit better, so that the fit itself cannot choose. Entries that were hidden from it can: too few
components cannot predict them, and too many predict the noise.
"""

# %%
# Data of known rank
# ------------------
# Mixtures of five sources with noise, and the same with a tenth of the points damaged.

import matplotlib.pyplot as plt

from ewnmf import EWNMF, NMF, select_rank
from ewnmf.datasets import make_damage, make_sensors
from ewnmf.plots import RankPathDisplay

clean = make_sensors(200, 40, n_sources=5, noise=0.3, units=False, random_state=0)
damaged, _ = make_damage(clean, "blocks", share=0.1, random_state=0)
candidates = range(2, 9)

paths = {
    "clean data, NMF": select_rank(clean, candidates, estimator=NMF(), random_state=0),
    "damaged data, NMF": select_rank(damaged, candidates, estimator=NMF(), random_state=0),
    "damaged data, EWNMF": select_rank(damaged, candidates, estimator=EWNMF(), random_state=0),
}
for name, path in paths.items():
    print(f"{name}: best {path.best}, chosen {path.chosen}")

# %%
# ``chosen`` is the smallest number that predicts as well as the best within one standard error.

figure, axes = plt.subplots(1, 3, figsize=(9, 3.4), layout="constrained")
for ax, (name, path) in zip(axes, paths.items(), strict=True):
    RankPathDisplay.from_data(path, ax=ax)
    ax.axvline(5, color="#B8B8B8", lw=4, zorder=0, label="true rank")
    ax.set(title=name, xlabel="number of components", xticks=range(2, 9, 2))
    ax.legend(frameon=False)
plt.show()

# %%
# In a fit it is one word:

model = NMF(n_components="cv", tol=1e-3, random_state=0).fit(clean)
print(model.n_components_)
