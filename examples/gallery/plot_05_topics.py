"""
Topics from counts
==================

Counts of words are Poisson-like: the Kullback-Leibler divergence is their loss. The documents here need no network:
they are the docstrings of SciPy, and we know the package that each comes from.
"""

# %%
# Documents
# ---------

import importlib
import inspect
import re

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from ewnmf import NMF
from ewnmf.metrics import clustering_accuracy
from ewnmf.plots import ComponentsDisplay

packages = [
    "fft",
    "integrate",
    "linalg",
    "ndimage",
    "optimize",
    "signal",
    "sparse",
    "special",
    "stats",
]
texts, labels, names = [], [], []
for package in packages:
    module = importlib.import_module(f"scipy.{package}")
    for name in module.__all__:
        text = inspect.getdoc(getattr(module, name)) or ""
        if len(text) > 1000:
            texts.append(
                re.sub(r":\w+:|>>>.*|\.\. \[.*|Array API Standard Support(.|\n)*", "", text)
            )
            labels.append(package)
            names.append(f"{package}.{name}")
labels = np.array(labels)

common = """args array array_like axis complex default defined dtype element example examples false float following
function given have ignored import input int integer kwargs length list math matplotlib method ndarray
none note notes object optional output parameter parameters plt print pyplot real reference references
result return returns rng scalar scipy second set shape size specified true tuple type use used using
value values vector"""
vectorizer = CountVectorizer(stop_words="english", token_pattern="[a-z]{3,}", min_df=5, max_df=0.5)
X = vectorizer.fit_transform(texts)
words = vectorizer.get_feature_names_out()
keep = ~np.isin(words, common.split())
X, words = X[:, keep].astype(float), words[keep]
print(
    f"{X.shape[0]} documents, {X.shape[1]} words, {X.nnz / np.prod(X.shape):.1%} of the counts are not 0"
)

# %%
# Nine topics
# -----------
# Sparse data stays sparse. On text the weighting is ``"none"``: where nearly all entries are 0, entropy weights do
# not help.

model = NMF(n_components=9, loss="kullback-leibler", tol=1e-4, random_state=0)
codes = model.fit_transform(X)
share = codes * model.components_.sum(axis=1)
topic = share.argmax(axis=1)
print(
    f"documents in the right package, by their largest topic alone: {clustering_accuracy(labels, topic):.0%}"
)

# %%
# Their words
# -----------

for k in range(9):
    found, counts = np.unique(labels[topic == k], return_counts=True)
    most = np.argsort(-counts)[:2]
    print(f"topic {k + 1}: {', '.join(f'{counts[i]} of {found[i]}' for i in most)}")
display = ComponentsDisplay.from_estimator(
    model, feature_names=words, kind="words", top=8, n_columns=3
)

# %%
# Words that a document's topics do not explain
# ---------------------------------------------
# ``explain`` names the counts that are farthest from what the topics of their document expect. Here this is no
# damage, but what the document is about.

for point, attribute, value, expected, _ in model.explain(X, top=8):
    print(
        f"{names[point]:32s} {words[int(str(attribute)[1:])]:12s} {value:3.0f} times, expected {expected:.1f}"
    )
plt.show()
