"""Readers of what training made and others may have damaged: encoders with forms, adapters, parcels, vectors."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from taskloom.errors import TaskloomError
from taskloom.limits import parse_json
from taskloom.models import fake_vectors, vectors
from taskloom.models.document_vectors import DocumentFile, encode_file
from taskloom.models.load import Weights, source
from taskloom.models.recipe import Recipe
from taskloom.models.telling import forms_told
from taskloom.models.vector_lessons import groups_in
from taskloom.models.vector_store import VectorStore
from taskloom.sources.document_rows import Columns
from taskloom.studies.parcels import Parcel, chunks_of, lay_out, parcel_of

from .mutate import Case
from .read_models import model_files
from .read_sources import lines
from .reader import Reader, files_in, lasting_folder, own_cache, written

LESSONS = json.dumps([["a b", "yes"], ["c", "no"]]).encode()
MOVES = json.dumps({"": {"elm": [0.5] * fake_vectors.WIDTH}, "PRX": {"owl": [0.25] * fake_vectors.WIDTH}}).encode()


# --- encoders --------------------------------------------------------------------------------------------------------


@cache
def encoder_folder() -> Path:
    """Make a tiny encoder, once."""
    import torch

    from ..models.test_encoder import net_of, sentences, tokenizer_into

    torch.set_num_threads(1)
    folder = lasting_folder("encoder")
    net_of("bert").save_pretrained(folder)
    tokenizer_into(folder)
    sentences(folder)
    return folder


@cache
def _exported() -> dict[str, Case]:
    """Write encoders that are told forms in each way, in each layout that there is."""
    from taskloom.models.encoder_files import export_encoder

    from ..models.test_encoder import opened
    from ..models.test_formats import attached

    found: dict[str, Mapping[str, bytes]] = {}
    with tempfile.TemporaryDirectory() as made:
        for tell in ("codes", "adapters", "fusion", "pals"):
            encoder = opened(encoder_folder())
            attached(encoder, tell, forms=("CLF", "PRX")).settle()
            export_encoder(encoder, Path(made) / tell)
            found[tell] = files_in(Path(made) / tell)
            if tell == "adapters":
                export_encoder(encoder, Path(made) / "layout", to="adapters")
                found["layout"] = files_in(Path(made) / "layout")
    return found


def _encoder_seeds() -> Sequence[Case]:
    """Of an encoder's folder, mutate what tells it forms, and how vectors are made: the rest is read by others."""
    own = ("formats.", "modules.json", "1_Pooling", "config_sentence", "sentence_")
    found = [of for name, of in _exported().items() if name != "layout"]
    return [{name: data for name, data in of.items() if name.startswith(own)} for of in found]


def _encoder(folder: Path) -> None:
    _beside(folder, "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")
    with suppress(TaskloomError):
        forms_told([folder])
    _encode(source(f"path:{folder}"))


def _beside(folder: Path, *names: str) -> None:
    """Put the whole files of an encoder beside what was mutated."""
    for name in names:
        if not (folder / name).exists() and (encoder_folder() / name).is_file():
            (folder / name).symlink_to(encoder_folder() / name)


def _encode(of: Any) -> None:
    import torch

    torch.set_num_threads(1)
    encoder = of.open_encoder(Path())
    for form in ("", *encoder.forms[:3]):
        with suppress(TaskloomError):
            encoder.encode(["a b c", "d"], form)


def _adapter_seeds() -> Sequence[Case]:
    own = _exported()["layout"]
    return [{name: data for name, data in own.items() if name.startswith("PRX/")}]


def _adapter(folder: Path) -> None:
    _encode(Weights(load=f"path:{encoder_folder()}", adapters=(("PRX", str(folder / "PRX")),)))


# --- language models that were trained -------------------------------------------------------------------------------


@cache
def _base() -> Path:
    folder = lasting_folder("base")
    written(model_files(), folder)
    return folder


def _learnt_seeds() -> Sequence[Case]:
    import torch

    from taskloom.models.adaptations import save
    from taskloom.models.tuning import attached

    torch.set_num_threads(1)
    found = []
    for what in ("all", "lora", "prompt", "adapters"):
        with tempfile.TemporaryDirectory() as folder:
            how = Recipe(what=what)
            lm: Any = source(f"path:{_base()}").open(Path())
            save(attached(lm, how, seed=0, words="a b"), how, Path(folder))
            found.append(files_in(Path(folder)))
    return found


def _learnt(folder: Path) -> None:
    import torch

    from taskloom.models import Decoding

    torch.set_num_threads(1)
    of: Any = source(f"path:{_base()}")
    of.open_trained(folder, [folder]).generate(["a b"], Decoding(tokens=2))


def _fake_seeds() -> Sequence[Case]:
    return [{"lessons.json": LESSONS}, {"vectors.json": MOVES, "groups.json": b'{"topic": "PRX", "CLF": "PRX"}'}]


def _fake(folder: Path) -> None:
    """Open what the public fakes were taught, and the groups of an encoder's tasks."""
    from taskloom.models import Decoding

    pupil: Any = source("fake:pupil")
    for read in (
        lambda: pupil.open_trained(folder, [folder]).generate(["a b"], Decoding()),
        lambda: fake_vectors.read_moves([folder]),
        lambda: groups_in([folder]),
    ):
        with suppress(TaskloomError):
            read()


# --- parcels, and vectors of other machines --------------------------------------------------------------------------


def _parcel_seeds() -> Sequence[Case]:
    with tempfile.TemporaryDirectory() as folder:
        written({"a.txt": b"first", "deep/b.bin": b"second"}, Path(folder))
        parcel = parcel_of(Path(folder))
        return [{"parcel.json": json.dumps(parcel.files).encode(), "sent": b"".join(chunks_of(Path(folder), parcel))}]


def _parcel(folder: Path) -> None:
    """Lay out what was sent; Ray keeps the types of what it carries."""
    try:
        found = parse_json((folder / "parcel.json").read_bytes())
        files = tuple((str(name), abs(int(size)), str(digest)) for name, size, digest in found)
        sent = (folder / "sent").read_bytes()
    except (ValueError, TypeError, OverflowError, OSError):
        return
    lay_out(folder / "out", Parcel(files), [sent[:5], sent[5:]])


def _merge_seeds() -> Sequence[Case]:
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder) / vectors.FOLDER / "m" / "PRX"
        kept = VectorStore(at)
        kept.keep([bytes([n]) * 16 for n in range(3)], np.ones((3, 4), np.float32), [0, 1, 0])
        kept.close()
        (at.parent / vectors.ABOUT).write_text('{"model": "m", "dtype": "float32"}')
        return [{name: data for name, data in files_in(Path(folder)).items() if data and "-" not in name}]


def _merge(folder: Path) -> None:
    with own_cache(folder / "cache"):
        with suppress(TaskloomError):
            vectors.merge(folder)
        list(map(str, vectors.cached()))


# --- what is asked of models -----------------------------------------------------------------------------------------


def _document_seeds() -> Sequence[Case]:
    rows = [{"doc_id": "a", "title": "On elms", "abstract": "Elms."}, {"doc_id": 2, "title": "On owls"}]
    return [{"d.jsonl": lines(*rows)}, {"d.csv": b"doc_id,title,abstract\na,On elms,Elms.\nb,On owls,\n"}]


def _documents(folder: Path) -> None:
    (path,) = folder.iterdir()
    for number, on_error in enumerate(("stop", "skip")):
        given = DocumentFile(path=path, columns=Columns(), on_error=on_error)  # type: ignore[arg-type]
        with suppress(TaskloomError), own_cache(folder / "cache"):
            encode_file("fake:bag", source("fake:bag"), given, folder / f"{number}.jsonl")


def _asked_seeds() -> Sequence[Case]:
    return [{"t.txt": "On elms.\n标题".encode()}, {"t.jsonl": lines({"title": "x"}, {"title": "y"})}]


def _asked(folder: Path) -> None:
    from taskloom.cli.ask import _text, read_texts
    from taskloom.studies.asking import asking

    (path,) = folder.iterdir()
    asked = asking("fake:echo", "title->abstract")
    asked.answers(read_texts(_text(path, asked.fields), asked.fields))


READERS = {
    "encoders with forms": Reader(_encoder_seeds, _encoder, tests=6, seconds=6),
    "adapters": Reader(_adapter_seeds, _adapter, tests=6, seconds=6),
    "trained models": Reader(_learnt_seeds, _learnt, tests=6, seconds=6),
    "trained fakes": Reader(_fake_seeds, _fake, tests=100),
    "parcels": Reader(_parcel_seeds, _parcel),
    "vectors merged": Reader(_merge_seeds, _merge),
    "documents encoded": Reader(_document_seeds, _documents, tests=25),
    "texts asked": Reader(_asked_seeds, _asked),
}
