"""Items and documents read as vectors: their texts put together, in the form that a task asks for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from ..core import Item, Stored, Task, store_of
from ..errors import LearnerError
from ..messages import Note
from ..models import Array
from ..sources.embeddings import Embeddings
from ..task_forms import Side, format_of, forms_of
from . import Tools
from .baselines import document_of

Combining: TypeAlias = Literal["mean", "concat"]
AUTO = "auto"
READ = 4096  # documents that are read at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorReader:
    """Reads items and documents as vectors of one model, or of several put together."""

    task: Task
    tools: Tools
    models: tuple[str, ...]
    combine: Combining = "mean"
    form: str = AUTO
    separator: str = ""  # between fields; "": the task's
    fields: tuple[str, ...] = ()  # that are read; none: all

    def items(self, items: Sequence[Item]) -> Array:
        """Give the vectors of items: (items, width)."""
        ids = [document_of(item) for item in items]
        store = store_of(self.task.output)
        self._count_lacking(item.fields for item, id_ in zip(items, ids, strict=True) if id_ or not store)
        return self.vectors([self.text(item.fields) for item in items], "query", ids)

    def candidates(self, ids: Sequence[str]) -> tuple[Embeddings, list[tuple[str, ...]]]:
        """Give the vectors of candidates, or of the members that they stand for, by id; and these members."""
        store = store_of(self.task.output)
        if not store:
            return self._by_id({text: text for text in ids}), [()] * len(ids)
        members = [one.members for block in self._documents(store, ids) for one in block]
        alone = [id_ for id_, own in zip(ids, members, strict=True) if not own]
        named = list(dict.fromkeys([*alone, *(id_ for own in members for id_ in own)]))
        documents = {one.id: one.fields for block in self._documents(store, named) for one in block}
        self._count_lacking(documents.values())
        return self._by_id({id_: self.text(fields) for id_, fields in documents.items()}), members

    def _count_lacking(self, given: Iterable[Mapping[str, str]]) -> None:
        """Count what has none of the fields that are named."""
        if lacking := sum(fields.keys().isdisjoint(self.fields) for fields in given) if self.fields else 0:
            self.tools.count("fields-not-there", lacking)

    def chosen(self, fields: Mapping[str, str]) -> list[str]:
        """Give the texts that are read of an item or a document: of fields that are named those it has, or all."""
        return [fields[name] for name in self.fields if name in fields] or [*fields.values()]

    def text(self, fields: Mapping[str, str]) -> str:
        """Put the texts of an item or a document together."""
        return (self.separator or self.task.separator).join(self.chosen(fields))

    def vectors(self, texts: Sequence[str], side: Side, ids: Sequence[str] = ()) -> Array:
        """Encode texts by each model, and put the vectors of each text together: (texts, width)."""
        found = [self.tools.vectors(model, texts, self._form(model, side), ids) for model in self.models]
        return found[0] if len(found) == 1 else combined(found, self.combine)

    def _form(self, model: str, side: Side) -> str:
        if self.form != AUTO:
            return self.form
        known = self.tools.forms(model)
        grouped = (self.task.id, format_of(self.task))  # forms of an encoder that was trained on other groups of tasks
        return next((form for form in (*grouped, *forms_of(self.task, side)) if form in known), "")

    def _documents(self, store: str, ids: Sequence[str]) -> Iterator[list[Stored]]:
        for at in range(0, len(ids), READ):
            yield self.tools.stored(store, ids[at : at + READ])

    def _by_id(self, texts: Mapping[str, str]) -> Embeddings:
        """Encode documents, or candidates that are texts."""
        found = self.vectors([*texts.values()], "candidate", [*texts]) if texts else np.zeros((0, 1), np.float32)
        return Embeddings({id_: at for at, id_ in enumerate(texts)}, found)


def combined(found: Sequence[Array], how: Combining) -> Array:
    """Put the vectors of several models together: their mean, or one after the other.

    >>> combined([np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])], "mean").tolist()
    [[0.5, 0.5]]
    """
    if how == "concat":
        return np.concatenate(found, axis=1)
    widths = [one.shape[1] for one in found]
    if len({*widths}) > 1:
        raise LearnerError(Note.of("widths-differ", widths=widths))
    return np.asarray(np.mean(found, axis=0, dtype=np.float64), dtype=np.float32)
