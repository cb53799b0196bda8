"""What a notebook shows."""

from __future__ import annotations

from email.message import Message

import numpy as np
import pytest
from sklearn import config_context

from ewnmf import EWNMF, NMF, Repairer
from ewnmf.estimators import notebook

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


@pytest.mark.parametrize("cls", [EWNMF, Repairer])
def test_the_diagram_links_to_the_documentation_where_that_is_known(cls, monkeypatch):
    monkeypatch.delenv("EWNMF_DOCS", raising=False)
    monkeypatch.setattr(notebook, "_published", lambda: None)
    model = cls(3)
    assert model._get_doc_link() == ""
    assert "api/generated" not in model._repr_html_()
    monkeypatch.setattr(notebook, "_published", lambda: "https://docs.example.org/ewnmf/")
    page = f"api/generated/ewnmf.{cls.__name__}.html"
    assert model._get_doc_link() == f"https://docs.example.org/ewnmf/{page}"
    monkeypatch.setenv("EWNMF_DOCS", "file:///home/me/ewnmf/docs/_build/html")
    assert f'href="file:///home/me/ewnmf/docs/_build/html/{page}' in model._repr_html_()


@pytest.mark.parametrize("home", ["javascript:alert(1)", "docs", ""])
def test_what_is_no_address_is_no_link(home, monkeypatch):
    monkeypatch.setattr(notebook, "_published", lambda: None)
    monkeypatch.setenv("EWNMF_DOCS", home)
    assert EWNMF(3)._get_doc_link() == ""


def test_an_address_is_text(monkeypatch):
    monkeypatch.setenv("EWNMF_DOCS", 'https://x.org/{0}"><script>')
    assert "<script>alert" not in EWNMF(3)._repr_html_()
    assert EWNMF(3)._get_doc_link().startswith("https://x.org/%7B0%7D&quot;&gt;&lt;script&gt;/api/")


def test_the_published_address_is_that_of_the_package(monkeypatch):
    package = Message()
    package["Project-URL"] = "Paper, https://arxiv.org/abs/2111.14007"
    monkeypatch.setattr(notebook, "metadata", lambda _: package)
    assert notebook._published.__wrapped__() is None
    package["Project-URL"] = "Documentation, https://docs.example.org"
    assert notebook._published.__wrapped__() == "https://docs.example.org"
