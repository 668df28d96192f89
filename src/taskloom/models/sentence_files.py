"""What the folder of a sentence encoder says of itself, as sentence-transformers writes it: JSON alone, no weights.

`modules.json` lists what a text goes through: the transformer, pooling, and normalisation where there is any.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from ..errors import ModelError
from ..limits import parse_json
from ..messages import Note

Pooling: TypeAlias = Literal["cls", "mean", "last"]
POOLINGS: tuple[Pooling, ...] = get_args(Pooling)
MODULES = "modules.json"
LENGTH = "sentence_bert_config.json"
PROMPTS = "config_sentence_transformers.json"
MODES: Mapping[str, Pooling] = {"cls": "cls", "mean": "mean", "lasttoken": "last"}  # as they are called there
FLAGS: Mapping[str, str] = {  # as older files have them
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
LARGEST = 1 << 20  # bytes of such a file
LONGEST_PROMPT = 10_000  # characters: it stands before every text


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceSettings:
    """How an encoder makes vectors of texts."""

    pooling: Pooling | None = None  # None: the folder does not say
    normalise: bool = False
    length: int = 0  # tokens that are read at most; 0: the folder does not say
    prompts: Mapping[str, str] = field(default_factory=dict)  # form -> what stands before a text

    @property
    def forms(self) -> tuple[str, ...]:
        """Name the prompts, but for the plain one."""
        return tuple(name for name in self.prompts if name)


def sentence_settings(folder: Path) -> SentenceSettings:
    """Read what a folder says; one that was not made for sentences says nothing."""
    if not (folder / MODULES).is_file():
        return SentenceSettings()
    pooling: Pooling | None = None
    normalise = False
    for kind, path in _modules(folder):
        if kind == "Pooling":
            pooling = _pooling(folder / path / "config.json")
        elif kind == "Normalize":
            normalise = True
        elif kind != "Transformer" or path:
            raise ModelError(Note.of("sentence-module-unsupported", module=kind, path=folder))
    length = _object(folder / LENGTH).get("max_seq_length")
    prompts = _prompts(folder / PROMPTS)
    return SentenceSettings(
        pooling=pooling, normalise=normalise, prompts=prompts,
        length=length if isinstance(length, int) and length > 0 else 0,
    )  # fmt: skip


def write_sentence_files(how: SentenceSettings, folder: Path, *, width: int) -> None:
    """Write how vectors are made, as sentence-transformers has it."""
    kinds = {"": "Transformer", "1_Pooling": "Pooling"} | ({"2_Normalize": "Normalize"} if how.normalise else {})
    listed = [
        {"idx": number, "name": str(number), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for number, (path, kind) in enumerate(kinds.items())
    ]
    mode = next(name for name, pooling in MODES.items() if pooling == how.pooling)
    flags = {flag: name == mode for flag, name in FLAGS.items()}
    default = next((name for name in how.forms if how.prompts[name] == how.prompts.get("")), None)
    said: dict[str, Any] = {
        MODULES: listed,
        LENGTH: {"max_seq_length": how.length, "do_lower_case": False},
        PROMPTS: {"prompts": {name: how.prompts[name] for name in how.forms}, "default_prompt_name": default},
        "1_Pooling/config.json": {"word_embedding_dimension": width, **flags},
    }
    for path in filter(None, kinds):
        (folder / path).mkdir()
    for name, value in said.items():
        (folder / name).write_text(json.dumps(value, indent=1), encoding="utf-8")


def module_files(folder: Path) -> list[Path]:
    """List the files of subfolders that say how vectors are made: a model's digest covers them."""
    found = {*folder.glob("[0-9]_*/config.json")}
    with suppress(ModelError):  # there is no list, or one that is refused when the model is loaded
        found |= {folder / path / "config.json" for _, path in _modules(folder)}
    return sorted(file for file in found if file.is_file() and file.parent != folder)


def _modules(folder: Path) -> list[tuple[str, str]]:
    """Give the kind and the subfolder of each module, in their order."""
    listed = _json(folder / MODULES)
    if not isinstance(listed, list) or not listed or not all(isinstance(one, dict) for one in listed):
        raise ModelError(Note.of("sentence-file-unreadable", path=folder / MODULES))
    paths = [Path(str(one.get("path") or "")).name for one in listed]
    if ".." in paths:
        raise ModelError(Note.of("sentence-file-unreadable", path=folder / MODULES))
    return [(str(one.get("type")).rpartition(".")[2], path) for one, path in zip(listed, paths, strict=True)]


def _pooling(path: Path) -> Pooling:
    """Read how tokens are pooled; several ways at once, and ways that are not known here, are refused."""
    said = _object(path)
    mode = said.get("pooling_mode") or [name for flag, name in FLAGS.items() if said.get(flag)] or "mean"
    modes = mode if isinstance(mode, list) else [mode]
    if said.get("include_prompt") is False:
        raise ModelError(Note.of("sentence-module-unsupported", module="include_prompt: false", path=path))
    if len(modes) != 1 or not isinstance(modes[0], str) or modes[0] not in MODES:
        raise ModelError(Note.of("sentence-module-unsupported", module=", ".join(map(str, modes)), path=path))
    return MODES[modes[0]]


def _prompts(path: Path) -> dict[str, str]:
    """Read what stands before texts: by form, the plain one among them where the folder has a default."""
    said = _object(path)
    prompts = said.get("prompts") or {}
    if not isinstance(prompts, dict) or not all(map(_is_prompt, prompts.values())):
        raise ModelError(Note.of("sentence-file-unreadable", path=path))
    kept = {str(name): text for name, text in prompts.items() if text}
    default = said.get("default_prompt_name")
    return kept | ({"": kept[default]} if isinstance(default, str) and default in kept else {})


def _is_prompt(text: Any) -> bool:
    return text is None or (isinstance(text, str) and len(text) <= LONGEST_PROMPT)


def _object(path: Path) -> dict[str, Any]:
    """Read an object; a file that is not there says nothing."""
    found = _json(path) if path.is_file() else {}
    if not isinstance(found, dict):
        raise ModelError(Note.of("sentence-file-unreadable", path=path))
    return found


def _json(path: Path) -> Any:
    try:
        with path.open("rb") as handle:
            return parse_json(handle.read(LARGEST))
    except (OSError, ValueError):
        raise ModelError(Note.of("sentence-file-unreadable", path=path)) from None
