"""Causal transformers: what prompts share is computed once, and nothing is padded.

The keys and values of the longest common beginning of all token sequences are kept. What comes after it stands in one
row as a forest: prompts side by side, each with its options or with what is written after it, and a mask that lets a
token see the beginning and its own way back to it. So a shared beginning is never copied, however many prompts follow.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import torch
from transformers.cache_utils import Cache, DynamicCache, DynamicLayer

Ids: TypeAlias = Sequence[int]
CHUNK = 512  # tokens that are read in one go: enough to keep a CPU busy, and little that can't see each other
ROWS, KEYS = 64, 8192  # prompts, and tokens of them, that are gone on from together: each is shown the keys of all
ROOT = -1
# Takes the numbers of rows and the logits of their next tokens; gives the tokens, and the places of rows that go on.
Step: TypeAlias = "Callable[[Sequence[int], torch.Tensor], tuple[torch.Tensor, list[int]]]"


@dataclass(slots=True)
class Forest:
    """Token sequences that share their beginnings: each token with the place of the one before it."""

    tokens: list[int] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    children: dict[tuple[int, int], int] = field(default_factory=dict)

    def add(self, ids: Ids, after: int = ROOT) -> int:
        """Add tokens after a place, and give the place of the last.

        >>> forest = Forest()
        >>> forest.add([7, 1, 2]), forest.add([7, 1, 3])
        (2, 3)
        >>> forest.tokens, forest.parents
        ([7, 1, 2, 3], [-1, 0, 1, 1])
        """
        for token in ids:
            if (after, token) not in self.children:
                self.children[after, token] = len(self.tokens)
                self.tokens.append(token)
                self.parents.append(after)
            after = self.children[after, token]
        return after

    def ways(self, option: Ids, after: int) -> list[tuple[int, int]]:
        """Add an option but for its last token; give where each of its tokens is predicted, with the token."""
        found = []
        for token in option[:-1]:
            found.append((after, token))
            after = self.add([token], after)
        return [*found, (after, option[-1])]

    @property
    def is_chain(self) -> bool:
        """Tell whether every token follows the one before it, as in any text."""
        return all(parent == place - 1 for place, parent in enumerate(self.parents))

    def depths(self) -> list[int]:
        """Count the tokens before each token."""
        found: list[int] = []
        for parent in self.parents:
            found.append(0 if parent == ROOT else found[parent] + 1)
        return found

    def sees(self) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
        """Tell for each token (row) which tokens (columns) are on its way back, itself included."""
        found = np.eye(len(self.tokens), dtype=np.bool_)
        for place, parent in enumerate(self.parents):
            if parent != ROOT:
                found[place] |= found[parent]
        return found


def common_prefix(rows: Iterable[Ids]) -> int:
    """Count the tokens that all rows begin with.

    >>> common_prefix([[1, 2, 3], [1, 2, 4, 5]])
    2
    """
    found = [tuple(row) for row in rows]
    low, high = (min(found), max(found)) if found else ((), ())  # in order, these two share the least
    return next((n for n, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), min(len(low), len(high)))


class _Room(DynamicLayer):  # type: ignore[misc]
    """Keys and values of one row, in room that was set aside: a step writes only its own."""

    def __init__(self, start: DynamicLayer, room: int) -> None:
        super().__init__()
        self.dtype, self.device, self.is_initialized = start.keys.dtype, start.keys.device, True
        self.length = 0
        self.all_keys, self.all_values = (
            old.new_empty(1, old.shape[1], old.shape[2] + room, old.shape[3]) for old in (start.keys, start.values)
        )
        self.update(start.keys, start.values)

    def update(
        self,
        key_states: torch.Tensor,
        value_states: torch.Tensor,
        *args: object,  # noqa: ARG002 (as all layers)
        **kwargs: object,  # noqa: ARG002
    ) -> tuple[torch.Tensor, torch.Tensor]:
        start, self.length = self.length, self.length + key_states.shape[-2]
        self.all_keys[:, :, start : self.length] = key_states
        self.all_values[:, :, start : self.length] = value_states
        self.keys, self.values = self.all_keys[:, :, : self.length], self.all_values[:, :, : self.length]
        return self.keys, self.values


class Causal:
    """A causal transformer, with the last shared beginning kept for the next call."""

    def __init__(self, net: Any, pad: int) -> None:
        self.net, self.pad, self.device = net, pad, net.device
        self.kept: tuple[Ids, Cache | None] = ((), None)
        self.cache_name = _cache_name(net)
        self.can_share = _can_share(net) and self._shares_rightly()

    def forget(self) -> None:
        """Let go of the beginning that was kept."""
        self.kept = (), None

    # --- scoring -----------------------------------------------------------------------------------------------------

    @torch.inference_mode()
    def score(self, asked: Sequence[tuple[Ids, Sequence[Ids]]]) -> tuple[list[list[float]], int]:
        """Give the log-probability of each option after its context, and how many tokens were computed."""
        start, beginning, computed = self._beginning([context for context, _ in asked])
        found = [[0.0] * len(options) for _, options in asked]
        for forest, ways in self._forests(asked, start):
            logs = self._predicted(beginning, start, forest, [way for _, _, way in ways])
            computed += len(forest.tokens)
            for (number, at, _), log in zip(ways, logs, strict=True):
                found[number][at] = log
        return found, computed

    def _forests(self, asked: Sequence[tuple[Ids, Sequence[Ids]]], start: int) -> Iterator[tuple[Forest, list[Way]]]:
        """Plant contexts with their options, a chunk at a time; each option alone where tokens can't be separated."""
        forest, ways = Forest(), []
        for number, (context, options) in enumerate(asked):
            for at, option in enumerate(options):
                ways.append((number, at, forest.ways(option, forest.add(context[start:]))))
                if not self.can_share:
                    yield forest, ways
                    forest, ways = Forest(), []
            if len(forest.tokens) >= CHUNK:
                yield forest, ways
                forest, ways = Forest(), []
        if ways:
            yield forest, ways

    def _predicted(
        self, beginning: Cache | None, start: int, forest: Forest, ways: Sequence[Sequence[tuple[int, int]]]
    ) -> list[float]:
        """Run a forest, and add up what it says of the tokens of each way."""
        needed = sorted({at for way in ways for at, _ in way})
        logits, _ = self._grow(beginning, start, forest, needed)
        logs = logits.float().log_softmax(-1)  # (needed, vocabulary)
        row = {at: number for number, at in enumerate(needed)}
        steps = torch.tensor([(row[at], token) for way in ways for at, token in way], device=self.device)
        each = iter(logs[steps[:, 0], steps[:, 1]].double().tolist())
        return [sum(next(each) for _ in way) for way in ways]

    # --- generating --------------------------------------------------------------------------------------------------

    @torch.inference_mode()
    def generate(self, prompts: Sequence[Ids], limit: int, step: Step) -> int:
        """Go on from each prompt, token by token, and give how many tokens were computed."""
        start, beginning, computed = self._beginning(prompts)
        rest = [prompt[start:] for prompt in prompts]
        for together in _groups([len(ids) for ids in rest], *((ROWS, KEYS) if self.can_share else (1, 0))):
            writing = self._read(beginning, start, [rest[number] for number in together], limit)
            computed += sum(len(rest[number]) for number in together) + self._write(writing, together, limit, step)
        return computed

    def _read(self, beginning: Cache | None, start: int, prompts: Sequence[Ids], limit: int) -> _Writing:
        """Read prompts a chunk at a time, and put their keys and values side by side."""
        if not self.can_share:
            return self._read_one(prompts[0])
        size = sum(map(len, prompts)) + len(prompts) * limit
        sees = torch.zeros(len(prompts), start + size, dtype=torch.bool, device=self.device)
        sees[:, :start] = True
        logits, whole, filled = [], None, start
        for part in _groups([len(prompt) for prompt in prompts], len(prompts), CHUNK):
            forest = Forest()
            ends = [forest.add([*prompts[row]], _apart(forest)) for row in part]
            given, grown = self._grow(beginning, start, forest, ends)
            logits.append(given)
            whole = whole or Cache(layers=[_Room(_first(layer, start), size) for layer in grown.layers])
            for kept, layer in zip(whole.layers, grown.layers, strict=True):
                kept.update(layer.keys[:, :, start:], layer.values[:, :, start:])
            for row in part:
                sees[row, filled : filled + len(prompts[row])] = True
                filled += len(prompts[row])
        lengths = torch.tensor([start + len(prompt) for prompt in prompts], device=self.device)
        assert whole is not None
        return _Writing(whole, torch.cat(logits), sees, lengths)

    def _read_one(self, prompt: Ids) -> _Writing:
        """Read a prompt as a model does that can't be told who sees whom."""
        forest = Forest()
        logits, cache = self._grow(None, 0, forest, [forest.add(prompt)])
        read = torch.tensor([list(prompt)], device=self.device)
        return _Writing(cache, logits, torch.ones(1, 0, device=self.device), torch.zeros(1, device=self.device), read)

    def _write(self, writing: _Writing, numbers: list[int], limit: int, step: Step) -> int:
        """Write after all prompts at once, a token of each at a time; those that have ended are left behind."""
        logits, sees, places, read = writing.logits, writing.sees, writing.lengths, writing.read
        filled, computed = writing.cache.get_seq_length() if self.can_share else 0, 0
        for left in range(limit, 0, -1):
            chosen, going = step(numbers, logits.float())
            if not going or left == 1:
                break
            kept = torch.tensor(going, device=self.device)
            numbers = [numbers[row] for row in going]
            more: dict[str, Any] = {}
            tokens = chosen[kept][None]
            if not self.cache_name and read is not None:
                tokens = read = torch.cat([read, tokens], dim=1)
            if self.can_share:
                sees, places = sees[kept], places[kept]
                own = torch.arange(len(going), device=self.device)
                sees[own, filled + own] = True
                filled += len(going)
                more = {"attention_mask": self._mask(sees[:, :filled]), "position_ids": places[None]}
                places = places + 1
            logits = self._run(tokens, writing.cache, keep=len(going), **more)[0]
            computed += tokens.shape[1]
        return computed

    # --- running -----------------------------------------------------------------------------------------------------

    def _beginning(self, rows: Sequence[Ids]) -> tuple[int, Cache | None, int]:
        """Give the length, keys and values of what all rows begin with, and how many tokens had to be computed."""
        size = common_prefix([row[:-1] for row in rows]) if self.can_share else 0
        if not size:
            return 0, None, 0
        ids, (old, kept) = list(rows[0][:size]), self.kept
        if kept is not None and ids == old:  # a part of it would round otherwise: what was asked before must not show
            return size, kept, 0
        made = DynamicCache(config=self.net.config)
        self._run(torch.tensor([ids], device=self.device), made, keep=1)
        self.kept = ids, made
        return size, made, size

    def _grow(
        self, beginning: Cache | None, start: int, forest: Forest, needed: Sequence[int]
    ) -> tuple[torch.Tensor, Cache]:
        """Run a forest after a beginning; give logits (needed, vocabulary), and all keys and values."""
        tokens = torch.tensor([forest.tokens], device=self.device)
        cache: Cache = DynamicCache(config=self.net.config)
        if beginning is not None:
            cache = Cache(layers=[_Room(layer, len(forest.tokens)) for layer in beginning.layers])
        more: dict[str, Any] = {}
        if not forest.is_chain:
            sees = torch.nn.functional.pad(torch.from_numpy(forest.sees()), (start, 0), value=True)
            more["attention_mask"] = self._mask(sees.to(self.device))
            more["position_ids"] = start + torch.tensor([forest.depths()], device=self.device)
        keep = torch.tensor(list(needed), device=self.device)
        return self._run(tokens, cache, keep=keep, **more)[0], cache

    def _mask(self, sees: torch.Tensor) -> torch.Tensor:
        """Write who sees whom as what is added to attention: (tokens, keys) to (1, 1, tokens, keys)."""
        hidden = torch.finfo(self.net.dtype).min
        return torch.zeros(sees.shape, dtype=self.net.dtype, device=self.device).masked_fill_(~sees, hidden)[None, None]

    def _run(self, tokens: torch.Tensor, cache: Cache, *, keep: int | torch.Tensor, **more: Any) -> torch.Tensor:
        """Give the logits of the last so many places, or of these places: (rows, kept, vocabulary)."""
        if self.cache_name:
            more[self.cache_name] = cache
        logits: torch.Tensor = self.net(tokens, logits_to_keep=keep, use_cache=bool(self.cache_name), **more).logits
        return logits

    def _shares_rightly(self) -> bool:
        """Try on a few tokens whether the model says the same of prompts that share as of each alone."""
        asked = [([0, 1, 2], [[3, 2], [1]]), ([0, 1, 3, 1], [[2]])]
        self.can_share = False
        alone, _ = self.score(asked)
        self.can_share = True
        try:
            shared, _ = self.score(asked)
        except (ValueError, TypeError, RuntimeError, IndexError):  # as of a family that takes no such mask
            return False
        finally:
            self.forget()
        off = [abs(a - b) for one, other in zip(alone, shared, strict=True) for a, b in zip(one, other, strict=True)]
        return max(off) <= 4 * float(np.sqrt(torch.finfo(self.net.dtype).eps))


Way: TypeAlias = "tuple[int, int, list[tuple[int, int]]]"  # the number of a prompt and of its option, and its steps


@dataclass(frozen=True, slots=True)
class _Writing:
    """Prompts that were read, side by side: what each predicts, and which keys it sees."""

    cache: Cache
    logits: torch.Tensor  # (prompts, vocabulary)
    sees: torch.Tensor  # (prompts, keys), with room for what will be written
    lengths: torch.Tensor  # of prompts
    read: torch.Tensor | None = None  # the tokens, where a model reads them again at every step


def _apart(forest: Forest) -> int:
    """Forget what was added, so that the next prompt shares nothing with it: each needs keys of its own."""
    forest.children.clear()
    return ROOT


def _first(layer: DynamicLayer, size: int) -> DynamicLayer:
    """Give the beginning of a layer."""
    made = DynamicLayer()
    made.update(layer.keys[:, :, :size], layer.values[:, :, :size])
    return made


def _groups(lengths: Sequence[int], rows: int, tokens: int) -> Iterator[list[int]]:
    """Put rows together in order, until they are so many or have so many tokens.

    >>> list(_groups([3, 3, 9, 1], rows=3, tokens=6))
    [[0, 1], [2], [3]]
    """
    group: list[int] = []
    size = 0
    for row, length in enumerate(lengths):
        group.append(row)
        size += length
        if len(group) >= rows or size >= tokens:
            yield group
            group, size = [], 0
    if group:
        yield group


def _cache_name(net: Any) -> str:
    """Say by which name a model takes what was kept for it; by none if it keeps a state inside itself."""
    layers = DynamicCache(config=net.config).layers
    if getattr(net, "_is_stateful", False) and not any("Linear" in type(layer).__name__ for layer in layers):
        return ""
    return next((name for name in ("past_key_values", "cache_params") if name in _takes(net)), "")


def _can_share(net: Any) -> bool:
    """Tell whether every layer keeps all keys and values, and can be told which token is where."""
    layers = DynamicCache(config=net.config).layers
    windows = "local" in getattr(net.config, "attention_layers", ())  # GPT-Neo's, which count keys, not positions
    stretches = re.search("dynamic|longrope", str(getattr(net.config, "rope_parameters", "")))  # by the longest row
    takes = {"position_ids", "past_key_values"} <= _takes(net)
    return takes and not windows and not stretches and all(type(layer) is DynamicLayer for layer in layers)


def _takes(net: Any) -> set[str]:
    return set(inspect.signature(net.forward).parameters)
