"""Files in, results out: tables of many formats, results that appear whole or not at all, models without pickle."""

from __future__ import annotations

from ewnmf.io.archive import read_archive, write_archive
from ewnmf.io.atomic import atomic_file, atomic_folder, check_free
from ewnmf.io.layout import Layout
from ewnmf.io.readers import KINDS, read_table
from ewnmf.io.table import Table
from ewnmf.io.writers import RESULT_KINDS, Result, result_kind, write_result

__all__ = [
    "KINDS",
    "RESULT_KINDS",
    "Layout",
    "Result",
    "Table",
    "atomic_file",
    "atomic_folder",
    "check_free",
    "read_archive",
    "read_table",
    "result_kind",
    "write_archive",
    "write_result",
]
