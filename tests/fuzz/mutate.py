"""Seeded mutations of files: bytes, texts, trees of JSON and YAML, and rows of SQLite databases."""

from __future__ import annotations

import bz2
import gzip
import json
import re
import sqlite3
import tempfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

from taskloom.studies.finished import checksum, packed, unpacked
from taskloom.studies.ledger_schema import CHECKED

Case: TypeAlias = Mapping[str, bytes]  # an input: files by their path in a folder

IN_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # where files of inputs are written, if there is one
MOST_BYTES = 100_000  # that a mutation may make of a file
NUMBERS: tuple[bytes, ...] = (
    b"0",
    b"-1",
    b"1e999",
    b"-0.0",
    b"NaN",
    b"4294967295",
    b"99999999999",
    b"9" * 19,
    b"1" + b"0" * 400,
)
NUMBERS = (*NUMBERS, b"9" * 5000, b"1_0", b"0x10", "\u0663".encode(), b"2.5", b"1e-400")
TOKENS = (
    b"\x00", b"\xff", b"\xfe\xff", b"\xef\xbb\xbf", b"\r", b"\r\n", b"\t", b'"', b"'", b"\\", b"\\ud800", b",", b";",
    b"{", b"}", b"[", b"]", b"(", b")", b"<", b">", b"{}", b"[]", b"null", b"true", b"~", b"..", b"../../x", b"/", b":",
    b"&a ", b"*a", b"!!int ", b"!!binary ", b"<<: ", b"- ", b"? ", b"|\n", b"%YAML 9.9\n", b"--- ", b"#", b"@", b"`",
    b"\x1b[2J", b"${HOME}", b"{0}", b"%s", "\u202e\u2028\ufeff".encode(), "标题".encode(), "\U0001f600".encode(),
    b"\xed\xa0\x80", b"=cmd", b"2024-02-30", b"9999-99-99", b"->", b"=>", b"@0", b"*", b"+", b"path:~nouser/x",
    b"data:", b"hub:", b"fake:", b"api:", b"new:", b"vectors:", b"pypi:", b"hf:", b".py:X", b"id", b"label", b"text",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**63 - 1, 2**63, 2**64, 10**30, 10**400, 0.5, -0.0, 1e308, float("nan"),
    float("inf"), "", " ", "x", "\x00", "\ud800", "a" * 20_000, "../../x", "~nouser/x", "\u202e", "1e999", "all",
    "drawn", "*", "id", "标题", [], {}, [[]], [None], {"": None}, {"1": 2}, {"a": {"b": {"c": []}}}, ["x"] * 50,
    [1, "a", None, {}], "2024-02-30", "2024-01-01", [0.1, 0.2], {"code": 1}, [["a", 1]],
)  # fmt: skip
LOCALE = ("utf-16", "utf-16-le", "utf-32", "latin-1", "gb18030", "utf-8-sig", "cp037", "utf-7")
DEEP = 1500  # levels: more than readers can follow


def mutated(case: Case, random: Random) -> dict[str, bytes]:
    """Change one file of a case, or two, once or several times."""
    made = dict(case)
    for _ in range(random.choice((1, 1, 1, 2))):
        name = random.choice(sorted(made))
        if random.random() < 0.02:
            made[name] = b""
        elif random.random() < 0.02 and len(made) > 1:
            del made[name]
        else:
            for _ in range(random.choice((1, 1, 2, 4))):
                made[name] = _changed(name, made[name], random)[:MOST_BYTES]
    return made


def _changed(name: str, data: bytes, random: Random) -> bytes:
    ending = Path(name).suffix
    if ending in (".gz", ".bz2") and random.random() < 0.7:
        packing: Any = gzip if ending == ".gz" else bz2
        try:
            plain = _changed(Path(name).stem, packing.decompress(data), random)
        except (OSError, EOFError, ValueError, zlib.error):
            return _bytes(data, random)
        return gzip.compress(plain, mtime=0) if ending == ".gz" else bz2.compress(plain)
    ways = STRUCTURED.get(ending, ())
    if ways and random.random() < 0.7:
        return random.choice(ways)(data, random) or _bytes(data, random)
    return _bytes(data, random)


# --- bytes -----------------------------------------------------------------------------------------------------------


def _bytes(data: bytes, random: Random) -> bytes:
    return random.choice(BYTES)(data, random)


def _flip(data: bytes, random: Random) -> bytes:
    made = bytearray(data or b"\x00")
    for _ in range(random.choice((1, 1, 2, 8))):
        made[random.randrange(len(made))] ^= 1 << random.randrange(8)
    return bytes(made)


def _cut(data: bytes, random: Random) -> bytes:
    return data[: random.randrange(len(data) + 1)]


def _drop(data: bytes, random: Random) -> bytes:
    begin, end = sorted(random.randrange(len(data) + 1) for _ in range(2))
    return data[:begin] + data[end:] if end - begin < len(data) // 2 else data[:begin] + data[begin + 1 :]


def _repeat(data: bytes, random: Random) -> bytes:
    begin = random.randrange(len(data) + 1)
    part = data[begin : begin + random.choice((1, 2, 10, 100))]
    times = random.choice((2, 3, 100, 5000))
    return data[:begin] + (part * times)[:50_000] + data[begin:]


def _token(data: bytes, random: Random) -> bytes:
    at = random.randrange(len(data) + 1)
    return data[:at] + random.choice(TOKENS) + data[at + random.choice((0, 0, 1, 4)) :]


def _noise(data: bytes, random: Random) -> bytes:
    at = random.randrange(len(data) + 1)
    return data[:at] + random.randbytes(random.choice((1, 4, 40))) + data[at:]


def _number(data: bytes, random: Random) -> bytes:
    found = list(re.finditer(rb"-?\d[\d.]*", data[:100_000]))
    if not found:
        return _token(data, random)
    begin, end = random.choice(found).span()
    return data[:begin] + random.choice(NUMBERS) + data[end:]


def _integer(data: bytes, random: Random) -> bytes:
    """Write an extreme integer over some bytes, as headers of binary files have them."""
    size = random.choice((1, 2, 4, 8))
    at = random.randrange(max(1, min(len(data), 4000) - size + 1))
    value = random.choice((0, 1, (1 << 8 * size) - 1, (1 << (8 * size - 1)) - 1, 1 << (8 * size - 1), 1 << 4 * size))
    return data[:at] + value.to_bytes(size, "little") + data[at + size :]


def _nest(data: bytes, random: Random) -> bytes:
    at, sign = random.randrange(len(data) + 1), random.choice((b"[", b"{", b"(", b'{"a":', b"- ", b"[[],"))
    return data[:at] + sign * random.choice((50, DEEP, 20_000)) + data[at:]


def _encode(data: bytes, random: Random) -> bytes:
    return data.decode("utf-8", "replace").encode(random.choice(LOCALE), "replace")


def _lines(data: bytes, random: Random) -> bytes:
    found = data.splitlines(keepends=True) or [b""]
    random.choice((random.shuffle, lambda rows: rows.append(rows[0]), lambda rows: rows.pop()))(found)
    return random.choice((b"", b"\n", b"\r"))[:0] + b"".join(found)


BYTES: tuple[Callable[[bytes, Random], bytes], ...] = (
    _flip, _cut, _drop, _repeat, _token, _token, _noise, _number, _integer, _nest, _encode, _lines,
)  # fmt: skip


# --- trees -----------------------------------------------------------------------------------------------------------


def _json(data: bytes, random: Random) -> bytes | None:
    try:
        tree = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return _dumped(_tree(tree, random), random)


def _jsonl(data: bytes, random: Random) -> bytes | None:
    lines = data.splitlines()
    at = random.randrange(len(lines)) if lines else 0
    made = _json(lines[at], random) if lines else None
    return None if made is None else b"\n".join([*lines[:at], made, *lines[at + 1 :]]) + b"\n"


def _yaml(data: bytes, random: Random) -> bytes | None:
    """Change a tree of YAML, and write it as JSON, which is YAML too."""
    from taskloom.yaml_files import load_yaml

    try:
        return _dumped(_tree(json.loads(json.dumps(load_yaml(data.decode(), "safe"))), random), random)
    except (ValueError, TypeError):
        return None


def _dumped(tree: Any, random: Random) -> bytes:
    text = json.dumps(tree, ensure_ascii=random.random() < 0.5)
    if random.random() < 0.03:
        text = text.replace("null", "[" * DEEP + "]" * DEEP, 1)
    return text.encode("utf-8", "surrogatepass")


def _tree(tree: Any, random: Random) -> Any:
    """Put another value into one place of a tree, drop or double it, or give a key another name."""
    places = list(_places(tree))
    if not places:
        return random.choice(VALUES)
    holder, key = random.choice(places)
    way = random.randrange(6)
    if way == 0:
        del holder[key]
    elif way == 1 and isinstance(holder, dict):
        holder[random.choice(("", "x", "id", key + "s", "标题", "\ud800"))] = holder.pop(key)
    elif way == 2:
        other, place = random.choice(places)
        holder[key] = json.loads(json.dumps(other[place])) if place in _keys(other) else None
    elif way == 3 and isinstance(holder, list):
        holder.extend([holder[key]] * random.choice((1, 300)))
    elif way == 4:
        holder[key] = random.choice(([holder[key]], {"a": holder[key]}, str(holder[key])))
    else:
        holder[key] = random.choice(VALUES)
    return tree


def _keys(holder: Any) -> Any:
    return holder.keys() if isinstance(holder, dict) else range(len(holder))


def _places(tree: Any) -> Any:
    pending = [tree]
    while pending:
        holder = pending.pop()
        if isinstance(holder, dict | list):
            for key in list(_keys(holder)):
                yield holder, key
                pending.append(holder[key])


# --- databases -------------------------------------------------------------------------------------------------------


def _sqlite(data: bytes, random: Random) -> bytes | None:
    """Change a value of a database; what has a checksum gets the one of its new content, as a forger would do it."""
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
        path = Path(folder) / "x.db"
        path.write_bytes(data)
        db = sqlite3.connect(path, isolation_level=None)
        try:
            db.execute("PRAGMA journal_mode = DELETE")
            _change_row(db, random)
        except (sqlite3.Error, OverflowError, ValueError, TypeError, LookupError):
            return None
        finally:
            db.close()
        return path.read_bytes()


def _change_row(db: sqlite3.Connection, random: Random) -> None:
    tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
    table = random.choice(tables)
    if random.random() < 0.05:
        db.execute(f"DROP TABLE {table}")
        return
    columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
    column = random.choice(columns)
    rows = db.execute(f"SELECT * FROM {table}").fetchall()
    row = dict(zip(columns, random.choice(rows), strict=True))
    same = " AND ".join(f"{name} IS ?" for name in columns)
    old = list(row.values())
    row[column] = _value(row[column], random)
    if table in CHECKED and column != "digest" and "digest" in row:
        row["digest"] = checksum(row["cell"], *(row[name] for name in CHECKED[table]))
    marks = ", ".join(f"{name} = ?" for name in columns)
    db.execute("PRAGMA ignore_check_constraints = 1")
    db.execute(f"UPDATE OR REPLACE {table} SET {marks} WHERE {same}", [*row.values(), *old])


def _value(old: Any, random: Random) -> Any:
    """Give another value; what is JSON, plain or packed, is changed as a tree is."""
    if random.random() < 0.7:
        if isinstance(old, bytes):
            try:
                return packed(_tree(unpacked(old), random))
            except Exception:
                return _bytes(old, random)
        if isinstance(old, str) and old[:1] in "[{":
            return _json(old.encode(), random) and (_json(old.encode(), random) or b"").decode("utf-8", "replace")
    plain = [v for v in VALUES if isinstance(v, str | int | float | None) and not (isinstance(v, int) and v >= 2**63)]
    return random.choice([v for v in plain if v != "\ud800"])


STRUCTURED: Mapping[str, tuple[Callable[[bytes, Random], bytes | None], ...]] = {
    ".json": (_json,),
    ".jsonl": (_jsonl,),
    ".yaml": (_yaml, _bytes),
    ".db": (_sqlite,),
}
