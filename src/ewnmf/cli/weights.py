"""``ewnmf weights``: how far every entry of new points is to be trusted."""

from __future__ import annotations

from typing import Any

import click

from ewnmf.cli.apply import apply_model, apply_options, attribute_names
from ewnmf.cli.file_options import EXIT_CODES

__all__ = ["weights"]


@click.command(
    short_help="Weights of the entries of new points.",
    epilog=f"""\b
Examples:
  ewnmf weights faces/ new.npy -o weights.npy
  ewnmf weights model.ewnmf new.csv --id name

{EXIT_CODES}""",
)
@apply_options
def weights(model: str, file: str, **options: Any) -> None:
    """Write the weight of every entry of FILE under MODEL, a file model.ewnmf or the folder it is in.

    With entropy weights every row sums to one; entries that no combination of components explains get little.
    """

    def apply(estimator: Any, given: Any) -> Any:
        return estimator.weights(given.X)

    apply_model("weights", model, file, options, apply, attribute_names, "weights")
