"""The process that renders chat templates: they are programs of others, and only a process can be ended at any time.

It is run as a script. A line of JSON comes in for each conversation, and one goes out: a text, or what was wrong. A
template that takes too much of the processor's time ends the process, also where it runs in compiled code.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from pathlib import Path
from typing import Any

MOST_SECONDS = 3.0  # of processor time that a template may take for a prompt: those of published models take 0.01
MOST_CHARACTERS = 16 << 20  # that it may write
MOST_MEMORY = 1 << 29  # bytes that it may take, beside what the process has
SIZE = Path("/proc/self/statm")


def main() -> None:
    """Render what comes in until nothing more does."""
    replies = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)  # what libraries print is no reply
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGPROF])
    from transformers.utils.chat_template_utils import render_jinja_template

    _limit_memory(MOST_MEMORY)
    for line in sys.stdin.buffer:
        signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS)
        reply = _reply(render_jinja_template, json.loads(line))
        signal.setitimer(signal.ITIMER_PROF, 0)
        replies.write(reply + "\n")
        replies.flush()


def _reply(render: Any, asked: dict[str, Any]) -> str:
    """Render a conversation; whatever a template raises is its fault."""
    try:
        turns, template = [asked["turns"]], asked["template"]
        (text,), _ = render(turns, chat_template=template, add_generation_prompt=True, **asked["tokens"])
        return json.dumps({"text": text} if len(text) <= MOST_CHARACTERS else {"large": True})
    except Exception as error:
        return json.dumps({"broken": f"{type(error).__name__}: {error}"[:200]})


def _limit_memory(most: int) -> None:
    """Limit the memory of the process, where the system says how much it has."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    limits = [limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY]
    if SIZE.exists():
        limits.append(int(SIZE.read_text().split()[0]) * resource.getpagesize() + most)
    resource.setrlimit(resource.RLIMIT_AS, (min(limits, default=soft), hard))


if __name__ == "__main__":
    main()
