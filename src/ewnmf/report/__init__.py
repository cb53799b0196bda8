"""A report on a fitted model and its data: one HTML file that needs nothing else.

>>> import numpy as np
>>> from ewnmf import EWNMF, report
>>> X = np.random.default_rng(0).random((30, 3)) @ np.random.default_rng(1).random((3, 8))
>>> page = report.render(EWNMF(3, gamma=1.0, random_state=0, tol=1e-2).fit(X), X)
>>> page.startswith("<!DOCTYPE html>")
True
"""

from ewnmf.report.writing import render, write

__all__ = ["render", "write"]
