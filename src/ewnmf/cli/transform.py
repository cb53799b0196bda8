"""``ewnmf transform``: codes of new points."""

from __future__ import annotations

from typing import Any

import click

from ewnmf.cli.apply import apply_model, apply_options
from ewnmf.cli.file_options import EXIT_CODES

__all__ = ["transform"]


@click.command(
    short_help="Codes of new points under a saved model.",
    epilog=f"""\b
Examples:
  ewnmf transform faces/ new.npy -o codes.npy      faces/ is a folder that ewnmf fit wrote
  ewnmf transform model.ewnmf new.csv --id name    CSV on standard output
  cat new.csv | ewnmf transform model.ewnmf - -o codes.parquet

{EXIT_CODES}""",
)
@apply_options
def transform(model: str, file: str, **options: Any) -> None:
    """Write the codes of the points in FILE under MODEL, a file model.ewnmf or the folder it is in.

    FILE is anything that ewnmf fit reads. Points are scaled, and images resized, as they were for the fit.
    """

    def names(estimator: Any, table: Any) -> tuple[str, ...]:
        return tuple(map(str, estimator.get_feature_names_out()))

    apply_model("transform", model, file, options, lambda estimator, X: estimator.transform(X), names)
