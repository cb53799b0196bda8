"""Rows of a store that no run has made."""

from __future__ import annotations

from typing import Any

from ewnmf.experiments.protocol.spec import Row, Spec

VIEWS = ("raw_1", "raw_10", "unit_1", "unit_10")
COURSE = {"objective": 5.0, "excess": 4.0, "n_iter": 300.0, "rises": 0.0, "stable_at": 100.0, "sparseness": 0.5}
SIZES = {"n_points": 12.0, "n_attributes": 16.0}
CLASSES = {"n_classes": 3.0, "smallest_class": 2.0, "largest_class": 7.0}


def row(
    dataset: str,
    method: str,
    k: int,
    seed: int,
    *,
    acc: float | None = None,
    nmi: float = 0.5,
    figures: dict[str, float] | None = None,
    **spec: Any,
) -> Row:
    """A row with these ACC and NMI in every view, and further figures."""
    made = Spec(dataset, method, k, seed, **spec)
    found = SIZES | (CLASSES if method == "none" else COURSE)
    if acc is not None:
        found |= {f"acc_{view}": acc for view in VIEWS} | {f"nmi_{view}": nmi for view in VIEWS}
    if isinstance(made.gamma, float):
        found["gamma"] = made.gamma
    elif made.chooses:
        found["gamma"] = 0.25
    found |= figures or {}
    return Row(made.key, made, found, 30.0, {"ewnmf": "1.2.3"}, "somewhere", "2026-01-02T03:04:05+00:00")
