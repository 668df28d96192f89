"""The form of a suite's manifest: what types its parts have, so that a damaged one is refused and not half read."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

TEXTS = [str]
DIGESTS = {str: str}
SPAN = {"start": int, "stop": int, "source?": str, "target?": str}
ASKS = {"function": str, "source": str, "target": str, "seed?": int, "other?": str}
POOL: Mapping[Any, Any] = {
    "rows": int, "digest": str, "kind?": str, "fields?": TEXTS, "row_groups?": [int], "asks?": ASKS,
    "view?": {"inputs": TEXTS, "outputs": TEXTS, "split?": str},
    "link?": {"store": str, "by_id": bool, "rows_digest": str},
}  # fmt: skip
OUTPUT = {"kind": str, "names?": TEXTS, "many?": bool, "separator?": str, "store?": str, "depth?": int, "parts?": list}
SHOWN = {"fields": {str: str}, "why?": str, "right?": bool}
TASK: Mapping[Any, Any] = {
    "id": str, "instruction": str, "output": OUTPUT, "metrics": TEXTS, "tags": {str: TEXTS}, "separator": str,
    "examples?": [SHOWN], "titles?": {str: str}, "pools": {str: POOL},
}  # fmt: skip
MANIFEST: Mapping[Any, Any] = {
    "format": int, "id": str, "fingerprint": str, "about": dict, "files": {str: int}, "folds": {str: {str: TEXTS}},
    "stores?": {str: {"documents": int, "digests": DIGESTS}}, "tasks": [TASK],
    "functions?": {"words": int, "relations": int, "domains": {str: SPAN}, "spans": {str: SPAN}},
}  # fmt: skip


def misfits(value: Any, form: Any = MANIFEST, place: str = "manifest") -> Iterator[str]:
    """Name the places whose value has another type than it should.

    A form is a type, a list of a form, a mapping of any keys (`{str: form}`), or of these keys; `?`: may be missing.

    >>> list(misfits({"a": ["x", 1], "b": True}, {"a": [str], "b": int, "c?": str}, "m"))
    ['m.a[1]', 'm.b']
    """
    if isinstance(form, type):
        if not (_is_count(value) if form is int else isinstance(value, form)):
            yield place
    elif isinstance(form, list):
        if not isinstance(value, list):
            yield place
        else:
            yield from (bad for at, one in enumerate(value) for bad in misfits(one, form[0], f"{place}[{at}]"))
    elif not isinstance(value, dict):
        yield place
    elif str in form:
        yield from (bad for name, one in value.items() for bad in misfits(one, form[str], f"{place}.{name}"))
    else:
        yield from _keys(value, form, place)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= sys.maxsize


def _keys(value: Mapping[str, Any], form: Mapping[str, Any], place: str) -> Iterator[str]:
    for key, part in form.items():
        name = key.removesuffix("?")
        if name in value:
            yield from misfits(value[name], part, f"{place}.{name}")
        elif name == key:
            yield f"{place}.{name}"
