"""Results in a SQLite file: a row is on the disk when `Store.add` returns, and a killed process leaves a whole file.

Several processes may use one store at once; a run that two of them computed is kept once.
"""

from __future__ import annotations

import io
import json
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from ewnmf._types import Array
from ewnmf.experiments.protocol.spec import Row, Spec

__all__ = ["SCHEMA_VERSION", "Store"]


SCHEMA_VERSION = 1
_APPLICATION = 0x45574E46  # "EWNF": tells our files from other SQLite files
_WAIT_SECONDS = 60.0
_SPEC = tuple(field.name for field in fields(Spec))
_COLUMNS = ("key", *_SPEC, "figures", "seconds", "versions", "host", "finished")
_LATER = {
    "loss": "TEXT NOT NULL DEFAULT 'euclidean'",
    "block": "INTEGER NOT NULL DEFAULT 12",
    "rule": "INTEGER NOT NULL DEFAULT 0",
}
"""Columns that a store made before them is given when it is opened; their defaults are what its rows had."""
_SCHEMA = f"""
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS results (
  key TEXT PRIMARY KEY, dataset TEXT NOT NULL, method TEXT NOT NULL, k INTEGER NOT NULL, seed INTEGER NOT NULL,
  gamma, attempt INTEGER NOT NULL, max_iter INTEGER NOT NULL, draw INTEGER, occluded REAL NOT NULL,
  keep TEXT NOT NULL, figures TEXT NOT NULL, seconds REAL NOT NULL, versions TEXT NOT NULL, host TEXT NOT NULL,
  finished TEXT NOT NULL, {", ".join(f"{name} {kind}" for name, kind in _LATER.items())}
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS of_method ON results (dataset, method);
CREATE TABLE IF NOT EXISTS arrays (
  key TEXT NOT NULL REFERENCES results (key), name TEXT NOT NULL, value BLOB NOT NULL, PRIMARY KEY (key, name)
);
PRAGMA application_id = {_APPLICATION};
PRAGMA user_version = {SCHEMA_VERSION};
COMMIT;
"""


class Store:
    """Rows and arrays of finished runs, by key.

    Made by `Store.open`, and closed by ``with`` or `close`.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection

    @classmethod
    def open(cls, path: str | Path, create: bool = True) -> Store:
        """The store in that file, made where there is none if `create`.

        Raises
        ------
        FileNotFoundError
            There is no store, and none is to be made.
        ValueError
            The file is something else, or a store of another version.
        OSError
            The file cannot be read or written.
        """
        path = Path(path)
        if not create and not path.exists():
            raise FileNotFoundError(f"there is no store at {path}; run some targets first, or name another folder.")
        with _sentences(path):
            connection = sqlite3.connect(path, timeout=_WAIT_SECONDS, isolation_level=None)
            try:
                _prepare(connection, path)
            except BaseException:
                connection.close()
                raise
        return cls(path, connection)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def add(self, row: Row, arrays: Mapping[str, Array]) -> None:
        """Keep a row and its arrays, both or none; what is there already stays."""
        self.add_all([(row, arrays)])

    def add_all(self, items: Iterable[tuple[Row, Mapping[str, Array]]]) -> None:
        """Keep rows and their arrays, all or none; what is there already stays."""
        places = ", ".join(f":{name}" for name in _COLUMNS)
        with _sentences(self.path), _transaction(self._connection) as connection:
            for row, arrays in items:
                packed = [(row.key, name, _packed(array)) for name, array in arrays.items()]
                insert = f"INSERT OR IGNORE INTO results ({', '.join(_COLUMNS)}) VALUES ({places})"
                connection.execute(insert, _values(row))
                connection.executemany("INSERT OR IGNORE INTO arrays (key, name, value) VALUES (?, ?, ?)", packed)

    def __contains__(self, key: str) -> bool:
        with _sentences(self.path):
            return bool(self._connection.execute("SELECT 1 FROM results WHERE key = ?", (key,)).fetchone())

    def keys(self) -> set[str]:
        """The keys of all rows."""
        with _sentences(self.path):
            return {key for (key,) in self._connection.execute("SELECT key FROM results")}

    def rows(self, **wanted: Any) -> list[Row]:
        """The rows whose specs have these values, such as ``rows(dataset="yale", draw=None)``, in the specs' order."""
        unknown = set(wanted) - set(_SPEC)
        if unknown:
            raise TypeError(f"rows have no {', '.join(sorted(unknown))}; ask for {', '.join(_SPEC)}.")
        where = " AND ".join(f"{name} IS :{name}" for name in wanted) or "1"
        values = {name: _as_column(name, value) for name, value in wanted.items()}
        with _sentences(self.path):
            found = self._connection.execute(f"SELECT {', '.join(_COLUMNS)} FROM results WHERE {where}", values)
            rows = [_row(dict(zip(_COLUMNS, each, strict=True))) for each in found]
        return sorted(rows, key=lambda row: row.spec.order)

    def has(self, key: str, name: str) -> bool:
        """Whether the array of that name of that run is there."""
        with _sentences(self.path):
            query = "SELECT 1 FROM arrays WHERE key = ? AND name = ?"
            return bool(self._connection.execute(query, (key, name)).fetchone())

    def array(self, key: str, name: str) -> Array:
        """The array of that name that the run with that key has kept."""
        with _sentences(self.path):
            query = "SELECT value FROM arrays WHERE key = ? AND name = ?"
            found = self._connection.execute(query, (key, name)).fetchone()
        if found is None:
            raise KeyError(f"the store has no array {name!r} of the run {key}.")
        return _unpacked(found[0])


@contextmanager
def _transaction(connection: sqlite3.Connection, begin: str = "BEGIN IMMEDIATE") -> Iterator[sqlite3.Connection]:
    connection.execute(begin)
    try:
        yield connection
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Check that the file is ours, and make the tables of a new one."""
    queries = ("PRAGMA application_id", "PRAGMA user_version", "SELECT count(*) FROM sqlite_master")
    # In one transaction: another process may be making the tables.
    with _transaction(connection, "BEGIN"):
        application, version, tables = (connection.execute(query).fetchone()[0] for query in queries)
    new = tables == 0 and version == 0
    if not new and application != _APPLICATION:
        raise ValueError(f"{path} is no store of ewnmf; name another folder, or move the file away.")
    if not new and version != SCHEMA_VERSION:
        age = "a newer" if version > SCHEMA_VERSION else "an older"
        raise ValueError(
            f"{path} was written by {age} version of ewnmf (store version {version}, here {SCHEMA_VERSION}); "
            "name another folder, or use that version."
        )
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    if new:
        connection.executescript(_SCHEMA)
    else:
        _complete(connection)


def _complete(connection: sqlite3.Connection) -> None:
    """Add the columns that are missing; another process may do so at the same time."""

    def missing() -> list[str]:
        present = {column[1] for column in connection.execute("PRAGMA table_info(results)")}
        return [name for name in _LATER if name not in present]

    if not missing():
        return
    with _transaction(connection):
        for name in missing():
            connection.execute(f"ALTER TABLE results ADD COLUMN {name} {_LATER[name]}")


@contextmanager
def _sentences(path: Path) -> Iterator[None]:
    """SQLite's errors as sentences; what was stored before stays in all of these cases."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        name = getattr(error, "sqlite_errorname", "")
        if name == "SQLITE_NOTADB":
            message = f"{path} is no store of ewnmf; name another folder, or move the file away."
            raise ValueError(message) from error
        reasons = {
            "SQLITE_FULL": "the disk is full; free some space",
            "SQLITE_BUSY": "another process holds it; wait for that one to end",
            "SQLITE_READONLY": "it may not be written; change its permissions or name another folder",
            "SQLITE_CANTOPEN": "it cannot be opened; change the folder's permissions or name another folder",
        }
        known = (reason for prefix, reason in reasons.items() if name.startswith(prefix))
        reason = next(known, f"{error}; check the disk, or name another folder")
        raise OSError(f"the store {path} cannot be used: {reason}.") from error


def _values(row: Row) -> dict[str, Any]:
    """Column -> what it has of a row."""
    values = {name: _as_column(name, getattr(row.spec, name)) for name in _SPEC}
    values |= {"key": row.key, "seconds": row.seconds, "host": row.host, "finished": row.finished}
    return values | {"figures": json.dumps(row.figures), "versions": json.dumps(row.versions)}


def _as_column(name: str, value: Any) -> Any:
    if name == "rule":
        return value or 0
    return json.dumps(sorted(value)) if name == "keep" else value


def _row(columns: dict[str, Any]) -> Row:
    spec = Spec(**{name: columns[name] for name in _SPEC} | {"keep": tuple(json.loads(columns["keep"]))})
    return Row(
        columns["key"],
        spec,
        json.loads(columns["figures"]),
        columns["seconds"],
        json.loads(columns["versions"]),
        columns["host"],
        columns["finished"],
    )


def _packed(array: Array) -> bytes:
    """npy format, compressed."""
    stream = io.BytesIO()
    np.save(stream, np.ascontiguousarray(array), allow_pickle=False)
    return zlib.compress(stream.getvalue(), level=1)


def _unpacked(blob: bytes) -> Array:
    array: Array = np.load(io.BytesIO(zlib.decompress(blob)), allow_pickle=False)
    return array
