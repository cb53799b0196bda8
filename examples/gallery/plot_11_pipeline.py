"""
A pipeline with a grid search, and a trap
=========================================

All classes are scikit-learn estimators: they go into pipelines and searches. Here a classifier of digits is given
images with covered parts, once as they are and once as codes, and a grid search chooses the number of components and
gamma by the accuracy that counts.
"""

# %%
# Covered digits, and their classes
# ---------------------------------

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from ewnmf import EWNMF, Repairer
from ewnmf.datasets import make_sensors, occlude

X, y = load_digits(return_X_y=True)
X, _ = occlude(X[:900] / 16, block=3, fraction=0.3, random_state=0)
train, test, y_train, y_test = train_test_split(X, y[:900], random_state=0)

# %%
# The search
# ----------

pipeline = make_pipeline(
    EWNMF(tol=1e-4, max_iter=150, random_state=0),
    StandardScaler(),
    LogisticRegression(max_iter=500),
)
grid = {"ewnmf__n_components": [10, 20, 40], "ewnmf__gamma": [np.inf, "16x", "4x"]}
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # short fits say that they are short
    search = GridSearchCV(pipeline, grid, cv=3).fit(train, y_train)
raw = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)).fit(train, y_train)
print(f"chosen: {search.best_params_}")
print(
    f"accuracy on new digits: {search.score(test, y_test):.3f} by codes, {raw.score(test, y_test):.3f} by pixels"
)

table = search.cv_results_["mean_test_score"].reshape(3, 3)
figure, ax = plt.subplots(figsize=(5, 3.6), layout="constrained")
shown = ax.imshow(table, cmap="cividis")
ax.set(
    xticks=range(3),
    xticklabels=grid["ewnmf__n_components"],
    yticks=range(3),
    yticklabels=["inf (NMF)", "16x", "4x"],
)
ax.set(xlabel="n_components", ylabel="gamma", title="accuracy in the cross-validation")
for (i, j), value in np.ndenumerate(table):
    ax.text(
        j,
        i,
        f"{value:.3f}",
        ha="center",
        va="center",
        color="white" if value < table.mean() else "black",
    )
plt.show()

# %%
# Codes are better than pixels here, and for *this* question plain NMF (an infinite gamma) is as good as any: a
# classifier can learn to live with squares. Weights pay where one asks what is damaged, and what was there.
#
# The trap
# --------
# Tables of any unit need a scale before a factorization, and ``MinMaxScaler`` is at hand. But it takes its range from
# the extremes, which a single outlier sets, and new data may lie outside of it, below 0, where no NMF is defined:

readings = make_sensors(300, 10, random_state=0)
seen, new = readings[:200], readings[200:]
pipeline = make_pipeline(MinMaxScaler(), EWNMF(3, gamma="8x", tol=1e-3, random_state=0)).fit(seen)
try:
    pipeline.transform(new)
except ValueError as refused:
    print(refused)

# %%
# ``MinMaxScaler(clip=True)`` avoids the error, but not the outlier: one reading of a hundred times the usual size
# presses all others of its column together near 0. :class:`ewnmf.Repairer` brings columns to scale by quantiles that
# outliers do not set, and back.

hit = seen.copy()
hit[0, 0] *= 100
squeezed = MinMaxScaler().fit(hit).transform(seen)[:, 0]
scaled = Repairer(3, gamma="8x", random_state=0).fit(hit)
own = (seen[:, 0] - scaled.low_[0]) / scaled.span_[0]
print(
    f"the usual values of that column lie in {squeezed.min():.3f} to {squeezed.max():.3f} after MinMaxScaler,"
)
print(f"in {own.min():.2f} to {own.max():.2f} in a Repairer")
