"""What all fitted estimators say of damage: how far entries can be trusted, which are suspect, and what was there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse, vstack
from sklearn.utils.validation import check_is_fitted

from ewnmf._types import Array
from ewnmf._warn import warn
from ewnmf.damage.calibration import FEWEST, Calibration
from ewnmf.damage.repair import AUTO, check_false_alarms, check_replaced, lost_points, most_suspicious, repaired
from ewnmf.damage.verdict import Verdict, examine
from ewnmf.estimators.by_blocks import blocks_in, computed
from ewnmf.estimators.containers import Form
from ewnmf.estimators.fitted import Encoder
from ewnmf.estimators.notebook import Notebook
from ewnmf.fitting import checks
from ewnmf.storage.dense import block_height
from ewnmf.storage.matrix import dense

__all__ = ["EXPLAINED", "FALSE_ALARMS", "Judge", "Judging"]

FALSE_ALARMS = 0.01
EXPLAINED = 20


class Judging(Notebook):
    """Questions about damage; a subclass says what is expected of points, and how far they are from it."""

    n_features_in_: int

    def _calibrated(self) -> Calibration:
        """How far residuals usually go; refused where that is not known."""
        raise NotImplementedError

    def _verdicts(self, X: Any, mask: Any, series: bool = True) -> Iterator[tuple[Array, Verdict]]:
        """Points as they came, floats, and the verdicts on them; in blocks, the only ones that are made dense."""
        raise NotImplementedError

    def _judged(self, X: Any, mask: Array | None, series: bool) -> Iterator[tuple[Array, Verdict]]:
        """The verdicts on validated points, in blocks."""
        calibration = self._calibrated()
        n, m = X.shape
        width = block_height(m)
        for at in range(0, n, width):
            rows = slice(at, min(at + width, n))
            x = dense(X[rows])
            seen = ~np.isnan(x) if mask is None else ~np.isnan(x) & mask[rows]
            yield x, examine(x, seen, calibration, series=series)

    def _mean_expected(self) -> Array:
        """What is expected of the mean point of `fit` (m)."""
        nothing = np.zeros((1, self.n_features_in_))
        expected: Array = examine(nothing, nothing > 0, self._calibrated()).expected[0]
        return expected

    def trust(self, X: Any, *, mask: Any = None) -> Any:
        """How far every entry can be trusted (n x m): 1 where it fits, towards 0 where it does not, NaN where missing.

        ``2^-(z/c)^2``, with ``z`` the residual in units of its attribute's spread (`calibration_`) and ``c`` the limit
        that 1 % of undamaged entries exceed, so that there the trust is one half. It means the same for all points,
        attributes and weightings, also at an infinite gamma. What an entry is held against comes from codes that
        suspicious entries of its point have no part in.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Blocks or Dask array of shape (n_samples, n_features)
            Rows are points, NaN is a missing value.
        mask : array-like of bool of shape (n_samples, n_features), optional
            True where an entry was observed.

        Returns
        -------
        ndarray, data frame, Blocks or Dask array of shape (n_samples, n_features)
            The trust; a data frame where `X` is one, or where `set_output` asks for it.
        """
        self._calibrated()
        blocks = blocks_in(self, X, mask=mask)
        if blocks is not None:
            return computed(self, "trust", blocks, blocks.shape[1], np.float64)
        judged = self._verdicts(X, mask)
        return Form(self, X).table(np.concatenate([verdict.trust for _, verdict in judged]))

    def suspects(self, X: Any, false_alarms: float = FALSE_ALARMS, *, mask: Any = None) -> Any:
        """Which entries are likely damaged (n x m), with a stated share of false alarms where nothing is.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows are points, NaN is a missing value, which is never suspect.
        false_alarms : float, default=0.01
            The share of undamaged entries that may be suspected, between 0 and 0.5.
        mask : array-like of bool of shape (n_samples, n_features), optional
            True where an entry was observed.

        Returns
        -------
        ndarray, sparse matrix or data frame of bool of shape (n_samples, n_features)
            True where suspect; of the form of `X`, or as `set_output` asks.
        """
        share = check_false_alarms(false_alarms)
        self._warn_of_few(share)
        judged = self._verdicts(X, mask)
        if issparse(X):
            return vstack([csr_array(verdict.suspects(share)) for _, verdict in judged], format="csr")
        return Form(self, X).table(np.concatenate([verdict.suspects(share) for _, verdict in judged]))

    def repair(
        self,
        X: Any,
        false_alarms: float | str = AUTO,
        *,
        soft: bool = False,
        mask: Any = None,
    ) -> Any:
        """``X`` with what the model expects in place of suspect and missing entries; all others untouched, to the bit.

        A point without any entry to trust is repaired from the mean point of `fit`, with a warning.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, Blocks or Dask array of shape (n_samples, n_features)
            Rows are points, NaN is a missing value.
        false_alarms : float or "auto", default="auto"
            As in `suspects`. With ``"auto"`` one in a million where the points of `fit` have no more suspects than
            nothing but false alarms would be, so that undamaged data stays nearly as it is, and up to 0.01 where they
            have more (`calibration_.replaced`).
        soft : bool, default=False
            Whether observed entries become ``trust * x + (1 - trust) * expected`` instead.
        mask : array-like of bool of shape (n_samples, n_features), optional
            True where an entry was observed.

        Returns
        -------
        ndarray, sparse matrix, data frame, Blocks or Dask array of shape (n_samples, n_features)
            The repaired points, in the unit of `X`; of its form, or as `set_output` asks.
        """
        blocks = blocks_in(self, X, mask=mask)
        if blocks is not None:
            self._calibrated()
            options = {"false_alarms": check_replaced(false_alarms), "soft": soft}
            return computed(self, "repair", blocks, blocks.shape[1], blocks.dtype, **options)
        clean = self._repaired(X, check_replaced(false_alarms), soft, mask)
        return clean if issparse(clean) else Form(self, X).table(clean)

    def _repaired(self, X: Any, false_alarms: float | str, soft: bool, mask: Any, series: bool = True) -> Any:
        """The repaired points as an array, or a CSR matrix where `X` is sparse."""
        share = self._replaced(false_alarms)
        self._warn_of_few(share)
        parts, lost = [], 0
        for x, verdict, suspects, count in self._decided(X, share, mask, series):
            clean = repaired(x, verdict, suspects, soft=soft)
            lost += count
            parts.append(csr_array(clean) if issparse(X) else clean)
        _warn_of_lost(lost)
        return vstack(parts, format="csr") if issparse(X) else np.concatenate(parts)

    def _replaced(self, false_alarms: float | str) -> float:
        """The share of false alarms at which entries are replaced."""
        return self._calibrated().replaced if isinstance(false_alarms, str) else false_alarms

    def _decided(
        self, X: Any, share: float, mask: Any, series: bool = True
    ) -> Iterator[tuple[Array, Verdict, Array, int]]:
        """Points, verdicts, suspects, and how many have nothing to trust: of these the mean point is expected."""
        for x, verdict in self._verdicts(X, mask, series):
            suspects = verdict.suspects(share)
            lost = lost_points(verdict, suspects)
            if lost.any():
                verdict.expected[lost] = self._mean_expected()
            yield x, verdict, suspects, int(lost.sum())

    def explain(self, X: Any, top: int = EXPLAINED, *, mask: Any = None) -> Any:
        """The entries that are least to be trusted, most suspicious first, as a table.

        Its columns are ``point`` (the label in the index of a pandas table, else the number from 0), ``attribute`` (its
        name), ``value``, ``expected`` and ``trust``.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows are points, NaN is a missing value.
        top : int, default=20
            How many entries, at the most.
        mask : array-like of bool of shape (n_samples, n_features), optional
            True where an entry was observed.

        Returns
        -------
        structured array or data frame of length `top`
            A data frame where `X` is one, or where `set_output` asks for it.
        """
        top = checks.check_count("top", top)
        self._calibrated()
        found: list[dict[str, Array]] = []
        first = 0
        for x, verdict, *_ in self._decided(X, FALSE_ALARMS, mask):
            found.append(most_suspicious(x, verdict, top))
            found[-1]["point"] = found[-1]["point"] + first
            first += len(x)
        return _explained(Form(self, X), found, top, self.n_features_in_)

    def _warn_of_few(self, share: float) -> None:
        count = self._calibrated().n_points
        if count < FEWEST:
            warn(
                f"fit saw {count} point{'s' * (count != 1)}, and how far residuals usually go is hardly known from "
                f"fewer than {FEWEST}: more undamaged entries may be suspected than false_alarms={share:g} says."
            )


def _warn_of_lost(count: int) -> None:
    """One warning that says how many points had nothing to trust."""
    if count:
        warn(
            f"{count} point{'s have' if count > 1 else ' has'} no entry that is both observed and trusted, and "
            f"{'are' if count > 1 else 'is'} repaired from the mean point of fit."
        )


def _explained(form: Form, found: list[dict[str, Array]], top: int, m: int) -> Any:
    """The table of the most suspicious entries of all blocks."""
    columns = {name: np.concatenate([part[name] for part in found]) for name in found[0]}
    order = np.argsort(-columns.pop("score"), kind="stable")[:top]
    names = np.empty(m, dtype=object)
    names[:] = form.names(m)
    table = {name: column[order] for name, column in columns.items()}
    table |= {"point": form.points(table["point"]), "attribute": names[table["attribute"]]}
    return form.columns(table)


class Judge(Judging, Encoder):
    """A fitted model that answers them.

    How far residuals usually go (`calibration_`) is learned from points of `fit` when somebody asks.
    """

    def _settle(self) -> None:
        """Learn the calibration now, if that is still to be done."""
        getattr(self, "calibration_", None)

    def _calibrated(self) -> Calibration:
        check_is_fitted(self, "components_")
        calibration: Calibration | None = getattr(self, "calibration_", None)
        if calibration is None or calibration.expectation is None:
            raise ValueError(
                f"This {type(self).__name__} was fitted by an earlier version of ewnmf, or is not fitted to the end, "
                "and does not know how far residuals usually go; fit it again."
            )
        return calibration

    def _verdicts(self, X: Any, mask: Any, series: bool = True) -> Iterator[tuple[Array, Verdict]]:
        X = self._validated(X)
        self._points(X, mask=mask)
        return self._judged(X, checks.check_mask(mask, X.shape), series)
