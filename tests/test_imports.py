"""The order of the modules, which is also the order of the flow: nothing imports upward."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import taskloom

ROOT = Path(taskloom.__file__).parent
LAYERS = [
    {
        "messages", "errors", "folders", "processes", "console", "texts", "databases", "progress", "options",
        "retries", "masking", "http_client", "limits", "yaml_files",
    },
    {"ids", "schema"},
    {"user_code"},
    {"core"},
    {"answers"},
    {"sources"},
    {"suites"},
    {"sampler", "stocks", "presets", "prevalence", "label_shots"},
    {"episodes", "priors", "word_counts", "prompts", "choices", "scores", "models"},
    {"templates"},
    {"encodings"},
    {"lessons", "task_forms"},
    {"lesson_episodes", "document_lessons"},
    {"stats"},
    {"sample_sizes"},
    {"learners", "benchmarks"},
    {"studies"},
    {"reports"},
    {"people"},
    {"cli"},
    {"__main__"},
]  # fmt: skip
HEAVY = ("torch", "transformers", "ray", "fastapi", "datasets", "pandas", "pyarrow", "typer", "rich")


def layer(module: str) -> int:
    (found,) = [number for number, names in enumerate(LAYERS) if module in names]
    return found


def imported(path: Path) -> set[str]:
    """The parts of taskloom that a file imports, at its top or inside functions."""
    package = ["taskloom", *path.relative_to(ROOT).with_suffix("").parts[:-1]]
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            full = [*base, *(node.module.split(".") if node.module else [])]
            names = [full] if len(full) > 1 else [[*full, alias.name] for alias in node.names]
            found |= {name[1] for name in names if name[0] == "taskloom" and len(name) > 1}
        elif isinstance(node, ast.Import):
            names = [alias.name.split(".") for alias in node.names]
            found |= {name[1] for name in names if name[0] == "taskloom" and len(name) > 1}
    return found - {"__version__"}


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_imports_upward(path: Path):
    own = path.relative_to(ROOT).parts[0].removesuffix(".py")
    if own != "__init__":
        upward = {name for name in imported(path) if layer(name) > layer(own)}
        assert not upward, f"{own} imports {upward}"


def test_importing_taskloom_loads_nothing_heavy():
    program = f"import sys, taskloom, taskloom.core; print([n for n in {HEAVY} if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("listing", ["learners", "metrics", "data", "models"])
def test_a_listing_loads_no_more_than_it_needs(listing: str):
    program = (
        "import sys\nfrom taskloom.cli import app\n"
        f"app(['list', {listing!r}], standalone_mode=False)\n"
        "found = [n for n in ('scipy', 'pyarrow', 'pandas', 'taskloom.reports') if n in sys.modules]\n"
        "print(found, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "[]"


def test_the_nouns_need_only_the_standard_library():
    program = "import sys, taskloom.core; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
