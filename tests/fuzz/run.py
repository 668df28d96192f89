"""The long run: every reader, in children with limits, so that a hang or a crash is caught and named.

python -m tests.fuzz.run 100000              so many inputs in all, shared out by how fast readers are
python -m tests.fuzz.run --reader csv 5000   of one reader
python -m tests.fuzz.run --reader csv --input 17   one input again, here, with its traceback
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import resource
import signal
import struct
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from .attempt import attempt, made, seeds_of
from .reader import written
from .readers import READERS

MEMORY = 1 << 30  # bytes that reading an input may take, beside what the process has
STUCK = 600.0  # seconds on the clock after which a child is ended: it hangs where no signal reaches it
CHUNK = 250  # inputs of a child
LEAST = 300  # inputs of each reader in a long run, however slow it is
FAILURES = Path("fuzz-failures")
OWN = f"{os.sep}taskloom{os.sep}"


class Hang(BaseException):
    """An input that took too long."""


@dataclass(slots=True)
class Child:
    """A child at work on some inputs of a reader; the number that it is at is shared."""

    name: str
    numbers: range
    log: Path
    pid: int = 0
    at: Any = field(default_factory=lambda: mmap.mmap(-1, 16))
    since: float = field(default_factory=time.monotonic)
    seen: int = -1

    def number(self) -> int:
        return int(struct.unpack_from("q", self.at)[0])


def work(child: Child) -> NoReturn:
    """Read inputs, and write what is wrong to the log."""
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, size + MEMORY))
    signal.signal(signal.SIGPROF, _hang)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    with child.log.open("a") as log:
        for number in child.numbers:
            struct.pack_into("q", child.at, 0, number)
            case = made(child.name, number)
            before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
            try:
                signal.setitimer(signal.ITIMER_PROF, READERS[child.name].seconds)
                found = attempt(child.name, case)
                signal.setitimer(signal.ITIMER_PROF, 0)
            except Hang:
                found = f"{traceback.format_exc()}\nhang: more than {READERS[child.name].seconds} seconds"
            grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10
            if not found and grown > MEMORY // 2:
                found = f"memory: {grown >> 20} MB more"
            if found:
                log.write(json.dumps([child.name, number, found, round(time.process_time() - start, 2)]) + "\n")
                log.flush()
    os._exit(0)


def _hang(*_: object) -> NoReturn:
    raise Hang


def start(child: Child) -> Child:
    """Fork a child."""
    sys.stdout.flush()
    child.pid = os.fork()
    if not child.pid:
        try:
            work(child)
        except BaseException:
            child.log.with_suffix(".error").write_text(traceback.format_exc())
            os._exit(70)
    return child


def watched(children: list[Child]) -> Iterator[tuple[Child, str]]:
    """Wait until children end, or end those that are stuck; yield each with how it ended."""
    while children:
        time.sleep(0.05)
        for child in list(children):
            ended, status = os.waitpid(child.pid, os.WNOHANG)
            if child.number() != child.seen:
                child.seen, child.since = child.number(), time.monotonic()
            if ended:
                children.remove(child)
                yield child, "" if status == 0 else f"crash: {_told(status)}"
            elif time.monotonic() - child.since > STUCK:
                os.kill(child.pid, signal.SIGKILL)
                os.waitpid(child.pid, 0)
                children.remove(child)
                yield child, f"hang: stuck for {STUCK:.0f} seconds"


def _told(status: int) -> str:
    return f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"exit code {os.WEXITSTATUS(status)}"


def run(work: Sequence[tuple[str, range]], jobs: int, log: Path, until: float) -> Counter[str]:
    """Read all inputs, each reader in turn; what follows an input that ended its child is read by another one.

    Nothing is begun after a time; what was read is counted by reader.
    """
    parts = [(at / len(numbers), name, part) for name, numbers in work for at, part in _parts(numbers)]
    waiting = [(name, part) for _, name, part in sorted(parts, key=lambda one: one[0])][::-1]
    children: list[Child] = []
    read: Counter[str] = Counter()
    while (waiting and time.monotonic() < until) or children:
        while waiting and len(children) < jobs and time.monotonic() < until:
            children.append(start(Child(*waiting.pop(), log)))
        child, ending = next(watched(children), (None, ""))
        if child is None:
            continue
        number = child.number() if ending else child.numbers.stop - 1
        read[child.name] += number + 1 - child.numbers.start
        if ending:
            with log.open("a") as out:
                out.write(json.dumps([child.name, number, ending, 0]) + "\n")
            waiting.append((child.name, range(number + 1, child.numbers.stop)))
    return read


def _parts(numbers: range) -> Iterator[tuple[int, range]]:
    for first in range(numbers.start, numbers.stop, CHUNK):
        yield first - numbers.start, range(first, min(first + CHUNK, numbers.stop))


def shares(names: Sequence[str], total: int) -> list[tuple[str, range]]:
    """Share inputs out: slow readers, which have few tests, get few, but none less than the others could spare."""
    least = min(LEAST, max(1, total // (2 * len(names))))
    weights = {name: READERS[name].tests for name in names}
    left, whole = max(0, total - least * len(names)), max(1, sum(weights.values()))
    return [(name, range(1, 1 + least - (-left * weight // whole))) for name, weight in weights.items()]


def warm_up(names: Sequence[str]) -> None:
    """Make good inputs and read one of each, so that children have at hand what they would load again and again."""
    for name in names:
        seeds_of(name)
        attempt(name, made(name, 0))


def told(log: Path, read: Mapping[str, int]) -> int:
    """Print a table of readers, and each kind of fault once with the command that repeats it."""
    faults: dict[str, dict[str, list[int]]] = {}
    for line in log.read_text().splitlines() if log.exists() else ():
        name, number, found, _ = json.loads(line)
        faults.setdefault(name, {}).setdefault(kind_of(found), []).append(number)
    print("\nreader\tinputs\tfaults")
    for name, count in read.items():
        print(f"{name}\t{count}\t{sum(map(len, faults.get(name, {}).values()))}")
    for name, kinds in faults.items():
        for kind, numbers in sorted(kinds.items(), key=lambda one: -len(one[1])):
            print(f"\n{name}, {len(numbers)} times: {kind}")
            print(f"  saved: {_saved(name, numbers[0])}")
            print(f"  again: {sys.executable} -m tests.fuzz.run --reader {name!r} --input {numbers[0]}")
    return sum(len(numbers) for kinds in faults.values() for numbers in kinds.values())


def kind_of(found: str) -> str:
    """Give the last line of a traceback, and the last place in taskloom."""
    lines = found.strip().splitlines()
    places = [line.strip() for line in lines if line.startswith("  File") and OWN in line and "tests" not in line]
    return f"{lines[-1][:120]} {places[-1] if places else ''}"


def _saved(name: str, number: int) -> Path:
    folder = FAILURES / f"{name.replace(' ', '-')}-{number}"
    folder.mkdir(parents=True, exist_ok=True)
    written(made(name, number), folder)
    return folder


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("total", type=int, nargs="?", default=10_000)
    parser.add_argument("--reader", action="append", default=[], choices=[*READERS], metavar="READER")
    parser.add_argument("--input", type=int)
    parser.add_argument("--first", type=int, default=0, help="begin after this input of each reader")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin nothing after so long")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--log", type=Path, default=FAILURES / "log.jsonl")
    asked = parser.parse_args()
    warnings.simplefilter("error")
    names = asked.reader or [*READERS]
    if asked.input is not None:
        print(attempt(names[0], made(names[0], asked.input)) or "read, or refused")
        return
    warm_up(names)
    FAILURES.mkdir(exist_ok=True)
    asked.log.unlink(missing_ok=True)
    work = [(name, range(n.start + asked.first, n.stop + asked.first)) for name, n in shares(names, asked.total)]
    begun = time.monotonic()
    read = run(work, asked.jobs, asked.log, begun + 60 * asked.minutes)
    count = told(asked.log, read)
    whole, seconds = sum(len(numbers) for _, numbers in work), time.monotonic() - begun
    print(f"\n{sum(read.values()):,} of {whole:,} inputs, {count:,} faults, {seconds:,.0f} seconds")
    sys.exit(1 if count else 0)


if __name__ == "__main__":
    main()
