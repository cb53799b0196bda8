"""What a notebook shows."""

from __future__ import annotations

import numpy as np
from sklearn import config_context

from ewnmf import NMF, Repairer

X = np.random.default_rng(0).random((40, 6))


def test_a_fitted_estimator_says_what_was_fitted():
    model = NMF(2, max_iter=5, tol=0, random_state=0)
    assert "Fitted:" not in model._repr_mimebundle_()["text/html"]
    shown = model.fit(X)._repr_mimebundle_()["text/html"]
    assert shown.endswith("<p>Fitted: 2 components of 6 attributes, 5 iterations (max_iter).</p>")
    assert model._repr_html_().endswith("(max_iter).</p>")
    with config_context(display="text"):
        assert set(model._repr_mimebundle_()) == {"text/plain"}


def test_a_repairer_speaks_for_its_model():
    model = Repairer(2, max_iter=5, tol=0, random_state=0).fit(X)
    assert f", 5 iterations (max_iter). {model.model_.gamma_path_.verdict.split(':')[0]}" in model._repr_html_()
