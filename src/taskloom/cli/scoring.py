"""The verb `score`: predictions, rankings and vectors that were made by another program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import UsageError
from ..messages import Note
from . import shell_completion as complete
from .arguments import AsJson

if TYPE_CHECKING:
    from ..core import Suite
    from ..scores.predictions import Prediction


def score(
    suite: Annotated[Path | None, typer.Argument(metavar="SUITE", help="A suite's folder.")] = None,
    predictions: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE", help="Predictions as JSON Lines: {item, answer}, {id, prediction} or those of Tk-Instruct."
        ),
    ] = None,
    *,
    run: Annotated[Path | None, typer.Option(metavar="FILE", help="Rankings: a run file of trec_eval.")] = None,
    qrels: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Judgements of a run: trec_eval's qrels, or {query_id, cand_id, score}."),
    ] = None,
    embeddings: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Vectors, {doc_id, embedding}, that rank a suite's documents.")
    ] = None,
    measure: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="How vectors are compared: euclidean (the default) or cosine.",
            autocompletion=complete.measures,
        ),
    ] = "",
    metric: Annotated[
        list[str],
        typer.Option(
            metavar="METRIC", help="A metric, instead of those of the tasks.", autocompletion=complete.metrics
        ),
    ] = [],  # noqa: B006
    as_json: AsJson = False,
) -> None:
    """Score predictions, rankings or vectors of another program."""
    from ..reports.predictions import score_predictions
    from . import listings_runs

    given = {"FILE": predictions, "--run": run, "--embeddings": embeddings}
    _check_scored({name: value for name, value in given.items() if value}, suite, qrels, measure)
    found, answers = _to_score(suite, predictions, run, qrels, embeddings, measure)
    listings_runs.show_scored(score_predictions(found, answers, metric), as_json=as_json)


def _check_scored(given: Mapping[str, Path], suite: Path | None, qrels: Path | None, measure: str) -> None:
    """Refuse what does not go together."""
    if not given:
        raise UsageError(Note.of("score-nothing"))
    judged = {"SUITE": suite, "--qrels": qrels}
    if len(given) > 1 or (suite and qrels):
        raise UsageError(Note.of("score-together", given=[*(n for n, v in judged.items() if v), *given]))
    (name,) = given
    needed = {"--run": "--qrels or SUITE"}.get(name, "SUITE")
    if not suite and not (qrels and name == "--run"):
        raise UsageError(Note.of("score-alone", given=name, needed=needed))
    if measure and name != "--embeddings":
        raise UsageError(Note.of("score-alone", given="--measure", needed="--embeddings"))


def _to_score(
    suite: Path | None, predictions: Path | None, run: Path | None, qrels: Path | None, embeddings: Path | None,
    measure: str,
) -> tuple[Suite, Sequence[Prediction]]:  # fmt: skip
    """Read a suite, or make one of judgements, and what is to be scored."""
    from ..learners.embedded import embedded_predictions
    from ..scores.predictions import read
    from ..scores.rankings import judged_suite, predictions_of_run
    from ..sources.embeddings import read_embeddings
    from ..sources.trec import read_qrels, read_run
    from ..suites.store import open_suite

    found = open_suite(suite) if suite else judged_suite(qrels.stem, read_qrels(qrels)) if qrels else None
    if found is None:
        raise UsageError(Note.of("score-nothing"))
    if run:
        return found, predictions_of_run(run, read_run(run))
    if embeddings:
        return found, embedded_predictions(found, read_embeddings(embeddings), measure, embeddings.name)
    return found, read(predictions) if predictions else ()
