"""Options that all commands with files have in common."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import click

from ewnmf.io import KINDS, Layout

__all__ = ["EXIT_CODES", "layout_options", "output_options", "to_layout"]

EXIT_CODES = """\b
Exit codes: 0 done, 2 refused (one sentence on standard error says why and what to do; --debug adds the
traceback), 130 interrupted, 1 a bug in ewnmf."""


def _size(text: str) -> tuple[int, int]:
    """Width and height from ``32x32``."""
    match = re.fullmatch(r"(\d{1,5})[xX](\d{1,5})", text)
    if match is None:
        raise click.BadParameter(f"{text!r} is no size; give width x height, such as 32x32.", param_hint="--size")
    return int(match[1]), int(match[2])


def _delimiter(text: str) -> str:
    """One character; ``tab`` and ``\\t`` stand for the tabulator."""
    return "\t" if text in ("tab", "\\t") else text


_LAYOUT = [
    click.option(
        "--from", "kind", type=click.Choice(KINDS), help="What FILE is; its suffix tells where this does not."
    ),
    click.option(
        "--delimiter",
        type=_delimiter,
        metavar="CHARACTER",
        help="Between cells (CSV), or 'tab'; else the first row tells.",
    ),
    click.option("--decimal", default=".", show_default=True, metavar="CHARACTER", help="Decimal point (CSV)."),
    click.option("--encoding", default="utf-8", show_default=True, metavar="NAME", help="Encoding of the text (CSV)."),
    click.option(
        "--header/--no-header",
        default=None,
        help="Whether the first row has names (CSV); else it has if a cell of it is no number.",
    ),
    click.option("--id", metavar="COLUMN", help="Column (name, or number from 1) or variable that names the points."),
    click.option("--label", metavar="COLUMN", help="The same for known classes; 'folder' for images in folders."),
    click.option("--drop", multiple=True, metavar="COLUMN", help="Column to leave out; may be repeated."),
    click.option("--variable", metavar="NAME", help="Which variable of an .npz or .mat file to read."),
    click.option("--transpose", is_flag=True, help="Points are the columns of FILE, not its rows."),
    click.option("--size", type=_size, metavar="WxH", help="Bring all images to this width and height."),
]
_LAYOUT_NAMES = (
    "kind",
    "delimiter",
    "decimal",
    "encoding",
    "header",
    "id",
    "label",
    "drop",
    "variable",
    "transpose",
    "size",
)
_OUTPUT = [
    click.option("--force", is_flag=True, help="Replace a result that is there already."),
    click.option("-q", "--quiet", is_flag=True, help="Say nothing unless something goes wrong."),
    click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON on standard output."),
]


def layout_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options that say how FILE is to be read."""
    for option in reversed(_LAYOUT):
        command = option(command)
    return command


def output_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options that say what is printed and what may be replaced."""
    for option in reversed(_OUTPUT):
        command = option(command)
    return command


def to_layout(options: dict[str, Any]) -> Layout:
    """Take the options of `layout_options` out of `options`."""
    return Layout(**{name: options.pop(name) for name in _LAYOUT_NAMES})
