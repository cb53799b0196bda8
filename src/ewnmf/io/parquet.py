"""Parquet files."""

from __future__ import annotations

from ewnmf.io.columns import Roles, to_table
from ewnmf.io.layout import Layout
from ewnmf.io.source import Source, Unreadable, check_memory, import_extra
from ewnmf.io.table import Table

__all__ = ["read_parquet"]

_MAGIC, _ENCRYPTED = b"PAR1", b"PARE"


def read_parquet(source: Source, layout: Layout) -> Table:
    """The columns with numbers; empty cells are NaN."""
    import_extra("pyarrow", "pyarrow", f"reading {source.name}")
    from pyarrow import parquet

    _check_ends(source)
    try:
        with parquet.ParquetFile(str(source.path)) as file:
            roles = Roles(source.name, file.schema_arrow.names, layout)
            bytes_of_a_row = 24.0 * len(roles.numbers) + 8.0 * len(file.schema_arrow.names)
            check_memory(source.name, file.metadata.num_rows * bytes_of_a_row, "take a part of its rows or columns")
            table = file.read(use_threads=False)
    except Exception as error:
        if "crypt" in str(error).lower():
            raise _encrypted(source) from error
        raise
    return to_table(table, roles, source, "parquet", named=True, first_row=1)


def _check_ends(source: Source) -> None:
    with source.path.open("rb") as stream:
        first = stream.read(4)
        stream.seek(-min(4, source.path.stat().st_size), 2)
        last = stream.read(4)
    if _ENCRYPTED in (first, last):
        raise _encrypted(source)
    if first != _MAGIC:
        raise Unreadable(f"{source.name} is no Parquet file: it does not begin with {_MAGIC.decode()!r}.")
    if last != _MAGIC:
        raise Unreadable(f"{source.name} is a Parquet file without its end: copy it anew, it is cut short or damaged.")


def _encrypted(source: Source) -> Unreadable:
    return Unreadable(f"{source.name} is an encrypted Parquet file; decrypt it first.")
