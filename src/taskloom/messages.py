"""What people are told: everything that can be said is a code with values, and the words for it are here alone.

Codes are what is stored, compared and decided by. Rewording a message changes no id and no stored byte.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

TEXTS: dict[str, str] = {}


@dataclass(frozen=True, slots=True)
class Note:
    """Something that a person may be told: a code, and its values in the order of their names."""

    code: str
    values: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def of(cls, code: str, **values: Any) -> Note:
        """Note something.

        >>> Note.of("draw-differs", task="a->b").values
        (('task', 'a->b'),)
        """
        return cls(code, tuple(sorted(values.items())))

    def __str__(self) -> str:
        """Put it into words; a code of somebody's own stands for itself."""
        template = TEXTS.get(self.code)
        if template is None:
            return self.code
        return template.format(**dict(self.values))
