"""Tab completion of the values of arguments and options; errors complete to nothing."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from ..studies.study import Study


def benchmarks(incomplete: str) -> list[str]:
    """Complete benchmarks."""
    from ..benchmarks import BENCHMARKS

    return [name for name in BENCHMARKS if name.startswith(incomplete)]


def data(incomplete: str) -> list[str]:
    """Complete names of the catalogue."""
    from ..sources.packages import catalogue

    return [name for name in catalogue() if name.startswith(incomplete)]


def architectures(incomplete: str) -> list[str]:
    """Complete architectures and sizes of new models."""
    from ..models.new import NAMES

    return [name for name in NAMES if name.startswith(incomplete)]


def sources(incomplete: str) -> list[str]:
    """Complete what a suite can be built from."""
    named = [f"data:{name}" for name in data(incomplete.removeprefix("data:"))]
    found = [str(path) for path in Path().glob(f"{incomplete}*")] if not incomplete.startswith("data:") else []
    return [name for name in named if name.startswith(incomplete)] + found


def tasks(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete tasks of the suite that is named before."""
    from ..suites.store import open_suite

    with suppress(Exception):  # `show` reports what can't be opened
        return [name for name in open_suite(Path(_named_before(ctx, "suite"))).tasks if name.startswith(incomplete)]
    return []


def tags(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete tags of tasks of the suite that is named before."""
    from ..suites.store import open_suite

    with suppress(Exception):  # `transfer` reports what can't be opened
        found = open_suite(Path(_named_before(ctx, "suite"))).tasks.values()
        return sorted({name for task in found for name in task.tags if name.startswith(incomplete)})
    return []


def trained_parts(incomplete: str) -> list[str]:
    """Complete what of a model can be trained."""
    from ..models.recipe import USUAL_RATES

    return [name for name in USUAL_RATES if name != "none" and name.startswith(incomplete)]


def encodings(incomplete: str) -> list[str]:
    """Complete encodings."""
    from ..encodings import NONE, TABLE_4

    return [name for name in (*TABLE_4, NONE) if name.startswith(incomplete)]


def studies(incomplete: str) -> list[str]:
    """Complete studies, by name or file."""
    from ..studies.study import names

    return [name for name in names() if name.startswith(incomplete)] + [
        str(p) for p in Path().glob(f"{incomplete}*.yaml")
    ]


def _named_before(ctx: typer.Context, parameter: str) -> str | Path:
    """Give an argument before the completed word; after an option without its value it is not yet parsed."""
    return ctx.params.get(parameter) or next(iter(ctx.args), "")


def parts_of_study(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete learners and tasks of the named study, if they are known without building its suite."""
    from ..studies.study import load

    found: list[str] = []
    with suppress(Exception):  # `run` reports what can't be read
        study = load(str(_named_before(ctx, "study")))[0]
        found += study.with_baselines().learners
        found += _tasks_of_study(study, ctx.params.get("suite"))
    return [name for name in dict.fromkeys(found) if name.startswith(incomplete)]


def _tasks_of_study(study: Study, instead: Path | None) -> list[str]:
    from ..studies.api import RUNS
    from ..studies.plan import SUITE
    from ..studies.study import chosen_tasks
    from ..suites.store import open_suite

    built = RUNS / study.name / SUITE
    opened = open_suite(instead or (study.folder / study.suite if study.suite else built))
    plain = [name for name in study.tasks if not name.startswith("@")]
    return chosen_tasks(list(opened.tasks), plain) if plain == list(study.tasks) else list(opened.tasks)


def learners_of_run(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete learners of the run that is named, or of the only one."""
    from ..studies.api import learners_of_run as learners
    from ..studies.api import only_run

    with suppress(Exception):
        found = learners(Path(_named_before(ctx, "run") or only_run()))
        return [name for name in found if name.startswith(incomplete)]
    return []


def challenges(incomplete: str) -> list[str]:
    """Complete folders of challenges, or the folders on the way to them."""
    from ..studies.challenge import MANIFEST

    found = [path for path in Path().glob(f"{incomplete}*") if path.is_dir()]
    return [str(path) for path in found if (path / MANIFEST).is_file()] or [f"{path}/" for path in found]


def protocols(incomplete: str) -> list[str]:
    """Complete protocols of submissions."""
    from ..studies.submissions import PROTOCOLS

    return [name for name in PROTOCOLS if name.startswith(incomplete)]


def metrics(incomplete: str) -> list[str]:
    """Complete names of metrics; depths and options are typed."""
    from ..scores import METRICS

    return [name for name in METRICS if name.startswith(incomplete)]


def measures(incomplete: str) -> list[str]:
    """Complete ways to compare vectors."""
    from ..learners.near import MEASURES

    return [name for name in MEASURES if name.startswith(incomplete)]


def forms(incomplete: str) -> list[str]:
    """Complete forms of reports."""
    from ..reports import FORMS, ITEMS

    return [form for form in (*FORMS, ITEMS) if form.startswith(incomplete)]


def short_models(incomplete: str) -> list[str]:
    """Complete short names of models."""
    from ..models.fetched import NAMED

    return [name for name in NAMED if name.startswith(incomplete)]


def models(incomplete: str) -> list[str]:
    """Complete a model's name: a short one, a test model, or a prefix."""
    from ..models.fake import KINDS
    from ..models.fetched import NAMED
    from ..models.load import PREFIXES

    prefixes = [prefix for prefix in PREFIXES if prefix != "fake:"]
    fakes = [f"fake:{name}" for name in KINDS]
    return [name for name in (*NAMED, *prefixes, *fakes) if name.startswith(incomplete)]
