"""Changes a store as somebody would who knows how its checksums are made."""

import sqlite3
from contextlib import closing
from pathlib import Path

from dse.store.database import SEALED
from dse.store.rows import Total, sealed_row


def change_store(folder: Path, *statements: str) -> None:
    """Carry out *statements*, then make all checksums anew."""
    with closing(sqlite3.connect(folder / "study.db")) as store, store:
        for statement in statements:
            store.execute(statement)
        for table in SEALED:
            rows = store.execute(f"SELECT * FROM {table} ORDER BY rowid").fetchall()
            sealed = [sealed_row(table, row[1:]) for row in rows]
            store.execute(f"DELETE FROM {table}")
            for row in sealed:
                store.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
            total = Total().plus(sealed)
            seal = sealed_row("seal", (table, total.rows, total.checksums))
            store.execute("DELETE FROM seal WHERE name = ?", (table,))
            store.execute("INSERT INTO seal VALUES (?, ?, ?, ?)", seal)
