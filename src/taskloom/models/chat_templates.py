"""Chat templates of models, which are programs: what they may raise is refused, and so is one that does not end."""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from typing import Any

from ..errors import ModelError
from ..ids import Json
from ..messages import Note
from . import template_process
from .template_process import MOST_CHARACTERS, MOST_SECONDS


def rendered(tokenizer: Any, turns: list[Json]) -> str:
    """Write a conversation by the template of a tokenizer."""
    try:
        template = tokenizer.get_chat_template()
    except ValueError as error:  # several templates, and none that is the usual one
        raise _broken(f"{type(error).__name__}: {error}"[:200]) from None
    request = {"template": template, "turns": turns, "tokens": tokenizer.special_tokens_map}
    reply = _RENDERER.reply(json.dumps(request, default=str))
    if "broken" in reply:
        raise _broken(reply["broken"])
    if "text" not in reply:
        raise ModelError(Note.of("chat-template-endless", seconds=MOST_SECONDS, characters=MOST_CHARACTERS))
    return str(reply["text"])


def _broken(reason: str) -> ModelError:
    return ModelError(Note.of("chat-template-broken", reason=reason))


class _Renderer:
    """The rendering process of this one, started when it is first needed, and again after it was ended."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.child: subprocess.Popen[str] | None = None
        self.starter = 0  # the process that started it: one that was forked since needs its own

    def reply(self, request: str) -> dict[str, Any]:
        """Send a request, and give the reply to it; a process that ends meanwhile says why by how it ends."""
        with self.lock:
            child = self._started()
            assert child.stdin is not None
            assert child.stdout is not None
            try:
                with suppress(BrokenPipeError):
                    child.stdin.write(f"{request}\n")
                    child.stdin.flush()
                line = child.stdout.readline()
            except BaseException:  # or the next request would read the reply to this one
                self.close()
                raise
            if line:
                return dict(json.loads(line))
            self.close()
            ended = -signal.SIGPROF
            return {} if child.returncode == ended else {"broken": f"the process ended with {child.returncode}"}

    def _started(self) -> subprocess.Popen[str]:
        if self.child is None or self.starter != os.getpid():
            program = [sys.executable, "-P", str(template_process.__file__)]  # -P: nothing of the working folder
            pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
            self.child = subprocess.Popen(program, **pipes, encoding="ascii", start_new_session=True)
            self.starter = os.getpid()
        return self.child

    def close(self) -> None:
        """End the process."""
        child, self.child = self.child, None
        if child is not None and self.starter == os.getpid():
            child.kill()
            with suppress(BrokenPipeError):
                child.communicate()


_RENDERER = _Renderer()
atexit.register(_RENDERER.close)
