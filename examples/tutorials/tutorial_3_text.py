"""
Text and counts
===============

Rows are documents, columns are words, and entries are counts: sparse, and mostly zero. The Kullback-Leibler
divergence is the loss of counts, and topics are the components. Learned weights are *not* the tool here, and this
tutorial shows why.
"""

# %%
# 1. Counts
# ---------
# Documents of 200 words about three of six topics; the topics are known to us. Yours come from scikit-learn's
# ``CountVectorizer`` (the example :ref:`sphx_glr_gallery_plot_05_topics.py` has real text).

import warnings

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse import csr_array
from sklearn.preprocessing import normalize

from ewnmf import EWNMF, NMF, select_rank

rng = np.random.default_rng(0)
topics = rng.dirichlet(np.full(400, 0.05), size=6)
shares = rng.dirichlet(np.full(6, 0.2), size=500)
X = csr_array(np.array([rng.multinomial(200, share @ topics) for share in shares]), dtype=float)
print(f"{X.shape[0]} documents, {X.shape[1]} words, {1 - X.nnz / np.prod(X.shape):.0%} zeros")

# %%
# 2. Topics
# ---------
# Sparse data stays sparse. ``codes`` times the sum of each topic is how many words of a document the topic explains.

model = NMF(n_components=6, loss="kullback-leibler", tol=1e-4, max_iter=1000, random_state=0)
codes = model.fit_transform(X)
words = codes * model.components_.sum(axis=1)
found = model.components_ / model.components_.sum(axis=1, keepdims=True)

# %%
# Every topic found beside the true one that is nearest to it (cosine), by their 15 largest words:

figure, axes = plt.subplots(2, 3, figsize=(9, 4.5), layout="constrained")
cosines = normalize(found) @ normalize(topics).T
for k, ax in enumerate(axes.ravel()):
    true = topics[cosines[k].argmax()]
    top = np.argsort(-true)[:15]
    ax.bar(range(15), true[top], color="#B8B8B8", width=0.9, label="true topic")
    ax.plot(range(15), found[k, top], "o", color="#0072B2", ms=4, label="found")
    ax.set(title=f"cosine {cosines[k].max():.3f}", xticks=[])
    ax.spines[["top", "right"]].set_visible(False)
axes[0, 0].legend(frameon=False)
plt.show()

# %%
# 3. How many topics?
# -------------------
# Words that are hidden from short fits decide, also for this loss:

path = select_rank(
    X, [2, 4, 6, 8, 10], estimator=NMF(loss="kullback-leibler"), repeats=3, random_state=0
)
print(f"best {path.best}, chosen {path.chosen}")

# %%
# 4. Why not learned weights?
# ---------------------------
# Nearly all entries are zeros that every fit explains. Weights go where losses are small, which is there, and away
# from the words, which are the signal:


def nearness(components):
    """The mean cosine between each true topic and the component that is nearest to it."""
    return (normalize(components) @ normalize(topics).T).max(axis=0).mean()


with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # a run of 300 iterations is enough to see it
    weighted = EWNMF(6, loss="kullback-leibler", gamma="2x", tol=1e-4, random_state=0).fit(
        X.toarray()
    )
shown, present = weighted.weights(X.toarray()) * X.shape[1], X.toarray() > 0
print(
    f"mean weight of words that are there {shown[present].mean():.2f}, of zeros {shown[~present].mean():.2f}"
)
for name, fitted in (("NMF", model), ("EWNMF", weighted)):
    print(f"mean cosine to the true topics by {name}: {nearness(fitted.components_):.3f}")

# %%
# ``gamma="groups"`` knows that, and answers with plain NMF on such data. What you *can* ask of counts is what stands
# out: ``explain`` names the words of a document that its topics do not account for.
#
# 5. Large data
# -------------
# Fits of sparse data look at stored entries only, by blocks, in threads, and the result does not depend on their
# number. :doc:`/guide/large-data` has the details. From the shell: ``ewnmf fit counts.mtx -k 20 --loss
# kullback-leibler --weighting none -o topics``.
