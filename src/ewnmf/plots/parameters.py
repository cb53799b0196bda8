"""The parameters of displays and reports: their types and texts, once.

Signatures stay explicit where they are; docstrings are made of them and of this table.
"""

from __future__ import annotations

import inspect
import json
import textwrap
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["documented"]

Documented = TypeVar("Documented", bound=Callable[..., Any])

_TABLE = "array-like, sparse matrix or data frame of shape (n, m)"
_TEXTS = {
    "estimator": ("fitted estimator", "An estimator of ewnmf, or a `Repairer`."),
    "X": (_TABLE, "Rows are points."),
    "judged": ("Judged", "What a model says of points; `from_estimator` and `from_data` make it."),
    "components": ("array-like of shape (K, m)", "One component a row."),
    "codes": ("array-like of shape (n, K)", "Codes of the points."),
    "history": ("array-like of shape (n_values,)", "The objective after every iteration."),
    "path": ("GammaPath", "What was tried."),
    "trust": ("array-like of shape (n, m)", "How far entries can be trusted; what has less than one half is suspect."),
    "repaired": ("array-like of shape (n, m)", "What points were repaired to."),
    "labels": ("array-like of shape (n,)", "Known classes, to colour by."),
    "points": (
        "sequence of int",
        "Numbers of the points to show; where not given, those that are least to be trusted.",
    ),
    "n_points": ("int", "Points (or attributes of a table) that are shown one by one."),
    "top": ("int", "Attributes that are listed, where not all are."),
    "n_columns": ("int", "Panels or images in a line, at the most."),
    "n_clusters": ("int", "How many clusters; as many as components where not given."),
    "false_alarms": ("float", "The share of undamaged entries that may be suspected."),
    "kind": (
        '{"auto", "images", "series", "table", "words"}',
        "What the attributes are; guessed by default, and a guess of images or series is stated.",
    ),
    "image_shape": ("(int, int)", "Height and width, where points are images."),
    "feature_names": (
        "sequence of str",
        "Names of the attributes; where not given, those of a data frame or of `fit`.",
    ),
    "point_names": (
        "sequence of str",
        "Names of the points; where not given, the index of a pandas table, or their numbers.",
    ),
    "one_by_one": ("bool", "Whether points of a table are drawn, not its attributes."),
    "named": ("bool", "Whether labels are known classes, not the numbers of clusters that were looked for."),
    "total": ("int", "How many points there are, where these are some."),
    "last": ("int", "The number of the last iteration; iterations that tuned gamma are counted but have no value."),
    "name": ("str", "Name in the legend."),
    "ax": ("matplotlib axes", "Where to draw; a figure of pyplot where not given."),
    "title": ("str", "Heading of the page."),
    "max_entries": (
        "int",
        "How many entries are looked at; of larger data, points in equal distances, and the page says so.",
    ),
}
_PLACE = "$sections"
_METHODS = ("from_estimator", "from_data", "plot")
_ATTRIBUTES = """

Attributes
----------
figure_ : matplotlib.figure.Figure
    The figure; it belongs to pyplot where no axes were given, and is never shown by itself.
ax_ : matplotlib axes
    The axes that were drawn on; the first of them where there are several.
axes_ : list of matplotlib axes
    All of them."""
_RETURNS = """

Returns
-------
Self
    The display, with what was drawn."""


def documented(**own: str | tuple[str, str]) -> Callable[[Documented], Documented]:
    """Fill ``$sections`` in the docstring of a function, or of a display and its methods.

    `own` has the texts, or types and texts, of parameters that mean something of their own there.
    """

    def filled(found: Documented) -> Documented:
        if not inspect.isclass(found):
            _fill(found, _entries(found, own))
            return found
        _fill(found, _entries(found.__init__, own) + _ATTRIBUTES)
        for name in _METHODS:
            method = vars(found).get(name)
            if method is not None:
                function = getattr(method, "__func__", method)
                _fill(function, _entries(function, own) + _RETURNS)
        return found

    return filled


def _fill(found: Any, sections: str) -> None:
    text = found.__doc__ or ""
    for line in text.splitlines():
        if line.strip() == _PLACE:
            found.__doc__ = text.replace(line, textwrap.indent(sections, line.removesuffix(_PLACE)))


def _entries(function: Any, own: dict[str, str | tuple[str, str]]) -> str:
    """The section of a signature's parameters."""
    lines = ["Parameters", "----------"]
    for name, parameter in inspect.signature(function).parameters.items():
        if name in ("self", "cls"):
            continue
        said = own.get(name, _TEXTS[name])
        kind, text = said if isinstance(said, tuple) else (_TEXTS[name][0], said)
        lines.append(f"{name} : {kind}{_default(parameter.default)}")
        lines.append(textwrap.fill(text, 116, initial_indent="    ", subsequent_indent="    "))
    return "\n".join(lines)


def _default(default: Any) -> str:
    if default is inspect.Parameter.empty:
        return ""
    if default is None:
        return ", optional"
    return f", default={json.dumps(default) if isinstance(default, str) else default}"
