"""Language models in context against lm-eval's Hugging Face backend: same weights, prompts and answers, in one process.

lm-eval is installed apart (`make bench`), for it brings much that taskloom does not need.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from measure import interleaved, peak_mb, report
from taskloom.core import Example, Item, Labels, Task, Text
from taskloom.ids import shuffled
from taskloom.models import Decoding
from taskloom.models.causal import Causal
from taskloom.models.fetched import get
from taskloom.models.lm import LM
from taskloom.sources import packages
from taskloom.sources.files import RowFaults
from taskloom.templates import Prompting, template

SHOTS, NEW = 4, 16
SINGLE = {"Medicine": "Medicine", "Engineering": "Engineering", "Economics": "Economics", "Agriculture": "Agriculture"}
LONGER = {
    "Medicine": "medicine and public health",
    "Engineering": "engineering and machine design",
    "Economics": "economics, trade and finance",
    "Agriculture": "farming, soils and forestry",
}


def examples(names: dict[str, str], answer: Callable[[dict[str, Any]], str]) -> list[Example]:
    rows = [
        row for _, row in packages.rows("papers", RowFaults()) if row["language"] == "en" and row["category"] in names
    ]
    order = shuffled(len(rows), "bench")
    return [Example(Item(rows[n]["id"], {"abstract": rows[n]["abstract"]}), (answer(rows[n]),), "") for n in order]


def prompts_of(task: Task, made: Sequence[Example], count: int) -> list[str]:
    asking = Prompting(task, template("cue"))
    return [asking.text(example.item, made[:SHOTS]) for example in made[SHOTS : SHOTS + count]]


def forget(lm: LM) -> None:
    """Start each run from nothing, as the peer does."""
    if isinstance(lm.engine, Causal):
        lm.engine.forget()


def scored(ours: LM, theirs: Any, names: dict[str, str], count: int) -> dict[str, float | str]:
    from lm_eval.api.instance import Instance

    task = Task(id="t", instruction="Which field is it?", output=Labels(tuple(names.values())), metrics=())
    texts = prompts_of(task, examples(names, lambda row: names[row["category"]]), count)
    options = [f" {name}" for name in names.values()]
    asked = [Instance("loglikelihood", {}, (text, option), 0) for text in texts for option in options]
    found: dict[str, list[int]] = {}

    def by_taskloom() -> None:
        forget(ours)
        odds = ours.score(texts, [options] * len(texts), Decoding())
        found["taskloom"] = [max(range(len(options)), key=lambda at: o.logs[at]) for o in odds if o]

    def by_lm_eval() -> None:
        flat = [log for log, _ in theirs.loglikelihood(asked, disable_tqdm=True)]
        rows = [flat[at : at + len(options)] for at in range(0, len(flat), len(options))]
        found["lm-eval"] = [max(range(len(options)), key=row.__getitem__) for row in rows]

    return compared(by_taskloom, by_lm_eval, found, len(texts))


def generated(ours: LM, theirs: Any, count: int) -> dict[str, float | str]:
    from lm_eval.api.instance import Instance

    task = Task(id="t", instruction="Give the paper a title.", output=Text(), metrics=())
    texts = prompts_of(task, examples(SINGLE, lambda row: str(row["title"])), count)
    how = {"until": ["\n"], "max_gen_toks": NEW, "do_sample": False}
    asked = [Instance("generate_until", {}, (text, how), 0) for text in texts]
    found: dict[str, list[str]] = {}

    def by_taskloom() -> None:
        forget(ours)
        replies = ours.generate(texts, Decoding(tokens=NEW, stop=("\n",)))
        found["taskloom"] = [reply.text.strip() for reply in replies if reply]

    def by_lm_eval() -> None:
        found["lm-eval"] = [text.strip() for text in theirs.generate_until(asked, disable_tqdm=True)]

    return compared(by_taskloom, by_lm_eval, found, len(texts))


def compared(ours: Callable[[], None], theirs: Callable[[], None], found: Any, count: int) -> dict[str, float | str]:
    taken = interleaved({"taskloom": ours, "lm-eval": theirs}, runs=RUNS)
    same = sum(a == b for a, b in zip(found["taskloom"], found["lm-eval"], strict=True))
    return {
        "instances per second, taskloom": count / taken["taskloom"],
        "instances per second, lm-eval": count / taken["lm-eval"],
        "times as fast": taken["lm-eval"] / taken["taskloom"],
        "same predictions": f"{same} of {count}",
    }


RUNS = 3

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=32)
    parser.add_argument("--batch", type=int, default=8, help="of lm-eval")
    arguments = parser.parse_args()
    try:
        from lm_eval.models.huggingface import HFLM
    except ImportError:
        print("bench_lm: lm-eval is not installed; see the Makefile's target `bench`")
        sys.exit(0)
    folder: Path = get("smollm2")
    lm = LM.load(folder)
    peer = HFLM(str(folder), device="cpu", dtype="float32", batch_size=arguments.batch)
    for title, figures in {
        "4 shots, options of one token": scored(lm, peer, SINGLE, arguments.count),
        "4 shots, longer options": scored(lm, peer, LONGER, arguments.count // 2),
        f"4 shots, greedy answers of up to {NEW} tokens": generated(lm, peer, arguments.count),
    }.items():
        report(title, figures)
    report("this process", {"peak MB": peak_mb()})
