"""Training against a bare torch loop and transformers' Trainer: same model, batches and optimiser, in one process.

Beside it: peak memory by what is trained, each in a process of its own; and what 90 small episodes take outside of
their steps, which is what the framework costs.

Time is that of the CPU, with one thread: on an idle machine the same as by a clock, and on a busy one still a measure.
"""

from __future__ import annotations

import argparse
import inspect
import statistics
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import torch
import transformers as hf
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from torch import Tensor

from measure import alone, report
from taskloom.core import Example, Item, Labels, Suite, Task
from taskloom.models import Lesson
from taskloom.models.adaptations import attach
from taskloom.models.fetched import get, is_here
from taskloom.models.lm import LM
from taskloom.models.objectives import IGNORED, AnswerObjective, PairObjective
from taskloom.models.recipe import Recipe, Watch
from taskloom.models.seq2seq import Seq2Seq
from taskloom.models.train import Batch, _Loop, train
from taskloom.studies.api import prepare
from taskloom.studies.costs import forget_peak
from taskloom.suites import rows, store

VOCABULARY, BATCH, EPISODES = 8000, 8, 90
MODELS = ("llama", "t5", "smollm2")
TUNED = ("all", "lora", "prompt", "adapters")


def model(name: str) -> LM:
    """Make a model of about 9 M parameters with random weights, or load one that has a name."""
    if name == "smollm2":
        return LM.load(get(name))
    words = {word: n for n, word in enumerate(["<pad>", "</s>", "<unk>", *map(word_of, range(VOCABULARY - 3))])}
    made = Tokenizer(WordLevel(words, unk_token="<unk>"))
    made.pre_tokenizer = Whitespace()
    tokenizer = hf.PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", eos_token="</s>", unk_token="<unk>", model_max_length=512
    )
    torch.manual_seed(0)
    ends: dict[str, Any] = {"vocab_size": VOCABULARY, "pad_token_id": 0, "eos_token_id": 1}
    if name == "t5":
        sizes: dict[str, Any] = {"d_model": 256, "d_kv": 64, "d_ff": 1024, "num_layers": 4, "num_heads": 4}
        return LM(hf.T5ForConditionalGeneration(hf.T5Config(**sizes, **ends, decoder_start_token_id=0)), tokenizer)
    sizes = {"hidden_size": 256, "intermediate_size": 688, "num_hidden_layers": 8, "num_attention_heads": 4}
    heads: dict[str, Any] = {"num_key_value_heads": 2, "max_position_embeddings": 512, "bos_token_id": 1}
    return LM(hf.LlamaForCausalLM(hf.LlamaConfig(**sizes, **heads, **ends)), tokenizer)


def word_of(number: int) -> str:
    return f"w{number}"


def lessons(count: int, seed: int = 0) -> list[Lesson]:
    """Make texts of 24 to 63 words with answers of 2 to 6."""
    random = np.random.default_rng(seed)

    def text(least: int, most: int) -> str:
        return " ".join(map(word_of, random.integers(0, VOCABULARY - 3, random.integers(least, most + 1))))

    return [Lesson("task", str(n), text(24, 63), " " + text(2, 6)) for n in range(count)]


# --- time per step ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Run:
    """How long a step took but for the first, and the mean loss."""

    seconds: float
    loss: float


class Clock:
    """Notes when steps ended, and their losses."""

    def __init__(self) -> None:
        self.ends: list[float] = []
        self.losses: list[float] = []

    def note(self, loss: float = 0.0) -> None:
        """Note the end of a step."""
        self.ends.append(process_time())
        self.losses.append(loss)

    def run(self, loss: float | None = None) -> Run:
        """Sum up; a mean loss may be given by who knows it better."""
        seconds = (self.ends[-1] - self.ends[0]) / (len(self.ends) - 1)
        return Run(seconds, statistics.fmean(self.losses) if loss is None else loss)


@dataclass(frozen=True, slots=True)
class Work:
    """What all loops are to do."""

    net: Any
    parameters: Mapping[str, torch.nn.Parameter]
    objective: AnswerObjective
    how: Recipe

    @property
    def batches(self) -> list[Batch]:
        """Give the batches of all steps, as taskloom draws them."""
        return [self.objective.parts(step)[0] for step in range(self.how.steps)]

    def by_taskloom(self) -> Run:
        """Train by taskloom's loop, which makes its batches on the way."""
        clock = Clock()
        watch = Watch(note=lambda _step, _share, loss: clock.note(loss))
        train(self.net, self.parameters, self.objective, self.how, seed=0, watch=watch)
        return clock.run()

    def by_bare_loop(self) -> Run:
        """Compute just what taskloom does."""
        return self._bare(lambda batch: self.objective.loss(self.net, batch) / batch.targets)

    def by_bare_loop_with_labels(self) -> Run:
        """Let transformers compute the loss, as most loops do."""
        return self._bare(lambda batch: self.net(**labelled(batch), use_cache=False).loss)

    def _bare(self, loss_of: Callable[[Batch], Tensor]) -> Run:
        clock, batches, trained = Clock(), self.batches, list(self.parameters.values())
        optimizer = torch.optim.AdamW(trained, lr=self.how.rate, weight_decay=self.how.decay, fused=True)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / self.how.steps)
        self.net.train()
        for batch in batches:
            loss = loss_of(batch)
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(trained, self.how.clip)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
            clock.note(loss.item())
        return clock.run()

    def by_trainer(self) -> Run:
        """Train by transformers' Trainer."""
        clock, how = Clock(), self.how
        with tempfile.TemporaryDirectory() as folder:
            options = hf.TrainingArguments(
                folder, max_steps=how.steps, per_device_train_batch_size=1, learning_rate=how.rate,
                weight_decay=how.decay, max_grad_norm=how.clip, lr_scheduler_type="linear", optim="adamw_torch_fused",
                train_sampling_strategy="sequential", logging_strategy="no", save_strategy="no", report_to="none",
                disable_tqdm=True, use_cpu=True, remove_unused_columns=False,
            )  # fmt: skip
            made = hf.Trainer(
                self.net, options, data_collator=lambda rows: rows[0], train_dataset=list(map(labelled, self.batches)),
                callbacks=[_Ends(clock)],
            )  # fmt: skip
            made.remove_callback(hf.trainer_callback.PrinterCallback)
            return clock.run(made.train().training_loss)


class _Ends(hf.TrainerCallback):  # type: ignore[misc]
    """Notes the end of Trainer's steps."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def on_step_end(self, *_: object, **__: object) -> None:
        self.clock.note()


def labelled(batch: Batch) -> dict[str, Tensor]:
    """Give a batch as transformers has it: with a label for every token, most of them ignored."""
    inputs = {name: value for name, value in batch.inputs.items() if name != "targets"}
    targets = batch.inputs["targets"]
    if "decoder_input_ids" in inputs:
        return inputs | {"labels": targets}
    labels = torch.full_like(inputs["input_ids"], IGNORED)
    labels[:, labels.shape[1] - targets.shape[1] :] = targets
    return inputs | {"labels": labels}


def objective(lm: LM, count: int, how: Recipe) -> AnswerObjective:
    pairs, _ = lm.lesson_pairs(lessons(count))
    sizes: dict[str, Any] = {"batch": how.batch, "parts": 1, "seed": 0, "pad": lm.engine.pad}
    if isinstance(lm.engine, Seq2Seq):
        return PairObjective(lm.net, pairs, **sizes, start=lm.engine.start)
    return AnswerObjective(lm.net, pairs, **sizes)


@contextmanager
def work(lm: LM, what: Any, steps: int) -> Iterator[Work]:
    """Attach what is trained, for all loops alike."""
    how = Recipe(what=what, steps=steps, batch=BATCH, lr=1e-4)
    added = attach(lm.net, how, seed=0)
    try:
        yield Work(lm.net, added.parameters, objective(lm, steps * BATCH, how), how)
    finally:
        added.remove()


ORDER = (0, 1, 3, 2)  # of a Williams design: in four runs each loop comes after each other one once


def interleaved_steps(of: Work, runs: int) -> dict[str, list[Run]]:
    """Run each loop in turn from the same weights; what the last one leaves behind is shared out evenly."""
    loops = {
        "taskloom": of.by_taskloom, "bare loop": of.by_bare_loop, "bare loop, labels": of.by_bare_loop_with_labels,
        "Trainer": of.by_trainer,
    }  # fmt: skip
    before = {name: value.detach().clone() for name, value in of.parameters.items()}
    found: dict[str, list[Run]] = {name: [] for name in loops}
    for turn in range(runs):
        for name in (list(loops)[(place + turn) % len(loops)] for place in ORDER):
            with torch.no_grad():
                for weight, value in before.items():
                    of.parameters[weight].copy_(value)
                    of.parameters[weight].grad = None
            torch.manual_seed(0)
            found[name].append(loops[name]())
    return found


def time_per_step(lm: LM, what: str, steps: int, runs: int) -> dict[str, float | str]:
    with work(lm, what, steps) as made:
        found = interleaved_steps(made, runs)
    figures: dict[str, float | str] = {
        f"milliseconds per step, {name}": 1000 * statistics.median(run.seconds for run in of)
        for name, of in found.items()
    }
    for name, of in found.items():
        if name != "taskloom":
            ratios = [ours.seconds / other.seconds for ours, other in zip(found["taskloom"], of, strict=True)]
            figures[f"taskloom's time / {name}'s: median (least, most)"] = spread(ratios)
    figures["mean loss"] = ", ".join(f"{name} {of[0].loss:.4f}" for name, of in found.items())
    return figures


def spread(ratios: Sequence[float]) -> str:
    return f"{statistics.median(ratios):.3f} ({min(ratios):.3f}, {max(ratios):.3f})"


# --- memory ----------------------------------------------------------------------------------------------------------


def memory(name: str, what: Any) -> dict[str, float]:
    """Make one step, which is when memory peaks, or only load the model; called in a process of its own."""
    torch.set_num_threads(1)
    lm = model(name)
    forget_peak()
    if what == "none":
        return {"parameters": 0}
    with lm.tuned(lessons(4), Recipe(what=what, steps=1, batch=4), seed=0) as learnt:
        return {"parameters": learnt.parameters}


def peak_memory(name: str) -> dict[str, float | str]:
    start = f"import sys\nsys.path.insert(0, {str(Path(__file__).parent)!r})\nimport bench_train\n"
    found = {what: alone(f"{start}figures |= bench_train.memory({name!r}, {what!r})") for what in ("none", *TUNED)}
    figures: dict[str, float | str] = {
        f"{what}: peak MB, trained parameters": f"{of['peak MB']:,.0f}, {of['parameters']:,.0f}"
        for what, of in found.items()
    }
    whole = found["all"]["peak MB"]
    shares = (f"{what} {found[what]['peak MB'] / whole:.2f}" for what in TUNED[1:])
    return figures | {"share of full tuning's peak": ", ".join(shares)}


# --- many small episodes ---------------------------------------------------------------------------------------------

STUDY = """
name: episodes
baselines: false
suite: suite
protocol: {{seeds: {episodes}, shots: [8], query: 8, dev: 0}}
learners:
  tuned: {{tune: {{model: "path:model", what: {what}, batch: 4, steps: {steps}}}}}
"""


@contextmanager
def timed(owner: Any, name: str) -> Iterator[list[float]]:
    """Note the seconds of every call."""
    taken: list[float] = []
    inner = inspect.getattr_static(owner, name)
    call = getattr(owner, name) if isinstance(inner, classmethod) else inner

    def outer(*given: Any, **named: Any) -> Any:
        start = process_time()
        try:
            return call(*given, **named)
        finally:
            taken.append(process_time() - start)

    setattr(owner, name, staticmethod(outer) if isinstance(inner, classmethod) else outer)
    try:
        yield taken
    finally:
        setattr(owner, name, inner)


def write_study(folder: Path, what: str, episodes: int, steps: int) -> Path:
    """Write a task of two labels, a model, and a study of it."""
    lm = model("t5")
    for part in (lm.net, lm.tokenizer):
        part.save_pretrained(folder / "model")
    task = Task(id="task", instruction="w1 w2 w3 ?", output=Labels(("w4", "w5")), metrics=("accuracy",))
    made = [
        Example(Item(lesson.item, {"input": lesson.prompt}), (f"w{4 + n % 2}",), lesson.item)
        for n, lesson in enumerate(lessons(200))
    ]
    store.write(Suite(id="s", tasks={"task": task}, pools={"task": {"all": rows.pool(task, made)}}), folder / "suite")
    (folder / "study.yaml").write_text(STUDY.format(what=what, episodes=episodes, steps=steps))
    return folder / "study.yaml"


def many_episodes(what: str, episodes: int, steps: int) -> dict[str, float | str]:
    """Run a study of one learner; what is neither a step, an answer nor loading the model is the framework's."""
    with tempfile.TemporaryDirectory() as folder:
        prepared = prepare(write_study(Path(folder), what, episodes, steps), Path(folder) / "run")
        with timed(_Loop, "step") as taught, timed(LM, "score") as asked, timed(LM, "load") as loaded:
            start = process_time()
            done, _ = prepared.run()
            whole = process_time() - start
    assert (len(taught), len(asked), done.failed) == (episodes * steps, episodes, 0)
    rest = whole - sum(taught) - sum(asked) - sum(loaded)
    return {
        f"seconds of {len(taught)} steps": sum(taught),
        f"seconds of answers to {episodes} queries": sum(asked),
        "seconds of all else but loading the model": rest,
        "milliseconds of it, an episode": 1000 * rest / episodes,
        "share of the steps' time, %": 100 * rest / sum(taught),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--models", nargs="+", choices=MODELS, default=["llama", "t5"], help="to time")
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--episodes", type=int, default=EPISODES)
    parser.add_argument("--tuned", nargs="+", choices=TUNED, default=TUNED, help="in episodes")
    arguments = parser.parse_args()
    hf.logging.set_verbosity_error()
    hf.utils.logging.disable_progress_bar()
    torch.set_num_threads(1)
    for named in arguments.models:
        for kind in ("all", "lora"):
            figures = time_per_step(model(named), kind, arguments.steps, arguments.runs)
            report(f"{named}, {kind}: {arguments.runs} runs of {arguments.steps} steps of {BATCH} examples", figures)
    large = "smollm2" if is_here("smollm2") else "llama"
    report(f"{large}: peak memory", peak_memory(large))
    for kind in arguments.tuned:
        report(f"t5, {kind}: {arguments.episodes} episodes", many_episodes(kind, arguments.episodes, 20))
