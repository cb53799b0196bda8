"""``ewnmf transform``: codes of new points."""

from __future__ import annotations

from typing import Any

import click

from ewnmf.cli.apply import apply_model, apply_options, attribute_names, filled_points
from ewnmf.cli.file_options import EXIT_CODES

__all__ = ["transform"]


@click.command(
    short_help="Codes of new points under a saved model, or the points with their gaps filled.",
    epilog=f"""\b
Examples:
  ewnmf transform faces/ new.npy -o codes.npy      faces/ is a folder that ewnmf fit wrote
  ewnmf transform model.ewnmf new.csv --id name    CSV on standard output
  cat new.csv | ewnmf transform model.ewnmf - -o codes.parquet
  ewnmf transform model.ewnmf gaps.csv --fill -o filled.csv

{EXIT_CODES}""",
)
@apply_options
@click.option("--fill", is_flag=True, help="Write the points instead, missing values filled by the model.")
def transform(model: str, file: str, fill: bool, **options: Any) -> None:
    """Write the codes of the points in FILE under MODEL, a file model.ewnmf or the folder it is in.

    FILE is anything that ewnmf fit reads. Points are scaled, and images resized, as they were for the fit.
    """

    def names(estimator: Any, table: Any) -> tuple[str, ...]:
        return tuple(map(str, estimator.get_feature_names_out()))

    if fill:
        apply_model("transform", model, file, options, filled_points, attribute_names, "points")
    else:
        apply_model(
            "transform", model, file, options, lambda estimator, given: estimator.transform(given.X), names, "codes"
        )
