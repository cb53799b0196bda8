"""What the page says, gathered from a fitted model and data."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import _safe_indexing

from ewnmf import __version__
from ewnmf._types import Array
from ewnmf.damage.calibration import FEWEST
from ewnmf.fitting.frames import numeric_table
from ewnmf.plots.clusters import clusters_of, codes_of, map_of
from ewnmf.plots.gammas import SCORES
from ewnmf.plots.judged import Judged, judge, model_of, names_of, point_labels, replaced_share
from ewnmf.plots.kinds import Kind, kind_of
from ewnmf.plots.points import limits
from ewnmf.report.attributes import attribute_lines, pixel_map
from ewnmf.report.charts import Chart, line_chart
from ewnmf.report.parts import MOST_PARTS, parts_of
from ewnmf.report.png import TRUST, data_uri
from ewnmf.report.points import MOST_ATTRIBUTES, NEGLIGIBLE, chosen_points, embedded, number
from ewnmf.report.survey import MOST_ENTRIES, Survey, survey

__all__ = ["Asked", "gather"]

MOST_SUSPECTS = 500
_LISTED = 10
_ON_THE_MAP = 1500
_MOST_CLASSES = 12
_LOOKED_AT = 200
_STOPPED = {
    "converged": "converged",
    "max_iter": "the most allowed",
    "callback": "stopped by a callback",
    "interrupted": "interrupted",
}


@dataclass(frozen=True)
class Asked:
    """What a report is asked for beside the model and the data."""

    title: str = "EWNMF report"
    false_alarms: float = 0.01
    kind: str = "auto"
    image_shape: Sequence[int] | None = None
    feature_names: Any = None
    point_names: Any = None
    labels: Any = None
    max_entries: int = MOST_ENTRIES


def gather(estimator: Any, X: Any, asked: Asked) -> dict[str, Any]:
    """All that the template fills in, and under ``data`` what the page's script reads."""
    n, m = X.shape
    model = model_of(estimator)
    seen = survey(estimator, X, asked.false_alarms, top=MOST_SUSPECTS, most=asked.max_entries)
    kind = _kind(estimator, X, asked)
    names = point_labels(X, asked.point_names, n)
    chosen = chosen_points(seen.worst_points, seen.rows, m, kind.name)
    judged = judge(estimator, X, false_alarms=asked.false_alarms, points=chosen, kind=kind, point_names=names)
    suspects = _suspects(seen, kind, names)
    data = {
        "kind": kind.name,
        "names": list(kind.names) if m <= 2 * MOST_ATTRIBUTES or kind.name == "series" else None,
        "axis": _axis(kind, m),
        "points": embedded(judged),
        "first": int(seen.rows[seen.worst_points[0]]),
        "scale": _scale(judged) if kind.name == "images" else None,
        "largest": [number(value) for value in seen.largest] if m <= 2 * MOST_ATTRIBUTES else None,
        "map": _map(estimator, X, chosen, seen.rows, asked.labels, names, model.components_.shape[0]),
    }
    _name_entries(data, kind, seen)
    return {
        "title": asked.title,
        "version": __version__,
        "headline": _headline(seen, kind, asked.false_alarms),
        "notes": _notes(estimator, seen, kind, len(chosen)),
        "facts": _facts(estimator, model, seen, n, m, asked),
        "gamma": gamma_sentence(model),
        "attributes": _worst_attributes(seen, kind),
        "pixels": pixel_map(seen, kind),
        "over_points": attribute_lines(estimator, X, seen, kind, names, asked.false_alarms),
        "worst_points": _worst_points(seen, names, chosen),
        "kind": kind,
        "alarms": f"{1 / asked.false_alarms:,.0f}",
        "replaced": f"{1 / replaced_share(estimator, asked.false_alarms):,.0f}",
        "parts": parts_of(model.components_, kind),
        "parts_left": max(0, model.components_.shape[0] - MOST_PARTS),
        "suspects": suspects,
        "suspects_total": int(seen.suspect.sum()),
        "objective": objective_chart(model),
        "gamma_chart": gamma_chart(model),
        "parameters": {name: _shown(value) for name, value in estimator.get_params(deep=False).items()},
        "data": data,
    }


def _kind(estimator: Any, X: Any, asked: Asked) -> Kind:
    n = X.shape[0]
    some = _safe_indexing(X, np.arange(0, n, max(1, -(-n // _LOOKED_AT))))
    values = some if issparse(some) else np.asarray(numeric_table(some), dtype=float)
    names = names_of(estimator, X, asked.feature_names)
    found = kind_of(values, names, asked.kind, asked.image_shape, sparse=issparse(X))
    if found.shape is None or names is not None:
        return found
    width = found.shape[1]
    pixels = tuple(f"row {j // width + 1}, column {j % width + 1}" for j in range(len(found.names)))
    return replace(found, names=pixels)


def _scale(judged: Judged) -> dict[str, Any]:
    """Which values black and white stand for, and the colours of trust from 0 to 1 as a picture."""
    low, high = limits(judged.values)
    return {"black": number(low), "white": number(high), "trust": data_uri(np.linspace(0, 1, 64)[None], 0, 1, TRUST)}


def _axis(kind: Kind, m: int) -> list[float] | None:
    if kind.name != "series":
        return None
    return [float(value) for value in (np.arange(m) if kind.axis is None else kind.axis)]


def _name_entries(data: dict[str, Any], kind: Kind, seen: Survey) -> None:
    """Names and sizes of the attributes that are embedded, where not all are."""
    if data["names"] is not None and data["largest"] is not None:
        return
    used = sorted({entry[0] for point in data["points"] for entry in point["entries"]})
    data["names"] = data["names"] or {str(j): kind.names[j] for j in used}
    data["largest"] = {str(j): number(seen.largest[j]) for j in used}


def _headline(seen: Survey, kind: Kind, false_alarms: float) -> str:
    count, there = int(seen.suspect.sum()), int(seen.observed.sum())
    usual = f"{100 * false_alarms:.3g} %"
    if count == 0:
        return "Nothing looks damaged."
    found = f"{100 * seen.share:.2g} % of the entries ({count:,} of {there:,})"
    shares = seen.share_of_attributes
    worst = [j for j in np.argsort(-shares, kind="stable")[:3] if shares[j] > max(3 * false_alarms, 1.5 * seen.share)]
    named = [f"\u2068{kind.names[j]}\u2069 ({100 * shares[j]:.0f} %)" for j in worst]  # whatever way a name is read
    where = "" if not named or kind.name == "images" else f" Most of it is in {_listed(named)}."
    if seen.share <= 1.5 * false_alarms:
        return f"Little looks damaged: {found} are suspect, and {usual} would be where nothing is damaged.{where}"
    return f"{found} look damaged, where {usual} would be suspected by mistake.{where}"


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _notes(estimator: Any, seen: Survey, kind: Kind, n_chosen: int) -> list[str]:
    notes = []
    if len(seen.rows) < seen.total:
        notes.append(
            f"Of {seen.total:,} points {len(seen.rows):,} were looked at, in equal distances; counts are of these."
        )
    if n_chosen < len(seen.rows):
        notes.append(f"{n_chosen:,} points can be picked: the most suspicious ones and others in equal distances.")
    if kind.guess:
        notes.append(kind.guess)
    if seen.lost:
        notes.append(f"{seen.lost:,} of the points have no entry that is both observed and trusted.")
    count = estimator._calibrated().n_points
    if count < FEWEST:
        notes.append(
            f"The model was fitted to {count} points only: how far residuals usually go is hardly known from fewer "
            f"than {FEWEST}, and more undamaged entries may be suspected."
        )
    return notes


def _facts(estimator: Any, model: Any, seen: Survey, n: int, m: int, asked: Asked) -> list[tuple[str, str, str]]:
    """Name, number and remark of each tile."""
    there, count = int(seen.observed.sum()), int(seen.suspect.sum())
    missing = len(seen.rows) * m - there
    share = 100 * missing / max(1, len(seen.rows) * m)
    gamma = getattr(model, "gamma_", None)
    return [
        ("Points", f"{n:,}", "" if len(seen.rows) == n else f"{len(seen.rows):,} looked at"),
        ("Attributes", f"{m:,}", ""),
        ("Suspect entries", f"{100 * seen.share:.2g} %", f"{count:,} of {there:,}"),
        ("Missing entries", f"{share:.2g} %", f"{missing:,}"),
        ("Components", f"{model.components_.shape[0]}", type(estimator).__name__),
        ("gamma", "none" if gamma is None else "infinite" if gamma == math.inf else f"{gamma:.4g}", _how(model)),
        ("Iterations", f"{model.n_iter_:,}", _STOPPED.get(getattr(model, "stop_reason_", ""), "")),
    ]


def _how(model: Any) -> str:
    if getattr(model, "gamma_", None) is None:
        return ""
    return model.gamma if isinstance(model.gamma, str) else "as given"


def gamma_sentence(model: Any) -> str:
    """Which gamma, and why."""
    path, gamma = getattr(model, "gamma_path_", None), getattr(model, "gamma_", None)
    if path is not None:
        return str(path.verdict)
    if gamma is None:
        return f"The weighting {model.weighting!r} has no gamma."
    if gamma == math.inf:
        return "gamma is infinite: entries are weighted alike, as in plain NMF."
    if not isinstance(model.gamma, str):
        return f"gamma = {gamma:.4g} was given."
    times = f": {model.gamma[:-1]} times the mean loss of plain NMF" if model.gamma.endswith("x") else ""
    return f"gamma = {gamma:.4g} comes from gamma={model.gamma!r}{times}."


def _worst_attributes(seen: Survey, kind: Kind) -> list[tuple[str, float, int]]:
    shares = seen.share_of_attributes
    order = [j for j in np.argsort(-shares, kind="stable")[:_LISTED].tolist() if seen.suspect[j]]
    return [(kind.names[j], float(shares[j]), int(seen.suspect[j])) for j in order]


def _worst_points(seen: Survey, names: Array, chosen: Array) -> list[tuple[int, str, float, int]]:
    shares = seen.share_of_points
    order = [at for at in seen.worst_points[:_LISTED].tolist() if seen.suspect_of_points[at]]
    known = set(chosen.tolist())
    found = [(int(seen.rows[at]), float(shares[at]), int(seen.suspect_of_points[at])) for at in order]
    return [(row, str(names[row]), share, count) for row, share, count in found if row in known]


def _suspects(seen: Survey, kind: Kind, names: Array) -> list[dict[str, Any]]:
    worst = seen.worst
    rows = zip(*(worst[name].tolist() for name in ("point", "attribute", "value", "expected", "trust")), strict=True)
    return [
        {"row": row, "point": str(names[row]), "attribute": kind.names[j], "trust": t}
        | {"value": x, "expected": y if abs(y) > NEGLIGIBLE * seen.largest[j] else 0.0}
        for row, j, x, y, t in rows
    ]


def objective_chart(model: Any) -> Chart | None:
    """The objective over the iterations."""
    history = np.asarray(getattr(model, "loss_curve_", ()), dtype=float)
    if history.size < 2:
        return None
    steps = np.arange(model.n_iter_ - history.size, model.n_iter_) + 1.0
    said = f"The objective falls from {history[0]:.6g} to {history[-1]:.6g} in {model.n_iter_} iterations."
    return line_chart("Objective", said, ("iteration", "objective J*"), [("objective", "blue", steps, history)])


def gamma_chart(model: Any) -> Chart | None:
    """Scores of the gammas that were tried."""
    path = getattr(model, "gamma_path_", None)
    if path is None or len(path.scores) < 2 or not np.isfinite(path.scores).all():
        return None
    finite = np.isfinite(path.relative)
    x, y = np.log2(path.relative[finite])[::-1], path.scores[finite][::-1]
    plain = np.full(2, path.scores[0])
    ends = np.array([x.min() - 0.3, x.max() + 0.3])
    marks = []
    if finite[path.chosen]:
        marks = [(math.log2(path.relative[path.chosen]), path.scores[path.chosen], "chosen")]
    return line_chart(
        "Gammas that were tried",
        str(path.verdict),
        ("gamma / mean loss of plain NMF", SCORES.get(path.rule, "score")),
        [("plain NMF", "red dashed", ends, plain), ("EWNMF", "blue", x, y)],
        dotted=True,
        x_ticks=[(at, f"{2.0**at:.3g}x") for at in x.tolist()],
        marks=marks,
    )


def _map(
    estimator: Any, X: Any, chosen: Array, rows: Array, labels: Any, names: Array, n_clusters: int
) -> dict[str, Any] | None:
    """Places of codes in two dimensions, with clusters and known labels."""
    step = max(1, -(-len(rows) // _ON_THE_MAP))
    shown = np.union1d(chosen, rows[::step])
    with warnings.catch_warnings():  # of points without a value, which the notes tell
        warnings.simplefilter("ignore", UserWarning)
        codes = codes_of(estimator, X if len(shown) == X.shape[0] else _safe_indexing(X, shown))
    if len(shown) < 2 or codes.shape[1] < 2:
        return None
    places, shares = map_of(codes)
    groups = {"cluster": [f"cluster {k + 1}" for k in clusters_of(codes, min(n_clusters, _MOST_CLASSES)).tolist()]}
    if labels is not None:
        groups["label"] = [str(label) for label in np.asarray(labels)[shown]]
    described = {}
    for what, members in groups.items():
        classes, counts = np.unique(members, return_counts=True)
        kept = sorted(map(str, classes[np.argsort(-counts, kind="stable")[:_MOST_CLASSES]]), key=_natural)
        index = {name: k for k, name in enumerate(kept)}
        described[what] = {"classes": kept, "of": [index.get(member, -1) for member in members]}
    return {
        "x": [number(value) for value in places[:, 0]],
        "y": [number(value) for value in places[:, 1]],
        "rows": shown.tolist(),
        "names": [str(name) for name in names[shown]],
        "groups": described,
        "shares": [round(100 * float(share)) for share in shares],
    }


def _natural(name: str) -> list[tuple[bool, int, str]]:
    """A key by which 2 comes before 10."""
    return [(not part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in re.split(r"(\d+)", name)]


def _shown(value: Any) -> str:
    text = repr(value) if not isinstance(value, np.ndarray) else f"array of shape {value.shape}"
    return text if len(text) <= 80 else f"{text[:79]}…"
