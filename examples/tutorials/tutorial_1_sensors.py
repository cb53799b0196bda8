"""
Sensors and tables
==================

You have a table: rows are times (or samples, customers, batches), columns are sensors of different units. Some values
are missing, and some are wrong: a sensor went dead, stuck at a value, drifted. This tutorial finds them, mends them,
and says how far to believe the result.
"""

# %%
# 1. A table
# ----------
# Yours comes from a file, ``pd.read_csv("plant.csv", index_col="time")``. Here it is made, with faults in a quarter
# of the columns and some gaps; the clean table is kept for the end.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from ewnmf import Repairer, select_rank
from ewnmf.datasets import make_damage, make_sensors
from ewnmf.plots import TrustDisplay

values, names = make_sensors(
    500, 24, kind="periodic", noise=0.05, return_names=True, random_state=2
)
faulty, damaged = make_damage(values, "faults", random_state=2)
gaps = np.random.default_rng(0).random(values.shape) < 0.02
times = pd.date_range("2026-01-01", periods=500, freq="h")
clean = pd.DataFrame(values, columns=names, index=times)
X = pd.DataFrame(np.where(gaps, np.nan, faulty), columns=names, index=times)
X.describe().T[["count", "mean", "std", "min", "max"]].head(6).round(3)

# %%
# 2. Fit
# ------
# :class:`ewnmf.Repairer` takes the table as it is: columns of any unit and sign, with gaps. Inside, columns are
# brought to one scale by quantiles, so that outliers do not set it, and :class:`ewnmf.EWNMF` learns a few components
# that all columns share, together with a weight for every entry.

repairer = Repairer(n_components=6, random_state=0).fit(X)
print(repairer.model_.gamma_path_.verdict)

# %%
# How many components? As many as there are independent causes behind the columns, and a few more do little harm. If
# you do not know, entries that are hidden from the fit decide (``n_components="cv"``, or :func:`ewnmf.select_rank` to
# see the scores).

scaled = (X - repairer.low_) / repairer.span_
path = select_rank(scaled.clip(lower=0).to_numpy(), [2, 4, 6, 8], repeats=3, random_state=0)
print(f"candidates {path.candidates.tolist()}: best {path.best}, chosen {path.chosen}")

# %%
# 3. What is wrong?
# -----------------
# ``explain`` lists the most suspicious entries, the worst first. Trust is between 0 and 1, and one half at the limit
# that one in a hundred *undamaged* entries exceeds.

repairer.explain(X, top=6)

# %%
# Which sensors need a look? The share of suspects in every column:

suspects = repairer.suspects(X)
shares = suspects.mean().sort_values(ascending=False)
shares.head(8).map("{:.1%}".format)

# %%
# When? Trust over time, sensor by sensor. Dark is what the other sensors contradict.

display = TrustDisplay.from_estimator(repairer, X)

# %%
# 4. Mend
# -------
# Gaps, and entries farther off than undamaged ones go, are replaced by what the other sensors say; everything else
# stays as it was, to the bit. ``false_alarms`` sets how much may be replaced for nothing: 1e-6 is careful, 0.05
# is eager, and by default the number of suspects decides. ``transform``, for pipelines, does the same row by row.

mended = repairer.repair(X)
name = ((X - clean) / clean.std()).abs().sum().idxmax()
figure, ax = plt.subplots(figsize=(9, 3), layout="constrained")
ax.plot(clean[name], color="#B8B8B8", lw=4, label="clean")
ax.plot(X[name], color="#D55E00", lw=1, label="measured")
ax.plot(mended[name], color="#0072B2", lw=1, label="mended")
ax.set_title(name)
ax.legend(frameon=False, ncols=3)
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# 5. How far to believe it
# ------------------------
# You do not have the clean table. We do, so that we can count:


def error(table, where):
    return np.sqrt(np.mean(((table - clean) / clean.std()).to_numpy()[where] ** 2))


seen = damaged & ~gaps
found = suspects.to_numpy()
print(
    f"damaged entries found {found[seen].mean():.0%}, undamaged ones suspected {found[~damaged & ~gaps].mean():.1%}"
)
print(
    f"error of damaged entries {error(X, seen):.2f} standard deviations before, {error(mended, seen):.2f} after"
)
print(f"error of filled gaps {error(mended, gaps & ~damaged):.2f}")

# %%
# On your own table, do the same: damage a copy with :func:`ewnmf.datasets.make_damage`, repair it, and compare with
# what was there. What cannot be found: damage that is as small as the noise, a sensor that nothing else knows about,
# and damage in most sensors at once.
#
# 6. In a pipeline, and from the shell
# ------------------------------------
# The repairer goes before any scikit-learn model, ``make_pipeline(Repairer(6), RandomForestRegressor())``, and holds
# for new rows, each on its own. It is kept without pickle by ``repairer.save("plant.ewnmf")``. The command does all
# of this with files:
#
# .. code-block:: sh
#
#    ewnmf repair plant.csv -k 6 -o clean.csv --suspects suspects.csv
#
# Next: :doc:`/repair` tells how entries are judged, :doc:`/guide/pipelines` has the trap that waits in
# ``MinMaxScaler``.
