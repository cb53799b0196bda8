"""What is expected of an entry by all others of its point: the model as a distribution.

``x = mean + f L + e``, with factors ``f`` (K) of unit variance and noise ``e`` of every attribute's own size. It starts
from the codes and components of a fit, and learns anew from what is not hidden. The expectation of an entry given the
others needs no code of its own: with ``P`` the projection, the residual is ``(x - y) / (1 - P_jj)``, so that an
attribute that a component is all about does not vouch for itself.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ewnmf._types import Array

__all__ = ["Expectation"]

_OWN = 1e-3
"""What an attribute's own share of its expectation leaves, at the least."""
_NOISE = 0.01
"""The noise is at least this share of an attribute's variance."""
_ALIKE = 4.0
"""Residuals of neighbouring attributes are alike: so many tell as much as one."""


_PRODUCTS = 1 << 22
"""Products of loadings that are held at a time."""


class Expectation(NamedTuple):
    """``mean`` (m), ``loadings`` (K x m) and ``noise`` (m, variances), in some unit of every attribute."""

    mean: Array
    loadings: Array
    noise: Array

    @classmethod
    def of(cls, codes: Array, components: Array, noise: Array) -> Expectation:
        """By the mean and covariance of codes (n x K)."""
        mean = codes.mean(axis=0)
        values, vectors = np.linalg.eigh((codes - mean).T @ (codes - mean) / max(1, len(codes) - 1))
        root = np.sqrt(np.maximum(values, 0))[:, None] * vectors.T
        return cls(mean @ components, root @ components, noise)

    def _gain(self) -> tuple[Array, Array]:
        """From deviations to factors (m x K), and what factors then still vary (K x K)."""
        weighted = self.loadings / self.noise
        known, directions = np.linalg.eigh(weighted @ self.loadings.T)
        rest = (directions / (1 + np.maximum(known, 0))) @ directions.T
        return weighted.T @ rest, rest

    def filled(self, X: Array, hidden: Array, filled: Array | None, turns: int) -> Array:
        """Deviations of ``X`` (n x m) from the mean, with what is expected where they are `hidden`."""
        deviations = np.where(hidden, 0 if filled is None else filled, X - self.mean)
        if hidden.any():
            gain, _ = self._gain()
            rows = np.flatnonzero(hidden.any(axis=1))
            part, hide = deviations[rows], hidden[rows]
            for _ in range(turns):
                np.copyto(part, (part @ gain) @ self.loadings, where=hide)
            deviations[rows] = part
        return deviations

    def residuals(self, X: Array, hidden: Array, filled: Array) -> tuple[Array, Array]:
        """Of ``X`` (n x m) from what the other entries say that are not hidden, and what all of these say."""
        gain, _ = self._gain()
        own = np.einsum("mk,km->m", gain, self.loadings)
        expected = self.mean + (filled @ gain) @ self.loadings
        residuals = X - expected
        return np.where(hidden, residuals, residuals / np.maximum(1 - own, _OWN)), expected

    def given(self, x: Array, hidden: Array) -> tuple[Array, Array]:
        """Residuals, and what is expected, as above; exactly, every point (n x m) on its own."""
        weighted = self.loadings / self.noise
        gain, rest = self._gain()
        own = np.einsum("mk,km->m", gain, self.loadings)
        some = np.asarray(hidden.any(axis=1))
        deviations = np.where(hidden, 0, x - self.mean)
        factors = deviations @ gain
        if some.any():
            needed = np.eye(len(rest)) + self._information(~hidden[some], weighted)
            factors[some] = np.linalg.solve(needed, (deviations[some] @ weighted.T)[..., None])[..., 0]
        expected = self.mean + factors @ self.loadings
        residuals = x - expected
        return np.where(hidden, residuals, residuals / np.maximum(1 - own, _OWN)), expected

    def _information(self, shown: Array, weighted: Array) -> Array:
        """What the entries that are `shown` say of the factors (n x K x K)."""
        K, m = weighted.shape
        known = np.zeros((len(shown), K * K))
        width = max(1, _PRODUCTS // (K * K))
        for at in range(0, m, width):
            part = slice(at, at + width)
            products = weighted[:, None, part] * self.loadings[None, :, part]
            known += shown[:, part].astype(np.float64) @ products.reshape(K * K, -1).T
        return known.reshape(-1, K, K)

    def factors(self, filled: Array) -> tuple[Array, Array, Array]:
        """Factors (n x K) by deviations (n x m), what each counts for them (m x K), and for itself (m)."""
        gain, _ = self._gain()
        own = np.minimum(np.einsum("mk,km->m", gain, self.loadings), 1 - _OWN)
        return filled @ gain, gain, own

    def refined(self, X: Array, hidden: Array, filled: Array, steps: int) -> tuple[Expectation, Array]:
        """After steps of expectation and maximisation by what is not hidden, and the deviations (n x m) then filled."""
        mean, loadings = self.mean, self.loadings
        shown = ~hidden
        count = np.maximum(shown.sum(axis=0), 1)
        for _ in range(steps):
            now = Expectation(mean, loadings, self.noise)
            gain, rest = now._gain()
            np.copyto(filled, ((filled @ gain) @ loadings), where=hidden)
            factors = filled @ gain
            loadings = np.linalg.solve(factors.T @ factors + len(X) * rest, factors.T @ filled)
            left = filled - factors @ loadings
            shift = np.where(shown, left, 0).sum(axis=0) / count
            mean = mean + shift
            filled = np.where(hidden, filled, X - mean)
        return Expectation(mean, loadings, self.noise), filled

    def quieter(self, spread: Array, variance: Array) -> Expectation:
        """The same with noise of that spread (m), and at least a share of the variance of the data."""
        return self._replace(noise=_ALIKE * np.maximum(spread**2, _NOISE * variance))
