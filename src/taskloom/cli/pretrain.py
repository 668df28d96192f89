"""The verb pretrain: a model from scratch, on texts of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .. import console
from ..errors import UsageError
from ..messages import Note, text_of
from ..processes import rank_among_several
from ..texts import counted
from . import shell_completion as complete
from .arguments import MOST, MOST_SEED, MOST_STEPS, MOST_TOKENS, AsJson

if TYPE_CHECKING:
    from ..models.pretrain import Pretrained


def pretrain(
    name: Annotated[
        str,
        typer.Argument(
            metavar="ARCHITECTURE",
            help="A family (t5, bart, pegasus or llama) and a size (nano, mini, small, base or large), as t5-nano.",
            autocompletion=complete.architectures,
        ),
    ],
    *,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FOLDER", help="The folder of the model.")],
    texts: Annotated[
        list[str],
        typer.Option(
            metavar="SOURCE",
            help="Texts: a file (.txt, or a table: CSV, TSV, JSONL, Parquet), data:NAME, hub:NAME or a suite's folder.",
            autocompletion=complete.sources,
        ),
    ],
    field: Annotated[
        list[str],
        typer.Option(metavar="NAME", help="A field of the texts; several are written one below the other."),
    ] = [],  # noqa: B006
    objective: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="What is learnt: spans (T5), infilling (BART), gaps (PEGASUS) or causal; else by the family.",
        ),
    ] = "",
    tokenizer: Annotated[
        str,
        typer.Option(
            metavar="KIND", help="The tokenizer: characters, unigram or bpe; else bpe, or characters for Chinese."
        ),
    ] = "",
    vocabulary: Annotated[
        int, typer.Option(metavar="N", min=1, max=MOST, help="Tokens of the vocabulary, at most.")
    ] = 8000,
    steps: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=0, max=MOST_STEPS, help="Train for N steps, 3000 if no budget is given; 0: random weights."
        ),
    ] = None,
    tokens: Annotated[
        int, typer.Option(metavar="N", min=0, max=MOST_TOKENS, help="Train for N tokens, read and written.")
    ] = 0,
    epochs: Annotated[int, typer.Option(metavar="N", min=0, max=MOST, help="Train for N passes over the texts.")] = 0,
    batch: Annotated[int, typer.Option(metavar="N", min=1, max=MOST, help="Pieces of text in a step.")] = 16,
    length: Annotated[
        int, typer.Option(metavar="N", min=1, max=MOST, help="Tokens of a piece of text, at most.")
    ] = 128,
    lr: Annotated[
        float | None,
        typer.Option(metavar="RATE", min=0, max=MOST, help="The learning rate, if not the usual one for the size."),
    ] = None,
    seed: Annotated[
        int, typer.Option(metavar="N", min=0, max=MOST_SEED, help="The seed of weights, batches and noise.")
    ] = 0,
    held_out: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=0, max=MOST, help="Texts to measure perplexity on; else a twentieth, at most 256."
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a model that was pre-trained with other settings or texts.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Pre-train a model from scratch on texts; run again to resume."""
    from ..models import corpus
    from ..models.pretrain import Pretraining, check_place, part_of, usual_recipe
    from ..models.pretrain import pretrain as make
    from .interrupts import interrupted_message

    budget = {"steps": steps, "tokens": tokens or None, "epochs": epochs or None}
    if len(given := [of for of, size in budget.items() if size is not None]) > 1:
        raise UsageError(Note.of("budgets-several", names=given))
    how = Pretraining(
        model=name, objective=objective, tokenizer=tokenizer, vocabulary=vocabulary, length=length, held_out=held_out,
        seed=seed, how=None if steps == 0 else usual_recipe(name, lr=lr, batch=batch, **budget),
    )  # fmt: skip
    check_place(output, texts)
    found = corpus.read(texts, field)
    for code, count in found.counts.items():
        console.note(f"{text_of(code)}: {count:,}")
    resume = f"interrupted; the same command resumes from the last checkpoint in {part_of(output)}"
    with interrupted_message(resume), console.training(f"pre-training {how.model}") as note:
        made = make(how, found, output, overwrite=force, note=note)
    if rank_among_several() == 0:  # of several processes, the first tells
        _show(made, as_json=as_json)


def _show(made: Pretrained, *, as_json: bool) -> None:
    """Print what is to be known of a model."""
    about = made.about
    if made.was_there:
        console.note(f"already pre-trained with these settings and texts; nothing to do: {made.folder}")
    elif short := about["counts"].get("text-too-short"):
        console.note(f"{text_of('text-too-short')}: {short:,}")
    if as_json:
        console.as_json({"folder": str(made.folder), **about})
        return
    before, after = made.perplexity
    console.pairs(
        {
            "model": f"path:{made.folder}",
            "parameters": about["parameters"],
            "vocabulary": about["vocabulary"],
            "texts": f"{counted(about['texts']['learnt'], 'text')}, {about['texts']['held_out']:,} held out",
            "objective": about["objective"],
            "trained": f"{counted(about['steps'], 'step')}, {counted(about['tokens'], 'token')}",
            "perplexity (held-out)": f"{before:,.1f} before, {after:,.1f} after training",
        }
    )
