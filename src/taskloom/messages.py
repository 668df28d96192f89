"""What people are told: everything that can be said is a code with values, and the words for it are here alone.

Codes are what is stored, compared and decided by. Rewording a message changes no id and no stored byte.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

TEXTS: dict[str, str] = {
    "error": "{text}",
    # why cells are skipped
    "model-unavailable": "model {model} is unavailable ({reason}), and so are learners {learners}",
    "output-unsupported": "learner {learner} does not support {kind}",
    "examples-needed": "learner {learner} needs examples for {kind}, and 0 shots have none",
    "no-fold": "model {model} is not trained for task {task}: none of its folds has it as a test task",
    "nothing-to-train-on": "model {model} is not trained for task {task}: fold {fold} has no tasks to train on",
    "training-failed": "model {model} was not trained (cell {cell}), and is needed here",
    # why cells fail
    "learner-raised": "{error}",
    "draw-differs": "the suite or the sampler was changed after the plan was made; run again",
    "artifact-differs": "training model {model} again made something else than before (cell {cell})",
    # counts
    "class-short": "classes with too few examples",
}


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
