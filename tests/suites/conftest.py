from collections.abc import Callable
from typing import Any

import pytest

from taskloom.core import Example, Item


@pytest.fixture(scope="session")
def example() -> Callable[..., Example]:
    """Make an example of one text; its group is its id unless told."""

    def make(id: str, text: str, *gold: Any, group: str = "", candidates: tuple[str, ...] = ()) -> Example:
        return Example(Item(id, {"text": text}, candidates), gold, group or id)

    return make
